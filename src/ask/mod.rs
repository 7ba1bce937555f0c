//! The domain: one call that wants a person, from opening to its single outcome. Pure: no I/O, no clock, no runtime.
//!
//! `serde` appears here only where a type has one shape everywhere: on the wire, in the store and in Claude Code's own
//! JSON. Everything is validated when it is made, so a value that exists is a valid one.

mod answer;
pub mod away;
mod change;
mod directory;
pub mod form;
mod host;
mod key;
mod kind;
mod name;
mod outcome;
pub mod permission;
pub mod plan;
mod questions;
mod report;
#[cfg(test)]
pub(crate) mod samples;
mod searched;
mod topic;
mod weight;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use answer::{Answer, AnswerError, NOT_ANSWERED, QuestionFault, labels_in};
pub use away::{Away, AwayError, NewAway};
pub use change::{Change, ChangeKind, Cursor};
pub use directory::one_name;
pub use host::{Host, HostNameError};
pub use key::{AskKey, KeyError};
pub use kind::{Kind, Subject, SubjectTooLarge};
pub use name::{harmless_name, is_reserved};
pub use outcome::{Channel, Outcome, OutcomeKind, Receipt, Settlement, Source, Verdict};
pub use questions::{Question, QuestionOption, Questions, QuestionsError};
pub use report::{News, Report};
pub use searched::{folded, parts, searched_text};
pub use topic::{Topic, TopicError};

/// The longest text of a person or of a question, in bytes.
pub const MAX_TEXT: usize = 16 * 1024;

/// One life of an ask. The same key asked again after a withdrawal is another life with another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskId(pub i64);

/// Who opened an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A hook of Claude Code, which waits on it: an ask without waits is withdrawn.
    ClaudeCode,
    /// A question that Answerback asks itself through the real hook, to see whether it comes back. Nobody else is meant to see it.
    Probe,
    /// Any program, over the API. It need not stay connected.
    Program,
}

/// What happens to the asker at the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnTimeout {
    /// The agent shows its own dialog.
    #[default]
    Native,
    /// The agent is told that nobody answered.
    Deny,
    /// The agent stops; the ask stays open and its answer is kept for the resumed run.
    Defer,
}

/// The asker of every call that comes in over HTTP with the hook token. A caller with that token can claim to be any process, so all
/// of them count as one asker of their own.
pub const HTTP_ASKER: &str = "http-hook";

/// The sessions of `answerback demo` begin with this. The sessions of Claude Code do not.
pub const DEMO_SESSION: &str = "demo-";

/// What is needed to open an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAsk {
    pub key: AskKey,
    pub origin: Origin,
    /// The directory the asker works in.
    pub project: Option<String>,
    /// What is asked, and about what.
    pub topic: Topic,
    /// What the origin needs to make its reply, in a form only the origin reads.
    pub detail: String,
    /// The deadline, if there is one.
    pub expires_at: Option<Timestamp>,
    /// What happens to the asker at the deadline.
    pub on_timeout: OnTimeout,
    /// Whether the agent's own dialog is open at the same time, and either may answer.
    pub racing: bool,
    /// The digest of the asker's input. It finds the ask if the asker does not name its call.
    pub digest: Option<String>,
    /// The process that asks, if it is known: several processes may share a session.
    pub asker: Option<String>,
    /// The name that a program gives itself, for people.
    pub asked_by: Option<String>,
}

/// One call that wants a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Names this life of the key.
    pub id: AskId,
    pub key: AskKey,
    pub origin: Origin,
    /// The directory the asker works in.
    pub project: Option<String>,
    /// What sort of decision is wanted.
    pub kind: Kind,
    /// What is decided about; `None` for a question.
    pub subject: Option<Subject>,
    /// What is asked.
    pub questions: Questions,
    /// The time at which it was opened.
    pub opened_at: Timestamp,
    /// The deadline, if there is one.
    pub expires_at: Option<Timestamp>,
    /// What happens to the asker at the deadline.
    pub on_timeout: OnTimeout,
    /// Whether the agent's own dialog is open at the same time, and either may answer.
    pub racing: bool,
    /// The digest of the asker's input. It finds the ask if the asker does not name its call.
    pub digest: Option<String>,
    /// The process that asks, if it is known: several processes may share a session.
    pub asker: Option<String>,
    /// The name that a program gives itself, for people.
    pub asked_by: Option<String>,
    /// The machine whose daemon opened it and watches over it.
    pub host: Host,
    /// Nobody waits, and nobody has to: the answer is kept.
    pub deferred: bool,
    /// How it ended; `None` while it is open.
    pub settlement: Option<Settlement>,
    /// What the agent was seen to have received; `None` until it is seen.
    pub receipt: Option<Receipt>,
}

impl NewAsk {
    /// Whether it proves that the hook of an agent works. The demo and the doctor run the hook themselves.
    pub fn is_of_hook(&self) -> bool {
        self.origin == Origin::ClaudeCode && !self.key.session().starts_with(DEMO_SESSION)
    }
}

impl Origin {
    /// Whether an ask is withdrawn when nobody waits for it any more.
    pub fn needs_wait(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Probe => true,
            Self::Program => false,
        }
    }
}

impl Ask {
    /// Whether it came in with the hook token.
    pub fn is_over_http(&self) -> bool {
        self.asker.as_deref() == Some(HTTP_ASKER)
    }

    /// Whether it still wants an answer.
    pub fn is_open(&self) -> bool {
        self.settlement.is_none()
    }

    /// Whether the same key asked again finds this life, instead of opening another one. An approval is for one call only, so what was
    /// said about a permission or a plan is never said again.
    pub fn stands(&self) -> bool {
        self.settlement.as_ref().is_none_or(|settlement| !self.kind.is_for_one_call() && settlement.outcome.stands())
    }

    /// Whether an asker that lost its daemon gets the outcome of this life when it comes back. A withdrawal is only the trace of its own
    /// absence, so it does not.
    pub fn stands_for_returning_asker(&self) -> bool {
        self.settlement.as_ref().is_some_and(|settlement| settlement.outcome != Outcome::Withdrawn)
    }

    /// The same for an asker of this process. What was said about one call reaches that call once: not another process, and not again
    /// after it was seen to have arrived.
    pub fn stands_for(&self, asker: Option<&str>) -> bool {
        let is_used = self.kind.is_for_one_call() && (self.receipt.is_some() || self.asker.as_deref() != asker);
        !is_used && self.stands_for_returning_asker()
    }

    /// A word or two for it. They may be empty.
    pub fn title(&self) -> Cow<'_, str> {
        self.kind.title(self.subject.as_ref(), self.questions.as_slice())
    }

    /// Whether somebody else may answer it too: a person at the agent's own dialog, or the program that runs the agent.
    pub fn may_be_answered_elsewhere(&self) -> bool {
        self.racing || matches!(self.kind, Kind::Permission | Kind::Plan)
    }

    /// How it ends while the machine that asks is absent; `None` if it goes on. A program, and a run that will be resumed, may come for the
    /// answer later. `is_long`: nothing was heard of the machine for so long that nobody waits there any more.
    pub fn end_without_its_host(&self, now: Timestamp, is_long: bool) -> Option<Outcome> {
        if self.expires_at.is_some_and(|end| end <= now) {
            return Some(Outcome::Expired);
        }
        (is_long && self.origin.needs_wait() && !self.deferred).then_some(Outcome::Withdrawn)
    }

    /// Whether it is over when the next turn begins. An agent that holds a question cannot begin one.
    pub fn ends_with_turn(&self) -> bool {
        self.racing || self.kind != Kind::Question
    }

    /// Whether a person has answered it with Answerback: not at the agent's own dialog, and not in advance.
    pub fn was_answered_here(&self) -> bool {
        self.origin != Origin::Probe && self.settlement.as_ref().is_some_and(Settlement::is_by_person)
    }

    /// Whether a hub has ended it, because nothing was heard from the machine that asked.
    pub fn was_withdrawn_by_hub(&self) -> bool {
        self.settlement.as_ref().is_some_and(|settlement| {
            settlement.outcome == Outcome::Withdrawn
                && settlement.by.as_ref().is_some_and(|by| by.channel == Channel::Hub)
        })
    }

    /// Whether the person changed what they approved.
    pub fn is_edited(&self) -> bool {
        let answer = self.settlement.as_ref().and_then(|settlement| settlement.outcome.answer());
        answer.is_some_and(|answer| answer.edited.is_some())
    }

    /// The subagent that asks. `None` for the agent itself.
    pub fn subagent(&self) -> Option<&str> {
        self.subject.as_ref()?.object("agent")?.get("id")?.as_str()
    }

    /// Checks a person's answer against the questions and the rules of its kind.
    pub fn check(&self, answer: &Answer) -> Result<(), AnswerError> {
        self.kind.check(self.subject.as_ref(), self.questions.as_slice(), answer)
    }

    /// Whether its line says all of it, so that somebody who reads nothing else can decide. The line of a plan is only its title.
    pub fn is_told_by_summary(&self) -> bool {
        match self.kind {
            Kind::Question => true,
            Kind::Plan | Kind::Form => false,
            Kind::Permission => permission::is_told_by_summary(self.subject.as_ref()),
        }
    }

    /// One sentence for each of its questions, in their order.
    pub fn lines(&self) -> Vec<Cow<'_, str>> {
        self.kind.lines(self.subject.as_ref(), self.questions.as_slice())
    }
}
