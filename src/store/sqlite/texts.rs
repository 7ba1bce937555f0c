//! What history is searched by: the table `texts` has the searched text of settled asks, and the table `grams` is an index of these texts
//! and of what else an ask can be found by.
//!
//! When an ask is settled, its text goes into the table `waiting`, in the same transaction. It is put into the index later, in small steps
//! (`indexing`), because that takes longer. Until then whoever looks for asks reads the asks that wait one by one, and those that are open.
//! So everything is always found. All three tables can be made anew from `asks`.

use rusqlite::Connection;

use crate::ask::{Ask, AskId, Outcome, Questions, searched_text};

use super::error::is_damage;
use super::grams::{self, Mark};

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

/// Puts texts that wait into the index: at most so many, and hardly more groups of letters than this. Returns how many do not wait any more.
pub(super) fn index(connection: &Connection, most_asks: usize, most_groups: usize) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(
        "SELECT ask, text, key, session, project, outcome_kind, origin = 'probe', opened_at, kind
         FROM waiting CROSS JOIN asks ON asks.id = ask WHERE NOT is_large ORDER BY ask LIMIT ?1",
    )?;
    let mut rows = statement.query([i64::try_from(most_asks).unwrap_or(i64::MAX)])?;
    let mut taken = Vec::new();
    let mut groups = 0;
    while groups < most_groups
        && let Some(row) = rows.next()?
    {
        let (text, key, session): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let (project, outcome): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
        let kind: String = row.get(8)?;
        let marks = [Mark::Session(&session), Mark::Kind(&kind)].into_iter().chain(Mark::ends_of(&key));
        let marks = marks.chain(project.as_deref().map(Mark::Project)).chain(outcome.as_deref().map(Mark::Outcome));
        let words = grams::words(&text, marks);
        groups += words.as_ref().map_or(0, |words| words.count);
        let is_probe: bool = row.get(6)?;
        taken.push((row.get::<_, i64>(0)?, words, text, project.filter(|_| !is_probe), row.get::<_, i64>(7)?));
    }
    drop(rows);
    let count = taken.len();
    for (id, words, text, project, opened_at) in taken {
        let Some(words) = words else {
            connection.prepare_cached("UPDATE waiting SET is_large = 1 WHERE ask = ?1")?.execute([id])?;
            continue;
        };
        connection.prepare_cached("INSERT INTO grams (rowid, words) VALUES (?1, ?2)")?.execute((id, words.text))?;
        connection
            .prepare_cached("INSERT INTO texts (ask, text, project, opened_at) VALUES (?1, ?2, ?3, ?4)")?
            .execute((id, text, project, opened_at))?;
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

/// Takes asks out of the index that are about to be deleted.
pub(super) fn remove(connection: &Connection, ids: &[AskId]) -> rusqlite::Result<()> {
    for id in ids {
        connection
            .prepare_cached("DELETE FROM grams WHERE rowid = (SELECT ask FROM texts WHERE ask = ?1)")?
            .execute([id.0])?;
    }
    flush(connection)
}

/// Does something with the index, or begins it anew if it is damaged, which is `None`. It must not keep anything else from being done.
pub(super) fn with_index<T>(
    connection: &Connection,
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    match work() {
        Err(error) if is_damage(&error) => begin_anew(connection).map(|()| None),
        done => done.map(Some),
    }
}

/// Writes what the index has in memory. At the commit, an error would count as one of the file.
fn flush(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("SAVEPOINT flush; RELEASE flush")
}

/// Makes an empty index in the place of one that is damaged. Every text waits for it again.
pub(super) fn begin_anew(connection: &Connection) -> rusqlite::Result<()> {
    tracing::warn!("the search index is damaged, and is built anew: searches take longer until then");
    connection.execute_batch(&format!(
        "DROP TABLE grams; {INDEX}; INSERT INTO waiting (ask, text) SELECT ask, text FROM texts; DELETE FROM texts"
    ))
}
