//! What `install` and `uninstall` share: choosing a settings file, and reporting the change.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::diff;
use super::explain::hinted;
use crate::claude_code::settings::Change;
use crate::claude_code::settings::scope::{Scope, claude_dir};
use crate::text::one_line;

/// Which settings file, and how to report the change.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON object instead
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct ScopeArgs {
    /// The settings of this project, which its repository shares [default: the current directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Your own settings for one project [default: the current directory]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    local: Option<PathBuf>,
    /// Your settings for all projects
    #[arg(long)]
    user: bool,
}

/// A settings file, and the files that a session reads together with it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) scope: Scope,
    pub(super) file: PathBuf,
    pub(super) session_files: Vec<PathBuf>,
}

impl Options {
    /// The file that the options name.
    pub(super) fn place(&self) -> anyhow::Result<Place> {
        let ScopeArgs { project, local, user } = &self.scope;
        let scope = match (project, local) {
            _ if *user => Scope::User,
            (_, Some(dir)) => Scope::Local(directory(dir)?),
            (dir, None) => Scope::Project(directory(dir.as_deref().unwrap_or(Path::new(".")))?),
        };
        let claude_dir = claude_dir().ok_or_else(super::no_home)?;
        let (file, session_files) = (scope.file(&claude_dir), scope.session_files(&claude_dir));
        Ok(Place { scope, file, session_files })
    }
}

fn directory(dir: &Path) -> anyhow::Result<PathBuf> {
    if !dir.is_dir() {
        return Err(hinted(
            format!("there is no directory {}", dir.display()),
            "Name the directory Claude Code is started in.",
        ));
    }
    let dir = std::path::absolute(dir).with_context(|| format!("cannot find {}", dir.display()))?;
    // "/shop/." is "/shop".
    Ok(dir.components().collect())
}

/// Prints the change for a person.
pub(super) fn print_diff(change: &Change, file: &Path) -> std::io::Result<()> {
    anstream::stdout().write_all(diff_of(change, file, true).as_bytes())
}

fn diff_of(change: &Change, file: &Path, colour: bool) -> String {
    let text = |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
    if !change.is_change() {
        return String::new();
    }
    diff::unified(&shown(file), &text(&change.before), &text(&change.after), colour)
}

/// The change for a program. After a dry run, the change that would have been made.
pub(super) fn report(change: &Change, file: &Path, dry_run: bool) -> Value {
    json!({
        "path": file.to_string_lossy(),
        "outcome": change.outcome,
        "changed": change.is_change(),
        "dry_run": dry_run,
        "backup": change.backup.as_ref().map(|path| path.to_string_lossy()),
        "diff": diff_of(change, file, false),
    })
}

/// A path that is safe to print: a file name can hold anything.
pub(super) fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}
