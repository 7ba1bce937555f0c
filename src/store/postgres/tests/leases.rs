//! Daemons that end, come back, or take each other's place.

use futures_util::future::join_all;
use jiff::SignedDuration;

use super::*;
use crate::ask::{Channel, OnTimeout};

#[tokio::test]
async fn statement_11_the_asks_of_a_dead_hub_are_ended_by_the_others_after_a_while() {
    let (mut options, _) = database();
    options.times = short();
    let dead = Hub::start(&options, "dead").await;
    let alive = Hub::start(&options, "alive").await;
    let soon = Some(dead.store.now() + SignedDuration::from_millis(300));
    let asks = [
        of_agent("s__waiting"),
        of_agent("s__answered"),
        of_agent("s__deferred"),
        new_ask("s__program"),
        NewAsk { expires_at: soon, ..new_ask("s__late") },
        NewAsk { expires_at: soon, on_timeout: OnTimeout::Defer, ..new_ask("s__later") },
    ];
    let mut ids = Vec::new();
    for new in asks {
        ids.push(dead.open_new(new).await.id);
    }
    dead.store.defer(ids[2], dead.store.now()).await.unwrap();
    let mine = alive.open_new(of_agent("s__mine")).await;
    // It ends as if it had been killed.
    let ended = Instant::now();
    drop(dead);
    // Its asks can be answered, and nobody touches them before their time.
    assert!(matches!(alive.settle(ids[1], answered("a")).await, Settling::Won(_)));
    let ask = async |key: &str| alive.store.ask(key.parse().unwrap()).await.unwrap().unwrap();
    until("the ask is withdrawn", async || !ask("s__waiting").await.is_open()).await;
    assert!(
        ended.elapsed() >= options.times.lease + options.times.dead - options.times.renewal,
        "{:?}",
        ended.elapsed()
    );
    let waiting = ask("s__waiting").await;
    assert!(waiting.was_withdrawn_by_hub());
    assert_eq!(waiting.settlement.as_ref().unwrap().by.as_ref().unwrap().hub.as_deref(), Some("alive"));
    until("the deadline has passed", async || !ask("s__late").await.is_open()).await;
    let late = ask("s__late").await;
    assert_eq!(
        (outcome(&late), late.settlement.as_ref().unwrap().by.as_ref().unwrap().channel),
        (&Outcome::Expired, Channel::Hub)
    );
    until("it is deferred", async || ask("s__later").await.deferred).await;
    for key in ["s__deferred", "s__program", "s__mine"] {
        assert!(ask(key).await.is_open(), "{key}");
    }
    let settled = ask("s__answered").await;
    assert_eq!(outcome(&settled), &answered("a"));
    assert!(matches!(alive.settle(mine.id, answered("b")).await, Settling::Won(_)));
}

#[tokio::test]
async fn statement_11_what_goes_on_without_its_hub_does_not_hide_what_does_not() {
    let (mut options, _) = database();
    options.times = short();
    let dead = Hub::start(&options, "dead").await;
    let alive = Hub::start(&options, "alive").await;
    // More than are ended in one sweep.
    let keys: Vec<String> = (0..=sweep::MOST).map(|n| format!("s{n}__program")).collect();
    join_all(keys.iter().map(|key| dead.open(key))).await;
    dead.open_new(of_agent("s__waiting")).await;
    drop(dead);
    let waiting = async || alive.store.ask("s__waiting".parse().unwrap()).await.unwrap().unwrap();
    until("the ask is withdrawn", async || !waiting().await.is_open()).await;
    assert!(waiting().await.was_withdrawn_by_hub());
    for key in keys {
        assert!(alive.store.ask(key.parse().unwrap()).await.unwrap().unwrap().is_open(), "{key}");
    }
}

#[tokio::test]
async fn statement_11_a_deadline_counts_before_a_hub_is_taken_for_dead() {
    let (mut options, _) = database();
    options.times = Times { dead: Duration::from_secs(600), ..short() };
    let gone = Hub::start(&options, "gone").await;
    let alive = Hub::start(&options, "alive").await;
    let soon = Some(gone.store.now() + SignedDuration::from_millis(300));
    gone.open_new(NewAsk { expires_at: soon, ..of_agent("s__late") }).await;
    gone.open_new(of_agent("s__waiting")).await;
    drop(gone);
    let ask = async |key: &str| alive.store.ask(key.parse().unwrap()).await.unwrap().unwrap();
    until("the deadline has passed", async || !ask("s__late").await.is_open()).await;
    let late = ask("s__late").await;
    assert_eq!(outcome(&late), &Outcome::Expired);
    assert!(ask("s__waiting").await.is_open());
}

#[tokio::test]
async fn statement_11_a_hub_that_renews_its_lease_keeps_its_asks() {
    let (mut options, _) = database();
    options.times = short();
    let (one, two) = (Hub::start(&options, "one").await, Hub::start(&options, "two").await);
    let ask = one.open_new(of_agent("s__t")).await;
    // A hub that has taken this one for dead is too late.
    let settlement = Settlement { outcome: Outcome::Withdrawn, by: None, at: two.store.now() };
    let late = Command::settle(ask.id, &settlement, None, Some(1000)).unwrap();
    assert!(matches!(two.store.command(late).await.unwrap(), Done::Settled(Settling::Lost(ask)) if ask.is_open()));
    let begun = Instant::now();
    while begun.elapsed() < options.times.lease + 2 * options.times.dead {
        tokio::time::sleep(options.times.renewal).await;
        assert!(one.store.ask(ask.key.clone()).await.unwrap().unwrap().is_open());
    }
}

#[tokio::test]
async fn statement_11_a_new_daemon_takes_the_name_and_the_older_one_ends() {
    let (mut options, name) = database();
    options.times = short();
    let old = Hub::start(&options, "same").await;
    let ask = old.open("s__t").await;
    let new = Hub::start(&options, "same").await;
    new.open("s__new").await;
    // The older one can do nothing from this moment on.
    let refused = old.try_settle(ask.id, answered("late")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Closed), "{refused}");
    tokio::time::timeout(Duration::from_secs(20), old.store.failed()).await.unwrap();
    assert!(matches!(new.settle(ask.id, answered("a")).await, Settling::Won(_)));
    // A hub that the tables have forgotten, because a backup has taken their place, goes on.
    Engine::shared().sql(&name, "DELETE FROM answerback.hosts");
    new.open("s__next").await;
    assert!(tokio::time::timeout(options.times.lease, new.store.failed()).await.is_err());
}
