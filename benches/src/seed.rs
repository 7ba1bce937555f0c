//! Stores with many settled asks. The rows are written directly, because it would take hours to ask and answer a million questions.
//! The file has an old schema. The daemon brings it to its own when it starts.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use crate::words::Words;

/// The newest schema that this file can write. Every later version of the daemon must be able to read it.
const SCHEMA: &str = "
    CREATE TABLE asks (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, session TEXT NOT NULL, origin TEXT NOT NULL, project TEXT,
        questions TEXT NOT NULL, detail TEXT NOT NULL, opened_at INTEGER NOT NULL, expires_at INTEGER, on_timeout TEXT NOT NULL,
        deferred INTEGER NOT NULL DEFAULT 0, outcome TEXT, settled_by TEXT, settled_at INTEGER,
        racing INTEGER NOT NULL DEFAULT 0, digest TEXT, receipt TEXT, asker TEXT, boot TEXT, expires_boot INTEGER,
        lifetime INTEGER, question_sum INTEGER, detail_sum INTEGER, outcome_sum INTEGER,
        kind TEXT NOT NULL DEFAULT 'question', subject TEXT, host TEXT) STRICT;
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, ask INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
    CREATE TABLE devices (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, kind TEXT NOT NULL, token_hash BLOB NOT NULL UNIQUE,
        created_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL) STRICT;
    PRAGMA application_id = 1095652183;
    PRAGMA user_version = 5;
";

const INDEXES: &str = "
    CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
    CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
    CREATE INDEX asks_key ON asks (key, id);
    CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;
    CREATE INDEX events_ask ON events (ask);
    CREATE INDEX asks_digest ON asks (session, digest, id) WHERE digest IS NOT NULL;
";

/// Younger than the daemon keeps questions for.
const OLDEST: u64 = 200 * 24 * 60 * 60 * 1000;
/// How many questions a session asked.
const PER_SESSION: u64 = 20;

/// Writes a store with this many settled asks.
pub fn store(path: &Path, asks: u64) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    // If this is interrupted, the file is useless anyway.
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.execute_batch(SCHEMA)?;
    let transaction = connection.transaction()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    {
        let mut add_ask = transaction.prepare(
            "INSERT INTO asks (id, key, session, origin, project, questions, detail, opened_at, on_timeout, outcome, settled_by,
                settled_at, asker, host)
             VALUES (?1, ?2, ?3, 'claude-code', ?4, ?5, ?6, ?7, 'native', ?8, '{\"channel\":\"socket\",\"agent\":\"curl/8\"}', ?9,
                '4711', 'bench')",
        )?;
        let mut add_event = transaction.prepare("INSERT INTO events (ask, kind, at) VALUES (?1, ?2, ?3)")?;
        let mut words = Words::new();
        for id in 1..=asks {
            let row = Row::new(id, asks, &mut words);
            let opened_at = now - OLDEST + OLDEST / (asks + 1) * id;
            let settled_at = opened_at + 5000;
            add_ask.execute(rusqlite::params![
                id as i64,
                row.key,
                row.session,
                row.project,
                row.questions,
                row.detail,
                opened_at as i64,
                row.outcome,
                settled_at as i64
            ])?;
            add_event.execute(rusqlite::params![id as i64, "ask.opened", opened_at as i64])?;
            add_event.execute(rusqlite::params![id as i64, "ask.settled", settled_at as i64])?;
        }
    }
    transaction.commit()?;
    connection.execute_batch(INDEXES)?;
    drop(connection);
    // Otherwise the system would write it while something else is measured.
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(|error| {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), Some(error.to_string()))
    })
}

struct Row {
    key: String,
    session: String,
    project: String,
    questions: String,
    detail: String,
    outcome: String,
}

impl Row {
    fn new(id: u64, asks: u64, words: &mut Words) -> Self {
        let session = format!("5ee0{:08x}-session", id / PER_SESSION);
        let call = format!("toolu_{id:016x}");
        let project = format!("/home/me/{}", words.project());
        let mut question = words.sentence(14);
        // One ask in the middle has a word that no other has.
        if id == asks / 2 + 1 {
            question.push_str(" with a ");
            question.push_str(Words::ONCE);
        }
        question.push('?');
        let (header, first, second) = (words.word(), words.sentence(3), words.sentence(3));
        let (why_first, why_second) = (words.sentence(8), words.sentence(8));
        let questions = format!(
            r#"[{{"question":"{question}","header":"{header}","options":[{{"label":"{first}","description":"{why_first}"}},{{"label":"{second}","description":"{why_second}"}}],"multiSelect":false}}]"#
        );
        let detail = format!(
            r#"{{"client":{{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"}},"hook":{{"session_id":"{session}","cwd":"{project}","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"{call}"}}}}"#
        );
        let outcome = format!(r#"{{"kind":"answered","answers":{{"{question}":"{first}"}}}}"#);
        Self { key: format!("{session}__{call}"), session, project, questions, detail, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_its_asks_and_one_rare_word() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("asks.db");
        store(&path, 500).unwrap();
        let connection = Connection::open(&path).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM asks WHERE json_valid(questions) AND json_valid(outcome)"), 500);
        assert_eq!(count("SELECT count(*) FROM events"), 1000);
        let with = |word: &str| count(&format!("SELECT count(*) FROM asks WHERE questions LIKE '%{word}%'"));
        assert_eq!((with(Words::ONCE), with(Words::NEVER)), (1, 0));
        assert!(with(Words::OFTEN) > 50, "{}", with(Words::OFTEN));
    }
}
