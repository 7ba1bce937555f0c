//! Short texts that the daemons of a store share for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A short text that the daemons of a store share, and how often it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Board {
    pub version: i64,
    /// Empty until something is written.
    pub text: String,
}

/// The boards of a store that has one daemon. They need not outlive it.
#[derive(Debug, Clone, Default)]
pub(super) struct Boards(Arc<Mutex<HashMap<String, Board>>>);

impl Boards {
    pub(super) fn read(&self, name: &str) -> Board {
        self.all().get(name).cloned().unwrap_or_default()
    }

    pub(super) fn write(&self, name: &str, version: i64, text: String) -> bool {
        let mut all = self.all();
        let board = all.entry(name.to_owned()).or_default();
        let is_newest = board.version == version;
        if is_newest {
            *board = Board { version: version + 1, text };
        }
        is_newest
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Board>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
