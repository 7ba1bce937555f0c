//! Answers for people who are away, in the words that they left behind.
//!
//! What the words may answer is decided in `ask::away`. An answer from here goes the way of every other one: the first settlement counts,
//! and a person who comes first is not overruled.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::access::{Caller, Rights};
use crate::ask::away::{self, directory};
use crate::ask::{Ask, Away, ChangeKind, Channel, NewAway, Outcome, Source};
use crate::registry::{Feed, Next, Registry, SettleError};
use crate::store::{Filter, Role, StateFilter, Store, StoreError};

use super::{Inbox, Refusal, taken_by};

impl Inbox {
    /// What people who are away now say, as far as it may be said in a project that the caller may see.
    pub async fn away(&self, rights: &Rights) -> Result<Vec<Away>, StoreError> {
        let mut notes = self.store.away(self.store.now()).await?;
        let is_near = |project: &str| rights.allow_on_some_host(Role::View, project);
        notes.retain(|note| note.project.as_deref().is_none_or(is_near) && rights.allow_somewhere(Role::View));
        // On which hosts a directory is, only asks tell.
        let is_everywhere = |project: &str| rights.allow_on_every_host(Role::View, project);
        if !notes.iter().all(|note| note.project.as_deref().is_none_or(is_everywhere)) {
            let seen: Vec<String> = self.hosts(rights).await?.into_iter().flat_map(|host| host.projects).collect();
            let is_seen = |note: &Away| seen.iter().any(|project| note.is_said_in(Some(project)));
            notes.retain(|note| note.project.as_deref().is_none_or(is_everywhere) || is_seen(note));
        }
        Ok(notes)
    }

    /// Somebody leaves. What they said before for the same project is forgotten.
    pub async fn leave(&self, new: NewAway, by: &Caller) -> Result<Away, Refusal> {
        check_role(by)?;
        let note = new.begin(by.source(), self.store.now())?;
        self.store.set_away(note.clone()).await?;
        tracing::info!(until = %note.until, project = note.project, "away");
        Ok(note)
    }

    /// Somebody is back: in one project, or in all without one. Returns what was on until now.
    pub async fn come_back(&self, project: Option<String>, by: &Caller) -> Result<Vec<Away>, Refusal> {
        check_role(by)?;
        // What cannot be a project has no words.
        let Ok(project) = project.as_deref().map(directory).transpose() else { return Ok(Vec::new()) };
        let ended = self.store.end_away(project, self.store.now()).await?;
        tracing::info!(ended = ended.len(), "back");
        Ok(ended)
    }
}

/// A note answers on every host, and in all directories below its own. So it is for those who may answer everything.
fn check_role(by: &Caller) -> Result<(), Refusal> {
    if by.rights().allow_everywhere(Role::Answer) { Ok(()) } else { Err(Refusal::Role) }
}

/// Answers from now on for people who are away. Must be called in a runtime, before asks can be opened.
///
/// An earlier daemon may have ended between the opening of an ask and its answer, so the asks that are open are looked at first.
pub async fn answer_while_away(registry: &Registry, store: &Store) -> Result<JoinHandle<()>, StoreError> {
    let deputy = Deputy { feed: registry.feed(None), registry: registry.clone(), store: store.clone() };
    let open = registry.list(Filter { probes: true, ..Filter::all(StateFilter::Open, usize::MAX) }).await?;
    Ok(tokio::spawn(async move {
        for ask in open.asks {
            deputy.consider(ask);
        }
        deputy.run().await;
    }))
}

/// Whoever answers for people who are away. It holds no words itself: it reads them for each ask, so that nobody is answered with words
/// that were taken back.
struct Deputy {
    registry: Registry,
    store: Store,
    feed: Feed,
}

impl Deputy {
    async fn run(mut self) {
        loop {
            match self.feed.next().await {
                Ok(Some(Next::Change(change))) if change.kind == ChangeKind::Opened => {
                    self.consider(Arc::clone(&change.ask));
                }
                Ok(Some(Next::Change(_))) => {}
                // Nobody knows which changes were missed.
                Ok(Some(Next::Reset(_))) => {
                    for ask in self.registry.open_asks(None) {
                        self.consider(ask);
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "some questions may not be answered for people who are away");
                    self.feed.skip_missed();
                }
            }
        }
    }

    /// Answers an ask if it is covered. Its asker may not be there yet, and others need not wait for that.
    fn consider(&self, ask: Arc<Ask>) {
        let (registry, store) = (self.registry.clone(), self.store.clone());
        tokio::spawn(async move {
            if let Err(error) = answer_if_covered(&registry, &store, &ask).await {
                tracing::error!(key = %ask.key, %error, "is not answered for people who are away");
            }
        });
    }
}

/// If this fails, the ask stays open for a person.
async fn answer_if_covered(registry: &Registry, store: &Store, ask: &Ask) -> Result<(), StoreError> {
    registry.until_confirmed(ask).await;
    let now = store.now();
    let notes = store.away(now).await?;
    let Some((note, answer)) = away::answer_of(&notes, ask, now) else { return Ok(()) };
    let source = taken_by(store, source(note));
    match registry.settle(ask.id, Outcome::Answered(answer), Some(source)).await {
        Ok(_) => tracing::info!(key = %ask.key, "answered for somebody who is away"),
        // Somebody came first, or nobody waits any more.
        Err(SettleError::Conflict(_) | SettleError::Gone(_)) => {}
        Err(SettleError::Store(error)) => return Err(error),
    }
    Ok(())
}

/// The person who left the words is the author of the answer.
fn source(note: &Away) -> Source {
    let by = note.by.clone().unwrap_or_else(|| Source::of(Channel::Away));
    Source { channel: Channel::Away, ..by }
}
