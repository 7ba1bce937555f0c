//! Lists of one host: right at every moment, whatever is in the index.

use super::searching::{on_owner, settled};
use super::*;
use crate::store::StateFilter;

/// Five asks of each of two hosts, one after the other.
async fn two_hosts() -> World {
    let world = World::new();
    for n in 0..10 {
        settled(&world.store, &format!("s__{n}"), "Which database?").await;
    }
    on_owner(&world.store, |connection| {
        connection.execute_batch("UPDATE asks SET host = 'there', project = '/there' WHERE id % 2 = 0")
    })
    .await;
    world
}

async fn of_host(store: &Sqlite, host: &str, text: Option<&str>) -> Vec<String> {
    let text = text.map(ToOwned::to_owned);
    let filter = Filter { host: Some(host.to_owned()), text, ..Filter::all(StateFilter::All, 100) };
    store.list(filter).await.unwrap().asks.iter().map(|ask| ask.key.to_string()).collect()
}

async fn projects(store: &Sqlite) -> Vec<(String, Vec<String>)> {
    let hosts = store.hosts().await.unwrap();
    hosts.into_iter().map(|found| (found.host.as_str().to_owned(), found.projects)).collect()
}

async fn everything_is_right(store: &Sqlite) {
    for text in [None, Some("database")] {
        assert_eq!(of_host(store, "there", text).await, ["s__9", "s__7", "s__5", "s__3", "s__1"]);
        assert_eq!(of_host(store, "here", text).await, ["s__8", "s__6", "s__4", "s__2", "s__0"]);
        assert_eq!(of_host(store, "nowhere", text).await, [""; 0]);
    }
    // The asks of one host are of no project.
    assert_eq!(projects(store).await, [("here".into(), vec![]), ("there".into(), vec!["/there".into()])]);
}

#[tokio::test]
async fn a_list_of_a_host_is_right_while_some_asks_are_in_the_index_and_some_are_not() {
    let world = two_hosts().await;
    for _ in 0..4 {
        everything_is_right(&world.store).await;
        on_owner(&world.store, |connection| texts::index(connection, 3, 100_000)).await;
    }
    // The index is damaged, and is built anew.
    on_owner(&world.store, texts::begin_anew).await;
    everything_is_right(&world.store).await;
    on_owner(&world.store, |connection| texts::index(connection, 100, 100_000)).await;
    everything_is_right(&world.store).await;
    // Nothing is left of asks that are forgotten.
    assert_eq!(world.store.purge(Timestamp::now() + SignedDuration::from_hours(1)).await.unwrap(), 10);
    assert_eq!(projects(&world.store).await, []);
}

#[tokio::test]
async fn an_index_of_an_older_version_gets_its_hosts() {
    let world = two_hosts().await;
    on_owner(&world.store, |connection| {
        texts::index(connection, 7, 100_000)?;
        connection
            .execute_batch("DROP TABLE hosts; DROP TABLE device_people; DROP TABLE people; PRAGMA user_version = 8")
    })
    .await;
    let world = world.reopened().await;
    everything_is_right(&world.store).await;
}

#[tokio::test]
async fn a_list_of_a_host_does_without_a_damaged_index() {
    let world = two_hosts().await;
    on_owner(&world.store, |connection| {
        texts::index(connection, 7, 100_000)?;
        connection.execute_batch("DROP TABLE hosts")
    })
    .await;
    assert_eq!(of_host(&world.store, "there", None).await, ["s__9", "s__7", "s__5", "s__3", "s__1"]);
}
