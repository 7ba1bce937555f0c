//! The reader: nobody waits for it, and it is out of the way when the owner needs the file for itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;

use super::*;
use crate::store::StateFilter;

fn all() -> Filter {
    Filter::all(StateFilter::All, 10)
}

/// Keeps the reader busy until the sender is dropped.
async fn hold_reader(store: &Sqlite) -> (mpsc::Sender<()>, tokio::task::JoinHandle<Result<u32, StoreError>>) {
    let (go, wait) = mpsc::channel::<()>();
    let (started, busy) = oneshot::channel();
    let started = Mutex::new(Some(started));
    let reader = store.reader.clone();
    let read = tokio::spawn(async move {
        let work = move |connection: &Connection| {
            if let Some(started) = started.lock().unwrap().take() {
                let _ = started.send(());
            }
            let _ = wait.recv();
            connection.query_row("SELECT count(*) FROM asks", [], |row| row.get(0))
        };
        reader.read(work).await
    });
    busy.await.unwrap();
    (go, read)
}

/// A read that does not end until it is interrupted. Then it returns how often it was begun.
async fn read_without_end(store: &Sqlite) -> tokio::task::JoinHandle<Result<usize, StoreError>> {
    let (started, busy) = oneshot::channel();
    let (started, begun) = (Mutex::new(Some(started)), AtomicUsize::new(0));
    let reader = store.reader.clone();
    let read = tokio::spawn(async move {
        let work = move |connection: &Connection| {
            // Something of the file is read before, so that the job is in the middle of a transaction.
            let _: i64 = connection.query_row("SELECT count(*) FROM asks", [], |row| row.get(0))?;
            begun.fetch_add(1, Ordering::Relaxed);
            if let Some(started) = started.lock().unwrap().take() {
                let _ = started.send(());
                let endless = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
                let _: i64 = connection.query_row(endless, [], |row| row.get(0))?;
            }
            Ok(begun.load(Ordering::Relaxed))
        };
        reader.read(work).await
    });
    busy.await.unwrap();
    read
}

/// Makes the commit of a batch fail in a way after which it may be in the file all the same.
async fn fail_a_commit(store: &Sqlite) -> Result<(), StoreError> {
    store
        .owner
        .call(true, |context| {
            let orphan =
                "PRAGMA defer_foreign_keys = ON; INSERT INTO events (ask, kind, at) VALUES (9999, 'opened', 0)";
            Ok(context.connection.execute_batch(orphan)?)
        })
        .await
}

#[tokio::test]
async fn a_question_does_not_wait_for_a_long_read() {
    let world = World::new();
    let (go, read) = hold_reader(&world.store).await;
    let opened = id(world.open("s__t").await);
    assert!(matches!(world.store.settle(opened, released()).await.unwrap(), Settling::Won(_)));
    assert!(world.store.ask("s__t".parse().unwrap()).await.unwrap().is_some());
    assert!(!read.is_finished());
    drop(go);
    // It began its transaction before, but reads only now. What it sees was committed meanwhile.
    assert_eq!(read.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn a_commit_that_fails_interrupts_the_reader_which_then_begins_again() {
    let world = World::new();
    let opened = id(world.open("s__t").await);
    let read = read_without_end(&world.store).await;
    let failed = fail_a_commit(&world.store).await;
    assert!(matches!(failed, Err(StoreError::Unknown(_))), "{failed:?}");
    assert_eq!(read.await.unwrap().unwrap(), 2);
    // The file was opened again, and all is well.
    assert!(matches!(world.store.settle(opened, released()).await.unwrap(), Settling::Won(_)));
    assert_eq!(world.store.list(all()).await.unwrap().asks.len(), 1);
}

#[tokio::test]
async fn a_commit_that_fails_makes_an_idle_reader_close_the_file() {
    let world = World::new();
    id(world.open("s__t").await);
    // A setting of one connection tells whether it is still the same.
    let connection_id =
        |connection: &Connection| connection.pragma_query_value(None, "cache_size", |row| row.get::<_, i64>(0));
    let mark = |connection: &Connection| connection.pragma_update(None, "cache_size", 77);
    world.store.reader.read(mark).await.unwrap();
    assert_eq!(world.store.reader.read(connection_id).await.unwrap(), 77);
    assert!(matches!(fail_a_commit(&world.store).await, Err(StoreError::Unknown(_))));
    assert_ne!(world.store.reader.read(connection_id).await.unwrap(), 77);
    id(world.open("s__u").await);
    assert_eq!(world.store.list(all()).await.unwrap().asks.len(), 2);
}

#[tokio::test]
async fn a_close_lets_reads_finish_and_leaves_no_log() {
    let world = World::new();
    id(world.open("s__t").await);
    let (go, read) = hold_reader(&world.store).await;
    let (store, second) = (world.store.clone(), world.store.clone());
    // Both are sent in this order before the reader goes on.
    let list = async move { second.list(all()).await };
    let close = async move { store.close().await };
    let (listed, (), ()) = tokio::join!(biased; list, close, async { drop(go) });
    assert_eq!(read.await.unwrap().unwrap(), 1);
    assert_eq!(listed.unwrap().asks.len(), 1);
    assert!(!world.dir.path().join("asks.db-wal").exists());
    assert!(matches!(world.store.list(all()).await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn after_a_failure_the_reader_refuses_too_and_says_why() {
    let world = World::new();
    let opened = id(world.open("s__t").await);
    assert_eq!(world.store.list(all()).await.unwrap().asks.len(), 1);
    let log = world.dir.path().join("asks.db-wal");
    let read = read_without_end(&world.store).await;
    std::fs::remove_file(world.dir.path().join("asks.db")).unwrap();
    let before = std::fs::read(&log).unwrap();
    let refused = world.store.settle(opened, released()).await;
    assert!(matches!(refused, Err(StoreError::Changed(_))), "{refused:?}");
    for refused in [read.await.unwrap().map(drop), world.store.list(all()).await.map(drop)] {
        assert!(matches!(&refused, Err(StoreError::Changed(said)) if said.contains("was removed")), "{refused:?}");
    }
    world.store.failed().await;
    world.store.close().await;
    assert!(std::fs::read(&log).unwrap() == before, "the log was changed");
}

/// A store whose rows are in the main file and in nobody's memory.
async fn on_disk() -> World {
    let world = World::new();
    for n in 0..20 {
        id(world.store.open_ask(Arc::new(new_ask(&format!("s__{n}"), 20_000)), Timestamp::now(), 64).await);
    }
    world.store.close().await;
    let (opening, _) = Opening::open(&world.dir.path().join("asks.db"), false, host()).unwrap();
    World { store: opening.start(Box::new(|_| {})).unwrap(), ..world }
}

#[tokio::test]
async fn a_read_that_meets_damage_makes_the_owner_look_at_the_files() {
    let world = on_disk().await;
    let file = std::fs::OpenOptions::new().write(true).open(world.dir.path().join("asks.db")).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let refused = world.store.list(all()).await;
    assert!(matches!(refused, Err(StoreError::Damaged(_) | StoreError::Unreachable(_))), "{refused:?}");
    world.store.failed().await;
    let refused = world.store.list(all()).await;
    assert!(matches!(&refused, Err(StoreError::Changed(said)) if said.contains("was truncated")), "{refused:?}");
}

#[tokio::test]
async fn the_reader_does_not_read_another_file_of_the_same_name() {
    let (world, other) = (on_disk().await, on_disk().await);
    std::fs::rename(other.dir.path().join("asks.db"), world.dir.path().join("asks.db")).unwrap();
    let refused = world.store.list(all()).await;
    assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
    world.store.failed().await;
    let refused = world.store.list(all()).await;
    assert!(matches!(&refused, Err(StoreError::Changed(said)) if said.contains("was replaced")), "{refused:?}");
}

#[tokio::test]
async fn a_read_that_nobody_waits_for_is_passed_over() {
    let world = World::new();
    let (go, read) = hold_reader(&world.store).await;
    let (ran, counted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |counter: &Arc<AtomicUsize>| {
        let (counter, reader) = (Arc::clone(counter), world.store.reader.clone());
        async move { reader.read(move |_| Ok(counter.fetch_add(1, Ordering::Relaxed))).await }
    };
    let mut gone = Box::pin(count(&ran));
    assert!(futures_util::poll!(&mut gone).is_pending());
    drop(gone);
    let (counted_one, ()) = tokio::join!(biased; count(&counted), async { drop(go) });
    assert_eq!((counted_one.unwrap(), ran.load(Ordering::Relaxed)), (0, 0));
    read.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_statement_is_prepared_once() {
    let world = World::new();
    let prepared_again = |connection: &Connection| {
        for key in ["s__a", "s__b", "s__c"] {
            asks::by_key(connection, &key.parse().unwrap())?;
        }
        let again = rusqlite::StatementStatus::RePrepare;
        Ok(asks::newest_life(connection)?.get_status(again))
    };
    let by_owner = world.store.owner.call(false, move |context| Ok(prepared_again(context.connection)?)).await;
    assert_eq!(by_owner.unwrap(), 0);
    assert_eq!(world.store.reader.read(prepared_again).await.unwrap(), 0);
}
