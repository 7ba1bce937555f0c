//! The examples of the documentation, run as they stand: all `sh` blocks of a page are one script.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::world::{ANSWERBACK, World, question};

fn run(world: &World, page: &str) -> Output {
    let mut script = String::from("set -euo pipefail\n");
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => script.extend([line, "\n"]),
            _ => {}
        }
    }
    world.command("bash").args(["-c", &script]).env("PATH", path()).output().unwrap()
}

/// With our programs in front.
fn path() -> OsString {
    let mut path = OsString::from(Path::new(ANSWERBACK).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    path
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_api_page() {
    let mut world = World::new();
    drop(world.daemon());
    let stdout = succeeds(&run(&world, include_str!("../../docs/api.md")));
    assert!(stdout.contains("but not before noon") && stdout.contains("event: ask.settled"), "{stdout}");
    let settled = world.get("/v1/asks?state=settled").json();
    assert_eq!(settled["asks"][0]["outcome"]["answers"]["Deploy to production?"], "Yes");
}

#[test]
fn the_readme() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which database?")]);
    world.answer(&key, &json!({"Which database?": "SQLite"})).expect(200);
    let stdout = succeeds(&run(&world, include_str!("../../README.md")));
    for part in ["Which database should the shop use?", "Tests, Backups", "answered, and received"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
}

#[test]
fn the_companion() {
    let mut world = World::new();
    let (first, _) = world.ask("s", "t", &[question("Which database?")]);
    let mut companion = world.command("python3");
    companion.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/companion.py")).env("PATH", path());
    let mut companion = companion.spawn().unwrap();
    let mut stdin = companion.stdin.take().unwrap();
    let mut lines = BufReader::new(companion.stdout.take().unwrap()).lines();
    let mut answer = |text: &str| {
        let asked = lines.next().unwrap().unwrap();
        writeln!(stdin, "{text}").unwrap();
        asked
    };
    assert_eq!(answer("A"), "Which database? ['A', 'B']");
    assert_eq!(first.reply()["updatedInput"]["answers"], json!({"Which database?": "A"}));
    let (second, _) = world.ask("s", "u", &[question("And now?")]);
    assert_eq!(answer("something else"), "And now? ['A', 'B']");
    assert_eq!(second.reply()["updatedInput"]["answers"], json!({"And now?": "something else"}));
    companion.kill().unwrap();
    companion.wait().unwrap();
}
