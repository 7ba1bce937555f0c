//! Permissions: may the agent use a tool?

use std::fs;

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::http::Request;
use crate::kinds::{ATTENDED, Agent, HOSTED, answer, question, suggestions};
use crate::world::{Hook, World, signal, until};
use rustix::process::Signal;

fn command(text: &str) -> Value {
    json!({"command": text, "description": "A test"})
}

fn decision(hook: Hook) -> Value {
    hook.reply()["decision"].take()
}

#[test]
fn a_call_is_allowed_once_and_seen_to_have_run() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t");
    let ask = world.get("/v1/asks/s__t").json();
    assert_eq!((&ask["kind"], &ask["racing"]), (&json!("permission"), &json!(true)));
    assert_eq!(ask["subject"]["command"], "npm test");
    assert_eq!(ask["subject"]["directory"], "/home/me/shop");
    let labels: Vec<_> = ask["questions"][0]["options"].as_array().unwrap().iter().map(|o| &o["label"]).collect();
    assert_eq!(labels, ["Allow once", "Always allow Bash(npm test)", "Deny"]);
    assert_eq!(
        ask["questions"][0]["options"][1]["description"],
        "Writes Bash(npm test) to .claude/settings.local.json."
    );
    assert!(question(&world, "s__t").contains("npm test"), "a companion that knows only questions shows the command");
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(decision(hook), json!({"behavior": "allow"}));
    ATTENDED.call(&mut world, "PostToolUse", "Bash", &command("npm test"), &json!({"tool_use_id": "t"})).no_decision();
    let ask = world.get("/v1/asks/s__t").json();
    assert_eq!((&ask["receipt"]["as_sent"], &ask["outcome"]["kind"]), (&json!(true), &json!("answered")));
}

#[test]
fn a_rule_is_granted_exactly_as_it_was_suggested() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t");
    answer(&world, "s__t", "Always allow Bash(npm test)", &json!({})).expect(200);
    let suggested = suggestions("Bash", &command("npm test"))["permission_suggestions"].clone();
    assert_eq!(decision(hook), json!({"behavior": "allow", "updatedPermissions": suggested}));
}

#[test]
fn a_change_of_the_mode_is_never_offered() {
    let mut world = World::new();
    let input = json!({"file_path": "/home/me/shop/a", "content": "x\n"});
    let hook = ATTENDED.ask(&mut world, "Write", &input, "t");
    let ask = world.get("/v1/asks/s__t").json();
    let labels: Vec<_> = ask["questions"][0]["options"].as_array().unwrap().iter().map(|o| &o["label"]).collect();
    assert_eq!(labels, ["Allow once", "Deny"]);
    assert!(!ask.to_string().contains("setMode"), "{ask}");
    // Somebody who makes up a label gets nothing but a denial.
    answer(&world, "s__t", "Always allow Write", &json!({})).expect(200);
    assert_eq!(decision(hook)["behavior"], "deny");
}

#[test]
fn words_and_everything_else_that_is_no_label_deny() {
    let mut world = World::new();
    for (id, text, extra, told) in [
        ("t1", "Deny", json!({}), "The user denied this call."),
        ("t2", "use pnpm", json!({}), "said: \"use pnpm\""),
        ("t3", "allow once", json!({}), "said: \"allow once\""),
    ] {
        let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), id);
        answer(&world, &format!("s__{id}"), text, &extra).expect(200);
        let decision = decision(hook);
        assert_eq!(decision["behavior"], "deny", "{text}");
        assert!(decision["message"].as_str().unwrap().contains(told), "{decision}");
    }
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t4");
    let note = json!({"notes": {question(&world, "s__t4"): "not on Fridays"}});
    answer(&world, "s__t4", "Allow once", &note).expect(422);
    answer(&world, "s__t4", "Deny", &note).expect(200);
    assert!(decision(hook)["message"].as_str().unwrap().contains("not on Fridays"));
    // What the agent was told comes back with the batch, and proves the denial.
    let batch = json!({"tool_calls": [{"tool_use_id": "t4", "tool_response": "The user denied this call"}]});
    ATTENDED.call(&mut world, "PostToolBatch", "", &json!(null), &batch).no_decision();
    assert_eq!(world.get("/v1/asks/s__t4").json()["receipt"]["as_sent"], true);
}

#[test]
fn the_input_can_be_edited_and_is_shown_as_edited() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t");
    let edited = json!({"edited": {"command": "npm test -- --bail"}});
    answer(&world, "s__t", "Allow once", &json!({"edited": {"sudo": true}})).expect(422);
    answer(&world, "s__t", "Deny", &edited).expect(422);
    answer(&world, "s__t", "Allow once", &edited).expect(200);
    let run = json!({"command": "npm test -- --bail", "description": "A test"});
    assert_eq!(decision(hook), json!({"behavior": "allow", "updatedInput": run}));
    assert_eq!(world.get("/v1/asks/s__t").json()["outcome"]["edited"], edited["edited"]);
    // The same label without the edit is another answer.
    answer(&world, "s__t", "Allow once", &json!({})).expect(409);
    let after = ATTENDED.call(&mut world, "PostToolUse", "Bash", &run, &json!({"tool_use_id": "t"})).reply();
    assert!(after["additionalContext"].as_str().unwrap().contains("npm test -- --bail"), "{after}");
    assert_eq!(world.get("/v1/asks/s__t").json()["receipt"]["as_sent"], true);
}

#[test]
fn a_file_is_shown_with_its_difference() {
    let mut world = World::new();
    let home = world.home().to_path_buf();
    let file = home.join("list.txt");
    fs::write(&file, "one\ntwo\nthree\n").unwrap();
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "2", "replace_all": false});
    let _edit = ATTENDED.ask_in(&mut world, &home, "Edit", &edit, "t1");
    let subject = world.get("/v1/asks/s__t1").json()["subject"].clone();
    assert_eq!(subject["path"], json!(file));
    assert_eq!(subject["diff"]["hunks"], json!([{"old": 1, "new": 1, "lines": [" one", "-two", "+2", " three"]}]));
    let _write = ATTENDED.ask_in(&mut world, &home, "Write", &json!({"file_path": file, "content": "one\n"}), "t2");
    let diff = world.get("/v1/asks/s__t2").json()["subject"]["diff"].clone();
    let hunks = json!([{"old": 1, "new": 1, "lines": [" one", "-two", "-three"]}]);
    assert_eq!(diff, json!({"isNew": false, "replacesUnseen": false, "hunks": hunks}));
    let _new =
        ATTENDED.ask_in(&mut world, &home, "Write", &json!({"file_path": "/nowhere/a", "content": "one\n"}), "t3");
    assert_eq!(world.get("/v1/asks/s__t3").json()["subject"]["diff"]["isNew"], true);
    // A file that cannot be shown is not a new one.
    let binary = home.join("binary");
    fs::write(&binary, b"\xff\xfe").unwrap();
    let _replaced =
        ATTENDED.ask_in(&mut world, &home, "Write", &json!({"file_path": binary, "content": "one\n"}), "t4");
    let diff = world.get("/v1/asks/s__t4").json()["subject"]["diff"].clone();
    assert_eq!((&diff["isNew"], &diff["replacesUnseen"]), (&json!(false), &json!(true)));
    let (shown, _) = exits(&run(&world, &["show", "s__t4"]), 0);
    assert!(shown.contains("what is in it now cannot be shown here"), "{shown}");
    // So large that there is no room for the difference beside the input.
    let large = json!({"file_path": "/nowhere/b", "content": "0123456789\n".repeat(30_000)});
    let _large = ATTENDED.ask(&mut world, "Write", &large, "t5");
    let subject = world.get("/v1/asks/s__t5").json()["subject"].clone();
    assert_eq!((&subject["input"], subject.get("diff")), (&large, None));
}

#[test]
fn a_call_that_ran_or_was_refused_elsewhere_leaves_the_inbox() {
    let mut world = World::new();
    let input = command("npm test");
    for (id, event, extra, answer, note) in [
        ("t1", "PostToolUse", json!({"tool_use_id": "t1"}), "Allowed", None),
        ("t2", "PostToolUseFailure", json!({"tool_use_id": "t2", "error": "Exit code 1"}), "Allowed", None),
        (
            "t3",
            "PostToolBatch",
            json!({"tool_calls": [{"tool_use_id": "t3", "tool_response": "Rejected. The user said: the user said:\nuse pnpm"}]}),
            "Deny",
            Some("use pnpm"),
        ),
    ] {
        let hook = ATTENDED.ask(&mut world, "Bash", &input, id);
        ATTENDED.call(&mut world, event, "Bash", &input, &extra).no_decision();
        hook.no_decision();
        let key = format!("s__{id}");
        let ask = world.settled(&key);
        let question = ask["questions"][0]["question"].as_str().unwrap();
        assert_eq!(ask["outcome"]["kind"], "answered_in_terminal", "{event}");
        assert_eq!(ask["outcome"]["answers"][question], answer, "{event}");
        assert_eq!(ask["outcome"]["notes"].get(question).and_then(Value::as_str), note, "{event}");
        // A late answer changes nothing.
        crate::kinds::answer(&world, &key, "Allow once", &json!({})).expect(409);
    }
}

#[test]
fn a_call_that_is_sent_again_after_a_crash_gets_the_answer_that_was_given_meanwhile() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let input = command("npm test");
    ATTENDED.name(&mut world, "Bash", &input, "t");
    // The hook's request, before the hook can learn that it is stored. The hook sends it again under the same name.
    let call =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": input});
    let body = call.to_string();
    let request = |name: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("x-answerback-attended", "1"),
            ("x-answerback-entrypoint", "cli"),
            ("x-answerback-agent-pid", "1"),
            ("x-answerback-call", name),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Request { line: "POST /v1/hooks/claude-code", headers, body: body.as_bytes() }
    };
    let socket = world.state("daemon.sock");
    let first = request("hook-1").begin_over_socket(&socket).unwrap();
    world.until_open("s__t");
    world.kill_daemon();
    daemon.wait().unwrap();
    drop(first);
    let mut daemon = world.daemon();
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    let again = request("hook-1").over_socket(&socket).unwrap().expect(200).json();
    assert_eq!(again["hookSpecificOutput"]["decision"]["behavior"], "allow");
    // Another call with the same input needs an answer of its own.
    let other = request("hook-2").begin_over_socket(&socket).unwrap();
    until("another ask", || world.get("/v1/asks").json()["asks"].get(0).cloned());
    drop(other);
    world.stop_daemon(&mut daemon);
}

#[test]
fn esc_withdraws_and_stop_ends_what_was_left() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t1");
    signal(hook.pid(), Signal::TERM);
    assert_eq!(world.settled("s__t1")["outcome"]["kind"], "withdrawn");
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t2");
    ATTENDED.call(&mut world, "Stop", "", &json!(null), &json!({})).no_decision();
    hook.no_decision();
    assert_eq!(world.settled("s__t2")["outcome"]["kind"], "withdrawn");
}

#[test]
fn an_approval_is_for_one_call() {
    let mut world = World::new();
    let input = command("npm test");
    let first = ATTENDED.ask(&mut world, "Bash", &input, "t1");
    answer(&world, "s__t1", "Allow once", &json!({})).expect(200);
    assert_eq!(decision(first)["behavior"], "allow");
    // The same command again, in every order of events, asks again.
    let mut second = ATTENDED.ask(&mut world, "Bash", &input, "t2");
    assert!(second.is_waiting());
    // Without a name, too.
    let unnamed = ATTENDED.call(&mut world, "PermissionRequest", "Bash", &input, &json!({}));
    world.until_parked(&unnamed);
    let open = world.get("/v1/asks").json()["asks"].as_array().unwrap().len();
    assert_eq!(open, 2);
    answer(&world, "s__t2", "Deny", &json!({})).expect(200);
    assert_eq!(decision(second)["behavior"], "deny");
    world.assert_open(world.get("/v1/asks").json()["asks"][0]["key"].as_str().unwrap());
}

#[test]
fn equal_calls_at_once_have_an_answer_each_also_after_a_crash() {
    let mut world = World::new();
    drop(world.daemon());
    let input = command("npm test");
    for id in ["t1", "t2"] {
        ATTENDED.name(&mut world, "Bash", &input, id);
    }
    let first = ATTENDED.call(&mut world, "PermissionRequest", "Bash", &input, &json!({}));
    world.until_open("s__t1");
    let second = ATTENDED.call(&mut world, "PermissionRequest", "Bash", &input, &json!({}));
    world.until_open("s__t2");
    world.until_parked(&first);
    world.kill_daemon_once_parked(&second);
    // Both hooks come back, each to its own ask.
    world.until_parked(&first);
    world.until_parked(&second);
    answer(&world, "s__t2", "Deny", &json!({})).expect(200);
    assert_eq!(decision(second)["behavior"], "deny");
    answer(&world, "s__t1", "Allow once", &json!({})).expect(200);
    assert_eq!(decision(first)["behavior"], "allow");
}

#[test]
fn a_hook_that_starts_after_the_end_of_its_call_asks_nobody() {
    let mut world = World::new();
    let input = command("npm test");
    ATTENDED.name(&mut world, "Bash", &input, "t");
    ATTENDED.call(&mut world, "PostToolUse", "Bash", &input, &json!({"tool_use_id": "t"})).no_decision();
    ATTENDED.call(&mut world, "PermissionRequest", "Bash", &input, &json!({})).no_decision();
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"], json!([]));
}

#[test]
fn the_end_of_a_turn_does_not_end_what_a_subagent_asks() {
    let mut world = World::new();
    let input = command("npm test");
    let agent = json!({"agent_id": "a1", "agent_type": "helper"});
    let mut named = agent.clone();
    named["tool_use_id"] = json!("t");
    HOSTED.call(&mut world, "PreToolUse", "Bash", &input, &named).no_decision();
    let hook = HOSTED.call(&mut world, "PermissionRequest", "Bash", &input, &agent);
    world.until_open("s__t");
    assert_eq!(world.get("/v1/asks/s__t").json()["subject"]["agent"], json!({"id": "a1", "type": "helper"}));
    for event in ["Stop", "UserPromptSubmit", "PostToolBatch"] {
        HOSTED.call(&mut world, event, "", &json!(null), &json!({})).no_decision();
    }
    world.assert_open("s__t");
    // Esc at a subagent's dialog does not end its hook. The end of the subagent does.
    HOSTED.call(&mut world, "SubagentStop", "", &json!(null), &agent).no_decision();
    hook.no_decision();
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
}

#[test]
fn calls_that_are_not_ours_to_decide_get_no_decision() {
    let mut world = World::new();
    drop(world.daemon());
    let (input, suggested) = (command("npm test"), json!({}));
    let one_shot = Agent { attended: "0", entrypoint: "sdk-cli", ..ATTENDED };
    one_shot.call(&mut world, "PermissionRequest", "Bash", &input, &suggested).no_decision();
    let native = Agent { args: &["native"], ..ATTENDED };
    native.call(&mut world, "PermissionRequest", "Bash", &input, &suggested).no_decision();
    // A subagent of an attended session: its dialog comes only after the hook.
    let agent = json!({"agent_id": "a1"});
    ATTENDED.call(&mut world, "PermissionRequest", "Bash", &input, &agent).no_decision();
    // Another agent that reads the same settings.
    let call =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": input});
    world.hook(&call).no_decision();
    // An input that cannot be shown.
    ATTENDED.call(&mut world, "PermissionRequest", "Bash", &json!("rm"), &suggested).no_decision();
    let huge = command(&"x".repeat(600 * 1024));
    ATTENDED.call(&mut world, "PermissionRequest", "Bash", &huge, &suggested).no_decision();
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"], json!([]));
}

#[test]
fn an_expired_or_dismissed_request_never_allows() {
    let mut world = World::with_config("timeout_seconds = 1\non_timeout = \"deny\"\n");
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t1");
    assert_eq!(decision(hook)["behavior"], "deny");
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t2");
    world.post("/v1/asks/s__t2/dismiss", &json!({"reason": "later"})).expect(200);
    let decision = decision(hook);
    assert_eq!(decision["behavior"], "deny");
    assert!(decision["message"].as_str().unwrap().contains("dismissed the permission request"), "{decision}");
    let hook = ATTENDED.ask(&mut world, "Bash", &command("npm test"), "t3");
    world.post("/v1/asks/s__t3/release", &json!({})).expect(200);
    hook.no_decision();
}
