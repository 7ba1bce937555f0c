//! `answerback` without a command.

use serde_json::json;

use crate::commands::{exits, run};
use crate::world::{ANSWERBACK, World, question};

#[test]
fn a_newcomer_is_told_what_to_do_next_and_nothing_is_made() {
    let world = World::new();
    let (stdout, stderr) = exits(&run(&world, &[]), 0);
    assert!(stdout.starts_with("No question is open.\n") && stdout.contains("answerback install "), "{stdout}");
    assert!(stdout.contains("answerback demo") && stdout.contains("answerback --help"), "{stdout}");
    assert_eq!(stderr, "");
    assert!(!world.state("").exists(), "looking must not make anything");
}

#[test]
fn what_is_open_is_shown_also_if_no_daemon_runs() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let ask = json!({"questions": [question("Deploy?")]});
    world.send(Some(&world.token()), "POST /v1/asks", &ask).expect(201);
    world.stop_daemon(&mut daemon);
    let (stdout, _) = exits(&run(&world, &[]), 0);
    assert!(stdout.starts_with("1 question is open:\n\n") && stdout.contains("Deploy?"), "{stdout}");
    assert!(stdout.contains("answerback answer ") && stdout.contains("answerback open "), "{stdout}");
    world.send(Some(&world.token()), "POST /v1/asks", &ask).expect(201);
    let (stdout, _) = exits(&run(&world, &[]), 0);
    assert!(stdout.starts_with("2 questions are open:\n"), "{stdout}");
}

#[test]
fn where_the_hook_is_installed_it_says_what_comes_here() {
    let world = World::new();
    let project = world.home().join("shop");
    std::fs::create_dir(&project).unwrap();
    let here = |args: &[&str]| world.command(ANSWERBACK).current_dir(&project).args(args).output().unwrap();
    exits(&here(&["install"]), 0);
    let (stdout, _) = exits(&here(&[]), 0);
    assert!(stdout.contains("questions and plans come to Answerback"), "{stdout}");
    assert!(!stdout.contains("answerback install"), "{stdout}");
}

#[test]
fn what_has_waited_longest_comes_first() {
    let mut world = World::new();
    let (_first, _) = world.ask("s", "t1", &[question("First?")]);
    let (_second, _) = world.ask("s", "t2", &[question("Second?")]);
    for args in [&["pending"][..], &[]] {
        let (stdout, _) = exits(&run(&world, args), 0);
        assert!(stdout.find("First?").unwrap() < stdout.find("Second?").unwrap(), "{stdout}");
    }
}
