//! A daemon that hangs, or cannot start: no command waits for it for ever, and each says what to do.

use std::fs;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::world::{ANSWERBACK, Hook, World, question, signal, until};

/// Every call to the daemon takes three seconds at most, and no command makes more than a few.
const SOON: Duration = Duration::from_secs(15);

/// However it ended; a command that does not end is killed, which is no end of its own.
fn run(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.command(ANSWERBACK);
    Hook::start(command.args(arguments)).finish()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn no_command_hangs() {
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    signal(pid, Signal::STOP);
    let commands: &[&[&str]] = &[
        &["status"],
        &["pending"],
        &["history"],
        &["answer", "Yes"],
        &["dismiss"],
        &["release"],
        &["devices"],
        &["open", "--print"],
        &["ask", "Which?", "-o", "A"],
        &["resume"],
        &["pair"],
        &["phone"],
    ];
    thread::scope(|scope| {
        for arguments in commands {
            let world = &world;
            scope.spawn(move || {
                let started = Instant::now();
                let output = run(world, arguments);
                assert!(started.elapsed() < SOON, "{arguments:?} took {:?}", started.elapsed());
                assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
                let said = stderr(&output);
                assert!(
                    said.contains("does not answer") && said.contains("answerback restart"),
                    "{arguments:?}: {said}"
                );
            });
        }
        let world = &world;
        scope.spawn(move || {
            let started = Instant::now();
            let output = run(world, &["doctor"]);
            assert!(started.elapsed() < SOON * 2, "doctor took {:?}", started.elapsed());
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("does not answer") && said.contains("answerback restart"), "{said}");
        });
        scope.spawn(move || {
            let output = run(world, &["status", "--json"]);
            let status: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(
                (&status["running"], &status["answers"], &status["pid"]),
                (&json!(true), &json!(false), &json!(pid))
            );
            assert_eq!(output.status.code(), Some(1));
        });
    });
    signal(pid, Signal::CONT);
}

#[test]
fn restart_and_stop_end_a_daemon_that_hangs() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    signal(daemon.id(), Signal::STOP);
    let output = run(&world, &["restart"]);
    assert!(output.status.success() && stderr(&output).contains("was ended"), "{output:?}");
    daemon.wait().unwrap();
    world.until_open(&key);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");

    let second = world.daemon_pid();
    signal(second, Signal::STOP);
    let output = run(&world, &["stop"]);
    assert!(output.status.success() && stderr(&output).contains("was ended"), "{output:?}");
    assert_eq!(run(&world, &["status"]).status.code(), Some(6));
}

#[test]
fn nobody_is_signalled_who_is_not_the_daemon() {
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    signal(pid, Signal::STOP);
    // Somebody else's number: this test's own.
    let mut published = world.daemon_json().unwrap();
    published["pid"] = json!(std::process::id());
    fs::write(world.state("daemon.json"), published.to_string()).unwrap();
    let output = run(&world, &["restart"]);
    assert!(!output.status.success() && stderr(&output).contains("not the one that daemon.json names"), "{output:?}");
    assert!(stderr(&output).contains(&format!("kill -9 {pid}")), "{output:?}");
    signal(pid, Signal::CONT);
    world.get("/healthz").expect(200);
}

#[test]
fn restart_ends_a_daemon_whose_disk_hangs() {
    let mut world = World::new();
    let faults = Faults::new(world.home());
    let mut daemon = world.daemon_with(|daemon| faults.prepare(daemon));
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    // Longer than anybody waits for a store.
    faults.fail_syncs(Errno::IO, 60_000);
    let output = run(&world, &["answer", "A"]);
    let said = stderr(&output);
    assert!(!output.status.success() && said.contains("not known whether this was done"), "{said}");
    let output = run(&world, &["restart"]);
    assert!(output.status.success(), "{output:?}");
    world.until_ended(&mut daemon);
    // It was not known whether it was saved. Now it is: the same answer counts either way.
    until("the answer", || (world.answer(&key, &json!({"Which?": "A"})).status == 200).then_some(()));
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}

#[test]
fn a_question_with_a_time_limit_ends_with_a_daemon_that_hangs() {
    let mut world = World::new();
    drop(world.daemon());
    let mut command = world.command(ANSWERBACK);
    let asking = Hook::start(command.args(["ask", "Which?", "--timeout", "2s"]));
    until("the question", || {
        let open = world.get("/v1/asks").json()["asks"].as_array().unwrap().len();
        (open == 1).then_some(())
    });
    signal(world.daemon_pid(), Signal::STOP);
    let output = asking.finish();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stderr(&output).contains("answerback restart"), "{output:?}");
    signal(world.daemon_pid(), Signal::CONT);
}

#[test]
fn restart_checks_what_else_would_keep_a_daemon_from_starting() {
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    let tokens = fs::read(world.state("tokens.json")).unwrap();
    fs::write(world.state("tokens.json"), "garbage").unwrap();
    let output = run(&world, &["restart"]);
    assert!(!output.status.success() && stderr(&output).contains("tokens.json is damaged"), "{output:?}");
    fs::write(world.state("tokens.json"), tokens).unwrap();
    let config = world.home().join(".config/answerback/config.toml");
    for mode in [0o664, 0o660, 0o666] {
        fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let output = run(&world, &["restart"]);
        assert!(!output.status.success() && stderr(&output).contains("chmod go-w"), "{mode:o}: {output:?}");
    }
    fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let other = rusqlite::Connection::open(world.state("asks.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let output = run(&world, &["restart"]);
    assert!(!output.status.success() && stderr(&output).contains("database is locked"), "{output:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(world.daemon_pid(), pid);
    world.get("/healthz").expect(200);
    assert!(run(&world, &["restart"]).status.success());
}

#[test]
fn restart_checks_before_it_stops_anything() {
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    world.write_config("port = 0\nno_such_key = 1\n");
    let output = run(&world, &["restart"]);
    let said = stderr(&output);
    assert!(!output.status.success() && said.contains("no_such_key") && said.contains("left as it is"), "{said}");
    world.get("/healthz").expect(200);
    assert_eq!(world.daemon_pid(), pid);
    // Stopped, it would not start again, and that is what `status` says.
    assert!(run(&world, &["stop"]).status.success());
    let output = run(&world, &["status"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(6) && said.contains("cannot start") && said.contains("no_such_key"), "{said}");
    let output = run(&world, &["status", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(status["start_error"].as_str().unwrap().contains("no_such_key"), "{status}");
    world.write_config("port = 0\n");
    let output = run(&world, &["status"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("The next question starts it"), "{output:?}");
}
