//! `answerback show`: all of one ask.

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::kinds::{ATTENDED, answer};
use crate::world::{World, question};

#[test]
fn what_is_shown_is_whole_and_has_nothing_hidden() {
    let mut world = World::new();
    let long = format!("echo {}\u{202e}\u{200b}\u{1b}[2K end", "x".repeat(40_000));
    let _hook = ATTENDED.ask(&mut world, "Bash", &json!({"command": long}), "toolu_abc123");
    let (stdout, _) = exits(&run(&world, &["show", "abc123"]), 0);
    let expected = format!("Command:\n  echo {}<U+202E><U+200B><U+001B>[2K end\n", "x".repeat(40_000));
    assert!(stdout.contains(&expected));
    let json: Value = serde_json::from_str(&exits(&run(&world, &["show", "abc123", "--json"]), 0).0).unwrap();
    assert_eq!(json["subject"]["command"], long.as_str());
    answer(&world, "s__toolu_abc123", "Deny", &json!({})).expect(200);
    let (stdout, _) = exits(&run(&world, &["show", "abc123"]), 0);
    assert!(stdout.contains("state    answered") && stdout.contains(&expected));
    let (_, stderr) = exits(&run(&world, &["show", "zzzzzz"]), 1);
    assert!(stderr.contains("error"), "{stderr}");
}

#[test]
fn a_question_is_shown_with_its_options_and_its_answer() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "toolu_abc123", &[question("Which?"), question("Else?")]);
    let (stdout, _) = exits(&run(&world, &["show"]), 0);
    assert!(stdout.starts_with("Question: Pick\n  key      s__toolu_abc123\n  project  /home/me/shop\n"), "{stdout}");
    assert!(stdout.contains("Which?\n  1. A\n     first\n  2. B\n     second\n\nElse?\n"), "{stdout}");
    world.answer(&key, &json!({"Which?": "A", "Else?": "mine"})).expect(200);
    let (stdout, _) = exits(&run(&world, &["show", &key]), 0);
    assert!(stdout.contains("  Which?\n  A\n  Else?\n  mine\n"), "{stdout}");
}
