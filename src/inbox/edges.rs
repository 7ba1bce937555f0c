//! What the daemon of another machine may do here, over its link. It opens asks of its own, reads them, and ends them as far as they can
//! end on that machine. It never answers, dismisses or releases anything, and asks of others do not exist for it.

use std::sync::Arc;

use jiff::SignedDuration;

use serde::Serialize;

use crate::ask::{Ask, AskId, Channel, Cursor, Host, Outcome, Receipt, Settlement, Source, harmless_name, is_reserved};
use crate::registry::{Asker, Charge, MAX_OPEN_PER_SESSION, OpenError};
use crate::store::wire::{
    Command, Fault, FaultKind, MAX_ASK, MAX_DETAIL, MAX_OUTCOME, Millis, Reply, WireAsk, WireChange, WireNew,
};
use crate::store::{Changes, Opened, Settling, StoreError};

use super::asking::MAX_ASKED_BY;
use super::{Inbox, MAX_PROJECT};

/// The longest digest or name of a process, in bytes.
const MAX_NAME: usize = 1024;
/// The most memory that an ask may take. Many small values take more than their JSON.
const MAX_WEIGHT: usize = 4 * 1024 * 1024;
/// How much longer the second sending of a command may have been on its way than the first.
const SLACK: SignedDuration = SignedDuration::from_secs(15);
/// The most changes on a page for an edge.
const MAX_CHANGES: usize = 256;

fn refused(message: &str) -> Fault {
    Fault { kind: FaultKind::Refused, message: message.to_owned() }
}

fn too_large() -> Fault {
    refused("this is too large")
}

/// Refuses what has more than so many bytes as JSON. Over HTTP, nobody could send it either. Returns how many it has.
fn check_size(value: &impl Serialize, most: usize) -> Result<usize, Fault> {
    let bytes = serde_json::to_vec(value).map_err(|_| too_large())?;
    if bytes.len() > most { Err(too_large()) } else { Ok(bytes.len()) }
}

fn failed(error: StoreError) -> Fault {
    Fault::from(&error)
}

fn wire(ask: &Ask) -> Box<WireAsk> {
    Box::new(WireAsk::new(ask))
}

fn found(ask: Option<Arc<Ask>>) -> Reply {
    Reply::Ask { ask: ask.as_deref().map(wire) }
}

impl Inbox {
    /// Carries out a command of the daemon of `host`. What it may not do is refused and logged. `sent_before`: how long ago the same
    /// command was sent over a link that was lost.
    pub async fn serve_edge(&self, host: &Host, command: Command, sent_before: Option<Millis>) -> Result<Reply, Fault> {
        let done = self.carry_out(host, command, sent_before).await;
        if let Err(Fault { kind: FaultKind::Refused, message }) = &done
            && let Some(left_out) = self.registry.share(host).line()
        {
            tracing::warn!(host = host.as_str(), message, left_out, "a machine was refused something");
        }
        done
    }

    async fn carry_out(&self, host: &Host, command: Command, sent_before: Option<Millis>) -> Result<Reply, Fault> {
        match command {
            Command::Open { new, per_session } => self.open_for_edge(host, *new, per_session, sent_before).await,
            Command::Settle { ask, outcome } => self.settle_for_edge(host, ask, outcome).await,
            Command::Confirm { key } => {
                let key = key.parse().map_err(|_| refused("this is not the key of a question"))?;
                self.registry.share(host).confirm(&key);
                Ok(Reply::Ask { ask: None })
            }
            Command::Defer { ask } => {
                let ask = self.own(host, ask).await?;
                Ok(found(self.store.defer(ask.id, self.store.now()).await.map_err(failed)?))
            }
            Command::Resume { ask, expires_in } => {
                let (ask, now) = (self.own(host, ask).await?, self.store.now());
                let expires_at = expires_in.map(|left| left.after(now));
                Ok(found(self.store.resume(ask.id, expires_at, now).await.map_err(failed)?))
            }
            Command::Receive { ask, receipt } => {
                self.charge_for_edge(host, check_size(&receipt, MAX_OUTCOME)?)?;
                let ask = self.own(host, ask).await?;
                let receipt = Receipt { at: self.store.now(), ..receipt };
                Ok(found(self.store.receive(ask.id, receipt).await.map_err(failed)?))
            }
            Command::Ask { key } => {
                let key = key.parse().map_err(|_| refused("this is not the key of a question"))?;
                let ask = self.registry.get(&key).await.map_err(failed)?;
                Ok(found(ask.filter(|ask| ask.host == *host)))
            }
            Command::AskWithDigest { session, digest } => {
                let ask = self.store.ask_with_digest(session, digest).await.map_err(failed)?;
                Ok(found(ask.filter(|ask| ask.host == *host)))
            }
            Command::Detail { ask } => {
                let ask = self.own(host, ask).await?;
                Ok(Reply::Detail { detail: self.store.detail(ask.id).await.map_err(failed)? })
            }
            Command::Changes { after, limit } => {
                // One after the other: a page has the asks of all machines, and others read, too.
                let _turn = self.registry.share(host).read().await;
                let page = self.store.changes(Cursor(after), limit.min(MAX_CHANGES)).await.map_err(failed)?;
                let Changes { changes, through, is_end, is_broken_off } = page;
                let own = changes.iter().filter(|change| change.ask.host == *host);
                let changes = own.map(|change| WireChange::new(change, None)).collect();
                Ok(Reply::Changes { changes, through: through.0, is_end, is_broken_off })
            }
            Command::Unknown => Err(refused("this hub does not know that command: it may be older")),
        }
    }

    /// An ask of this machine. For it, there are no others.
    async fn own(&self, host: &Host, id: AskId) -> Result<Arc<Ask>, Fault> {
        let ask = self.store.life(id).await.map_err(failed)?;
        ask.filter(|ask| ask.host == *host).ok_or_else(|| refused("this machine has asked no such question"))
    }

    async fn open_for_edge(
        &self,
        host: &Host,
        new: WireNew,
        per_session: u32,
        sent_before: Option<Millis>,
    ) -> Result<Reply, Fault> {
        let now = self.store.now();
        let mut new = new.read(now).map_err(|error| refused(&error.to_string()))?;
        new.asked_by = new.asked_by.as_deref().and_then(harmless_name);
        if new.asked_by.as_deref().is_some_and(is_reserved) {
            return Err(refused("a program that asks is not Answerback or Claude"));
        }
        let is_long = |text: &Option<String>, most: usize| text.as_ref().is_some_and(|text| text.len() > most);
        let names = [(&new.digest, MAX_NAME), (&new.asker, MAX_NAME), (&new.asked_by, MAX_ASKED_BY)];
        if is_long(&new.project, MAX_PROJECT) || names.into_iter().any(|(name, most)| is_long(name, most)) {
            return Err(refused("the project or a name in this question is too long"));
        }
        if let Some(ago) = sent_before
            && let Some(ask) = self.registry.get(&new.key).await.map_err(failed)?
            && ask.host == *host
            && (ask.digest == new.digest && ask.stands_for(new.asker.as_deref()))
            && ask.opened_at >= ago.ago(now) - SLACK
        {
            // The same command has opened it, and it was answered meanwhile. The answer is for this very call, and nobody is asked twice.
            return Ok(Reply::Known { ask: wire(&ask) });
        }
        check_size(&(new.topic.questions(), new.topic.subject()), MAX_ASK)?;
        let weight = new.weight();
        if new.detail.len() > MAX_DETAIL || weight > MAX_WEIGHT {
            return Err(too_large());
        }
        // It is kept until the ask itself counts. Without room, an ask that is there already is still found.
        let room = self.registry.room_for(host, new.origin, weight);
        let unconfirmed = new.origin.needs_wait().then(|| self.registry.unconfirmed(host, &new.key));
        let new = Arc::new(new);
        let charge = self.registry.charge(&Asker::Host(host.clone()), &new);
        let limit = if room.is_some() && charge.is_ok() { per_session.min(MAX_OPEN_PER_SESSION) } else { 0 };
        match self.store.for_host(host.clone()).open_ask(new, now, limit).await.map_err(failed)? {
            Opened::New(ask) => {
                charge.into_iter().for_each(Charge::keep);
                tracing::info!(key = %ask.key, host = host.as_str(), "opened");
                if let Some(unconfirmed) = unconfirmed.filter(|_| self.registry.is_linked(host)) {
                    self.registry.share(host).keep(unconfirmed);
                }
                Ok(Reply::New { ask: wire(&ask) })
            }
            Opened::Known(ask) if ask.host == *host => Ok(Reply::Known { ask: wire(&ask) }),
            Opened::Known(_) => Err(refused("another machine has asked under the same key")),
            Opened::Full => match charge {
                Ok(_) => Ok(Reply::Full),
                Err(wait) => Err(refused(&OpenError::TooMuch(wait).to_string())),
            },
        }
    }

    /// Takes what is kept for a machine from its quota. It counts even if it turns out that nothing is kept.
    fn charge_for_edge(&self, host: &Host, bytes: usize) -> Result<(), Fault> {
        let charge = self.registry.charge_bytes(&Asker::Host(host.clone()), bytes);
        charge.map(Charge::keep).map_err(|wait| refused(&OpenError::TooMuch(wait).to_string()))
    }

    async fn settle_for_edge(&self, host: &Host, id: AskId, outcome: Outcome) -> Result<Reply, Fault> {
        let bytes = check_size(&outcome, MAX_OUTCOME)?;
        if matches!(outcome, Outcome::AnsweredInTerminal(_)) {
            self.charge_for_edge(host, bytes)?;
        }
        let ask = self.own(host, id).await?;
        // The edge does not say who it was. That follows from the outcome.
        let by = match outcome {
            Outcome::Expired | Outcome::Withdrawn => None,
            Outcome::AnsweredInTerminal(_) if ask.may_be_answered_elsewhere() => Some(Source::of(Channel::Terminal)),
            Outcome::AnsweredInTerminal(_) => return Err(refused("no terminal shows this question")),
            Outcome::Answered(_) | Outcome::Dismissed { .. } | Outcome::Released => {
                return Err(refused("a machine does not answer what it asks"));
            }
        };
        let settlement = Settlement { outcome, by, at: self.store.now() };
        let settling = self.store.settle(id, settlement).await;
        self.registry.share(host).confirm(&ask.key);
        Ok(match settling.map_err(failed)? {
            Settling::Won(ask) => {
                tracing::info!(key = %ask.key, host = host.as_str(), "settled by its machine");
                Reply::Won { ask: wire(&ask) }
            }
            Settling::Lost(ask) => Reply::Lost { ask: wire(&ask) },
        })
    }

    /// What the asker of a settled ask needs for its reply. Without it, its daemon asks for it.
    pub async fn detail_for_edge(&self, ask: &Ask) -> Option<String> {
        if !ask.origin.needs_wait() {
            return None;
        }
        self.store.detail(ask.id).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::ask::samples::{new_ask, topic};
    use crate::ask::{Answer, Kind, NewAsk};
    use crate::registry::Registry;
    use crate::store::samples::in_scratch_dir;

    fn open() -> Command {
        let digest = Some("d".to_owned());
        let new = NewAsk { topic: topic(Kind::Permission), digest, ..new_ask("s__t") };
        Command::Open { new: Box::new(WireNew::new(&new, Timestamp::now())), per_session: 64 }
    }

    fn ago(seconds: i64) -> Option<Millis> {
        let now = Timestamp::now();
        Some(Millis::between(now - SignedDuration::from_secs(seconds), now))
    }

    #[tokio::test]
    async fn an_open_that_is_sent_again_finds_the_answer_to_its_call() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let inbox = Inbox::new(registry.clone(), store.clone(), Vec::new());
        let host = Host::new("edge");
        let Reply::New { ask } = inbox.serve_edge(&host, open(), None).await.unwrap() else { panic!("not new") };
        let id = ask.read().unwrap().id;
        let answers = [("Allow Bash?\n\nnpm test".to_owned(), "Allow once".to_owned())].into_iter().collect();
        let answer = Answer { answers, notes: Default::default(), edited: None };
        registry.settle(id, Outcome::Answered(answer), Some(Source::of(Channel::Socket))).await.unwrap();
        // The second time, it may have been on its way for longer or shorter than the first time.
        for seconds in [60, 0] {
            let again = inbox.serve_edge(&host, open(), ago(seconds)).await.unwrap();
            let Reply::Known { ask } = again else { panic!("asked twice: {again:?}") };
            assert_eq!(ask.read().unwrap().id, id);
        }
        // Another machine does not learn the answer.
        assert!(matches!(inbox.serve_edge(&Host::new("other"), open(), ago(60)).await, Ok(Reply::New { .. }) | Err(_)));
        store.close().await;
    }

    #[tokio::test]
    async fn an_open_that_was_first_sent_later_is_another_call() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let inbox = Inbox::new(registry.clone(), store.clone(), Vec::new());
        let host = Host::new("edge");
        let Reply::New { ask } = inbox.serve_edge(&host, open(), None).await.unwrap() else { panic!("not new") };
        registry.settle(ask.read().unwrap().id, Outcome::Released, None).await.unwrap();
        assert!(matches!(inbox.serve_edge(&host, open(), ago(-60)).await, Ok(Reply::New { .. })));
        store.close().await;
    }

    #[tokio::test]
    async fn changes_are_read_one_page_after_the_other() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let inbox = Inbox::new(registry.clone(), store.clone(), Vec::new());
        let host = Host::new("edge");
        let turn = registry.share(&host).read().await;
        let changes = || Command::Changes { after: 0, limit: 9 };
        let mut second = Box::pin(inbox.serve_edge(&host, changes(), None));
        assert!(futures_util::poll!(&mut second).is_pending());
        // Others do not wait for it.
        inbox.serve_edge(&host, Command::Ask { key: "s__t".to_owned() }, None).await.unwrap();
        inbox.serve_edge(&Host::new("other"), changes(), None).await.unwrap();
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(turn);
        second.await.unwrap();
        store.close().await;
    }
}
