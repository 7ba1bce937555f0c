//! The sessions of agents: what their hooks show.

use std::process::Command;

use serde_json::{Value, json};

use crate::companion::Companion;
use crate::kinds::{ATTENDED, Agent};
use crate::world::{World, question};

fn event(world: &mut World, agent: Agent, name: &str) {
    agent.call(world, name, "", &json!(null), &json!({})).no_decision();
}

fn sessions(world: &World) -> Vec<Value> {
    world.get("/v1/sessions").expect(200).json()["sessions"].as_array().unwrap().clone()
}

fn state(world: &World, session: &str) -> Value {
    sessions(world)
        .into_iter()
        .find(|each| each["session"] == session)
        .map_or(Value::Null, |each| each["state"].clone())
}

#[test]
fn a_session_works_waits_is_idle_and_ends() {
    let mut world = World::new();
    drop(world.daemon());
    assert_eq!(sessions(&world), [Value::Null; 0]);
    event(&mut world, ATTENDED, "UserPromptSubmit");
    assert_eq!(state(&world, "s"), "working");
    let hook = ATTENDED.ask(&mut world, "Bash", &json!({"command": "npm test"}), "t");
    let waiting = sessions(&world).remove(0);
    assert_eq!((&waiting["state"], &waiting["asks"]), (&json!("waiting"), &json!(["s__t"])));
    assert_eq!((&waiting["project"], &waiting["agent"]), (&json!("/home/me/shop"), &json!("claude-code")));
    crate::kinds::answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    hook.reply();
    assert_eq!(state(&world, "s"), "working");
    event(&mut world, ATTENDED, "Stop");
    assert_eq!(state(&world, "s"), "idle");
    event(&mut world, ATTENDED, "SessionEnd");
    assert_eq!(state(&world, "s"), "ended");
}

/// `claude -p --resume` beside a live terminal has the live session's id, and ends alone.
#[test]
fn the_end_of_one_process_does_not_end_a_session_with_another() {
    let mut world = World::new();
    drop(world.daemon());
    event(&mut world, ATTENDED, "UserPromptSubmit");
    let other = Agent { pid: "2", ..ATTENDED };
    event(&mut world, other, "UserPromptSubmit");
    event(&mut world, other, "SessionEnd");
    assert_eq!(state(&world, "s"), "working");
}

#[test]
fn a_session_has_the_title_and_the_branch_of_its_records() {
    let mut world = World::new();
    drop(world.daemon());
    let records = world.home().join("records.jsonl");
    let lines = [
        json!({"type": "user", "sessionId": "s", "message": {"content": "Add a search to the shop"}}),
        json!({"type": "assistant", "gitBranch": "search", "message": {"content": [{"type": "text", "text": "So."}]}}),
    ];
    std::fs::write(&records, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let extra = json!({"transcript_path": records});
    ATTENDED.call(&mut world, "UserPromptSubmit", "", &json!(null), &extra).no_decision();
    let session = sessions(&world).remove(0);
    assert_eq!((&session["title"], &session["branch"]), (&json!("Add a search to the shop"), &json!("search")));
}

#[test]
fn a_companion_is_told_when_a_session_changes() {
    let mut world = World::new();
    drop(world.daemon());
    let mut companion = Companion::of_all(&world);
    event(&mut world, ATTENDED, "UserPromptSubmit");
    let status = companion.until_status("s", "working");
    assert_eq!((&status["is_processing"], &status["waiting_for_user"]), (&json!(true), &json!(false)));
    event(&mut world, ATTENDED, "Stop");
    companion.until_status("s", "idle");
    // A program has no session beyond its question.
    let ask = world.post("/v1/asks", &json!({"questions": [question("Which?")]})).expect(201).json();
    let (key, session) = (ask["key"].as_str().unwrap(), ask["session"].as_str().unwrap());
    assert_eq!(companion.next_of("ask_user_question")["question_id"], key);
    companion.until_status(session, "waiting");
    world.post(&format!("/v1/asks/{key}/withdraw"), &json!({})).expect(200);
    companion.next_of("ask_user_settled");
    companion.until_status(session, "ended");
    assert_eq!(state(&world, session), Value::Null);
}

#[test]
fn the_probes_of_the_doctor_are_no_sessions() {
    let mut world = World::new();
    drop(world.daemon());
    let mut doctor: Command = world.command(crate::world::ANSWERBACK);
    assert!(doctor.args(["doctor", "--round-trip"]).output().unwrap().status.success());
    assert_eq!(sessions(&world), [Value::Null; 0]);
}
