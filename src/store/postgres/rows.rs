//! Rows to asks, and back to what the engine keeps.

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use crate::ask::{Ask, AskId, AskKey, Host, Settlement};
use crate::store::StoreError;

/// The columns that [`ask`] reads.
pub(super) const COLUMNS: &str = "asks.id, asks.key, asks.host, asks.origin, asks.project, asks.kind, asks.subject, asks.questions, \
     asks.opened_at, asks.expires_at, asks.on_timeout, asks.racing, asks.digest, asks.asker, asks.asked_by, asks.deferred, \
     asks.outcome, asks.settled_by, asks.settled_at, asks.receipt";

/// About how many bytes the columns of an ask are, as the engine counts.
pub(super) const SIZE: &str = "octet_length(asks.questions) + coalesce(octet_length(asks.subject), 0) + coalesce(octet_length(asks.outcome), 0) \
     + coalesce(octet_length(asks.receipt), 0)";

/// An ask in the words of the engine.
#[derive(Debug, Clone, Default)]
pub(super) struct Record<'a> {
    pub(super) id: i64,
    pub(super) key: &'a str,
    pub(super) host: &'a str,
    pub(super) origin: &'a str,
    pub(super) project: Option<&'a str>,
    pub(super) kind: &'a str,
    pub(super) subject: Option<&'a str>,
    pub(super) questions: &'a str,
    pub(super) opened_at: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) on_timeout: &'a str,
    pub(super) racing: bool,
    pub(super) digest: Option<&'a str>,
    pub(super) asker: Option<&'a str>,
    pub(super) asked_by: Option<&'a str>,
    pub(super) deferred: bool,
    pub(super) settlement: Option<SettlementRecord<'a>>,
    pub(super) receipt: Option<&'a str>,
}

/// A settlement in the words of the engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettlementRecord<'a> {
    pub(super) outcome: &'a str,
    pub(super) by: Option<&'a str>,
    pub(super) at: i64,
}

impl Record<'_> {
    pub(super) fn read(self) -> Result<Ask, StoreError> {
        Ok(Ask {
            id: AskId(self.id),
            key: self.key.parse::<AskKey>().map_err(broken)?,
            origin: word(self.origin)?,
            project: self.project.map(str::to_owned),
            kind: word(self.kind)?,
            subject: self.subject.map(json).transpose()?,
            questions: json(self.questions)?,
            opened_at: time(self.opened_at)?,
            expires_at: self.expires_at.map(time).transpose()?,
            on_timeout: word(self.on_timeout)?,
            racing: self.racing,
            digest: self.digest.map(str::to_owned),
            asker: self.asker.map(str::to_owned),
            asked_by: self.asked_by.map(str::to_owned),
            host: Host::new(self.host),
            deferred: self.deferred,
            settlement: self.settlement.map(SettlementRecord::read).transpose()?,
            receipt: self.receipt.map(json).transpose()?,
        })
    }
}

impl SettlementRecord<'_> {
    pub(super) fn read(self) -> Result<Settlement, StoreError> {
        Ok(Settlement { outcome: json(self.outcome)?, by: self.by.map(json).transpose()?, at: time(self.at)? })
    }
}

/// The ask of a row with [`COLUMNS`]. Fails if a newer version wrote something that this one does not know.
pub(super) fn ask(row: &Row) -> Result<Ask, StoreError> {
    let settlement = match row.try_get("outcome").map_err(broken)? {
        None => None,
        Some(outcome) => Some(SettlementRecord { outcome, by: get(row, "settled_by")?, at: get(row, "settled_at")? }),
    };
    let record = Record {
        id: get(row, "id")?,
        key: get(row, "key")?,
        host: get(row, "host")?,
        origin: get(row, "origin")?,
        project: get(row, "project")?,
        kind: get(row, "kind")?,
        subject: get(row, "subject")?,
        questions: get(row, "questions")?,
        opened_at: get(row, "opened_at")?,
        expires_at: get(row, "expires_at")?,
        on_timeout: get(row, "on_timeout")?,
        racing: get(row, "racing")?,
        digest: get(row, "digest")?,
        asker: get(row, "asker")?,
        asked_by: get(row, "asked_by")?,
        deferred: get(row, "deferred")?,
        settlement,
        receipt: get(row, "receipt")?,
    };
    record.read()
}

/// A column of a row.
pub(super) fn get<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, column: &str) -> Result<T, StoreError> {
    row.try_get(column).map_err(broken)
}

pub(super) fn broken(error: impl std::fmt::Display) -> StoreError {
    StoreError::DamagedAsk(error.to_string())
}

pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(broken)
}

/// An enum without content is kept as one word.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_value(text.into()).map_err(broken)
}

pub(super) fn time(milliseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(milliseconds).map_err(broken)
}

pub(super) fn to_json(value: impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(&value).map_err(|error| StoreError::Failed(error.to_string()))
}

pub(super) fn to_word(value: impl Serialize) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(_) => Err(StoreError::Failed("not a word".to_owned())),
        Err(error) => Err(StoreError::Failed(error.to_string())),
    }
}
