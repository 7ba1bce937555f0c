//! What is to be changed, as data: so a command can be sent again when nobody knows whether it was done, and other daemons can be told.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ask::{Ask, AskId, ChangeKind, Host, NewAsk, Outcome, Receipt, Settlement, searched_text};
use crate::store::{Milestone, Opened, Settling, StoreError};

use super::rows::{Record, SettlementRecord, to_json, to_word};

/// The longest notice that the engine carries is 8000 bytes. This leaves room for what is around the commands.
pub(super) const MAX_NOTICE: usize = 7800;

/// One change that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Command {
    /// Names it. A change has the tag of the command that made it.
    pub(super) tag: i64,
    at: i64,
    #[serde(flatten)]
    verb: Verb,
}

/// The names of the fields are those that the function `apply` reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
enum Verb {
    Open(Box<Open>),
    Settle {
        id: i64,
        outcome: String,
        outcome_kind: String,
        stands: bool,
        settled_by: Option<String>,
        searched: String,
        /// Only if the host of the ask has been dead for so many milliseconds.
        dead_for: Option<i64>,
        milestone: Option<String>,
    },
    Defer {
        id: i64,
    },
    Resume {
        id: i64,
        expires_at: Option<i64>,
    },
    Receive {
        id: i64,
        receipt: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Open {
    /// The machine that asks, if it is not that of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    key: String,
    session: String,
    origin: String,
    project: Option<String>,
    kind: String,
    subject: Option<String>,
    questions: String,
    detail: String,
    expires_at: Option<i64>,
    on_timeout: String,
    racing: bool,
    digest: Option<String>,
    asker: Option<String>,
    asked_by: Option<String>,
    lasting: bool,
    per_session: u32,
    searched: String,
    milestone: Option<String>,
}

/// What came of a command, as its caller wants it.
#[derive(Debug)]
pub(super) enum Done {
    Opened(Opened),
    Settled(Settling),
    Changed(Option<Arc<Ask>>),
}

impl Command {
    fn new(at: Timestamp, verb: Verb) -> Result<Self, StoreError> {
        let mut tag = [0; 8];
        getrandom::fill(&mut tag).map_err(|error| StoreError::Failed(error.to_string()))?;
        // A head without a change has the tag 0.
        Ok(Self { tag: i64::from_le_bytes(tag) | 1, at: at.as_millisecond(), verb })
    }

    /// `host` asks through this daemon, unless it is the daemon's own.
    pub(super) fn open(
        new: &NewAsk,
        host: Option<&Host>,
        at: Timestamp,
        per_session: u32,
        milestone: Option<Milestone>,
    ) -> Result<Self, StoreError> {
        let texts =
            [Some(&new.detail), new.project.as_ref(), new.digest.as_ref(), new.asker.as_ref(), new.asked_by.as_ref()];
        for text in texts.into_iter().flatten() {
            check(text)?;
        }
        let open = Open {
            host: host.map(|host| host.as_str().to_owned()),
            key: new.key.to_string(),
            session: new.key.session().to_owned(),
            origin: to_word(new.origin)?,
            project: new.project.clone(),
            kind: to_word(new.topic.kind())?,
            subject: new.topic.subject().map(to_json).transpose()?,
            questions: to_json(new.topic.questions())?,
            detail: new.detail.clone(),
            expires_at: new.expires_at.map(Timestamp::as_millisecond),
            on_timeout: to_word(new.on_timeout)?,
            racing: new.racing,
            digest: new.digest.clone(),
            asker: new.asker.clone(),
            asked_by: new.asked_by.clone(),
            lasting: !new.topic.kind().is_for_one_call(),
            per_session,
            searched: storable(&searched_text(Some(new.topic.questions()), None)),
            milestone: milestone.map(|milestone| milestone.name().to_owned()),
        };
        Self::new(at, Verb::Open(Box::new(open)))
    }

    pub(super) fn settle(
        id: AskId,
        settlement: &Settlement,
        milestone: Option<Milestone>,
        dead_for: Option<i64>,
    ) -> Result<Self, StoreError> {
        let outcome: &Outcome = &settlement.outcome;
        let verb = Verb::Settle {
            id: id.0,
            outcome: to_json(outcome)?,
            outcome_kind: to_word(outcome.kind())?,
            stands: outcome.stands(),
            settled_by: settlement.by.as_ref().map(to_json).transpose()?,
            searched: storable(&searched_text(None, Some(outcome))),
            dead_for,
            milestone: milestone.map(|milestone| milestone.name().to_owned()),
        };
        Self::new(settlement.at, verb)
    }

    pub(super) fn defer(id: AskId, at: Timestamp) -> Result<Self, StoreError> {
        Self::new(at, Verb::Defer { id: id.0 })
    }

    pub(super) fn resume(id: AskId, expires_at: Option<Timestamp>, at: Timestamp) -> Result<Self, StoreError> {
        Self::new(at, Verb::Resume { id: id.0, expires_at: expires_at.map(Timestamp::as_millisecond) })
    }

    pub(super) fn receive(id: AskId, receipt: &Receipt) -> Result<Self, StoreError> {
        Self::new(receipt.at, Verb::Receive { id: id.0, receipt: to_json(receipt)? })
    }

    /// The change that it makes if it is done.
    pub(super) fn change(&self) -> ChangeKind {
        match self.verb {
            Verb::Open(_) => ChangeKind::Opened,
            Verb::Settle { .. } => ChangeKind::Settled,
            Verb::Defer { .. } => ChangeKind::Deferred,
            Verb::Resume { .. } => ChangeKind::Resumed,
            Verb::Receive { .. } => ChangeKind::Received,
        }
    }

    /// The ask after the change, if that follows from the command and from the ask before. An ask that was settled is not at hand.
    pub(super) fn ask_after(&self, id: i64, host: &str, before: Option<&Arc<Ask>>) -> Result<Option<Ask>, StoreError> {
        let Verb::Open(open) = &self.verb else {
            let Some(before) = before else { return Ok(None) };
            let mut ask = Ask::clone(before);
            match &self.verb {
                Verb::Settle { outcome, settled_by, .. } => {
                    let record = SettlementRecord { outcome, by: settled_by.as_deref(), at: self.at };
                    ask.settlement = Some(record.read()?);
                }
                Verb::Resume { expires_at, .. } => {
                    ask.deferred = false;
                    ask.expires_at = expires_at.map(super::rows::time).transpose()?;
                }
                Verb::Defer { .. } => {
                    ask.deferred = true;
                    ask.expires_at = None;
                }
                Verb::Open(_) | Verb::Receive { .. } => return Ok(None),
            }
            return Ok(Some(ask));
        };
        let record = Record {
            id,
            key: &open.key,
            host: open.host.as_deref().unwrap_or(host),
            origin: &open.origin,
            project: open.project.as_deref(),
            kind: &open.kind,
            subject: open.subject.as_deref(),
            questions: &open.questions,
            opened_at: self.at,
            expires_at: open.expires_at,
            on_timeout: &open.on_timeout,
            racing: open.racing,
            digest: open.digest.as_deref(),
            asker: open.asker.as_deref(),
            asked_by: open.asked_by.as_deref(),
            ..Record::default()
        };
        record.read().map(Some)
    }

    /// About how many bytes it is.
    pub(super) fn size(&self) -> usize {
        let unsaid = match &self.verb {
            Verb::Open(open) => open.detail.len() + open.searched.len(),
            Verb::Settle { searched, .. } => searched.len(),
            Verb::Defer { .. } | Verb::Resume { .. } | Verb::Receive { .. } => 0,
        };
        self.told_size() + unsaid
    }

    /// About how many bytes other daemons are told.
    fn told_size(&self) -> usize {
        match &self.verb {
            Verb::Open(open) => open.questions.len() + open.subject.as_ref().map_or(0, String::len),
            Verb::Settle { outcome, .. } => outcome.len(),
            Verb::Receive { receipt, .. } => receipt.len(),
            Verb::Defer { .. } | Verb::Resume { .. } => 0,
        }
    }

    /// The command as other daemons are told of it: without what only the engine needs. `None` if it is too large for a notice.
    pub(super) fn told(&self) -> Option<Self> {
        if self.told_size() > MAX_NOTICE {
            return None;
        }
        let mut told = self.clone();
        match &mut told.verb {
            Verb::Open(open) => (open.detail, open.searched) = Default::default(),
            Verb::Settle { searched, .. } => searched.clear(),
            Verb::Defer { .. } | Verb::Resume { .. } | Verb::Receive { .. } => {}
        }
        Some(told)
    }
}

/// PostgreSQL cannot keep the letter NUL in a text.
pub(super) fn check(text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Failed("PostgreSQL cannot keep a text with a NUL in it".to_owned()));
    }
    Ok(())
}

/// A text to search in, or to search for, as PostgreSQL can keep it.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
