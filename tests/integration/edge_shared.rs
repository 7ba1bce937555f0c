//! Edges of hubs that share a store.

#[path = "../lib/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
pub(crate) mod engine;

use serde_json::json;

use crate::fleet::Fleet;
use crate::world::{World, question, until};
use engine::Engine;

/// A hub with an edge, and another hub on the same store.
fn two_hubs() -> (Fleet, World) {
    let store = format!("store = \"{}\"\n", Engine::shared().database());
    let fleet = Fleet::with_config(&store);
    let mut other = World::with_config(&format!("{store}host_name = \"other-hub\"\n"));
    drop(other.daemon());
    (fleet, other)
}

#[test]
fn what_an_edge_asks_is_answered_at_any_hub() {
    let (fleet, other) = two_hubs();
    let mut edge = fleet.linked_edge("build-1");
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    other.until_open(&key);
    other.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "B");
    assert_eq!(fleet.hub.settled(&key)["outcome"]["kind"], "answered");
    assert_eq!(other.get(&format!("/v1/asks/{key}")).json()["host"], "build-1");
}

#[test]
fn a_hub_that_dies_does_not_end_what_its_edges_wait_for() {
    let (mut fleet, other) = two_hubs();
    let mut edge = fleet.linked_edge("build-1");
    let (first, first_key) = edge.ask("s", "t", &[question("Which?")]);
    let (second, second_key) = edge.ask("s", "u", &[question("Which?")]);
    fleet.hub.kill_daemon();
    // It is answered while the edge has no link.
    other.answer(&first_key, &json!({"Which?": "A"})).expect(200);
    drop(fleet.hub.daemon());
    assert_eq!(first.reply()["updatedInput"]["answers"]["Which?"], "A");
    fleet.until_linked("build-1");
    other.answer(&second_key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(second.reply()["updatedInput"]["answers"]["Which?"], "B");
    until("both hubs to agree", || {
        (fleet.hub.get("/v1/asks").json()["asks"] == json!([]) && other.get("/v1/asks").json()["asks"] == json!([]))
            .then_some(())
    });
}
