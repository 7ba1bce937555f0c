//! Answers for people who are away, in the words that they left behind.
//!
//! What the words may answer is decided in `ask::away`. An answer from here goes the way of every other one: the first settlement counts,
//! and a person who comes first is not overruled.

use jiff::Timestamp;
use tokio::task::JoinHandle;

use crate::access::Caller;
use crate::ask::away::{self, directory};
use crate::ask::{Ask, Away, ChangeKind, Channel, NewAway, Outcome, Source};
use crate::registry::{Feed, Registry, SettleError};
use crate::store::{Filter, StateFilter, Store, StoreError};

use super::{Inbox, Refusal};

impl Inbox {
    /// What people who are away now say.
    pub async fn away(&self) -> Result<Vec<Away>, StoreError> {
        self.store.away(Timestamp::now()).await
    }

    /// Somebody leaves. What they said before for the same project is forgotten.
    pub async fn leave(&self, new: NewAway, by: &Caller) -> Result<Away, Refusal> {
        let note = new.begin(by.source(), Timestamp::now())?;
        self.store.set_away(note.clone()).await?;
        tracing::info!(until = %note.until, project = note.project, "away");
        Ok(note)
    }

    /// Somebody is back: in one project, or in all without one. Returns what was on until now.
    pub async fn come_back(&self, project: Option<String>) -> Result<Vec<Away>, StoreError> {
        // What cannot be a project has no words.
        let Ok(project) = project.as_deref().map(directory).transpose() else { return Ok(Vec::new()) };
        let ended = self.store.end_away(project, Timestamp::now()).await?;
        tracing::info!(ended = ended.len(), "back");
        Ok(ended)
    }
}

/// Answers from now on for people who are away. Must be called in a runtime, before asks can be opened.
///
/// An earlier daemon may have ended between the opening of an ask and its answer, so the asks that are open are looked at first.
pub async fn answer_while_away(registry: &Registry, store: &Store) -> Result<JoinHandle<()>, StoreError> {
    let deputy = Deputy { feed: registry.feed(None), registry: registry.clone(), store: store.clone() };
    let open = registry.list(Filter { probes: true, ..Filter::all(StateFilter::Open, usize::MAX) }).await?;
    Ok(tokio::spawn(async move {
        for ask in open.asks {
            deputy.consider(&ask).await;
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
                Ok(Some(change)) if change.kind == ChangeKind::Opened => self.consider(&change.ask).await,
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "some questions may not be answered for people who are away");
                    self.feed.skip_missed();
                }
            }
        }
    }

    /// Answers an ask if it is covered. If that fails, the ask stays open for a person.
    async fn consider(&self, ask: &Ask) {
        let now = Timestamp::now();
        let notes = match self.store.away(now).await {
            Ok(notes) => notes,
            Err(error) => {
                tracing::error!(key = %ask.key, %error, "is not answered for people who are away");
                return;
            }
        };
        let Some((note, answer)) = away::answer_of(&notes, ask, now) else { return };
        match self.registry.settle(ask.id, Outcome::Answered(answer), Some(source(note))).await {
            Ok(_) => tracing::info!(key = %ask.key, "answered for somebody who is away"),
            // Somebody came first, or nobody waits any more.
            Err(SettleError::Conflict(_) | SettleError::Gone(_)) => {}
            Err(SettleError::Store(error)) => {
                tracing::error!(key = %ask.key, %error, "is not answered for people who are away");
            }
        }
    }
}

/// The person who left the words is the author of the answer.
fn source(note: &Away) -> Source {
    let (agent, device) = note.by.as_ref().map(|by| (by.agent.clone(), by.device.clone())).unwrap_or_default();
    Source { channel: Channel::Away, agent, device }
}
