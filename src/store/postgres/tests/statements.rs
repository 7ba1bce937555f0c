//! What several daemons on one engine guarantee together.

use futures_util::future::{join, join_all};
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::ask::{ChangeKind, Topic};
use crate::store::Changes;

/// Two hubs on an empty database, and the name of the database.
async fn two() -> (Hub, Hub, String) {
    let (options, name) = database();
    (Hub::start(&options, "one").await, Hub::start(&options, "two").await, name)
}

#[tokio::test]
async fn statement_01_a_key_has_one_open_life_and_its_id_comes_from_the_engine() {
    let (one, two, name) = two().await;
    let mut last = AskId(0);
    for round in 0..20 {
        let key = format!("s{round}__t");
        let (first, second) = join(one.try_open(&key), two.try_open(&key)).await;
        let (Opened::New(new), Opened::Known(known)) = (match (first.unwrap(), second.unwrap()) {
            (new @ Opened::New(_), known) | (known, new) => (new, known),
        }) else {
            panic!("opened twice, or not at all")
        };
        assert!(new.id == known.id && new.id > last);
        last = new.id;
    }
    let twice = "DO $$ BEGIN
        INSERT INTO answerback.asks (id, namespace, key, session, host, origin, kind, questions, detail, opened_at, on_timeout, racing,
            lasting, searched)
        SELECT id + 1000, namespace, key, session, host, origin, kind, questions, detail, opened_at, on_timeout, racing, lasting, searched
        FROM answerback.asks;
        RAISE 'two lives are open';
    EXCEPTION WHEN unique_violation THEN NULL; END $$";
    Engine::shared().sql(&name, twice);
}

#[tokio::test]
async fn statement_05_the_order_of_commits_is_the_order_of_cursors_without_gaps() {
    let (one, two, _) = two().await;
    let work = |hub: &'static str, store: &Hub, n: usize| {
        let (store, key) = (store.store.clone(), format!("{hub}{n}__t"));
        async move {
            let opened = store.open_ask(Arc::new(new_ask(&key)), store.now(), 64).await.unwrap();
            let Opened::New(ask) = opened else { panic!("not new") };
            store.defer(ask.id, store.now()).await.unwrap().unwrap();
            let settlement = Settlement { outcome: answered("a"), by: None, at: store.now() };
            store.settle(ask.id, settlement).await.unwrap();
        }
    };
    let each = 60;
    join(join_all((0..each).map(|n| work("a", &one, n))), join_all((0..each).map(|n| work("b", &two, n)))).await;
    let count = 6 * each;
    let (at_one, at_two) = (one.until_told(count).await, two.until_told(count).await);
    let expected: Vec<i64> = (1..=i64::try_from(count).unwrap()).collect();
    assert_eq!((one.cursors(), two.cursors()), (expected.clone(), expected));
    let what = |changes: &[Arc<Change>]| changes.iter().map(|change| (change.kind, change.ask.id)).collect::<Vec<_>>();
    assert_eq!(what(&at_one), what(&at_two));
}

#[tokio::test]
async fn statement_06_the_head_is_not_locked_while_something_is_on_its_way() {
    let (options, _) = database();
    let proxy = proxy::Proxy::before(Engine::shared().dir());
    let far = PostgresOptions {
        times: Times { call: Duration::from_secs(20), unsent: Duration::from_secs(20), ..Times::default() },
        ..through(&proxy, &options)
    };
    let (far, near) = (Hub::start(&far, "far").await, Hub::start(&options, "near").await);
    far.open("warm__t").await;
    // The network of one hub stops at many moments of a command. If the head were locked then, the other hub would wait until it goes on.
    for moment in 0..24 {
        let keys: Vec<String> = (0..10).map(|n| format!("far{moment}-{n}__t")).collect();
        let slow = join_all(keys.iter().map(|key| far.open(key)));
        let quick = async {
            tokio::time::sleep(Duration::from_micros(250 * moment)).await;
            proxy.freeze(true);
            let opened = timeout(Duration::from_secs(15), near.open(&format!("near{moment}__t"))).await;
            proxy.freeze(false);
            opened.expect("a hub waits for the network of another hub");
        };
        join(slow, quick).await;
    }
}

/// The same engine, through a proxy.
fn through(proxy: &proxy::Proxy, options: &PostgresOptions) -> PostgresOptions {
    let name = options.config.get_dbname().unwrap();
    PostgresOptions { times: options.times, ..PostgresOptions::parse(&engine::address(proxy.dir(), name)).unwrap() }
}

#[tokio::test]
async fn statement_07_a_notice_brings_the_changes_and_what_does_not_fit_is_read() {
    let (mut options, _) = database();
    // Nobody looks by themselves within the time of this test.
    options.times.poll = Duration::from_secs(3600);
    let (one, two) = (Hub::start(&options, "one").await, Hub::start(&options, "two").await);
    let large = json!([{"question": "Which?", "options": [{"label": "A", "preview": "x".repeat(50_000)}]}]);
    let large = NewAsk { topic: Topic::of_questions(serde_json::from_value(large).unwrap()), ..new_ask("large__t") };
    let (small, large) = (one.open("small__t").await, one.open_new(large).await);
    two.until_told(2).await;
    let deferred = two.store.defer(small.id, two.store.now()).await.unwrap().unwrap();
    two.settle(large.id, answered("A")).await;
    one.settle(small.id, answered("B")).await;
    let receipt = Receipt { answers: Default::default(), as_sent: true, at: one.store.now() };
    two.store.receive(small.id, receipt).await.unwrap().unwrap();
    let (at_one, at_two) = (one.until_told(6).await, two.until_told(6).await);
    assert!(deferred.deferred);
    for (left, right) in at_one.iter().zip(&at_two) {
        assert_eq!((left.cursor, left.kind, left.ask.id), (right.cursor, right.kind, right.ask.id));
    }
    // A change that came with a notice has the same ask as the one in the tables.
    let ask = one.store.ask(small.key.clone()).await.unwrap().unwrap();
    let last = at_one.last().unwrap();
    assert_eq!((last.kind, &last.ask), (ChangeKind::Received, &ask));
    assert_eq!(at_one[4].ask.settlement, at_two[4].ask.settlement);
    let found = two.store.list(Filter::all(crate::store::StateFilter::All, 10)).await.unwrap().asks;
    assert_eq!(found[0].questions, large.questions);
}

#[tokio::test]
async fn statement_07_a_change_is_found_although_its_notice_was_lost() {
    let (mut options, name) = database();
    options.times = short();
    let hub = Hub::start(&options, "one").await;
    let ask = hub.open("s__t").await;
    // What a hub does that ends between the commit and the notice.
    let command =
        Command::settle(ask.id, &Settlement { outcome: answered("A"), by: None, at: hub.store.now() }, None, None);
    let mut command = serde_json::to_value(command.unwrap()).unwrap();
    command["n"] = 0.into();
    let text = json!([command]).to_string().replace('\'', "''");
    let apply = format!(
        "SELECT status FROM answerback.hosts, answerback.apply_1('main', host, instance, 0, 10, 10, '{text}') WHERE n = 0"
    );
    assert_eq!(Engine::shared().sql(&name, &apply), "done");
    let changes = hub.until_told(2).await;
    assert_eq!(outcome(&changes[1].ask), &answered("A"));
}

#[tokio::test]
async fn statement_08_whoever_gets_a_reply_finds_the_change_at_the_same_hub() {
    let (one, two, _) = two().await;
    let write = |hub: &'static str, at: &Hub| {
        let (store, told) = (at.store.clone(), Arc::clone(&at.told));
        async move {
            for n in 0..40 {
                let new = Arc::new(new_ask(&format!("{hub}{n}__t")));
                let Opened::New(ask) = store.open_ask(Arc::clone(&new), store.now(), 64).await.unwrap() else {
                    panic!("not new")
                };
                let has_told = |kind: ChangeKind| {
                    let told = told.lock().unwrap();
                    told.iter().any(
                        |told| matches!(told, Told::Change(change) if change.ask.id == ask.id && change.kind == kind),
                    )
                };
                assert!(has_told(ChangeKind::Opened));
                let settlement = Settlement { outcome: answered("a"), by: None, at: store.now() };
                assert!(matches!(store.settle(ask.id, settlement.clone()).await.unwrap(), Settling::Won(_)));
                assert!(has_told(ChangeKind::Settled));
                assert!(matches!(store.settle(ask.id, settlement).await.unwrap(), Settling::Lost(_)));
            }
        }
    };
    join(write("a", &one), write("b", &two)).await;
    // Who was first is known to the hub that was not.
    let ask = one.open("s__t").await;
    two.settle(ask.id, answered("first")).await;
    let Settling::Lost(lost) = one.settle(ask.id, answered("second")).await else { panic!("settled twice") };
    assert_eq!(outcome(&lost), &answered("first"));
    let last = one.changes().last().cloned().unwrap();
    assert_eq!((last.kind, last.ask.id), (ChangeKind::Settled, ask.id));
}

/// Puts the tables back to the time when the newest change was `cursor`, like a backup does.
const BACK: &str = "
    DELETE FROM answerback.asks WHERE id IN (SELECT ask FROM answerback.events WHERE cursor > CURSOR AND kind = 'ask.opened');
    UPDATE answerback.asks SET outcome = NULL, outcome_kind = NULL, stands = true, settled_by = NULL, settled_at = NULL
    WHERE id IN (SELECT ask FROM answerback.events WHERE cursor > CURSOR AND kind = 'ask.settled');
    DELETE FROM answerback.events WHERE cursor > CURSOR;
    UPDATE answerback.heads SET cursor = CURSOR, tag = (SELECT tag FROM answerback.events WHERE cursor = CURSOR);
    SELECT setval('answerback.ask_ids', (SELECT max(id) FROM answerback.asks));";

fn resets(hub: &Hub) -> Vec<(i64, Vec<i64>)> {
    let reset = |told| match told {
        Told::Reset(cursor, open) => Some((cursor, open)),
        Told::Change(_) => None,
    };
    hub.told().into_iter().filter_map(reset).collect()
}

#[tokio::test]
async fn statement_09_a_store_that_went_back_in_time_makes_everybody_list_again() {
    let (mut options, name) = database();
    options.times = short();
    let (one, two) = (Hub::start(&options, "one").await, Hub::start(&options, "two").await);
    let (kept, settled) = (one.open("s__kept").await, one.open("s__settled").await);
    one.settle(settled.id, answered("lost")).await;
    let lost = two.open("s__lost").await;
    one.until_told(4).await;
    two.until_told(4).await;
    Engine::shared().sql(&name, &format!("BEGIN; {} COMMIT", BACK.replace("CURSOR", "2")));
    until("both list again", async || !resets(&one).is_empty() && !resets(&two).is_empty()).await;
    for hub in [&one, &two] {
        let (cursor, mut open) = resets(hub).pop().unwrap();
        open.sort_unstable();
        assert!(cursor > 4);
        assert_eq!(open, [kept.id.0, settled.id.0], "the answer is undone, and the last question never was");
        let Changes { is_broken_off, through, .. } = hub.store.changes(Cursor(3), 10).await.unwrap();
        assert!(is_broken_off && through.0 >= cursor);
    }
    // Neither a cursor nor an id is used again.
    let next = one.open("s__next").await;
    assert!(next.id > lost.id);
    until("it goes on", async || matches!(two.told().last(), Some(Told::Change(change)) if change.ask.id == next.id))
        .await;
    let again = two.settle(settled.id, answered("again")).await;
    assert!(matches!(again, Settling::Won(_)));
}

#[tokio::test]
async fn statement_09_another_change_in_the_place_of_a_known_one_is_noticed() {
    let (mut options, name) = database();
    options.times = short();
    let hub = Hub::start(&options, "one").await;
    for key in ["s__1", "s__2", "s__3"] {
        hub.open(key).await;
    }
    // The head is beyond what the hub has seen, but the changes are those of another history.
    let other = "UPDATE answerback.events SET tag = tag - 2 WHERE cursor > 1;
                 INSERT INTO answerback.events SELECT namespace, 4, day, ask, 'ask.deferred', at, 77 FROM answerback.events WHERE cursor = 3;
                 UPDATE answerback.heads SET cursor = 4, tag = 77;";
    Engine::shared().sql(&name, &format!("BEGIN; {other} COMMIT"));
    until("it lists again", async || !resets(&hub).is_empty()).await;
    let told = hub.told();
    assert!(matches!(&told[3], Told::Reset(cursor, open) if *cursor > 4 && open.len() == 3), "{told:?}");
}

#[tokio::test]
async fn statement_10_the_clock_is_that_of_the_engine() {
    // The engine and this machine are the same one here, so another clock has to be told.
    let clock = Clock::new();
    let hour = SignedDuration::from_hours(1);
    let (sent, engine) = (tokio::time::Instant::now(), Timestamp::now() + hour);
    clock.set(engine.as_microsecond(), sent);
    let ahead = clock.now().duration_since(Timestamp::now());
    assert!((ahead - hour).abs() < SignedDuration::from_millis(100), "{ahead:?}");
    let (hub, _, name) = two().await;
    let engine = Engine::shared().sql(&name, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    let engine = Timestamp::from_millisecond(engine.parse().unwrap()).unwrap();
    assert!(hub.store.now().duration_since(engine).abs() < SignedDuration::from_secs(2));
}

#[tokio::test]
async fn statement_16_a_version_that_is_too_old_is_refused_and_a_running_one_ends() {
    let (mut options, name) = database();
    options.times = short();
    let hub = Hub::start(&options, "one").await;
    hub.open("s__t").await;
    let require = |reader: u32, writer: u32| {
        let update = format!("UPDATE answerback.meta SET schema = 2, min_reader = {reader}, min_writer = {writer}");
        Engine::shared().sql(&name, &update);
    };
    // What a newer version adds does not matter to this one.
    require(1, 1);
    Hub::start(&options, "two").await;
    for (reader, writer) in [(2, 1), (1, 2)] {
        require(reader, writer);
        let refused = Opening::connect(options.clone(), Host::new("late")).await.unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: 2, known: 1 }), "{refused}");
    }
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    );
    Engine::shared().sql("postgres", &end);
    tokio::time::timeout(Duration::from_secs(20), hub.store.failed()).await.unwrap();
    assert!(hub.try_open("s__late").await.is_err());
}

#[tokio::test]
async fn statement_16_a_change_that_only_newer_versions_know_is_passed_over() {
    let (mut options, name) = database();
    options.times = short();
    let hub = Hub::start(&options, "one").await;
    let ask = hub.open("s__t").await;
    let unknown = format!(
        "BEGIN; INSERT INTO answerback.events VALUES ('main', 2, answerback.today_1(), {}, 'ask.praised', 0, 5);
         UPDATE answerback.heads SET cursor = 2, tag = 5; COMMIT",
        ask.id.0
    );
    Engine::shared().sql(&name, &unknown);
    hub.settle(ask.id, answered("A")).await;
    assert_eq!(hub.cursors(), [1, 3]);
    let page = hub.store.changes(Cursor(1), 10).await.unwrap();
    assert_eq!((page.changes.len(), page.through, page.is_end), (1, Cursor(3), true));
}

#[tokio::test]
async fn statement_17_a_namespace_and_a_host_have_so_many_open_asks() {
    let (options, _) = database();
    let quotas = Quotas { namespace: 3, host: 2 };
    let one = Hub::start_with(&options, "one", quotas).await;
    let two = Hub::start_with(&options, "two", quotas).await;
    let is_full = async |hub: &Hub, key: &str| matches!(hub.try_open(key).await.unwrap(), Opened::Full);
    let first = one.open("a__1").await;
    one.open("b__2").await;
    assert!(is_full(&one, "c__3").await, "two of this host are open");
    two.open("d__4").await;
    assert!(is_full(&two, "e__5").await, "three are open");
    assert!(matches!(one.try_open("a__1").await.unwrap(), Opened::Known(_)));
    // It does not matter who settles.
    two.settle(first.id, answered("a")).await;
    one.open("c__3").await;
    assert!(is_full(&one, "f__6").await && is_full(&two, "e__5").await);
}

#[tokio::test]
async fn statement_18_old_days_are_dropped_and_a_cursor_before_them_is_told_to_list_again() {
    let (mut options, name) = database();
    options.times = short();
    let hub = Hub::start(&options, "one").await;
    let (old, open) = (hub.open("s__old").await, hub.open("s__open").await);
    hub.settle(old.id, answered("a")).await;
    let last = hub.open("s__last").await;
    // The first three changes happened ten days ago.
    let age = "BEGIN;
        CREATE TABLE answerback.events_20200101 PARTITION OF answerback.events FOR VALUES FROM ('2020-01-01') TO ('2020-01-02');
        UPDATE answerback.events SET day = '2020-01-01' WHERE cursor <= 3; COMMIT";
    Engine::shared().sql(&name, age);
    assert_eq!(hub.store.changes(Cursor(0), 10).await.unwrap().changes.len(), 4);
    let long_ago = Timestamp::now() - SignedDuration::from_hours(48);
    assert_eq!(hub.store.purge(long_ago).await.unwrap(), 0);
    let page = hub.store.changes(Cursor(2), 10).await.unwrap();
    assert!(page.is_broken_off && page.changes.is_empty() && page.through == Cursor(4));
    let page = hub.store.changes(Cursor(3), 10).await.unwrap();
    assert_eq!((page.changes.len(), page.is_broken_off, page.changes[0].ask.id), (1, false, last.id));
    // Asks are forgotten by their own age, and the hub goes on.
    assert!(hub.store.ask(old.key.clone()).await.unwrap().is_some());
    assert_eq!(hub.store.purge(Timestamp::now() + SignedDuration::from_secs(60)).await.unwrap(), 1);
    hub.settle(open.id, answered("b")).await;
    assert_eq!(hub.cursors(), [1, 2, 3, 4, 5]);
    let days =
        Engine::shared().sql(&name, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'answerback.events'::regclass");
    assert_eq!(days, "4", "today and the next days stay");
}

#[tokio::test]
async fn statement_19_an_engine_that_can_lose_answers_is_warned_about() {
    let warned = |standbys, waits, syncs| warnings(standbys, waits, syncs).len();
    assert_eq!(warned("ANY 1 (a, b)", "on", "on"), 0);
    assert_eq!(warned("", "on", "on"), 1);
    assert!(warnings("", "on", "on")[0].contains("synchronous_standby_names"));
    assert_eq!(warned("*", "local", "on"), 1);
    assert_eq!(warned("", "off", "off"), 2);
}

#[tokio::test]
async fn namespaces_see_nothing_of_each_other() {
    let (options, _) = database();
    let other = PostgresOptions { namespace: "other".to_owned(), ..options.clone() };
    let (one, two) = (Hub::start(&options, "one").await, Hub::start(&other, "one").await);
    let ask = one.open("s__t").await;
    let theirs = two.open("s__t").await;
    assert_ne!(ask.id, theirs.id);
    assert!(two.try_settle(ask.id, answered("a")).await.is_err(), "no such ask");
    assert!(two.store.detail(ask.id).await.is_err());
    two.settle(theirs.id, answered("b")).await;
    assert_eq!((one.cursors(), two.cursors()), (vec![1], vec![1, 2]));
    assert_eq!(one.store.list(Filter::all(crate::store::StateFilter::Open, 10)).await.unwrap().asks.len(), 1);
    assert_ne!(one.store.secret("ticket").await.unwrap(), two.store.secret("ticket").await.unwrap());
    assert_eq!(one.store.secret("ticket").await.unwrap(), one.store.secret("ticket").await.unwrap());
    assert!(one.store.is_first_to("x".into()).await.unwrap() && two.store.is_first_to("x".into()).await.unwrap());
    assert!(!one.store.is_first_to("x".into()).await.unwrap());
}
