//! A running daemon keeps working when somebody removes its files, or ends if its directory is gone.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::world::{ANSWERBACK, World, call, question, signal, until};

#[test]
fn a_removed_socket_is_created_again() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let (waiting, before) = world.ask("s", "before", &[question("Which?")]);
    for name in ["daemon.sock", "daemon.json"] {
        fs::remove_file(world.state(name)).unwrap();
        let (hook, key) = world.ask("s", name, &[question("Which?")]);
        world.answer(&key, &json!({"Which?": "A"})).expect(200);
        assert_eq!(hook.reply()["permissionDecision"], "allow", "{name}");
        assert_eq!(world.daemon_pid(), daemon.id(), "{name}");
    }
    let status = world.command(ANSWERBACK).arg("status").output().unwrap();
    assert!(status.status.success(), "{status:?}");
    world.answer(&before, &json!({"Which?": "A"})).expect(200);
    assert_eq!(waiting.reply()["permissionDecision"], "allow");
    world.stop_daemon(&mut daemon);
    assert!(!world.state("daemon.sock").exists() && !world.state("daemon.json").exists());
}

#[test]
fn a_removed_socket_is_created_again_once_its_place_is_free() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    fs::remove_file(world.state("daemon.sock")).unwrap();
    fs::create_dir(world.state("daemon.sock")).unwrap();
    until("the daemon to notice", || world.log().contains("the removed file cannot be created again").then_some(()));
    let stop = world.command(ANSWERBACK).arg("stop").output().unwrap();
    assert!(!stop.status.success(), "{stop:?}");
    fs::remove_dir(world.state("daemon.sock")).unwrap();
    until("the socket", || world.command(ANSWERBACK).arg("status").output().unwrap().status.success().then_some(()));
    assert_eq!(world.daemon_pid(), daemon.id());
    world.stop_daemon(&mut daemon);
}

#[test]
fn a_daemon_whose_directory_is_removed_ends_and_leaves_the_next_ones_files_alone() {
    let mut world = World::new();
    let mut first = world.daemon();
    // The daemon is stopped, so that another one can take its place unnoticed.
    signal(first.id(), Signal::STOP);
    fs::remove_dir_all(world.state("")).unwrap();
    let mut second = world.daemon();
    signal(first.id(), Signal::CONT);
    assert!(world.until_ended(&mut first).success());
    assert_eq!(world.daemon_pid(), second.id());
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
    world.stop_daemon(&mut second);
}

#[test]
fn a_hook_that_waits_goes_to_the_next_daemon_when_the_directory_is_removed() {
    let mut world = World::new();
    let mut first = world.daemon();
    let waiting = world.hook(&call("s", "t", &[question("Which?")]));
    world.until_open("s__t");
    fs::remove_dir_all(world.state("")).unwrap();
    assert!(world.until_ended(&mut first).success());
    until("another daemon", || world.daemon_json()?["pid"].as_u64().filter(|pid| *pid != u64::from(first.id())));
    world.until_open("s__t");
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
    assert_eq!(waiting.reply()["permissionDecision"], "allow");
}
