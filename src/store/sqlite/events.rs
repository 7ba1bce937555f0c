//! The order of changes: the table `events`.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use crate::ask::{AskId, Change, ChangeKind, Cursor};
use crate::store::Changes;

use super::row::{COLUMNS, ask};

/// Gives a change the next cursor.
pub(super) fn add(connection: &Connection, id: AskId, kind: ChangeKind, at: Timestamp) -> rusqlite::Result<Cursor> {
    connection.prepare_cached("INSERT INTO events (ask, kind, at) VALUES (?1, ?2, ?3)")?.execute((
        id.0,
        kind.name(),
        at.as_millisecond(),
    ))?;
    Ok(Cursor(connection.last_insert_rowid()))
}

/// The changes after a cursor, until there are `limit` of them or their asks have more than `max_bytes`. It passes over changes that
/// this version does not know, and over asks that cannot be read. How far the page goes is true all the same.
pub(super) fn page(
    connection: &Connection,
    after: Cursor,
    limit: usize,
    max_bytes: usize,
) -> rusqlite::Result<Changes> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, seq, events.kind AS change FROM events JOIN asks ON asks.id = events.ask
         WHERE seq > ?1 ORDER BY seq"
    ))?;
    let mut rows = statement.query([after.0])?;
    let mut page = Changes { changes: Vec::new(), through: after, is_end: false, is_broken_off: false };
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
                page.changes.push(Arc::new(Change { cursor, kind, ask: Arc::new(ask), detail: None }));
            }
            Err(error) => tracing::error!(event = cursor.0, %error, "the question of an event is damaged"),
        }
    }
    Ok(page)
}

/// The newest cursor ever given, even if its change has been purged.
pub(super) fn newest(connection: &Connection) -> rusqlite::Result<Cursor> {
    connection
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'events'", [], |row| row.get(0))
        .optional()
        .map(|seq| Cursor(seq.unwrap_or(0)))
}
