//! The open asks in memory: a projection of what the store has committed, and the bell each waiter listens to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;
use tokio::sync::watch;

use crate::ask::{Ask, AskKey, Change, ChangeKind, Cursor, Outcome};
use crate::store::Snapshot;

use super::live::{Live, Ring};

/// A dialog follows its announcement within milliseconds; what lies here longer has none.
const MAX_UNCLAIMED: usize = 64;

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
    parking: Mutex<Parking>,
}

/// How many askers are parked; mere readers do not count.
#[derive(Debug, Default)]
struct Parking {
    parked: usize,
    /// Changes whenever an asker comes: a grace that began before is over.
    arrivals: u64,
    /// The ask is being withdrawn: nobody can park any more.
    closed: bool,
}

/// That nobody was parked at some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abandoned {
    arrivals: u64,
}

impl Waiters {
    fn new() -> Self {
        Self { signal: watch::channel(Signal::default()).0, parking: Mutex::default() }
    }

    fn parking(&self) -> MutexGuard<'_, Parking> {
        // Nothing in here can panic half way.
        self.parking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `alone`: only where nobody else is parked.
    fn park(&self, alone: bool) -> bool {
        let mut parking = self.parking();
        let taken = alone && parking.parked > 0;
        let free = !parking.closed && !taken;
        if free {
            parking.parked += 1;
            parking.arrivals += 1;
        }
        free
    }

    /// One asker less; the moment to remember if it was the last.
    pub(super) fn leave(&self) -> Option<Abandoned> {
        self.parking().parked -= 1;
        self.abandoned()
    }

    /// The moment to remember if nobody is parked.
    pub(super) fn abandoned(&self) -> Option<Abandoned> {
        let parking = self.parking();
        (parking.parked == 0).then_some(Abandoned { arrivals: parking.arrivals })
    }

    /// Lets nobody park any more, unless somebody has come since that moment.
    pub(super) fn close(&self, since: Abandoned) -> bool {
        let mut parking = self.parking();
        if parking.arrivals == since.arrivals {
            parking.closed = true;
        }
        parking.closed
    }
}

#[derive(Debug)]
struct OpenAsk {
    ask: Arc<Ask>,
    waiters: Arc<Waiters>,
}

/// A place among those who wait.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) ask: Arc<Ask>,
    pub(super) waiters: Arc<Waiters>,
    /// Deferrals before this one concern others.
    pub(super) deferrals: u32,
}

/// The open asks. Written only by the store's commits, in their order; read by everybody.
#[derive(Debug)]
pub(super) struct OpenAsks {
    by_key: DashMap<AskKey, OpenAsk>,
    /// Asks that were settled after they were announced and before their dialog came, oldest first.
    unclaimed: Mutex<VecDeque<Arc<Ask>>>,
    live: Ring,
    cursor: watch::Sender<Cursor>,
}

impl OpenAsks {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let by_key = DashMap::with_capacity(snapshot.open.len());
        for ask in snapshot.open {
            by_key.insert(ask.key.clone(), OpenAsk::new(Arc::new(ask)));
        }
        Self { by_key, unclaimed: Mutex::default(), live: Ring::new(), cursor: watch::channel(snapshot.cursor).0 }
    }

    /// Takes over a committed change and rings the bells. Runs on the store's thread.
    pub(super) fn apply(&self, change: &Arc<Change>) {
        let ask = &change.ask;
        match change.kind {
            ChangeKind::Opened => {
                // An answer to an equal question from before, whose dialog never came, is not the answer to this one.
                let is_equal =
                    |old: &Arc<Ask>| is_of(old, ask.key.session(), ask.asker.as_deref()) && old.digest == ask.digest;
                self.unclaimed().retain(|old| !is_equal(old));
                self.by_key.insert(ask.key.clone(), OpenAsk::new(Arc::clone(ask)));
            }
            ChangeKind::Settled => {
                if let Some((_, open)) = self.by_key.remove_if(&ask.key, |_, open| open.ask.id == ask.id) {
                    if ask.racing && open.waiters.parking().arrivals == 0 {
                        self.keep_unclaimed(ask);
                    }
                    open.waiters.signal.send_modify(|signal| signal.settled = Some(Arc::clone(ask)));
                }
            }
            // It concerns asks that are settled.
            ChangeKind::Received => {}
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
        self.live.put(change);
    }

    pub(super) fn get(&self, key: &AskKey) -> Option<Arc<Ask>> {
        self.by_key.get(key).map(|open| Arc::clone(&open.ask))
    }

    /// The ask with those who wait for it.
    pub(super) fn waiters(&self, key: &AskKey) -> Option<(Arc<Ask>, Arc<Waiters>)> {
        self.by_key.get(key).map(|open| (Arc::clone(&open.ask), Arc::clone(&open.waiters)))
    }

    /// Parks one more asker while the ask is certainly still there.
    pub(super) fn park(&self, key: &AskKey) -> Option<Parked> {
        self.by_key.get(key)?.park(false)
    }

    /// Parks an asker that names its session and its input, but not its call: on the oldest such ask that has nobody.
    pub(super) fn park_by_digest(&self, session: &str, asker: Option<&str>, digest: &str) -> Option<Parked> {
        let mut fitting = self.of_session(session, asker);
        fitting.retain(|ask| ask.digest.as_deref() == Some(digest));
        fitting.sort_unstable_by_key(|ask| ask.id);
        fitting.iter().find_map(|ask| self.by_key.get(&ask.key)?.park(true))
    }

    fn keep_unclaimed(&self, ask: &Arc<Ask>) {
        if ask.settlement.as_ref().is_some_and(|settlement| settlement.outcome == Outcome::Withdrawn) {
            return;
        }
        let mut unclaimed = self.unclaimed();
        if unclaimed.len() == MAX_UNCLAIMED {
            unclaimed.pop_front();
        }
        unclaimed.push_back(Arc::clone(ask));
    }

    /// The outcome of an ask whose dialog comes only now.
    pub(super) fn claim(&self, session: &str, asker: Option<&str>, digest: &str) -> Option<Arc<Ask>> {
        let mut unclaimed = self.unclaimed();
        let fits = |ask: &Arc<Ask>| is_of(ask, session, asker) && ask.digest.as_deref() == Some(digest);
        let index = unclaimed.iter().position(fits)?;
        unclaimed.remove(index)
    }

    /// The agent went on: no dialog comes any more.
    pub(super) fn forget_unclaimed(&self, session: &str, asker: Option<&str>) {
        self.unclaimed().retain(|ask| !is_of(ask, session, asker));
    }

    fn unclaimed(&self) -> MutexGuard<'_, VecDeque<Arc<Ask>>> {
        self.unclaimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The asks of one process of a session: several may share it.
    pub(super) fn of_session(&self, session: &str, asker: Option<&str>) -> Vec<Arc<Ask>> {
        let open = self.by_key.iter().filter(|open| is_of(&open.ask, session, asker));
        open.map(|open| Arc::clone(&open.ask)).collect()
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

    pub(super) fn live(&self) -> Live {
        self.live.follow()
    }
}

fn is_of(ask: &Ask, session: &str, asker: Option<&str>) -> bool {
    ask.key.session() == session && ask.asker.as_deref() == asker
}

impl OpenAsk {
    fn new(ask: Arc<Ask>) -> Self {
        Self { ask, waiters: Arc::new(Waiters::new()) }
    }

    fn park(&self, alone: bool) -> Option<Parked> {
        self.waiters.park(alone).then(|| Parked {
            ask: Arc::clone(&self.ask),
            waiters: Arc::clone(&self.waiters),
            deferrals: self.waiters.signal.borrow().deferrals,
        })
    }
}
