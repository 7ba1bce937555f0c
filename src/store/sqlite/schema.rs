//! The schema and its migrations. A migration, once released, is never changed: the next one is added below it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::ask::Host;
use crate::store::StoreError;

/// How long to wait for another program that holds the file. Only a tool that a person runs can.
pub(super) const BUSY: Duration = Duration::from_secs(1);

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
    ALTER TABLE asks ADD COLUMN asker TEXT;             -- which process of the session
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
];

/// The schema that this version writes.
pub(super) const NEWEST: u32 = MIGRATIONS.len() as u32;

/// The first schema whose rows name a host.
const FIRST_WITH_HOST: u32 = 5;

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
    connection.busy_timeout(BUSY)?;
    check(&connection, false)?;
    configure(&connection)?;
    let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_busy { Err(StoreError::Busy("the log could not be emptied".to_owned())) } else { Ok(connection) }
}

/// Prepares a connection and brings the file to the newest schema, or refuses without touching it. The daemon of `host` is the only one
/// that uses the file, so it takes over what is open: a machine that was renamed, or got the file from another one, loses nothing.
pub(super) fn prepare(connection: &mut Connection, is_first: bool, host: &Host) -> Result<(), StoreError> {
    connection.busy_timeout(BUSY)?;
    let version = check(connection, is_first)?;
    configure(connection)?;
    let transaction = connection.transaction()?;
    for migration in &MIGRATIONS[version as usize..] {
        transaction.execute_batch(migration)?;
    }
    transaction.execute("UPDATE asks SET host = ?1 WHERE outcome IS NULL AND host IS NOT ?1", [host.as_str()])?;
    if version < FIRST_WITH_HOST {
        transaction.execute("UPDATE asks SET host = ?1 WHERE host IS NULL", [host.as_str()])?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", NEWEST)?;
    transaction.commit()?;
    Ok(())
}
