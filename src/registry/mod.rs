//! Who is waiting for what. The registry opens, settles and expires asks, parks askers on them and wakes them.
//!
//! - It does no I/O. The store decides, and the open asks in memory follow what the store has committed.
//! - An ask is settled once, by the first settlement that commits.
//! - A wait that is dropped withdraws its ask after a grace, so that a restart or a reconnect does not count as a withdrawal.
//! - Deadlines, grace and withdrawal concern only the asks of this daemon's host.
//! - No map guard lives across an `.await`.
//! - It knows no Claude Code. An asker is whoever waits, and a race is a race with any other dialog.

mod calls;
mod ending;
mod feed;
mod joining;
mod links;
mod open_asks;
mod quotas;
mod race;
mod sessions;
mod shares;
mod unconfirmed;
mod wait;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc, watch};

use crate::ask::{Ask, AskId, AskKey, Cursor, Host, NewAsk, Origin, Outcome, Settlement, Source, Verdict};
use crate::store::{AskPage, Filter, Milestone, Opened, Opening, Settling, Snapshot, Store, StoreError, Update};

use calls::Calls;
pub use calls::NamedCall;
#[cfg(test)]
pub(crate) use feed::MAX_CHANGES;
pub use feed::{Feed, Next};
use links::Links;
use open_asks::OpenAsks;
pub use open_asks::Settled;
use quotas::Quotas;
pub use quotas::{Asker, Charge};
use sessions::Sessions;
pub use sessions::{Activity, AgentProcess};
pub use shares::{MAX_CALLS, Share};
pub use unconfirmed::Unconfirmed;
use unconfirmed::{Found, Keys};
pub use wait::{Wait, WaitEnd};

/// How long an ask outlives its last wait.
const GRACE: Duration = Duration::from_secs(2);
/// How long the asks of an earlier daemon wait for their askers to come back.
const RETURN_GRACE: Duration = Duration::from_secs(10);
/// Limits that ordinary use never reaches. Beyond them, the asker shows its own dialog.
pub const MAX_OPEN: usize = 10_000;
/// Programs leave this part of the places to hooks. An agent that cannot ask goes on without a person who knows.
const PART_FOR_HOOKS: usize = 10;
pub const MAX_OPEN_PER_SESSION: u32 = 64;

/// The one handle to all open asks; cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    open: Arc<OpenAsks>,
    unconfirmed: Keys,
    calls: Calls,
    sessions: Arc<Sessions>,
    links: Links,
    quotas: Quotas,
    started_at: Timestamp,
    runtime: Handle,
}

/// What an asker finds when it comes, or comes back.
#[derive(Debug)]
pub enum Attached {
    /// The ask is open, and the asker is parked on it.
    Waiting(Wait),
    /// The ask has its outcome already.
    Settled(Arc<Ask>),
    /// The call is over, and nobody needs an answer.
    Over,
}

/// Why an ask is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Too many are open.
    #[error("too many questions are open")]
    Full,
    /// The asker has asked too much, and may ask again after this time.
    #[error("too much was asked within a day: this works again in {} s", .0.as_secs() + 1)]
    TooMuch(Duration),
    /// Other questions were asked under this key. Their answer is not for this asker.
    #[error("other questions were asked under the same key")]
    OtherQuestions,
    /// The ask came in over the socket and this asker has only the hook token, or the reverse.
    #[error("somebody else asked under the same key")]
    OtherAsker,
    /// Another machine asked under this key. What is said about its ask is not for this asker.
    #[error("another machine asked under the same key")]
    OtherMachine,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an ask is not settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Somebody answered first, and differently.
    #[error("somebody else has answered")]
    Conflict(Arc<Ask>),
    /// It ended without an answer.
    #[error("the question is closed")]
    Gone(Arc<Ask>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Registry {
    /// Takes over the open asks of a store, and starts the store. Deadlines go on from where they were. Must be called in a runtime.
    pub fn start(opening: Opening, snapshot: Snapshot) -> Result<(Self, Store), StoreError> {
        let open = Arc::new(OpenAsks::new(snapshot));
        let sessions = Arc::new(Sessions::new());
        let (projection, watched) = (Arc::clone(&open), Arc::clone(&sessions));
        let (found, mut appeared) = mpsc::unbounded_channel();
        let store = opening.start(Box::new(move |update| match update {
            Update::Change(change) => {
                projection.apply(change);
                watched.tell(change.ask.key.session());
            }
            Update::Reset(snapshot) => {
                for ask in projection.reset(snapshot) {
                    watched.tell(ask.key.session());
                    // An error means that the daemon ends.
                    drop(found.send(ask));
                }
            }
        }))?;
        let registry = Self(Arc::new(Shared {
            store: store.clone(),
            open,
            unconfirmed: Keys::default(),
            calls: Calls::default(),
            sessions,
            links: Links::default(),
            quotas: Quotas::default(),
            started_at: store.now(),
            runtime: Handle::current(),
        }));
        let mut hosts: HashSet<Host> = HashSet::new();
        for ask in registry.0.open.all() {
            registry.take_up(&ask);
            hosts.insert(ask.host.clone());
        }
        // No machine is linked yet.
        hosts.remove(store.host());
        hosts.into_iter().for_each(|host| registry.watch_absent(host));
        let watcher = Arc::downgrade(&registry.0);
        registry.0.runtime.spawn(async move {
            while let Some(ask) = appeared.recv().await {
                let Some(shared) = watcher.upgrade() else { return };
                Self(shared).take_up(&ask);
            }
        });
        Ok((registry, store))
    }

    /// Watches over an ask that was opened before. Its asker has some time to come back.
    fn take_up(&self, ask: &Arc<Ask>) {
        self.watch_deadline(ask);
        self.withdraw_unless_parked(&ask.key, RETURN_GRACE, None);
    }

    /// Parks an asker on its ask, and opens the ask if it is not there. If the ask has an outcome that stands, the asker gets it at once.
    /// `resumed`: the asker was parked before and lost its daemon. Then every outcome but a withdrawal stands.
    pub async fn attach(&self, new: NewAsk, resumed: bool) -> Result<Attached, OpenError> {
        let new = Arc::new(new);
        if let Some(ask) = self.0.open.get(&new.key) {
            self.check_same(&ask, &new).await?;
        }
        if let Some(wait) = self.park(&new).await? {
            return Ok(Attached::Waiting(wait));
        }
        if resumed
            && let Some(ask) = self.0.store.ask(new.key.clone()).await?
            && ask.stands_for_returning_asker()
        {
            if ask.stands_for(new.asker.as_deref()) {
                self.check_same(&ask, &new).await?;
                return Ok(Attached::Settled(ask));
            }
            if race::is_host_of(&new, &ask) {
                // A hook has brought the answer to the agent, and it was for one call. The host came a moment too late.
                return Ok(Attached::Over);
            }
        }
        loop {
            let mut found = self.open_or_find(&new, Asker::Here).await?;
            if !found.ask.is_open() {
                return Ok(Attached::Settled(Arc::clone(&found.ask)));
            }
            let open = self.0.open.waiters(&new.key);
            if let Some(wait) = self.park(&new).await? {
                return Ok(Attached::Waiting(wait.of_new(found.hand_over())));
            }
            match open {
                // It is open, but nobody may park: it is being withdrawn. It is opened anew when that is done.
                Some((_, waiters)) => waiters.until_over().await,
                // It was settled a moment ago. What was said about it was said to this asker.
                None => {
                    if let Some(ask) = self.0.store.ask(new.key.clone()).await?
                        && ask.id == found.ask.id
                        && ask.stands_for_returning_asker()
                    {
                        return Ok(Attached::Settled(ask));
                    }
                }
            }
        }
    }

    /// Parks an asker if the ask is open. A deferred ask is resumed by that.
    async fn park(&self, new: &NewAsk) -> Result<Option<Wait>, OpenError> {
        let Some(parked) = self.0.open.park(&new.key) else { return Ok(None) };
        let ask = Arc::clone(&parked.ask);
        // The wait is made first: if this call is cancelled, dropping the wait gives up the place.
        let wait = Wait::new(self.clone(), parked);
        // Another ask may have taken the key a moment ago.
        self.check_same(&ask, new).await?;
        if ask.deferred
            && let Some(ask) = self.0.store.resume(ask.id, new.expires_at, self.0.store.now()).await?
        {
            self.watch_deadline(&ask);
        }
        Ok(Some(wait))
    }

    /// Opens an ask without parking anybody on it. Its asker comes later, within the grace.
    pub async fn open(&self, new: NewAsk, asker: Asker) -> Result<Arc<Ask>, OpenError> {
        let mut found = self.open_or_find(&Arc::new(new), asker).await?;
        found.grace = GRACE;
        Ok(Arc::clone(&found.ask))
    }

    /// Opens an ask, or finds the life that stands. It is a task of its own and goes on if the caller is gone, because an ask that has been
    /// opened needs its deadline, and an asker or a withdrawal.
    async fn open_or_find(&self, new: &Arc<NewAsk>, asker: Asker) -> Result<Found, OpenError> {
        let (registry, new) = (self.clone(), Arc::clone(new));
        let opening = self.0.runtime.spawn(async move {
            let unconfirmed = new.origin.needs_wait().then(|| registry.unconfirmed(registry.host(), &new.key));
            let places = registry.places_for(new.origin);
            // Each machine has its own share. To count it takes long, and is hardly ever needed.
            let is_full = registry.0.open.len() >= places && registry.count_open(registry.host()) >= places;
            let charge = registry.charge(&asker, &new);
            // An ask that is there already is still found.
            let limit = if is_full || charge.is_err() { 0 } else { MAX_OPEN_PER_SESSION };
            match registry.0.store.open_ask(Arc::clone(&new), registry.0.store.now(), limit).await? {
                Opened::Full => Err(charge.err().map_or(OpenError::Full, OpenError::TooMuch)),
                Opened::Known(ask) => {
                    registry.check_same(&ask, &new).await?;
                    Ok(Found { ask, opened_by: None, unconfirmed: None, grace: Duration::ZERO })
                }
                Opened::New(ask) => {
                    charge.into_iter().for_each(Charge::keep);
                    tracing::info!(key = %ask.key, "opened");
                    registry.watch_deadline(&ask);
                    Ok(Found { ask, opened_by: Some(registry.clone()), unconfirmed, grace: Duration::ZERO })
                }
            }
        });
        // A task without a result was cancelled because the daemon ends.
        opening.await.unwrap_or(Err(OpenError::Store(StoreError::Closed)))
    }

    /// How many asks of one machine may be open when one more is opened.
    pub(super) fn places_for(&self, origin: Origin) -> usize {
        let all = self.0.store.max_open().map_or(MAX_OPEN, |most| most.min(MAX_OPEN));
        if origin == Origin::Program { all - all / PART_FOR_HOOKS } else { all }
    }

    /// Whether the newest life of a key is open.
    pub fn is_open(&self, key: &AskKey) -> bool {
        self.0.open.get(key).is_some()
    }

    /// Gives an ask its outcome. `Ok` means that this outcome is on disk, from this call or an earlier one.
    pub async fn settle(&self, id: AskId, outcome: Outcome, by: Option<Source>) -> Result<Arc<Ask>, SettleError> {
        let settlement = Settlement { outcome: outcome.clone(), by, at: self.0.store.now() };
        let ask = match self.0.store.settle(id, settlement).await? {
            Settling::Won(ask) => {
                tracing::info!(key = %ask.key, outcome = %outcome.kind(), "settled");
                return Ok(ask);
            }
            Settling::Lost(ask) => ask,
        };
        match ask.settlement.as_ref().map(|first| first.outcome.judge(&outcome)) {
            Some(Verdict::Repeated) => Ok(ask),
            Some(Verdict::Conflict) => Err(SettleError::Conflict(ask)),
            Some(Verdict::Gone) | None => Err(SettleError::Gone(ask)),
        }
    }

    /// The newest life of a key.
    pub async fn get(&self, key: &AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        match self.0.open.get(key) {
            Some(ask) => Ok(Some(ask)),
            None => self.0.store.ask(key.clone()).await,
        }
    }

    /// The newest life of a key, once it is settled. Unlike a wait, this does not keep the ask open.
    pub async fn until_settled(&self, key: &AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        let mut cursor = self.cursor();
        loop {
            cursor.borrow_and_update();
            while let Some((_, waiters)) = self.0.open.waiters(key) {
                if let Some(ask) = waiters.until_settled().await {
                    return Ok(Some(ask));
                }
            }
            let found = self.0.store.ask(key.clone()).await?;
            // Another daemon may have opened it just now. Then this one hears of it soon.
            let is_new = found.as_ref().is_some_and(|ask| ask.is_open());
            if !is_new || cursor.changed().await.is_err() {
                return Ok(found);
            }
        }
    }

    /// The newest ask of a session with this digest, if it is one of this machine.
    pub async fn newest_like(&self, session: &str, digest: &str) -> Result<Option<Arc<Ask>>, StoreError> {
        let newest = self.0.store.ask_with_digest(session.to_owned(), digest.to_owned()).await?;
        Ok(newest.filter(|ask| self.watches_over(ask)))
    }

    /// What the asker needs for its reply, as it was handed in.
    pub async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        self.0.store.detail(id).await
    }

    /// Notes that the hook of an agent has called. If that cannot be saved, the next call tries again.
    pub async fn hook_has_called(&self) {
        if let Err(error) = self.0.store.reach(Milestone::HookCall).await {
            tracing::warn!(%error, "the first call of a hook is not noted");
        }
    }

    /// The asks that a filter shows, newest first. Open asks come from memory, so it does not matter how many are settled. A search needs
    /// the store.
    pub async fn list(&self, filter: Filter) -> Result<AskPage, StoreError> {
        if filter.needs_store() {
            return self.0.store.list(filter).await;
        }
        let mut asks = self.0.open.all();
        asks.retain(|ask| filter.shows(ask));
        asks.sort_unstable_by_key(|ask| std::cmp::Reverse(ask.id));
        let more = asks.len() > filter.limit;
        asks.truncate(filter.limit);
        let next = asks.last().filter(|_| more).map(|ask| ask.id);
        Ok(AskPage { asks, damaged: 0, next })
    }

    /// The machine of this daemon.
    pub fn host(&self) -> &Host {
        self.0.store.host()
    }

    /// The time now, by the clock that the times of asks go by.
    pub fn now(&self) -> Timestamp {
        self.0.store.now()
    }

    /// The newest change, to look at and to wait on.
    pub fn cursor(&self) -> watch::Receiver<Cursor> {
        self.0.open.cursor()
    }

    /// Every change after a cursor, once, in order. Without a cursor, the changes from now on.
    pub fn feed(&self, after: Option<Cursor>) -> Feed {
        Feed::new(self.clone(), after)
    }

    /// The open asks, oldest first: those of one session, or all.
    pub fn open_asks(&self, session: Option<&str>) -> Vec<Arc<Ask>> {
        let mut asks = self.0.open.all();
        asks.retain(|ask| session.is_none_or(|session| ask.key.session() == session));
        asks.sort_unstable_by_key(|ask| ask.id);
        asks
    }

    /// A hook of an agent's process has called.
    pub fn saw(&self, process: AgentProcess) {
        self.0.sessions.saw(process);
    }

    /// The processes of agents that were seen, also those that have ended not long ago: those of one session, or all.
    pub fn processes(&self, session: Option<&str>) -> Vec<AgentProcess> {
        self.0.sessions.seen(session, self.now())
    }

    /// A process has ended, and its hooks have not reported that.
    pub fn process_vanished(&self, process: &AgentProcess) {
        self.0.sessions.ended(process);
    }

    /// Whether anybody follows the sessions.
    pub fn has_session_followers(&self) -> bool {
        self.0.sessions.is_followed()
    }

    /// The sessions in which something changes from now on: an ask of theirs, or what their agent does. A reader that is too slow misses
    /// some, and is told.
    pub fn follow_sessions(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.sessions.follow()
    }
}

#[cfg(test)]
mod tests;
