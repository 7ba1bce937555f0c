//! An engine that confirms nothing, is away for a while, or is busy with something else.

use std::slice;

use futures_util::future::{join, join_all};

use super::proxy::Proxy;
use super::*;

/// An engine of its own, the options for a database in it, and the name of that database.
fn own_engine() -> (Engine, PostgresOptions, String) {
    let engine = Engine::new("");
    let address = engine.database();
    let name = address.rsplit('/').next().unwrap().to_owned();
    let options = PostgresOptions { times: short(), ..PostgresOptions::parse(&address).unwrap() };
    (engine, options, name)
}

/// Lets the engine confirm its commits, or wait for a standby that does not exist.
async fn confirm(engine: &Engine, confirms: bool) {
    let standby = if confirms { "" } else { "nobody" };
    engine.set("synchronous_standby_names", &format!("'{standby}'"));
    until("the setting is known", async || engine.sql("postgres", "SHOW synchronous_standby_names") == standby).await;
}

#[tokio::test]
async fn statement_11_a_standby_that_is_gone_for_long_makes_nobody_dead() {
    let (engine, options, name) = own_engine();
    let (one, two) = (Hub::start(&options, "one").await, Hub::start(&options, "two").await);
    let edge = Host::new("edge");
    one.store.keep_hosts(slice::from_ref(&edge)).await.unwrap();
    let of_hub = one.open_new(of_agent("s__hub")).await;
    let of_edge = Arc::new(of_agent("s__edge"));
    one.store.for_host(edge.clone()).open_ask(of_edge, one.store.now(), 64).await.unwrap();
    two.until_told(2).await;
    confirm(&engine, false).await;
    let begun = Instant::now();
    while begun.elapsed() < 2 * (options.times.lease + options.times.dead) {
        // People go on answering, and hubs go on telling of their edges.
        let (settled, kept) =
            join(two.try_settle(of_hub.id, Outcome::Released), one.store.keep_hosts(slice::from_ref(&edge))).await;
        assert!(settled.is_err(), "{settled:?}");
        kept.unwrap();
    }
    // A round takes as long as the answer that fails, and on a busy machine that is longer than these short leases.
    one.store.keep_hosts(slice::from_ref(&edge)).await.unwrap();
    let lapsed = "SELECT coalesce(string_agg(host, ' '), '') FROM answerback.hosts WHERE leased_to < clock_timestamp()";
    assert_eq!(engine.sql(&name, lapsed), "");
    confirm(&engine, true).await;
    // Whatever comes after this has seen everything that was waiting.
    until("commits are confirmed", async || two.try_open("s__after").await.is_ok()).await;
    let (of_hub, of_edge) = (two.store.life(of_hub.id).await, two.store.ask("s__edge".parse().unwrap()).await);
    assert_eq!(outcome(&of_hub.unwrap().unwrap()), &Outcome::Released);
    assert!(of_edge.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn statement_11_whoever_comes_back_first_ends_nothing_of_the_others() {
    let (_, name) = database();
    let ways = [(); 2].map(|()| Proxy::before(Engine::shared().dir()));
    let options = |way: &Proxy| {
        let options = PostgresOptions::parse(&engine::address(way.dir(), &name)).unwrap();
        PostgresOptions { times: short(), ..options }
    };
    let first = Hub::start(&options(&ways[0]), "first").await;
    let last = Hub::start(&options(&ways[1]), "last").await;
    let ask = last.open_new(of_agent("s__t")).await;
    // For both of them, it is as if the engine had been stopped for a long time.
    ways.iter().for_each(|way| way.cut(true));
    tokio::time::sleep(short().lease + short().dead).await;
    ways[0].cut(false);
    until("one of them is back", async || first.try_open("s__back").await.is_ok()).await;
    // It looks for the dead several times meanwhile.
    tokio::time::sleep(4 * short().renewal).await;
    ways[1].cut(false);
    until("the other one is back", async || last.try_open("s__too").await.is_ok()).await;
    assert!(last.store.life(ask.id).await.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn statement_18_a_backup_that_reads_the_tables_keeps_nobody_waiting() {
    let (engine, options, name) = own_engine();
    let hub = Hub::start(&options, "one").await;
    let last_day = "SELECT max(relname) FROM pg_class WHERE relname ~ '^events_[0-9]{8}$'";
    let day = engine.sql(&name, last_day);
    engine.sql(&name, &format!("DROP TABLE answerback.{day}"));
    // What a backup does for as long as it takes.
    let (backup, connection) = options.config.connect(options.tls.clone()).await.unwrap();
    tokio::spawn(connection);
    backup.batch_execute("BEGIN; LOCK TABLE answerback.events IN ACCESS SHARE MODE").await.unwrap();
    let other = Hub::start(&options, "two").await;
    for n in 0..20 {
        other.open(&format!("s__{n}")).await;
    }
    hub.until_told(20).await;
    until("the day is made", async || engine.sql(&name, last_day) == day).await;
    backup.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test]
async fn statement_03_a_commit_that_no_longer_waits_for_the_standby_is_not_confirmed() {
    let (engine, options, name) = own_engine();
    let hub = Hub::start(&options, "one").await;
    let ask = hub.open("s__t").await;
    confirm(&engine, false).await;
    // Somebody cancels the wait. The commit is on one machine only.
    let cancelling = async {
        let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        until("the wait is cancelled", async || engine.sql(&name, cancel) != "0").await;
    };
    let (settled, ()) = join(hub.try_settle(ask.id, answered("a")), cancelling).await;
    let error = settled.unwrap_err();
    assert!(error.leaves_open_what_was_saved(), "{error}");
    confirm(&engine, true).await;
    hub.until_told(2).await;
}

#[tokio::test]
async fn statement_04_one_command_that_cannot_be_saved_does_not_spoil_the_others_after_a_lost_reply() {
    let (options, name) = database();
    let proxy = Proxy::before(Engine::shared().dir());
    let way = PostgresOptions::parse(&engine::address(proxy.dir(), &name)).unwrap();
    let hub = Hub::start(&PostgresOptions { times: short(), ..way }, "one").await;
    drop(options);
    Engine::shared().sql(
        &name,
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON answerback.asks FOR EACH ROW WHEN (NEW.key = 's__bad') EXECUTE FUNCTION public.refuse()",
    );
    // The first one is on its way when the others come, so these are sent together. The reply is lost.
    proxy.lose_reply_to("s__bad");
    let keys: Vec<String> = (0..9).map(|n| if n == 4 { "s__bad".to_owned() } else { format!("s__{n}") }).collect();
    let opened = join_all(keys.iter().map(|key| hub.try_open(key))).await;
    assert_eq!(proxy.lost(), 1);
    for (key, opened) in keys.iter().zip(opened) {
        assert_eq!(opened.is_ok(), key != "s__bad", "{key}: {opened:?}");
    }
}

#[tokio::test]
async fn statement_04_a_sending_that_comes_after_its_repetition_changes_nothing() {
    let (options, name) = database();
    let hub = Hub::start(&options, "one").await;
    // The name is taken when something is written for the first time.
    hub.open("s__first").await;
    let command = Command::open(&new_ask("s__t"), None, hub.store.now(), 64, None).unwrap();
    let mut command = serde_json::to_value(command).unwrap();
    command["n"] = 0.into();
    let text = serde_json::json!([command]).to_string().replace('\'', "''");
    let send = || {
        let apply = format!(
            "SELECT status, ask, place FROM answerback.hosts, answerback.apply_1('main', host, instance, 1, 10, 10, '{text}')
             WHERE n = 0"
        );
        Engine::shared().sql(&name, &apply)
    };
    assert_eq!(send(), "done|2|2");
    hub.until_told(2).await;
    // Without this, the key would find the open ask.
    hub.settle(AskId(2), Outcome::Released).await;
    assert_eq!(send(), "done|2|2");
    assert_eq!(Engine::shared().sql(&name, "SELECT count(*) FROM answerback.asks"), "2");
}

#[tokio::test]
async fn other_defaults_of_the_database_change_nothing() {
    let (options, name) = database();
    Engine::shared().sql(
        "postgres",
        &format!(
            "ALTER DATABASE {name} SET default_transaction_isolation = 'serializable';
             ALTER DATABASE {name} SET synchronous_commit = off"
        ),
    );
    let hubs = [Hub::start(&options, "one").await, Hub::start(&options, "two").await];
    let opened = join_all((0..80).map(|n| {
        let hub = &hubs[n % 2];
        async move { hub.try_open(&format!("s__{n}")).await }
    }));
    for opened in opened.await {
        assert!(matches!(opened, Ok(Opened::New(_))), "{opened:?}");
    }
    let settings = hubs[0].store.write("SELECT current_setting('synchronous_commit') AS waits, $1", Vec::new()).await;
    assert_eq!(settings.unwrap()[0].get::<_, &str>("waits"), "on");
}
