//! The commands on a machine that is an edge.

use std::os::unix::fs::MetadataExt;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::companion::Companion;
use crate::faults::Faults;
use crate::fleet::Fleet;
use crate::world::{ANSWERBACK, World, question};

fn run(world: &World, args: &[&str]) -> Output {
    world.command(ANSWERBACK).args(args).output().unwrap()
}

fn findings(edge: &World) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&run(edge, &["doctor", "--json"]).stdout).unwrap();
    report["findings"].as_array().unwrap().clone()
}

#[track_caller]
fn finding<'a>(findings: &'a [Value], check: &str) -> &'a Value {
    findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("{check}: {findings:?}"))
}

#[test]
fn what_is_done_at_the_hub_is_refused_with_its_address() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (_hook, key) = edge.ask("s", "t", &[question("Which?")]);
    for args in [
        &["answer", "A"][..],
        &["dismiss"],
        &["release"],
        &["pair"],
        &["phone"],
        &["away", "Later.", "--for", "1h"],
        &["back"],
        &["history"],
        &["devices"],
        &["people"],
        &["people", "add", "Anna", "--role", "view"],
        &["hosts"],
        &["host", "add", "x"],
    ] {
        let output = run(&edge, args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(&fleet.url), "{args:?}: {said}");
    }
    let opened = run(&edge, &["open", "--print"]);
    assert_eq!(String::from_utf8_lossy(&opened.stdout).trim(), fleet.url);
    // Programs get the same over the API.
    let body = json!({"answers": {"Which?": "A"}});
    let problem = edge.post(&format!("/v1/asks/{key}/answer"), &body).expect(409).json();
    assert_eq!(problem["type"], "urn:answerback:problem:at-hub");
    assert!(problem["hint"].as_str().unwrap().contains(&fleet.url), "{problem}");
    edge.get("/v1/asks?state=settled").expect(409);
    edge.assert_open(&key);
    let pending = run(&edge, &["pending"]);
    assert!(String::from_utf8_lossy(&pending.stdout).contains("Which?"), "{pending:?}");
}

#[test]
fn status_and_doctor_know_the_hub() {
    let fleet = Fleet::new();
    let edge = fleet.linked_edge("build-1");
    assert_eq!(edge.state("host.json").metadata().unwrap().mode() & 0o777, 0o600);
    let status: Value = serde_json::from_slice(&run(&edge, &["status", "--json"]).stdout).unwrap();
    assert_eq!(status["hub"], json!({"url": fleet.url, "host": "build-1", "linked": true}));
    let said = String::from_utf8(run(&edge, &["status"]).stdout).unwrap();
    assert!(said.contains(&format!("build-1 at {}", fleet.url)), "{said}");

    let found = findings(&edge);
    for check in ["hub", "hub_version", "round_trip"] {
        assert_eq!(finding(&found, check)["level"], "ok", "{found:?}");
    }
    // The doctor does not take the place of the daemon.
    let status: Value = serde_json::from_slice(&run(&edge, &["status", "--json"]).stdout).unwrap();
    assert_eq!(status["hub"]["linked"], true, "{status}");

    fleet.close();
    fleet.until_not_linked("build-1");
    let found = findings(&edge);
    assert_eq!(finding(&found, "hub")["level"], "error", "{found:?}");
    assert_eq!(finding(&found, "round_trip")["level"], "error", "{found:?}");
    let said = String::from_utf8(run(&edge, &["status"]).stdout).unwrap();
    assert!(said.contains("no link"), "{said}");
    fleet.reopen();
    fleet.until_linked("build-1");
    fleet.run(&["hosts", "revoke", "build-1"]);
    let hub = findings(&edge);
    let hub = finding(&hub, "hub");
    assert!(hub["message"].as_str().unwrap().contains("does not know the host token"), "{hub}");
}

#[test]
fn an_edge_without_a_token_says_what_to_run() {
    let edge = World::with_config("hub = \"https://answers.example.org\"\n");
    let output = run(&edge, &["daemon"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("answerback join https://answers.example.org"), "{said}");
    let found = findings(&edge);
    let hub = finding(&found, "hub");
    assert!(hub["fix"].as_str().unwrap().contains("answerback join"), "{hub}");
}

#[test]
fn a_hub_is_stopped_whatever_other_machines_ask() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (_hook, key) = edge.ask("s", "t", &[question("Which?")]);
    fleet.run(&["stop"]);
    // Nothing was released: the next daemon of the hub has the question.
    fleet.run(&["pending"]);
    fleet.hub.assert_open(&key);
    let output = edge.command(ANSWERBACK).args(["stop", "--release"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("only the hub can hand them back"), "{output:?}");
}

#[test]
fn a_machine_that_cannot_join_keeps_the_token_that_it_has() {
    let fleet = Fleet::new();
    let edge = fleet.edge("build-1");
    let before = std::fs::read(edge.state("host.json")).unwrap();
    let config = edge.home().join(".config/answerback/config.toml");
    let joined = std::fs::read_to_string(&config).unwrap();
    // What is asked is kept in PostgreSQL or at a hub, not both.
    std::fs::write(&config, "store = \"postgres://me@db.example.org/answers\"\n").unwrap();
    let token = fleet.token("build-2");
    let output = crate::fleet::join(&edge, &[&fleet.url, "--ca", fleet.ca.to_str().unwrap()], &token);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(std::fs::read(edge.state("host.json")).unwrap(), before);
    // A key between quotes is the same key.
    std::fs::write(&config, joined.replace("hub = ", "\"hub\" = ")).unwrap();
    fleet.join(&edge, &token);
    let after = std::fs::read_to_string(&config).unwrap();
    assert_eq!(after.matches("hub").count(), joined.matches("hub").count(), "{after}");
}

/// The hub's clock counts. A program says how long its answer is of use, and a daemon compares only times of the same clock.
#[test]
fn a_deadline_on_an_edge_is_the_same_whatever_the_clock_of_the_edge_says() {
    const LIMIT: Duration = Duration::from_secs(3);
    for ahead in [90_000, -90_000] {
        let fleet = Fleet::new();
        let mut edge = fleet.edge("build-1");
        drop(edge.daemon_with(|daemon| Faults::set_clock(daemon, ahead)));
        fleet.until_linked("build-1");
        let mut companion = Companion::of_all(&edge);
        let began = Instant::now();
        let output = run(&edge, &["ask", "Which?", "--timeout", &format!("{}s", LIMIT.as_secs())]);
        let waited = began.elapsed();
        assert_eq!(output.status.code(), Some(4), "with a clock {ahead} s ahead, after {waited:?}: {output:?}");
        assert!(waited >= LIMIT, "with a clock {ahead} s ahead, it expired after {waited:?}");
        let left = companion.next_of("ask_user_question")["timeout_seconds"].as_u64().unwrap();
        assert!(left <= LIMIT.as_secs(), "with a clock {ahead} s ahead, {left} s are left");
        // An agent that has just called is there, whatever time it is.
        edge.hook(&json!({"hook_event_name": "UserPromptSubmit", "session_id": "s"})).no_decision();
        let sessions = edge.get("/v1/sessions").expect(200).json();
        assert_eq!(sessions["sessions"][0]["session"], "s", "with a clock {ahead} s ahead: {sessions}");
    }
}
