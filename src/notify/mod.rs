//! Telling people that a question waits: on the desktop, through ntfy, to a webhook.
//!
//! - `plan`: which asks to tell of, and when. Pure.
//! - `wording`: what people read. Pure.
//! - `desktop`, `ntfy`, `webhook`: the ways; `post` is what two of them share.
//! - `outbox`: one queue for each way, with retries.
//!
//! A question is open and can be answered before anybody is told, and whatever happens here delays no answer. Nothing of
//! this is kept on disk, and nothing runs where no way is configured.

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
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

use crate::access::Tickets;
use crate::ask::{Ask, Change, ChangeKind};
use crate::config::Config;
use crate::registry::{Feed, Registry};
use crate::store::{Filter, StateFilter, StoreError};

use desktop::Desktop;
use ntfy::Ntfy;
use outbox::Outbox;
use plan::Plan;
use webhook::Webhook;
use wording::Wording;

/// Something to tell.
#[derive(Debug, Clone)]
pub enum Notice {
    /// People are asked: for the ways that people read.
    Asked(Vec<Arc<Ask>>),
    /// The same of one ask, for a program.
    Opened(Arc<Ask>),
    /// And its end.
    Settled(Arc<Ask>),
    /// Somebody wants to see whether it works.
    Test,
}

/// One way to tell somebody.
#[derive(Debug)]
pub enum Way {
    /// On this machine's screen.
    Desktop(Desktop),
    /// On a telephone.
    Ntfy(Ntfy),
    /// To a program.
    Webhook(Webhook),
}

/// Why somebody could not be told. It holds nothing of the question and no secret.
#[derive(Debug)]
pub struct Failure {
    /// What happened.
    reason: String,
    /// What to do about it.
    hint: &'static str,
    /// Whether it may work a little later.
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

/// The ways that are configured. Without tickets there are no buttons.
pub fn ways(config: &Config, tickets: Option<&Tickets>) -> Vec<Way> {
    let wording = Arc::new(Wording::new(config));
    let notify = &config.notify;
    let desktop = Desktop::new(&notify.desktop, &wording).map(Way::Desktop);
    let ntfy = notify.ntfy.as_ref().map(|ntfy| Way::Ntfy(Ntfy::new(ntfy, &wording, tickets)));
    let webhook = notify.webhook.as_ref().map(|webhook| Way::Webhook(Webhook::new(webhook, &wording)));
    desktop.into_iter().chain(ntfy).chain(webhook).collect()
}

impl Way {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Desktop(_) => "desktop",
            Self::Ntfy(_) => "ntfy",
            Self::Webhook(_) => "webhook",
        }
    }

    /// Where it leads, without what may be secret.
    pub fn target(&self) -> &str {
        match self {
            Self::Desktop(desktop) => desktop.program(),
            Self::Ntfy(ntfy) => ntfy.host(),
            Self::Webhook(webhook) => webhook.host(),
        }
    }

    /// Tells, and returns when it is told. Blocks, for some seconds at most.
    pub fn deliver(&self, notice: &Notice) -> Result<(), Failure> {
        match self {
            Self::Desktop(desktop) => desktop.deliver(notice),
            Self::Ntfy(ntfy) => ntfy.deliver(notice),
            Self::Webhook(webhook) => webhook.deliver(notice),
        }
    }

    fn is_for_people(&self) -> bool {
        !matches!(self, Self::Webhook(_))
    }
}

/// Starts telling, if there is a way. Must be called before asks can be opened, and in a runtime.
pub async fn start(
    registry: &Registry,
    config: &Config,
    tickets: &Tickets,
) -> Result<Option<JoinHandle<()>>, StoreError> {
    let ways = ways(config, Some(tickets));
    if ways.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = ways.iter().map(Way::name).collect();
    tracing::info!(ways = names.join(","), "people are told of questions");
    let feed = registry.feed(None);
    let mut plan = Plan::new(config.notify.delay());
    let (now, clock) = (Instant::now(), Timestamp::now());
    for ask in registry.list(open_asks()).await?.asks {
        plan.restore(ask, now, clock);
    }
    let outboxes = ways.into_iter().map(|way| Outbox::start(way, registry.clone())).collect();
    let notifier = Notifier { feed, plan, outboxes };
    Ok(Some(tokio::spawn(notifier.run())))
}

fn open_asks() -> Filter {
    Filter::all(StateFilter::Open, usize::MAX)
}

struct Notifier {
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
                    Ok(Some(change)) => self.note(&change),
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

    fn note(&mut self, change: &Change) {
        match change.kind {
            ChangeKind::Opened => self.plan.opened(Arc::clone(&change.ask), Instant::now()),
            ChangeKind::Settled => {
                // A program that did not hear of the question need not hear of its end.
                if self.plan.settled(change.ask.id) {
                    self.tell(false, &Notice::Settled(Arc::clone(&change.ask)));
                }
            }
            ChangeKind::Deferred | ChangeKind::Resumed | ChangeKind::Received => {}
        }
    }

    fn announce(&mut self) {
        let due = self.plan.take(Instant::now());
        for ask in &due {
            self.tell(false, &Notice::Opened(Arc::clone(ask)));
        }
        if !due.is_empty() {
            self.tell(true, &Notice::Asked(due));
        }
    }

    fn tell(&self, people: bool, notice: &Notice) {
        self.outboxes.iter().filter(|outbox| outbox.is_for_people() == people).for_each(|outbox| outbox.put(notice));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;
    use crate::ask::samples::new_ask;
    use crate::ask::{Host, Outcome};
    use crate::store::Opening;

    #[tokio::test]
    async fn a_notifier_that_falls_behind_reads_what_it_missed() {
        const MANY: usize = 1200;
        let dir = tempfile::tempdir().unwrap();
        let (opening, snapshot) = Opening::open(&dir.path().join("asks.db"), true, Host::new("here")).unwrap();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let plan = Plan::new(Duration::ZERO);
        let mut notifier = Notifier { feed: registry.feed(None), plan, outboxes: Vec::new() };
        let open = |n: usize| registry.open(new_ask(&format!("program-{n}__t")));
        let asks: Vec<_> = join_all((0..MANY).map(open)).await.into_iter().map(Result::unwrap).collect();
        registry.settle(asks[0].id, Outcome::Released, None).await.unwrap();
        for _ in 0..=MANY {
            let change = notifier.feed.next().await.unwrap().unwrap();
            notifier.note(&change);
        }
        assert_eq!(notifier.plan.take(Instant::now()).len(), MANY - 1);
        store.close().await;
    }
}
