//! Waiting costs nothing.

use crate::threads::until_quiet;
use crate::world::{World, call, question};

#[test]
fn parked_questions_wake_nobody() {
    let mut world = World::new();
    drop(world.daemon());
    // Over sessions, because one session may only have so many.
    let hooks: Vec<_> =
        (0..120).map(|n| world.hook(&call(&format!("s{}", n / 60), &format!("t{n}"), &[question("Which?")]))).collect();
    for n in 0..hooks.len() {
        world.until_open(&format!("s{}__t{n}", n / 60));
    }
    // The polls above have left connections with a time limit. When they are gone, there is nothing left to wake for.
    until_quiet(world.daemon_pid());
    // A daemon that has lost its questions is quiet too.
    assert_eq!(world.get("/v1/asks").json()["asks"].as_array().unwrap().len(), hooks.len());
    assert!(hooks.into_iter().all(|mut hook| hook.is_waiting()));
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
