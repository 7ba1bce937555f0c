//! Edges: what is asked on another machine is answered at the hub, and only there.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::kinds::{ATTENDED, answer};
use crate::world::{ANSWERBACK, IN_TIME, World, call, question, until};

fn keys(world: &World) -> Vec<String> {
    let asks = world.get("/v1/asks").expect(200).json()["asks"].take();
    asks.as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_asked_on_an_edge_is_answered_at_the_hub() {
    let fleet = Fleet::new();
    let mut edge = fleet.edge("build-1");
    // The hook starts the daemon of the edge.
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    assert_eq!(keys(&fleet.hub), [key.as_str()]);
    fleet.hub.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "B");
    assert_eq!(fleet.hub.settled(&key)["outcome"]["kind"], "answered");
    assert_eq!(edge.settled(&key)["outcome"]["answers"]["Which?"], "B");
    assert!(!edge.state("asks.db").exists(), "an edge keeps nothing");
}

#[test]
fn without_a_hub_a_hook_fails_open_within_two_seconds() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    fleet.close();
    fleet.until_not_linked("build-1");
    let begun = Instant::now();
    edge.hook(&call("s", "t", &[question("Which?")])).no_decision();
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    assert_eq!(keys(&fleet.hub), [] as [String; 0]);
    // The daemon of an edge starts without a hub, and finds it later.
    edge.kill_daemon();
    let begun = Instant::now();
    edge.hook(&call("s", "u", &[question("Which?")])).no_decision();
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    fleet.reopen();
    fleet.until_linked("build-1");
    let (hook, key) = edge.ask("s", "v", &[question("Which?")]);
    fleet.hub.answer(&key, &json!({"Which?": "A"})).expect(200);
    hook.reply();
}

#[test]
fn the_first_answer_wins_against_the_terminal_of_the_edge() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let command = json!({"command": "npm test"});
    let dialog = ATTENDED.ask(&mut edge, "Bash", &command, "t");
    answer(&fleet.hub, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(dialog.reply()["decision"]["behavior"], "allow");
    // A report that comes later does not change it.
    ATTENDED.call(&mut edge, "PostToolUse", "Bash", &command, &json!({"tool_use_id": "t"})).no_decision();
    assert_eq!(fleet.hub.settled("s__t")["outcome"]["kind"], "answered");

    let dialog = ATTENDED.ask(&mut edge, "Bash", &command, "u");
    edge.until_parked(&dialog);
    ATTENDED.call(&mut edge, "PostToolUse", "Bash", &command, &json!({"tool_use_id": "u"})).no_decision();
    dialog.no_decision();
    let settled = fleet.hub.settled("s__u");
    assert_eq!(settled["outcome"]["kind"], "answered_in_terminal");
    assert_eq!(settled["outcome"]["by"]["channel"], "terminal");
    answer(&fleet.hub, "s__u", "Deny", &json!({})).expect(409);
}

#[test]
fn an_edge_watches_over_its_own_asks() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (mut hook, key) = edge.ask("s", "t", &[question("Which?")]);
    hook.stop_listening();
    crate::world::signal(hook.pid(), rustix::process::Signal::KILL);
    assert_eq!(fleet.hub.settled(&key)["outcome"]["kind"], "withdrawn");

    let (mut hub_asks, own) = (World::new(), fleet.token("build-2"));
    fleet.join(&hub_asks, &own);
    let config = fs::read_to_string(hub_asks.home().join(".config/answerback/config.toml")).unwrap();
    hub_asks.write_config(&format!("timeout_seconds = 1\n{config}"));
    let hook = hub_asks.hook(&call("s", "u", &[question("Which?")]));
    hook.no_decision();
    assert_eq!(fleet.hub.settled("s__u")["outcome"]["kind"], "expired");
}

#[test]
fn a_program_on_an_edge_asks_at_the_hub() {
    let fleet = Fleet::new();
    let edge = fleet.linked_edge("build-1");
    let mut command = edge.command(ANSWERBACK);
    let program = command.args(["ask", "Deploy?", "-o", "Yes", "-o", "No"]).spawn().unwrap();
    let key = until("the question", || keys(&fleet.hub).pop());
    fleet.hub.answer(&key, &json!({"Deploy?": "Yes"})).expect(200);
    let output = program.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Yes\n", "{output:?}");
}

#[test]
fn what_the_agent_said_travels_with_the_ask() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let transcript = edge.home().join("s.jsonl");
    let prompt = json!({"type": "user", "sessionId": "s", "gitBranch": "main",
        "message": {"role": "user", "content": "Fix the cart"}});
    let said = json!({"type": "assistant", "sessionId": "s", "gitBranch": "main",
        "message": {"content": [{"type": "text", "text": "One moment."}]}});
    fs::write(&transcript, format!("{prompt}\n{said}\n")).unwrap();
    let extra = json!({"tool_use_id": "t", "transcript_path": transcript});
    let input = json!({"questions": [question("Which?")]});
    let hook = ATTENDED.call(&mut edge, "PreToolUse", "AskUserQuestion", &input, &extra);
    hook.no_decision();
    edge.until_open("s__t");
    // The hub cannot read it any more, wherever the file is.
    fs::remove_file(&transcript).unwrap();
    let context = fleet.hub.get("/v1/asks/s__t/context").expect(200).json();
    assert_eq!((&context["said"], &context["title"]), (&json!("One moment."), &json!("Fix the cart")), "{context}");
    assert_eq!((&context["branch"], &context["terminal"]), (&json!("main"), &json!(true)));
    assert_eq!(fleet.hub.get("/v1/asks/s__t").json()["host"], "build-1");
    assert!(context["user"].is_string(), "{context}");
}

#[test]
fn a_hub_does_not_read_its_own_files_for_an_edge() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let mut call = call("s", "t", &[question("Which?")]);
    // The file exists at the hub when the context is asked for, and did not exist on the edge when the question was.
    let secret = fleet.hub.home().join("secret.jsonl");
    call["transcript_path"] = json!(secret);
    let _hook = edge.hook(&call);
    fleet.hub.until_open("s__t");
    let said = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "A secret."}]}});
    fs::write(&secret, format!("{said}\n")).unwrap();
    let context = fleet.hub.get("/v1/asks/s__t/context").expect(200).json();
    assert_eq!(context["said"], Value::Null, "{context}");
}

#[test]
fn two_edges_do_not_see_each_other() {
    let fleet = Fleet::new();
    let (mut first, mut second) = (fleet.linked_edge("build-1"), fleet.linked_edge("build-2"));
    let (hook, key) = first.ask("s", "t", &[question("Which?")]);
    assert_eq!(keys(&second), [] as [String; 0]);
    second.get(&format!("/v1/asks/{key}")).expect(404);
    // The same key on another machine is left to its terminal, and does not disturb the first.
    second.hook(&call("s", "t", &[question("Which?")])).no_decision();
    first.assert_open(&key);
    let (other, other_key) = second.ask("s2", "t", &[question("Which?")]);
    assert_eq!(keys(&first), [key.as_str()]);
    for (key, text) in [(&key, "A"), (&other_key, "B")] {
        fleet.hub.answer(key, &json!({"Which?": text})).expect(200);
    }
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "A");
    assert_eq!(other.reply()["updatedInput"]["answers"]["Which?"], "B");
}
