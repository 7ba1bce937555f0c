//! What history is searched by: the table `texts` has the searched text of settled asks, and the table `grams` is an index of these texts
//! and of what else an ask can be found by.
//!
//! When an ask is settled, its text goes into the table `waiting`, in the same transaction. It is put into the index later, in small steps
//! (`indexing`), because that takes longer. Until then whoever looks for asks reads the asks that wait one by one, and those that are open.
//! So everything is always found.
//!
//! Only the steps of `indexing` write to `grams`, each in a transaction of its own. A commit makes FTS5 write, and with a damaged index that
//! fails, which must not undo anything else. Asks that are deleted are noted in the table `gone`, for a later step.

use rusqlite::Connection;

use crate::ask::{Ask, AskId, Outcome, Questions, searched_text};

use super::error::{is_damage, may_be_index_damage};
use super::grams::{self, Mark};
use super::hosts;

/// The tables and the settings of the index. Merging is done in small steps, never while something is written.
const INDEX: &str = "
    CREATE VIRTUAL TABLE grams USING fts5 (words, content='', contentless_delete=1, detail=none, tokenize='ascii');
    INSERT INTO grams (grams, rank) VALUES ('automerge', 0);
    INSERT INTO grams (grams, rank) VALUES ('crisismerge', 1000);
";

/// Writes the text of an ask that was settled.
pub(super) fn write(connection: &Connection, ask: &Ask) -> rusqlite::Result<()> {
    put(connection, ask.id.0, Some(&ask.questions), ask.settlement.as_ref().map(|settlement| &settlement.outcome))
}

fn put(
    connection: &Connection,
    id: i64,
    questions: Option<&Questions>,
    outcome: Option<&Outcome>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO waiting (ask, text) VALUES (?1, ?2)")?
        .execute((id, searched_text(questions, outcome)))?;
    Ok(())
}

/// Writes the texts of all settled asks of an older schema. An ask that cannot be read is not searched, as far as it cannot be read.
pub(super) fn write_all(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare("SELECT id, questions, outcome FROM asks WHERE outcome IS NOT NULL ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let questions = row.get_ref(1)?.as_str().ok().and_then(|text| serde_json::from_str(text).ok());
        let outcome: Option<Outcome> = row.get_ref(2)?.as_str().ok().and_then(|text| serde_json::from_str(text).ok());
        put(connection, row.get(0)?, questions.as_ref(), outcome.as_ref())?;
    }
    Ok(())
}

/// Whether at least so many texts wait for the index.
pub(super) fn are_waiting(connection: &Connection, many: usize) -> rusqlite::Result<bool> {
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM waiting WHERE NOT is_large LIMIT ?1)")?
        .query_row([many as i64], |row| row.get(0))?;
    Ok(count >= many as i64)
}

/// What the index gets for an ask.
struct Indexed {
    words: grams::Words,
    text: String,
    /// `None` also for a probe.
    project: Option<String>,
    /// `None` for a probe, which is in no list of hosts.
    host: Option<String>,
    opened_at: i64,
}

impl Indexed {
    /// `None` if there are too many words.
    fn read(connection: &Connection, id: i64) -> rusqlite::Result<Option<Self>> {
        let mut statement = connection.prepare_cached(
            "SELECT text, key, session, project, iif(json_valid(outcome), outcome ->> 'kind', NULL), kind, origin = 'probe', opened_at,
                    host
             FROM waiting CROSS JOIN asks ON asks.id = ask WHERE ask = ?1",
        )?;
        statement.query_row([id], |row| {
            let (text, key, session): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (project, outcome): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
            let (kind, is_probe): (String, bool) = (row.get(5)?, row.get(6)?);
            let marks = [Mark::Session(&session), Mark::Kind(&kind)].into_iter().chain(Mark::ends_of(&key));
            let marks = marks.chain(project.as_deref().map(Mark::Project)).chain(outcome.as_deref().map(Mark::Outcome));
            let words = grams::words(&text, marks);
            let (opened_at, host): (i64, Option<String>) = (row.get(7)?, row.get(8)?);
            let (project, host) = (project.filter(|_| !is_probe), host.filter(|_| !is_probe));
            Ok(words.map(|words| Self { words, text, project, host, opened_at }))
        })
    }
}

/// Puts texts that wait into the index: at most so many, and hardly more groups of letters than this. Returns how many do not wait any more.
/// An ask that cannot be read is set aside like one with too many words, so that it does not keep the others waiting.
pub(super) fn index(connection: &Connection, most_asks: usize, most_groups: usize) -> rusqlite::Result<usize> {
    let mut ids = connection.prepare_cached("SELECT ask FROM waiting WHERE NOT is_large ORDER BY ask LIMIT ?1")?;
    let most_asks = i64::try_from(most_asks).unwrap_or(i64::MAX);
    let ids: Vec<i64> = ids.query_map([most_asks], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let (mut count, mut groups) = (0, 0);
    for id in ids {
        if groups >= most_groups {
            break;
        }
        count += 1;
        let read = match Indexed::read(connection, id) {
            // After a page that makes no sense, nothing can be committed in this transaction.
            Err(error) if may_be_index_damage(&error) && !is_damage(&error) => {
                tracing::error!(id, %error, "a question cannot be put into the search index");
                None
            }
            read => read?,
        };
        let Some(Indexed { words, text, project, host, opened_at }) = read else {
            connection.prepare_cached("UPDATE waiting SET is_large = 1 WHERE ask = ?1")?.execute([id])?;
            continue;
        };
        groups += words.count;
        connection.prepare_cached("INSERT INTO grams (rowid, words) VALUES (?1, ?2)")?.execute((id, words.text))?;
        connection
            .prepare_cached("INSERT INTO texts (ask, text, project, opened_at) VALUES (?1, ?2, ?3, ?4)")?
            .execute((id, text, &project, opened_at))?;
        if let Some(host) = host {
            hosts::write(connection, id, &host, project.as_deref())?;
        }
        connection.prepare_cached("DELETE FROM waiting WHERE ask = ?1")?.execute([id])?;
    }
    flush(connection)?;
    Ok(count)
}

/// Merges parts of the index, at most so many pages. `false` if there was nothing to do.
pub(super) fn merge(connection: &Connection, pages: i64) -> rusqlite::Result<bool> {
    let before = connection.total_changes();
    connection.prepare_cached("INSERT INTO grams (grams, rank) VALUES ('merge', ?1)")?.execute([pages])?;
    flush(connection)?;
    // The statement itself counts as one change.
    Ok(connection.total_changes() - before >= 2)
}

/// Notes that asks are about to be deleted. The index proposes them until [`remove`] takes them out, but there is nothing to show then.
pub(super) fn forget(connection: &Connection, ids: &[AskId]) -> rusqlite::Result<()> {
    for id in ids {
        connection
            .prepare_cached("INSERT OR IGNORE INTO gone (ask) SELECT ask FROM texts WHERE ask = ?1")?
            .execute([id.0])?;
    }
    Ok(())
}

/// Whether deleted asks are still in the index.
pub(super) fn are_gone(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM gone)")?.query_row([], |row| row.get(0))
}

/// Takes deleted asks out of the index, at most so many. Returns how many there were.
pub(super) fn remove(connection: &Connection, most: usize) -> rusqlite::Result<usize> {
    let mut ids = connection.prepare_cached("SELECT ask FROM gone ORDER BY ask LIMIT ?1")?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let ids: Vec<i64> = ids.query_map([most], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in &ids {
        connection.prepare_cached("DELETE FROM grams WHERE rowid = ?1")?.execute([id])?;
        connection.prepare_cached("DELETE FROM gone WHERE ask = ?1")?.execute([id])?;
    }
    flush(connection)?;
    Ok(ids.len())
}

/// Writes what the index has in memory. At the commit, an error would count as one of the file.
fn flush(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("SAVEPOINT flush; RELEASE flush")
}

/// Makes an empty index in the place of one that is damaged. Every text waits for it again. It fails if the damage is such that SQLite cannot
/// even remove the old one.
pub(super) fn begin_anew(connection: &Connection) -> rusqlite::Result<()> {
    tracing::warn!("the search index is damaged, and is built anew: searches take longer until then");
    connection.execute_batch(&format!(
        "DROP TABLE grams; {INDEX}; DELETE FROM gone;
         INSERT OR IGNORE INTO waiting (ask, text) SELECT ask, text FROM texts; DELETE FROM texts;
         DELETE FROM hosts"
    ))
}
