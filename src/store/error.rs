//! Why the store did not do as it was told.

use std::path::PathBuf;
use std::sync::Arc;

use crate::ask::AskId;

/// Why the store did not do as it was told. A `String` in it is what the backend says about the cause.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another program holds the store, and did not let go in time. Nothing was saved.
    #[error("{0}")]
    Busy(String),
    /// There is no room left. Nothing was saved.
    #[error("{0}")]
    Full(String),
    /// The disk or the way to the store failed. Nothing was saved.
    #[error("{0}")]
    Unreachable(String),
    /// The backend failed in another way. Nothing was saved.
    #[error("{0}")]
    Failed(String),
    /// Another change that was to be saved together with this one failed, and the log says why. Nothing was saved.
    #[error("the transaction was lost")]
    Undone,
    /// Nobody knows whether this was saved.
    #[error("{0}")]
    Unknown(String),
    /// Somebody changed the store's files while the daemon was using them. Nobody knows what is left of them.
    #[error("{0} while the daemon was using it")]
    Changed(String),
    /// The store as a whole makes no sense.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// This ask is not what was written.
    #[error("its row in the store is damaged: {0}")]
    DamagedAsk(String),
    /// These asks cannot be read, or are not what was written. The others are fine.
    #[error("{} of the questions in it cannot be read any more (id {})", .0.len(), first(.0))]
    DamagedAsks(Vec<AskId>),
    /// The file cannot be made, or its directory cannot be used.
    #[error("{0}: {1}")]
    File(PathBuf, Arc<std::io::Error>),
    /// The store comes from a newer version, and is left as it is.
    #[error("the store has schema {found}, and this version knows {known}: use a newer version of answerback")]
    Newer {
        /// The schema of the store.
        found: u32,
        /// The newest schema that this version knows.
        known: u32,
    },
    /// The file belongs to another program.
    #[error("the file is a database of another program")]
    Foreign,
    /// The file is empty, but there was a store in it before.
    #[error("the file is empty, but there was a store before: restore it, or remove it to begin anew")]
    Emptied,
    /// This daemon is an edge, and its hub, at this address, does that. Nothing was saved.
    #[error("this is done at the hub of this machine, {0}")]
    AtHub(String),
    /// The daemon is going down.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether the change may be saved although this error came back.
    pub fn leaves_open_what_was_saved(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::Changed(_))
    }
}

/// The first few ids, for people.
fn first(ids: &[AskId]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(|id| id.0.to_string()).collect();
    let more = if ids.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}
