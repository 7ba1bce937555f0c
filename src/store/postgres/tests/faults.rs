//! Connections that are lost, engines that crash.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::proxy::Proxy;
use super::*;

/// A hub behind a proxy, another one that is not, and the name of their database.
async fn behind_proxy(times: Times) -> (Proxy, Hub, Hub, String) {
    let (options, name) = database();
    let options = PostgresOptions { times, ..options };
    let proxy = Proxy::before(Engine::shared().dir());
    let way = PostgresOptions { times, ..PostgresOptions::parse(&engine::address(proxy.dir(), &name)).unwrap() };
    let hub = Hub::start(&way, "cut").await;
    (proxy, hub, Hub::start(&options, "other").await, name)
}

#[tokio::test]
async fn statement_03_nothing_is_confirmed_before_the_standby_has_it() {
    let engine = Engine::new("");
    let options = PostgresOptions { times: short(), ..PostgresOptions::parse(&engine.database()).unwrap() };
    let hub = Hub::start(&options, "one").await;
    let ask = hub.open("s__t").await;
    // There is no such standby, so no commit is confirmed.
    engine.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    engine.sql("postgres", "SELECT pg_reload_conf()");
    until("the setting is known", async || engine.sql("postgres", "SHOW synchronous_standby_names") == "nobody").await;
    let error = hub.try_settle(ask.id, answered("a")).await.unwrap_err();
    assert!(error.leaves_open_what_was_saved(), "{error}");
    assert_eq!(hub.changes().len(), 1, "nobody may be told");
    let other = hub.try_settle(ask.id, answered("b")).await;
    assert!(other.is_err(), "{other:?}");
    engine.sql("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    engine.sql("postgres", "SELECT pg_reload_conf()");
    hub.until_told(2).await;
    let Settling::Lost(first) = hub.settle(ask.id, answered("a")).await else { panic!("settled twice") };
    assert_eq!(outcome(&first), &answered("a"));
}

#[tokio::test]
async fn statement_04_a_reply_that_is_lost_does_not_change_the_outcome() {
    let (proxy, hub, other, name) = behind_proxy(short()).await;
    proxy.lose_reply_to("\"verb\":\"open\"");
    let ask = hub.open("s__t").await;
    proxy.lose_reply_to("\"verb\":\"settle\"");
    assert!(matches!(hub.settle(ask.id, answered("a")).await, Settling::Won(_)));
    assert_eq!(proxy.lost(), 2);
    // The second attempt found what the first one had done.
    assert_eq!(
        Engine::shared().sql(&name, "SELECT string_agg(kind, ' ' ORDER BY cursor) FROM answerback.events"),
        "ask.opened ask.settled"
    );
    other.until_told(2).await;
    assert_eq!((hub.cursors(), other.cursors()), (vec![1, 2], vec![1, 2]));
    // If somebody else was first, the one who repeats has lost.
    let ask = other.open("s__u").await;
    other.settle(ask.id, answered("first")).await;
    proxy.lose_reply_to("\"verb\":\"settle\"");
    let Settling::Lost(lost) = hub.settle(ask.id, answered("second")).await else { panic!("settled twice") };
    assert_eq!(outcome(&lost), &answered("first"));
    assert_eq!(proxy.lost(), 3);
}

#[tokio::test]
async fn statement_04_an_outcome_that_cannot_be_found_out_is_unknown() {
    let (proxy, hub, other, _) = behind_proxy(short()).await;
    let ask = hub.open("s__t").await;
    let begun = Instant::now();
    proxy.lose_reply_to("\"verb\":\"settle\"");
    let settling = hub.try_settle(ask.id, answered("a"));
    let closing = async {
        until("the reply is lost", async || proxy.lost() == 1).await;
        proxy.cut(true);
    };
    let (settled, ()) = futures_util::future::join(settling, closing).await;
    let error = settled.unwrap_err();
    assert!(matches!(&error, StoreError::Unknown(_)) && error.leaves_open_what_was_saved(), "{error}");
    assert!(begun.elapsed() >= short().unknown - Duration::from_millis(500), "{:?}", begun.elapsed());
    assert_eq!(hub.changes().len(), 1);
    // It was saved. When the way is free again, the hub hears of it like everybody else.
    other.until_told(2).await;
    proxy.cut(false);
    let changes = hub.until_told(2).await;
    assert_eq!(outcome(&changes[1].ask), &answered("a"));
}

#[tokio::test]
async fn statement_12_a_hub_that_was_cut_off_goes_on_from_its_cursor() {
    let (proxy, hub, other, _) = behind_proxy(short()).await;
    let (ask, second) = (hub.open("s__t").await, hub.open("s__u").await);
    proxy.cut(true);
    other.until_told(2).await;
    other.settle(ask.id, answered("meanwhile")).await;
    other.open("s__v").await;
    assert_eq!(hub.changes().len(), 2, "nothing is made up");
    proxy.cut(false);
    let changes = hub.until_told(4).await;
    assert_eq!(hub.cursors(), [1, 2, 3, 4]);
    assert_eq!(outcome(&changes[2].ask), &answered("meanwhile"));
    assert!(matches!(hub.settle(second.id, answered("a")).await, Settling::Won(_)));
}

#[tokio::test]
async fn statement_13_without_an_engine_everything_fails_soon_and_nothing_is_acknowledged() {
    let (proxy, hub, _, _) = behind_proxy(Times::default()).await;
    let ask = hub.open("s__t").await;
    proxy.cut(true);
    // What was sent before the loss is noticed may have arrived. That is another matter.
    until("the loss is noticed", async || hub.store.ask("s__t".parse().unwrap()).await.is_err()).await;
    for _ in 0..2 {
        let begun = Instant::now();
        let (opened, settled, read) = tokio::join!(
            hub.try_open("s__u"),
            hub.try_settle(ask.id, answered("a")),
            hub.store.ask("s__t".parse().unwrap())
        );
        for error in [opened.unwrap_err(), settled.unwrap_err(), read.unwrap_err()] {
            assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
            assert!(!error.leaves_open_what_was_saved());
        }
        assert!(begun.elapsed() < Duration::from_millis(1900), "{:?}", begun.elapsed());
    }
    assert_eq!(hub.changes().len(), 1);
    proxy.cut(false);
    until("it is there again", async || hub.try_open("s__v").await.is_ok()).await;
    assert!(hub.changes().iter().all(|change| change.ask.is_open()));
}

#[tokio::test]
async fn statement_13_an_engine_that_hangs_keeps_nobody_waiting_who_was_not_sent() {
    let (proxy, hub, _, _) = behind_proxy(Times { call: Duration::from_secs(3), ..short() }).await;
    hub.open("s__t").await;
    proxy.freeze(true);
    let first = hub.store.clone();
    let first = tokio::spawn(async move { first.open_ask(Arc::new(new_ask("s__sent")), first.now(), 64).await });
    tokio::task::yield_now().await;
    // The first command has been sent, so nobody knows. Those behind it have not.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    let error = hub.try_open("s__behind").await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
    assert!(begun.elapsed() < Duration::from_millis(1900), "{:?}", begun.elapsed());
    proxy.freeze(false);
    drop(first.await.unwrap());
    until("it goes on", async || hub.try_open("s__after").await.is_ok()).await;
    assert!(!hub.changes().iter().any(|change| change.ask.key.as_str() == "s__behind"));
}

#[tokio::test]
async fn sessions_that_are_ended_again_and_again_lose_nothing() {
    let (options, name) = database();
    let options = PostgresOptions {
        times: Times { unknown: Duration::from_secs(20), unsent: Duration::from_secs(20), ..short() },
        ..options
    };
    let (one, two) = (Hub::start(&options, "one").await, Hub::start(&options, "two").await);
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    );
    let ending = async {
        for _ in 0..8 {
            tokio::task::spawn_blocking({
                let end = end.clone();
                move || Engine::shared().sql("postgres", &end)
            })
            .await
            .unwrap();
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    };
    let rivals = join_all((0..40).map(|n| {
        let (one, two) = (&one, &two);
        async move {
            let ask = one.open(&format!("s{n}__t")).await;
            let (first, second) =
                futures_util::future::join(one.settle(ask.id, answered("one")), two.settle(ask.id, answered("two")))
                    .await;
            let won = [&first, &second].into_iter().filter(|settled| matches!(settled, Settling::Won(_))).count();
            let (Settling::Won(a) | Settling::Lost(a), Settling::Won(b) | Settling::Lost(b)) = (&first, &second);
            assert_eq!(outcome(a), outcome(b), "both are told the same");
            assert_eq!(won, 1, "one of them was first");
            (ask.id, outcome(a).clone())
        }
    }));
    let (standing, ()) = futures_util::future::join(rivals, ending).await;
    let standing: BTreeMap<_, _> = standing.into_iter().collect();
    for hub in [&one, &two] {
        let changes = hub.until_told(80).await;
        assert_eq!(hub.cursors(), (1..=80).collect::<Vec<_>>());
        for change in changes.iter().filter(|change| !change.ask.is_open()) {
            assert_eq!(outcome(&change.ask), &standing[&change.ask.id]);
        }
    }
}

#[tokio::test]
async fn an_engine_that_crashes_and_comes_back_has_everything_that_was_confirmed() {
    let mut engine = Engine::new("");
    let options = PostgresOptions { times: short(), ..PostgresOptions::parse(&engine.database()).unwrap() };
    let hub = Hub::start(&options, "one").await;
    let (kept, waiting) = (hub.open("s__kept").await, hub.open("s__waiting").await);
    hub.settle(kept.id, answered("a")).await;
    engine.crash();
    assert!(matches!(hub.try_open("s__down").await, Err(StoreError::Unreachable(_))));
    engine.start();
    until("it is there again", async || hub.try_settle(waiting.id, answered("b")).await.is_ok()).await;
    let changes = hub.until_told(4).await;
    assert_eq!(hub.cursors(), [1, 2, 3, 4]);
    assert_eq!(outcome(&changes[3].ask), &answered("b"));
    assert_eq!(outcome(&hub.store.ask(kept.key.clone()).await.unwrap().unwrap()), &answered("a"));
}

#[tokio::test]
async fn a_pooler_that_loses_notices_is_refused_and_one_that_keeps_sessions_is_not() {
    let (options, name) = database();
    let through = |pooler: &engine::Pooler| PostgresOptions {
        times: options.times,
        ..PostgresOptions::parse(&engine::address(pooler.dir(), &name)).unwrap()
    };
    let pooler = Engine::shared().pooler("transaction");
    let refused = Opening::connect(through(&pooler), Host::new("one")).await.unwrap_err();
    assert!(refused.to_string().contains("pool mode to session"), "{refused}");
    let pooler = Engine::shared().pooler("session");
    let hub = Hub::start(&through(&pooler), "one").await;
    hub.open("s__t").await;
}
