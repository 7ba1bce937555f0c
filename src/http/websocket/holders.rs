//! Which connection has taken which session. Only that one may answer over the WebSocket. The page, the commands and the API are not bound
//! by it: whoever answers first wins.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All sessions that a connection has taken.
#[derive(Debug, Default)]
pub(in crate::http) struct Holders {
    next: AtomicU64,
    by_session: Mutex<HashMap<String, Held>>,
}

#[derive(Debug)]
struct Held {
    connection: u64,
    losses: Arc<Losses>,
}

/// The sessions that a connection has lost to another one and was not told about yet.
#[derive(Debug, Default)]
struct Losses {
    sessions: Mutex<BTreeSet<String>>,
    changed: Notify,
}

/// One connection. It gives its sessions back when it is dropped.
#[derive(Debug)]
pub(super) struct Holder {
    holders: Arc<Holders>,
    connection: u64,
    losses: Arc<Losses>,
}

impl Holder {
    pub(super) fn new(holders: Arc<Holders>) -> Self {
        let connection = holders.next.fetch_add(1, Ordering::Relaxed);
        Self { holders, connection, losses: Arc::default() }
    }

    /// Takes a session. Returns whether another connection had it, which is told.
    pub(super) fn take(&self, session: &str) -> bool {
        lock(&self.losses.sessions).remove(session);
        let held = Held { connection: self.connection, losses: Arc::clone(&self.losses) };
        let before = lock(&self.holders.by_session).insert(session.to_owned(), held);
        let Some(before) = before.filter(|before| before.connection != self.connection) else { return false };
        lock(&before.losses.sessions).insert(session.to_owned());
        before.losses.changed.notify_one();
        true
    }

    /// Whether this connection may answer the questions of a session: it has taken it, or nobody has.
    pub(super) fn may_answer(&self, session: &str) -> bool {
        lock(&self.holders.by_session).get(session).is_none_or(|held| held.connection == self.connection)
    }

    /// Gives back the sessions of this connection that it may not keep.
    pub(super) fn keep(&self, may_keep: impl Fn(&str) -> bool) {
        lock(&self.holders.by_session).retain(|session, held| held.connection != self.connection || may_keep(session));
    }

    /// The next session that another connection has taken from this one. Safe to cancel.
    pub(super) async fn lost(&self) -> String {
        loop {
            if let Some(session) = lock(&self.losses.sessions).pop_first() {
                return session;
            }
            self.losses.changed.notified().await;
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        lock(&self.holders.by_session).retain(|_, held| held.connection != self.connection);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds these locks can panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_newest_connection_has_the_session_and_the_other_one_is_told_once() {
        let holders = Arc::new(Holders::default());
        let [first, second] = [0; 2].map(|_| Holder::new(Arc::clone(&holders)));
        assert!(first.may_answer("s") && second.may_answer("s"), "nobody has it");
        assert!(!first.take("s"));
        assert!(!first.take("s"), "it had it already");
        assert!(first.may_answer("s") && !second.may_answer("s") && second.may_answer("other"));
        assert!(second.take("s"));
        assert!(!first.may_answer("s") && second.may_answer("s"));
        assert_eq!(first.lost().now_or_never().as_deref(), Some("s"));
        assert_eq!((first.lost().now_or_never(), second.lost().now_or_never()), (None, None));
        drop(second);
        assert!(first.may_answer("s"), "it was given back");
    }

    #[test]
    fn what_was_taken_back_at_once_is_not_lost() {
        let holders = Arc::new(Holders::default());
        let [first, second] = [0; 2].map(|_| Holder::new(Arc::clone(&holders)));
        first.take("s");
        second.take("s");
        first.take("s");
        assert_eq!(first.lost().now_or_never(), None);
        assert_eq!(second.lost().now_or_never().as_deref(), Some("s"));
    }
}
