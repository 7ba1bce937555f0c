//! `answerback mcp --elicitation`: the questions also in the client, and the first answer counts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::kinds::ATTENDED;
use crate::mcp::Agent;
use crate::world::{HOOK, World};

const FORMS: &str = "--elicitation";

fn questions() -> Value {
    json!({"questions": [
        {"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "PostgreSQL"}]},
        {"question": "Which parts?", "options": [{"label": "Tests"}, {"label": "Docs"}], "multiSelect": true, "freeText": false},
    ]})
}

/// An agent whose client shows the form for a call with the id 1; the ask; and the id of the form.
fn shown(world: &World) -> (Agent, String, Value) {
    let mut agent = Agent::with(world, &[FORMS], &json!({"elicitation": {}}));
    let ping = agent.receive();
    assert_eq!(ping["method"], "ping");
    agent.send(&json!({"id": ping["id"], "result": {}}));
    let ask = agent.ask(world, 1, &questions());
    let form = agent.receive();
    assert_eq!((&form["method"], &form["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
    let properties = form["params"]["requestedSchema"]["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["answerback_1", "answerback_1_other", "answerback_2"]);
    assert_ne!(form["id"], 0, "some clients cannot cancel that");
    (agent, ask["key"].as_str().unwrap().to_owned(), form["id"].clone())
}

fn reply(agent: &mut Agent, form: &Value, result: &Value) {
    agent.send(&json!({"id": form, "result": result}));
}

#[test]
fn what_is_entered_in_the_client_is_the_answer() {
    let world = World::new();
    let (mut agent, key, form) = shown(&world);
    let content = json!({"answerback_1": "SQLite", "answerback_2": ["Tests", "Docs"]});
    reply(&mut agent, &form, &json!({"action": "accept", "content": content}));
    let result = agent.result(1);
    assert_eq!(result["structuredContent"]["answers"][1]["choices"], json!(["Tests", "Docs"]));
    assert_eq!(result["structuredContent"]["by"], json!({"channel": "socket", "agent": "Codex 0.42"}));
    let ask = world.settled(&key);
    assert_eq!(ask["outcome"]["answers"], json!({"Which database?": "SQLite", "Which parts?": "Tests, Docs"}));
}

#[test]
fn the_server_of_a_known_agent_passes_on_what_is_entered_and_its_other_programs_cannot_answer() {
    let mut world = World::new();
    let mut hook = world.command(HOOK);
    hook.env("CLAUDE_PID", std::process::id().to_string());
    let turn = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash"});
    drop(world.daemon());
    world.hook_with(hook, turn.to_string().as_bytes()).no_decision();
    let (mut agent, key, form) = shown(&world);
    let refused = world.answer(&key, &json!({"Which database?": "SQLite", "Which parts?": "Docs"})).expect(403).json();
    assert_eq!(refused["type"], "urn:answerback:problem:agent");
    let content = json!({"answerback_1": "SQLite", "answerback_2": ["Tests"]});
    reply(&mut agent, &form, &json!({"action": "accept", "content": content}));
    assert_eq!(agent.result(1)["structuredContent"]["answers"][0]["answer"], "SQLite");
}

#[test]
fn an_answer_in_answerback_closes_the_form_in_the_client() {
    let world = World::new();
    let (mut agent, key, form) = shown(&world);
    world.answer(&key, &json!({"Which database?": "SQLite", "Which parts?": "Docs"})).expect(200);
    let closed = agent.receive();
    assert_eq!((&closed["method"], &closed["params"]["requestId"]), (&json!("notifications/cancelled"), &form));
    assert_eq!(agent.result(1)["structuredContent"]["answers"][1]["answer"], "Docs");
}

#[test]
fn a_person_who_declines_in_the_client_dismisses_the_question() {
    let world = World::new();
    let (mut agent, key, form) = shown(&world);
    reply(&mut agent, &form, &json!({"action": "decline"}));
    assert_eq!(agent.result(1)["structuredContent"]["outcome"], "dismissed");
    assert_eq!(world.settled(&key)["outcome"]["by"]["agent"], "Codex 0.42");
}

#[test]
fn a_form_that_is_closed_or_of_no_use_leaves_the_question_open() {
    for result in [
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"answerback_2": ["Everything"]}}),
    ] {
        let world = World::new();
        let (mut agent, key, form) = shown(&world);
        reply(&mut agent, &form, &result);
        world.assert_open(&key);
        world.answer(&key, &json!({"Which database?": "mine", "Which parts?": "Tests"})).expect(200);
        // The answer can be faster than what the client said. Then the form is closed first.
        let mut said = agent.receive();
        if said["method"] == "notifications/cancelled" {
            said = agent.receive();
        }
        assert_eq!(said["result"]["structuredContent"]["answers"][0]["answer"], "mine", "{result}");
    }
}

#[test]
fn a_call_that_is_cancelled_takes_its_form_with_it() {
    let world = World::new();
    let (mut agent, key, form) = shown(&world);
    agent.send(&json!({"method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!(agent.receive()["params"]["requestId"], form);
    assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn");
}

#[test]
fn the_end_of_the_agent_withdraws_the_question_at_once() {
    let world = World::new();
    let (agent, key, _) = shown(&world);
    let started = Instant::now();
    agent.end();
    let ask = world.get(&format!("/v1/asks/{key}")).json();
    assert_eq!(ask["outcome"]["kind"], "withdrawn");
    // The library would wait for five seconds before it tells anybody that the agent is gone.
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[test]
fn no_form_is_shown_unless_it_is_wanted_and_possible() {
    for (options, capabilities) in
        [(&[][..], json!({"elicitation": {}})), (&[FORMS], json!({})), (&[FORMS], json!({"elicitation": {"url": {}}}))]
    {
        let world = World::new();
        let mut agent = Agent::with(&world, options, &capabilities);
        let ask = agent.ask(&world, 1, &questions());
        world
            .answer(ask["key"].as_str().unwrap(), &json!({"Which database?": "SQLite", "Which parts?": "Docs"}))
            .expect(200);
        agent.result(1);
    }
}

#[test]
fn the_hook_leaves_our_own_form_to_the_client() {
    let mut world = World::new();
    drop(world.daemon());
    let form = |properties: Value| {
        json!({"hook_event_name": "Elicitation", "session_id": "s", "cwd": "/home/me/shop", "mcp_server_name": "answerback",
            "message": "m", "mode": "form", "requested_schema": {"type": "object", "properties": properties}})
    };
    let mut hook = |call: &Value| {
        let mut command = world.command(HOOK);
        command.arg("hold").env("CLAUDE_CODE_SESSION_ATTENDED", ATTENDED.attended).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        world.hook_with(command, call.to_string().as_bytes())
    };
    let own = json!({"answerback_1": {"type": "string"}, "answerback_1_other": {"type": "string"}});
    hook(&form(own)).no_decision();
    // One field of another name, and it is somebody else's.
    let waiting = hook(&form(json!({"answerback_1": {"type": "string"}, "name": {"type": "string"}})));
    world.until_parked(&waiting);
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 1);
}
