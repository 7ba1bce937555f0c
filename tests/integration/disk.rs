//! The daemon's reply to an answer is true, even if the disk fails or somebody changes the files.

use std::fs;

use rusqlite::Connection;
use rustix::io::Errno;
use serde_json::json;

use crate::faults::Faults;
use crate::world::{ANSWERBACK, World, call, question, until};

/// The answer to a question in the next daemon, or `None`.
fn answer_after_a_kill(world: &mut World, key: &str) -> Option<String> {
    if world.daemon_json().is_some_and(|json| json["pid"].as_u64().is_some()) {
        world.kill_daemon();
    }
    drop(world.daemon());
    let ask = world.get(&format!("/v1/asks/{key}")).expect(200).json();
    ask["outcome"]["answers"]["Which?"].as_str().map(ToOwned::to_owned)
}

/// Opens a question of a program, which needs no hook that waits.
fn program_asks(world: &World) -> String {
    let ask = world.post("/v1/asks", &json!({"questions": [question("Which?")]})).expect(201).json();
    ask["key"].as_str().unwrap().to_owned()
}

#[test]
fn a_commit_that_fails_for_good_is_not_called_unsaved() {
    let mut world = World::new();
    let faults = Faults::new(world.home());
    let mut daemon = world.daemon_with(|daemon| faults.prepare(daemon));
    let key = program_asks(&world);
    faults.fail_syncs(Errno::IO, 0);
    let refused = world.answer(&key, &json!({"Which?": "A"})).expect(503).json();
    let title = refused["title"].as_str().unwrap();
    assert!(title.starts_with("It is not known whether this was saved"), "{title}");
    // The daemon leaves the file to the next one, which finds out what was saved.
    assert_eq!(world.until_ended(&mut daemon).code(), Some(1));
    let found = answer_after_a_kill(&mut world, &key);
    let second = world.answer(&key, &json!({"Which?": "B"}));
    assert_eq!(second.status, if found.is_some() { 409 } else { 200 }, "{found:?}");
}

#[test]
fn after_a_commit_that_fails_once_the_reply_says_whether_it_was_saved() {
    let mut world = World::new();
    let faults = Faults::new(world.home());
    drop(world.daemon_with(|daemon| faults.prepare(daemon)));
    for round in 0..5 {
        let key = program_asks(&world);
        faults.fail_one_sync(Errno::IO);
        let reply = world.answer(&key, &json!({"Which?": "A"}));
        assert!(faults.has_happened());
        let said = match reply.status {
            200 => Some("A".to_owned()),
            503 => {
                let title = reply.json()["title"].as_str().unwrap().to_owned();
                assert!(title.starts_with("Nothing was saved"), "{title}");
                None
            }
            status => panic!("{status}"),
        };
        // The daemon goes on as before. It takes the same answer again, and another question.
        if said.is_some() {
            world.answer(&key, &json!({"Which?": "A"})).expect(200);
        }
        program_asks(&world);
        world.kill_daemon();
        drop(world.daemon_with(|daemon| faults.prepare(daemon)));
        let ask = world.get(&format!("/v1/asks/{key}")).expect(200).json();
        assert_eq!(ask["outcome"]["answers"]["Which?"].as_str().map(ToOwned::to_owned), said, "round {round}");
    }
}

#[test]
fn files_that_are_removed_replaced_or_cut_are_noticed() {
    type Meddle = fn(&World);
    let cases: [(&str, Meddle); 5] = [
        ("was removed", |world| {
            for name in ["asks.db", "asks.db-wal", "asks.db-shm"] {
                fs::remove_file(world.state(name)).unwrap();
            }
        }),
        ("was removed", |world| fs::remove_file(world.state("asks.db-wal")).unwrap()),
        ("was replaced", |world| {
            fs::copy(world.state("asks.db"), world.state("copy")).unwrap();
            fs::rename(world.state("copy"), world.state("asks.db")).unwrap();
        }),
        ("was truncated", |world| {
            fs::OpenOptions::new().write(true).open(world.state("asks.db-wal")).unwrap().set_len(0).unwrap();
        }),
        ("was truncated", |world| {
            let log = fs::OpenOptions::new().write(true).open(world.state("asks.db-wal")).unwrap();
            log.set_len(log.metadata().unwrap().len() - 4096).unwrap();
        }),
    ];
    for (number, (what, meddle)) in cases.into_iter().enumerate() {
        let mut world = World::new();
        let mut daemon = world.daemon();
        let key = program_asks(&world);
        meddle(&world);
        let reply = world.answer(&key, &json!({"Which?": "A"}));
        assert_eq!(reply.status, 503, "case {number}: {}", reply.json());
        assert!(reply.json()["title"].as_str().unwrap().contains(what), "case {number}: {}", reply.json());
        assert_eq!(world.until_ended(&mut daemon).code(), Some(1), "case {number}");
    }
}

#[test]
fn a_log_that_is_cut_before_a_large_commit_is_noticed_and_the_rest_is_kept() {
    for cut in [4120, 8240, 12_288] {
        let mut world = World::new();
        let mut daemon = world.daemon();
        for _ in 0..20 {
            program_asks(&world);
        }
        let log = fs::OpenOptions::new().write(true).open(world.state("asks.db-wal")).unwrap();
        log.set_len(log.metadata().unwrap().len() - cut).unwrap();
        // The question is so large that SQLite writes to the log before the commit.
        let mut large = call("s", "large", &[question("Which?")]);
        large["tool_input"]["metadata"] = json!("x".repeat(1_000_000));
        world.hook(&large).no_decision();
        assert_eq!(world.until_ended(&mut daemon).code(), Some(1), "{cut}");
        drop(world.daemon());
        let left = world.get("/v1/asks").expect(200).json()["asks"].as_array().unwrap().len();
        assert!((15..=20).contains(&left), "{left} are left after a cut of {cut}");
    }
}

#[test]
fn a_store_that_lost_everything_does_not_become_a_new_one() {
    let mut world = World::new();
    drop(world.daemon());
    program_asks(&world);
    world.kill_daemon();
    // In a new store, everything is still in the log.
    fs::remove_file(world.state("asks.db-wal")).unwrap();
    let refused = world.command(ANSWERBACK).args(["daemon", "--background"]).output().unwrap();
    let said = String::from_utf8(refused.stdout).unwrap();
    assert!(said.contains("remove it to begin anew"), "{said}");
}

#[test]
fn changes_by_another_sqlite_program_are_not_taken_for_damage() {
    let mut world = World::new();
    drop(world.daemon());
    let key = program_asks(&world);
    let other = Connection::open(world.state("asks.db")).unwrap();
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    // The log is empty now, and the same answer changes nothing.
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    let key = program_asks(&world);
    other.execute_batch("CREATE TABLE filler (x); DROP TABLE filler; VACUUM").unwrap();
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(answer_after_a_kill(&mut world, &key).as_deref(), Some("A"));
}

#[test]
fn an_empty_file_in_the_place_of_a_store_is_refused() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    world.stop_daemon(&mut daemon);
    fs::write(world.state("asks.db"), "").unwrap();
    let refused = world.command(ANSWERBACK).arg("daemon").output().unwrap();
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && stderr.contains("remove it to begin anew"), "{stderr}");
    assert_eq!(fs::read(world.state("asks.db")).unwrap(), b"");
    let doctor = String::from_utf8(world.command(ANSWERBACK).arg("doctor").output().unwrap().stdout).unwrap();
    assert!(doctor.contains("is empty, but there was a store before"), "{doctor}");
    world.hook(&call("s", "t", &[question("Which?")])).no_decision();
    fs::remove_file(world.state("asks.db")).unwrap();
    drop(world.daemon());
}

#[test]
fn a_damaged_row_hides_no_other_and_is_found() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let keys: Vec<String> = (0..4).map(|_| program_asks(&world)).collect();
    for key in &keys {
        world.answer(key, &json!({"Which?": "A"})).expect(200);
    }
    world.stop_daemon(&mut daemon);
    let store = Connection::open(world.state("asks.db")).unwrap();
    // One row is no longer valid JSON. In another, a single letter has changed.
    store.execute("UPDATE asks SET outcome = '{\"kind\":' WHERE key = ?1", [&keys[1]]).unwrap();
    store.execute("UPDATE asks SET outcome = replace(outcome, '\"A\"', '\"B\"') WHERE key = ?1", [&keys[2]]).unwrap();
    drop(store);
    drop(world.daemon());
    let list = world.get("/v1/asks?state=settled").expect(200).json();
    let listed: Vec<&str> = list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap()).collect();
    assert_eq!(listed, [keys[3].as_str(), keys[0].as_str()]);
    assert_eq!(list["damaged"], 2);
    world.get("/v1/asks?state=settled&text=Which").expect(200);
    // The next page begins after the damaged rows.
    let page = world.get("/v1/asks?state=settled&limit=2").expect(200).json();
    assert_eq!((page["asks"].as_array().unwrap().len(), &page["damaged"]), (1, &json!(1)));
    let next = world.get(&format!("/v1/asks?state=settled&limit=2&before={}", page["next"])).expect(200).json();
    assert_eq!((next["asks"].as_array().unwrap().len(), &next["next"]), (1, &json!(null)));
    let history = world.command(ANSWERBACK).arg("history").output().unwrap();
    assert!(String::from_utf8_lossy(&history.stderr).contains("2 questions could not be read"), "{history:?}");
    let doctor = world.command(ANSWERBACK).arg("doctor").output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("2 of the questions in it cannot be read any more (id 2, 3)"), "{said}");
    // A row that was changed is never used as an answer.
    let reply = world.get(&format!("/v1/asks/{}", keys[2]));
    assert_eq!(reply.status, 500, "{}", reply.json());
    assert!(reply.json()["hint"].as_str().unwrap().contains("answerback doctor"), "{}", reply.json());
    until("the others", || (world.get(&format!("/v1/asks/{}", keys[3])).status == 200).then_some(()));
}
