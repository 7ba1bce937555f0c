//! Plans: may the agent carry out what it has planned?

use serde_json::{Value, json};

use crate::kinds::{ATTENDED, answer, question};
use crate::world::{Hook, World};

const TOOL: &str = "ExitPlanMode";

fn plan() -> Value {
    json!({"plan": "# Add a search\n\n1. Index\n2. Query", "planFilePath": "/home/me/.claude/plans/a.md"})
}

/// A plan whose dialog is open.
fn ask(world: &mut World, id: &str, input: &Value) -> Hook {
    ATTENDED.name(world, TOOL, input, id);
    let hook = ATTENDED.call(world, "PermissionRequest", TOOL, input, &json!({}));
    world.until_parked(&hook);
    hook
}

fn decision(hook: Hook) -> Value {
    hook.reply()["decision"].take()
}

fn set_mode(mode: &str) -> Value {
    json!([{"type": "setMode", "mode": mode, "destination": "session"}])
}

#[test]
fn a_plan_is_approved_in_both_ways_and_seen_to_be_carried_out() {
    let mut world = World::new();
    for (id, label, mode) in
        [("t1", "Approve, accept edits", "acceptEdits"), ("t2", "Approve, ask before each edit", "default")]
    {
        let hook = ask(&mut world, id, &plan());
        let key = format!("s__{id}");
        let shown = world.get(&format!("/v1/asks/{key}")).json();
        assert_eq!((&shown["kind"], &shown["subject"]["plan"]), (&json!("plan"), &plan()["plan"]));
        assert!(question(&world, &key).contains("1. Index"));
        answer(&world, &key, label, &json!({})).expect(200);
        let expected = json!({"behavior": "allow", "updatedInput": {}, "updatedPermissions": set_mode(mode)});
        assert_eq!(decision(hook), expected);
        // The report does not repeat the plan.
        let after = json!({"tool_use_id": id, "tool_response": {"plan": "# Add a search"}});
        ATTENDED.call(&mut world, "PostToolUse", TOOL, &json!({}), &after).no_decision();
        assert_eq!(world.get(&format!("/v1/asks/{key}")).json()["receipt"]["as_sent"], true);
    }
}

#[test]
fn a_plan_is_edited_and_approved() {
    let mut world = World::new();
    let hook = ask(&mut world, "t", &plan());
    let edited = json!({"edited": {"plan": "# Only the index"}});
    answer(&world, "s__t", "Keep planning", &edited).expect(422);
    answer(&world, "s__t", "Approve, accept edits", &json!({"edited": {"planFilePath": "/etc/x"}})).expect(422);
    answer(&world, "s__t", "Approve, accept edits", &edited).expect(200);
    assert_eq!(decision(hook)["updatedInput"], edited["edited"]);
}

#[test]
fn a_plan_is_sent_back_with_words() {
    let mut world = World::new();
    for (id, text, note, told) in [
        ("t1", "Keep planning", None, "revise it."),
        ("t2", "Keep planning", Some("1. \"Index\": tests first"), "tests first"),
        ("t3", "approve", None, "said: \"approve\""),
    ] {
        let hook = ask(&mut world, id, &plan());
        let key = format!("s__{id}");
        let notes = note.map_or(json!({}), |note| json!({"notes": {question(&world, &key): note}}));
        answer(&world, &key, text, &notes).expect(200);
        let decision = decision(hook);
        assert_eq!(decision["behavior"], "deny", "{text}");
        assert!(decision["message"].as_str().unwrap().contains(told), "{decision}");
    }
}

#[test]
fn the_terminal_may_be_first() {
    let mut world = World::new();
    let hook = ask(&mut world, "t1", &plan());
    ATTENDED.call(&mut world, "PostToolUse", TOOL, &json!({}), &json!({"tool_use_id": "t1"})).no_decision();
    hook.no_decision();
    let approved = world.settled("s__t1");
    assert_eq!(approved["outcome"]["kind"], "answered_in_terminal");
    let hook = ask(&mut world, "t2", &plan());
    let batch = json!({"tool_calls": [{"tool_use_id": "t2", "tool_response": "… the user said:\nmore tests please"}]});
    ATTENDED.call(&mut world, "PostToolBatch", "", &json!(null), &batch).no_decision();
    hook.no_decision();
    let sent_back = world.settled("s__t2");
    let question = sent_back["questions"][0]["question"].as_str().unwrap();
    assert_eq!(sent_back["outcome"]["answers"][question], "Keep planning");
    assert_eq!(sent_back["outcome"]["notes"][question], "more tests please");
}

#[test]
fn a_plan_that_was_not_written_down_can_be_approved_too() {
    let mut world = World::new();
    let hook = ask(&mut world, "t", &json!({}));
    assert!(question(&world, "s__t").contains("not written"));
    answer(&world, "s__t", "Approve, ask before each edit", &json!({})).expect(200);
    assert_eq!(decision(hook)["behavior"], "allow");
}
