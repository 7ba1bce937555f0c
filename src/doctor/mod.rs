//! Checks whether a question would come back answered. Changes nothing; only the round trip asks a question of its own.
//!
//! - `settings`: our hook in all of Claude Code's settings files; `hook`: our entries in one of them.
//! - `waits`: which waits come to Answerback.
//! - `claude`: the version of Claude Code.
//! - `hub`: the store that a hub shares with others.
//! - `instance`: files, modes, configuration, store, daemon, port.
//! - `edge`: the hub, if this machine has one.
//! - `round_trip`: a question through the real hook and the real daemon.

mod claude;
mod edge;
mod hook;
mod hub;
mod instance;
mod round_trip;
mod settings;
mod waits;

use std::cell::LazyCell;
use std::path::Path;

use answerback_hook::hint::Hint;
use answerback_hook::paths::Paths;
use serde::Serialize;

use crate::claude_code::settings::{claude_version, session};

pub use hook::TERMINAL;
pub use round_trip::{round_trip, until_arrived};
pub use settings::MODE;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Good to know.
    Note,
    /// It works, but not as well as it could.
    Warning,
    /// A question would not come back answered.
    Error,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check. It does not change between versions.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// What to do about it. A warning or an error always has one.
    pub fix: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, message: message.into(), fix: None }
    }

    fn note(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, level: Level::Note, message: message.into(), fix: Some(fix.into()) }
    }

    fn warning(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, level: Level::Warning, message: message.into(), fix: Some(fix.into()) }
    }

    /// An error, with its hint for a fix.
    fn of(check: &'static str, error: &impl Hint) -> Self {
        Self { check, level: Level::Error, message: error.to_string(), fix: error.hint() }
    }

    fn error(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, level: Level::Error, message: message.into(), fix: Some(fix.into()) }
    }
}

/// Checks our hook in the settings that Claude Code reads when it is started in this directory.
pub fn examine_settings(hook: &Path, project: &Path) -> Vec<Finding> {
    // Asking Claude Code for its version takes a moment, and it is seldom needed.
    let version = LazyCell::new(claude_version::installed);
    settings::examine(&session::files(project), hook, project, &|| *version)
}

/// Where the daemon listens. Call this after the round trip, which starts the daemon.
pub fn port(paths: &Paths) -> Finding {
    instance::port(paths)
}

/// Every check but the round trip. `project` is the directory in which Claude Code is started.
pub fn examine(paths: &Paths, hook: &Path, project: &Path) -> Vec<Finding> {
    let mut findings = instance::program(hook);
    let version = claude_version::installed();
    let files = session::files(project);
    findings.extend(settings::examine(&files, hook, project, &|| version));
    findings.extend(waits::examine(&files, version));
    findings.extend(claude::examine(version, session::coverage(&files)));
    findings.extend(instance::examine(paths));
    findings
}
