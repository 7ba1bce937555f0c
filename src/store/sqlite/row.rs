//! Rows to asks: reads the columns, and notices when a row is not what was written.

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::{Ask, AskId, AskKey, Host, Origin, Settlement};

use super::sums;

/// The columns that [`ask`] reads, in its order.
pub(super) const COLUMNS: &str = "asks.id, asks.key, asks.origin, asks.project, asks.questions, asks.opened_at, asks.expires_at, \
     asks.on_timeout, asks.deferred, asks.outcome, asks.settled_by, asks.settled_at, asks.racing, asks.digest, \
     asks.receipt, asks.asker, asks.question_sum, asks.outcome_sum, asks.kind, asks.subject, asks.host";

/// The ask of a row. Fails where the row is not what was written.
pub(super) fn ask(row: &Row<'_>) -> rusqlite::Result<Ask> {
    let id: i64 = row.get(0)?;
    let key: String = row.get(1)?;
    check_sum(row, 16, || Ok(sums::of_questions(&key, text(row, 4)?, text(row, 18)?, optional_text(row, 19)?)))?;
    let settlement = match json_or_null(row, 9)? {
        None => None,
        Some(outcome) => {
            check_sum(row, 17, || Ok(sums::of_outcome(id, text(row, 9)?, optional_text(row, 10)?)))?;
            Some(Settlement { outcome, by: json_or_null(row, 10)?, at: time_or_broken(row, 11)? })
        }
    };
    // A program has no process that matters, and keeps its name in the same place. A column more would be a change of the whole table, which
    // a damaged one does not survive.
    let (origin, asker) = (word(row, 2)?, row.get(15)?);
    let (asker, asked_by) = if origin == Origin::Program { (None, asker) } else { (asker, None) };
    Ok(Ask {
        id: AskId(id),
        key: key.parse::<AskKey>().map_err(|error| broken(1, error))?,
        origin,
        project: row.get(3)?,
        kind: word(row, 18)?,
        subject: json_or_null(row, 19)?,
        questions: json(row, 4)?,
        opened_at: time_or_broken(row, 5)?,
        expires_at: time(row, 6)?,
        on_timeout: word(row, 7)?,
        racing: row.get(12)?,
        digest: row.get(13)?,
        asker,
        asked_by,
        host: Host::new(text(row, 20)?),
        deferred: row.get(8)?,
        settlement,
        receipt: json_or_null(row, 14)?,
    })
}

fn broken(column: usize, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

/// Compares a checksum with the one in a column. Rows from before there were checksums have none.
pub(super) fn check_sum(
    row: &Row<'_>,
    column: usize,
    sum: impl FnOnce() -> rusqlite::Result<i64>,
) -> rusqlite::Result<()> {
    match row.get::<_, Option<i64>>(column)? {
        Some(written) if written != sum()? => Err(broken(column, "this is not what was written: the checksum differs")),
        _ => Ok(()),
    }
}

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    row.get_ref(column)?.as_str().map_err(|error| broken(column, error))
}

pub(super) fn optional_text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a str>> {
    row.get_ref(column)?.as_str_or_null().map_err(|error| broken(column, error))
}

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| broken(column, error))
}

pub(super) fn json_or_null<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| broken(column, error))).transpose()
}

/// An enum without content is kept as one word.
pub(super) fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(|error| broken(column, error))
}

pub(super) fn to_word(value: impl Serialize) -> rusqlite::Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(_) => Err(rusqlite::Error::ToSqlConversionFailure("not a word".into())),
        Err(error) => Err(rusqlite::Error::ToSqlConversionFailure(error.into())),
    }
}

pub(super) fn to_json(value: impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(&value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let millis: Option<i64> = row.get(column)?;
    millis.map(|millis| Timestamp::from_millisecond(millis).map_err(|error| broken(column, error))).transpose()
}

/// A time in a column that is never empty.
pub(super) fn time_or_broken(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    time(row, column)?.ok_or_else(|| broken(column, "a time is missing"))
}
