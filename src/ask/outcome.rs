//! How an ask ends, once.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Answer, AskKey};

/// How an ask ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// A person answered.
    Answered(Answer),
    /// A person answered at the agent's own terminal.
    AnsweredInTerminal(Answer),
    /// A person refused to answer.
    Dismissed {
        /// Why, if they said.
        reason: Option<String>,
    },
    /// A person wants to answer at the terminal.
    Released,
    /// The deadline passed.
    Expired,
    /// The asker is gone.
    Withdrawn,
}

/// The way an answer came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A program of the same user on the unix socket.
    Socket,
    /// A program with the token of `daemon.json`.
    Token,
    /// A device that was signed in: a browser of this machine, or one that was paired.
    Page,
    /// The agent's own dialog.
    Terminal,
    /// A button in a notification.
    Notification,
}

/// Who settled an ask, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Source {
    /// The way it came in.
    pub channel: Channel,
    /// What the client calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the device is called that was signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// An outcome with its time and its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// How it ended.
    pub outcome: Outcome,
    /// Who ended it; nobody, where it expired or was withdrawn.
    pub by: Option<Source>,
    /// When.
    pub at: Timestamp,
}

/// What the agent was seen to have received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Receipt {
    /// Question text to answer.
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub answers: IndexMap<String, String>,
    /// Whether that is what was sent. Where it is not, another hook has changed it.
    pub as_sent: bool,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// What an agent reports to have received for a call of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Of which call.
    pub key: AskKey,
    /// By which process.
    pub asker: Option<String>,
    /// With which input.
    pub digest: String,
    /// Question text to answer.
    pub answers: IndexMap<String, String>,
    /// Question text to note.
    pub notes: IndexMap<String, String>,
}

/// What becomes of an attempt to settle an ask that is settled already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same was said before: nothing to do, and nothing wrong.
    Repeated,
    /// Somebody answered first, and differently.
    Conflict,
    /// It ended without an answer.
    Gone,
}

impl Outcome {
    /// Its name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::AnsweredInTerminal(_) => "answered_in_terminal",
            Self::Dismissed { .. } => "dismissed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// What was said, wherever.
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answered(answer) | Self::AnsweredInTerminal(answer) => Some(answer),
            _ => None,
        }
    }

    /// Judges a later attempt against this outcome, which stands whatever the verdict.
    pub fn judge(&self, attempt: &Self) -> Verdict {
        match (self.answer(), attempt.answer()) {
            (Some(first), Some(second)) if first == second => Verdict::Repeated,
            (Some(_), _) => Verdict::Conflict,
            (None, _) if self == attempt => Verdict::Repeated,
            (None, _) => Verdict::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Outcome {
        Outcome::Answered(Answer {
            answers: [("Q?".to_owned(), text.to_owned())].into_iter().collect(),
            notes: Default::default(),
        })
    }

    #[test]
    fn the_first_outcome_stands() {
        let in_terminal = |text| match answered(text) {
            Outcome::Answered(answer) => Outcome::AnsweredInTerminal(answer),
            other => other,
        };
        let dismissed = |reason: &str| Outcome::Dismissed { reason: Some(reason.into()) };
        for (first, second, verdict) in [
            (answered("a"), answered("a"), Verdict::Repeated),
            (answered("a"), answered("b"), Verdict::Conflict),
            (answered("a"), Outcome::Released, Verdict::Conflict),
            (in_terminal("a"), answered("a"), Verdict::Repeated),
            (in_terminal("a"), answered("b"), Verdict::Conflict),
            (dismissed("no"), dismissed("no"), Verdict::Repeated),
            (dismissed("no"), dismissed("never"), Verdict::Gone),
            (dismissed("no"), answered("a"), Verdict::Gone),
            (Outcome::Released, Outcome::Released, Verdict::Repeated),
            (Outcome::Expired, answered("a"), Verdict::Gone),
            (Outcome::Withdrawn, answered("a"), Verdict::Gone),
        ] {
            assert_eq!(first.judge(&second), verdict, "{first:?} then {second:?}");
        }
    }
}
