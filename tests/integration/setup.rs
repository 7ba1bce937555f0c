//! How far a newcomer has come.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{ANSWERBACK, HOOK, World, question};

fn setup(world: &World) -> Value {
    world.get("/v1/setup").expect(200).json()
}

fn reached(world: &World) -> (bool, bool) {
    let setup = setup(world);
    (setup["hook"].as_bool().unwrap(), setup["answered"].as_bool().unwrap())
}

fn run(world: &World, args: &[&str]) {
    let output = world.command(ANSWERBACK).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_demo_can_be_answered_but_only_an_agent_proves_the_hook() {
    let mut world = World::new();
    drop(world.daemon());
    assert_eq!(setup(&world), json!({"hook": false, "answered": false, "notify": [], "lan": false}));
    run(&world, &["doctor", "--round-trip"]);
    assert_eq!(reached(&world), (false, false), "after the doctor");
    run(&world, &["demo"]);
    assert_eq!(reached(&world), (false, false), "after the demo");
    run(&world, &["answer", "-a", "Database=SQLite", "-a", "Scope=Tests"]);
    assert_eq!(reached(&world), (false, true), "after the answer");
    // A call that asks nothing proves it, too.
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"});
    world.hook_of(HOOK, stop.to_string().as_bytes()).no_decision();
    assert_eq!(reached(&world), (true, true), "after a call");
}

#[test]
fn what_was_reached_stays_so_after_a_restart_and_without_history() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(reached(&world), (true, false));
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    hook.reply();
    assert_eq!(reached(&world), (true, true));
    let pid = world.kill_daemon();
    let store = Connection::open(world.state("asks.db")).unwrap();
    store.execute_batch("PRAGMA foreign_keys = ON; DELETE FROM asks").unwrap();
    drop(store);
    drop(world.daemon());
    assert_ne!(world.daemon_pid(), pid);
    assert_eq!(reached(&world), (true, true));
}

#[test]
fn the_ways_of_notification_and_the_network_are_named() {
    let mut world = World::with_config(
        "lan_address = \"0.0.0.0:0\"\n[notify.desktop]\ncommand = [\"true\"]\n\
         [notify.ntfy]\nurl = \"https://ntfy.example/topic\"\n[notify.webhook]\nurl = \"http://127.0.0.1:9/\"\n",
    );
    drop(world.daemon());
    let setup = setup(&world);
    assert_eq!(setup["notify"], json!(["desktop", "ntfy", "webhook"]));
    assert_eq!(setup["lan"], true);
}

#[test]
fn a_store_of_an_older_version_tells_how_far_somebody_came() {
    // No person has answered the open one, and the others are of the demo.
    let demo = "UPDATE asks SET session = 'demo-1'; UPDATE asks SET settled_by = '{\"channel\":\"away\"}'";
    for (dump, change, expected) in [
        (include_str!("../data/store-v1.sql"), "", (true, true)),
        (include_str!("../data/store-v7.sql"), "", (true, true)),
        (include_str!("../data/store-v7.sql"), demo, (false, false)),
        (include_str!("../data/store-v7.sql"), "UPDATE asks SET outcome = '{\"kind\":\"released\"}'", (true, false)),
        (include_str!("../data/store-v7.sql"), "UPDATE asks SET session = 'demo-1'", (false, true)),
        (include_str!("../data/store-v7.sql"), "UPDATE asks SET origin = 'probe'", (false, false)),
    ] {
        let mut world = World::new();
        answerback_hook::start::create_state_dir(&world.state("")).unwrap();
        let connection = Connection::open(world.state("asks.db")).unwrap();
        connection.execute_batch(dump).unwrap();
        connection.execute_batch(change).unwrap();
        drop(connection);
        drop(world.daemon());
        assert_eq!(reached(&world), expected, "{change}");
    }
}
