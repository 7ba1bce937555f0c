//! Changes, their order, and the snapshot that fits them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::ask::{ChangeKind, Cursor, Receipt, Topic};
use crate::store::Changes;

/// Reads all pages after a cursor.
async fn pages(store: &Store, after: Cursor, limit: usize) -> Vec<Changes> {
    let mut pages: Vec<Changes> = Vec::new();
    while pages.last().is_none_or(|page| !page.is_end) {
        let from = pages.last().map_or(after, |page| page.through);
        let page = store.changes(from, limit).await.unwrap();
        assert!(page.is_end || page.through > from, "a page does not move on");
        pages.push(page);
    }
    pages
}

fn cursors<'a>(changes: impl IntoIterator<Item = &'a Arc<Change>>) -> Vec<Cursor> {
    changes.into_iter().map(|change| change.cursor).collect()
}

fn grow(cursors: &[Cursor]) -> bool {
    cursors.windows(2).all(|pair| pair[0] < pair[1])
}

/// Makes a few changes of each sort.
async fn make_changes(world: &World, session: &str) {
    for n in 0..5 {
        let id = world.open(&format!("{session}__{n}")).await.id;
        world.store.defer(id, Timestamp::now()).await.unwrap().unwrap();
        world.store.resume(id, None, Timestamp::now()).await.unwrap().unwrap();
        if n % 2 == 0 {
            world.settle(id, answered("SQLite")).await;
            let receipt = Receipt { answers: Default::default(), as_sent: false, at: Timestamp::now() };
            world.store.receive(id, receipt).await.unwrap().unwrap();
        }
    }
}

/// Cursors only grow. None is used twice: not after the store was opened again, and not after its change was purged.
pub(super) async fn cursors_only_grow_and_are_never_used_again(mut world: World) {
    let mut newest = Cursor(0);
    for round in 0..4 {
        let id = world.open(&format!("s__{round}")).await.id;
        world.settle(id, Outcome::Released).await;
        // The newest change is gone with its ask.
        let later = Timestamp::now() + SignedDuration::from_hours(1);
        assert_eq!(world.store.purge(later).await.unwrap(), 1);
        if round % 2 == 1 {
            assert_eq!(world.reopen().await.cursor, world.published().last().unwrap().cursor);
        }
        let published = cursors(&world.published());
        assert!(grow(&published) && published[2 * round] > newest, "{published:?}");
        newest = *published.last().unwrap();
    }
}

/// Changes are published in the order of their cursors, and each one before its caller gets the reply.
pub(super) async fn changes_are_published_before_their_caller_is_told_and_in_order(world: World) {
    for n in 0..20 {
        let opened = world.open(&format!("s__t{n}")).await.id;
        assert_eq!(world.published().len(), 2 * n + 1);
        world.settle(opened, Outcome::Released).await;
        assert_eq!(world.published().len(), 2 * n + 2);
    }
    // Those of many callers at the same time, too.
    join_all((0..100).map(async |n| {
        let id = world.open(&format!("s{n}__t")).await.id;
        assert!(world.published().iter().any(|change| change.ask.id == id));
    }))
    .await;
    let cursors: Vec<_> = world.published().iter().map(|change| change.cursor).collect();
    assert!(cursors.windows(2).all(|pair| pair[0] < pair[1]));
    let read = world.store.changes(cursors[9], 1000).await.unwrap();
    assert_eq!(read.changes.iter().map(|change| change.cursor).collect::<Vec<_>>(), cursors[10..]);
}

/// A command that finds nothing to do makes no change, and so does a query.
pub(super) async fn commands_that_change_nothing_publish_nothing(world: World) {
    let id = world.open("s__t").await.id;
    world.settle(id, answered("SQLite")).await;
    let receipt = Receipt { answers: Default::default(), as_sent: false, at: Timestamp::now() };
    world.store.receive(id, receipt.clone()).await.unwrap().unwrap();
    let before = cursors(&world.published());
    assert_eq!(before.len(), 3);
    world.settle(id, answered("else")).await;
    world.try_open(new_ask("s__t")).await.unwrap();
    world.store.open_ask(Arc::new(new_ask("s__u")), Timestamp::now(), 0).await.unwrap();
    world.store.defer(id, Timestamp::now()).await.unwrap();
    world.store.resume(id, None, Timestamp::now()).await.unwrap();
    world.store.receive(id, receipt).await.unwrap();
    world.store.purge(Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(cursors(&world.published()), before);
    assert_eq!(cursors(&world.store.changes(Cursor(0), 100).await.unwrap().changes), before);
}

/// The pages of changes after any cursor, of any size, have every change after it exactly once, in order, with its kind and its ask.
pub(super) async fn pages_of_changes_miss_nothing_and_repeat_nothing(mut world: World) {
    make_changes(&world, "s").await;
    world.reopen().await;
    make_changes(&world, "other").await;
    let published = world.published();
    for limit in [1, 2, 3, 7, 1000] {
        for from in 0..published.len() {
            let pages = pages(&world.store, published[from].cursor, limit).await;
            assert!(pages.iter().all(|page| page.changes.len() <= limit));
            let read: Vec<_> = pages.iter().flat_map(|page| &page.changes).collect();
            let kinds = |change: &Change| (change.cursor, change.kind, change.ask.id);
            assert_eq!(
                read.into_iter().map(|change| kinds(change)).collect::<Vec<_>>(),
                published[from + 1..].iter().map(|change| kinds(change)).collect::<Vec<_>>()
            );
        }
    }
}

/// A page of changes ends with the change that makes it too large. The next page goes on after it.
pub(super) async fn a_page_of_changes_is_bounded_in_bytes_and_the_pages_make_up_all(world: World) {
    let question = json!([{"question": "Which?", "options": [{"label": "A", "preview": "x".repeat(100_000)}]}]);
    for n in 0..10 {
        let new = NewAsk {
            topic: Topic::of_questions(serde_json::from_value(question.clone()).unwrap()),
            ..new_ask(&format!("s{n}__t"))
        };
        world.open_new(new).await;
    }
    let (mut last, mut sizes) = (Cursor(0), Vec::new());
    loop {
        let page = world.store.changes(last, 256).await.unwrap();
        last = page.through;
        sizes.push(page.changes.len());
        if page.is_end {
            break;
        }
    }
    assert_eq!(sizes, [3, 3, 3, 1]);
}

/// After the newest change there is an empty page, which says that it is the end and stays where it is.
pub(super) async fn a_page_at_the_end_is_empty_and_stays_where_it_is(world: World) {
    make_changes(&world, "s").await;
    let newest = world.published().last().unwrap().cursor;
    let page = world.store.changes(newest, 10).await.unwrap();
    assert_eq!((page.changes.len(), page.through, page.is_end), (0, newest, true));
}

/// Changes of forgotten asks are gone. From any cursor, also one of theirs, the changes that are left follow.
pub(super) async fn changes_after_a_purge_go_on_from_any_cursor(world: World) {
    make_changes(&world, "s").await;
    let published = world.published();
    let later = Timestamp::now() + SignedDuration::from_hours(1);
    assert_eq!(world.store.purge(later).await.unwrap(), 3);
    for from in &published {
        let read = world.store.changes(from.cursor, 100).await.unwrap();
        let left = published.iter().filter(|change| change.cursor > from.cursor);
        // Of the five asks, the second and the fourth are open.
        let left: Vec<_> = left.filter(|change| ["1", "3"].contains(&change.ask.key.tool_use_id())).collect();
        assert_eq!(cursors(&read.changes), cursors(left));
        assert!(read.is_end);
    }
}

/// Every change up to the cursor of a snapshot is in it, and no later one is: also if the store is changed while it is taken.
pub(super) async fn a_snapshot_has_every_change_up_to_its_cursor_and_no_later_one(world: World) {
    const MOMENTS: usize = 20;
    // It takes a while to read so many, so that changes come in between.
    join_all((0..300).map(async |n| drop(world.open(&format!("before{n}__t")).await))).await;
    let (store, done) = (world.store.clone(), Arc::new(AtomicBool::new(false)));
    let is_done = Arc::clone(&done);
    let writer = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut n = 0;
            while !is_done.load(Ordering::Relaxed) {
                n += 1;
                let new = Arc::new(new_ask(&format!("s{n}__t")));
                // The store may be too busy for a command while it is opened. What it published counts.
                let Ok(Opened::New(ask)) = store.open_ask(new, Timestamp::now(), 64).await else { continue };
                drop(store.defer(ask.id, Timestamp::now()).await);
                if n % 3 > 0 {
                    drop(store.settle(ask.id, settlement(Outcome::Released)).await);
                }
            }
        });
    });
    let mut snapshots: BTreeMap<Cursor, Snapshot> = BTreeMap::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    while snapshots.len() < MOMENTS {
        assert!(Instant::now() < deadline, "the store is not changed any more");
        let (_, snapshot) = (world.place)(Host::new("here"));
        snapshots.insert(snapshot.cursor, snapshot);
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let published = world.published();
    for (cursor, snapshot) in snapshots {
        let mut open = BTreeMap::new();
        for change in published.iter().filter(|change| change.cursor <= cursor) {
            match change.kind {
                ChangeKind::Settled => drop(open.remove(&change.ask.id)),
                _ => drop(open.insert(change.ask.id, change.ask.deferred)),
            }
        }
        let taken: BTreeMap<_, _> = snapshot.open.iter().map(|ask| (ask.id, ask.deferred)).collect();
        assert_eq!(taken, open);
    }
}

/// The snapshot of a store that was closed has all its open asks, and the changes that follow come after its cursor.
pub(super) async fn a_store_that_is_opened_again_goes_on_from_its_snapshot(mut world: World) {
    make_changes(&world, "s").await;
    let before = world.published();
    let snapshot = world.reopen().await;
    assert_eq!(snapshot.cursor, before.last().unwrap().cursor);
    let mut open: Vec<_> = snapshot.open.iter().map(|ask| ask.key.as_str()).collect();
    open.sort_unstable();
    assert_eq!(open, ["s__1", "s__3"]);
    world.open("s__next").await;
    assert_eq!(world.published().len(), before.len() + 1);
    assert!(world.published().last().unwrap().cursor > snapshot.cursor);
}
