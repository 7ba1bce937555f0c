//! A permission was perhaps given in the terminal: its command runs, and nothing else tells.

use std::io::Write;

use serde_json::json;

use crate::kinds::{ATTENDED, Agent};
use crate::world::{World, until};

#[test]
fn a_command_that_runs_is_shown_and_settles_nothing() {
    let mut world = World::new();
    // An agent that runs a command when it is told to.
    let mut agent = world.command("/bin/sh").args(["-c", "read go; /bin/bash -c 'sleep 60; :'"]).spawn().unwrap();
    let pid: &'static str = agent.id().to_string().leak();
    let input = json!({"command": "npm test", "description": "A test"});
    let mut hook = Agent { pid, ..ATTENDED }.ask(&mut world, "Bash", &input, "t");
    let shown = |world: &World| world.get("/v1/asks/s__t").expect(200).json().get("perhaps_answered").cloned();
    assert_eq!(shown(&world), None);
    agent.stdin.take().unwrap().write_all(b"\n").unwrap();
    until("the command", || shown(&world));
    assert_eq!(shown(&world), Some(json!(true)));
    assert_eq!(world.get("/v1/asks").json()["asks"][0]["perhaps_answered"], true);
    assert!(hook.is_waiting());
    world.assert_open("s__t");
    // The agent reports the end of the command, and only that settles the ask.
    Agent { pid, ..ATTENDED }
        .call(&mut world, "PostToolUse", "Bash", &input, &json!({"tool_use_id": "t", "tool_response": {}}))
        .no_decision();
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "answered_in_terminal");
    assert_eq!(shown(&world), None);
    agent.kill().unwrap();
    agent.wait().unwrap();
}
