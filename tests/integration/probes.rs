//! The doctor's own questions (probes) are hidden, and a search finds only the words of people and their questions.

use std::process::Output;

use serde_json::json;

use crate::world::{ANSWERBACK, World, question};

fn run(world: &World, arguments: &[&str]) -> Output {
    world.command(ANSWERBACK).args(arguments).output().unwrap()
}

#[test]
fn probes_are_listed_only_on_request() {
    let mut world = World::new();
    let (hook, key) = world.ask("doctor-who", "t", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    drop(hook.reply());
    drop(run(&world, &["doctor"]));
    // The name of a session does not make its question a probe.
    let history = String::from_utf8(run(&world, &["history", "--limit", "1"]).stdout).unwrap();
    assert!(history.contains("Which?") && !history.contains("Nothing was found"), "{history}");
    assert!(!history.contains("There are more"), "{history}");
    for query in ["state=all", "state=settled&limit=1", "state=all&text=answered"] {
        let list = world.get(&format!("/v1/asks?{query}")).expect(200).json();
        let origins: Vec<_> = list["asks"].as_array().unwrap().iter().map(|ask| &ask["origin"]).collect();
        assert!(origins.iter().all(|origin| **origin == "claude-code"), "{query}: {origins:?}");
    }
    let list = world.get("/v1/asks?state=all&probes=true").expect(200).json();
    let origins: Vec<_> = list["asks"].as_array().unwrap().iter().map(|ask| &ask["origin"]).collect();
    assert_eq!(origins, ["probe", "claude-code"]);
    // A probe is not listed as a project.
    let projects = world.get("/v1/projects").expect(200).json();
    assert_eq!(projects["projects"], json!(["/home/me/shop"]));
}

#[test]
fn a_search_finds_questions_answers_notes_and_reasons_and_nothing_else() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "answered", &[question("Which colour?")]);
    let answer = json!({"answers": {"Which colour?": "turquoise"}, "notes": {"Which colour?": "like the sea"}});
    world.post(&format!("/v1/asks/{key}/answer"), &answer).expect(200);
    let (_hook, key) = world.ask("s", "dismissed", &[question("Which size?")]);
    world.post(&format!("/v1/asks/{key}/dismiss"), &json!({"reason": "not now"})).expect(200);
    let found = |text: &str| {
        let list = world.get(&format!("/v1/asks?state=settled&text={text}")).expect(200).json();
        list["asks"].as_array().unwrap().len()
    };
    for (text, count) in [("colour", 1), ("Which", 2), ("turquoise", 1), ("sea", 1), ("not%20now", 1)] {
        assert_eq!(found(text), count, "{text}");
    }
    // A search does not find options that nobody chose, their descriptions, or the field names of the store.
    for text in ["second", "first", "answered", "dismissed", "description"] {
        assert_eq!(found(text), 0, "{text}");
    }
}
