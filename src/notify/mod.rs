//! Notifications about questions: on the desktop, through ntfy, to a webhook.
//!
//! - `plan`: which asks to notify about, and when. Pure.
//! - `wording`: the text that people read. Pure.
//! - `desktop`, `ntfy`, `webhook`: the ways to notify. `post` is the HTTP request that the last two share.
//! - `outbox`: one queue for each way, with retries.
//!
//! A question can be answered before anybody is notified, and nothing here delays an answer. Nothing is kept on disk, and nothing runs if
//! no way is configured.

mod desktop;
mod ntfy;
mod outbox;
mod plan;
mod post;
mod webhook;
mod wording;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use answerback_hook::hint::Hint;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

use crate::access::Tickets;
use crate::ask::{Ask, Change, ChangeKind, Kind};
use crate::config::Config;
use crate::registry::{Feed, Next, Registry};
use crate::store::{Filter, StateFilter, Store, StoreError};

use desktop::Desktop;
use ntfy::Ntfy;
use outbox::Outbox;
use plan::Plan;
use webhook::Webhook;
use wording::Wording;

/// One notification. Each way sends the notices that are meant for it and ignores the others.
#[derive(Debug, Clone)]
pub enum Notice {
    /// These asks wait for an answer. For people.
    Asked(Vec<Arc<Ask>>),
    /// This ask waits for an answer. For programs.
    Opened(Arc<Ask>),
    /// This ask is settled. For programs.
    Settled(Arc<Ask>),
    /// `answerback notify test`. For everybody.
    Test,
}

/// One way to notify somebody.
#[derive(Debug)]
pub enum Way {
    /// A command on this machine.
    Desktop(Desktop),
    /// A push notification on a phone.
    Ntfy(Ntfy),
    /// A request to a program.
    Webhook(Webhook),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    People,
    Programs,
}

/// Why a notification was not delivered. It contains no text of a question and no secret.
#[derive(Debug)]
pub struct Failure {
    reason: String,
    /// What to do about it.
    hint: &'static str,
    /// Whether another attempt may succeed.
    again: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Failure {}

impl Hint for Failure {
    fn hint(&self) -> Option<String> {
        Some(self.hint.to_owned())
    }
}

/// The configured ways. Without `tickets`, notifications have no buttons.
pub fn ways(config: &Config, tickets: Option<&Tickets>) -> Vec<Way> {
    let wording = Arc::new(Wording::new(config));
    let notify = &config.notify;
    let desktop = Desktop::new(&notify.desktop, &wording).map(Way::Desktop);
    let buttons: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| notify.has_buttons(*kind)).collect();
    let ntfy = notify.ntfy.as_ref().map(|ntfy| Way::Ntfy(Ntfy::new(ntfy, buttons.clone(), &wording, tickets)));
    let webhook = notify.webhook.as_ref().map(|webhook| Way::Webhook(Webhook::new(webhook, &wording)));
    desktop.into_iter().chain(ntfy).chain(webhook).collect()
}

impl Way {
    /// As in the configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Desktop(_) => "desktop",
            Self::Ntfy(_) => "ntfy",
            Self::Webhook(_) => "webhook",
        }
    }

    /// The program or the host. Never a whole address, because an address may contain a secret.
    pub fn target(&self) -> &str {
        match self {
            Self::Desktop(desktop) => desktop.program(),
            Self::Ntfy(ntfy) => ntfy.host(),
            Self::Webhook(webhook) => webhook.host(),
        }
    }

    /// Delivers a notice. Blocks until it is delivered or has failed, for about ten seconds at most.
    pub fn deliver(&self, notice: &Notice) -> Result<(), Failure> {
        match self {
            Self::Desktop(desktop) => desktop.deliver(notice),
            Self::Ntfy(ntfy) => ntfy.deliver(notice),
            Self::Webhook(webhook) => webhook.deliver(notice),
        }
    }

    /// Whether it reaches the same people and programs from every machine. Then one daemon of a store is enough.
    fn is_same_everywhere(&self) -> bool {
        match self {
            Self::Desktop(_) => false,
            Self::Ntfy(_) | Self::Webhook(_) => true,
        }
    }

    fn audience(&self) -> Audience {
        match self {
            Self::Desktop(_) | Self::Ntfy(_) => Audience::People,
            Self::Webhook(_) => Audience::Programs,
        }
    }
}

/// A notifier that runs.
#[derive(Debug)]
pub struct Running {
    /// The names of its ways.
    pub ways: Vec<&'static str>,
    pub task: JoinHandle<()>,
}

/// Starts the notifier if a way is configured. Must be called in a runtime, before asks can be opened.
pub async fn start(
    registry: &Registry,
    store: &Store,
    config: &Config,
    tickets: &Tickets,
) -> Result<Option<Running>, StoreError> {
    let ways = ways(config, Some(tickets));
    if ways.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = ways.iter().map(Way::name).collect();
    tracing::info!(ways = names.join(","), "notifications are on");
    let feed = registry.feed(None);
    let mut plan = Plan::new(config.notify.delay());
    let (now, clock) = (Instant::now(), registry.now());
    for ask in registry.list(open_asks()).await?.asks {
        plan.restore(ask, now, clock);
    }
    let outboxes = ways.into_iter().map(|way| Outbox::start(way, registry.clone(), store.clone())).collect();
    let notifier = Notifier { registry: registry.clone(), feed, plan, outboxes };
    Ok(Some(Running { ways: names, task: tokio::spawn(notifier.run()) }))
}

fn open_asks() -> Filter {
    Filter::all(StateFilter::Open, usize::MAX)
}

struct Notifier {
    registry: Registry,
    feed: Feed,
    plan: Plan,
    outboxes: Vec<Outbox>,
}

impl Notifier {
    async fn run(mut self) {
        loop {
            let due = self.plan.next();
            let timer = async {
                match due {
                    Some(due) => sleep_until(due.into()).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                next = self.feed.next() => match next {
                    Ok(Some(Next::Change(change))) => self.note(&change),
                    Ok(Some(Next::Reset(_))) => self.begin_again(),
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "people may not be notified of some questions");
                        self.feed.skip_missed();
                    }
                },
                () = timer => self.announce(),
            }
        }
    }

    /// The order of changes was broken off, so nobody knows which changes were missed.
    fn begin_again(&mut self) {
        self.plan.restore_all(self.registry.open_asks(None), Instant::now(), self.registry.now());
    }

    fn note(&mut self, change: &Change) {
        match change.kind {
            ChangeKind::Opened => self.plan.opened(Arc::clone(&change.ask), Instant::now()),
            ChangeKind::Settled => {
                // A program hears about the end of an ask only if it was notified about the ask.
                if self.plan.settled(change.ask.id) {
                    self.send(Audience::Programs, &Notice::Settled(Arc::clone(&change.ask)));
                }
            }
            ChangeKind::Deferred | ChangeKind::Resumed | ChangeKind::Received => {}
        }
    }

    fn announce(&mut self) {
        let due = self.plan.take(Instant::now());
        for ask in &due {
            self.send(Audience::Programs, &Notice::Opened(Arc::clone(ask)));
        }
        if !due.is_empty() {
            self.send(Audience::People, &Notice::Asked(due));
        }
    }

    fn send(&self, audience: Audience, notice: &Notice) {
        self.outboxes.iter().filter(|outbox| outbox.audience() == audience).for_each(|outbox| outbox.put(notice));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;
    use crate::ask::Outcome;
    use crate::ask::samples::new_ask;
    use crate::store::samples::in_scratch_dir;

    #[tokio::test]
    async fn a_notifier_that_falls_behind_reads_what_it_missed() {
        const MANY: usize = crate::registry::MAX_CHANGES + 200;
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let plan = Plan::new(Duration::ZERO);
        let mut notifier =
            Notifier { registry: registry.clone(), feed: registry.feed(None), plan, outboxes: Vec::new() };
        let open = |n: usize| registry.open(new_ask(&format!("program-{n}__t")), crate::registry::Asker::Here);
        let asks: Vec<_> = join_all((0..MANY).map(open)).await.into_iter().map(Result::unwrap).collect();
        registry.settle(asks[0].id, Outcome::Released, None).await.unwrap();
        for _ in 0..=MANY {
            let Some(Next::Change(change)) = notifier.feed.next().await.unwrap() else { panic!("no change") };
            notifier.note(&change);
        }
        assert!(futures_util::poll!(std::pin::pin!(notifier.feed.next())).is_pending(), "a change came twice");
        assert_eq!(notifier.plan.take(Instant::now() + Duration::from_secs(1)).len(), MANY - 1);
        store.close().await;
    }
}
