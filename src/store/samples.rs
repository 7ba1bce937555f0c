//! Stores for the tests of every room.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::ask::{Change, Host};

pub(crate) use super::postgres::tests::Network;
use super::{Opening, Sink, Snapshot, Update};

/// A sink that keeps every change.
pub(crate) fn into(kept: &Arc<Mutex<Vec<Arc<Change>>>>) -> Sink {
    let kept = Arc::clone(kept);
    Box::new(move |news| match news {
        Update::Change(change) => kept.lock().unwrap().push(Arc::clone(change)),
        Update::Reset(snapshot) => panic!("broken off: {snapshot:?}"),
    })
}

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
