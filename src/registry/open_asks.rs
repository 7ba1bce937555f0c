//! The open asks in memory: a projection of what the store has committed, and the bell each waiter listens to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use tokio::sync::{broadcast, watch};

use crate::ask::{Ask, AskId, AskKey};
use crate::store::{Change, ChangeKind, Cursor, Loaded};

/// How far a reader of live changes may fall behind before it has to read them from the store.
const LIVE_CHANGES: usize = 1024;

/// What those who wait for an ask are told.
#[derive(Debug, Clone, Default)]
pub(super) struct Signal {
    /// The ask with its outcome.
    pub(super) settled: Option<Arc<Ask>>,
    /// How often it has been deferred: each time, those who wait at that moment are let go.
    pub(super) deferrals: u32,
}

/// Those who wait for one ask.
#[derive(Debug)]
pub(super) struct Waiters {
    pub(super) signal: watch::Sender<Signal>,
    /// How many askers are parked; mere readers do not count.
    pub(super) parked: AtomicUsize,
}

#[derive(Debug)]
struct OpenAsk {
    ask: Arc<Ask>,
    waiters: Arc<Waiters>,
}

/// The open asks. Written only by the store's commits, in their order; read by everybody.
#[derive(Debug)]
pub(super) struct OpenAsks {
    by_key: DashMap<AskKey, OpenAsk>,
    live: broadcast::Sender<Arc<Change>>,
    cursor: watch::Sender<Cursor>,
}

impl OpenAsks {
    pub(super) fn new(loaded: Loaded) -> Self {
        let by_key = DashMap::with_capacity(loaded.open.len());
        for ask in loaded.open {
            by_key.insert(ask.key.clone(), OpenAsk::new(Arc::new(ask)));
        }
        Self { by_key, live: broadcast::channel(LIVE_CHANGES).0, cursor: watch::channel(loaded.cursor).0 }
    }

    /// Takes over a committed change and rings the bells. Runs on the store's thread.
    pub(super) fn apply(&self, change: &Arc<Change>) {
        let ask = &change.ask;
        match change.kind {
            ChangeKind::Opened => drop(self.by_key.insert(ask.key.clone(), OpenAsk::new(Arc::clone(ask)))),
            ChangeKind::Settled => {
                if let Some((_, open)) = self.by_key.remove_if(&ask.key, |_, open| open.ask.id == ask.id) {
                    open.waiters.signal.send_modify(|signal| signal.settled = Some(Arc::clone(ask)));
                }
            }
            ChangeKind::Deferred | ChangeKind::Resumed => {
                if let Some(mut open) = self.by_key.get_mut(&ask.key) {
                    open.ask = Arc::clone(ask);
                    if ask.deferred {
                        open.waiters.signal.send_modify(|signal| signal.deferrals += 1);
                    }
                }
            }
        }
        self.cursor.send_replace(change.cursor);
        // Nobody may be listening.
        drop(self.live.send(Arc::clone(change)));
    }

    pub(super) fn get(&self, key: &AskKey) -> Option<Arc<Ask>> {
        self.by_key.get(key).map(|open| Arc::clone(&open.ask))
    }

    /// The ask with those who wait for it.
    pub(super) fn waiters(&self, key: &AskKey) -> Option<(Arc<Ask>, Arc<Waiters>)> {
        self.by_key.get(key).map(|open| (Arc::clone(&open.ask), Arc::clone(&open.waiters)))
    }

    /// Counts one more parked asker while the ask is certainly still there.
    pub(super) fn park(&self, key: &AskKey) -> Option<(Arc<Ask>, Arc<Waiters>)> {
        self.by_key.get(key).map(|open| {
            open.waiters.parked.fetch_add(1, Ordering::Relaxed);
            (Arc::clone(&open.ask), Arc::clone(&open.waiters))
        })
    }

    /// Whether this life is open with nobody parked on it.
    pub(super) fn is_orphan(&self, key: &AskKey, id: AskId) -> bool {
        self.by_key.get(key).is_some_and(|open| {
            open.ask.id == id && !open.ask.deferred && open.waiters.parked.load(Ordering::Relaxed) == 0
        })
    }

    pub(super) fn all(&self) -> Vec<Arc<Ask>> {
        self.by_key.iter().map(|open| Arc::clone(&open.ask)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn cursor(&self) -> watch::Receiver<Cursor> {
        self.cursor.subscribe()
    }

    pub(super) fn live(&self) -> broadcast::Receiver<Arc<Change>> {
        self.live.subscribe()
    }
}

impl OpenAsk {
    fn new(ask: Arc<Ask>) -> Self {
        let waiters = Waiters { signal: watch::channel(Signal::default()).0, parked: AtomicUsize::new(0) };
        Self { ask, waiters: Arc::new(waiters) }
    }
}
