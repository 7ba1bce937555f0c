//! The schema and its migrations. A migration, once released, is never changed: the next one is added below it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::ask::Host;
use crate::durable;
use crate::store::StoreError;

use super::error::is_damage;
use super::{hosts, milestones, texts};

/// How long to wait for another program that holds the file. Only a tool that a person runs can.
pub(super) const BUSY: Duration = Duration::from_secs(1);

/// How many statements a connection keeps prepared: all that it uses often.
const STATEMENTS: usize = 48;

/// Marks the file as ours ("ANSW"), so that another program's database is never migrated.
const APPLICATION_ID: i32 = 0x414e_5357;

const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE asks (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        key        TEXT NOT NULL,
        session    TEXT NOT NULL,
        origin     TEXT NOT NULL,
        project    TEXT,
        questions  TEXT NOT NULL,               -- JSON
        detail     TEXT NOT NULL,               -- what the origin needs for its reply
        opened_at  INTEGER NOT NULL,            -- milliseconds since 1970, as all times
        expires_at INTEGER,
        on_timeout TEXT NOT NULL,
        deferred   INTEGER NOT NULL DEFAULT 0,
        outcome    TEXT,                        -- JSON; NULL while open
        settled_by TEXT,                        -- JSON; NULL where nobody did
        settled_at INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
    CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
    CREATE INDEX asks_key ON asks (key, id);
    CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;

    CREATE TABLE events (
        seq  INTEGER PRIMARY KEY AUTOINCREMENT,
        ask  INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX events_ask ON events (ask);

    CREATE TABLE page_sessions (
        token_hash BLOB PRIMARY KEY,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE asks ADD COLUMN racing INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE asks ADD COLUMN digest TEXT;
    ALTER TABLE asks ADD COLUMN receipt TEXT;   -- JSON; NULL until it is seen
    CREATE INDEX asks_digest ON asks (session, digest, id) WHERE digest IS NOT NULL;
",
    "
    CREATE TABLE devices (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,
        name         TEXT NOT NULL,
        kind         TEXT NOT NULL,
        token_hash   BLOB NOT NULL UNIQUE,
        created_at   INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO devices (name, kind, token_hash, created_at, last_seen_at)
        SELECT 'browser', 'page', token_hash, created_at, created_at FROM page_sessions ORDER BY created_at;
    DROP TABLE page_sessions;
",
    "
    ALTER TABLE asks ADD COLUMN asker TEXT;             -- which process of the session; for a program, the name that it gives itself
    ALTER TABLE asks ADD COLUMN boot TEXT;              -- for expires_boot: which run of the machine
    ALTER TABLE asks ADD COLUMN expires_boot INTEGER;   -- milliseconds since that began
    ALTER TABLE asks ADD COLUMN lifetime INTEGER;       -- milliseconds between opening and deadline
    ALTER TABLE asks ADD COLUMN question_sum INTEGER;   -- checksums; NULL in rows from before
    ALTER TABLE asks ADD COLUMN detail_sum INTEGER;
    ALTER TABLE asks ADD COLUMN outcome_sum INTEGER;
    UPDATE asks SET asker = detail ->> '$.client.agent_pid' WHERE outcome IS NULL AND json_valid(detail);
    UPDATE asks SET origin = 'probe' WHERE origin = 'claude-code' AND session LIKE 'doctor-%';
",
    "
    ALTER TABLE asks ADD COLUMN kind TEXT NOT NULL DEFAULT 'question';
    ALTER TABLE asks ADD COLUMN subject TEXT;           -- JSON; NULL for a question
    ALTER TABLE asks ADD COLUMN host TEXT;              -- whose daemon opened it; filled when the file is opened
",
    "
    CREATE TABLE away (
        project TEXT,                                   -- a directory; NULL for every ask
        words   TEXT NOT NULL,
        kinds   TEXT NOT NULL,                          -- JSON
        since   INTEGER NOT NULL,
        until   INTEGER NOT NULL,
        set_by  TEXT,                                   -- JSON; NULL if it is not known
        sum     INTEGER NOT NULL                        -- a checksum: these words become answers
    ) STRICT;
",
    "
    -- What history needs is not in the indexes of `asks`, because each of them takes time with every question and every answer. A settled
    -- ask waits here until it is put into the tables below, together with others.
    CREATE TABLE waiting (                              -- filled when the file is opened
        ask      INTEGER PRIMARY KEY REFERENCES asks (id) ON DELETE CASCADE,
        text     TEXT NOT NULL,                         -- what is searched, in lower case
        is_large INTEGER NOT NULL DEFAULT 0             -- it has too many words for the index, and stays here
    ) STRICT;
    CREATE TABLE gone (                                 -- asks that were deleted and are still in the index
        ask INTEGER PRIMARY KEY
    ) STRICT;
    CREATE TABLE texts (
        ask       INTEGER PRIMARY KEY REFERENCES asks (id) ON DELETE CASCADE,
        text      TEXT NOT NULL,
        project   TEXT,                                 -- NULL also for a probe
        opened_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX texts_project ON texts (project) WHERE project IS NOT NULL;
    CREATE INDEX texts_opened ON texts (opened_at);
    CREATE VIRTUAL TABLE grams USING fts5 (words, content='', contentless_delete=1, detail=none, tokenize='ascii');
    INSERT INTO grams (grams, rank) VALUES ('automerge', 0);
    INSERT INTO grams (grams, rank) VALUES ('crisismerge', 1000);
",
    "
    CREATE TABLE milestones (                           -- what has happened at least once; filled when the file is opened
        name TEXT PRIMARY KEY
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE TABLE hosts (                                -- the machines of the asks in `texts`; filled when the file is opened
        ask     INTEGER PRIMARY KEY REFERENCES asks (id) ON DELETE CASCADE,
        host    TEXT NOT NULL,
        project TEXT NOT NULL                           -- empty if there is none
    ) STRICT;
    CREATE INDEX hosts_project ON hosts (host, project);
",
    "
    CREATE TABLE people (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        name       TEXT NOT NULL UNIQUE,
        grants     TEXT NOT NULL,                       -- JSON
        revision   INTEGER NOT NULL DEFAULT 1,          -- how often the grants were set
        created_at INTEGER NOT NULL
    ) STRICT;
    -- A device without a row here belongs to nobody and may see everything. So a person cannot be deleted before their devices.
    CREATE TABLE device_people (
        device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
        person INTEGER NOT NULL REFERENCES people (id)
    ) STRICT;
    CREATE INDEX device_people_person ON device_people (person);
",
];

/// The schema that this version writes.
pub(super) const NEWEST: u32 = MIGRATIONS.len() as u32;

/// The first schema whose rows name a host.
const FIRST_WITH_HOST: u32 = 5;

/// The first schema with the searched texts.
const FIRST_WITH_TEXTS: u32 = 7;

/// The first schema that knows what has happened at least once.
const FIRST_WITH_MILESTONES: u32 = 8;

/// The first schema that lists the asks of one host without reading those of the others.
const FIRST_WITH_HOST_LISTS: u32 = 9;

/// Checks that the file is ours and has a schema that this version knows. Returns that schema. A file without tables becomes ours, but
/// only if there cannot have been a store before (`is_first`). Otherwise its content was lost, and people must learn that.
pub(super) fn check(connection: &Connection, is_first: bool) -> Result<u32, StoreError> {
    let application_id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > NEWEST {
        return Err(StoreError::Newer { found: version, known: NEWEST });
    }
    let empty: bool = connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    if empty && !is_first {
        return Err(StoreError::Emptied);
    }
    if application_id != APPLICATION_ID && !empty {
        return Err(StoreError::Foreign);
    }
    Ok(version)
}

/// The settings of every connection that stays open.
pub(super) fn configure_any(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is prepared once and then used again. Without this, SQLite prepares it anew for other values, because an index might suit
    // them better.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// The settings of every connection that writes.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit that was reported survives a power failure.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Opens a prepared file again, and brings everything in it to the disk.
pub(super) fn reopen(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    configure_any(&connection)?;
    check(&connection, false)?;
    configure(&connection)?;
    let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_busy { Err(StoreError::Busy("the log could not be emptied".to_owned())) } else { Ok(connection) }
}

/// Prepares a connection and brings the file to the newest schema, or refuses without touching it. The daemon of `host` is the only one
/// that uses the file, so it takes over what is open: a machine that was renamed, or got the file from another one, loses nothing. What
/// machines with a host token have asked stays theirs.
pub(super) fn prepare(connection: &mut Connection, is_first: bool, host: &Host) -> Result<(), StoreError> {
    configure_any(connection)?;
    let version = check(connection, is_first)?;
    configure(connection)?;
    if version < NEWEST {
        match migrate(connection, version, host, OlderAsks::Read) {
            // The daemon must start all the same, and after a damaged page nothing can be committed.
            Err(error) if is_damage(&error) => {
                tracing::error!(%error, "searches miss older questions: the store is damaged");
                migrate(connection, version, host, OlderAsks::Skipped)?;
            }
            migrated => migrated?,
        }
    }
    let transaction = connection.transaction()?;
    // If there is nothing to take over, nothing is written, and the start does not wait for the disk.
    transaction.execute(
        "UPDATE asks SET host = ?1 WHERE outcome IS NULL AND host IS NOT ?1
         AND host NOT IN (SELECT name FROM devices WHERE kind = 'host')",
        [host.as_str()],
    )?;
    transaction.commit()?;
    Ok(())
}

/// Whether the asks of an older schema are read, so that they can be searched and count as milestones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OlderAsks {
    Read,
    Skipped,
}

fn migrate(connection: &mut Connection, version: u32, host: &Host, asks: OlderAsks) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for migration in &MIGRATIONS[version as usize..] {
        transaction.execute_batch(migration)?;
    }
    if version < FIRST_WITH_HOST {
        transaction.execute("UPDATE asks SET host = ?1 WHERE host IS NULL", [host.as_str()])?;
    }
    if version < FIRST_WITH_TEXTS && asks == OlderAsks::Read {
        texts::write_all(&transaction)?;
    }
    if version < FIRST_WITH_MILESTONES && asks == OlderAsks::Read {
        milestones::write_all(&transaction)?;
    }
    if (FIRST_WITH_TEXTS..FIRST_WITH_HOST_LISTS).contains(&version) && asks == OlderAsks::Read {
        hosts::write_all(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", NEWEST)?;
    transaction.commit()
}

/// Makes a file without tables. A loss of power leaves the whole file or none, because it gets its name when it is on the disk. SQLite
/// alone would wait for the disk more often.
///
/// The tables are not made here. They are the first commit in the log, so a log that somebody removed before it was written to the file does
/// not leave a store that looks new: see [`check`].
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let file_error = |error| StoreError::File(path.to_path_buf(), Arc::new(error));
    let dir = path.parent().unwrap_or(Path::new("/"));
    let file = tempfile::NamedTempFile::new_in(dir).map_err(file_error)?;
    let connection = Connection::open(file.path())?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.close().map_err(|(_, error)| error)?;
    file.as_file().sync_all().map_err(file_error)?;
    // The file is closed here. If it were closed later, that would take away the locks of SQLite on it.
    drop(file.persist(path).map_err(|error| file_error(error.error))?);
    durable::sync_dir(dir).map_err(file_error)
}
