//! Large questions on a slow way to the hub. They take longer than a link may be silent, and the link is not silent meanwhile.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::{FAST, Fleet};
use crate::http::Request;
use crate::world::{World, call, question, until};

/// Twenty seconds for a large question.
const SLOW: u32 = 45_000;

/// Questions with sixty options that have so many bytes each.
fn large(bytes: usize) -> Value {
    let option = |n: usize| json!({"label": n.to_string(), "description": "x".repeat(bytes)});
    let options: Vec<Value> = (0..20).map(option).collect();
    let question =
        |n: usize| json!({"question": format!("{n}?"), "header": "", "options": options, "multiSelect": false});
    json!({"questions": [question(0), question(1), question(2)]})
}

fn answers() -> Value {
    json!({"0?": "0", "1?": "1", "2?": "2"})
}

/// Sends a request, and waits for the reply for longer than a slow way needs.
fn send(world: &World, line: &str, body: &Value) -> Value {
    let stream = TcpStream::connect(world.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = body.to_string();
    Request { line, headers: world.headers(), body: body.as_bytes() }.over(stream).unwrap().json()
}

fn assert_never_cut(fleet: &Fleet) {
    let log = fleet.hub.log();
    assert!(!log.contains("end=Gone"), "{log}");
}

#[test]
fn a_large_question_arrives_over_a_slow_way_and_cuts_nothing() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    fleet.slow(SLOW, FAST);
    let begun = Instant::now();
    let ask = send(&edge, "POST /v1/asks", &large(15_000));
    assert!(begun.elapsed() > Duration::from_secs(16), "the way was not slow: {:?}", begun.elapsed());
    assert_never_cut(&fleet);
    // A small one goes at once.
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    fleet.hub.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "A");
    let key = ask["key"].as_str().unwrap();
    fleet.hub.answer(key, &answers()).expect(200);
    assert_eq!(edge.settled(key)["outcome"]["answers"], answers());
    assert_never_cut(&fleet);
}

#[test]
fn a_large_change_comes_over_a_slow_way_and_cuts_nothing() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    // The change has the question, and what the hook needs for its reply: twice the same.
    let asked = large(7000)["questions"].take();
    let (hook, key) = edge.ask("s", "t", asked.as_array().unwrap());
    edge.until_parked(&hook);
    fleet.slow(FAST, SLOW);
    let begun = Instant::now();
    fleet.hub.answer(&key, &answers()).expect(200);
    let reply: Value = serde_json::from_slice(&hook.finish_within(Duration::from_secs(60)).stdout).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["updatedInput"]["answers"], answers());
    assert!(begun.elapsed() > Duration::from_secs(16), "the way was not slow: {:?}", begun.elapsed());
    assert_never_cut(&fleet);
}

/// The hook gives up after two seconds, while its question is still on the way to the hub.
#[test]
fn an_answer_to_a_question_whose_hook_has_gone_is_refused() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    for (round, (up, down)) in [(SLOW, FAST), (FAST, SLOW)].into_iter().enumerate() {
        fleet.slow(up, down);
        let id = format!("t{round}");
        let asked = large(2000)["questions"].take();
        edge.hook(&call("s", &id, asked.as_array().unwrap())).no_decision();
        // A hub that does not know yet whether the hook is there saves nothing.
        let answer = || {
            let reply = fleet.hub.answer(&format!("s__{id}"), &answers());
            Some(reply).filter(|reply| ![404, 503].contains(&reply.status))
        };
        let reply = until("the question", answer).expect(410).json();
        assert_eq!(reply["ask"]["outcome"]["kind"], "withdrawn", "round {round}: {reply}");
        fleet.reopen();
    }
}
