//! Finding, listing and forgetting.

use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::ask::samples::topic;
use crate::ask::{Kind, Origin, OutcomeKind, Topic};
use crate::store::{Filter, StateFilter};

/// A key finds its newest life, and an unknown key finds nothing.
pub(super) async fn the_newest_life_of_a_key_is_found(mut world: World) {
    let first = world.open("s__t").await.id;
    world.settle(first, Outcome::Withdrawn).await;
    let second = world.open("s__t").await.id;
    world.reopen().await;
    let found = async |key: &str| world.store.ask(key.parse().unwrap()).await.unwrap().map(|ask| ask.id);
    assert_eq!(found("s__t").await, Some(second));
    assert_eq!(found("s__other").await, None);
}

/// A digest finds the newest ask with it, open or settled, of that session and no other.
pub(super) async fn the_newest_ask_with_a_digest_is_found_in_its_session_alone(world: World) {
    for key in ["s__a", "s__b", "other__c"] {
        world.open_new(NewAsk { digest: Some("same".into()), ..new_ask(key) }).await;
    }
    world.open_new(NewAsk { digest: Some("else".into()), ..new_ask("s__d") }).await;
    let found = async |session: &str, digest: &str| {
        let ask = world.store.ask_with_digest(session.into(), digest.into()).await.unwrap();
        ask.map(|ask| ask.key.to_string())
    };
    assert_eq!(found("s", "same").await.as_deref(), Some("s__b"));
    let ask = world.store.ask("s__b".parse().unwrap()).await.unwrap().unwrap();
    world.settle(ask.id, Outcome::Withdrawn).await;
    assert_eq!(found("s", "same").await.as_deref(), Some("s__b"));
    assert_eq!(found("other", "same").await.as_deref(), Some("other__c"));
    assert_eq!(found("other", "else").await, None);
}

/// A list is newest first. A page has at most so many asks and says where the next one begins, and the pages make up all.
pub(super) async fn a_list_is_newest_first_and_its_pages_make_up_all(world: World) {
    let mut opened = Vec::new();
    for n in 0..7 {
        opened.insert(0, world.open(&format!("s__{n}")).await.id);
    }
    for limit in [1, 2, 3, 7, 8] {
        let (mut listed, mut before) = (Vec::new(), None);
        loop {
            let page = world.store.list(Filter { before, ..Filter::all(StateFilter::All, limit) }).await.unwrap();
            assert!(page.asks.len() <= limit && page.damaged == 0);
            listed.extend(page.asks.iter().map(|ask| ask.id));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(listed, opened, "{limit} on a page");
    }
}

/// A page of a list has fewer asks if they are large, and at least one. The pages make up all, wherever the asks are found.
pub(super) async fn a_page_of_a_list_is_bounded_in_bytes_and_the_pages_make_up_all(world: World) {
    let question = json!([{"question": "Which?", "options": [{"label": "A", "preview": "x".repeat(400_000)}]}]);
    let mut opened = Vec::new();
    for n in 0..10 {
        let topic = Topic::of_questions(serde_json::from_value(question.clone()).unwrap());
        let ask = world.open_new(NewAsk { topic, ..new_ask(&format!("s{n}__t")) }).await;
        if n % 3 > 0 {
            world.settle(ask.id, Outcome::Released).await;
        }
        opened.insert(0, ask.id);
    }
    for text in [None, Some("which".to_owned())] {
        let (mut listed, mut before) = (Vec::new(), None);
        loop {
            let filter = Filter { before, text: text.clone(), ..Filter::all(StateFilter::All, 100) };
            let page = world.store.list(filter).await.unwrap();
            assert!((1..=6).contains(&page.asks.len()), "{}", page.asks.len());
            listed.extend(page.asks.iter().map(|ask| ask.id));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(listed, opened, "{text:?}");
    }
}

/// A list shows an ask if it fits every field of the filter that is given. Probes are shown only on demand.
pub(super) async fn a_list_shows_what_fits_every_field_of_its_filter(world: World) {
    let now = Timestamp::now();
    let project = |name: &str| Some(format!("/home/me/{name}"));
    let asks = [
        NewAsk { project: project("shop"), ..new_ask("one__open-old") },
        NewAsk { project: project("shop"), ..new_ask("one__answered") },
        NewAsk { project: project("site"), topic: topic(Kind::Plan), ..new_ask("two__released") },
        NewAsk { origin: Origin::Probe, ..new_ask("doctor__open") },
    ];
    for (new, hours) in asks.into_iter().zip([48, 3, 2, 1]) {
        let key = new.key.clone();
        let at = now - SignedDuration::from_hours(hours);
        let Opened::New(ask) = world.store.open_ask(Arc::new(new), at, 64).await.unwrap() else { panic!("not new") };
        match key.tool_use_id() {
            "answered" => drop(world.settle(ask.id, answered("SQLite")).await),
            "released" => drop(world.settle(ask.id, Outcome::Released).await),
            _ => {}
        }
    }
    let list = async |state, change: &dyn Fn(&mut Filter)| {
        let mut filter = Filter::all(state, 10);
        change(&mut filter);
        let asks = world.store.list(filter).await.unwrap().asks;
        asks.iter().map(|ask| ask.key.to_string()).collect::<Vec<_>>()
    };
    let (open, answered, released) = ("one__open-old", "one__answered", "two__released");
    use StateFilter::{All, Open, Settled};
    assert_eq!(list(All, &|_| {}).await, [released, answered, open]);
    assert_eq!(list(Open, &|_| {}).await, [open]);
    assert_eq!(list(Settled, &|_| {}).await, [released, answered]);
    assert_eq!(list(All, &|filter| filter.session = Some("one".into())).await, [answered, open]);
    assert_eq!(list(All, &|filter| filter.project = Some("/home/me/site".into())).await, [released]);
    assert_eq!(list(All, &|filter| filter.kind = Some(Kind::Plan)).await, [released]);
    assert_eq!(list(All, &|filter| filter.kind = Some(Kind::Question)).await, [answered, open]);
    assert_eq!(list(All, &|filter| filter.kind = Some(Kind::Form)).await, [""; 0]);
    assert_eq!(list(All, &|filter| filter.outcome = Some(OutcomeKind::Answered)).await, [answered]);
    assert_eq!(list(All, &|filter| filter.outcome = Some(OutcomeKind::AnsweredInTerminal)).await, [""; 0]);
    let yesterday = now - SignedDuration::from_hours(24);
    assert_eq!(list(All, &|filter| filter.opened_since = Some(yesterday)).await, [released, answered]);
    assert_eq!(list(All, &|filter| filter.key_end = Some("ed".into())).await, [released, answered]);
    assert_eq!(list(All, &|filter| filter.probes = true).await, ["doctor__open", released, answered, open]);
    let both = |filter: &mut Filter| {
        filter.session = Some("one".into());
        filter.opened_since = Some(yesterday);
    };
    assert_eq!(list(All, &both).await, [answered]);
    assert_eq!(list(Open, &both).await, [""; 0]);
}

/// Asks are listed by the time at which they were opened, whatever their order.
pub(super) async fn a_list_since_a_time_is_right_although_the_clock_was_set_back(world: World) {
    let now = Timestamp::now();
    for (key, hours) in [("s__early", 1), ("s__old", 9), ("s__late", 2), ("s__older", 10)] {
        let at = now - SignedDuration::from_hours(hours);
        world.store.open_ask(Arc::new(new_ask(key)), at, 64).await.unwrap();
    }
    for (hours, expected) in [(0, &[][..]), (1, &["s__early"]), (5, &["s__late", "s__early"])] {
        let opened_since = Some(now - SignedDuration::from_hours(hours) - SignedDuration::from_secs(1));
        for text in [None, Some("database".to_owned())] {
            let filter = Filter { opened_since, text, ..Filter::all(StateFilter::All, 10) };
            assert_eq!(keys(&world.store.list(filter).await.unwrap().asks), expected, "{hours}");
        }
    }
}

/// A search looks at questions, answers, notes and reasons, and at nothing else. It finds parts of words. Upper and lower case are the same
/// in every script, and all signs are letters like any other.
pub(super) async fn a_search_finds_text_in_questions_answers_notes_and_reasons(world: World) {
    let option = json!({"label": "Option", "description": "Description", "preview": "Preview"});
    let questions = json!([{"question": "100% of the_files?", "header": "Header", "options": [option]}]);
    let ask = NewAsk { topic: Topic::of_questions(serde_json::from_value(questions).unwrap()), ..new_ask("s__asked") };
    let asked = world.open_new(ask).await;
    let answers = [("100% of the_files?".to_owned(), "Certainly".to_owned())].into_iter().collect();
    let note = "but C:\\not, \"quoted\",\ntwo lines, 日本の猫, it's ÄRGER* AND (ΣΟΦΟΣ) NEAR(a b)";
    let notes = [("100% of the_files?".to_owned(), note.to_owned())].into_iter().collect();
    world.settle(asked.id, Outcome::Answered(Answer { answers, notes, edited: None })).await;
    let dismissed = world.open("s__dismissed").await;
    world.settle(dismissed.id, Outcome::Dismissed { reason: Some("Not today".into()) }).await;
    for (text, expected) in [
        ("100%", &["s__asked"][..]),
        ("0% OF", &["s__asked"]),
        ("the_f", &["s__asked"]),
        ("the%files", &[]),
        ("the.files", &[]),
        ("certain", &["s__asked"]),
        ("c:\\n", &["s__asked"]),
        ("\"QUOTED\",\ntwo", &["s__asked"]),
        ("本の", &["s__asked"]),
        ("猫", &["s__asked"]),
        ("犬", &[]),
        ("%", &["s__asked"]),
        ("_f", &["s__asked"]),
        ("\\", &["s__asked"]),
        ("ärger", &["s__asked"]),
        ("Ärg", &["s__asked"]),
        ("σοφοσ", &["s__asked"]),
        ("r*", &["s__asked"]),
        ("ar*", &[]),
        ("it's", &["s__asked"]),
        ("* and (", &["s__asked"]),
        ("certainly AND but", &[]),
        ("near(a b)", &["s__asked"]),
        ("NEAR(certainly but)", &[]),
        ("\"", &["s__asked"]),
        ("\"\"", &[]),
        ("words:certainly", &[]),
        ("-certainly", &[]),
        ("files?certainly", &[]),
        ("files? certainly", &[]),
        ("?\u{1f}c", &[]),
        ("\u{1f}", &["s__dismissed", "s__asked"]),
        ("", &["s__dismissed", "s__asked"]),
        ("today", &["s__dismissed"]),
        ("not", &["s__dismissed", "s__asked"]),
        ("database", &["s__dismissed"]),
        ("Header", &[]),
        ("Option", &[]),
        ("Description", &[]),
        ("Preview", &[]),
        ("answered", &[]),
    ] {
        let filter = Filter { text: Some(text.into()), ..Filter::all(StateFilter::All, 10) };
        assert_eq!(keys(&world.store.list(filter).await.unwrap().asks), expected, "{text}");
    }
}

/// The projects of all asks are listed once each, in alphabetical order. Those of probes alone are not.
pub(super) async fn projects_are_listed_once_and_without_probes(world: World) {
    for (key, project, origin) in [
        ("s__1", Some("/b"), Origin::Program),
        ("s__2", Some("/a"), Origin::ClaudeCode),
        ("s__3", Some("/b"), Origin::ClaudeCode),
        ("s__4", None, Origin::Program),
        ("s__5", Some("/probe"), Origin::Probe),
    ] {
        world.open_new(NewAsk { project: project.map(Into::into), origin, ..new_ask(key) }).await;
    }
    assert_eq!(world.store.projects().await.unwrap(), ["/a", "/b"]);
}

/// A directory with the longest path that a system allows can ask, and is found again.
pub(super) async fn a_very_long_project_is_kept_and_found(world: World) {
    // Names that cannot be packed into less room.
    let name = |n: u64| format!("/{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut project: String = (1..300).map(name).collect();
    project.truncate(4096);
    assert_eq!(project.len(), 4096);
    let ask = world.open_new(NewAsk { project: Some(project.clone()), ..new_ask("s__t") }).await;
    world.settle(ask.id, answered("SQLite")).await;
    for wanted in [project.clone(), project[..2000].to_owned()] {
        let filter = Filter { project: Some(wanted.clone()), ..Filter::all(StateFilter::All, 10) };
        let found: Vec<_> = world.store.list(filter).await.unwrap().asks.iter().map(|ask| ask.id).collect();
        assert_eq!(found.len(), usize::from(wanted == project));
    }
}

/// A list of one host shows its asks and no others, open and settled ones, with and without other fields of the filter. Probes are shown
/// only on demand.
pub(super) async fn a_list_of_a_host_shows_its_asks_alone(mut world: World) {
    let settled = async |world: &World, key: &str, origin| {
        let ask = world.open_new(NewAsk { origin, ..new_ask(key) }).await;
        world.settle(ask.id, answered("SQLite")).await;
    };
    settled(&world, "one__here", Origin::ClaudeCode).await;
    settled(&world, "doctor__here", Origin::Probe).await;
    world.reopen_as("there").await;
    settled(&world, "one__there", Origin::ClaudeCode).await;
    settled(&world, "two__there", Origin::Program).await;
    world.open("two__open").await;
    let list = async |host: &str, state, change: &dyn Fn(&mut Filter)| {
        let mut filter = Filter { host: Some(host.into()), ..Filter::all(state, 10) };
        change(&mut filter);
        let asks = world.store.list(filter).await.unwrap().asks;
        assert!(asks.iter().all(|ask| ask.host.as_str() == host));
        asks.iter().map(|ask| ask.key.to_string()).collect::<Vec<_>>()
    };
    use StateFilter::{All, Open, Settled};
    assert_eq!(list("here", All, &|_| {}).await, ["one__here"]);
    assert_eq!(list("there", All, &|_| {}).await, ["two__open", "two__there", "one__there"]);
    assert_eq!(list("there", Open, &|_| {}).await, ["two__open"]);
    assert_eq!(list("there", Settled, &|_| {}).await, ["two__there", "one__there"]);
    assert_eq!(list("there", All, &|filter| filter.session = Some("one".into())).await, ["one__there"]);
    assert_eq!(list("there", All, &|filter| filter.text = Some("sqlite".into())).await, ["two__there", "one__there"]);
    assert_eq!(list("there", All, &|filter| filter.text = Some("postgres".into())).await, [""; 0]);
    assert_eq!(list("here", All, &|filter| filter.probes = true).await, ["doctor__here", "one__here"]);
    assert_eq!(list("THERE", All, &|_| {}).await, [""; 0]);
    let page = Filter { host: Some("there".into()), ..Filter::all(All, 2) };
    let first = world.store.list(page.clone()).await.unwrap();
    let second = world.store.list(Filter { before: first.next, ..page }).await.unwrap();
    assert_eq!((keys(&first.asks), keys(&second.asks)), (vec!["two__open", "two__there"], vec!["one__there"]));
    assert_eq!(second.next, None);
}

/// Every host that has asks is listed once with its own projects. A host whose asks are of no project is listed, and one that has only
/// probes is not.
pub(super) async fn a_project_is_the_same_one_only_on_the_same_host(mut world: World) {
    for (host, key, project, origin) in [
        ("there", "s__1", Some("/shop"), Origin::ClaudeCode),
        ("there", "s__2", Some("/site"), Origin::Program),
        ("there", "s__3", Some("/shop"), Origin::ClaudeCode),
        ("bare", "s__4", None, Origin::Program),
        ("tested", "s__5", Some("/probe"), Origin::Probe),
        ("here", "s__6", Some("/shop"), Origin::ClaudeCode),
    ] {
        world.reopen_as(host).await;
        let ask = world.open_new(NewAsk { project: project.map(Into::into), origin, ..new_ask(key) }).await;
        // Those of other hosts are settled. A store may give open asks to the daemon that opens it.
        if host != "here" {
            world.settle(ask.id, Outcome::Released).await;
        }
    }
    let hosts = world.store.hosts().await.unwrap();
    let found: Vec<_> = hosts.iter().map(|found| (found.host.as_str(), found.projects.join(" "))).collect();
    let expected = [("bare", ""), ("here", "/shop"), ("there", "/shop /site")];
    assert_eq!(found, expected.map(|(host, projects)| (host, projects.to_owned())));
    assert_eq!(world.store.projects().await.unwrap(), ["/shop", "/site"]);
}

/// A purge forgets the asks that were settled before a time. Open asks are never forgotten, however old, and cursors go on.
pub(super) async fn old_asks_are_forgotten_open_ones_never_and_cursors_go_on(world: World) {
    let now = Timestamp::now();
    let long_ago = now - SignedDuration::from_hours(48);
    for key in ["s__old", "s__recent", "s__open"] {
        let opened = world.store.open_ask(Arc::new(new_ask(key)), long_ago, 64).await.unwrap();
        let Opened::New(opened) = opened else { panic!("not new") };
        let at = if key == "s__old" { long_ago } else { now };
        if key != "s__open" {
            let settlement = Settlement { at, ..settlement(Outcome::Released) };
            world.store.settle(opened.id, settlement).await.unwrap();
        }
    }
    let newest = world.published().last().unwrap().cursor;
    assert_eq!(world.store.purge(now - SignedDuration::from_hours(24)).await.unwrap(), 1);
    let filter = Filter::all(StateFilter::All, 10);
    let left = world.store.list(filter).await.unwrap().asks;
    assert_eq!(keys(&left), ["s__open", "s__recent"]);
    world.open("s__next").await;
    assert!(world.published().last().unwrap().cursor > newest);
}

/// A store that is too large forgets the asks that were settled first, until it is small enough. Open asks are never forgotten.
pub(super) async fn too_much_is_forgotten_the_oldest_first_and_open_asks_never(world: World) {
    const MB: u64 = 1_000_000;
    let question = json!([{"question": "Which?", "options": [{"label": "A", "preview": "x".repeat(200_000)}]}]);
    let now = whole_milliseconds(Timestamp::now());
    for n in 0..40 {
        let topic = Topic::of_questions(serde_json::from_value(question.clone()).unwrap());
        let ask = world.open_new(NewAsk { topic, ..new_ask(&format!("s{n}__t")) }).await;
        if n > 0 {
            let at = now + SignedDuration::from_secs(n);
            world.store.settle(ask.id, Settlement { at, ..settlement(Outcome::Released) }).await.unwrap();
        }
    }
    let left = async || {
        let (mut numbers, mut before) = (Vec::new(), None);
        loop {
            let page = world.store.list(Filter { before, ..Filter::all(StateFilter::All, 100) }).await.unwrap();
            numbers.extend(page.asks.iter().map(|ask| ask.key.session()[1..].parse::<i64>().unwrap()));
            before = page.next;
            if before.is_none() {
                return numbers;
            }
        }
    };
    assert_eq!(world.store.shrink(100 * MB).await.unwrap(), 0);
    assert_eq!(left().await.len(), 40);
    let forgotten = i64::try_from(world.store.shrink(5 * MB).await.unwrap()).unwrap();
    assert!((14..=32).contains(&forgotten), "{forgotten}");
    let expected: Vec<_> = (forgotten + 1..40).rev().chain([0]).collect();
    assert_eq!(left().await, expected);
    world.store.shrink(0).await.unwrap();
    assert_eq!(left().await, [0]);
}

/// What is kept for searches does not count. It is forgotten later than the asks, and must not make the store forget more of them.
pub(super) async fn what_is_searched_makes_a_store_forget_no_more(world: World) {
    let now = whole_milliseconds(Timestamp::now());
    for n in 0..200 {
        // Words that no other ask has.
        let text: String =
            (0..400).map(|word: i64| format!("{:09} ", (1000 * n + word) * 7_919_993 % 999_999_937)).collect();
        let questions = json!([{"question": text, "options": [{"label": "A"}]}]);
        let topic = Topic::of_questions(serde_json::from_value(questions).unwrap());
        let ask = world.open_new(NewAsk { topic, ..new_ask(&format!("s{n}__t")) }).await;
        let at = now + SignedDuration::from_secs(n);
        world.store.settle(ask.id, Settlement { at, ..settlement(Outcome::Released) }).await.unwrap();
    }
    let forgotten = world.store.shrink(500_000).await.unwrap();
    assert!((60..=120).contains(&forgotten), "{forgotten}");
}

/// The store knows when its oldest settled ask was settled. Open asks do not count.
pub(super) async fn the_oldest_settlement_is_known(world: World) {
    let now = whole_milliseconds(Timestamp::now());
    assert_eq!(world.store.oldest_settled().await.unwrap(), None);
    for hours in [3, 5, 1] {
        let at = now - SignedDuration::from_hours(hours);
        let id = world.open(&format!("s__{hours}")).await.id;
        world.store.settle(id, Settlement { at, ..settlement(Outcome::Released) }).await.unwrap();
    }
    world.store.open_ask(Arc::new(new_ask("s__open")), now - SignedDuration::from_hours(9), 64).await.unwrap();
    assert_eq!(world.store.oldest_settled().await.unwrap(), Some(now - SignedDuration::from_hours(5)));
}
