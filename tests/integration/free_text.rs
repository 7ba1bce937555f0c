//! Questions that accept only their options.

use std::io::Read;

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::world::{ANSWERBACK, World, question};

fn only(text: &str, labels: &[&str], multi_select: bool) -> Value {
    let options: Vec<_> = labels.iter().map(|label| json!({"label": label})).collect();
    json!({"question": text, "options": options, "multiSelect": multi_select, "freeText": false})
}

fn open(world: &World, question: &Value) -> Value {
    world.post("/v1/asks", &json!({"questions": [question]})).expect(201).json()
}

#[test]
fn an_answer_must_consist_of_labels() {
    let mut world = World::new();
    drop(world.daemon());
    let ask = open(&world, &only("Deploy?", &["Yes", "No, wait"], false));
    assert_eq!(ask["questions"][0]["freeText"], false);
    let key = ask["key"].as_str().unwrap();
    for answer in [json!("Maybe"), json!("yes"), json!("Yes, No, wait"), json!(["Maybe"]), json!("Yes, ")] {
        let problem = world.answer(key, &json!({"Deploy?": answer})).expect(422).json();
        let fault = &problem["errors"][0];
        assert_eq!(fault["question"], "Deploy?", "{answer}");
        let said = fault["problem"].as_str().unwrap();
        assert!(said.contains("`Yes`") && said.contains("`No, wait`"), "{said}");
    }
    world.answer(key, &json!({"Deploy?": "No, wait"})).expect(200);

    for (answer, status) in [
        (json!(["A", "B, C"]), 200),
        (json!("A, B, C"), 200),
        (json!("B, C, D"), 200),
        (json!("B"), 422),
        (json!("A, "), 422),
        (json!(["A", "A, D"]), 422),
        (json!(["A", "else"]), 422),
    ] {
        let ask = open(&world, &only("Which?", &["A", "B, C", "D"], true));
        world.answer(ask["key"].as_str().unwrap(), &json!({"Which?": answer})).expect(status);
    }
}

#[test]
fn a_question_without_free_text_needs_options_and_survives_a_restart() {
    let mut world = World::new();
    drop(world.daemon());
    let problem = world.post("/v1/asks", &json!({"questions": [only("Deploy?", &[], false)]})).expect(422).json();
    assert!(problem["title"].as_str().unwrap().contains("options"), "{problem}");
    let ask = open(&world, &only("Deploy?", &["Yes", "No"], false));
    let key = ask["key"].as_str().unwrap();
    world.kill_daemon();
    drop(world.daemon());
    let kept = world.get(&format!("/v1/asks/{key}")).expect(200).json();
    assert_eq!(kept["questions"][0]["freeText"], false);
    world.answer(key, &json!({"Deploy?": "Maybe"})).expect(422);
    // Questions with free text do not have the field.
    let ask = open(&world, &question("Which?"));
    assert_eq!(ask["questions"][0].get("freeText"), None);
}

#[test]
fn claude_codes_questions_always_take_free_text() {
    let mut world = World::new();
    for (id, value) in [("toolu_one", json!(false)), ("toolu_two", json!("never"))] {
        let mut asked = question("Which?");
        asked["freeText"] = value;
        let (hook, key) = world.ask("s", id, &[asked]);
        let ask = world.get(&format!("/v1/asks/{key}")).expect(200).json();
        assert_eq!(ask["questions"], json!([question("Which?")]));
        world.answer(&key, &json!({"Which?": "neither"})).expect(200);
        assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "neither"}));
    }
}

#[test]
fn ask_only_asks_for_an_option() {
    let world = World::new();
    let (_, said) = exits(&run(&world, &["ask", "Deploy?", "--only"]), 1);
    assert!(said.contains("--only") && said.contains("-o LABEL"), "{said}");
    let mut asking =
        world.command(ANSWERBACK).args(["ask", "Deploy?", "-o", "Yes", "-o", "No", "--only"]).spawn().unwrap();
    asking.stderr.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
    let (_, said) = exits(&run(&world, &["answer", "--text", "Maybe"]), 1);
    assert!(said.contains("nothing but its options") && said.contains("`Yes`"), "{said}");
    let (_, said) = exits(&run(&world, &["answer", "Maybe"]), 1);
    assert!(said.contains("`Maybe` is no option") && !said.contains("--text"), "{said}");
    exits(&run(&world, &["answer", "y"]), 0);
    assert_eq!(exits(&asking.wait_with_output().unwrap(), 0).0, "Yes\n");
}
