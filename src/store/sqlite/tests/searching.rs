//! The search index: a search is right at every moment, whatever is in the index.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::ask::{Answer, Kind};
use crate::store::StateFilter;

fn asking(key: &str, text: &str) -> NewAsk {
    let questions = serde_json::from_value(json!([{"question": text}])).unwrap();
    NewAsk { questions, ..new_ask(key, 1) }
}

fn answering(question: &str, text: &str) -> Settlement {
    let answers = [(question.to_owned(), text.to_owned())].into_iter().collect();
    Settlement { outcome: Outcome::Answered(Answer { answers, notes: Default::default(), edited: None }), ..released() }
}

async fn settled(store: &Sqlite, key: &str, text: &str) -> AskId {
    let opened = id(store.open_ask(Arc::new(asking(key, text)), Timestamp::now(), 64).await);
    store.settle(opened, released()).await.unwrap();
    opened
}

fn searching(text: &str) -> Filter {
    Filter { text: Some(text.into()), ..Filter::all(StateFilter::All, 1000) }
}

async fn search(store: &Sqlite, text: &str) -> Vec<String> {
    let page = store.list(searching(text)).await.unwrap();
    page.asks.iter().map(|ask| ask.key.to_string()).collect()
}

/// How many asks are open, wait for the index, are in the index, are too large for it.
async fn places(store: &Sqlite) -> [i64; 4] {
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

async fn on_owner<T: Send + 'static>(
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
async fn a_damaged_store_of_an_older_version_opens_all_the_same() {
    let world = World::new();
    for n in 0..200 {
        settled(&world.store, &format!("s__{n}"), &format!("Number <{n}>? {}", "x".repeat(200))).await;
    }
    world.store.close().await;
    let path = world.dir.path().join("asks.db");
    let before_the_index = "DROP TABLE waiting; DROP TABLE texts; DROP TABLE gone; DROP TABLE grams;
        PRAGMA user_version = 6;";
    Connection::open(&path).unwrap().execute_batch(before_the_index).unwrap();
    zero_page(&path, "asks", Page::FirstLeaf);
    let world = world.reopened().await;
    settled(&world.store, "s__more", "One more?").await;
    assert_eq!(search(&world.store, "one more").await, ["s__more"]);
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
            kind: if n % 7 < 3 { Kind::Plan } else { Kind::Question },
            origin: if n % 11 == 0 { crate::ask::Origin::Probe } else { crate::ask::Origin::ClaudeCode },
            ..asking(&format!("s{}__call{n}", n % 3), ["red", "green"][n as usize % 2])
        };
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
