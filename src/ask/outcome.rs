//! How an ask ends, once.

use std::fmt;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Answer;

/// How an ask ended. In JSON, its `kind` is its [`OutcomeKind`].
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

/// How an ask ended, in one word.
// The names of the outcomes, in JSON and in texts, are made here and nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "see Outcome")]
pub enum OutcomeKind {
    Answered,
    AnsweredInTerminal,
    Dismissed,
    Released,
    Expired,
    Withdrawn,
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The way an answer came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A program of the same user on the unix socket.
    Socket,
    /// A program with the token of `daemon.json`.
    Token,
    /// A device that is signed in: a browser on this machine, or any device that was paired. The name in JSON is older than pairing.
    /// Stores and clients have it, so it stays.
    #[serde(rename = "page")]
    Device,
    /// The agent's own dialog.
    Terminal,
    /// A button in a notification.
    Notification,
    /// The words that a person left behind for what is asked while they are away.
    Away,
    /// A hub, after the machine that asked could not be reached for some time.
    Hub,
}

/// Who settled an ask, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Source {
    /// The way the outcome came in.
    pub channel: Channel,
    /// What the client calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The name of the device, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The name of the person whose device it is, where people have roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The name of the daemon that took it, where several daemons share a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub: Option<String>,
}

impl Source {
    /// Somebody of whom only the way is known.
    pub fn of(channel: Channel) -> Self {
        Self { channel, agent: None, device: None, person: None, hub: None }
    }
}

/// An outcome with its time and its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// How it ended.
    pub outcome: Outcome,
    /// Who ended it; `None` if it expired or was withdrawn.
    pub by: Option<Source>,
    /// The time at which it ended.
    pub at: Timestamp,
}

impl Settlement {
    /// Whether it is an answer that a person gave to this ask: not at the agent's own dialog, and not in advance.
    pub fn is_by_person(&self) -> bool {
        let is_in_advance = self.by.as_ref().is_some_and(|by| by.channel == Channel::Away);
        matches!(self.outcome, Outcome::Answered(_)) && !is_in_advance
    }
}

/// What the agent was seen to have received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Receipt {
    /// Question text to answer.
    #[cfg_attr(test, schema(value_type = std::collections::HashMap<String, String>))]
    pub answers: IndexMap<String, String>,
    /// Whether the agent received exactly what was sent. If not, another hook has changed it.
    pub as_sent: bool,
    /// The time at which the agent reported it.
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
}

/// The verdict about an attempt to settle an ask that is settled already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It says the same as the outcome. Nothing is wrong, and nothing is to do.
    Repeated,
    /// Somebody answered first, and differently.
    Conflict,
    /// It ended without an answer.
    Gone,
}

impl Outcome {
    /// Which of the outcomes it is.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Self::Answered(_) => OutcomeKind::Answered,
            Self::AnsweredInTerminal(_) => OutcomeKind::AnsweredInTerminal,
            Self::Dismissed { .. } => OutcomeKind::Dismissed,
            Self::Released => OutcomeKind::Released,
            Self::Expired => OutcomeKind::Expired,
            Self::Withdrawn => OutcomeKind::Withdrawn,
        }
    }

    /// Whether it is the reply to the same key asked again. After the other outcomes nobody has said anything yet.
    pub fn stands(&self) -> bool {
        matches!(self, Self::Answered(_) | Self::AnsweredInTerminal(_) | Self::Dismissed { .. })
    }

    /// The answer, if there is one, wherever it was given.
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
            edited: None,
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

    #[test]
    fn every_outcome_has_one_name() {
        let answer = || Answer { answers: IndexMap::new(), notes: IndexMap::new(), edited: None };
        for (outcome, name, stands) in [
            (Outcome::Answered(answer()), "answered", true),
            (Outcome::AnsweredInTerminal(answer()), "answered_in_terminal", true),
            (Outcome::Dismissed { reason: None }, "dismissed", true),
            (Outcome::Released, "released", false),
            (Outcome::Expired, "expired", false),
            (Outcome::Withdrawn, "withdrawn", false),
        ] {
            assert_eq!(serde_json::to_value(&outcome).unwrap()["kind"], name);
            assert_eq!(serde_json::to_value(outcome.kind()).unwrap(), name);
            assert_eq!(outcome.kind().to_string(), name);
            assert_eq!(outcome.stands(), stands, "{name}");
        }
    }
}
