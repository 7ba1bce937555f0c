//! The open asks in memory. They follow what the store has committed, and signal it to the waits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;
use tokio::sync::{Notify, broadcast, watch};

use crate::ask::{Ask, AskId, AskKey, Change, ChangeKind, Cursor, Host};
use crate::store::Snapshot;

use super::feed::{Live, Ring};
use super::race::{Fingerprint, is_of};
use super::wait::WaitEnd;

/// How many settled asks are kept for their dialogs. A dialog follows its announcement within milliseconds.
const MAX_UNCLAIMED: usize = 64;

/// How an ask ended, for those who wait for it.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The ask with its outcome.
    pub ask: Arc<Ask>,
    /// What the asker needs for its reply, unless it has to be read from the store.
    pub detail: Option<Arc<str>>,
}

/// The waits on one ask. There may be ten thousand of these, so they are small.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    state: Mutex<WaitState>,
    /// The ask was settled or deferred.
    changed: Notify,
}

#[derive(Debug, Default)]
struct WaitState {
    settled: Option<Settled>,
    /// The ask is gone without an outcome for those who wait. They have to ask again.
    lost: bool,
    /// How often the ask has been deferred. Each time, the waits of that moment end.
    deferrals: u32,
    /// How many askers are parked. Readers of the outcome do not count.
    parked: u32,
    /// Grows whenever an asker comes. A grace that began before that is void.
    arrivals: u32,
    /// The ask is being withdrawn, so nobody can park on it.
    closed: bool,
}

impl WaitState {
    fn is_over(&self) -> bool {
        self.settled.is_some() || self.lost
    }
}

/// A moment at which nobody was parked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abandoned {
    arrivals: u32,
}

impl Waiters {
    fn state(&self) -> MutexGuard<'_, WaitState> {
        // No code that holds this lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `look` finds, as soon as it finds something. It looks again after each change.
    async fn until<T>(&self, look: impl Fn(&WaitState) -> Option<T>) -> T {
        loop {
            // It begins to listen before it looks, so that no change falls between the two.
            let changed = self.changed.notified();
            if let Some(found) = look(&self.state()) {
                return found;
            }
            changed.await;
        }
    }

    /// Returns once nobody can wait here any more. Unlike a place, this does not keep the ask open.
    pub(super) async fn until_over(&self) {
        self.until(|state| state.is_over().then_some(())).await;
    }

    /// The ask, once it is settled; `None` if it was lost. Unlike a place, this does not keep the ask open.
    pub(super) async fn until_settled(&self) -> Option<Arc<Ask>> {
        let ask_in = |state: &WaitState| state.settled.as_ref().map(|settled| Arc::clone(&settled.ask));
        self.until(|state| state.is_over().then(|| ask_in(state))).await
    }

    /// How the wait of somebody who came after so many deferrals ends.
    pub(super) async fn until_end(&self, deferrals: u32) -> WaitEnd {
        self.until(|state| match &state.settled {
            Some(settled) => Some(WaitEnd::Settled(settled.clone())),
            None if state.lost => Some(WaitEnd::Lost),
            None => (state.deferrals > deferrals).then_some(WaitEnd::Deferred),
        })
        .await
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().is_over()
    }

    fn settle(&self, settled: Settled) {
        self.state().settled = Some(settled);
        self.changed.notify_waiters();
    }

    fn lose(&self) {
        self.state().lost = true;
        self.changed.notify_waiters();
    }

    fn defer(&self) {
        self.state().deferrals += 1;
        self.changed.notify_waiters();
    }

    /// Parks one more asker. `alone`: only if nobody else is parked. Returns how often the ask has been deferred before.
    fn park(&self, alone: bool) -> Option<u32> {
        let mut state = self.state();
        let taken = alone && state.parked > 0;
        if state.closed || taken {
            return None;
        }
        state.parked += 1;
        state.arrivals += 1;
        Some(state.deferrals)
    }

    fn is_parked_on(&self) -> bool {
        self.state().parked > 0
    }

    /// Whether an asker has ever come.
    fn was_parked_on(&self) -> bool {
        self.state().arrivals > 0
    }

    /// One asker leaves. Returns the moment if it was the last one.
    pub(super) fn leave(&self) -> Option<Abandoned> {
        self.state().parked -= 1;
        self.abandoned()
    }

    /// Returns the moment if nobody is parked.
    pub(super) fn abandoned(&self) -> Option<Abandoned> {
        let state = self.state();
        (state.parked == 0).then_some(Abandoned { arrivals: state.arrivals })
    }

    /// Lets nobody park any more, unless an asker has come since that moment. Returns whether it is closed.
    pub(super) fn close(&self, since: Abandoned) -> bool {
        let mut state = self.state();
        if state.arrivals == since.arrivals {
            state.closed = true;
        }
        state.closed
    }
}

#[derive(Debug)]
struct OpenAsk {
    ask: Arc<Ask>,
    waiters: Arc<Waiters>,
    /// About how many bytes the ask takes.
    weight: usize,
}

/// The place of one asker that is parked.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) ask: Arc<Ask>,
    pub(super) waiters: Arc<Waiters>,
    /// How often the ask had been deferred before: those deferrals do not end this wait.
    pub(super) deferrals: u32,
}

/// The open asks. Only the store's thread writes to them, in the order of commits. Everybody reads them.
#[derive(Debug)]
pub(super) struct OpenAsks {
    by_key: DashMap<AskKey, OpenAsk>,
    /// Asks that were settled after they were announced and before their dialog came, oldest first.
    unclaimed: Mutex<VecDeque<Arc<Ask>>>,
    ring: Ring,
    cursor: watch::Sender<Cursor>,
}

impl OpenAsks {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let by_key = DashMap::with_capacity(snapshot.open.len());
        for ask in snapshot.open {
            by_key.insert(ask.key.clone(), OpenAsk::new(Arc::new(ask)));
        }
        Self { by_key, unclaimed: Mutex::default(), ring: Ring::new(), cursor: watch::channel(snapshot.cursor).0 }
    }

    /// Takes over a committed change and wakes the waits. Runs on the store's thread.
    pub(super) fn apply(&self, change: &Arc<Change>) {
        let ask = &change.ask;
        match change.kind {
            ChangeKind::Opened => {
                // The dialog of an equal question from before never came. Its answer is not the answer to this one.
                let is_equal = |old: &Arc<Ask>| {
                    is_of(old, &ask.host, ask.key.session(), ask.asker.as_deref()) && old.digest == ask.digest
                };
                self.unclaimed().retain(|old| !is_equal(old));
                self.put(ask);
            }
            ChangeKind::Settled => {
                let is_over = |_: &AskKey, open: &OpenAsk| {
                    let is_same = open.ask.id == ask.id;
                    // It is kept while the map is locked, so that a dialog that comes now finds one of the two.
                    if is_same
                        && ask.may_be_answered_elsewhere()
                        && ask.kind.is_announced()
                        && !open.waiters.was_parked_on()
                    {
                        self.keep_unclaimed(ask);
                    }
                    is_same
                };
                if let Some((_, open)) = self.by_key.remove_if(&ask.key, is_over) {
                    // A hub took this daemon for dead and withdrew the ask. The askers wait all the same, so they ask again.
                    if ask.was_withdrawn_by_hub() && open.waiters.is_parked_on() {
                        open.waiters.lose();
                    } else {
                        open.waiters.settle(Settled { ask: Arc::clone(ask), detail: change.detail.clone() });
                    }
                }
            }
            // Receipts concern settled asks only.
            ChangeKind::Received => {}
            ChangeKind::Deferred | ChangeKind::Resumed => {
                if let Some(mut open) = self.by_key.get_mut(&ask.key) {
                    open.ask = Arc::clone(ask);
                    if ask.deferred {
                        open.waiters.defer();
                    }
                }
            }
        }
        self.cursor.send_replace(change.cursor);
        self.ring.put(change);
    }

    /// Takes over an open ask. The waits on it go on if it was known, and end if it was deferred meanwhile. The waits on an earlier life of
    /// its key have to ask again.
    fn put(&self, ask: &Arc<Ask>) {
        if let Some(mut open) = self.by_key.get_mut(&ask.key)
            && open.ask.id == ask.id
        {
            let is_newly_deferred = ask.deferred && !open.ask.deferred;
            open.ask = Arc::clone(ask);
            if is_newly_deferred {
                open.waiters.defer();
            }
            return;
        }
        if let Some(old) = self.by_key.insert(ask.key.clone(), OpenAsk::new(Arc::clone(ask))) {
            old.waiters.lose();
        }
    }

    /// Takes over the open asks after the order of changes was broken off. Returns those that were not known. The waits on asks that are
    /// gone have to ask again, because what they were waiting for may have been settled, or never have been saved. Runs on the store's
    /// thread.
    pub(super) fn reset(&self, snapshot: Snapshot) -> Vec<Arc<Ask>> {
        let mut gone: HashMap<AskKey, AskId> =
            self.by_key.iter().map(|open| (open.key().clone(), open.ask.id)).collect();
        let mut unknown = Vec::new();
        for ask in snapshot.open {
            let ask = Arc::new(ask);
            if gone.remove(&ask.key) != Some(ask.id) {
                unknown.push(Arc::clone(&ask));
            }
            self.put(&ask);
        }
        for key in gone.into_keys() {
            if let Some((_, open)) = self.by_key.remove(&key) {
                open.waiters.lose();
            }
        }
        self.unclaimed().clear();
        self.cursor.send_replace(snapshot.cursor);
        self.ring.reset(snapshot.cursor);
        unknown
    }

    pub(super) fn get(&self, key: &AskKey) -> Option<Arc<Ask>> {
        self.by_key.get(key).map(|open| Arc::clone(&open.ask))
    }

    /// The ask, with the waits on it.
    pub(super) fn waiters(&self, key: &AskKey) -> Option<(Arc<Ask>, Arc<Waiters>)> {
        self.by_key.get(key).map(|open| (Arc::clone(&open.ask), Arc::clone(&open.waiters)))
    }

    /// Whether an asker is parked on the ask.
    pub(super) fn has_asker(&self, key: &AskKey) -> bool {
        self.by_key.get(key).is_some_and(|open| open.waiters.abandoned().is_none())
    }

    /// Parks one more asker. The map is locked meanwhile, so the ask cannot be settled in between.
    pub(super) fn park(&self, key: &AskKey) -> Option<Parked> {
        self.by_key.get(key)?.park(false)
    }

    /// The same, only if the ask is one of this machine.
    pub(super) fn park_own(&self, key: &AskKey, host: &Host) -> Option<Parked> {
        self.by_key.get(key).filter(|open| open.ask.host == *host)?.park(false)
    }

    /// Parks an asker that does not name its call: on the oldest ask that fits and that nobody is parked on.
    pub(super) fn park_matching(&self, fingerprint: Fingerprint<'_>) -> Option<Parked> {
        let mut fitting = self.of_session(fingerprint.host, fingerprint.session, fingerprint.asker);
        fitting.retain(|ask| fingerprint.fits(ask));
        fitting.sort_unstable_by_key(|ask| ask.id);
        fitting.iter().find_map(|ask| self.by_key.get(&ask.key)?.park(true))
    }

    fn keep_unclaimed(&self, ask: &Arc<Ask>) {
        if !ask.stands_for_returning_asker() {
            return;
        }
        let mut unclaimed = self.unclaimed();
        if unclaimed.len() == MAX_UNCLAIMED {
            unclaimed.pop_front();
        }
        unclaimed.push_back(Arc::clone(ask));
    }

    /// An ask that was settled before its dialog came, for that dialog.
    pub(super) fn claim(&self, fingerprint: Fingerprint<'_>) -> Option<Arc<Ask>> {
        self.claim_where(|ask| fingerprint.fits(ask))
    }

    /// The same for an asker that names its call.
    pub(super) fn claim_named(&self, key: &AskKey) -> Option<Arc<Ask>> {
        self.claim_where(|ask| ask.key == *key)
    }

    fn claim_where(&self, fits: impl Fn(&Ask) -> bool) -> Option<Arc<Ask>> {
        let mut unclaimed = self.unclaimed();
        let index = unclaimed.iter().position(|ask| fits(ask))?;
        unclaimed.remove(index)
    }

    /// The agent went on, so no dialog will come.
    pub(super) fn forget_unclaimed(&self, host: &Host, session: &str, asker: Option<&str>) {
        self.unclaimed().retain(|ask| !is_of(ask, host, session, asker));
    }

    fn unclaimed(&self) -> MutexGuard<'_, VecDeque<Arc<Ask>>> {
        self.unclaimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The asks of one process of a session. Several processes may share a session.
    pub(super) fn of_session(&self, host: &Host, session: &str, asker: Option<&str>) -> Vec<Arc<Ask>> {
        let open = self.by_key.iter().filter(|open| is_of(&open.ask, host, session, asker));
        open.map(|open| Arc::clone(&open.ask)).collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<Ask>> {
        self.by_key.iter().map(|open| Arc::clone(&open.ask)).collect()
    }

    /// About how many bytes each of these asks takes.
    pub(super) fn weights(&self, is_one: impl Fn(&Ask) -> bool) -> Vec<usize> {
        self.by_key.iter().filter(|open| is_one(&open.ask)).map(|open| open.weight).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn cursor(&self) -> watch::Receiver<Cursor> {
        self.cursor.subscribe()
    }

    pub(super) fn follow(&self) -> broadcast::Receiver<Live> {
        self.ring.follow()
    }
}

impl OpenAsk {
    fn new(ask: Arc<Ask>) -> Self {
        let weight = ask.weight();
        Self { ask, waiters: Arc::default(), weight }
    }

    fn park(&self, alone: bool) -> Option<Parked> {
        let deferrals = self.waiters.park(alone)?;
        Some(Parked { ask: Arc::clone(&self.ask), waiters: Arc::clone(&self.waiters), deferrals })
    }
}
