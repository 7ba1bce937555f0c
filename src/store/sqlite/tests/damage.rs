//! Damaged files: searches stay right, and nothing that a person says is lost because of the search index.

use super::searching::{answering, on_owner, places, search, searching, settled};
use super::*;
use crate::ask::Origin;

/// Damages the index so that SQLite notices.
async fn damage_index(store: &Sqlite) {
    on_owner(store, |connection| connection.execute_batch("DELETE FROM grams_data WHERE id > 10")).await;
}

/// So many asks with a number each, in the index.
async fn numbered(store: &Sqlite, many: usize) {
    for n in 0..many {
        settled(store, &format!("s__{n}"), &format!("Number <{n}>?")).await;
    }
    // The daemon leaves the last few waiting, and how many that are depends on the speed of the machine.
    on_owner(store, |connection| texts::index(connection, usize::MAX, usize::MAX)).await;
}

/// Every search is right, and what is settled now is found, too.
async fn everything_works(store: &Sqlite, many: usize, more: &str) {
    for n in [0, 17, many - 1] {
        assert_eq!(search(store, &format!("number <{n}>")).await, [format!("s__{n}")]);
    }
    let released = Filter { outcome: Some(crate::ask::OutcomeKind::Released), ..searching("number") };
    assert_eq!(store.list(released).await.unwrap().asks.len(), many);
    let key = format!("s__{more}");
    settled(store, &key, &format!("One {more}?")).await;
    assert_eq!(search(store, &format!("one {more}?")).await, [key]);
    let failed = std::pin::pin!(store.failed());
    assert!(futures_util::FutureExt::now_or_never(failed).is_none(), "the store has failed");
}

#[tokio::test]
async fn a_search_in_a_damaged_index_finds_everything_and_the_index_is_built_anew() {
    for damage in ["DELETE FROM grams_data WHERE id > 10", "UPDATE grams_config SET v = 9 WHERE k = 'version'"] {
        let world = World::new();
        numbered(&world.store, 64).await;
        on_owner(&world.store, |connection| connection.execute_batch(damage)).await;
        // FTS5 reads its settings when a file is opened.
        let world = world.reopened().await;
        assert_eq!(search(&world.store, "number <17>").await, ["s__17"]);
        everything_works(&world.store, 64, "more").await;
    }
    let world = World::new();
    numbered(&world.store, 64).await;
    damage_index(&world.store).await;
    assert_eq!(search(&world.store, "number <17>").await, ["s__17"]);
    // It is built anew, and works again.
    let has_all = async || {
        let count = world.store.reader.read(|connection| {
            let query = "SELECT count(*) FROM grams WHERE grams MATCH ?1";
            connection.query_row(query, [grams::expression("number", []).unwrap()], |row| row.get::<_, i64>(0))
        });
        count.await.is_ok_and(|count| count == 64)
    };
    while !has_all().await {
        tokio::task::yield_now().await;
    }
    everything_works(&world.store, 64, "more").await;
}

#[tokio::test]
async fn a_damaged_index_keeps_nothing_from_being_settled_or_deleted() {
    let world = World::new();
    numbered(&world.store, 64).await;
    on_owner(&world.store, |connection| connection.execute_batch("DELETE FROM grams_data")).await;
    everything_works(&world.store, 64, "more").await;
    assert_eq!(world.store.purge(Timestamp::now() + SignedDuration::from_hours(1)).await.unwrap(), 65);
    assert_eq!(search(&world.store, "number").await, [""; 0]);
}

#[derive(Debug, Clone, Copy)]
enum Page {
    Root,
    FirstLeaf,
    LastLeaf,
}

/// Fills a page of a table with zeros, as a bad disk may.
fn zero_page(path: &Path, table: &str, page: Page) {
    let connection = Connection::open(path).unwrap();
    let query = match page {
        Page::Root => "SELECT rootpage FROM sqlite_schema WHERE name = ?1",
        Page::FirstLeaf => "SELECT min(pageno) FROM dbstat WHERE name = ?1 AND pagetype = 'leaf'",
        Page::LastLeaf => "SELECT max(pageno) FROM dbstat WHERE name = ?1 AND pagetype = 'leaf'",
    };
    let page: i64 = connection.query_row(query, [table], |row| row.get(0)).unwrap();
    connection.close().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4096], (page as u64 - 1) * 4096).unwrap();
}

/// Settles so many asks that the index is brought up to date, and waits until it is, or until that was given up.
async fn index_more(store: &Sqlite) {
    for n in 0..70 {
        settled(store, &format!("more__{n}"), "Else?").await;
    }
    let given_up = Instant::now() + Duration::from_secs(3);
    while places(store).await[1] > 0 && Instant::now() < given_up {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_page_of_the_index_that_is_lost_stops_nothing() {
    for page in [Page::Root, Page::FirstLeaf, Page::LastLeaf] {
        let world = World::new();
        numbered(&world.store, 150).await;
        world.store.close().await;
        zero_page(&world.dir.path().join("asks.db"), "grams_data", page);
        let world = world.reopened().await;
        index_more(&world.store).await;
        everything_works(&world.store, 150, "more").await;
        // The next daemon finds the same file.
        let world = world.reopened().await;
        index_more(&world.store).await;
        everything_works(&world.store, 150, "again").await;
        world.store.purge(Timestamp::now() + SignedDuration::from_hours(1)).await.unwrap();
        assert_eq!(search(&world.store, "number").await, [""; 0]);
    }
}

#[tokio::test]
async fn a_damaged_table_of_what_waits_keeps_no_answer_from_being_saved() {
    let world = World::new();
    numbered(&world.store, 64).await;
    let open = id(world.open("s__open").await);
    world.store.close().await;
    zero_page(&world.dir.path().join("asks.db"), "waiting", Page::Root);
    let world = world.reopened().await;
    let Settling::Won(_) = world.store.settle(open, answering("Which database?", "SQLite")).await.unwrap() else {
        panic!("it was open");
    };
    let world = world.reopened().await;
    let found = world.store.ask("s__open".parse().unwrap()).await.unwrap().unwrap();
    assert!(found.settlement.is_some());
}

#[tokio::test]
async fn a_damaged_table_of_milestones_keeps_no_question_and_no_answer_from_being_saved() {
    let world = World::new();
    world.store.close().await;
    zero_page(&world.dir.path().join("asks.db"), "milestones", Page::Root);
    let world = world.reopened().await;
    let new = NewAsk { origin: Origin::ClaudeCode, ..new_ask("s__t", 10) };
    let open = id(world.store.open_ask(Arc::new(new), Timestamp::now(), 64).await);
    let Settling::Won(_) = world.store.settle(open, answering("Which database?", "SQLite")).await.unwrap() else {
        panic!("it was open");
    };
    let world = world.reopened().await;
    assert!(world.store.ask("s__t".parse().unwrap()).await.unwrap().unwrap().settlement.is_some());
}

#[tokio::test]
async fn a_damaged_store_of_an_older_version_opens_all_the_same() {
    let before_the_index = "DROP TABLE waiting; DROP TABLE texts; DROP TABLE gone; DROP TABLE grams;
        DROP TABLE milestones; DROP TABLE hosts; DROP TABLE device_people; DROP TABLE people; PRAGMA user_version = 6;";
    let before_hosts = "DROP TABLE hosts; DROP TABLE device_people; DROP TABLE people; PRAGMA user_version = 8;";
    for older in [before_the_index, before_hosts] {
        let world = World::new();
        for n in 0..200 {
            settled(&world.store, &format!("s__{n}"), &format!("Number <{n}>? {}", "x".repeat(200))).await;
        }
        on_owner(&world.store, |connection| texts::index(connection, usize::MAX, usize::MAX)).await;
        world.store.close().await;
        let path = world.dir.path().join("asks.db");
        Connection::open(&path).unwrap().execute_batch(older).unwrap();
        zero_page(&path, "asks", Page::FirstLeaf);
        let world = world.reopened().await;
        settled(&world.store, "s__more", "One more?").await;
        assert_eq!(search(&world.store, "one more").await, ["s__more"]);
    }
}

#[tokio::test]
async fn an_ask_that_cannot_be_read_keeps_no_other_from_being_indexed() {
    let world = World::new();
    numbered(&world.store, 64).await;
    for n in 0..70 {
        settled(&world.store, &format!("t__{n}"), "Else?").await;
    }
    // It is the oldest that waits.
    let damage = "UPDATE asks SET project = CAST(x'2f74ff' AS TEXT) WHERE key = 't__0'";
    on_owner(&world.store, |connection| connection.execute_batch(damage)).await;
    on_owner(&world.store, |connection| texts::index(connection, usize::MAX, usize::MAX)).await;
    let [_, waiting, indexed, aside] = places(&world.store).await;
    assert_eq!((waiting, indexed + aside), (0, 134));
}
