//! The kinds of asks that calls of Claude Code come to. Each kind has a file here: it turns a call into questions, and an answer into
//! a decision about the call. Everything else is common to all kinds.

mod question;
mod tool_input;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::ask::{Answer, Ask, Kind, Questions, Subject};

use super::call::HookInput;

pub use question::PROBE_TOOL;
use question::Question;
pub(super) use tool_input::InputError;

/// What is special about one kind.
pub(super) trait CallKind: Sync {
    /// Whether a call of this tool is of this kind.
    fn is_asked_by(&self, tool: &str) -> bool;

    /// The questions of a call, from the input of its tool.
    fn asked(&self, tool_input: Option<&Value>) -> Result<Asked, InputError>;

    /// The answers that Claude Code has for a call that is over.
    fn received(&self, hook: &HookInput) -> Result<Received, InputError>;

    /// What an answer means for the call. There is no `tool_input` if what was kept of the call is damaged.
    fn decide(&self, ask: &Ask, answer: &Answer, tool_input: Option<&Value>) -> Decision;

    /// What the model is told about an answer, in plain words.
    fn context(&self, ask: &Ask, answer: &Answer) -> String;
}

/// What a call asks.
#[derive(Debug)]
pub(super) struct Asked {
    /// What the questions decide about.
    pub(super) subject: Option<Subject>,
    pub(super) questions: Questions,
    /// Tells these questions from others, however their JSON is written.
    pub(super) digest: String,
}

/// What Claude Code has for a call.
#[derive(Debug)]
pub(super) struct Received {
    /// As in [`Asked`].
    pub(super) digest: String,
    /// Question text to answer.
    pub(super) answers: IndexMap<String, String>,
    /// Question text to note.
    pub(super) notes: IndexMap<String, String>,
}

/// What Claude Code shall do with a call.
#[derive(Debug)]
pub(super) enum Decision {
    /// Run the tool with this input.
    Allow(Map<String, Value>),
    /// Do not run it, for this reason.
    Deny(String),
}

/// The kind of the calls of a tool; `None` if the tool asks nobody.
pub(super) fn asked_by(tool: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| of(*kind).is_asked_by(tool))
}

/// What is special about a kind.
pub(super) fn of(kind: Kind) -> &'static dyn CallKind {
    match kind {
        Kind::Question => &Question,
    }
}
