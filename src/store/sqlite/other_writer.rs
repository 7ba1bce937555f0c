//! Another program that uses the file of a store, for tests of what happens then.

use std::path::Path;

use rusqlite::Connection;

/// A program in the middle of a write. The store can save nothing while this lives.
#[derive(Debug)]
pub struct OtherWriter(#[allow(dead_code, reason = "held until it is dropped")] Connection);

impl OtherWriter {
    /// Begins to write to the file of a store.
    pub fn begin(file: &Path) -> Self {
        let connection = Connection::open(file).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }
}
