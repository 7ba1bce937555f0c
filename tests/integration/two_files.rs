//! The hook in two settings files that Claude Code reads for the same project: it starts a hook of each for every call, and a person is
//! asked once. The hook of a file that is shared has its mode as an argument.

use serde_json::{Value, json};

use crate::kinds::{ATTENDED, Agent, HOSTED, answer};
use crate::world::{World, question};

const SHARED: &[&str] = &["auto"];

/// A tool that asks, what it is called with, and an answer to it.
fn calls() -> [(&'static str, Value, &'static str); 3] {
    [
        ("AskUserQuestion", json!({"questions": [question("Which?")]}), "A"),
        ("ExitPlanMode", json!({"plan": "# Shop\n"}), "Keep planning"),
        ("Bash", json!({"command": "npm test"}), "Allow once"),
    ]
}

fn open_asks(world: &World) -> usize {
    world.get("/v1/asks").json()["asks"].as_array().unwrap().len()
}

#[test]
fn at_the_terminal_everything_is_asked_once_however_late_the_second_hook_is() {
    for (tool, input, text) in calls() {
        let mut world = World::new();
        let both = [ATTENDED, Agent { args: SHARED, ..ATTENDED }];
        // The second call is equal to the first one, and another call all the same.
        for id in ["t1", "t2"] {
            let key = format!("s__{id}");
            for agent in both {
                agent.name(&mut world, tool, &input, id);
            }
            let hooks = both.map(|agent| {
                let hook = agent.call(&mut world, "PermissionRequest", tool, &input, &json!({}));
                world.until_open(&key);
                world.until_parked(&hook);
                hook
            });
            assert_eq!(open_asks(&world), 1, "{tool} is asked twice");
            answer(&world, &key, text, &json!({})).expect(200);
            let [first, second] = hooks.map(|hook| hook.reply());
            assert_eq!(first, second, "{tool}");
            assert!(first["decision"].is_object(), "{tool}: {first}");
        }
        assert_eq!(world.get("/v1/asks?state=settled").json()["asks"].as_array().unwrap().len(), 2, "{tool}");
    }
}

/// The answer comes before the dialogs, and both hooks are told.
#[test]
fn what_was_answered_before_the_dialog_is_not_asked_again() {
    let (tool, input, text) = calls().into_iter().next().unwrap();
    let mut world = World::new();
    let both = [ATTENDED, Agent { args: SHARED, ..ATTENDED }];
    for agent in both {
        agent.name(&mut world, tool, &input, "t1");
    }
    answer(&world, "s__t1", text, &json!({})).expect(200);
    for agent in both {
        let reply = agent.call(&mut world, "PermissionRequest", tool, &input, &json!({})).reply();
        assert_eq!(reply["decision"]["behavior"], "allow", "{reply}");
    }
    assert_eq!(open_asks(&world), 0);
}

/// An approval is for one call, and nobody can tell the late hook of one call from the hook of an equal one.
#[test]
fn a_hook_that_is_late_for_an_approval_asks_nothing_and_is_told_nothing() {
    let (tool, input, text) = calls().into_iter().next_back().unwrap();
    let mut world = World::new();
    let both = [ATTENDED, Agent { args: SHARED, ..ATTENDED }];
    for agent in both {
        agent.name(&mut world, tool, &input, "t1");
    }
    let request = |world: &mut World, agent: Agent| agent.call(world, "PermissionRequest", tool, &input, &json!({}));
    let hook = request(&mut world, both[0]);
    world.until_open("s__t1");
    answer(&world, "s__t1", text, &json!({})).expect(200);
    assert_eq!(hook.reply()["decision"]["behavior"], "allow");
    request(&mut world, both[1]).no_decision();
    let asks = world.get("/v1/asks?state=all").json()["asks"].take();
    assert_eq!(asks.as_array().unwrap().len(), 1, "{asks}");
}

#[test]
fn without_a_terminal_a_question_is_asked_once() {
    let (tool, input, text) = calls().into_iter().next().unwrap();
    let mut world = World::new();
    let hooks = [HOSTED, Agent { args: SHARED, ..HOSTED }].map(|agent| {
        let hook = agent.call(&mut world, "PreToolUse", tool, &input, &json!({"tool_use_id": "t1"}));
        world.until_open("s__t1");
        world.until_parked(&hook);
        hook
    });
    assert_eq!(open_asks(&world), 1);
    answer(&world, "s__t1", text, &json!({})).expect(200);
    let [first, second] = hooks.map(|hook| hook.reply());
    assert_eq!(first, second);
}

/// Nobody names a form, so its hooks have only its text in common.
#[test]
fn a_form_is_asked_once_and_the_same_form_again_is_another_one() {
    let mut world = World::new();
    let form = json!({"mcp_server_name": "shop", "message": "Where?", "mode": "form",
        "requested_schema": {"type": "object", "properties": {"host": {"type": "string"}}}});
    for round in 1..=2 {
        let hooks = [HOSTED, Agent { args: SHARED, ..HOSTED }].map(|agent| {
            let hook = agent.call(&mut world, "Elicitation", "", &json!(null), &form);
            world.until_parked(&hook);
            hook
        });
        let asks = world.get("/v1/asks").json()["asks"].as_array().unwrap().clone();
        assert_eq!(asks.len(), 1, "round {round}: {asks:?}");
        let (key, question) = (asks[0]["key"].as_str().unwrap(), asks[0]["questions"][0]["question"].as_str().unwrap());
        let value = format!("host-{round}");
        world.post(&format!("/v1/asks/{key}/answer"), &json!({"answers": {question: value}})).expect(200);
        for hook in hooks {
            assert_eq!(hook.reply()["content"], json!({"host": value}), "round {round}");
        }
    }
}
