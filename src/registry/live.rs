//! Changes as they are committed, for those who follow them.
//!
//! The ring holds the newest ones for readers that are a little behind. It is bounded in number and in bytes: a large ask does not
//! go in, and a reader that comes to its place is told that it missed something. What was missed is in the store.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::ask::Change;

/// How far a reader may fall behind before it has to read from the store.
const MAX_CHANGES: usize = 1024;
/// An ask over this does not go in: 8 MiB in all.
const MAX_BYTES_EACH: usize = 8 * 1024;

/// The side that is written.
#[derive(Debug)]
pub(super) struct Ring(broadcast::Sender<Option<Arc<Change>>>);

impl Ring {
    pub(super) fn new() -> Self {
        Self(broadcast::channel(MAX_CHANGES).0)
    }

    pub(super) fn put(&self, change: &Arc<Change>) {
        let is_small = change.ask.weight() <= MAX_BYTES_EACH;
        // Nobody may be listening.
        drop(self.0.send(is_small.then(|| Arc::clone(change))));
    }

    pub(super) fn follow(&self) -> Live {
        Live(self.0.subscribe())
    }
}

/// One reader of the ring.
#[derive(Debug)]
pub struct Live(broadcast::Receiver<Option<Arc<Change>>>);

impl Live {
    /// The next change. [`RecvError::Lagged`] means that some have to be read from the store.
    pub async fn recv(&mut self) -> Result<Arc<Change>, RecvError> {
        self.0.recv().await?.ok_or(RecvError::Lagged(1))
    }

    /// The next change, if it is there and in the ring.
    #[cfg(test)]
    pub(crate) fn try_recv(&mut self) -> Option<Arc<Change>> {
        self.0.try_recv().ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;
    use crate::ask::{ChangeKind, Cursor};

    fn change(cursor: i64, text: usize) -> Arc<Change> {
        let mut ask = ask(cursor, "s__t", "shop", 1);
        ask.project = Some("x".repeat(text));
        Arc::new(Change { cursor: Cursor(cursor), kind: ChangeKind::Opened, ask: Arc::new(ask) })
    }

    #[tokio::test]
    async fn a_large_change_is_left_to_the_store_and_no_memory_is_kept_for_it() {
        let ring = Ring::new();
        let mut live = ring.follow();
        let (small, large) = (change(1, 10), change(2, MAX_BYTES_EACH));
        ring.put(&small);
        ring.put(&large);
        ring.put(&small);
        assert_eq!(Arc::strong_count(&large), 1);
        assert_eq!(live.recv().await.unwrap().cursor, Cursor(1));
        assert!(matches!(live.recv().await, Err(RecvError::Lagged(1))));
        assert_eq!(live.recv().await.unwrap().cursor, Cursor(1));
    }
}
