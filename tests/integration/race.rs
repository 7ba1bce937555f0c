//! A person is at the terminal. The dialog and the daemon ask at the same time, and the first answer wins.

use serde_json::{Value, json};

use crate::world::{HOOK, Hook, World, call, question};

/// A hook of an attended session.
fn hook(world: &mut World, event: &str, id: &str, change: impl FnOnce(&mut Value)) -> Hook {
    let mut call = call("s", id, &[question("Which?")]);
    call["hook_event_name"] = json!(event);
    change(&mut call);
    let mut command = world.command(HOOK);
    command.env("CLAUDE_CODE_SESSION_ATTENDED", "1").env("CLAUDE_CODE_ENTRYPOINT", "cli");
    world.hook_with(command, call.to_string().as_bytes())
}

fn announce(world: &mut World, id: &str) {
    hook(world, "PreToolUse", id, |_| {}).no_decision();
    world.until_open(&format!("s__{id}"));
}

/// The hook beside the dialog. It does not name its call.
fn dialog(world: &mut World) -> Hook {
    hook(world, "PermissionRequest", "", |call| drop(call.as_object_mut().unwrap().remove("tool_use_id")))
}

fn post_tool_use(world: &mut World, id: &str, answer: &str) -> Hook {
    hook(world, "PostToolUse", id, |call| {
        call["tool_input"]["answers"] = json!({"Which?": answer});
        call["tool_response"] = json!({"answers": {"Which?": answer}});
    })
}

fn decision(hook: Hook) -> Value {
    hook.reply()["decision"].take()
}

#[test]
fn an_answer_from_elsewhere_closes_the_dialog_and_is_explained_afterwards() {
    let mut world = World::new();
    announce(&mut world, "t");
    let dialog = dialog(&mut world);
    world.post("/v1/asks/s__t/answer", &json!({"answers": {"Which?": "B"}, "notes": {"Which?": "n"}})).expect(200);
    let decision = decision(dialog);
    assert_eq!(decision["behavior"], "allow");
    assert_eq!(decision["updatedInput"]["answers"], json!({"Which?": "B"}));
    assert_eq!(decision["updatedInput"]["annotations"], json!({"Which?": {"notes": "n"}}));
    let after = post_tool_use(&mut world, "t", "B").reply();
    assert!(after["additionalContext"].as_str().unwrap().contains("Answer: \"B\"\n  Note: \"n\""), "{after}");
    let ask = world.get("/v1/asks/s__t").json();
    assert_eq!((&ask["racing"], &ask["receipt"]["as_sent"]), (&json!(true), &json!(true)));
}

#[test]
fn an_answer_at_the_terminal_settles_the_ask_and_ends_the_hook_beside_it() {
    let mut world = World::new();
    announce(&mut world, "t");
    let dialog = dialog(&mut world);
    world.until_parked(&dialog);
    post_tool_use(&mut world, "t", "A").no_decision();
    dialog.no_decision();
    let ask = world.settled("s__t");
    assert_eq!(ask["outcome"]["kind"], "answered_in_terminal");
    assert_eq!(ask["outcome"]["answers"], json!({"Which?": "A"}));
    assert_eq!(ask["outcome"]["by"]["channel"], "terminal");
    world.answer("s__t", &json!({"Which?": "B"})).expect(409);
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
}

#[test]
fn an_equal_question_does_not_get_the_answer_of_an_earlier_one() {
    let mut world = World::new();
    for (id, answer) in [("first", "A"), ("second", "B")] {
        announce(&mut world, id);
        world.answer(&format!("s__{id}"), &json!({"Which?": answer})).expect(200);
    }
    let decision = decision(dialog(&mut world));
    assert_eq!(decision["updatedInput"]["answers"], json!({"Which?": "B"}));
}

#[test]
fn the_end_of_the_turn_the_next_prompt_and_the_end_of_the_session_withdraw() {
    let mut world = World::new();
    for event in ["Stop", "UserPromptSubmit", "SessionEnd"] {
        announce(&mut world, event);
        let dialog = dialog(&mut world);
        world.until_parked(&dialog);
        hook(&mut world, event, "", |_| {}).no_decision();
        dialog.no_decision();
        assert_eq!(world.settled(&format!("s__{event}"))["outcome"]["kind"], "withdrawn");
    }
}

#[test]
fn a_question_that_is_held_outlasts_the_turn_of_another_but_not_the_session() {
    let mut world = World::new();
    let (mut held, key) = world.ask("s", "held", &[question("Which?")]);
    hook(&mut world, "Stop", "", |_| {}).no_decision();
    assert!(held.is_waiting());
    world.assert_open(&key);
    hook(&mut world, "SessionEnd", "", |_| {}).no_decision();
    held.no_decision();
    assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn");
}

#[test]
fn equal_questions_at_the_same_time_are_matched_in_their_order() {
    let mut world = World::new();
    announce(&mut world, "first");
    announce(&mut world, "second");
    let dialogs = [dialog(&mut world), dialog(&mut world)];
    world.answer("s__second", &json!({"Which?": "B"})).expect(200);
    world.answer("s__first", &json!({"Which?": "A"})).expect(200);
    let mut answers = dialogs.map(|dialog| decision(dialog)["updatedInput"]["answers"]["Which?"].take());
    answers.sort_by_key(ToString::to_string);
    assert_eq!(answers, [json!("A"), json!("B")]);
}

#[test]
fn an_answer_that_comes_before_the_dialog_is_not_lost() {
    let mut world = World::new();
    announce(&mut world, "first");
    announce(&mut world, "second");
    world.answer("s__first", &json!({"Which?": "A"})).expect(200);
    world.answer("s__second", &json!({"Which?": "B"})).expect(200);
    for answer in ["A", "B"] {
        let late = dialog(&mut world);
        assert_eq!(decision(late)["updatedInput"]["answers"]["Which?"], answer);
    }
    assert_eq!(world.get("/v1/asks").json()["asks"], json!([]));
}

#[test]
fn a_hook_that_is_started_after_the_end_of_its_call_asks_nothing() {
    let mut world = World::new();
    announce(&mut world, "t");
    post_tool_use(&mut world, "t", "A").no_decision();
    hook(&mut world, "Stop", "", |_| {}).no_decision();
    dialog(&mut world).no_decision();
    // The same question again is another one.
    announce(&mut world, "u");
    let waiting = dialog(&mut world);
    world.answer("s__u", &json!({"Which?": "B"})).expect(200);
    assert_eq!(decision(waiting)["updatedInput"]["answers"]["Which?"], "B");
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_dialog_that_was_not_announced_opens_its_own_ask() {
    let mut world = World::new();
    let unannounced = dialog(&mut world);
    let key = crate::world::until("the question", || {
        let list = world.try_get("/v1/asks").ok()?.json();
        Some(list["asks"].get(0)?["key"].as_str()?.to_owned())
    });
    assert!(key.starts_with("s__unnamed-"), "{key}");
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(decision(unannounced)["behavior"], "allow");
    // The report confirms the answer, although it names another call.
    post_tool_use(&mut world, "t", "B").reply();
    assert_eq!(world.get(&format!("/v1/asks/{key}")).json()["receipt"]["as_sent"], true);
}

#[test]
fn an_announcement_without_a_dialog_is_withdrawn() {
    let mut world = World::new();
    announce(&mut world, "t");
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
}

#[test]
fn a_race_survives_a_killed_daemon() {
    let mut world = World::new();
    announce(&mut world, "t");
    let waiting = dialog(&mut world);
    world.kill_daemon_once_parked(&waiting);
    world.until_open("s__t");
    world.answer("s__t", &json!({"Which?": "B"})).expect(200);
    assert_eq!(decision(waiting)["updatedInput"]["answers"], json!({"Which?": "B"}));
}

#[test]
fn an_answer_before_the_dialog_survives_a_killed_daemon() {
    let mut world = World::new();
    announce(&mut world, "t");
    world.answer("s__t", &json!({"Which?": "B"})).expect(200);
    world.kill_daemon();
    assert_eq!(decision(dialog(&mut world))["updatedInput"]["answers"], json!({"Which?": "B"}));
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 1);
    // An equal question that nobody has announced is another one.
    post_tool_use(&mut world, "t", "B").reply();
    let other = dialog(&mut world);
    world.until_parked(&other);
    world.assert_open(world.get("/v1/asks").json()["asks"][0]["key"].as_str().unwrap());
}

#[test]
fn another_hook_that_changes_the_answer_is_noticed() {
    let mut world = World::new();
    announce(&mut world, "t");
    let dialog = dialog(&mut world);
    world.answer("s__t", &json!({"Which?": "B"})).expect(200);
    decision(dialog);
    post_tool_use(&mut world, "t", "A").reply();
    let receipt = world.get("/v1/asks/s__t").json()["receipt"].clone();
    assert_eq!((&receipt["as_sent"], &receipt["answers"]), (&json!(false), &json!({"Which?": "A"})));
    assert!(world.log().contains("received something else"));
}

#[test]
fn a_dismissal_closes_the_dialog_with_its_reason_and_a_release_leaves_it() {
    let mut world = World::new();
    announce(&mut world, "t");
    let dismissed = dialog(&mut world);
    world.post("/v1/asks/s__t/dismiss", &json!({"reason": "not now"})).expect(200);
    let decision = decision(dismissed);
    assert_eq!(decision["behavior"], "deny");
    assert!(decision["message"].as_str().unwrap().ends_with("\"not now\""));
    announce(&mut world, "u");
    let released = dialog(&mut world);
    world.post("/v1/asks/s__u/release", &json!({})).expect(200);
    released.no_decision();
}

#[test]
fn events_without_a_question_start_no_daemon() {
    let mut world = World::new();
    for event in ["Stop", "UserPromptSubmit", "SessionEnd", "PostToolUse"] {
        hook(&mut world, event, "t", |_| {}).no_decision();
    }
    assert!(!world.state("").exists());
}

#[test]
fn events_of_sessions_without_questions_get_no_output() {
    let mut world = World::new();
    drop(world.daemon());
    for event in ["Stop", "UserPromptSubmit", "SessionEnd", "PostToolUse"] {
        hook(&mut world, event, "t", |_| {}).no_decision();
    }
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"], json!([]));
}
