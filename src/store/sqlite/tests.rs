mod damage;
mod host_lists;
mod plans;
mod reader;
mod searching;

use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::ask::{Kind, NewAway, Outcome, samples};
use crate::store;
use crate::store::conformance::Place;
use crate::store::samples::into;

/// An empty place for the conformance suite.
pub(in crate::store) fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    Box::new(move |host| {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match store::Opening::open(&dir.path().join("asks.db"), true, host.clone()) {
                // A daemon never meets this: it has the file to itself. The suite may open a store that is busy.
                Err(StoreError::Busy(_)) if Instant::now() < deadline => std::thread::yield_now(),
                opened => return opened.unwrap(),
            }
        }
    })
}

struct World {
    dir: TempDir,
    store: Sqlite,
    published: Arc<Mutex<Vec<Arc<Change>>>>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (opening, snapshot) = Opening::open(&dir.path().join("asks.db"), true, host()).unwrap();
        assert!(snapshot.open.is_empty());
        let published = Arc::new(Mutex::new(Vec::new()));
        let store = opening.start(into(&published)).unwrap();
        Self { dir, store, published }
    }

    /// Another daemon opens the same file.
    async fn reopened(self) -> Self {
        self.store.close().await;
        let (opening, _) = Opening::open(&self.dir.path().join("asks.db"), false, host()).unwrap();
        let store = opening.start(into(&self.published)).unwrap();
        Self { store, ..self }
    }

    fn published(&self) -> usize {
        self.published.lock().unwrap().len()
    }

    async fn open(&self, key: &str) -> Result<Opened, StoreError> {
        self.store.open_ask(Arc::new(new_ask(key, 10)), Timestamp::now(), 64).await
    }

    /// Keeps the owner busy until the sender is dropped, so that what is sent meanwhile shares a batch.
    async fn hold(&self) -> mpsc::Sender<()> {
        let (go, wait) = mpsc::channel::<()>();
        let (started, busy) = tokio::sync::oneshot::channel();
        let owner = self.store.owner.clone();
        tokio::spawn(async move {
            let work = move |_: &mut Context<'_>| {
                let _ = started.send(());
                Ok(wait.recv().is_ok())
            };
            owner.call(false, work).await
        });
        busy.await.unwrap();
        go
    }
}

fn host() -> Host {
    Host::new("here")
}

fn new_ask(key: &str, detail: usize) -> NewAsk {
    NewAsk { detail: "x".repeat(detail), ..samples::new_ask(key) }
}

fn released() -> Settlement {
    Settlement { outcome: Outcome::Released, by: None, at: Timestamp::now() }
}

#[track_caller]
fn id(opened: Result<Opened, StoreError>) -> AskId {
    match opened.unwrap() {
        Opened::New(ask) | Opened::Known(ask) => ask.id,
        Opened::Full => panic!("full"),
    }
}

#[tokio::test]
async fn a_commit_waits_for_the_disk() {
    let world = World::new();
    let pragma = |name: &'static str| {
        let owner = world.store.owner.clone();
        async move {
            owner
                .call(false, move |context| {
                    Ok(context
                        .connection
                        .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))?)
                })
                .await
        }
    };
    assert_eq!(pragma("synchronous").await.unwrap(), rusqlite::types::Value::Integer(2));
    assert_eq!(pragma("journal_mode").await.unwrap(), rusqlite::types::Value::Text("wal".into()));
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_published() {
    let world = World::new();
    let first = id(world.open("s__first").await);
    let before = world.published();
    let limit = |pages: i64| {
        let owner = world.store.owner.clone();
        async move {
            owner.call(false, move |context| Ok(context.connection.pragma_update(None, "max_page_count", pages)?)).await
        }
    };
    limit(1).await.unwrap();
    let large = Arc::new(new_ask("s__large", 500_000));
    let refused = world.store.open_ask(large, Timestamp::now(), 64).await;
    assert!(matches!(&refused, Err(StoreError::Full(said)) if said.contains("full")), "{refused:?}");
    assert_eq!(world.published(), before);
    assert!(world.store.ask("s__large".parse().unwrap()).await.unwrap().is_none());
    // What is read is not affected, and when there is room again, all is well.
    assert!(world.store.ask("s__first".parse().unwrap()).await.unwrap().is_some());
    limit(1_000_000).await.unwrap();
    assert!(matches!(world.store.settle(first, released()).await.unwrap(), Settling::Won(_)));
    assert_eq!(world.published(), before + 1);
}

#[tokio::test]
async fn one_job_that_fails_leaves_the_others_of_its_batch_alone() {
    let world = World::new();
    let go = world.hold().await;
    let owner = world.store.owner.clone();
    let failing = owner.call(true, |context| {
        let id = asks::insert(context.connection, &new_ask("s__bad", 1), &host(), Timestamp::now())?;
        change(context, id, ChangeKind::Opened, Timestamp::now(), None)?;
        Err::<(), _>(StoreError::Foreign)
    });
    let (bad, good, ()) = tokio::join!(failing, world.open("s__good"), async { drop(go) });
    assert!(matches!(bad, Err(StoreError::Foreign)));
    id(good);
    assert!(world.store.ask("s__bad".parse().unwrap()).await.unwrap().is_none());
    let published: Vec<_> = world.published.lock().unwrap().iter().map(|change| change.ask.key.to_string()).collect();
    assert_eq!(published, ["s__good"]);
}

#[tokio::test]
async fn a_batch_that_cannot_be_committed_is_told_to_all_of_it() {
    let world = World::new();
    let go = world.hold().await;
    let owner = world.store.owner.clone();
    // The transaction is gone when it is to be committed, as after an error of the disk.
    let breaking = owner.call(true, |context| {
        context.connection.execute_batch("RELEASE job; ROLLBACK; BEGIN; SAVEPOINT job; RELEASE job; ROLLBACK")?;
        Ok(())
    });
    let (first, broken, second, ()) =
        tokio::join!(world.open("s__first"), breaking, world.open("s__second"), async { drop(go) });
    assert!(first.is_err() && broken.is_err() && second.is_err(), "{first:?} {broken:?} {second:?}");
    assert_eq!(world.published(), 0);
    assert!(world.store.ask("s__first".parse().unwrap()).await.unwrap().is_none());
    id(world.open("s__first").await);
}

/// The conformance suite opens the store for each snapshot. That takes the lock, so a change seldom comes between the two reads of a
/// snapshot. Here the reader takes no lock.
#[tokio::test]
async fn a_snapshot_is_of_one_moment() {
    const MOMENTS: usize = 40;
    let world = World::new();
    let (store, published) = (world.store.clone(), Arc::clone(&world.published));
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let writer = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for n in 0.. {
                if *stopping.borrow() {
                    break;
                }
                let opened = id(store.open_ask(Arc::new(new_ask(&format!("s__{n}"), 1)), Timestamp::now(), 64).await);
                store.settle(opened, released()).await.unwrap();
            }
        });
    });
    let mut connection = Connection::open(world.dir.path().join("asks.db")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < MOMENTS {
        assert!(!writer.is_finished(), "the writer stopped");
        let snapshot = snapshot(&mut connection).unwrap();
        seen.insert((snapshot.cursor, snapshot.open.iter().map(|ask| ask.id).collect::<Vec<_>>()));
    }
    stop.send_replace(true);
    writer.join().unwrap();
    let published = published.lock().unwrap();
    for (cursor, open) in seen {
        let last = published.iter().rfind(|change| change.cursor <= cursor);
        let expected = last.filter(|change| change.ask.is_open()).map(|change| change.ask.id);
        assert_eq!(open, Vec::from_iter(expected), "at {cursor:?}");
    }
}

#[tokio::test]
async fn a_damaged_row_does_not_keep_the_others_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("asks.db");
    let store = Opening::open(&path, true, host()).unwrap().0.start(Box::new(|_| {})).unwrap();
    for key in ["s__whole", "s__damaged"] {
        store.open_ask(Arc::new(new_ask(key, 1)), Timestamp::now(), 64).await.unwrap();
    }
    store.close().await;
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE asks SET questions = '[' WHERE key = 's__damaged'", []).unwrap();
    drop(connection);
    let (_, snapshot) = Opening::open(&path, true, host()).unwrap();
    assert_eq!(snapshot.open.iter().map(|ask| ask.key.as_str()).collect::<Vec<_>>(), ["s__whole"]);
}

#[tokio::test]
async fn a_daemon_that_opens_the_file_takes_over_its_open_asks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("asks.db");
    let open = |host: &str| Opening::open(&path, true, Host::new(host)).unwrap();
    let store = open("here").0.start(Box::new(|_| {})).unwrap();
    for key in ["s__open", "s__settled"] {
        let opened = id(store.open_ask(Arc::new(new_ask(key, 1)), Timestamp::now(), 64).await);
        if key == "s__settled" {
            store.settle(opened, released()).await.unwrap();
        }
    }
    store.close().await;
    let (opening, snapshot) = open("renamed");
    let hosts: Vec<_> = snapshot.open.iter().map(|ask| (ask.key.as_str(), ask.host.as_str())).collect();
    assert_eq!(hosts, [("s__open", "renamed")]);
    let store = opening.start(Box::new(|_| {})).unwrap();
    // It was this one's to the end.
    let settled = store.ask("s__settled".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(settled.host.as_str(), "here");
}

#[tokio::test]
async fn a_subject_that_was_changed_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("asks.db");
    let store = Opening::open(&path, true, host()).unwrap().0.start(Box::new(|_| {})).unwrap();
    let new = NewAsk { topic: samples::topic(Kind::Plan), ..new_ask("s__t", 1) };
    let whole = serde_json::to_string(&new.topic.subject()).unwrap();
    let id = id(store.open_ask(Arc::new(new), Timestamp::now(), 64).await);
    store.close().await;
    check(&path, false).unwrap();
    for (change, is_damage) in [
        ("subject = '{\"plan\":\"rm\"}'", true),
        ("subject = NULL", true),
        (&format!("subject = '{whole}'"), false),
        ("kind = 'unknown'", true),
    ] {
        Connection::open(&path).unwrap().execute(&format!("UPDATE asks SET {change}"), []).unwrap();
        let checked = check(&path, false);
        let found = matches!(&checked, Err(StoreError::DamagedAsks(ids)) if *ids == [id]);
        assert_eq!((found, checked.is_ok()), (is_damage, !is_damage), "{change}: {checked:?}");
    }
}

#[tokio::test]
async fn a_subject_that_could_not_be_asked_today_is_still_read() {
    let world = World::new();
    let id = id(world.store.open_ask(Arc::new(new_ask("s__t", 1)), Timestamp::now(), 64).await);
    world.store.close().await;
    let path = world.dir.path().join("asks.db");
    for (kind, subject) in [("plan", r#"{"plan":5}"#), ("permission", "{}"), ("question", r#"{"tool":"Bash"}"#)] {
        // Rows of the first versions have no checksum.
        let change = "UPDATE asks SET kind = ?1, subject = ?2, question_sum = NULL";
        Connection::open(&path).unwrap().execute(change, [kind, subject]).unwrap();
        check(&path, false).unwrap();
        let (_, snapshot) = Opening::open(&path, true, host()).unwrap();
        assert_eq!((snapshot.open.len(), snapshot.open[0].id), (1, id), "{kind}");
        assert_eq!(serde_json::to_string(&snapshot.open[0].subject).unwrap(), subject, "{kind}");
    }
}

#[tokio::test]
async fn words_of_somebody_who_is_away_are_not_used_if_they_were_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("asks.db");
    let now = Timestamp::now();
    let new = NewAway {
        project: Some("/shop".into()),
        words: "Wait for me".into(),
        kinds: vec![Kind::Question],
        time: SignedDuration::from_secs(60),
    };
    let note = new.begin(None, now).unwrap();
    for (change, notes) in [("words = words", 1), ("words = 'Go'", 0), ("until = until + 1", 0), ("project = NULL", 0)]
    {
        let open = || Opening::open(&path, true, host()).unwrap().0.start(Box::new(|_| {})).unwrap();
        let store = open();
        store.end_away(None, now).await.unwrap();
        store.set_away(note.clone()).await.unwrap();
        store.close().await;
        Connection::open(&path).unwrap().execute(&format!("UPDATE away SET {change}"), []).unwrap();
        let store = open();
        assert_eq!(store.away(now).await.unwrap().len(), notes, "{change}");
        store.close().await;
    }
}
