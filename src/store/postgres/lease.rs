//! The lease by which a daemon has its name. A daemon that does not renew it is taken for dead by the others.
//!
//! It is renewed by a task and over a connection of its own: neither a commit that waits for a standby nor a long list may be in its way.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::store::StoreError;

use super::clock::Clock;
use super::link::{Link, Session};
use super::rows::get;
use super::times::{Times, milliseconds};
use super::writer::Identity;

/// Cheap to clone. All clones are the same lease.
#[derive(Clone)]
pub(super) struct Lease(Arc<Shared>);

struct Shared {
    identity: Identity,
    times: Times,
    clock: Clock,
    /// Set when the store cannot go on.
    failing: watch::Sender<Option<StoreError>>,
    /// When this instance was started, by the engine. 0 if it has no lease yet.
    start: AtomicI64,
    renewed: Mutex<Option<Renewals>>,
}

/// Renewals without a gap: each came before the one before it had run out.
#[derive(Debug, Clone, Copy)]
struct Renewals {
    first: Instant,
    last: Instant,
    /// The clock of the engine at the last one, in microseconds.
    engine: i64,
}

impl Lease {
    pub(super) fn new(
        identity: Identity,
        times: Times,
        clock: Clock,
        failing: watch::Sender<Option<StoreError>>,
    ) -> Self {
        Self(Arc::new(Shared { identity, times, clock, failing, start: AtomicI64::new(0), renewed: Mutex::default() }))
    }

    /// Renews the lease again and again, until the links to the engine are gone.
    pub(super) async fn keep(self, link: Link) {
        let Times { renewal, last_pause, unsent, .. } = self.0.times;
        loop {
            let is_renewed = match link.session(unsent).await {
                Ok(session) => self.renew(&session).await,
                Err(StoreError::Closed) => return,
                Err(_) => false,
            };
            sleep(if is_renewed { renewal } else { last_pause }).await;
        }
    }

    /// Whether this daemon has had its name at all.
    pub(super) fn was_taken(&self) -> bool {
        self.0.start.load(Ordering::Relaxed) != 0
    }

    /// For how long this daemon has had its lease without a gap, so that others could renew theirs as well.
    pub(super) fn kept_for(&self) -> Duration {
        let renewed = *self.0.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        match renewed {
            Some(Renewals { first, last, .. }) if last.elapsed() < self.0.times.lease => last.duration_since(first),
            _ => Duration::ZERO,
        }
    }

    /// Takes the name of this host, or renews the lease. Sets the clock by the way.
    pub(super) async fn renew(&self, session: &Session) -> bool {
        let Shared { identity, times, clock, failing, start, .. } = &*self.0;
        let sent = Instant::now();
        let values = [
            identity.namespace.as_str().into(),
            identity.host.as_str().into(),
            identity.instance.as_str().into(),
            env!("CARGO_PKG_VERSION").into(),
            start.load(Ordering::Relaxed).into(),
            milliseconds(times.lease).into(),
        ];
        let statement = "SELECT * FROM answerback.lease_1($1, $2, $3, $4, $5, $6)";
        let rows = session.query(statement, &values).await;
        let row = match rows.as_deref() {
            Ok([row, ..]) => row,
            Ok([]) => {
                tracing::error!(host = identity.host, "another daemon has taken the name of this one");
                failing.send_replace(Some(StoreError::Closed));
                return false;
            }
            Err(error) => {
                tracing::warn!(?error, "the lease of this daemon is not renewed");
                return false;
            }
        };
        let (Ok(engine), Ok(started)) = (get(row, "clock_us"), get(row, "start")) else { return false };
        clock.set(engine, sent);
        start.store(started, Ordering::Relaxed);
        self.note(sent, engine);
        true
    }

    /// If the engine's clock was set forward, all leases look as if they had run out, and that is a gap, too.
    fn note(&self, now: Instant, engine: i64) {
        let lease = self.0.times.lease;
        let mut renewed = self.0.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let first = match *renewed {
            Some(before)
                if now.duration_since(before.last) < lease
                    && engine.saturating_sub(before.engine) < 1000 * milliseconds(lease) =>
            {
                before.first
            }
            _ => now,
        };
        *renewed = Some(Renewals { first, last: now, engine });
    }
}
