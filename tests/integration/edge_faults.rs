//! What becomes of waiting hooks of an edge when something between them and the answer is lost.

use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::world::{Hook, World, question, until};

fn answered(hook: Hook) -> Value {
    hook.reply()["updatedInput"]["answers"]["Which?"].take()
}

fn answer(fleet: &Fleet, key: &str, text: &str) {
    fleet.hub.answer(key, &json!({"Which?": text})).expect(200);
}

/// Several hooks of one edge wait.
fn waiting(edge: &mut World, count: usize) -> Vec<(Hook, String)> {
    (0..count).map(|n| edge.ask("s", &format!("t{n}"), &[question("Which?")])).collect()
}

#[test]
fn waits_survive_the_death_of_the_hub() {
    let mut fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let mut hooks = waiting(&mut edge, 3);
    let (first, key) = hooks.pop().unwrap();
    fleet.hub.kill_daemon();
    drop(fleet.hub.daemon());
    // It is not taken over by the hub, which would withdraw it.
    let hosts = fleet.hosts();
    assert_eq!((&hosts[0]["name"], &hosts[0]["open"]), (&json!("build-1"), &json!(3)), "{hosts}");
    // An answer that comes before the edge is back reaches it all the same.
    answer(&fleet, &key, "A");
    assert_eq!(answered(first), "A");
    fleet.until_linked("build-1");
    for (hook, key) in hooks {
        answer(&fleet, &key, "B");
        assert_eq!(answered(hook), "B");
    }
}

#[test]
fn waits_survive_the_death_of_the_edge() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    edge.kill_daemon_once_parked(&hook);
    answer(&fleet, &key, "B");
    assert_eq!(answered(hook), "B");
    assert_eq!(fleet.hub.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 1);
}

#[test]
fn an_answer_that_comes_while_the_link_is_cut_is_received_afterwards() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let mut hooks = waiting(&mut edge, 2);
    for _ in 0..3 {
        fleet.cut();
        fleet.until_linked("build-1");
    }
    fleet.close();
    fleet.until_not_linked("build-1");
    let (hook, key) = hooks.pop().unwrap();
    answer(&fleet, &key, "A");
    fleet.reopen();
    assert_eq!(answered(hook), "A");
    let (hook, key) = hooks.pop().unwrap();
    answer(&fleet, &key, "B");
    assert_eq!(answered(hook), "B");
}

#[test]
fn a_link_that_falls_silent_is_given_up_by_both_ends_and_made_anew() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    fleet.silence();
    answer(&fleet, &key, "A");
    fleet.until_not_linked("build-1");
    let no_link = || edge.get("/v1/version").json()["hub"]["linked"] == false;
    until("the edge to notice", || no_link().then_some(()));
    fleet.cut();
    assert_eq!(answered(hook), "A");
}

#[test]
fn many_waits_and_rivals_through_lost_links_lose_nothing() {
    let mut fleet = Fleet::new();
    let mut edges: Vec<World> = (0..3).map(|n| fleet.edge(&format!("build-{n}"))).collect();
    let mut waits = Vec::new();
    for (n, edge) in edges.iter_mut().enumerate() {
        for call in 0..6 {
            waits.push(edge.ask(&format!("s{n}"), &format!("t{call}"), &[question("Which?")]));
        }
    }
    let hub = fleet.hub.address();
    let mut expected = Vec::new();
    for (n, (hook, key)) in waits.into_iter().enumerate() {
        match n % 6 {
            0 => fleet.cut(),
            3 => {
                fleet.hub.kill_daemon();
                drop(fleet.hub.daemon());
            }
            _ => {}
        }
        // Two rivals: the one who gets 200 is the one who is received.
        let rivals = ["A", "B"].map(|text| (text, fleet.hub.answer(&key, &json!({"Which?": text})).status));
        let won: Vec<&str> = rivals.iter().filter(|(_, status)| *status == 200).map(|(text, _)| *text).collect();
        assert_eq!(won.len(), 1, "{rivals:?}");
        expected.push((hook, won[0]));
    }
    assert_ne!(fleet.hub.address(), hub, "the hub was started anew");
    for (hook, text) in expected {
        assert_eq!(answered(hook), text);
    }
}

#[test]
fn a_link_that_has_carried_much_is_still_there() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    // Far more than the daemon reads from a connection that it does not know.
    let long = "x".repeat(15_000);
    for n in 0..20 {
        let (hook, key) = edge.ask("s", &format!("t{n}"), &[question(&format!("{n}{long}"))]);
        fleet.hub.post(&format!("/v1/asks/{key}/release"), &json!({})).expect(200);
        hook.no_decision();
    }
    let log = fleet.hub.log();
    assert!(!log.contains("the link with a machine has ended host=\"build-1\" end=Gone"), "{log}");
}

#[test]
fn a_call_that_is_nested_deeply_does_not_take_an_edge_off_its_hub() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    for depth in [90, 97, 110, 123, 124, 126] {
        let mut deep = json!({"command": "ls"});
        for _ in 0..depth {
            deep = json!({ "a": deep });
        }
        let call = json!({
            "session_id": format!("deep-{depth}"), "transcript_path": "/none.jsonl", "cwd": "/home/me/shop", "permission_mode": "default",
            "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": deep,
        });
        let hook = edge.hook(&call);
        crate::world::signal(hook.pid(), rustix::process::Signal::KILL);
        drop(hook.finish());
    }
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    answer(&fleet, &key, "A");
    assert_eq!(answered(hook), "A");
    // What was accepted can be listed with the command.
    fleet.run(&["history", "--json"]);
    fleet.run(&["pending", "--json"]);
}

#[test]
fn the_largest_question_goes_over_the_link() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    // In JSON each of these is two characters, and in a text of JSON four.
    let long = "\\\"".repeat(3900);
    let options: Vec<Value> = (0..60).map(|n| json!({"label": n.to_string(), "description": long})).collect();
    let largest = json!({"question": "Which?", "header": "", "options": options, "multiSelect": false});
    // On a busy machine, the two seconds of a hook may be over before so much is stored at the hub. Then it asks again.
    let (hook, key) = until("a hook that waits", || {
        let (mut hook, key) = edge.ask("s", "t", std::slice::from_ref(&largest));
        hook.is_waiting().then_some((hook, key))
    });
    answer(&fleet, &key, "7");
    assert_eq!(answered(hook), "7");
    let log = fleet.hub.log();
    assert!(!log.contains("end=Gone") && !log.contains("refused"), "{log}");
}
