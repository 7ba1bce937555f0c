//! What is known about the session that asks.

use std::fs;

use serde_json::{Value, json};

use crate::kinds::{ATTENDED, Agent, HOSTED};
use crate::world::{World, question};

fn context(world: &World, key: &str) -> Value {
    world.get(&format!("/v1/asks/{key}/context")).expect(200).json()
}

/// Asks through the hook of an agent. The ask is open when this returns.
fn ask(world: &mut World, agent: Agent, id: &str, transcript: &str) -> String {
    let input = json!({"questions": [question("Which?")]});
    let extra = json!({"tool_use_id": id, "transcript_path": transcript});
    drop(agent.call(world, "PreToolUse", "AskUserQuestion", &input, &extra));
    let key = format!("{}__{id}", agent.session);
    world.until_open(&key);
    key
}

#[test]
fn the_title_of_a_session_comes_from_its_transcript_however_long_it_is() {
    let mut world = World::new();
    let transcript = world.home().join("s.jsonl");
    let prompt = json!({"type": "user", "sessionId": "s", "gitBranch": "main",
        "message": {"role": "user", "content": "Fix the cart\nand the checkout"}});
    // The beginning and the end are far apart.
    let between = json!({"type": "attachment", "text": "x".repeat(10_000)}).to_string();
    let between = vec![between; 200].join("\n");
    let said = json!({"type": "assistant", "sessionId": "s", "message": {"content": [{"type": "text", "text": "One moment."}]}});
    fs::write(&transcript, format!("{prompt}\n{between}\n{said}\n")).unwrap();
    let key = ask(&mut world, HOSTED, "t", transcript.to_str().unwrap());
    let expected = json!({"said": "One moment.", "branch": null, "title": "Fix the cart", "terminal": false, "on_timeout": "native"});
    assert_eq!(context(&world, &key), expected);
    let title = json!({"type": "custom-title", "customTitle": "The cart", "sessionId": "s"});
    fs::write(&transcript, format!("{prompt}\n{between}\n{said}\n{title}\n")).unwrap();
    assert_eq!(context(&world, &key)["title"], "The cart");
    // A session whose records are gone has no title.
    fs::remove_file(&transcript).unwrap();
    let unknown = json!({"said": null, "branch": null, "title": null, "terminal": false, "on_timeout": "native"});
    assert_eq!(context(&world, &key), unknown);
}

#[test]
fn a_terminal_is_there_only_if_a_person_is_at_it() {
    let mut world = World::new();
    let terminal = |world: &World, key: &str| context(world, key)["terminal"].clone();
    let one_shot = Agent { attended: "0", entrypoint: "sdk-cli", ..ATTENDED };
    for (id, agent, expected) in [
        ("racing", ATTENDED, true),
        ("held", Agent { args: &["--mode", "hold"], ..ATTENDED }, true),
        ("hosted", HOSTED, false),
        ("one-shot", one_shot, false),
        ("deferred", Agent { args: &["--mode", "defer"], ..one_shot }, false),
    ] {
        let key = ask(&mut world, agent, id, "/none.jsonl");
        assert_eq!(terminal(&world, &key), expected, "{id}");
    }
    let program = world.post("/v1/asks", &json!({"questions": [question("Which?")]})).expect(201).json();
    assert_eq!(terminal(&world, program["key"].as_str().unwrap()), false);
}
