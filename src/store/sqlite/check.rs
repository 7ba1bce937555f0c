//! Looks at a file without changing it, for the doctor and before a restart.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::StoreError;

use super::{asks, schema};

/// Whether this version can open the store in a file. Changes nothing. See [`Opening::open`](crate::store::Opening::open) for
/// `is_first`.
pub fn check_version(path: &Path, is_first: bool) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check(&connection, is_first).map(drop)
}

/// Whether somebody is in the middle of writing to the file: a daemon, or another program that holds it. Changes nothing.
pub fn is_locked(path: &Path) -> Result<bool, StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(schema::BUSY)?;
    match connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(true),
        begun => Ok(begun.map(|()| false)?),
    }
}

/// Whether this version can read the store in a file, and nothing is wrong with it. Changes nothing. See
/// [`Opening::open`](crate::store::Opening::open) for `is_first`.
pub fn check(path: &Path, is_first: bool) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let version = schema::check(&connection, is_first)?;
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(StoreError::Damaged(verdict));
    }
    // Rows of an older schema do not have all columns yet. They get them when a daemon opens the file.
    let damaged = if version == schema::NEWEST { asks::damaged(&connection)? } else { Vec::new() };
    if damaged.is_empty() { Ok(()) } else { Err(StoreError::DamagedAsks(damaged)) }
}
