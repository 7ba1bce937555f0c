//! One reader of changes: first what it missed, then what is committed.
//!
//! The ring holds the newest changes in memory. It is bounded in number and in bytes, and a large ask does not go in. A reader that
//! falls out of the ring, or comes to the place of a large ask, reads on from the store, one page of bounded size at a time. So a
//! slow reader costs little memory, misses nothing and gets no change twice.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::ask::{Change, Cursor};
use crate::store::{Changes, StoreError};

use super::Registry;

/// How far a reader may fall behind before it has to read from the store.
pub(crate) const MAX_CHANGES: usize = 1024;
/// An ask over this does not go into the ring: 8 MiB in all.
const MAX_BYTES_EACH: usize = 8 * 1024;
/// How many changes are read from the store at once.
const REPLAY_PAGE: usize = 256;

/// The newest changes.
#[derive(Debug)]
pub(super) struct Ring(broadcast::Sender<Live>);

#[derive(Debug, Clone)]
pub(super) enum Live {
    Change(Arc<Change>),
    /// A change that is too large to be kept here.
    Large,
    /// The order of changes was broken off, and goes on after this.
    Reset(Cursor),
}

impl Ring {
    pub(super) fn new() -> Self {
        Self(broadcast::channel(MAX_CHANGES).0)
    }

    pub(super) fn put(&self, change: &Arc<Change>) {
        let is_small = change.ask.weight() <= MAX_BYTES_EACH;
        let kept = match change.detail {
            _ if !is_small => Live::Large,
            None => Live::Change(Arc::clone(change)),
            // Only the asker needs it, and it may be large.
            Some(_) => {
                let Change { cursor, kind, ref ask, .. } = **change;
                Live::Change(Arc::new(Change { cursor, kind, ask: Arc::clone(ask), detail: None }))
            }
        };
        // It fails if nobody reads, which is fine.
        drop(self.0.send(kept));
    }

    pub(super) fn reset(&self, cursor: Cursor) {
        drop(self.0.send(Live::Reset(cursor)));
    }

    pub(super) fn follow(&self) -> broadcast::Receiver<Live> {
        self.0.subscribe()
    }
}

/// What a feed hands out.
#[derive(Debug)]
pub enum Next {
    /// The next change.
    Change(Arc<Change>),
    /// The order of changes was broken off, and goes on after this. What was handed out before may be undone: the reader has to list the
    /// asks again.
    Reset(Cursor),
}

/// Every change after a cursor, once, in the order of commits.
#[derive(Debug)]
pub struct Feed {
    registry: Registry,
    live: broadcast::Receiver<Live>,
    /// The newest change that was handed out or passed over.
    passed: Cursor,
    /// Changes that were read from the store and not handed out yet.
    replay: VecDeque<Arc<Change>>,
    /// Whether the store may hold changes that the ring does not have.
    is_behind: bool,
    /// Whether the reader has seen something that is not known here.
    is_ahead: bool,
    /// A page that is being read from the store. A reader that is often interrupted must not begin again each time.
    reading: Option<Reading>,
}

/// The lock is never taken. It only lets a feed be shared between threads, although the future inside cannot be.
struct Reading(Mutex<PageRead>);

type PageRead = Pin<Box<dyn Future<Output = Result<Changes, StoreError>> + Send>>;

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reading")
    }
}

impl Feed {
    /// Reads on from a cursor. Without one, it begins with the next change.
    pub(super) fn new(registry: Registry, after: Option<Cursor>) -> Self {
        let live = registry.0.open.follow();
        // The subscription comes first, so that no change falls between the two.
        let newest = *registry.cursor().borrow();
        let is_ahead = registry.0.store.is_shared() && after.is_some_and(|after| after > newest);
        let passed = match after {
            // Another daemon of the same store may be a little further. The reader has to begin with what is known here.
            Some(_) if is_ahead => newest,
            // A cursor from the future belongs to a store that is gone. Its reader has seen nothing of this one.
            Some(after) if after > newest => Cursor(0),
            Some(after) => after,
            None => newest,
        };
        Self { registry, live, passed, replay: VecDeque::new(), is_behind: passed < newest, is_ahead, reading: None }
    }

    /// What is next; `None` if there will be no more. Safe to cancel. After an error, the next call tries the store again.
    pub async fn next(&mut self) -> Result<Option<Next>, StoreError> {
        if std::mem::take(&mut self.is_ahead) {
            return Ok(Some(Next::Reset(self.passed)));
        }
        loop {
            if self.is_behind && self.replay.is_empty() {
                let (store, passed) = (&self.registry.0.store, self.passed);
                let reading = self.reading.get_or_insert_with(|| {
                    let store = store.clone();
                    Reading(Mutex::new(Box::pin(async move { store.changes(passed, REPLAY_PAGE).await })))
                });
                let page = reading.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().await;
                self.reading = None;
                let page = page?;
                if page.is_broken_off {
                    // The asks that are known here may be of an earlier moment than the page.
                    let known = *self.registry.cursor().borrow();
                    return Ok(Some(self.reset(page.through.min(known))));
                }
                self.is_behind = !page.is_end;
                if page.changes.is_empty() {
                    self.passed = self.passed.max(page.through);
                    continue;
                }
                self.replay = page.changes.into();
            }
            let change = match self.replay.pop_front() {
                Some(change) => change,
                None => match self.live.recv().await {
                    Ok(Live::Change(change)) => change,
                    Ok(Live::Reset(cursor)) => return Ok(Some(self.reset(cursor))),
                    Ok(Live::Large) | Err(RecvError::Lagged(_)) => {
                        self.is_behind = true;
                        continue;
                    }
                    Err(RecvError::Closed) => return Ok(None),
                },
            };
            // A change that was read from the store comes again through the ring.
            if change.cursor > self.passed {
                self.passed = change.cursor;
                return Ok(Some(Next::Change(change)));
            }
        }
    }

    /// Forgets where it was. A reader that was told of a break by the store may be told of the same break by the ring, which does no harm.
    fn reset(&mut self, cursor: Cursor) -> Next {
        self.passed = cursor;
        self.replay.clear();
        self.reading = None;
        self.is_behind = *self.registry.cursor().borrow() > cursor;
        Next::Reset(cursor)
    }

    /// The newest change that was handed out or passed over. A feed from here on misses nothing.
    pub fn position(&self) -> Cursor {
        self.passed
    }

    /// Gives up what can only be read from the store, and goes on with the changes to come.
    pub fn skip_missed(&mut self) {
        self.is_behind = false;
        self.reading = None;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::ask::ChangeKind;
    use crate::ask::samples::{ask, new_ask};
    use crate::registry::Asker;
    use crate::store::samples::in_scratch_dir;

    fn change(cursor: i64, text: usize) -> Arc<Change> {
        let mut ask = ask(cursor, "s__t", "shop", 1);
        ask.project = Some("x".repeat(text));
        Arc::new(Change { cursor: Cursor(cursor), kind: ChangeKind::Opened, ask: Arc::new(ask), detail: None })
    }

    #[tokio::test]
    async fn a_large_change_is_left_to_the_store_and_no_memory_is_kept_for_it() {
        let ring = Ring::new();
        let mut live = ring.follow();
        let (small, large) = (change(1, 10), change(2, MAX_BYTES_EACH));
        ring.put(&small);
        ring.put(&large);
        ring.put(&small);
        assert_eq!(Arc::strong_count(&large), 1);
        assert!(matches!(live.recv().await.unwrap(), Live::Change(change) if change.cursor == Cursor(1)));
        assert!(matches!(live.recv().await.unwrap(), Live::Large));
        assert!(matches!(live.recv().await.unwrap(), Live::Change(change) if change.cursor == Cursor(1)));
    }

    fn change_of(next: Option<Next>) -> Arc<Change> {
        match next {
            Some(Next::Change(change)) => change,
            other => panic!("no change: {other:?}"),
        }
    }

    /// Reads so many changes. There must not be another one.
    async fn read(feed: &mut Feed, count: usize) -> Vec<i64> {
        let mut cursors = Vec::new();
        for _ in 0..count {
            cursors.push(change_of(feed.next().await.unwrap()).cursor.0);
        }
        let more = futures_util::poll!(std::pin::pin!(feed.next()));
        assert!(more.is_pending(), "one change too many: {more:?}");
        cursors
    }

    #[tokio::test]
    async fn a_reader_gets_every_change_once_wherever_it_is_kept() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let open = |n: usize, weight: usize| {
            let project = Some("x".repeat(weight));
            registry.open(crate::ask::NewAsk { project, ..new_ask(&format!("program-{n}__t")) }, Asker::Here)
        };
        let (mut from_the_start, mut late) = (registry.feed(None), registry.feed(None));
        open(0, 0).await.unwrap();
        // This one is too large for the ring, and the next is in it again.
        open(1, MAX_BYTES_EACH).await.unwrap();
        open(2, 0).await.unwrap();
        let expected: Vec<i64> = (1..=3).collect();
        assert_eq!(read(&mut from_the_start, 3).await, expected);
        // A reader that comes back reads on behind what it has seen.
        assert_eq!(read(&mut registry.feed(Some(Cursor(1))), 2).await, [2, 3]);
        assert_eq!(read(&mut registry.feed(Some(Cursor(3))), 0).await, [0; 0]);
        // A cursor of another store is worth nothing here.
        assert_eq!(read(&mut registry.feed(Some(Cursor(99))), 3).await, expected);
        // More than the ring holds: the slow reader finds all of it in the store.
        let many = MAX_CHANGES + 200;
        join_all((3..many).map(|n| open(n, 0))).await.into_iter().for_each(|opened| drop(opened.unwrap()));
        let all: Vec<i64> = (1..=i64::try_from(many).unwrap()).collect();
        assert_eq!(read(&mut late, many).await, all);
        assert_eq!(read(&mut from_the_start, many - 3).await, all[3..]);
        store.close().await;
    }

    #[tokio::test]
    async fn a_reader_that_is_interrupted_again_and_again_gets_on() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        registry.open(new_ask("program-1__t"), Asker::Here).await.unwrap();
        let mut feed = registry.feed(Some(Cursor(0)));
        // The store works on its own thread. Each call is interrupted as soon as it has to wait, like in a `select!`.
        let change = loop {
            if let std::task::Poll::Ready(change) = futures_util::poll!(std::pin::pin!(feed.next())) {
                break change_of(change.unwrap());
            }
            assert!(feed.reading.is_some(), "the page is not asked for again");
            tokio::task::yield_now().await;
        };
        assert_eq!((change.cursor, feed.position()), (Cursor(1), Cursor(1)));
        store.close().await;
    }

    #[tokio::test]
    async fn a_reader_goes_on_without_what_it_cannot_read() {
        let (_dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        registry.open(new_ask("program-1__t"), Asker::Here).await.unwrap();
        let mut feed = registry.feed(Some(Cursor(0)));
        store.close().await;
        assert!(feed.next().await.is_err() && feed.next().await.is_err());
        feed.skip_missed();
        assert!(futures_util::poll!(std::pin::pin!(feed.next())).is_pending());
    }
}
