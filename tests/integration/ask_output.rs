//! The output of `answerback ask`, for scripts.

use std::io::Read;

use serde_json::{Value, json};

use crate::commands::exits;
use crate::world::{ANSWERBACK, World};

/// An answer with characters that act on a terminal: C0 and C1 controls, a lone CR, and marks that change the direction of text.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\rb\u{7f}\r\n\tc\u{202e}d\u{2066}\u{feff}é";

/// Asks, answers with [`HOSTILE`], and returns the output.
fn printed(arguments: &[&str]) -> String {
    let world = World::new();
    let mut asking = world.command(ANSWERBACK).args(["ask", "Name?"]).args(arguments).spawn().unwrap();
    asking.stderr.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
    let key = world.get("/v1/asks").json()["asks"][0]["key"].as_str().unwrap().to_owned();
    world.answer(&key, &json!({"Name?": HOSTILE})).expect(200);
    exits(&asking.wait_with_output().unwrap(), 0).0
}

#[test]
fn a_pipe_gets_plain_text() {
    assert_eq!(printed(&[]), "a\u{fffd}[2J\u{fffd}31m\nb\u{fffd}\n    c\u{fffd}d\u{fffd}\u{fffd}é\n");
}

#[test]
fn json_has_every_character_as_an_escape() {
    let stdout = printed(&["--json"]);
    assert!(
        !stdout.contains(|c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{feff}".contains(c))),
        "{stdout}"
    );
    let ask: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(ask["outcome"]["answers"]["Name?"], HOSTILE);
}
