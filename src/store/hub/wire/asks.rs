//! Asks and changes as they go over a link.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ask::{
    Ask, AskId, AskKey, Change, ChangeKind, Cursor, Host, Kind, NewAsk, OnTimeout, Origin, Outcome, Questions, Receipt,
    Settlement, Source, Subject, Topic,
};
use crate::store::StoreError;

/// A duration in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub(super) i64);

impl Millis {
    pub fn between(now: Timestamp, then: Timestamp) -> Self {
        Self(then.as_millisecond() - now.as_millisecond())
    }

    /// The time that is so long ago. An edge can send any number.
    pub fn ago(self, now: Timestamp) -> Timestamp {
        Self(self.0.saturating_neg()).after(now)
    }

    /// The time that is so far from now. An edge can send any number.
    pub fn after(self, now: Timestamp) -> Timestamp {
        const CENTURY: i64 = 100 * 365 * 24 * 60 * 60 * 1000;
        let distance = SignedDuration::from_millis(self.0.clamp(-CENTURY, CENTURY));
        now.checked_add(distance).unwrap_or(now)
    }
}

/// See [`NewAsk`].
#[derive(Debug, Serialize, Deserialize)]
pub struct WireNew {
    key: String,
    origin: Origin,
    project: Option<String>,
    kind: Kind,
    subject: Option<Map<String, Value>>,
    questions: Questions,
    detail: String,
    expires_in: Option<Millis>,
    on_timeout: OnTimeout,
    racing: bool,
    digest: Option<String>,
    asker: Option<String>,
    asked_by: Option<String>,
}

impl WireNew {
    pub fn new(new: &NewAsk, now: Timestamp) -> Self {
        let new = new.clone();
        Self {
            key: new.key.to_string(),
            origin: new.origin,
            project: new.project,
            kind: new.topic.kind(),
            subject: new.topic.subject().map(|subject| subject.fields().clone()),
            questions: new.topic.questions().clone(),
            detail: new.detail,
            expires_in: new.expires_at.map(|then| Millis::between(now, then)),
            on_timeout: new.on_timeout,
            racing: new.racing,
            digest: new.digest,
            asker: new.asker,
            asked_by: new.asked_by,
        }
    }

    pub fn read(self, now: Timestamp) -> Result<NewAsk, StoreError> {
        Ok(NewAsk {
            key: key(&self.key)?,
            origin: self.origin,
            project: self.project,
            topic: Topic::new(self.kind, self.subject, self.questions)
                .map_err(|error| StoreError::Failed(error.to_string()))?,
            detail: self.detail,
            expires_at: self.expires_in.map(|left| left.after(now)),
            on_timeout: self.on_timeout,
            racing: self.racing,
            digest: self.digest,
            asker: self.asker,
            asked_by: self.asked_by,
        })
    }

    /// The key and the digest of the ask that this opens.
    pub(in crate::store::hub) fn name(&self) -> (String, Option<String>) {
        (self.key.clone(), self.digest.clone())
    }
}

/// See [`Ask`].
#[derive(Debug, Serialize, Deserialize)]
pub struct WireAsk {
    id: AskId,
    key: String,
    origin: Origin,
    project: Option<String>,
    kind: Kind,
    subject: Option<Subject>,
    questions: Questions,
    opened_at: Timestamp,
    expires_at: Option<Timestamp>,
    on_timeout: OnTimeout,
    racing: bool,
    digest: Option<String>,
    asker: Option<String>,
    asked_by: Option<String>,
    host: String,
    deferred: bool,
    settlement: Option<WireSettlement>,
    receipt: Option<Receipt>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireSettlement {
    outcome: Outcome,
    by: Option<Source>,
    at: Timestamp,
}

impl WireAsk {
    pub fn new(ask: &Ask) -> Self {
        let ask = ask.clone();
        Self {
            id: ask.id,
            key: ask.key.to_string(),
            origin: ask.origin,
            project: ask.project,
            kind: ask.kind,
            subject: ask.subject,
            questions: ask.questions,
            opened_at: ask.opened_at,
            expires_at: ask.expires_at,
            on_timeout: ask.on_timeout,
            racing: ask.racing,
            digest: ask.digest,
            asker: ask.asker,
            asked_by: ask.asked_by,
            host: ask.host.as_str().to_owned(),
            deferred: ask.deferred,
            settlement: ask.settlement.map(|Settlement { outcome, by, at }| WireSettlement { outcome, by, at }),
            receipt: ask.receipt,
        }
    }

    pub fn read(self) -> Result<Ask, StoreError> {
        Ok(Ask {
            id: self.id,
            key: key(&self.key)?,
            origin: self.origin,
            project: self.project,
            kind: self.kind,
            subject: self.subject,
            questions: self.questions,
            opened_at: self.opened_at,
            expires_at: self.expires_at,
            on_timeout: self.on_timeout,
            racing: self.racing,
            digest: self.digest,
            asker: self.asker,
            asked_by: self.asked_by,
            host: Host::new(&self.host),
            deferred: self.deferred,
            settlement: self.settlement.map(|WireSettlement { outcome, by, at }| Settlement { outcome, by, at }),
            receipt: self.receipt,
        })
    }
}

/// See [`Change`].
#[derive(Debug, Serialize, Deserialize)]
pub struct WireChange {
    cursor: i64,
    pub(super) kind: String,
    ask: WireAsk,
    detail: Option<String>,
}

impl WireChange {
    /// `detail` is what the asker needs for its reply, if it is at hand.
    pub fn new(change: &Change, detail: Option<String>) -> Self {
        let ask = WireAsk::new(&change.ask);
        Self { cursor: change.cursor.0, kind: change.kind.name().to_owned(), ask, detail }
    }

    /// `None` for a change that only a newer version knows.
    pub fn read(self) -> Result<Option<Change>, StoreError> {
        let Some(kind) = ChangeKind::from_name(&self.kind) else { return Ok(None) };
        let (ask, detail) = (Arc::new(self.ask.read()?), self.detail.map(Into::into));
        Ok(Some(Change { cursor: Cursor(self.cursor), kind, ask, detail }))
    }

    pub(in crate::store::hub) fn read_all(changes: Vec<Self>) -> Result<Vec<Arc<Change>>, StoreError> {
        changes.into_iter().filter_map(|change| change.read().transpose()).map(|read| read.map(Arc::new)).collect()
    }
}

fn key(text: &str) -> Result<AskKey, StoreError> {
    text.parse().map_err(|error| StoreError::Failed(format!("a frame of the link names no ask: {error}")))
}
