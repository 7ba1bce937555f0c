//! The search index: a search is right at every moment, whatever is in the index.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Map;

use super::*;
use crate::ask::{Answer, Kind, Topic};
use crate::store::StateFilter;

pub(super) fn asking(key: &str, text: &str) -> NewAsk {
    let questions = serde_json::from_value(json!([{"question": text}])).unwrap();
    NewAsk { topic: Topic::of_questions(questions), ..new_ask(key, 1) }
}

pub(super) fn answering(question: &str, text: &str) -> Settlement {
    let answers = [(question.to_owned(), text.to_owned())].into_iter().collect();
    Settlement { outcome: Outcome::Answered(Answer { answers, notes: Default::default(), edited: None }), ..released() }
}

pub(super) async fn settled(store: &Sqlite, key: &str, text: &str) -> AskId {
    let opened = id(store.open_ask(Arc::new(asking(key, text)), Timestamp::now(), 64).await);
    store.settle(opened, released()).await.unwrap();
    opened
}

pub(super) fn searching(text: &str) -> Filter {
    Filter { text: Some(text.into()), ..Filter::all(StateFilter::All, 1000) }
}

pub(super) async fn search(store: &Sqlite, text: &str) -> Vec<String> {
    let page = store.list(searching(text)).await.unwrap();
    page.asks.iter().map(|ask| ask.key.to_string()).collect()
}

/// How many asks are open, wait for the index, are in the index, are too large for it.
pub(super) async fn places(store: &Sqlite) -> [i64; 4] {
    const COUNTS: [&str; 4] = [
        "SELECT count(*) FROM asks WHERE outcome IS NULL",
        "SELECT count(*) FROM waiting WHERE NOT is_large",
        "SELECT count(*) FROM texts",
        "SELECT count(*) FROM waiting WHERE is_large",
    ];
    let count = |context: &mut Context<'_>| {
        let mut places = [0; 4];
        for (place, query) in places.iter_mut().zip(COUNTS) {
            *place = context.connection.query_row(query, [], |row| row.get(0))?;
        }
        Ok(places)
    };
    store.owner.call(false, count).await.unwrap()
}

/// Returns when no text waits for the index.
async fn until_indexed(store: &Sqlite) {
    while places(store).await[1] > 0 {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn on_owner<T: Send + 'static>(
    store: &Sqlite,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
) -> T {
    store.owner.call(true, |context| Ok(work(context.connection)?)).await.unwrap()
}

/// What is in the index, read without the texts.
async fn count_in_index(store: &Sqlite, text: &'static str) -> i64 {
    let count = move |connection: &Connection| {
        let query = "SELECT count(*) FROM grams WHERE grams MATCH ?1";
        connection.query_row(query, [grams::expression(text, []).unwrap()], |row| row.get(0))
    };
    store.reader.read(count).await.unwrap()
}

#[tokio::test]
async fn settled_asks_come_into_the_index_when_there_are_many() {
    let world = World::new();
    for n in 0..63 {
        settled(&world.store, &format!("s__{n}"), "Which database?").await;
    }
    id(world.open("s__open").await);
    assert_eq!(places(&world.store).await, [1, 63, 0, 0]);
    let [database, open] = ["database", "open"];
    assert_eq!((search(&world.store, database).await.len(), search(&world.store, open).await.len()), (64, 0));
    settled(&world.store, "s__63", "Which database?").await;
    until_indexed(&world.store).await;
    assert_eq!(places(&world.store).await, [1, 0, 64, 0]);
    assert_eq!((count_in_index(&world.store, database).await, search(&world.store, database).await.len()), (64, 65));
}

#[tokio::test]
async fn a_search_is_right_while_some_texts_are_in_the_index_and_some_are_not() {
    let world = World::new();
    let keys: Vec<String> = (0..40).rev().map(|n| format!("s__{n:02}")).collect();
    for key in keys.iter().rev() {
        settled(&world.store, key, &format!("The NAME is {key}!")).await;
    }
    for expected in [0, 16, 32, 40, 40] {
        assert_eq!(places(&world.store).await[2], expected);
        assert_eq!(search(&world.store, "name is").await, keys);
        assert_eq!(search(&world.store, "S__17!").await, ["s__17"]);
        assert_eq!(search(&world.store, "s__99").await, [""; 0]);
        on_owner(&world.store, |connection| texts::index(connection, 16, 100_000)).await;
    }
}

#[tokio::test]
async fn pages_of_a_search_make_up_all() {
    let world = World::new();
    for n in 0..30 {
        settled(&world.store, &format!("s__{n}"), "The same").await;
    }
    // The newest and the oldest are in the index, and those between are not.
    on_owner(&world.store, |connection| {
        connection.execute_batch("UPDATE waiting SET is_large = 1 WHERE ask BETWEEN 8 AND 22")?;
        texts::index(connection, 100, 100_000)
    })
    .await;
    let (mut ids, mut before) = (Vec::new(), None);
    loop {
        let page = world.store.list(Filter { before, limit: 7, ..searching("same") }).await.unwrap();
        ids.extend(page.asks.iter().map(|ask| ask.id.0));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(ids, (1..=30).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_search_is_right_after_a_daemon_was_killed_before_the_index_was_written() {
    let world = World::new();
    for n in 0..64 {
        let opened =
            id(world.store.open_ask(Arc::new(asking(&format!("s__{n}"), "Which?")), Timestamp::now(), 99).await);
        if n > 0 {
            world.store.settle(opened, answering("Which?", &format!("Answer <{n}>"))).await.unwrap();
        }
    }
    // The files as they are when the daemon is killed now.
    let go = world.hold().await;
    let killed = tempfile::tempdir().unwrap();
    for name in ["asks.db", "asks.db-wal"] {
        std::fs::copy(world.dir.path().join(name), killed.path().join(name)).unwrap();
    }
    drop(go);
    let open =
        || Opening::open(&killed.path().join("asks.db"), false, host()).unwrap().0.start(Box::new(|_| {})).unwrap();
    let store = open();
    assert_eq!(search(&store, "answer <33>").await, ["s__33"]);
    assert_eq!(places(&store).await, [1, 63, 0, 0]);
    settled(&store, "s__more", "More?").await;
    until_indexed(&store).await;
    assert_eq!(search(&store, "answer <33>").await, ["s__33"]);
    store.close().await;
    assert_eq!(search(&open(), "answer <33>").await, ["s__33"]);
}

#[tokio::test]
async fn a_purge_takes_asks_out_of_the_index_in_several_jobs() {
    let world = World::new();
    let many = PURGED_AT_ONCE * 2 + 10;
    for n in 0..many {
        settled(&world.store, &format!("s__{n}"), "Which database?").await;
    }
    on_owner(&world.store, |connection| texts::index(connection, usize::MAX, usize::MAX)).await;
    assert_eq!(count_in_index(&world.store, "database").await, many as i64);
    id(world.open("s__open").await);
    let later = Timestamp::now() + SignedDuration::from_secs(60);
    assert_eq!(world.store.purge(later).await.unwrap(), many);
    assert_eq!(places(&world.store).await, [1, 0, 0, 0]);
    assert_eq!(search(&world.store, "database").await, ["s__open"]);
    // The index forgets them later, in steps of its own.
    while count_in_index(&world.store, "database").await > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(search(&world.store, "database").await, ["s__open"]);
}

#[tokio::test]
async fn a_text_that_is_too_large_for_the_index_is_found() {
    let world = World::new();
    let large: String = (0..5_400).map(|n| char::from_u32(0x4e00 + n).unwrap()).collect();
    let opened = id(world.store.open_ask(Arc::new(asking("s__large", &large)), Timestamp::now(), 64).await);
    let (first, second): (String, String) = (large.chars().rev().collect(), large.chars().step_by(2).collect());
    let answers = [(large.clone(), first)].into_iter().collect();
    let notes = [(large.clone(), second)].into_iter().collect();
    let outcome = Outcome::Answered(Answer { answers, notes, edited: None });
    world.store.settle(opened, Settlement { outcome, ..released() }).await.unwrap();
    for n in 0..63 {
        settled(&world.store, &format!("s__{n}"), "Small").await;
    }
    until_indexed(&world.store).await;
    assert_eq!(places(&world.store).await, [0, 0, 63, 1]);
    assert_eq!(search(&world.store, &large[300..330]).await, ["s__large"]);
}

#[tokio::test]
async fn a_damaged_row_is_counted_by_a_search_and_hides_no_other() {
    let world = World::new();
    for n in 0..4 {
        settled(&world.store, &format!("s__{n}"), "Which database?").await;
    }
    on_owner(&world.store, |connection| {
        texts::index(connection, 2, 100_000)?;
        connection.execute_batch("UPDATE asks SET questions = '[' WHERE id IN (2, 3)")
    })
    .await;
    let page = world.store.list(searching("database")).await.unwrap();
    assert_eq!((page.asks.len(), page.damaged), (2, 2));
}

/// Texts and queries of few letters, so that many match.
fn text() -> impl Strategy<Value = String> {
    let letter = prop::sample::select(vec![
        "a", "A", "b", "ä", "Ä", "ß", "İ", "σ", "Σ", "ς", "日", "本", "🐈", "%", "_", "\\", "\"", "'", "*", "(", " ",
        "\n", "\0", "\u{1f}", "AND", "NEAR(", ":", "-", "^",
    ]);
    prop::collection::vec(letter, 1..12).prop_map(|letters| format!("x{}", letters.concat()))
}

/// Reads all texts, one after the other.
fn reference(texts: &[(String, String)], query: &str) -> Vec<String> {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>().replace('\u{1f}', " ");
    let query = fold(query);
    let has = |text: &String| fold(text).contains(&query);
    let found = texts.iter().enumerate().filter(|(_, (question, answer))| has(question) || has(answer));
    found.map(|(n, _)| format!("s__{n}")).rev().collect()
}

#[tokio::test]
async fn a_search_finds_what_reading_everything_finds() {
    let mut runner = TestRunner::default();
    let mut some =
        |many: usize| -> Vec<String> { prop::collection::vec(text(), many).new_tree(&mut runner).unwrap().current() };
    let texts: Vec<(String, String)> = some(60).into_iter().zip(some(60)).collect();
    let world = World::new();
    for (n, (question, answer)) in texts.iter().enumerate() {
        let new = Arc::new(asking(&format!("s__{n}"), question));
        let opened = id(world.store.open_ask(new, Timestamp::now(), 64).await);
        world.store.settle(opened, answering(question, answer)).await.unwrap();
    }
    let parts = texts.iter().flat_map(|(question, answer)| [question, answer]).zip(some(120));
    let mut queries: Vec<String> = Vec::new();
    for (n, (text, other)) in parts.enumerate() {
        let letters: Vec<char> = text.chars().collect();
        let start = n % letters.len();
        queries.push(letters[start..(start + 1 + n % 7).min(letters.len())].iter().collect());
        queries.push(other.chars().skip(1).collect());
    }
    queries.retain(|query| !query.is_empty());
    for indexed in [0, 30, 60] {
        assert_eq!(places(&world.store).await[2], indexed);
        for query in &queries {
            assert_eq!(
                search(&world.store, query).await,
                reference(&texts, query),
                "{query:?} with {indexed} in the index"
            );
        }
        on_owner(&world.store, |connection| texts::index(connection, 30, 100_000)).await;
    }
}

/// Whether a filter shows an ask, without any index.
fn shows(filter: &Filter, ask: &Ask) -> bool {
    let outcome = ask.settlement.as_ref().map(|settlement| settlement.outcome.kind());
    filter.shows(ask)
        && (filter.state == StateFilter::All || (filter.state == StateFilter::Open) == ask.is_open())
        && filter.outcome.is_none_or(|wanted| outcome == Some(wanted))
        && filter.opened_since.is_none_or(|since| ask.opened_at >= since)
        && filter.text.as_ref().is_none_or(|text| ask.questions.as_slice()[0].question.contains(text))
}

#[tokio::test]
async fn every_filter_finds_the_same_whatever_is_in_the_index() {
    let world = World::new();
    let at = |n: i64| Timestamp::from_second(1_700_000_000 + n).unwrap();
    for n in 0..48_i64 {
        let new = NewAsk {
            project: (n % 4 > 0).then(|| format!("/p{}", n % 4)),
            origin: if n % 11 == 0 { crate::ask::Origin::Probe } else { crate::ask::Origin::ClaudeCode },
            ..asking(&format!("s{}__call{n}", n % 3), ["red", "green"][n as usize % 2])
        };
        let plan = Map::from_iter([("plan".to_owned(), json!(""))]);
        let as_plan = || Topic::new(Kind::Plan, Some(plan), new.topic.questions().clone()).unwrap();
        let new = if n % 7 < 3 { NewAsk { topic: as_plan(), ..new } } else { new };
        // The clock was set back in between.
        let opened_at = at(if n < 20 { n } else { n - 15 });
        let opened = id(world.store.open_ask(Arc::new(new), opened_at, 64).await);
        if n % 5 > 0 {
            let outcome = if n % 2 == 0 { Outcome::Released } else { Outcome::Dismissed { reason: None } };
            world.store.settle(opened, Settlement { outcome, ..released() }).await.unwrap();
        }
    }
    let everything = Filter { probes: true, ..Filter::all(StateFilter::All, 1000) };
    let all = world.store.list(everything).await.unwrap().asks;
    assert_eq!(all.len(), 48);
    let mut filters = Vec::new();
    for bits in 0..1 << 8 {
        for (state, limit) in [(StateFilter::All, 5), (StateFilter::Settled, 1000), (StateFilter::Open, 1000)] {
            let when = |bit: i32| bits >> bit & 1 == 1;
            filters.push(Filter {
                session: when(0).then(|| "s1".into()),
                project: when(1).then(|| "/p2".into()),
                outcome: when(2).then_some(crate::ask::OutcomeKind::Dismissed),
                opened_since: when(3).then(|| at(17)),
                before: when(4).then_some(AskId(37)),
                key_end: when(5).then(|| "7".into()),
                text: when(6).then(|| "gre".into()),
                kind: when(7).then_some(Kind::Plan),
                probes: bits % 3 == 0,
                ..Filter::all(state, limit)
            });
        }
    }
    let ends = ["call17", "__call17", "2__call17", "x2__call17", ""];
    filters.extend(ends.map(|end| Filter { key_end: Some(end.into()), ..Filter::all(StateFilter::All, 1000) }));
    let projects = ["/p1", "/p2", "/p3"];
    loop {
        for filter in &filters {
            let page = world.store.list(filter.clone()).await.unwrap();
            let found: Vec<i64> = page.asks.iter().map(|ask| ask.id.0).collect();
            let fitting: Vec<i64> = all.iter().filter(|ask| shows(filter, ask)).map(|ask| ask.id.0).collect();
            let expected = &fitting[..filter.limit.min(fitting.len())];
            assert_eq!(found, expected, "{filter:?} with {:?}", places(&world.store).await);
            assert_eq!(page.next.is_some(), fitting.len() > filter.limit, "{filter:?}");
        }
        assert_eq!(world.store.projects().await.unwrap(), projects);
        if places(&world.store).await[1] == 0 {
            break;
        }
        on_owner(&world.store, |connection| texts::index(connection, 10, 100_000)).await;
    }
}
