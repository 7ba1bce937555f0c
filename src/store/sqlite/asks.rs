//! The statements of the table `asks`.

use jiff::Timestamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, named_params};

use crate::ask::{Ask, AskId, AskKey, Host, NewAsk, Origin, Receipt, Settlement};

use super::clock::Uptime;
use super::row::{COLUMNS, ask, check_sum, text, time, to_json, to_word};
use super::{sums, texts};

/// Adds an open ask.
pub(super) fn insert(
    connection: &Connection,
    new: &NewAsk,
    host: &Host,
    opened_at: Timestamp,
) -> rusqlite::Result<AskId> {
    let (kind, questions) = (to_word(new.topic.kind())?, to_json(new.topic.questions())?);
    let subject = new.topic.subject().map(to_json).transpose()?;
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
            ":asker": if new.origin == Origin::Program { &new.asked_by } else { &new.asker },
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

/// How many milliseconds an ask has from now on.
fn lifetime(expires_at: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    expires_at.map(|expires_at| expires_at.as_millisecond() - now.as_millisecond())
}

/// A deadline by the clock that nobody can set: which run of the machine, and milliseconds since it began.
fn boot_deadline(expires_at: Option<Timestamp>, now: Timestamp) -> (Option<String>, Option<i64>) {
    let deadline = expires_at.and_then(|expires_at| Some((Uptime::now()?, expires_at)));
    deadline.map_or((None, None), |(uptime, expires_at)| {
        let expires_boot = uptime.at(expires_at, now);
        (Some(uptime.boot), Some(expires_boot))
    })
}

/// Settles an open ask; `false` if it is not open.
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

/// The newest ask of a session whose input has this digest.
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
    newest_life(connection)?.query_row([key.as_str()], ask).optional()
}

pub(super) fn newest_life(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(&format!("SELECT {COLUMNS} FROM asks WHERE key = ?1 ORDER BY id DESC LIMIT 1"))
}

/// What the origin needs for its reply.
pub(super) fn detail(connection: &Connection, id: AskId) -> rusqlite::Result<String> {
    connection.prepare_cached("SELECT key, detail, detail_sum FROM asks WHERE id = ?1")?.query_row([id.0], |row| {
        check_sum(row, 2, || Ok(sums::of_detail(text(row, 0)?, text(row, 1)?)))?;
        row.get(1)
    })
}

/// All open asks that can be read. One that cannot must not keep the others from their answers.
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

/// How many asks of a session are open on a machine. Another machine can ask under any session.
pub(super) fn count_open(connection: &Connection, session: &str, host: &Host) -> rusqlite::Result<u32> {
    connection.prepare_cached(COUNT_OPEN)?.query_row([session, host.as_str()], |row| row.get(0))
}

pub(super) const COUNT_OPEN: &str =
    "SELECT count(*) FROM asks INDEXED BY asks_open_session WHERE outcome IS NULL AND session = ?1 AND host = ?2";

/// The asks that are not what was written.
pub(super) fn damaged(connection: &Connection) -> rusqlite::Result<Vec<AskId>> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS}, detail, detail_sum FROM asks ORDER BY id"))?;
    let mut rows = statement.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let detail = || check_sum(row, 22, || Ok(sums::of_detail(text(row, 1)?, text(row, 21)?)));
        if ask(row).is_err() || detail().is_err() {
            damaged.push(AskId(row.get(0)?));
        }
    }
    Ok(damaged)
}

/// The projects that have asks, in alphabetical order. Of the asks in the index, it goes from one project to the next, not from ask to ask.
/// It reads the few others.
pub(super) fn projects(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection.prepare_cached(PROJECTS)?.query_map([], |row| row.get(0))?.collect()
}

pub(super) const PROJECTS: &str = "
    WITH RECURSIVE found (project) AS (
        SELECT min(project) FROM texts WHERE project IS NOT NULL
        UNION ALL
        SELECT (SELECT min(texts.project) FROM texts WHERE texts.project > found.project) FROM found
        WHERE found.project IS NOT NULL
    )
    SELECT project FROM found WHERE project IS NOT NULL
    UNION
    SELECT project FROM waiting CROSS JOIN asks ON asks.id = ask WHERE project IS NOT NULL AND origin <> 'probe'
    UNION
    SELECT project FROM asks INDEXED BY asks_open
    WHERE outcome IS NULL AND project IS NOT NULL AND origin <> 'probe'
    ORDER BY project";

/// The time at which the oldest settled ask was settled.
pub(super) fn oldest_settled(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let oldest = "SELECT min(settled_at) FROM asks WHERE outcome IS NOT NULL";
    connection.query_row(oldest, [], |row| time(row, 0))
}

/// If the file has more than `most` bytes: when the newest ask was settled that is not among the newest ones with so many bytes together.
/// The bytes of the asks are counted, and not those of the file: what is searched is forgotten later, so the file says too much.
pub(super) fn settled_beyond(connection: &Connection, most: u64) -> rusqlite::Result<Option<Timestamp>> {
    // Pages that are free do not count: they are used again before the file grows.
    let used = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let used: i64 = connection.query_row(used, [], |row| row.get(0))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    if used <= most {
        return Ok(None);
    }
    let beyond = "SELECT max(settled_at) FROM (
                      SELECT settled_at, sum(size) OVER (ORDER BY settled_at DESC) AS bytes FROM (
                          SELECT settled_at, octet_length(questions) + octet_length(detail) + octet_length(outcome)
                                 + ifnull(octet_length(subject), 0) + ifnull(octet_length(receipt), 0) AS size
                          FROM asks WHERE outcome IS NOT NULL
                      )
                  ) WHERE bytes > ?1";
    connection.query_row(beyond, [most], |row| time(row, 0))
}

/// Forgets asks that were settled before a time, the oldest first, at most so many. Their events and what is searched go with them.
pub(super) fn purge(connection: &Connection, settled_before: Timestamp, most: usize) -> rusqlite::Result<usize> {
    let due: Vec<AskId> = connection
        .prepare_cached(
            "SELECT id FROM asks WHERE outcome IS NOT NULL AND settled_at < ?1 ORDER BY settled_at LIMIT ?2",
        )?
        .query_map((settled_before.as_millisecond(), most as i64), |row| row.get(0).map(AskId))?
        .collect::<Result<_, _>>()?;
    texts::forget(connection, &due)?;
    for id in &due {
        connection.prepare_cached("DELETE FROM asks WHERE id = ?1")?.execute([id.0])?;
    }
    Ok(due.len())
}
