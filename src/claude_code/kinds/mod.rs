//! The kinds of asks that calls of Claude Code can open. Each kind has a file here. The file turns a call into questions, and an answer
//! into a decision about the call. Everything else is common to all kinds.

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
    fn is_asked_by(&self, hook: &HookInput) -> bool;

    /// The questions of a call, from the input of its tool.
    fn asked(&self, hook: &HookInput) -> Result<Asked, InputError>;

    /// The answers of a call that has run, as Claude Code reports them.
    fn reported(&self, hook: &HookInput) -> Result<Reported, InputError>;

    /// What an answer means for the call. `tool_input` is `None` if the stored call is damaged.
    fn decide(&self, ask: &Ask, answer: &Answer, tool_input: Option<&Value>) -> Decision;

    /// What the model calls such an ask. Texts for it say "the" before this.
    fn noun(&self) -> &'static str;

    /// The text that tells the model about an answer.
    fn context(&self, ask: &Ask, answer: &Answer) -> String;
}

/// What a call asks.
#[derive(Debug)]
pub(super) struct Asked {
    /// The thing that the questions are about.
    pub(super) subject: Option<Subject>,
    pub(super) questions: Questions,
    /// Equal for equal questions, however their JSON is written.
    pub(super) digest: String,
}

/// What Claude Code reports about a call.
#[derive(Debug)]
pub(super) struct Reported {
    /// As in [`Asked`].
    pub(super) digest: String,
    /// By the text of the question.
    pub(super) answers: IndexMap<String, String>,
    /// By the text of the question.
    pub(super) notes: IndexMap<String, String>,
}

/// What Claude Code is to do with a call.
#[derive(Debug)]
pub(super) enum Decision {
    /// Run the tool with this input.
    Allow(Map<String, Value>),
    /// Do not run the tool, for this reason.
    Deny(String),
}

/// The kind of ask that a tool opens. `None` if the tool asks nobody.
pub(super) fn asked_by(hook: &HookInput) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| of(*kind).is_asked_by(hook))
}

/// What is special about a kind.
pub(super) fn of(kind: Kind) -> &'static dyn CallKind {
    match kind {
        Kind::Question => &Question,
    }
}
