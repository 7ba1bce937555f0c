//! Who is waiting for what. The registry opens, settles and expires asks, parks askers on them and wakes them.
//!
//! - It does no I/O: the store keeps the truth, and the open asks in memory only follow what the store has committed.
//! - An ask is settled once, by the first settlement that commits.
//! - A wait that is dropped withdraws its ask after a grace, so that a restart or a reconnect is no withdrawal.
//! - No map guard lives across an `.await`.

mod live;
mod open_asks;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::ask::{
    Answer, Ask, AskId, AskKey, Channel, Cursor, HTTP_ASKER, NewAsk, OnTimeout, Origin, Outcome, Questions, Receipt,
    Report, Settlement, Source, Verdict,
};
use crate::store::{AskPage, Changes, Filter, Opened, Opening, Settled, Snapshot, StateFilter, Store, StoreError};

pub use live::Live;
use open_asks::{Abandoned, OpenAsks, Parked, Waiters};
pub use wait::{Wait, WaitEnd};

/// How long an ask outlives its last wait.
const GRACE: Duration = Duration::from_secs(2);
/// How long the asks of an earlier daemon wait for their askers to come back.
const RETURN_GRACE: Duration = Duration::from_secs(10);
const BEING_WITHDRAWN: Duration = Duration::from_millis(20);
/// When the store cannot save what only we know of.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// Bounds that no honest use meets; past them the asker gets its own dialog.
const MAX_OPEN: usize = 10_000;
const MAX_OPEN_PER_SESSION: u32 = 64;

/// The one handle to all open asks; cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    open: Arc<OpenAsks>,
    runtime: Handle,
}

/// What an asker finds when it comes (back).
#[derive(Debug)]
pub enum Attached {
    /// It is parked.
    Waiting(Wait),
    /// The outcome is there already.
    Settled(Arc<Ask>),
}

/// Why an ask is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Too many are open.
    #[error("too many questions are open")]
    Full,
    /// The key is that of other questions. Their answer is not for this asker.
    #[error("other questions were asked under the same key")]
    OtherQuestions,
    /// The ask came in over the socket and this asker has only the hook token, or the other way round.
    #[error("somebody else asked under the same key")]
    OtherAsker,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether an ask of the same key is the one that is asked for. Those of the first versions have no digest.
fn check_same(ask: &Ask, new: &NewAsk) -> Result<(), OpenError> {
    if ask.is_over_http() != (new.asker.as_deref() == Some(HTTP_ASKER)) {
        return Err(OpenError::OtherAsker);
    }
    let is_same = match (&ask.digest, &new.digest) {
        (Some(known), Some(new)) => known == new,
        _ => texts(&ask.questions).eq(texts(&new.questions)),
    };
    if is_same { Ok(()) } else { Err(OpenError::OtherQuestions) }
}

fn texts(questions: &Questions) -> impl Iterator<Item = &str> {
    questions.iter().map(|question| question.question.as_str())
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
    /// Takes up what the store holds, and starts it. Must be called in a runtime: deadlines go on from where they were.
    pub fn start(opening: Opening, snapshot: Snapshot) -> Result<(Self, Store), StoreError> {
        let open = Arc::new(OpenAsks::new(snapshot));
        let projection = Arc::clone(&open);
        let store = opening.start(Box::new(move |change| projection.apply(change)))?;
        let registry = Self(Arc::new(Shared { store: store.clone(), open, runtime: Handle::current() }));
        for ask in registry.0.open.all() {
            registry.watch_deadline(&ask);
            registry.withdraw_unless_parked(&ask.key, RETURN_GRACE);
        }
        Ok((registry, store))
    }

    /// Parks an asker on its ask, which is opened if it is not there. An outcome that stands is given at once; for an asker that
    /// was parked before and lost its daemon, every outcome stands but that nobody was there to ask.
    pub async fn attach(&self, new: NewAsk, resumed: bool) -> Result<Attached, OpenError> {
        let new = Arc::new(new);
        if let Some(ask) = self.0.open.get(&new.key) {
            check_same(&ask, &new)?;
        }
        if let Some(wait) = self.park(&new).await? {
            return Ok(Attached::Waiting(wait));
        }
        if resumed
            && let Some(ask) = self.0.store.ask(new.key.clone()).await?
            && let Some(settlement) = &ask.settlement
            && settlement.outcome != Outcome::Withdrawn
        {
            check_same(&ask, &new)?;
            return Ok(Attached::Settled(ask));
        }
        loop {
            let found = self.open_or_find(&new).await?;
            if !found.is_open() {
                return Ok(Attached::Settled(found));
            }
            if let Some(wait) = self.park(&new).await? {
                return Ok(Attached::Waiting(wait));
            }
            // Open, and nobody may park: it is being withdrawn, and is opened anew when that is done.
            sleep(BEING_WITHDRAWN).await;
        }
    }

    /// A place among those who wait, if the ask is open. One that was deferred is waited for again.
    async fn park(&self, new: &NewAsk) -> Result<Option<Wait>, StoreError> {
        let Some(parked) = self.0.open.park(&new.key) else { return Ok(None) };
        let ask = Arc::clone(&parked.ask);
        // The wait comes first: if this is cancelled, dropping it leaves the place.
        let wait = Wait::new(self.clone(), parked);
        if ask.deferred
            && let Some(ask) = self.0.store.resume(ask.id, new.expires_at, Timestamp::now()).await?
        {
            self.watch_deadline(&ask);
        }
        Ok(Some(wait))
    }

    /// Parks an asker that does not name its call on the ask its call has opened, or on one of its own. See
    /// [`attach`](Self::attach) for `resumed`.
    pub async fn attach_by_digest(&self, new: NewAsk, resumed: bool) -> Result<Attached, OpenError> {
        let session = new.key.session().to_owned();
        let Some(digest) = new.digest.clone() else { return self.attach(new, resumed).await };
        let asker = new.asker.as_deref();
        if let Some(parked) = self.0.open.park_by_digest(&session, asker, &digest) {
            return Ok(Attached::Waiting(Wait::new(self.clone(), parked)));
        }
        if let Some(ask) = self.0.open.claim(&session, asker, &digest) {
            return Ok(Attached::Settled(ask));
        }
        if resumed
            && let Some(ask) = self.0.store.ask_with_digest(session, digest).await?
            && ask.asker == new.asker
            && ask.settlement.as_ref().is_some_and(|settlement| settlement.outcome != Outcome::Withdrawn)
        {
            return Ok(Attached::Settled(ask));
        }
        self.attach(new, resumed).await
    }

    /// The agent has the answers to its call. If the ask raced the agent's terminal and is open, they came from there; else they only
    /// prove what it received. A report can settle nothing else, whoever sends it. The ask as it is then; `None` if the report is
    /// about none.
    ///
    /// An ask may have been opened by an event that did not name its call: `is_unnamed` tells those from the others.
    pub async fn received(
        &self,
        report: Report,
        is_unnamed: impl Fn(&AskKey) -> bool,
    ) -> Result<Option<Arc<Ask>>, StoreError> {
        let found = match self.get(&report.key).await? {
            Some(ask) => Some(ask),
            None => {
                let (session, digest) = (report.key.session().to_owned(), report.digest.clone());
                let raced = self.0.store.ask_with_digest(session, digest).await?;
                raced.filter(|ask| ask.racing && ask.asker == report.asker && is_unnamed(&ask.key))
            }
        };
        let is_over_http = report.asker.as_deref() == Some(HTTP_ASKER);
        let found =
            found.filter(|ask| ask.digest.as_ref() == Some(&report.digest) && ask.is_over_http() == is_over_http);
        let Some(ask) = found else { return Ok(None) };
        let Report { asker, mut answers, mut notes, .. } = report;
        answers.retain(|question, _| ask.questions.get(question).is_some());
        notes.retain(|question, _| ask.questions.get(question).is_some());
        let ask = if ask.is_open() {
            // Nobody could answer in a terminal that shows no dialog, or in that of another process.
            if !ask.racing || ask.asker != asker {
                tracing::warn!(key = %ask.key, "a report about a question that waits here was ignored");
                return Ok(None);
            }
            let by = Source { channel: Channel::Terminal, agent: None, device: None };
            // The call is over. Where nobody said anything, that is not called an answer.
            let (outcome, by) = if answers.is_empty() {
                (Outcome::Withdrawn, None)
            } else {
                (Outcome::AnsweredInTerminal(Answer { answers: answers.clone(), notes }), Some(by))
            };
            match self.settle(ask.id, outcome, by).await {
                Ok(ask) | Err(SettleError::Conflict(ask) | SettleError::Gone(ask)) => ask,
                Err(SettleError::Store(error)) => return Err(error),
            }
        } else {
            ask
        };
        let sent = ask.settlement.as_ref().and_then(|settlement| settlement.outcome.answer());
        let as_sent = sent.is_some_and(|sent| sent.answers == answers);
        if !as_sent {
            tracing::warn!(key = %ask.key, "the agent received something else than what was sent");
        }
        let receipt = Receipt { answers, as_sent, at: Timestamp::now() };
        Ok(Some(self.0.store.receive(ask.id, receipt).await?.unwrap_or(ask)))
    }

    /// A process of the agent goes on without an answer: what it raced for (or, at its end, whatever it asked) is withdrawn.
    pub async fn session_went_on(&self, session: &str, asker: Option<&str>, has_ended: bool) -> Result<(), StoreError> {
        self.0.open.forget_unclaimed(session, asker);
        for ask in self.0.open.of_session(session, asker) {
            if self.watches_over(&ask)
                && (has_ended || ask.racing)
                && !ask.deferred
                && let Err(SettleError::Store(error)) = self.settle(ask.id, Outcome::Withdrawn, None).await
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Opens an ask nobody is parked on.
    pub async fn open(&self, new: NewAsk) -> Result<Arc<Ask>, OpenError> {
        self.open_or_find(&Arc::new(new)).await
    }

    /// Goes on when the caller is gone: what has been opened needs its deadline, and an asker or a withdrawal.
    async fn open_or_find(&self, new: &Arc<NewAsk>) -> Result<Arc<Ask>, OpenError> {
        let (registry, new) = (self.clone(), Arc::clone(new));
        let opening = self.0.runtime.spawn(async move {
            let limit = if registry.0.open.len() < MAX_OPEN { MAX_OPEN_PER_SESSION } else { 0 };
            match registry.0.store.open_ask(Arc::clone(&new), Timestamp::now(), limit).await? {
                Opened::Full => Err(OpenError::Full),
                Opened::Known(ask) => check_same(&ask, &new).map(|()| ask),
                Opened::New(ask) => {
                    tracing::info!(key = %ask.key, "opened");
                    registry.watch_deadline(&ask);
                    registry.withdraw_unless_parked(&ask.key, GRACE);
                    Ok(ask)
                }
            }
        });
        // A task that ends without a result ends with the daemon.
        opening.await.unwrap_or(Err(OpenError::Store(StoreError::Closed)))
    }

    /// Gives an ask its outcome. `Ok` means that this outcome is on disk, now or from before.
    pub async fn settle(&self, id: AskId, outcome: Outcome, by: Option<Source>) -> Result<Arc<Ask>, SettleError> {
        let settlement = Settlement { outcome: outcome.clone(), by, at: Timestamp::now() };
        let ask = match self.0.store.settle(id, settlement).await? {
            Settled::Now(ask) => {
                tracing::info!(key = %ask.key, outcome = %outcome.kind(), "settled");
                return Ok(ask);
            }
            Settled::Before(ask) => ask,
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

    /// The newest life of a key, once it is settled. A mere reader: it keeps nothing open.
    pub async fn settled(&self, key: &AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        if let Some((_, waiters)) = self.0.open.waiters(key) {
            let mut signal = waiters.signal.subscribe();
            if let Ok(signal) = signal.wait_for(|signal| signal.settled.is_some()).await {
                return Ok(signal.settled.clone());
            }
        }
        self.0.store.ask(key.clone()).await
    }

    /// What the origin kept for its reply.
    pub async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        self.0.store.detail(id).await
    }

    /// The asks a filter shows, newest first. The open ones come from memory, however many are
    /// settled; only a search needs the store.
    pub async fn list(&self, filter: Filter) -> Result<AskPage, StoreError> {
        let needs_store = filter.text.is_some() || filter.opened_since.is_some() || filter.outcome.is_some();
        if filter.state != StateFilter::Open || needs_store {
            return self.0.store.list(filter).await;
        }
        let mut asks = self.0.open.all();
        asks.retain(|ask| {
            filter.session.as_deref().is_none_or(|session| ask.key.session() == session)
                && filter.project.as_ref().is_none_or(|project| ask.project.as_ref() == Some(project))
                && filter.before.is_none_or(|before| ask.id < before)
                && (filter.probes || ask.origin != Origin::Probe)
                && filter.key_end.as_ref().is_none_or(|end| ask.key.as_str().ends_with(end.as_str()))
        });
        asks.sort_unstable_by_key(|ask| std::cmp::Reverse(ask.id));
        let more = asks.len() > filter.limit;
        asks.truncate(filter.limit);
        let next = asks.last().filter(|_| more).map(|ask| ask.id);
        Ok(AskPage { asks, damaged: 0, next })
    }

    /// The newest change, to look at and to wait on.
    pub fn cursor(&self) -> watch::Receiver<Cursor> {
        self.0.open.cursor()
    }

    /// Changes as they are committed, from now on.
    pub fn live(&self) -> Live {
        self.0.open.live()
    }

    /// Changes from before: a page of at most so many, or fewer where they are large.
    pub async fn changes_after(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        self.0.store.changes(after, limit).await
    }

    /// An asker has come or gone by the end of the grace, or its question is withdrawn. A program's question needs no asker.
    fn withdraw_unless_parked(&self, key: &AskKey, grace: Duration) {
        if let Some((ask, waiters)) = self.0.open.waiters(key)
            && ask.origin.needs_wait()
            && let Some(abandoned) = waiters.abandoned()
        {
            self.withdraw_after(grace, ask, waiters, abandoned);
        }
    }

    fn withdraw_after_grace(&self, left: &Parked, abandoned: Abandoned) {
        self.withdraw_after(GRACE, Arc::clone(&left.ask), Arc::clone(&left.waiters), abandoned);
    }

    /// Whether an ask is this daemon's to end. The daemon of another machine ends its own asks.
    fn watches_over(&self, ask: &Ask) -> bool {
        ask.host == *self.0.store.host()
    }

    fn withdraw_after(&self, grace: Duration, ask: Arc<Ask>, waiters: Arc<Waiters>, abandoned: Abandoned) {
        if !self.watches_over(&ask) {
            return;
        }
        let registry = self.clone();
        self.0.runtime.spawn(async move {
            sleep(grace).await;
            // It may have been deferred meanwhile, and then needs nobody.
            let waits_for_nobody = registry.0.open.get(&ask.key).is_none_or(|ask| ask.deferred);
            if !waits_for_nobody && waiters.close(abandoned) {
                registry.end_unasked(&ask, Outcome::Withdrawn).await;
            }
        });
    }

    /// Ends an ask of our own accord. It tries until the store can save it, because nobody else will: a full disk must not
    /// keep an ask open for ever.
    async fn end_unasked(&self, ask: &Ask, outcome: Outcome) {
        let mut pause = FIRST_RETRY;
        loop {
            let ended = match (&outcome, ask.on_timeout) {
                (Outcome::Expired, OnTimeout::Defer) => self.0.store.defer(ask.id, Timestamp::now()).await.map(drop),
                _ => match self.settle(ask.id, outcome.clone(), None).await {
                    Err(SettleError::Store(error)) => Err(error),
                    // Somebody else settled it, which is as good.
                    _ => Ok(()),
                },
            };
            match ended {
                Ok(()) | Err(StoreError::Closed) => return,
                Err(error) => tracing::error!(key = %ask.key, %error, "could not be ended, and is tried again"),
            }
            sleep(pause).await;
            pause = LAST_RETRY.min(pause * 2);
        }
    }

    fn watch_deadline(&self, ask: &Arc<Ask>) {
        let Some(expires_at) = ask.expires_at.filter(|_| self.watches_over(ask)) else { return };
        let (registry, ask) = (self.clone(), Arc::clone(ask));
        self.0.runtime.spawn(async move {
            let left = expires_at.duration_since(Timestamp::now()).max(SignedDuration::ZERO);
            tokio::select! {
                () = sleep(left.unsigned_abs()) => registry.end_unasked(&ask, Outcome::Expired).await,
                _ = registry.settled(&ask.key) => {}
            }
        });
    }
}

#[cfg(test)]
mod tests;
