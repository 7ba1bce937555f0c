//! How much of this daemon each linked machine may use at the same time. A share outlives the link, because what a link began may go on
//! after its end: a machine that links again and again gets no more than one that stays.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ask::{Ask, AskKey, Host, Origin};

use super::{Registry, Unconfirmed};

/// How many commands of one machine are carried out at the same time.
pub const MAX_CALLS: usize = 64;
/// How many of them may read through the changes. All readers of history share one connection to the store.
const MAX_READS: usize = 1;
/// How many lines of the log one machine may cause within [`MINUTE`].
const MAX_LINES: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// How many bytes the open asks of one machine may have in memory.
const MAX_OPEN_BYTES: usize = if cfg!(test) { 64 * 1024 } else { 64 * 1024 * 1024 };

/// The shares of all machines that were linked since the daemon was started.
#[derive(Debug, Default)]
pub(super) struct Shares(Mutex<HashMap<Host, Arc<Share>>>);

/// What one machine may use.
#[derive(Debug)]
pub struct Share {
    calls: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    /// The bytes of the asks that are being opened.
    opening: AtomicUsize,
    /// The asks that this machine has opened, as long as it has not said that their askers are there.
    unconfirmed: Mutex<HashMap<AskKey, Unconfirmed>>,
    lines: Mutex<Lines>,
}

/// The lines of the log that a machine has caused since a moment.
#[derive(Debug)]
struct Lines {
    since: Instant,
    written: u32,
    left_out: u64,
}

impl Lines {
    /// If one more line may be written: how many were left out before it.
    fn one_more(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.since) >= MINUTE {
            (self.since, self.written) = (now, 0);
        }
        if self.written == MAX_LINES {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// A place for an ask that is being opened. After that, the ask itself counts.
#[derive(Debug)]
pub struct Room {
    share: Arc<Share>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.share.opening.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Share {
    fn new() -> Self {
        let lines = Lines { since: Instant::now(), written: 0, left_out: 0 };
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self {
            calls: semaphore(MAX_CALLS),
            reads: semaphore(MAX_READS),
            opening: AtomicUsize::new(0),
            unconfirmed: Mutex::default(),
            lines: Mutex::new(lines),
        }
    }

    /// Whether one more line about this machine may go into the log. If so, how many were left out before it.
    pub fn line(&self) -> Option<u64> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).one_more(Instant::now())
    }

    /// An ask was opened. It is unconfirmed until its machine says that the asker is there, or ends it, or the link is gone.
    pub fn keep(&self, unconfirmed: Unconfirmed) {
        self.unconfirmed().insert(unconfirmed.key().clone(), unconfirmed);
    }

    /// The machine has said that the asker is there, or has ended the ask.
    pub fn confirm(&self, key: &AskKey) {
        drop(self.unconfirmed().remove(key));
    }

    pub(super) fn forget_unconfirmed(&self) {
        self.unconfirmed().clear();
    }

    fn unconfirmed(&self) -> MutexGuard<'_, HashMap<AskKey, Unconfirmed>> {
        self.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to carry out a command. Safe to cancel.
    pub async fn call(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes the semaphore.
        Arc::clone(&self.calls).acquire_owned().await.ok()
    }

    /// Returns when no command is being carried out. Safe to cancel.
    pub(super) async fn until_idle(&self) {
        const ALL: u32 = MAX_CALLS as u32;
        drop(self.calls.acquire_many(ALL).await);
    }

    /// The right to read through the changes. Safe to cancel.
    pub async fn read(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.reads).acquire_owned().await.ok()
    }
}

impl Registry {
    /// What a machine may use here.
    pub fn share(&self, host: &Host) -> Arc<Share> {
        let mut shares = self.0.links.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shares.entry(host.clone()).or_insert_with(|| Arc::new(Share::new())))
    }

    /// Makes room for one more ask of a machine. `None` if too many of its asks are open, or if they are too large.
    pub fn room_for(&self, host: &Host, origin: Origin, bytes: usize) -> Option<Room> {
        let share = self.share(host);
        let others = share.opening.fetch_add(bytes, Ordering::Relaxed);
        let room = Room { share, bytes };
        let open: Vec<usize> = self.0.open.weights(|ask: &Ask| ask.host == *host);
        let is_full =
            open.len() >= self.places_for(origin) || open.iter().sum::<usize>() + others + bytes > MAX_OPEN_BYTES;
        (!is_full).then_some(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::new_ask;
    use crate::store::samples::in_scratch_dir;

    #[test]
    fn a_machine_cannot_flood_the_log() {
        let start = Instant::now();
        let mut lines = Lines { since: start, written: 0, left_out: 0 };
        for _ in 0..MAX_LINES {
            assert_eq!(lines.one_more(start), Some(0));
        }
        assert_eq!((lines.one_more(start), lines.one_more(start)), (None, None));
        assert_eq!(lines.one_more(start + MINUTE), Some(2));
        assert_eq!(lines.one_more(start + MINUTE), Some(0));
    }

    #[tokio::test]
    async fn a_machine_that_links_again_gets_no_more() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let (one, other) = (Host::new("one"), Host::new("other"));
        let mut held = Vec::new();
        for _ in 0..MAX_CALLS {
            let link = registry.link(&one);
            held.push(registry.share(&one).call().await.unwrap());
            drop(link);
        }
        let share = registry.share(&one);
        assert!(futures_util::poll!(std::pin::pin!(share.call())).is_pending());
        assert!(registry.share(&other).call().await.is_some());
        held.pop();
        assert!(share.call().await.is_some());
        store.close().await;
    }

    #[tokio::test]
    async fn the_open_asks_of_a_machine_have_a_limit_in_bytes() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let (one, other) = (Host::new("one"), Host::new("other"));
        let half = MAX_OPEN_BYTES / 2;
        let room = registry.room_for(&one, Origin::ClaudeCode, half).unwrap();
        assert!(registry.room_for(&one, Origin::ClaudeCode, half + 1).is_none(), "what is being opened counts");
        assert!(
            registry.room_for(&one, Origin::ClaudeCode, half).is_some()
                && registry.room_for(&other, Origin::ClaudeCode, half + 1).is_some()
        );
        // What is open counts, too.
        let mut new = new_ask("s__t");
        new.project = Some("x".repeat(half));
        store.for_host(one.clone()).open_ask(Arc::new(new), registry.now(), 64).await.unwrap();
        drop(room);
        assert!(
            registry.room_for(&one, Origin::ClaudeCode, half).is_none()
                && registry.room_for(&one, Origin::ClaudeCode, half / 2).is_some()
        );
        store.close().await;
    }
}
