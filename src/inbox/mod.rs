//! The inbox: what people and programs do with asks. They list them, open them, answer, dismiss, release and withdraw them, and leave
//! words for what is asked while they are away. Every rule about that is here, once, whatever way a request comes in. It knows no HTTP.

mod asking;
mod away;
mod consent;
mod edges;
mod perhaps;
mod reading;
mod refusal;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::access::{Caller, Ticket};
use crate::ask::permission::{ALLOW_ONCE, DENY};
use crate::ask::{Answer, Ask, AskId, AskKey, Host, Kind, MAX_TEXT, Origin, Outcome, Source};
use crate::registry::Registry;
use crate::store::{HubState, Milestone, Role, Store, StoreError};

pub use asking::Inquiry;
use asking::Uses;
pub use away::answer_while_away;
pub use reading::Listing;
pub use refusal::Refusal;
use sessions::Lookout;
pub use sessions::{Session, SessionState};

/// The longest path of a project, in bytes.
const MAX_PROJECT: usize = 4096;

/// How long an answer waits until it is certain that the asker is there. The commands wait longer for their reply.
const CONFIRMATION: Duration = Duration::from_secs(5);

/// The one handle to the inbox; cheap to clone.
#[derive(Debug, Clone)]
pub struct Inbox {
    registry: Registry,
    store: Store,
    ticket_kinds: Arc<[Kind]>,
    only_devices_approve: bool,
    lookout: Lookout,
    uses: Uses,
}

/// What somebody says to the questions of an ask.
#[derive(Debug)]
pub struct Words {
    /// Question text to a text, or to several.
    pub answers: IndexMap<String, Value>,
    /// Question text to a note beside the answer.
    pub notes: IndexMap<String, String>,
    /// Whether questions may be left unanswered.
    pub partial: bool,
    /// Fields that replace fields of what is approved.
    pub edited: Option<Map<String, Value>>,
    /// The life of the ask that the person has seen, if they say so.
    pub id: Option<AskId>,
}

impl Inbox {
    /// The inbox of a daemon. `ticket_kinds` are the kinds of asks that the button of a notification may answer.
    pub fn new(registry: Registry, store: Store, ticket_kinds: Vec<Kind>) -> Self {
        Self {
            registry,
            store,
            ticket_kinds: ticket_kinds.into(),
            only_devices_approve: false,
            lookout: Lookout::default(),
            uses: Uses::default(),
        }
    }

    /// The same, with `yes`: plans and permissions are decided by paired devices and in the terminal alone.
    pub fn with_only_devices(self, yes: bool) -> Self {
        Self { only_devices_approve: yes, ..self }
    }

    /// The time, as the store has it.
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }

    /// The machine of this daemon.
    pub fn host(&self) -> &Host {
        self.store.host()
    }

    /// The hub, if this daemon is an edge.
    pub fn hub(&self) -> Option<HubState> {
        self.store.hub()
    }

    /// Whether something has ever happened here.
    pub async fn has_reached(&self, milestone: Milestone) -> Result<bool, StoreError> {
        self.store.has_reached(milestone).await
    }

    /// Answers an ask. The first answer wins, and saying the same again is fine.
    pub async fn answer(&self, key: &AskKey, words: &Words, by: &Caller) -> Result<Arc<Ask>, Refusal> {
        let ask = self.get_to_settle(key, by).await?;
        if let Some(ticket) = by.ticket() {
            check_ticket(ticket, &self.ticket_kinds, &ask, words)?;
        }
        check_life(&ask, words.id)?;
        self.check_device(&ask, by)?;
        // What a form requires is required.
        let partial = words.partial && ask.kind != Kind::Form;
        let mut answer = Answer::new(&ask.questions, &words.answers, &words.notes, partial)?;
        answer.edited = words.edited.clone().filter(|edited| !edited.is_empty());
        ask.check(&answer)?;
        self.settle(&ask, Outcome::Answered(answer), by).await
    }

    /// Refuses to answer. The asker is told, with the reason if there is one. `id` is what the person has seen, as far as that is known.
    pub async fn dismiss(
        &self,
        key: &AskKey,
        id: Option<AskId>,
        reason: Option<String>,
        by: &Caller,
    ) -> Result<Arc<Ask>, Refusal> {
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        if reason.as_ref().is_some_and(|reason| reason.len() > MAX_TEXT) {
            return Err(Refusal::TooLong { what: "reason", limit: MAX_TEXT });
        }
        let ask = self.get_to_settle(key, by).await?;
        check_life(&ask, id)?;
        self.check_device(&ask, by)?;
        self.settle(&ask, Outcome::Dismissed { reason }, by).await
    }

    /// Hands an ask back to the asker's own dialog. `id` is what the person has seen, as far as that is known.
    pub async fn release(&self, key: &AskKey, id: Option<AskId>, by: &Caller) -> Result<Arc<Ask>, Refusal> {
        let ask = self.get_to_settle(key, by).await?;
        check_life(&ask, id)?;
        self.settle(&ask, Outcome::Released, by).await
    }

    /// Takes back the question of a program. An agent takes back its own by hanging up.
    pub async fn withdraw(&self, key: &AskKey, by: &Caller) -> Result<Arc<Ask>, Refusal> {
        let ask = self.get_to_settle(key, by).await?;
        if ask.origin != Origin::Program {
            return Err(Refusal::NotYours);
        }
        self.settle(&ask, Outcome::Withdrawn, by).await
    }

    /// The newest life of a key, if the caller may settle it.
    async fn get_to_settle(&self, key: &AskKey, by: &Caller) -> Result<Arc<Ask>, Refusal> {
        let ask = self.get(key, by.rights()).await?;
        if by.rights().cover(Role::Answer, &ask) { Ok(ask) } else { Err(Refusal::Role) }
    }

    async fn settle(&self, ask: &Ask, outcome: Outcome, by: &Caller) -> Result<Arc<Ask>, Refusal> {
        let source = by.source().map(|source| taken_by(&self.store, source));
        timeout(CONFIRMATION, self.registry.until_confirmed(ask)).await.map_err(|_| Refusal::Unconfirmed)?;
        Ok(self.registry.settle(ask.id, outcome, source).await?)
    }
}

/// Where several daemons share a store, history says which of them took an answer.
fn taken_by(store: &Store, source: Source) -> Source {
    let hub = store.is_shared().then(|| store.host().as_str().to_owned());
    Source { hub, ..source }
}

/// A key can be asked again. What a person says about one life of it is not for the next.
fn check_life(ask: &Ask, seen: Option<AskId>) -> Result<(), Refusal> {
    if seen.is_some_and(|id| id != ask.id) { Err(Refusal::AskedAgain) } else { Ok(()) }
}

/// A button in a notification carries a ticket, and everybody who sees the notification can use it. So it answers the question that the
/// notification is about, with one of the options, and says nothing else.
fn check_ticket(ticket: &Ticket, kinds: &[Kind], ask: &Ask, words: &Words) -> Result<(), Refusal> {
    if !kinds.contains(&ask.kind) {
        return Err(Refusal::NoButtons(ask.kind));
    }
    if ticket.id != ask.id {
        return Err(Refusal::AskedAgain);
    }
    // A rule is granted where there is room to read it, and nobody may approve what a notification cannot show.
    let may_choose = |label: &str| match ask.kind {
        Kind::Permission => label == DENY || (label == ALLOW_ONCE && ask.is_told_by_summary()),
        kind => !kind.is_approval(label) || ask.is_told_by_summary(),
    };
    let is_label = |(question, answer): (&String, &Value)| {
        let question = ask.questions.get(question);
        let mut labels =
            question.into_iter().flat_map(|question| &question.options).map(|option| option.label.as_str());
        labels.any(|label| answer == label && may_choose(label))
    };
    let is_plain =
        words.notes.is_empty() && !words.partial && words.edited.is_none() && words.answers.iter().all(is_label);
    if is_plain { Ok(()) } else { Err(Refusal::OptionsOnly) }
}

#[cfg(test)]
mod tests;
