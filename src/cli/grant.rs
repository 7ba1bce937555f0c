//! What an approval granted beyond the one call: the rules that Claude Code was told to keep.

use serde_json::Value;

use crate::api::AskView;
use crate::ask::{Kind, OutcomeKind};
use crate::text::reveal;

/// One of the grants that a permission request offered, which a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Granted<'a> {
    /// As they stand in a settings file.
    pub(super) rules: Vec<&'a str>,
    /// The settings file, as Claude Code's request names it. `None` if they end with the session.
    pub(super) file: Option<&'a str>,
}

impl<'a> Granted<'a> {
    /// What the answer to an ask granted. Only an answer through Answerback counts: what was chosen at the terminal is not known.
    pub(super) fn of(ask: &'a AskView) -> Option<Self> {
        let outcome = ask.outcome.as_ref().filter(|outcome| outcome.kind == OutcomeKind::Answered)?;
        let answer = outcome.answers.as_ref()?.get(&ask.questions.first()?.question)?;
        let grants = ask.subject.as_ref().filter(|_| ask.kind == Kind::Permission)?.get("grants")?.as_array()?;
        let grant = grants.iter().find(|grant| grant["label"] == answer.as_str())?;
        let rules = grant["rules"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(Self { rules, file: grant["file"].as_str() })
    }

    /// For people. Whether the rule is in the file is another question: `answerback grants` looks.
    pub(super) fn sentence(&self) -> String {
        let noun = if self.rules.len() == 1 { "rule" } else { "rules" };
        let place = match self.file {
            Some(file) => format!("for {}", reveal(file)),
            None => "until the session ends".to_owned(),
        };
        format!("{noun}: {}, {place}", reveal(&self.rules.join(", ")).replace('\n', "<U+000A>"))
    }
}
