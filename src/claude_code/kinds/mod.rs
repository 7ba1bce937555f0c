//! The kinds of asks that calls of Claude Code can open. Each kind has a file here. The file turns a call into questions, and an answer
//! into a decision about the call. Everything else is common to all kinds.

mod diff;
mod form;
mod permission;
mod plan;
mod question;
mod tool_input;

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::ask::{Answer, Ask, Kind, News, Topic};

use super::call::HookInput;
use super::changed_file::CurrentFile;

use form::Form;
use permission::Permission;
use plan::Plan;
pub use question::PROBE_TOOL;
use question::Question;
pub(super) use tool_input::InputError;

/// What is special about one kind.
pub(super) trait CallKind: Sync {
    /// Whether a call is of this kind.
    fn is_asked_by(&self, hook: &HookInput) -> bool;

    /// The file that the call would change. A person wants to see what is in it now.
    fn reads(&self, _hook: &HookInput) -> Option<PathBuf> {
        None
    }

    /// The questions of a call. `file` is the file that the call would change.
    fn asked(&self, hook: &HookInput, file: &CurrentFile) -> Result<Asked, InputError>;

    /// Equal for equal calls, however their JSON is written.
    fn digest(&self, hook: &HookInput) -> Result<String, InputError>;

    /// What Claude Code reports about a call that has run.
    fn reported(&self, hook: &HookInput) -> Result<Reported, InputError>;

    /// What an answer means for the call. `hook` is `None` if the stored call is damaged.
    fn decide(&self, ask: &Ask, answer: &Answer, hook: Option<&HookInput>) -> Decision;

    /// What the model calls such an ask. Texts for it say "the" before this.
    fn noun(&self) -> &'static str;

    /// The text that tells the model about an answer, if the model needs one.
    fn context(&self, ask: &Ask, answer: &Answer) -> Option<String>;
}

/// What a call asks.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) topic: Topic,
    pub(super) digest: String,
}

/// What Claude Code reports about a call.
#[derive(Debug)]
pub(super) struct Reported {
    /// As in [`Asked`]. `None` if the report does not repeat the input.
    pub(super) digest: Option<String>,
    pub(super) news: News,
}

/// What Claude Code is to do with a call.
#[derive(Debug)]
pub(super) enum Decision {
    /// Go on.
    Allow {
        /// The input of the tool, if it is not the one of the call. For a form, the values.
        input: Option<Map<String, Value>>,
        /// Changes of the permissions, as Claude Code writes them.
        permissions: Vec<Value>,
    },
    /// Do not run the tool, for this reason.
    Deny(String),
}

/// The kind of ask that a call opens. `None` if it asks nobody. A tool that no other kind knows is a tool to be run.
pub(super) fn asked_by(hook: &HookInput) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| of(*kind).is_asked_by(hook))
}

/// What is special about a kind.
pub(super) fn of(kind: Kind) -> &'static dyn CallKind {
    match kind {
        Kind::Question => &Question,
        Kind::Plan => &Plan,
        Kind::Form => &Form,
        Kind::Permission => &Permission,
    }
}
