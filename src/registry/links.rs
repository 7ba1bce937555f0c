//! Which other machines are linked with this daemon, and what becomes of the asks of those that are not.
//!
//! While a machine is linked, its own daemon watches over its asks. When the link is gone, they stay open and can be answered. A deadline
//! that passes meanwhile ends them here. An asker needs its daemon to get the answer, so after some time without a link the asks that need
//! one are withdrawn. Its daemon learns that when it is back, and asks again for whoever still waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::ask::{Ask, Channel, Host, Outcome, Source};
use crate::store::{Store, StoreError};

use super::Registry;
use super::shares::Shares;

/// How long asks that need a wait outlive the link of their machine.
const ABSENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(120) };
/// How exact the deadlines of absent machines are.
const ROUND: Duration = if cfg!(test) { Duration::from_millis(20) } else { Duration::from_secs(1) };

/// How often the other daemons of a store are told which machines are linked here. It counts for three times as long.
const RENEWAL: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(5) };

/// The links, each with a number of its own.
#[derive(Debug, Default)]
pub(super) struct Links {
    by_host: watch::Sender<HashMap<Host, u64>>,
    /// A number is never used again: a link that ends late must not take a newer one for itself.
    next: AtomicU64,
    /// Tells the other daemons of the store about the links, if there are any.
    telling: OnceLock<()>,
    pub(super) shares: Shares,
}

/// A machine that is linked, until this is dropped.
#[derive(Debug)]
pub struct Link {
    registry: Registry,
    host: Host,
    number: u64,
}

impl Link {
    /// Returns when another link of the same machine has taken the place of this one. Safe to cancel.
    pub async fn replaced(&self) {
        let mut links = self.registry.0.links.by_host.subscribe();
        // There is no error: the registry has the sender.
        drop(links.wait_for(|links| links.get(&self.host) != Some(&self.number)).await);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let is_last = self.registry.0.links.by_host.send_if_modified(|links| {
            let is_last = links.get(&self.host) == Some(&self.number);
            if is_last {
                links.remove(&self.host);
            }
            is_last
        });
        if is_last {
            self.registry.share(&self.host).forget_unconfirmed();
            self.registry.watch_absent(self.host.clone());
        }
    }
}

impl Registry {
    /// The daemon of a machine is linked from now on. It takes the place of an older link of the same machine.
    pub fn link(&self, host: &Host) -> Link {
        self.share(host).forget_unconfirmed();
        let number = self.0.links.next.fetch_add(1, Ordering::Relaxed);
        self.0.links.by_host.send_modify(|links| {
            links.insert(host.clone(), number);
        });
        if self.0.store.is_shared() {
            let Links { by_host, telling, .. } = &self.0.links;
            telling.get_or_init(|| {
                self.0.runtime.spawn(tell_others(self.0.store.clone(), by_host.subscribe()));
            });
        }
        Link { registry: self.clone(), host: host.clone(), number }
    }

    /// Whether the daemon of a machine is linked.
    pub fn is_linked(&self, host: &Host) -> bool {
        self.0.links.by_host.borrow().contains_key(host)
    }

    /// How many asks of a machine are open.
    pub fn count_open(&self, host: &Host) -> usize {
        self.open_asks_of(host).len()
    }

    /// Does what the daemon of an absent machine would do, until it is linked again. A store that several daemons share has its own way.
    pub(super) fn watch_absent(&self, host: Host) {
        if self.0.store.ends_asks_of_absent_hosts() {
            return;
        }
        let registry = self.clone();
        self.0.runtime.spawn(async move {
            let mut links = registry.0.links.by_host.subscribe();
            tokio::select! {
                biased;
                _ = links.wait_for(|links| links.contains_key(&host)) => {}
                () = registry.end_asks_of_absent(&host) => {}
            }
        });
    }

    /// The token of a machine was taken back, so it will not come back. Its questions are withdrawn: nobody should trust them any more.
    pub fn host_is_revoked(&self, host: Host) {
        let registry = self.clone();
        self.0.runtime.spawn(async move {
            registry.share(&host).until_idle().await;
            for ask in registry.open_asks_of(&host) {
                registry.end_unasked(&ask, Outcome::Withdrawn, Some(Source::of(Channel::Hub))).await;
            }
        });
    }

    fn open_asks_of(&self, host: &Host) -> Vec<Arc<Ask>> {
        let mut open = self.0.open.all();
        open.retain(|ask| ask.host == *host);
        open
    }

    async fn end_asks_of_absent(&self, host: &Host) {
        let withdrawal = Instant::now() + ABSENCE;
        // A command that came before the link ended may still open an ask.
        self.share(host).until_idle().await;
        loop {
            let open = self.open_asks_of(host);
            let (now, is_late) = (self.now(), Instant::now() >= withdrawal);
            if open.is_empty() && is_late {
                return;
            }
            for ask in &open {
                if let Some(outcome) = ask.end_without_its_host(now, is_late) {
                    // An asker that still waits is told by this that it was not given up by its own machine, and asks again.
                    let by = (outcome == Outcome::Withdrawn).then(|| Source::of(Channel::Hub));
                    self.end_unasked(ask, outcome, by).await;
                }
            }
            sleep(self.until_next(&open, is_late, withdrawal)).await;
        }
    }

    /// How long nothing has to be done.
    fn until_next(&self, open: &[Arc<Ask>], is_late: bool, withdrawal: Instant) -> Duration {
        let now = self.now();
        let deadline = open.iter().filter_map(|ask| ask.expires_at).min();
        let deadline = deadline.map(|end| end.duration_since(now).max(SignedDuration::ZERO).unsigned_abs());
        let withdrawal = (!is_late).then(|| withdrawal.saturating_duration_since(Instant::now()));
        [deadline, withdrawal].into_iter().flatten().min().unwrap_or(ABSENCE).max(ROUND)
    }
}

/// Tells the other daemons of a store which machines are linked here: all of them at once, a new one without delay, until the registry is gone.
async fn tell_others(store: Store, mut links: watch::Receiver<HashMap<Host, u64>>) {
    loop {
        let hosts: Vec<Host> = links.borrow_and_update().keys().cloned().collect();
        let has_links = !hosts.is_empty();
        if has_links {
            match store.keep_hosts(hosts).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(%error, "other hubs do not know which machines are linked here"),
            }
        }
        tokio::select! {
            changed = links.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = sleep(RENEWAL), if has_links => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio::time::timeout;

    use super::*;
    use crate::ask::samples::new_ask;
    use crate::ask::{NewAsk, Origin};
    use crate::store::samples::in_scratch_dir;
    use crate::store::{Opened, Store};

    const PATIENCE: Duration = Duration::from_secs(20);

    async fn open(store: &Store, host: &Host, key: &str, change: impl FnOnce(&mut NewAsk)) -> Arc<Ask> {
        let mut new = NewAsk { origin: Origin::ClaudeCode, ..new_ask(key) };
        change(&mut new);
        match store.for_host(host.clone()).open_ask(Arc::new(new), Timestamp::now(), 64).await.unwrap() {
            Opened::New(ask) => ask,
            other => panic!("not new: {other:?}"),
        }
    }

    async fn outcome(registry: &Registry, ask: &Ask) -> (Outcome, Option<Channel>) {
        let settled = timeout(PATIENCE, registry.until_settled(&ask.key)).await.unwrap().unwrap().unwrap();
        let settlement = settled.settlement.clone().unwrap();
        (settlement.outcome, settlement.by.map(|by| by.channel))
    }

    #[tokio::test]
    async fn the_asks_of_a_machine_without_a_link_are_withdrawn_after_a_while_unless_nobody_has_to_wait() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let host = Host::new("edge");
        let link = registry.link(&host);
        let waited_for = open(&store, &host, "s__t", |_| {}).await;
        let of_program = open(&store, &host, "p__t", |new| new.origin = Origin::Program).await;
        let late = Timestamp::now() + SignedDuration::from_millis(50);
        let expiring = open(&store, &host, "x__t", |new| new.expires_at = Some(late)).await;
        // The daemon of the machine watches over them.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!((registry.count_open(&host), registry.is_linked(&host)), (3, true));
        let lost = Instant::now();
        drop(link);
        assert_eq!(outcome(&registry, &expiring).await, (Outcome::Expired, None));
        assert_eq!(outcome(&registry, &waited_for).await, (Outcome::Withdrawn, Some(Channel::Hub)));
        assert!(lost.elapsed() >= ABSENCE);
        assert!(registry.get(&of_program.key).await.unwrap().unwrap().is_open());
        store.close().await;
    }

    #[tokio::test]
    async fn what_was_under_way_when_the_link_ended_is_watched_too() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let host = Host::new("edge");
        let link = registry.link(&host);
        let under_way = registry.share(&host).call().await;
        drop(link);
        // It takes longer than asks outlive the link.
        tokio::time::sleep(ABSENCE * 2).await;
        let late = Timestamp::now() + SignedDuration::from_millis(50);
        let expiring = open(&store, &host, "x__t", |new| {
            (new.origin, new.expires_at) = (Origin::Program, Some(late));
        });
        let expiring = expiring.await;
        let waited_for = open(&store, &host, "s__t", |_| {}).await;
        drop(under_way);
        assert_eq!(outcome(&registry, &expiring).await, (Outcome::Expired, None));
        assert_eq!(outcome(&registry, &waited_for).await, (Outcome::Withdrawn, Some(Channel::Hub)));
        store.close().await;
    }

    #[tokio::test]
    async fn what_a_machine_has_asked_is_withdrawn_when_it_is_not_trusted_any_more() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let (host, other) = (Host::new("edge"), Host::new("other"));
        let of_program = open(&store, &host, "p__t", |new| new.origin = Origin::Program).await;
        let deferred = open(&store, &host, "d__t", |_| {}).await;
        store.defer(deferred.id, Timestamp::now()).await.unwrap();
        let waited_for = open(&store, &host, "s__t", |_| {}).await;
        let of_other = open(&store, &other, "o__t", |new| new.origin = Origin::Program).await;
        registry.host_is_revoked(host);
        for ask in [of_program, deferred, waited_for] {
            assert_eq!(outcome(&registry, &ask).await, (Outcome::Withdrawn, Some(Channel::Hub)));
        }
        assert!(registry.get(&of_other.key).await.unwrap().unwrap().is_open());
        store.close().await;
    }

    #[tokio::test]
    async fn a_machine_that_comes_back_in_time_finds_its_asks() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let host = Host::new("edge");
        let first = registry.link(&host);
        let ask = open(&store, &host, "s__t", |_| {}).await;
        let second = registry.link(&host);
        timeout(PATIENCE, first.replaced()).await.unwrap();
        // The first one is of no importance any more.
        drop(first);
        assert!(registry.is_linked(&host));
        drop(second);
        let _third = registry.link(&host);
        tokio::time::sleep(ABSENCE * 2).await;
        assert!(registry.get(&ask.key).await.unwrap().unwrap().is_open());
        store.close().await;
    }

    #[tokio::test]
    async fn a_link_that_ends_late_leaves_a_newer_one_alone() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let host = Host::new("edge");
        let stalled = registry.link(&host);
        drop(registry.link(&host));
        let newest = registry.link(&host);
        drop(stalled);
        assert!(registry.is_linked(&host));
        assert!(futures_util::poll!(std::pin::pin!(newest.replaced())).is_pending());
        store.close().await;
    }
}
