//! What programs ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;

use crate::access::Caller;
use crate::ask::{
    Ask, AskKey, Kind, NewAsk, OnTimeout, Origin, Question, Questions, Topic, harmless_name, is_reserved,
};
use crate::registry::Asker;
use crate::store::{Role, StoreError};

use super::{Inbox, MAX_PROJECT, Refusal};

/// The longest name of an asker, in bytes.
pub(super) const MAX_ASKED_BY: usize = 256;
/// Each program's ask gets a session and a call of so many random bytes.
const RANDOM_BYTES: usize = 6;
/// How many questions of one person, or of one device that belongs to nobody, may be open. So nobody takes the places of all others.
const MAX_OPEN_OF_ONE: usize = 64;

/// Questions that a program asks.
#[derive(Debug)]
pub struct Inquiry {
    /// What to ask.
    pub questions: Vec<Question>,
    /// The directory it is about.
    pub project: Option<String>,
    /// The name of the program.
    pub asked_by: Option<String>,
    /// How long the answer is of use.
    pub timeout: Option<SignedDuration>,
}

/// Who asks or reads, as far as somebody has to count it.
pub(super) fn asker(caller: &Caller) -> Asker {
    match (caller.person(), caller.device()) {
        (Some(person), _) => Asker::Person(person),
        (None, Some(device)) => Asker::Device(device),
        (None, None) => Asker::Here,
    }
}

/// What each person or device uses at this daemon. It is kept in memory only, so a restart forgets whose the open questions are.
#[derive(Debug, Clone, Default)]
pub(super) struct Uses(Arc<Mutex<HashMap<Asker, Use>>>);

#[derive(Debug, Clone, Default)]
pub(super) struct Use {
    /// The questions that were asked here and that may be open.
    open: Arc<tokio::sync::Mutex<Vec<AskKey>>>,
    /// Held while a list is read from the store.
    pub(super) reading: Arc<tokio::sync::Mutex<()>>,
}

impl Uses {
    /// `None` for programs of this daemon's own user, who has all places.
    pub(super) fn of(&self, asker: &Asker) -> Option<Use> {
        if *asker == Asker::Here {
            return None;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(all.entry(asker.clone()).or_default().clone())
    }
}

impl Inbox {
    /// Opens an ask for a program.
    pub async fn open(&self, inquiry: Inquiry, by: &Caller) -> Result<Arc<Ask>, Refusal> {
        let new = self.to_open(inquiry, by)?;
        let asker = asker(by);
        let Some(used) = self.uses.of(&asker) else { return Ok(self.registry.open(new, asker).await?) };
        let registry = self.registry.clone();
        // A caller who hangs up here has asked nothing.
        let mut open = used.open.lock_owned().await;
        // It is a task of its own, so that an ask counts also if its caller hangs up.
        let opening = tokio::spawn(async move {
            open.retain(|key| registry.is_open(key));
            if open.len() >= MAX_OPEN_OF_ONE {
                return Err(Refusal::FullForOne(MAX_OPEN_OF_ONE));
            }
            let ask = registry.open(new, asker).await?;
            open.push(ask.key.clone());
            Ok(ask)
        });
        // A task without a result was cancelled because the daemon ends.
        opening.await.unwrap_or(Err(Refusal::Store(StoreError::Closed)))
    }

    /// Whether an answer of this caller approves nothing: the caller asks itself, or the doctor tries out the hook.
    pub async fn approves_nothing(&self, key: &AskKey, by: &Caller) -> bool {
        let Ok(Some(ask)) = self.registry.get(key).await else { return false };
        match ask.origin {
            Origin::Probe => true,
            Origin::ClaudeCode => false,
            Origin::Program => {
                let Some(process) = by.process() else { return false };
                let is_here = ask.kind == Kind::Question && ask.host == *self.store.host();
                is_here && self.registry.detail(ask.id).await.is_ok_and(|asker| asker == process.to_string())
            }
        }
    }

    /// Checks what a program wants to ask.
    fn to_open(&self, inquiry: Inquiry, by: &Caller) -> Result<NewAsk, Refusal> {
        if !by.rights().allow(Role::Answer, self.store.host(), inquiry.project.as_deref()) {
            return Err(Refusal::Role);
        }
        let questions = Questions::new(inquiry.questions)?;
        if inquiry.project.as_ref().is_some_and(|project| project.len() > MAX_PROJECT) {
            return Err(Refusal::TooLong { what: "project", limit: MAX_PROJECT });
        }
        if inquiry.asked_by.as_ref().is_some_and(|name| name.len() > MAX_ASKED_BY) {
            return Err(Refusal::TooLong { what: "asked_by", limit: MAX_ASKED_BY });
        }
        if inquiry.asked_by.as_deref().is_some_and(is_reserved) {
            return Err(Refusal::ReservedName);
        }
        Ok(NewAsk {
            key: program_key()?,
            origin: Origin::Program,
            project: inquiry.project,
            topic: Topic::of_questions(questions),
            // Whose it is, for `approves_nothing`.
            detail: by.process().map(|process| process.to_string()).unwrap_or_default(),
            expires_at: inquiry.timeout.and_then(|timeout| self.store.now().checked_add(timeout).ok()),
            on_timeout: OnTimeout::Native,
            racing: false,
            digest: None,
            asker: None,
            asked_by: inquiry.asked_by.as_deref().and_then(harmless_name),
        })
    }
}

/// Each program's ask has a session of its own, so that no program's questions use up the limit of another's.
fn program_key() -> Result<AskKey, Refusal> {
    let mut random = [0; 2 * RANDOM_BYTES];
    getrandom::fill(&mut random)?;
    let (session, call) = random.split_at(RANDOM_BYTES);
    Ok(AskKey::new(&format!("program-{}", hex::encode(session)), &hex::encode(call))?)
}
