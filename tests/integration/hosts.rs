//! A program that runs Claude Code hands its calls to people itself, while the hook of the project does so, too. Nobody is asked twice.

use std::io::BufReader;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::kinds::{Agent, HOSTED, answer};
use crate::world::{World, call, question};

/// A call of a host that waits.
struct HostCall(BufReader<UnixStream>);

impl HostCall {
    /// Sends what the client packages send. They name the call, and they do not know the process of the agent.
    fn begin(world: &World, event: &str, tool: &str, input: &Value, id: &str) -> Self {
        let body = json!({
            "hook_event_name": event, "session_id": "s", "tool_use_id": id, "cwd": "/home/me/shop",
            "tool_name": tool, "tool_input": input,
        })
        .to_string();
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![
            header("host", "localhost"),
            header("content-type", "application/json"),
            header("x-answerback-entrypoint", "host"),
            header("x-answerback-resumed", &format!("s__{id}")),
        ];
        let request = Request { line: "POST /v1/hooks/claude-code", headers, body: body.as_bytes() };
        Self(request.begin_over_socket(&world.state("daemon.sock")).unwrap())
    }

    fn permission(world: &World, id: &str) -> Self {
        Self::begin(world, "PermissionRequest", "Bash", &command(), id)
    }

    /// Waits until the daemon has stored the call.
    fn parked(mut self) -> Self {
        assert_eq!(Reply::read(&mut self.0).unwrap().status, 102);
        self
    }

    fn body(mut self) -> Vec<u8> {
        Reply::read(&mut self.0).unwrap().expect(200).body
    }

    fn decision(self) -> Value {
        serde_json::from_slice::<Value>(&self.body()).unwrap()["hookSpecificOutput"]["decision"].take()
    }

    fn hang_up(self) {
        drop(self);
    }
}

fn command() -> Value {
    json!({"command": "npm test"})
}

/// The hook that Claude Code starts at the same time as it asks its host.
fn hook(world: &mut World, agent: Agent) -> crate::world::Hook {
    agent.call(world, "PermissionRequest", "Bash", &command(), &json!({}))
}

/// How all asks of the world have ended.
fn outcomes(world: &World) -> Vec<Value> {
    let asks = world.get("/v1/asks?state=all").json()["asks"].take();
    asks.as_array().unwrap().iter().map(|ask| ask["outcome"]["kind"].clone()).collect()
}

#[test]
fn a_hook_that_comes_after_its_host_leaves_the_call_to_it() {
    let mut world = World::new();
    HOSTED.name(&mut world, "Bash", &command(), "t");
    let host = HostCall::permission(&world, "t").parked();
    hook(&mut world, HOSTED).no_decision();
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(host.decision(), json!({"behavior": "allow"}));
    // So does one that is started late.
    HOSTED.call(&mut world, "PreToolUse", "Bash", &command(), &json!({"tool_use_id": "u"})).no_decision();
    let host = HostCall::permission(&world, "u").parked();
    answer(&world, "s__u", "Deny", &json!({})).expect(200);
    assert_eq!(host.decision()["behavior"], "deny");
    hook(&mut world, HOSTED).no_decision();
    assert_eq!(outcomes(&world), ["answered", "answered"]);
}

#[test]
fn a_host_that_comes_after_its_hook_waits_for_the_same_answer() {
    let mut world = World::new();
    let hook = HOSTED.ask(&mut world, "Bash", &command(), "t");
    let host = HostCall::permission(&world, "t").parked();
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    let expected = json!({"behavior": "allow"});
    assert_eq!((host.decision(), &hook.reply()["decision"]), (expected.clone(), &expected));
    // If it comes after the answer, the hook has brought it to the agent.
    assert!(HostCall::permission(&world, "t").body().is_empty());
    assert_eq!(outcomes(&world), ["answered"]);
}

#[test]
fn a_host_that_decides_by_itself_takes_its_ask_back() {
    let mut world = World::new();
    HOSTED.name(&mut world, "Bash", &command(), "t");
    let host = HostCall::permission(&world, "t").parked();
    hook(&mut world, HOSTED).no_decision();
    // The command may run for hours, and nothing is reported until then.
    host.hang_up();
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
}

#[test]
fn the_report_of_a_hook_ends_what_its_host_asks() {
    let mut world = World::new();
    HOSTED.name(&mut world, "Bash", &command(), "t");
    let host = HostCall::permission(&world, "t").parked();
    HOSTED.call(&mut world, "PostToolUse", "Bash", &command(), &json!({"tool_use_id": "t"})).no_decision();
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "answered_in_terminal");
    assert!(host.body().is_empty(), "the host has decided already");
}

#[test]
fn a_question_that_was_handed_back_to_the_host_is_not_asked_again() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    world.post(&format!("/v1/asks/{key}/release"), &json!({})).expect(200);
    hook.no_decision();
    let input = call("s", "t", &[question("Which?")])["tool_input"].clone();
    let host = HostCall::begin(&world, "PreToolUse", "AskUserQuestion", &input, "t");
    assert!(host.body().is_empty());
    assert_eq!(outcomes(&world), ["released"]);
}

#[test]
fn a_session_ends_although_nobody_says_so_to_its_host() {
    let mut world = World::new();
    HOSTED.name(&mut world, "Bash", &command(), "t");
    let host = HostCall::permission(&world, "t").parked();
    answer(&world, "s__t", "Deny", &json!({})).expect(200);
    assert_eq!(host.decision()["behavior"], "deny");
    HOSTED.call(&mut world, "SessionEnd", "", &json!({}), &json!({})).no_decision();
    assert_eq!(world.get("/v1/sessions").json()["sessions"][0]["state"], "ended");
}

#[test]
fn a_plan_is_asked_once() {
    let mut world = World::new();
    let plan = json!({"plan": "# Shop", "planFilePath": "/home/me/plan.md"});
    let hook = HOSTED.ask(&mut world, "ExitPlanMode", &plan, "t");
    let host = HostCall::begin(&world, "PermissionRequest", "ExitPlanMode", &plan, "t").parked();
    answer(&world, "s__t", "Keep planning", &json!({})).expect(200);
    let decision = host.decision();
    assert_eq!((&decision["behavior"], &decision), (&json!("deny"), &hook.reply()["decision"]));
    // A hook that is started after the answer is told the same.
    HOSTED.name(&mut world, "ExitPlanMode", &plan, "u");
    let host = HostCall::begin(&world, "PermissionRequest", "ExitPlanMode", &plan, "u").parked();
    answer(&world, "s__u", "Keep planning", &json!({})).expect(200);
    assert_eq!(host.decision(), decision);
    let late = HOSTED.call(&mut world, "PermissionRequest", "ExitPlanMode", &plan, &json!({}));
    assert_eq!(late.reply()["decision"], decision);
    assert_eq!(outcomes(&world), ["answered", "answered"]);
}

/// With a fast host, Claude Code starts the hook of a call after that call is over.
#[test]
fn a_hook_that_is_started_after_the_end_of_its_call_asks_nothing() {
    let plan = json!({"plan": "# Shop", "planFilePath": "/home/me/plan.md"});
    for (tool, input, reported) in [("ExitPlanMode", &plan, json!({})), ("Bash", &command(), command())] {
        let mut world = World::new();
        for (id, event) in [("t", "PostToolUse"), ("u", "Stop")] {
            HOSTED.name(&mut world, tool, input, id);
            let host = HostCall::begin(&world, "PermissionRequest", tool, input, id).parked();
            let label = if tool == "Bash" { "Allow once" } else { "Approve, accept edits" };
            answer(&world, &format!("s__{id}"), label, &json!({})).expect(200);
            assert_eq!(host.decision()["behavior"], "allow");
            let over = json!({"tool_use_id": id, "tool_response": {"plan": "# Shop"}});
            HOSTED.call(&mut world, event, tool, &reported, &over).no_decision();
            HOSTED.call(&mut world, "PermissionRequest", tool, input, &json!({})).no_decision();
        }
        assert_eq!(outcomes(&world), ["answered", "answered"], "{tool}");
    }
}
