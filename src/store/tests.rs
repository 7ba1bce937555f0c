use std::sync::{Mutex, mpsc};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::ask::{Kind, OnTimeout, Origin, Outcome};

struct World {
    _dir: TempDir,
    store: Store,
    published: Arc<Mutex<Vec<Arc<Change>>>>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (opening, loaded) = Opening::open(&dir.path().join("asks.db"), true, host()).unwrap();
        assert!(loaded.open.is_empty());
        let published = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&published);
        let store = opening.start(Box::new(move |change| sink.lock().unwrap().push(Arc::clone(change)))).unwrap();
        Self { _dir: dir, store, published }
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
    NewAsk {
        key: key.parse().unwrap(),
        origin: Origin::Program,
        project: None,
        kind: Kind::Question,
        subject: None,
        questions: serde_json::from_value(json!([{"question": "Which?"}])).unwrap(),
        detail: "x".repeat(detail),
        expires_at: None,
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: None,
        asker: None,
    }
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
    assert!(matches!(&refused, Err(StoreError::Sqlite(error)) if error.to_string().contains("full")), "{refused:?}");
    assert_eq!(world.published(), before);
    assert!(world.store.ask("s__large".parse().unwrap()).await.unwrap().is_none());
    // What is read is not affected, and when there is room again, all is well.
    assert!(world.store.ask("s__first".parse().unwrap()).await.unwrap().is_some());
    limit(1_000_000).await.unwrap();
    assert!(world.store.settle(first, released()).await.unwrap().1);
    assert_eq!(world.published(), before + 1);
}

#[tokio::test]
async fn one_job_that_fails_leaves_the_others_of_its_batch_alone() {
    let world = World::new();
    let go = world.hold().await;
    let owner = world.store.owner.clone();
    let failing = owner.call(true, |context| {
        let id = rows::insert(context.connection, &new_ask("s__bad", 1), &host(), Timestamp::now())?;
        change(context, id, ChangeKind::Opened, Timestamp::now())?;
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

#[tokio::test]
async fn changes_are_published_before_their_caller_is_told_and_in_order() {
    let world = World::new();
    for n in 0..20 {
        let opened = id(world.open(&format!("s__t{n}")).await);
        assert_eq!(world.published(), 2 * n + 1);
        world.store.settle(opened, released()).await.unwrap();
        assert_eq!(world.published(), 2 * n + 2);
    }
    let cursors: Vec<_> = world.published.lock().unwrap().iter().map(|change| change.cursor).collect();
    assert!(cursors.windows(2).all(|pair| pair[0] < pair[1]));
    let read = world.store.changes_after(cursors[9], 100).await.unwrap();
    assert_eq!(read.changes.iter().map(|change| change.cursor).collect::<Vec<_>>(), cursors[10..]);
}

#[tokio::test]
async fn a_page_of_changes_is_bounded_in_bytes_and_the_pages_make_up_all() {
    let world = World::new();
    let question = json!([{"question": "Which?", "options": [{"label": "A", "preview": "x".repeat(100_000)}]}]);
    for n in 0..10 {
        let new =
            NewAsk { questions: serde_json::from_value(question.clone()).unwrap(), ..new_ask(&format!("s{n}__t"), 1) };
        id(world.store.open_ask(Arc::new(new), Timestamp::now(), 64).await);
    }
    let (mut last, mut sizes) = (Cursor(0), Vec::new());
    loop {
        let page = world.store.changes_after(last, 256).await.unwrap();
        last = page.through;
        sizes.push(page.changes.len());
        if page.is_end {
            break;
        }
    }
    assert_eq!(sizes, [3, 3, 3, 1]);
}

#[tokio::test]
async fn a_session_has_so_many_open_asks_and_known_ones_are_found_all_the_same() {
    let world = World::new();
    id(world.open("s__a").await);
    let open = |key: &str| {
        let (store, new) = (world.store.clone(), Arc::new(new_ask(key, 1)));
        async move { store.open_ask(new, Timestamp::now(), 1).await.unwrap() }
    };
    assert!(matches!(open("s__b").await, Opened::Full));
    assert!(matches!(open("s__a").await, Opened::Known(_)));
    assert!(matches!(open("other__b").await, Opened::New(_)));
}

#[tokio::test]
async fn old_asks_are_forgotten_open_ones_never_and_cursors_go_on() {
    let world = World::new();
    let now = Timestamp::now();
    let long_ago = now - jiff::SignedDuration::from_hours(48);
    for key in ["s__old", "s__recent", "s__open"] {
        let opened = world.store.open_ask(Arc::new(new_ask(key, 1)), long_ago, 64).await;
        let at = if key == "s__old" { long_ago } else { now };
        if key != "s__open" {
            let settlement = Settlement { at, ..released() };
            world.store.settle(id(opened), settlement).await.unwrap();
        }
    }
    let newest = world.published.lock().unwrap().last().unwrap().cursor;
    assert_eq!(world.store.purge(now - jiff::SignedDuration::from_hours(24)).await.unwrap(), 1);
    let filter = Filter::all(StateFilter::All, 10);
    let left = world.store.list(filter).await.unwrap().asks;
    assert_eq!(left.iter().map(|ask| ask.key.as_str()).collect::<Vec<_>>(), ["s__open", "s__recent"]);
    id(world.open("s__next").await);
    assert!(world.published.lock().unwrap().last().unwrap().cursor > newest);
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
    let (_, loaded) = Opening::open(&path, true, host()).unwrap();
    assert_eq!(loaded.open.iter().map(|ask| ask.key.as_str()).collect::<Vec<_>>(), ["s__whole"]);
}

#[tokio::test]
async fn devices_that_are_not_used_are_forgotten() {
    let world = World::new();
    let store = &world.store;
    let (now, day) = (Timestamp::now(), jiff::SignedDuration::from_hours(24));
    let page = store.add_device("Browser".into(), DeviceKind::Page, [1; 32], now - day * 60).await.unwrap();
    let at = |token: u8, time: Timestamp| async move { store.device([token; 32], time).await.unwrap() };
    assert_eq!(at(1, now - day * 31).await.unwrap().name, "Browser");
    assert_eq!(at(1, now - day * 30).await, None);
    assert_eq!(at(2, now).await, None);
    store.device_seen(page, now - day * 20).await.unwrap();
    assert_eq!(at(1, now).await.unwrap().last_seen_at.as_millisecond(), (now - day * 20).as_millisecond());

    let phone = store.add_device("Phone".into(), DeviceKind::Paired, [2; 32], now - day * 40).await.unwrap();
    assert_eq!(store.devices(now).await.unwrap().len(), 2);
    assert_eq!(at(2, now + day * 49).await.unwrap().kind, DeviceKind::Paired);
    assert_eq!(at(2, now + day * 50).await, None);
    assert!(store.remove_device(phone).await.unwrap() && !store.remove_device(phone).await.unwrap());
    assert_eq!(at(2, now).await, None);
    // Nobody gets its id.
    assert_ne!(store.add_device("Other".into(), DeviceKind::Paired, [3; 32], now).await.unwrap(), phone);
}
