//! Answers reach the hook that asked, and the first one wins.

use std::sync::Barrier;
use std::thread;

use rustix::process::Signal;
use serde_json::json;

use crate::world::{World, call, question, signal, until};

#[test]
fn an_answer_reaches_the_hook_that_asked() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let (other, other_key) = world.ask("s", "u", &[question("Which?")]);

    let ask = world.answer(&key, &json!({"Which?": "A"})).expect(200).json();
    assert_eq!(ask["state"], "settled");
    assert_eq!(ask["outcome"]["kind"], "answered");
    assert_eq!(ask["outcome"]["by"]["channel"], "token");
    world.answer(&other_key, &json!({"Which?": "something else"})).expect(200);

    let reply = hook.reply();
    assert_eq!(reply["permissionDecision"], "allow");
    assert_eq!(reply["updatedInput"]["answers"], json!({"Which?": "A"}));
    assert_eq!(reply["updatedInput"]["questions"], json!([question("Which?")]));
    assert!(reply["additionalContext"].as_str().unwrap().contains("\"Which?\"\n  Answer: \"A\""));
    assert_eq!(other.reply()["updatedInput"]["answers"], json!({"Which?": "something else"}));
}

#[test]
fn a_dismissal_and_a_release_reach_the_hook() {
    let mut world = World::new();
    let (dismissed, first) = world.ask("s", "t", &[question("Which?")]);
    let (released, second) = world.ask("s", "u", &[question("Which?")]);
    world.post(&format!("/v1/asks/{first}/dismiss"), &json!({"reason": "ask me tomorrow"})).expect(200);
    world.post(&format!("/v1/asks/{second}/release"), &json!({})).expect(200);
    let reply = dismissed.reply();
    assert_eq!(reply["permissionDecision"], "deny");
    assert!(reply["permissionDecisionReason"].as_str().unwrap().contains("ask me tomorrow"));
    released.no_decision();
}

#[test]
fn the_first_answer_wins_and_the_others_get_a_conflict() {
    const RACERS: usize = 40;
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let start = Barrier::new(RACERS);
    let (world, start, key) = (&world, &start, &key);
    let replies: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..RACERS)
            .map(|racer| {
                scope.spawn(move || {
                    start.wait();
                    world.answer(key, &json!({"Which?": format!("answer {racer}")}))
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let won: Vec<_> = replies.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(won.len(), 1);
    let answers = &won[0].json()["outcome"]["answers"];
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        assert_eq!(reply.status, 409);
        assert_eq!(&reply.json()["ask"]["outcome"]["answers"], answers);
    }
    assert_eq!(&hook.reply()["updatedInput"]["answers"], answers);
}

#[test]
fn later_answers_are_compared_with_the_first_even_after_a_restart() {
    let mut world = World::new();
    let (_hook, answered) = world.ask("s", "answered", &[question("Which?")]);
    let (_hook, dismissed) = world.ask("s", "dismissed", &[question("Which?")]);
    world.answer(&answered, &json!({"Which?": "A"})).expect(200);
    world.post(&format!("/v1/asks/{dismissed}/dismiss"), &json!({})).expect(200);
    for _ in 0..2 {
        world.answer(&answered, &json!({"Which?": "A"})).expect(200);
        let conflict = world.answer(&answered, &json!({"Which?": "B"})).expect(409).json();
        assert_eq!(conflict["type"], "urn:answerback:problem:answered-already");
        assert_eq!(conflict["ask"]["outcome"]["answers"]["Which?"], "A");
        world.post(&format!("/v1/asks/{answered}/release"), &json!({})).expect(409);
        let gone = world.answer(&dismissed, &json!({"Which?": "A"})).expect(410).json();
        assert_eq!(gone["ask"]["outcome"]["kind"], "dismissed");
        world.post(&format!("/v1/asks/{dismissed}/dismiss"), &json!({})).expect(200);
        world.kill_daemon();
        drop(world.daemon());
    }
}

#[test]
fn an_answer_that_does_not_fit_is_refused_with_every_reason_and_nothing_is_settled() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("One?"), question("Two?")]);
    let refused = world.answer(&key, &json!({"One?": "A", "Three?": "C"})).expect(422).json();
    let about: Vec<_> = refused["errors"].as_array().unwrap().iter().map(|error| error["question"].clone()).collect();
    assert_eq!(about, ["Three?", "Two?"]);
    world.answer(&key, &json!({"One?": ["A", "B"], "Two?": "A"})).expect(422);
    world.answer(&key, &json!({"One?": "", "Two?": "A"})).expect(422);
    world.answer("s__unknown", &json!({"One?": "A"})).expect(404);
    world.answer("not%20a%20key", &json!({"One?": "A"})).expect(404);
    assert!(hook.is_waiting());
    world.answer(&key, &json!({"One?": "A", "Two?": "B"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"One?": "A", "Two?": "B"}));
}

#[test]
fn a_second_hook_with_the_same_key_waits_too_or_gets_the_answer() {
    let mut world = World::new();
    let same = call("s", "t", &[question("Which?")]);
    let (first, key) = world.ask("s", "t", &[question("Which?")]);
    let second = world.hook(&same);
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    let third = world.hook(&same);
    for hook in [first, second, third] {
        assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "B"}));
    }
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_hook_that_is_killed_withdraws_its_ask_and_the_key_can_be_asked_again() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    signal(hook.pid(), Signal::TERM);
    assert!(!hook.finish().status.success());
    assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn");
    world.answer(&key, &json!({"Which?": "A"})).expect(410);

    let (again, _) = world.ask("s", "t", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(again.reply()["updatedInput"]["answers"], json!({"Which?": "B"}));
    let history = world.get("/v1/asks?state=settled").json();
    let kinds: Vec<_> = history["asks"].as_array().unwrap().iter().map(|ask| ask["outcome"]["kind"].clone()).collect();
    assert_eq!(kinds, ["answered", "withdrawn"]);
}

#[test]
fn a_hook_ends_when_nobody_reads_its_output() {
    let mut world = World::new();
    for asked_again in [false, true] {
        let (mut hook, key) = world.ask("s", &format!("t-{asked_again}"), &[question("Which?")]);
        if asked_again {
            world.kill_daemon_once_parked(&hook);
            world.until_open(&key);
        }
        // This is the state after an agent was killed.
        hook.stop_listening();
        assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn");
        until("the hook's end", || (!hook.is_waiting()).then_some(()));
    }
}

#[test]
fn the_end_of_one_of_two_hooks_withdraws_nothing() {
    let mut world = World::new();
    let (first, key) = world.ask("s", "t", &[question("Which?")]);
    let second = world.hook(&call("s", "t", &[question("Which?")]));
    // The daemon has the listener and a connection for each hook.
    let socket = world.state("daemon.sock").display().to_string();
    until("the second hook's connection", || {
        let sockets = std::fs::read_to_string("/proc/net/unix").ok()?;
        (sockets.lines().filter(|line| line.ends_with(&socket)).count() == 3).then_some(())
    });
    signal(first.pid(), Signal::TERM);
    first.finish();
    // Wait longer than the grace of two seconds, because the grace itself is tested.
    let ask = world.get(&format!("/v1/asks/{key}?wait=3")).json();
    assert_eq!(ask["state"], "open");
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(second.reply()["permissionDecision"], "allow");
}

#[test]
fn older_clients_get_the_answer_the_way_they_understand() {
    let mut world = World::new();
    let transcript = world.home().join("session.jsonl");
    for (version, decision, told) in [
        ("2.0.76", "deny", "This is not a refusal"),
        ("2.1.63", "allow", "Ignore the error of this tool call"),
        ("2.1.90", "allow", "The user answered"),
    ] {
        // Claude Code writes its records after the call.
        std::fs::write(&transcript, "{\"type\":\"summary\"}\n").unwrap();
        let mut call = call("s", version, &[question("Which?")]);
        call["transcript_path"] = json!(transcript);
        let hook = world.hook(&call);
        let key = format!("s__{version}");
        world.until_open(&key);
        std::fs::write(&transcript, format!("{{\"type\":\"summary\"}}\n{{\"version\":\"{version}\"}}\n")).unwrap();
        world.answer(&key, &json!({"Which?": "A"})).expect(200);
        let reply = hook.reply();
        assert_eq!(reply["permissionDecision"], decision, "{version}");
        let text = reply.get("additionalContext").or(reply.get("permissionDecisionReason")).unwrap().as_str().unwrap();
        assert!(text.contains(told) && text.contains("Answer: \"A\""), "{version}: {text}");
    }
}
