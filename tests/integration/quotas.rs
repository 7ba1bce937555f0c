//! Nobody fills the disk of others: what each asker may ask in a day is bounded.

use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::phone::LAN;
use crate::team::Member;
use crate::world::{World, call, question};

const ONE_MIB: &str = "asker_mib_per_day = 1\n";

fn large() -> Value {
    json!({"question": "Which?", "header": "Pick", "multiSelect": false, "options": [
        {"label": "A", "description": "x".repeat(900_000)}, {"label": "B", "description": "second"}]})
}

#[test]
fn a_device_over_its_quota_is_refused_and_others_are_not() {
    let mut world = World::with_config(&format!("{ONE_MIB}{LAN}"));
    drop(world.daemon());
    let grants = json!([{"role": "answer"}]);
    let (anna, ben) = (Member::new(&world, "Anna", &grants), Member::new(&world, "Ben", &grants));
    let (new, small) = (json!({"questions": [large()]}), json!({"questions": [question("Which?")]}));
    // The second one is larger than what is left, and the last.
    for _ in 0..2 {
        anna.send(&world, "POST /v1/asks", &new).expect(201);
    }
    let refused = anna.send(&world, "POST /v1/asks", &small).expect(429);
    let problem = refused.json();
    assert_eq!(problem["type"], "urn:answerback:problem:too-much");
    let seconds = problem["retry_after"].as_u64().unwrap();
    assert!((30_000..65_536).contains(&seconds), "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("asker_mib_per_day"), "{problem}");
    ben.send(&world, "POST /v1/asks", &small).expect(201);
    world.post("/v1/asks", &small).expect(201);
    // She can still answer.
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let answer = json!({"answers": {"Which?": "A"}});
    anna.send(&world, &format!("POST /v1/asks/{key}/answer"), &answer).expect(200);
}

#[test]
fn beyond_the_quota_of_this_machine_the_terminal_asks() {
    let mut world = World::with_config(ONE_MIB);
    drop(world.daemon());
    let (waiting, key) = world.ask("s1", "t", &[question("Which?")]);
    // This machine has eight times as much as anybody else.
    let new = json!({"questions": [large()]});
    while world.post("/v1/asks", &new).status == 201 {}
    world.post("/v1/asks", &new).expect(429);
    world.hook(&call("s2", "t", &[question("Which?")])).no_decision();
    assert!(world.log().contains("too much was asked within a day"), "{}", world.log());
    // What is open goes on, also for a hook that comes again.
    let again = world.hook(&call("s1", "t", &[question("Which?")]));
    world.until_parked(&again);
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(waiting.reply()["permissionDecision"], "allow");
    assert_eq!(again.reply()["permissionDecision"], "allow");
}

#[test]
fn beyond_the_quota_of_a_machine_its_terminal_asks_and_others_go_on() {
    let fleet = Fleet::with_config(ONE_MIB);
    let (mut one, mut other) = (fleet.linked_edge("build-1"), fleet.linked_edge("build-2"));
    let _hook = one.hook(&call("s1", "t", &[large()]));
    fleet.hub.until_open("s1__t");
    one.hook(&call("s2", "t", &[question("Which?")])).no_decision();
    for log in [one.log(), fleet.hub.log()] {
        assert!(log.contains("too much was asked within a day"), "{log}");
    }
    let hook = other.hook(&call("s4", "t", &[question("Which?")]));
    fleet.hub.until_open("s4__t");
    fleet.hub.answer("s4__t", &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}
