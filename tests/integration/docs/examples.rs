//! The examples of each page, run as they stand.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::phone::LAN;
use crate::world::{World, make_program, question, until};

use super::page::{Page, path};

#[test]
fn the_api_page() {
    let mut world = World::new();
    drop(world.daemon());
    let stdout = Page::read("docs/api.md").run(&world);
    assert!(stdout.contains("but not before noon") && stdout.contains("event: ask.settled"), "{stdout}");
    let settled = world.get("/v1/asks?state=settled").json();
    assert_eq!(settled["asks"][0]["outcome"]["answers"]["Deploy to production?"], "Yes");
}

#[test]
fn the_readme() {
    let stdout = Page::read("README.md").run(&World::new());
    for part in ["Which database should the shop use?", "Tests, Backups", "answered, and received"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
}

#[test]
fn the_guide() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which database?")]);
    world.answer(&key, &json!({"Which database?": "SQLite"})).expect(200);
    let is_over = AtomicBool::new(false);
    let stdout = thread::scope(|scope| {
        scope.spawn(|| answer_programs(&world, &is_over));
        let over = OnDrop(&is_over);
        let stdout = Page::read("docs/guide.md").run(&world);
        drop(over);
        stdout
    });
    for part in ["Which database should the shop use?", "SQLite", "Deploying."] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for ask in world.get("/v1/asks?state=settled").json()["asks"].as_array().unwrap() {
        *outcomes.entry(ask["outcome"]["kind"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let expected = [("answered", 6), ("dismissed", 1), ("released", 1)].map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(outcomes, BTreeMap::from(expected));
    let settings = fs::read_to_string(world.home().join("shop/.claude/settings.json")).unwrap();
    assert!(settings.contains("answerback-hook") && !settings.contains("hold"), "{settings}");
}

/// Ends the person also when the page fails.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A person who gives the first option to every program that asks.
fn answer_programs(world: &World, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let asks = world.try_get("/v1/asks?since=0&wait=1").map(|reply| reply.json()).unwrap_or_default();
        for ask in asks["asks"].as_array().into_iter().flatten().filter(|ask| ask["origin"] == "program") {
            let question = &ask["questions"][0];
            let answers = json!({question["question"].as_str().unwrap(): question["options"][0]["label"]});
            world.answer(ask["key"].as_str().unwrap(), &answers);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_page_about_headless_runs() {
    let world = World::new();
    let claude = world.home().join("bin/claude");
    fs::create_dir(claude.parent().unwrap()).unwrap();
    make_program(&claude, STAND_IN.as_bytes());
    thread::scope(|scope| {
        scope.spawn(|| {
            // The first run waits for its answer. The second one stops, and the page itself answers it.
            until("the first question", || {
                let asks = world.try_get("/v1/asks").ok().filter(|reply| reply.status == 200)?.json();
                let key = asks["asks"][0]["key"].as_str()?;
                Some(world.answer(key, &json!({"Which database?": "PostgreSQL"})).expect(200))
            });
        });
        Page::read("docs/headless.md").run(&world);
    });
    let runs = fs::read_to_string(world.home().join("runs")).unwrap();
    let runs: Vec<&str> = runs.lines().collect();
    let [first, deferred, resumed] = runs.as_slice() else { panic!("{runs:?}") };
    for run in &runs {
        assert!(run.contains("--permission-prompt-tool mcp__answerback-run__permission"), "{run}");
    }
    assert!(first.contains(r#""Which database?":"PostgreSQL""#), "{first}");
    assert!(deferred.contains(r#""permissionDecision":"defer""#), "{deferred}");
    assert!(resumed.contains("--resume") && resumed.contains(r#""Which database?":"SQLite""#), "{resumed}");
}

/// In the place of Claude Code: asks one question through the hook that the project has, and notes how it was started and what it was told.
const STAND_IN: &str = r#"#!/usr/bin/env bash
set -euo pipefail
if [[ $1 == --version ]]; then echo '2.1.325 (Claude Code)'; exit; fi
hook=$(jq -r '.hooks.PreToolUse[0].hooks[0] | .command' .claude/settings.json)
mode=$(jq -r '.hooks.PreToolUse[0].hooks[0] | .args[0] // empty' .claude/settings.json)
session=$([[ $mode == defer ]] && echo second || echo first)
call='{"hook_event_name": "PreToolUse", "session_id": "'$session'", "tool_use_id": "t", "tool_name": "AskUserQuestion",
  "cwd": "'$PWD'", "tool_input": {"questions": [{"question": "Which database?", "header": "Database", "multiSelect": false,
  "options": [{"label": "SQLite", "description": ""}, {"label": "PostgreSQL", "description": ""}]}]}}'
told=$(echo "$call" | CLAUDE_CODE_ENTRYPOINT=sdk-cli AI_AGENT=claude-code_2-1-325_agent "$hook" ${mode:+"$mode"})
echo "$* $told" >>"$HOME/runs"
"#;

#[test]
fn the_page_about_phones() {
    let stdout = Page::read("docs/phone.md").run(&World::new());
    assert!(stdout.contains("No device is signed in"), "{stdout}");
}

/// In the place of ssh: runs a command on the other machine.
const SSH: &str = r#"#!/usr/bin/env bash
shift
HOME=$(cat "$HOME/other-machine") exec "$@"
"#;

#[test]
fn the_page_about_many_machines() {
    let mut hub = World::with_config(LAN);
    drop(hub.daemon());
    let edge = World::new();
    fs::create_dir(hub.home().join("bin")).unwrap();
    make_program(&hub.home().join("bin/ssh"), SSH.as_bytes());
    fs::write(hub.home().join("other-machine"), edge.home().to_str().unwrap()).unwrap();
    let mut page = Page::read("docs/fleet.md");
    let url = hub.daemon_json().unwrap()["lan_url"].as_str().unwrap().to_owned();
    page.text = page.text.replace("https://answers.example.org", &url);
    page.run(&hub);
}

#[test]
fn the_page_about_people() {
    let mut world = World::new();
    drop(world.daemon());
    Page::read("docs/people.md").run(&world);
    let people = crate::phone::admin(&world, "GET /v1/people", &json!({})).expect(200).json();
    let names: Vec<_> = people["people"].as_array().unwrap().iter().map(|person| &person["name"]).collect();
    assert_eq!(names, ["Anna"]);
    assert!(fs::read_to_string(world.home().join("shop/audit.csv")).unwrap().contains("person,hub"));
}

#[test]
fn the_companion() {
    let mut world = World::new();
    let (first, _) = world.ask("s", "t", &[question("Which database?")]);
    let mut companion = world.command("python3");
    companion.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/companion.py")).env("PATH", path(&world));
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
