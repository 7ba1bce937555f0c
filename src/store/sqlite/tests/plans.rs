//! How SQLite finds what it is asked for: by an index, in the order of the list, however many asks there are. A condition that no
//! index can help with is only put to what an index has found.

use super::*;
use crate::ask::OutcomeKind;
use crate::store::StateFilter;

fn plan(connection: &Connection, statement: &str) -> String {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    // Values do not matter: no plan depends on them.
    let steps = explain.raw_query().mapped(|row| row.get::<_, String>("detail")).collect::<Result<Vec<_>, _>>();
    steps.unwrap().join("; ")
}

#[tokio::test]
async fn no_filter_reads_or_sorts_the_whole_history() {
    type Change = fn(&mut Filter);
    let session: Change = |filter| filter.session = Some("s".into());
    let project: Change = |filter| filter.project = Some("/p".into());
    let host: Change = |filter| filter.host = Some("there".into());
    let outcome: Change = |filter| filter.outcome = Some(OutcomeKind::Answered);
    let since: Change = |filter| filter.opened_since = Some(Timestamp::UNIX_EPOCH);
    let before: Change = |filter| filter.before = Some(AskId(9));
    let key_end: Change = |filter| filter.key_end = Some("__abcdef".into());
    let short_end: Change = |filter| filter.key_end = Some("abc".into());
    let probes: Change = |filter| filter.probes = true;
    let cases: &[&[Change]] = &[
        &[],
        &[before],
        &[since],
        &[since, before],
        &[session],
        &[session, before],
        &[project, probes],
        &[project, since],
        &[outcome],
        &[project, outcome, since, before],
        &[key_end],
        &[short_end, session],
        &[host],
        &[host, project, since],
    ];
    let world = World::new();
    id(world.open("s__t").await);
    let connection = Connection::open(world.dir.path().join("asks.db")).unwrap();
    schema::configure_any(&connection).unwrap();
    let by_id = |table: &str, bounds: &str| format!("SEARCH {table} USING INTEGER PRIMARY KEY ({bounds})");
    let (between, one) = ("rowid>? AND rowid<?", "rowid=?");
    for changes in cases {
        for state in [StateFilter::Settled, StateFilter::All] {
            let mut filter = Filter::all(state, 10);
            changes.iter().for_each(|change| change(&mut filter));
            let conditions = list::Conditions::of(&connection, &filter).unwrap();
            assert_eq!(plan(&connection, &search::in_order(&conditions)), by_id("asks", between), "{filter:?}");
            // The index proposes asks in the order of the list. The text and the ask are then found by their id.
            for (join, of_host) in [("", String::new()), (search::OF_HOST, format!("; {}", by_id("hosts", one)))] {
                let in_index = plan(&connection, &search::in_index(&conditions, join));
                let then = format!("{of_host}; {}; {}", by_id("texts", one), by_id("asks", one));
                let is_found = in_index.starts_with("SCAN grams VIRTUAL TABLE INDEX") && in_index.ends_with(&then);
                assert!(is_found, "{in_index}");
            }
            let in_hosts = plan(&connection, &search::in_hosts(&conditions));
            assert_eq!(in_hosts, format!("{}; {}", by_id("hosts", between), by_id("asks", one)));
            for table in ["texts", "waiting"] {
                let read = plan(&connection, &search::in_texts(table, &conditions));
                assert_eq!(read, format!("{}; {}", by_id(table, between), by_id("asks", one)));
            }
            // There are at most ten thousand open asks, so these may be sorted.
            let open = plan(&connection, &search::open(&conditions));
            assert!(open.contains("asks USING INDEX asks_open"), "{open}");
        }
    }
}

#[tokio::test]
async fn projects_are_found_without_looking_at_every_ask() {
    let world = World::new();
    let connection = Connection::open(world.dir.path().join("asks.db")).unwrap();
    for statement in [asks::PROJECTS, hosts::PROJECTS] {
        let plan = plan(&connection, statement);
        // Those that wait and those that are open are few, and the first host is the first in its index.
        let few = plan.replace("SCAN waiting", "").replace("SCAN asks USING INDEX asks_open", "");
        let few = few.replacen("SCAN hosts USING COVERING INDEX hosts_project", "", 1);
        assert!(
            ["asks", "texts", "hosts", "next"].iter().all(|table| !few.contains(&format!("SCAN {table}"))),
            "{plan}"
        );
    }
}

#[tokio::test]
async fn a_question_is_opened_by_the_indexes_of_open_asks() {
    let world = World::new();
    let connection = Connection::open(world.dir.path().join("asks.db")).unwrap();
    schema::configure_any(&connection).unwrap();
    let plan = plan(&connection, asks::COUNT_OPEN);
    assert!(plan.contains("asks_open_session"), "{plan}");
}
