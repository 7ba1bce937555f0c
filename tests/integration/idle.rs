//! Waiting costs nothing.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::world::{World, call, question};

#[test]
fn parked_questions_wake_nobody() {
    let mut world = World::new();
    // Over sessions, because one session may only have so many.
    let hooks: Vec<_> =
        (0..120).map(|n| world.hook(&call(&format!("s{}", n / 60), &format!("t{n}"), &[question("Which?")]))).collect();
    for n in 0..hooks.len() {
        world.until_open(&format!("s{}__t{n}", n / 60));
    }
    let pid = world.daemon_pid();
    let wakeups = || -> Vec<u64> {
        let mut counts = Vec::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap();
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            counts.push(count.unwrap().trim().parse().unwrap());
        }
        counts
    };
    // Connections of the polls above are closed when their header timeout passes; after that there is nothing left to do.
    // The time itself is tested here.
    thread::sleep(Duration::from_secs(11));
    let before = wakeups();
    thread::sleep(Duration::from_secs(2));
    assert_eq!(wakeups(), before);
    drop(hooks);
}

#[test]
fn too_many_questions_of_one_session_are_left_to_the_terminal() {
    let mut world = World::new();
    let hooks: Vec<_> = (0..64).map(|n| world.hook(&call("s", &format!("t{n}"), &[question("Which?")]))).collect();
    for n in 0..hooks.len() {
        world.until_open(&format!("s__t{n}"));
    }
    world.hook(&call("s", "t64", &[question("Which?")])).no_decision();
    let (_hook, _) = world.ask("other", "t", &[question("Which?")]);
}
