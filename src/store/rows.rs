//! Rows to asks and back.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::{Ask, AskId, AskKey, Change, ChangeKind, Cursor, Host, NewAsk, Receipt, Settlement};

use super::clock::Uptime;
use super::sums;
use super::{Changes, Filter, Page, StateFilter};

const COLUMNS: &str = "id, key, origin, project, questions, opened_at, expires_at, on_timeout, deferred, outcome, settled_by, settled_at, racing, \
     digest, receipt, asker, question_sum, outcome_sum, asks.kind, subject, host";

/// The ask of a row. Fails where the row is not what was written.
fn ask(row: &Row<'_>) -> rusqlite::Result<Ask> {
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
    Ok(Ask {
        id: AskId(id),
        key: key.parse::<AskKey>().map_err(|error| broken(1, error))?,
        origin: word(row, 2)?,
        project: row.get(3)?,
        kind: word(row, 18)?,
        subject: json_or_null(row, 19)?,
        questions: json(row, 4)?,
        opened_at: time_or_broken(row, 5)?,
        expires_at: time(row, 6)?,
        on_timeout: word(row, 7)?,
        racing: row.get(12)?,
        digest: row.get(13)?,
        asker: row.get(15)?,
        host: Host::new(text(row, 20)?),
        deferred: row.get(8)?,
        settlement,
        receipt: json_or_null(row, 14)?,
    })
}

fn broken(column: usize, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

/// Rows from before there were checksums have none.
fn check_sum(row: &Row<'_>, column: usize, sum: impl FnOnce() -> rusqlite::Result<i64>) -> rusqlite::Result<()> {
    match row.get::<_, Option<i64>>(column)? {
        Some(written) if written != sum()? => Err(broken(column, "this is not what was written: the checksum differs")),
        _ => Ok(()),
    }
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    row.get_ref(column)?.as_str().map_err(|error| broken(column, error))
}

fn optional_text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a str>> {
    row.get_ref(column)?.as_str_or_null().map_err(|error| broken(column, error))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| broken(column, error))
}

fn json_or_null<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| broken(column, error))).transpose()
}

/// An enum without content is kept as its bare word.
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

fn to_json(value: impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(&value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let millis: Option<i64> = row.get(column)?;
    millis.map(|millis| Timestamp::from_millisecond(millis).map_err(|error| broken(column, error))).transpose()
}

/// Where there is always one.
pub(super) fn time_or_broken(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    time(row, column)?.ok_or_else(|| broken(column, "a time is missing"))
}

pub(super) fn insert(
    connection: &Connection,
    new: &NewAsk,
    host: &Host,
    opened_at: Timestamp,
) -> rusqlite::Result<AskId> {
    let (kind, questions) = (to_word(new.kind)?, to_json(&new.questions)?);
    let subject = new.subject.as_ref().map(to_json).transpose()?;
    let (boot, expires_boot) = boot_deadline(new.expires_at, opened_at);
    connection
        .prepare_cached(
            "INSERT INTO asks (key, session, origin, project, questions, detail, opened_at, expires_at, on_timeout, racing, digest,
                               asker, boot, expires_boot, lifetime, question_sum, detail_sum, kind, subject, host)
             VALUES (:key, :session, :origin, :project, :questions, :detail, :opened_at, :expires_at, :on_timeout, :racing,
                     :digest, :asker, :boot, :expires_boot, :lifetime, :question_sum, :detail_sum, :kind, :subject, :host)",
        )?
        .execute(named_params! {
            ":key": new.key.as_str(),
            ":session": new.key.session(),
            ":origin": to_word(new.origin)?,
            ":project": new.project,
            ":questions": questions,
            ":detail": new.detail,
            ":opened_at": opened_at.as_millisecond(),
            ":expires_at": new.expires_at.map(Timestamp::as_millisecond),
            ":on_timeout": to_word(new.on_timeout)?,
            ":racing": new.racing,
            ":digest": new.digest,
            ":asker": new.asker,
            ":boot": boot,
            ":expires_boot": expires_boot,
            ":lifetime": lifetime(new.expires_at, opened_at),
            ":question_sum": sums::of_questions(new.key.as_str(), &questions, &kind, subject.as_deref()),
            ":detail_sum": sums::of_detail(new.key.as_str(), &new.detail),
            ":kind": kind,
            ":subject": subject,
            ":host": host.as_str(),
        })?;
    Ok(AskId(connection.last_insert_rowid()))
}

/// How long an ask has from now on.
fn lifetime(expires_at: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    expires_at.map(|expires_at| expires_at.as_millisecond() - now.as_millisecond())
}

/// A deadline by the clock that nobody can set.
fn boot_deadline(expires_at: Option<Timestamp>, now: Timestamp) -> (Option<String>, Option<i64>) {
    let deadline = expires_at.and_then(|expires_at| Some((Uptime::now()?, expires_at)));
    deadline.map_or((None, None), |(uptime, expires_at)| {
        let expires_boot = uptime.at(expires_at, now);
        (Some(uptime.boot), Some(expires_boot))
    })
}

/// Settles an open ask; `false` if it is not open (any more).
pub(super) fn settle(connection: &Connection, id: AskId, settlement: &Settlement) -> rusqlite::Result<bool> {
    let outcome = to_json(&settlement.outcome)?;
    let by = settlement.by.as_ref().map(to_json).transpose()?;
    let changed = connection
        .prepare_cached(
            "UPDATE asks SET outcome = :outcome, settled_by = :by, settled_at = :at, outcome_sum = :sum
             WHERE id = :id AND outcome IS NULL",
        )?
        .execute(named_params! {
            ":id": id.0,
            ":outcome": outcome,
            ":by": by,
            ":at": settlement.at.as_millisecond(),
            ":sum": sums::of_outcome(id.0, &outcome, by.as_deref()),
        })?;
    Ok(changed == 1)
}

/// Marks an open ask as deferred or as waited for again; `false` if it is not open.
pub(super) fn set_deferred(
    connection: &Connection,
    id: AskId,
    deferred: bool,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let (boot, expires_boot) = boot_deadline(expires_at, now);
    let changed = connection
        .prepare_cached(
            "UPDATE asks SET deferred = ?2, expires_at = ?3, boot = ?4, expires_boot = ?5, lifetime = ?6
             WHERE id = ?1 AND outcome IS NULL",
        )?
        .execute((
            id.0,
            deferred,
            expires_at.map(Timestamp::as_millisecond),
            boot,
            expires_boot,
            lifetime(expires_at, now),
        ))?;
    Ok(changed == 1)
}

/// Notes what the agent received; `false` if that was noted before.
pub(super) fn set_receipt(connection: &Connection, id: AskId, receipt: &Receipt) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached("UPDATE asks SET receipt = ?2 WHERE id = ?1 AND receipt IS NULL")?
        .execute((id.0, to_json(receipt)?))?;
    Ok(changed == 1)
}

/// The newest ask of a session with this input.
pub(super) fn by_digest(connection: &Connection, session: &str, digest: &str) -> rusqlite::Result<Option<Ask>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM asks WHERE session = ?1 AND digest = ?2 ORDER BY id DESC LIMIT 1"
        ))?
        .query_row([session, digest], ask)
        .optional()
}

pub(super) fn by_id(connection: &Connection, id: AskId) -> rusqlite::Result<Ask> {
    connection.prepare_cached(&format!("SELECT {COLUMNS} FROM asks WHERE id = ?1"))?.query_row([id.0], ask)
}

/// The newest life of a key.
pub(super) fn by_key(connection: &Connection, key: &AskKey) -> rusqlite::Result<Option<Ask>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM asks WHERE key = ?1 ORDER BY id DESC LIMIT 1"))?
        .query_row([key.as_str()], ask)
        .optional()
}

pub(super) fn detail(connection: &Connection, id: AskId) -> rusqlite::Result<String> {
    connection.prepare_cached("SELECT key, detail, detail_sum FROM asks WHERE id = ?1")?.query_row([id.0], |row| {
        check_sum(row, 2, || Ok(sums::of_detail(text(row, 0)?, text(row, 1)?)))?;
        row.get(1)
    })
}

/// All open asks. One that cannot be read must not keep the others from their answers.
pub(super) fn open(connection: &Connection) -> rusqlite::Result<Vec<Ask>> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM asks WHERE outcome IS NULL"))?;
    let mut rows = statement.query([])?;
    let mut asks = Vec::new();
    while let Some(row) = rows.next()? {
        match ask(row) {
            Ok(ask) => asks.push(ask),
            Err(error) => tracing::error!(id = row.get::<_, i64>(0)?, %error, "an open question is damaged"),
        }
    }
    Ok(asks)
}

/// How many asks of a session are open.
pub(super) fn count_open(connection: &Connection, session: &str) -> rusqlite::Result<u32> {
    connection
        .prepare_cached("SELECT count(*) FROM asks WHERE outcome IS NULL AND session = ?1")?
        .query_row([session], |row| row.get(0))
}

/// What a filter shows. One that cannot be read must not hide the others: it is counted.
pub(super) fn list(connection: &Connection, filter: &Filter) -> rusqlite::Result<Page> {
    let state = match filter.state {
        StateFilter::Open => "outcome IS NULL",
        StateFilter::Settled => "outcome IS NOT NULL",
        StateFilter::All => "TRUE",
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks
         WHERE {state} AND (:session IS NULL OR session = :session) AND (:project IS NULL OR project = :project)
           AND (:before IS NULL OR id < :before) AND (:opened_since IS NULL OR opened_at >= :opened_since)
           AND (:probes OR origin <> 'probe')
           AND (:key_end IS NULL OR substr(key, -length(:key_end)) = :key_end)
           AND (:outcome IS NULL OR (json_valid(outcome) AND outcome ->> 'kind' = :outcome))
           AND (:text IS NULL OR EXISTS (
               SELECT 1 FROM json_each(iif(json_valid(questions), questions, '[]'))
               WHERE value ->> 'question' LIKE :text ESCAPE '\\'
               UNION ALL
               SELECT 1 FROM json_tree(iif(json_valid(outcome), outcome, '{{}}'))
               WHERE type = 'text' AND key <> 'kind' AND atom LIKE :text ESCAPE '\\'))
         ORDER BY id DESC LIMIT :limit"
    ))?;
    let mut rows = statement.query(named_params! {
        ":session": filter.session,
        ":project": filter.project,
        ":opened_since": filter.opened_since.map(Timestamp::as_millisecond),
        ":outcome": filter.outcome.map(to_word).transpose()?,
        ":text": filter.text.as_deref().map(like),
        ":before": filter.before.map(|id| id.0),
        ":probes": filter.probes,
        ":key_end": filter.key_end,
        // One more, to know whether there are more.
        ":limit": i64::try_from(filter.limit.saturating_add(1)).unwrap_or(i64::MAX),
    })?;
    let (mut page, mut last) = (Page::default(), None);
    while let Some(row) = rows.next()? {
        if page.asks.len() + page.damaged == filter.limit {
            page.next = last;
            break;
        }
        let id = row.get(0)?;
        last = Some(AskId(id));
        match ask(row) {
            Ok(ask) => page.asks.push(Arc::new(ask)),
            Err(error) => {
                tracing::error!(id, %error, "a question is damaged");
                page.damaged += 1;
            }
        }
    }
    Ok(page)
}

/// The ids of the rows that are not what was written.
pub(super) fn damaged(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS}, detail, detail_sum FROM asks ORDER BY id"))?;
    let mut rows = statement.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let detail = || check_sum(row, 22, || Ok(sums::of_detail(text(row, 1)?, text(row, 21)?)));
        if ask(row).is_err() || detail().is_err() {
            damaged.push(row.get(0)?);
        }
    }
    Ok(damaged)
}

pub(super) fn projects(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT DISTINCT project FROM asks WHERE project IS NOT NULL AND origin <> 'probe' ORDER BY project",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// A pattern that matches texts with this one in them.
fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

pub(super) fn add_event(connection: &Connection, id: AskId, kind: &str, at: Timestamp) -> rusqlite::Result<i64> {
    connection.prepare_cached("INSERT INTO events (ask, kind, at) VALUES (?1, ?2, ?3)")?.execute((
        id.0,
        kind,
        at.as_millisecond(),
    ))?;
    Ok(connection.last_insert_rowid())
}

/// The events after a cursor, with each ask as it is now: until there are so many, or so many bytes. Events that this version does not
/// know, and those of asks that cannot be read, are passed over; the page says how far it goes all the same.
pub(super) fn events_after(
    connection: &Connection,
    after: i64,
    limit: usize,
    max_bytes: usize,
) -> rusqlite::Result<Changes> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, seq, events.kind AS change FROM events JOIN asks ON asks.id = events.ask
         WHERE seq > ?1 ORDER BY seq"
    ))?;
    let mut rows = statement.query([after])?;
    let mut page = Changes { changes: Vec::new(), through: Cursor(after), is_end: false };
    let (mut looked_at, mut bytes) = (0, 0);
    while looked_at < limit && bytes <= max_bytes {
        let Some(row) = rows.next()? else {
            page.is_end = true;
            break;
        };
        looked_at += 1;
        let cursor = Cursor(row.get("seq")?);
        page.through = cursor;
        let kind: String = row.get("change")?;
        let Some(kind) = ChangeKind::from_name(&kind) else { continue };
        match ask(row) {
            Ok(ask) => {
                bytes += ask.weight();
                page.changes.push(Arc::new(Change { cursor, kind, ask: Arc::new(ask) }));
            }
            Err(error) => tracing::error!(event = cursor.0, %error, "the question of an event is damaged"),
        }
    }
    Ok(page)
}

/// The newest event ever, also when it has been purged.
pub(super) fn newest_event(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'events'", [], |row| row.get(0))
        .optional()
        .map(|seq| seq.unwrap_or(0))
}

/// When the oldest settled ask was settled.
pub(super) fn oldest_settled(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let oldest = "SELECT min(settled_at) FROM asks WHERE outcome IS NOT NULL";
    connection.query_row(oldest, [], |row| time(row, 0))
}

/// Forgets what was settled before a time; its events go with it.
pub(super) fn purge(connection: &Connection, settled_before: Timestamp) -> rusqlite::Result<usize> {
    connection
        .execute("DELETE FROM asks WHERE outcome IS NOT NULL AND settled_at < ?1", [settled_before.as_millisecond()])
}
