//! Why the store did not do as it was told.

use std::path::PathBuf;
use std::sync::Arc;

use super::files::FileChanged;

/// Why the store did not do as it was told.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// SQLite says no: disk full, file damaged, not readable.
    #[error("{0}")]
    Sqlite(Arc<rusqlite::Error>),
    /// A row is not what was written.
    #[error("its row in the store is damaged: {0}")]
    DamagedRow(Arc<rusqlite::Error>),
    /// The file cannot be made or its directory cannot be used.
    #[error("{0}: {1}")]
    File(PathBuf, Arc<std::io::Error>),
    /// The file comes from a newer version and is left as it is.
    #[error("the store has schema {found}, and this version knows {known}: use a newer version of answerback")]
    Newer {
        /// In the file.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// The file is another program's.
    #[error("the file is a database of another program")]
    Foreign,
    /// SQLite finds a fault in the file.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// Some rows cannot be read, or are not what was written. The others are fine.
    #[error("{} of the questions in it cannot be read any more (id {})", .0.len(), ids(.0))]
    DamagedRows(Vec<i64>),
    /// The file is empty, and was not always.
    #[error("the file is empty, but there was a store before: restore it, or remove it to begin anew")]
    Emptied,
    /// Somebody changed the files under the daemon.
    #[error("{0} while the daemon was using it")]
    Changed(FileChanged),
    /// A commit failed in a way that leaves open whether it is on disk.
    #[error("{0}")]
    Unknown(Arc<rusqlite::Error>),
    /// There is no transaction, because none could be started or another job's failure ended it; the log says why.
    #[error("the transaction was lost")]
    NoTransaction,
    /// The daemon is going down.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether what was to be written may be there all the same.
    pub fn leaves_open_what_was_saved(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::Changed(_))
    }
}

/// The first few, for people.
fn ids(ids: &[i64]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if ids.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..) => Self::DamagedRow(Arc::new(error)),
            error => Self::Sqlite(Arc::new(error)),
        }
    }
}
