//! If the daemon, its store or its disk is stuck, Claude Code opens its own dialog within two seconds. Each test is one such case.

use std::fs;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::world::{HOOK, IN_TIME, World, call, copy_program, question, signal, until};

/// How often each case is tried. `ANSWERBACK_ROUNDS` asks for more, to measure.
const ROUNDS: usize = 3;

fn rounds() -> usize {
    std::env::var("ANSWERBACK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// Runs a hook for each call, prints how long the dialog took to come, and checks that it came in time.
#[track_caller]
fn opens_the_dialog(world: &mut World, what: &str, calls: impl Fn(usize) -> Value) {
    let times = (0..rounds()).map(|round| time_to_the_dialog(world, &calls(round))).collect();
    in_time(what, times);
}

#[track_caller]
fn time_to_the_dialog(world: &mut World, call: &Value) -> Duration {
    let hook = world.hook(call);
    let started = hook.started;
    hook.no_decision();
    started.elapsed()
}

#[track_caller]
fn in_time(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (middle, longest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("time to the dialog, {what}: p50 {middle:.2?}, max {longest:.2?} of {}", times.len());
    // The median counts, because a busy machine may delay any single process.
    assert!(middle < IN_TIME, "{what}: {middle:?}");
}

fn small(round: usize) -> Value {
    call("s", &format!("t{round}"), &[question("Which?")])
}

/// Nearly as large as a call may be.
fn large(round: usize) -> Value {
    let mut large = small(round);
    large["tool_input"]["metadata"] = json!("x".repeat(900_000));
    large
}

fn session_end(_: usize) -> Value {
    let mut end = small(0);
    end["hook_event_name"] = json!("SessionEnd");
    end
}

#[test]
fn no_daemon_program() {
    let mut world = World::new();
    let alone = world.home().join("answerback-hook");
    copy_program(HOOK, &alone);
    let times = (0..rounds()).map(|round| {
        let hook = world.hook_of(&alone, small(round).to_string().as_bytes());
        let started = hook.started;
        hook.no_decision();
        started.elapsed()
    });
    in_time("no daemon program", times.collect());
}

#[test]
fn a_frozen_daemon() {
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    signal(pid, Signal::STOP);
    opens_the_dialog(&mut world, "a frozen daemon, 1 kB", small);
    opens_the_dialog(&mut world, "a frozen daemon, 900 kB", large);
    opens_the_dialog(&mut world, "a frozen daemon, the end of a session", session_end);
    signal(pid, Signal::CONT);
}

#[test]
fn a_store_that_another_program_has_locked() {
    let mut world = World::new();
    drop(world.daemon());
    let other = rusqlite::Connection::open(world.state("asks.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    opens_the_dialog(&mut world, "a locked store", small);
    // The reply to a person says why.
    let refused = world.post("/v1/asks", &json!({"questions": [question("Which?")]})).expect(503).json();
    assert!(refused["title"].as_str().unwrap().contains("database is locked"), "{refused}");
    other.execute_batch("ROLLBACK").unwrap();
    // The questions that could not be stored in time have no hook now, and do not stay in the list.
    until("nothing to be open", || {
        let open = world.get("/v1/asks").json()["asks"].as_array().unwrap().len();
        (open == 0).then_some(())
    });
    let (hook, key) = world.ask("s", "later", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}

#[test]
fn a_disk_that_takes_long_and_then_fails() {
    // Each round needs another daemon, because a daemon that cannot trust its disk ends.
    let times = (0..rounds()).map(|round| {
        let mut world = World::new();
        let faults = Faults::new(world.home());
        drop(world.daemon_with(|daemon| faults.prepare(daemon)));
        faults.fail_syncs(Errno::IO, 1200);
        time_to_the_dialog(&mut world, &small(round))
    });
    in_time("a sync that takes 1.2 s and fails", times.collect());
}

#[test]
fn an_answer_to_a_question_that_a_slow_disk_has_stored_too_late_is_refused() {
    let mut world = World::new();
    let faults = Faults::new(world.home());
    drop(world.daemon_with(|daemon| faults.prepare(daemon)));
    for round in 0..rounds() {
        faults.delay_one_sync(2500);
        world.hook(&small(round)).no_decision();
        let answer = || world.answer(&format!("s__t{round}"), &json!({"Which?": "A"}));
        let reply = until("the question", || Some(answer()).filter(|reply| reply.status != 404)).expect(410).json();
        assert_eq!(reply["ask"]["outcome"]["kind"], "withdrawn", "{reply}");
    }
}

#[test]
fn a_full_disk() {
    let mut world = World::new();
    let faults = Faults::new(world.home());
    drop(world.daemon_with(|daemon| faults.prepare(daemon)));
    let (waiting, _) = world.ask("s", "before", &[question("Which?")]);
    faults.fail_writes(Errno::NOSPC);
    opens_the_dialog(&mut world, "a full disk", small);
    opens_the_dialog(&mut world, "a full disk, the end of a session", session_end);
    // The earlier question is still open, and the daemon does not claim that its answer is saved.
    let reply = world.answer("s__before", &json!({"Which?": "A"}));
    assert_eq!(reply.status, 503, "{}", reply.json());
    faults.heal();
    world.answer("s__before", &json!({"Which?": "A"})).expect(200);
    assert_eq!(waiting.reply()["permissionDecision"], "allow");
}

#[test]
fn a_state_directory_that_cannot_be_written() {
    let mut world = World::new();
    fs::create_dir_all(world.state("")).unwrap();
    fs::set_permissions(world.state(""), std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    // Root may write in spite of the mode. So if this test runs as root, the hook runs as nobody, in a home that belongs to nobody.
    if rustix::process::geteuid().is_root() {
        world.give_to_nobody();
    }
    let times = (0..rounds()).map(|round| {
        let mut command = world.command(HOOK);
        if rustix::process::geteuid().is_root() {
            command.uid(crate::world::NOBODY).gid(crate::world::NOBODY);
        }
        let hook = world.hook_with(command, small(round).to_string().as_bytes());
        let started = hook.started;
        let output = hook.no_decision();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("Permission denied"), "{stderr}");
        started.elapsed()
    });
    in_time("a read-only state directory", times.collect());
}

#[test]
fn the_maximum_number_of_questions() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    world.stop_daemon(&mut daemon);
    let mut store = rusqlite::Connection::open(world.state("asks.db")).unwrap();
    let insert = store.transaction().unwrap();
    for number in 0..10_000 {
        let key = format!("program-{number}__q");
        insert
            .execute(
                "INSERT INTO asks (key, session, origin, questions, detail, opened_at, on_timeout)
                 VALUES (?1, ?2, 'program', '[{\"question\":\"Which?\"}]', '', ?3, 'native')",
                (&key, format!("program-{number}"), number),
            )
            .unwrap();
    }
    insert.commit().unwrap();
    drop(store);
    drop(world.daemon());
    opens_the_dialog(&mut world, "the 10,001st question", small);
}
