//! Forms: values that an MCP server of the agent asks for.

use serde_json::{Value, json};

use crate::kinds::{ATTENDED, Agent, HOSTED};
use crate::world::{Hook, World};

fn form() -> Value {
    json!({"mcp_server_name": "shop", "message": "Where does it run?", "mode": "form", "requested_schema": {
        "type": "object", "required": ["port"], "properties": {
            "port": {"type": "integer", "title": "Port", "minimum": 1, "maximum": 65535},
            "tls": {"type": "boolean", "title": "With TLS"},
        },
    }})
}

fn ask(world: &mut World, agent: Agent, call: &Value) -> (Hook, String) {
    let hook = agent.call(world, "Elicitation", "", &json!(null), call);
    world.until_parked(&hook);
    let key = world.get("/v1/asks").json()["asks"][0]["key"].as_str().unwrap().to_owned();
    (hook, key)
}

#[test]
fn values_are_checked_and_come_back_with_their_types() {
    let mut world = World::new();
    let (hook, key) = ask(&mut world, HOSTED, &form());
    let shown = world.get(&format!("/v1/asks/{key}")).json();
    assert_eq!((&shown["kind"], &shown["subject"]["server"]), (&json!("form"), &json!("shop")));
    assert_eq!(shown["questions"][1]["optional"], true);
    let refused = world.answer(&key, &json!({"Port": "70000"})).expect(422).json();
    assert_eq!(refused["errors"], json!([{"question": "Port", "problem": "must be at most 65535"}]));
    world.answer(&key, &json!({"With TLS": "Yes"})).expect(422);
    world.answer(&key, &json!({"Port": "8080", "With TLS": "Yes"})).expect(200);
    let expected = json!({"hookEventName": "Elicitation", "action": "accept", "content": {"port": 8080, "tls": true}});
    assert_eq!(hook.reply(), expected);
}

#[test]
fn a_form_can_be_declined_released_and_left_partly_empty() {
    let mut world = World::new();
    let (hook, key) = ask(&mut world, HOSTED, &form());
    world.post(&format!("/v1/asks/{key}/dismiss"), &json!({})).expect(200);
    assert_eq!(hook.reply()["action"], "decline");
    let (hook, key) = ask(&mut world, HOSTED, &form());
    world.post(&format!("/v1/asks/{key}/release"), &json!({})).expect(200);
    hook.no_decision();
    let (hook, key) = ask(&mut world, HOSTED, &form());
    world.answer(&key, &json!({"Port": "1"})).expect(200);
    assert_eq!(hook.reply()["content"], json!({"port": 1}));
}

#[test]
fn an_address_is_shown_whole_and_accepted() {
    let mut world = World::new();
    let call = json!({"mcp_server_name": "shop", "message": "Pay", "mode": "url", "url": "https://pay.example/x?y=1",
        "elicitation_id": "e1"});
    let (hook, key) = ask(&mut world, HOSTED, &call);
    let shown = world.get(&format!("/v1/asks/{key}")).json();
    assert_eq!(shown["subject"]["url"], "https://pay.example/x?y=1");
    let question = shown["questions"][0]["question"].as_str().unwrap();
    world.answer(&key, &json!({question: "yes"})).expect(422);
    world.answer(&key, &json!({question: "Accept"})).expect(200);
    assert_eq!(hook.reply(), json!({"hookEventName": "Elicitation", "action": "accept"}));
}

#[test]
fn a_form_ends_with_the_next_prompt() {
    let mut world = World::new();
    let (hook, key) = ask(&mut world, HOSTED, &form());
    // A subagent may want the form, and the agent itself may stop meanwhile.
    for event in ["Stop", "PostToolBatch", "SubagentStop"] {
        HOSTED.call(&mut world, event, "", &json!(null), &json!({})).no_decision();
    }
    world.assert_open(&key);
    HOSTED.call(&mut world, "UserPromptSubmit", "", &json!(null), &json!({})).no_decision();
    // If the hook said nothing, Claude Code would open a dialog that belongs to a turn that is over.
    assert_eq!(hook.reply()["action"], "cancel");
    assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn");
}

#[test]
fn at_the_terminal_a_form_waits_only_if_the_person_wants_that() {
    let mut world = World::new();
    drop(world.daemon());
    ATTENDED.call(&mut world, "Elicitation", "", &json!(null), &form()).no_decision();
    let (hook, key) = ask(&mut world, Agent { args: &["hold"], ..ATTENDED }, &form());
    world.answer(&key, &json!({"Port": "1"})).expect(200);
    assert_eq!(hook.reply()["action"], "accept");
}
