//! The commands for permissions, plans and forms.

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::kinds::{ATTENDED, HOSTED};
use crate::world::{ANSWERBACK, World};

fn command(text: &str) -> Value {
    json!({"command": text, "description": "A test"})
}

#[test]
fn only_a_whole_label_or_a_number_allows() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "toolu_abc123");
    for word in ["allow once", "Allow", "Alow once", "yes"] {
        let (_, stderr) = exits(&run(&world, &["answer", "abc123", word]), 1);
        assert!(!stderr.contains("Did you mean"), "{stderr}");
    }
    exits(&run(&world, &["answer", "abc123", "--text", "Allow once"]), 1);
    exits(&run(&world, &["answer", "abc123", "--edit", "command=ls"]), 1);
    let inside = world.command(ANSWERBACK).args(["answer", "abc123", "Allow once"]).env("CLAUDECODE", "1").output();
    let (_, stderr) = exits(&inside.unwrap(), 1);
    assert!(stderr.contains("inside Claude Code"), "{stderr}");
    world.assert_open("s__toolu_abc123");
    let (_, stderr) = exits(&run(&world, &["answer", "abc123", "Allow once"]), 0);
    assert!(stderr.contains("Allow Bash: npm test → Allow once"), "{stderr}");
    assert_eq!(hook.reply()["decision"], json!({"behavior": "allow"}));
}

#[test]
fn words_deny_and_say_so() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("grep x"), "t");
    let (_, stderr) = exits(&run(&world, &["answer", "--text", "use rg"]), 0);
    assert!(stderr.contains("Words of your own deny the call."), "{stderr}");
    let decision = hook.reply()["decision"].take();
    assert_eq!(decision["behavior"], "deny");
    assert!(decision["message"].as_str().unwrap().contains("use rg"), "{decision}");
}

#[test]
fn an_edited_call_is_shown_as_edited() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "toolu_abc123");
    let (_, stderr) = exits(&run(&world, &["answer", "abc123", "1", "--edit", "cwd=/"]), 1);
    assert!(stderr.contains("`command`, `description`"), "{stderr}");
    let file = world.home().join("new");
    std::fs::write(&file, "npm test -- --quick").unwrap();
    exits(&run(&world, &["answer", "abc123", "1", "--edit-file", &format!("command={}", file.display())]), 0);
    assert_eq!(hook.reply()["decision"]["updatedInput"], command("npm test -- --quick"));
    let (stdout, _) = exits(&run(&world, &["history"]), 0);
    assert!(stdout.contains("abc123") && stdout.contains("edited before it was approved: command"), "{stdout}");
    let (stdout, _) = exits(&run(&world, &["show", "abc123"]), 0);
    assert!(stdout.contains("  - command: npm test\n  + command: npm test -- --quick\n"), "{stdout}");
}

#[test]
fn pending_says_what_kind_each_is() {
    let mut world = World::new();
    let _bash = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "toolu_abc123");
    let (stdout, _) = exits(&run(&world, &["pending"]), 0);
    assert!(stdout.contains("  shop  permission  Bash  Allow Bash: npm test\n"), "{stdout}");
    let (_, stderr) = exits(&run(&world, &["dismiss", "abc123", "--reason", "no"]), 0);
    assert!(stderr.contains("Dismissed: Allow Bash: npm test"), "{stderr}");
}

#[test]
fn a_plan_is_approved_only_on_purpose() {
    let mut world = World::new();
    let plan = json!({"plan": "# Search\n\n1. Index", "planFilePath": "/p.md"});
    let hook = ATTENDED.ask(&mut world, "ExitPlanMode", &plan, "t");
    exits(&run(&world, &["answer", "Approve, acc"]), 1);
    let (stdout, _) = exits(&run(&world, &["show"]), 0);
    assert!(stdout.contains("Plan:\n  # Search\n  \n  1. Index\n"), "{stdout}");
    // Nobody approves what happens to be open.
    let (_, stderr) = exits(&run(&world, &["answer", "1", "--edit", "plan=# Better"]), 1);
    assert!(stderr.contains("needs the key"), "{stderr}");
    exits(&run(&world, &["answer", "s__t", "1", "--edit", "plan=# Better"]), 0);
    assert_eq!(hook.reply()["decision"]["updatedInput"], json!({"plan": "# Better"}));
}

#[test]
fn a_form_is_filled_in_and_its_rules_are_named() {
    let mut world = World::new();
    let form = json!({"mcp_server_name": "shop", "message": "Where?", "mode": "form", "requested_schema": {
        "type": "object", "required": ["port"], "properties": {
            "port": {"type": "integer", "title": "Port", "minimum": 1, "maximum": 65535},
            "tls": {"type": "boolean", "title": "With TLS"}}}});
    let hook = HOSTED.call(&mut world, "Elicitation", "", &json!(null), &form);
    world.until_parked(&hook);
    let (stdout, _) = exits(&run(&world, &["show"]), 0);
    assert!(stdout.contains("    a whole number, at least 1, at most 65535, required\n"), "{stdout}");
    let (_, stderr) = exits(&run(&world, &["answer", "-a", "Port=70000"]), 1);
    assert!(stderr.contains("Port: must be at most 65535"), "{stderr}");
    exits(&run(&world, &["answer", "-a", "Port=8080"]), 0);
    assert_eq!(hook.reply()["content"], json!({"port": 8080}));
}
