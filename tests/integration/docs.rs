//! The examples of the documentation, run as they stand: all `sh` blocks of a page are one script.

use std::process::Output;

use crate::world::{World, question};

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
    let path = std::env::var_os("PATH").unwrap();
    world.command("bash").args(["-c", &script]).env("PATH", path).output().unwrap()
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
    let stdout = succeeds(&run(&world, include_str!("../../README.md")));
    assert!(stdout.contains(&key) && stdout.contains("Which database?"), "{stdout}");
}
