//! Stores for the tests of every room.

use std::path::Path;

use tempfile::TempDir;

use crate::ask::Host;

use super::{Opening, Snapshot};

/// A store in a directory of its own.
pub(crate) fn in_scratch_dir() -> (TempDir, Opening, Snapshot) {
    let dir = tempfile::tempdir().unwrap();
    let (opening, snapshot) = in_dir(dir.path());
    (dir, opening, snapshot)
}

/// The store of a directory, opened again.
pub(crate) fn in_dir(dir: &Path) -> (Opening, Snapshot) {
    Opening::open(&dir.join("asks.db"), true, Host::new("here")).unwrap()
}
