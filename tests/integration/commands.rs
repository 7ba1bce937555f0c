//! The commands, as people and scripts use them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{ANSWERBACK, World, question, signal, until};

pub(crate) fn run(world: &World, args: &[&str]) -> Output {
    world.command(ANSWERBACK).args(args).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
pub(crate) fn exits(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

fn multi(text: &str) -> Value {
    json!({"question": text, "header": "Parts", "multiSelect": true, "options": [
        {"label": "Tests", "description": ""}, {"label": "Docs", "description": ""}]})
}

/// What differs from run to run.
fn steady(world: &World, text: &str) -> String {
    let pid = world.daemon_json().map_or_else(String::new, |json| json["pid"].to_string());
    text.replace(&world.home().display().to_string(), "HOME")
        .replace(&world.address(), "ADDRESS")
        .replace(&format!("process {pid}"), "process PID")
}

#[test]
fn status_tells_whether_it_runs() {
    let mut world = World::new();
    let (stdout, _) = exits(&run(&world, &["status"]), 6);
    assert!(stdout.contains("not running"));
    assert!(!world.state("").exists(), "looking must not make anything");
    assert_eq!(serde_json::from_slice::<Value>(&run(&world, &["status", "--json"]).stdout).unwrap()["running"], false);
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    let (stdout, _) = exits(&run(&world, &["status"]), 0);
    insta::assert_snapshot!(steady(&world, &stdout), @r"
    running    version 0.1.0, process PID
    questions  1 open
    address    http://ADDRESS
    state      HOME/.local/state/answerback
    config     HOME/.config/answerback/config.toml
    here       nothing comes to Answerback: answerback doctor says why
    ");
    let json: Value = serde_json::from_slice(&run(&world, &["status", "--json"]).stdout).unwrap();
    assert_eq!((&json["running"], &json["open"]), (&json!(true), &json!(1)));
}

#[test]
fn pending_lists_what_is_open_and_follows_it() {
    let mut world = World::new();
    let (stdout, _) = exits(&run(&world, &["pending"]), 0);
    assert_eq!(stdout, "No question is open.\n");
    let (_hook, key) =
        world.ask("s", "toolu_abc123", &[question("Which of\n\u{1b}[31mthe\u{200b}se\u{7}?"), question("Else?")]);
    let (stdout, _) = exits(&run(&world, &["pending"]), 0);
    let without_age = stdout.replacen(stdout.split("  ").nth(1).unwrap(), "AGE", 1);
    assert_eq!(without_age, "abc123  AGE  shop  Pick  Which of \u{fffd}[31mthe\u{fffd}se\u{fffd}? (and 1 more)\n");
    let json: Value = serde_json::from_slice(&run(&world, &["pending", "--json"]).stdout).unwrap();
    assert_eq!(json["asks"][0]["key"], key);

    let mut watch = world.command(ANSWERBACK).args(["pending", "--watch", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let open =
        |line: Option<String>| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["asks"].as_array().unwrap().len();
    assert_eq!(open(lines.next()), 1);
    let pid = world.kill_daemon();
    world.until_daemon_other_than(pid);
    world.post(&format!("/v1/asks/{key}/release"), &json!({})).expect(200);
    assert_eq!(open(lines.next()), 0);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn answer_takes_labels_texts_keys_and_notes() {
    let mut world = World::new();
    let (hook, _) = world.ask("s", "toolu_one", &[question("Which?")]);
    exits(&run(&world, &["answer", "b"]), 0);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "B"}));

    let (first, _) = world.ask("s", "toolu_two", &[question("Which?"), multi("What?")]);
    let (second, _) = world.ask("s", "toolu_three", &[multi("What?")]);
    let (_, stderr) = exits(&run(&world, &["answer", "A"]), 1);
    assert!(stderr.contains("`A` may be an answer to one: say which") && stderr.contains("hint: "), "{stderr}");
    let (_, stderr) = exits(&run(&world, &["answer", "zzz"]), 1);
    assert!(stderr.contains("no open question has `zzz`") && stderr.contains("hint: "), "{stderr}");
    exits(&run(&world, &["answer", "three", "docs", "--text", "something else"]), 0);
    assert_eq!(second.reply()["updatedInput"]["answers"], json!({"What?": "Docs, something else"}));
    let (_, stderr) =
        exits(&run(&world, &["answer", "-a", "Pick=a", "-a", "2=Tests", "-a", "What?=Docs", "-n", "1=because"]), 0);
    assert_eq!(stderr, "Which? A\nWhat? Tests, Docs\n");
    let reply = first.reply();
    assert_eq!(reply["updatedInput"]["answers"], json!({"Which?": "A", "What?": "Tests, Docs"}));
    assert_eq!(reply["updatedInput"]["annotations"], json!({"Which?": {"notes": "because"}}));
    let (_, stderr) = exits(&run(&world, &["answer", "A"]), 1);
    assert!(stderr.contains("no question is open"), "{stderr}");
}

#[test]
fn a_short_answer_is_not_taken_for_a_key() {
    let world = World::new();
    for answer in ["9 minutes", "1", "s", "toolu", "program"] {
        let mut asking = world.command(ANSWERBACK).args(["ask", "How long?"]).spawn().unwrap();
        asking.stderr.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
        let words: Vec<_> = std::iter::once("answer").chain(answer.split(' ')).collect();
        // A question for one answer refuses two words, and so does not lose the first.
        if words.len() == 2 {
            exits(&run(&world, &words), 0);
            assert_eq!(exits(&asking.wait_with_output().unwrap(), 0).0, format!("{answer}\n"));
        } else {
            exits(&run(&world, &words), 1);
            exits(&run(&world, &["answer", answer]), 0);
            assert_eq!(exits(&asking.wait_with_output().unwrap(), 0).0, format!("{answer}\n"));
        }
    }
}

#[test]
fn a_question_is_taken_back_when_its_terminal_is_closed_or_it_is_ended() {
    let world = World::new();
    for (sent, code) in [(Signal::HUP, 129), (Signal::TERM, 143)] {
        let mut asking = world.command(ANSWERBACK).args(["ask", "Name?"]).spawn().unwrap();
        asking.stderr.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
        signal(asking.id(), sent);
        exits(&asking.wait_with_output().unwrap(), code);
        assert_eq!(world.get("/v1/asks").json()["asks"], json!([]));
    }
}

#[test]
fn a_stopped_daemon_stays_stopped_and_who_waits_is_patient() {
    let mut world = World::new();
    let mut asking = world.command(ANSWERBACK).args(["ask", "Name?"]).spawn().unwrap();
    asking.stderr.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
    let key = world.get("/v1/asks").json()["asks"][0]["key"].as_str().unwrap().to_owned();
    exits(&run(&world, &["stop"]), 0);
    exits(&run(&world, &["status"]), 6);
    drop(world.daemon());
    world.answer(&key, &json!({"Name?": "blue"})).expect(200);
    assert_eq!(exits(&asking.wait_with_output().unwrap(), 0).0, "blue\n");
}

#[test]
fn json_is_harmless_in_a_terminal_and_a_full_disk_is_told() {
    let mut world = World::new();
    let hostile = "a\u{9b}31m\u{7f}\u{202e}b?";
    let (_hook, _) = world.ask("s", "t", &[question(hostile)]);
    let (stdout, _) = exits(&run(&world, &["pending", "--json"]), 0);
    assert!(!stdout.contains(['\u{9b}', '\u{7f}', '\u{202e}']), "{stdout}");
    let value: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(value["asks"][0]["questions"][0]["question"], hostile);
    for command in [vec!["status"], vec!["pending"], vec!["pending", "--json"], vec!["history"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = world.command(ANSWERBACK).args(&command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}");
    }
}

#[test]
fn labels_may_begin_with_a_dash() {
    let world = World::new();
    let mut asking = world.command(ANSWERBACK).args(["ask", "How cold?", "-o", "-5", "-o", "-10"]).spawn().unwrap();
    asking.stderr.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
    exits(&run(&world, &["answer", "-a", "1=-5", "--note", "1=-1 at night"]), 0);
    assert_eq!(exits(&asking.wait_with_output().unwrap(), 0).0, "-5\n");
}

#[test]
fn answer_says_what_does_not_fit() {
    let mut world = World::new();
    let (mut hook, _) = world.ask("s", "t", &[question("One?"), question("Two?")]);
    let (_, stderr) = exits(&run(&world, &["answer", "-a", "One?=A"]), 1);
    let hint = "hint: Add -a QUESTION=ANSWER for it, or --partial to leave it out.";
    assert_eq!(
        stderr,
        format!("error: The answer does not fit the questions.\n  Two?: this question is not answered\n{hint}\n")
    );
    let (_, stderr) = exits(&run(&world, &["answer", "--partial"]), 1);
    assert_eq!(stderr, "error: The answer does not fit the questions.\n  no question is answered\n");
    let (_, stderr) = exits(&run(&world, &["answer", "-a", "Three?=A"]), 1);
    assert!(stderr.contains("names no question") && stderr.contains("`One?`, `Two?`"), "{stderr}");
    assert!(hook.is_waiting());
    exits(&run(&world, &["answer", "-a", "One?=A", "--partial"]), 0);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"One?": "A"}));
    let (history, _) = exits(&run(&world, &["history"]), 0);
    assert!(history.contains("  One?\n  A\n  Two?\n  (not answered)\n"), "{history}");
}

#[test]
fn an_agent_does_not_answer_its_own_questions() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    for command in ["answer", "dismiss", "release"] {
        for sign in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"] {
            let output = world.command(ANSWERBACK).arg(command).env(sign, "1").output().unwrap();
            let (_, stderr) = exits(&output, 1);
            assert!(stderr.contains("inside Claude Code"), "{stderr}");
        }
    }
    assert!(hook.is_waiting());
    world.assert_open(&key);
}

#[test]
fn dismiss_and_release_settle() {
    let mut world = World::new();
    let (dismissed, _) = world.ask("s", "t", &[question("Which?")]);
    exits(&run(&world, &["dismiss", "--reason", "later"]), 0);
    assert!(dismissed.reply()["permissionDecisionReason"].as_str().unwrap().ends_with("\"later\""));
    let (released, _) = world.ask("s", "u", &[question("Which?")]);
    exits(&run(&world, &["release", "s__u"]), 0);
    released.no_decision();
}

#[test]
fn ask_prints_the_answer_and_its_exit_code_tells_the_rest() {
    let mut world = World::new();
    drop(world.daemon());
    let ask = |world: &World, args: &[&str]| {
        let before = world.get("/v1/asks").json()["cursor"].as_str().unwrap().to_owned();
        let mut child = world.command(ANSWERBACK).arg("ask").args(args).spawn().unwrap();
        let list = world.get(&format!("/v1/asks?since={before}&wait=20")).json();
        // Only when it has said so does it know its key.
        let mut said = [0; 8];
        child.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"Waiting ");
        (child, list["asks"][0].clone())
    };
    let (child, asked) = ask(&world, &["Deploy?", "-o", "Yes: right now", "-o", "No"]);
    assert_eq!(
        asked["questions"][0]["options"],
        json!([{"label": "Yes", "description": "right now"}, {"label": "No", "description": ""}])
    );
    let key = |ask: &Value| ask["key"].as_str().unwrap().to_owned();
    // A daemon that is killed meanwhile is no obstacle.
    world.kill_daemon();
    drop(world.daemon());
    world.answer(&key(&asked), &json!({"Deploy?": "Yes"})).expect(200);
    assert_eq!(exits(&child.wait_with_output().unwrap(), 0).0, "Yes\n");

    let (child, asked) = ask(&world, &["Which?", "-o", "A", "-o", "B", "--multi", "--json"]);
    world.answer(&key(&asked), &json!({"Which?": ["A", "B"]})).expect(200);
    let json: Value = serde_json::from_str(&exits(&child.wait_with_output().unwrap(), 0).0).unwrap();
    assert_eq!(json["outcome"]["answers"]["Which?"], "A, B");

    let (child, asked) = ask(&world, &["Name?"]);
    world.post(&format!("/v1/asks/{}/dismiss", key(&asked)), &json!({"reason": "not now"})).expect(200);
    let (stdout, stderr) = exits(&child.wait_with_output().unwrap(), 3);
    assert!(stdout.is_empty() && stderr.ends_with("Dismissed: not now\n"), "{stderr}");

    let (child, _) = ask(&world, &["Name?", "--timeout", "1s"]);
    exits(&child.wait_with_output().unwrap(), 4);

    let (child, asked) = ask(&world, &["Name?"]);
    world.post(&format!("/v1/asks/{}/release", key(&asked)), &json!({})).expect(200);
    exits(&child.wait_with_output().unwrap(), 5);

    let (child, asked) = ask(&world, &["Name?"]);
    signal(child.id(), Signal::INT);
    exits(&child.wait_with_output().unwrap(), 130);
    assert_eq!(world.settled(&key(&asked))["outcome"]["kind"], "withdrawn");

    exits(&run(&world, &["ask", "Which?", "--multi"]), 1);
    exits(&run(&world, &["ask", "Which?", "--timeout", "soon"]), 2);
    exits(&run(&world, &["ask", " "]), 1);
}

#[test]
fn history_finds_what_was_said() {
    let mut world = World::new();
    let (_hook, first) = world.ask("s", "t", &[question("Which database?")]);
    world
        .post(
            &format!("/v1/asks/{first}/answer"),
            &json!({"answers": {"Which database?": "A"}, "notes": {"Which database?": "for now"}}),
        )
        .expect(200);
    let (_hook, second) = world.ask("s", "u", &[question("Which colour?")]);
    world.post(&format!("/v1/asks/{second}/dismiss"), &json!({"reason": "no idea"})).expect(200);
    let (stdout, _) = exits(&run(&world, &["history"]), 0);
    let without_times: Vec<_> =
        stdout.lines().map(|line| line.split_once("  /home/me").map_or(line, |(_, rest)| rest)).collect();
    insta::assert_snapshot!(without_times.join("\n"), @r"
    /shop  dismissed
      Which colour?
      no idea

    /shop  answered
      Which database?
      A
      for now
    ");
    let find = |args: &[&str]| exits(&run(&world, &[&["history"], args].concat()), 0).0;
    assert!(find(&["DATABASE"]).contains("Which database?") && !find(&["database"]).contains("colour"));
    assert!(find(&["no idea", "--since", "1h"]).contains("Which colour?"));
    assert_eq!(find(&["--since", "2100-01-01"]), "Nothing was found.\n");
    let (nothing, _) = exits(&run(&World::new(), &["history"]), 0);
    assert_eq!(nothing, "Nothing was answered or closed yet.\n");
    assert!(exits(&run(&world, &["history", "--limit", "1"]), 0).1.contains("There are more"));
    // A directory that is gone can still be named, if something was asked there.
    assert!(find(&["--project", "/home/me/shop"]).contains("Which database?"));
    assert_eq!(serde_json::from_str::<Value>(&find(&["--json"])).unwrap()["asks"].as_array().unwrap().len(), 2);
    let (_, stderr) = exits(&run(&world, &["history", "--project", "/nonexistent"]), 1);
    assert!(stderr.contains("hint: "), "{stderr}");
}

#[test]
fn demo_asks_through_the_real_hook() {
    let world = World::new();
    let (_, stderr) = exits(&run(&world, &["demo"]), 0);
    let short = stderr.trim_end().rsplit(' ').next().unwrap();
    assert!(short.len() == 6 && stderr.contains(&format!("answerback answer {short}\n")), "{stderr}");
    assert!(exits(&run(&world, &["pending"]), 0).0.starts_with(short), "{stderr}");
    let waiting = world.command(ANSWERBACK).args(["demo", "--wait"]).spawn().unwrap();
    until("two open questions", || (world.get("/v1/asks").json()["asks"].as_array()?.len() == 2).then_some(()));
    for _ in 0..2 {
        let list = world.get("/v1/asks").json();
        let key = list["asks"][0]["key"].as_str().unwrap().to_owned();
        exits(&run(&world, &["answer", &key, "SQLite", "Backups"]), 0);
    }
    let (stdout, _) = exits(&waiting.wait_with_output().unwrap(), 0);
    assert!(stdout.contains("Answer: \"SQLite\"") && stdout.contains("Answer: \"Backups\""), "{stdout}");
}

#[test]
fn stop_stops_unless_a_hook_would_start_it_again() {
    let mut world = World::new();
    exits(&run(&world, &["stop"]), 0);
    let (hook, _) = world.ask("s", "t", &[question("Which?")]);
    let (_, stderr) = exits(&run(&world, &["stop"]), 1);
    assert!(stderr.contains("--release"), "{stderr}");
    exits(&run(&world, &["stop", "--release"]), 0);
    hook.no_decision();
    until("the daemon's end", || (!world.state("daemon.sock").exists()).then_some(()));
}

#[test]
fn restart_replaces_the_daemon_and_nobody_notices() {
    let mut world = World::new();
    exits(&run(&world, &["restart"]), 0);
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    for _ in 0..5 {
        let old = world.daemon_pid();
        exits(&run(&world, &["restart"]), 0);
        assert_ne!(world.daemon_pid(), old);
        world.until_open(&key);
    }
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}

#[test]
fn restarts_at_the_same_moment_do_not_disturb_each_other() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let restarts: Vec<_> =
        (0..16).map(|_| world.command(ANSWERBACK).arg("restart").stdin(Stdio::null()).spawn().unwrap()).collect();
    let told: std::collections::BTreeSet<_> =
        restarts.into_iter().map(|restart| exits(&restart.wait_with_output().unwrap(), 0).1).collect();
    assert_eq!(told.len(), 16, "each has its own daemon: {told:?}");
    world.until_open(&key);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}

#[test]
fn help_completions_and_manual() {
    let world = World::new();
    let (help, _) = exits(&run(&world, &["--help"]), 0);
    let commands: Vec<_> = help
        .lines()
        .skip_while(|line| *line != "Answer:")
        .take_while(|line| *line != "Options:")
        // A line that is indented further goes on with the one before.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split_whitespace().next())
        .collect();
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let (help, _) = exits(&run(&world, &[command, "--help"]), 0);
        assert!(help.contains("Examples:\n"), "{command}");
        insta::assert_snapshot!(format!("help-{command}"), help);
    }
    insta::assert_snapshot!("help", help);
    for shell in ["bash", "zsh", "fish"] {
        assert!(exits(&run(&world, &["completions", shell]), 0).0.contains("pending"));
    }
    assert!(exits(&run(&world, &["man"]), 0).0.contains(".TH answerback 1"));
    exits(&run(&world, &["man", "--dir", world.home().join("man").to_str().unwrap()]), 0);
    for page in std::fs::read_dir(world.home().join("man")).unwrap() {
        let page = page.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap();
        let has_examples = text.contains(".SH EXAMPLES\n.nf\n  answerback") && !text.contains(".SH EXTRA");
        // Not every subcommand of a command has examples of its own.
        let is_top = page.file_stem().unwrap().to_str().unwrap().matches('-').count() == 1;
        assert!(has_examples || !is_top, "{}", page.display());
    }
    assert!(world.home().join("man/answerback-answer.1").exists());
    exits(&run(&world, &["no-such-command"]), 2);
}
