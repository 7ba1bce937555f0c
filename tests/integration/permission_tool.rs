//! The permission tool that `answerback run` brings: a real MCP server beside the real hook and daemon.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::kinds::{ATTENDED, Agent, answer};
use crate::world::{ANSWERBACK, HOOK, World};

/// A one-shot run of Claude Code.
const RUN: Agent = Agent { attended: "0", entrypoint: "sdk-cli", ..ATTENDED };

struct Tool {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Tool {
    fn start(world: &World) -> Self {
        let mut command = world.command(ANSWERBACK);
        let mut process = command.arg("permission-tool").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Self { stdin: process.stdin.take(), process, stdout }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u32, tool: &str, input: &Value, tool_use_id: &str) {
        let arguments = json!({"tool_name": tool, "input": input, "tool_use_id": tool_use_id});
        let params = json!({"name": "permission", "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The decision of the next reply, which is for this call.
    fn decision(&mut self, id: u32) -> Value {
        let reply = self.receive();
        assert_eq!(reply["id"], id);
        serde_json::from_str(reply["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    #[track_caller]
    fn is_denied(&mut self, id: u32) {
        let decision = self.decision(id);
        assert_eq!(decision["behavior"], "deny", "{decision}");
        assert!(decision["message"].as_str().unwrap().contains("no terminal to ask in"), "{decision}");
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Agent {
    /// A hook of a run that has the tool.
    fn with_tool(&self, world: &mut World, event: &str, tool: &str, input: &Value, id: &str) {
        let call = json!({"hook_event_name": event, "session_id": self.session, "cwd": "/home/me/shop",
            "tool_name": tool, "tool_input": input, "tool_use_id": id});
        let mut command = world.command(HOOK);
        command
            .env("CLAUDE_CODE_SESSION_ATTENDED", self.attended)
            .env("CLAUDE_CODE_ENTRYPOINT", self.entrypoint)
            .env("CLAUDE_PID", self.pid)
            .env("ANSWERBACK_WAITS", "tool");
        world.hook_with(command, call.to_string().as_bytes()).no_decision();
    }
}

fn ls() -> Value {
    json!({"command": "ls"})
}

#[test]
fn a_person_decides_about_a_call_that_its_hook_has_named() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    for (id, text, extra, expected) in [
        (1, "Allow once", json!({}), json!({"behavior": "allow", "updatedInput": {"command": "ls"}})),
        (
            2,
            "Allow once",
            json!({"edited": {"command": "ls -l"}}),
            json!({"behavior": "allow", "updatedInput": {"command": "ls -l"}}),
        ),
        (
            3,
            "not here",
            json!({}),
            json!({"behavior": "deny", "message": "The user denied this call and said: \"not here\""}),
        ),
    ] {
        let name = format!("t{id}");
        RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), &name);
        tool.call(id, "Bash", &ls(), &name);
        let key = format!("s__{name}");
        world.until_open(&key);
        let ask = world.get(&format!("/v1/asks/{key}")).json();
        assert_eq!((&ask["kind"], &ask["racing"]), (&json!("permission"), &json!(false)));
        let options: Vec<_> = ask["questions"][0]["options"].as_array().unwrap().iter().collect();
        assert_eq!(options.len(), 2, "no rule is offered: {options:?}");
        answer(&world, &key, text, &extra).expect(200);
        assert_eq!(tool.decision(id), expected);
    }
}

#[test]
fn the_hook_beside_the_tool_leaves_the_decision_to_it() {
    let mut world = World::new();
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    RUN.with_tool(&mut world, "PermissionRequest", "Bash", &ls(), "");
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"], json!([]));
    let mut tool = Tool::start(&world);
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    answer(&world, "s__t", "Deny", &json!({})).expect(200);
    assert_eq!(tool.decision(1)["behavior"], "deny");
}

#[test]
fn a_plan_that_is_answered_before_the_tool_is_called_is_approved_once() {
    let mut world = World::new();
    let plan = json!({"plan": "# Shop", "planFilePath": "/plans/shop.md"});
    RUN.with_tool(&mut world, "PreToolUse", "ExitPlanMode", &plan, "t");
    answer(&world, "s__t", "Approve, accept edits", &json!({})).expect(200);
    let mut tool = Tool::start(&world);
    tool.call(1, "ExitPlanMode", &plan, "t");
    let decision = tool.decision(1);
    assert_eq!((&decision["behavior"], &decision["updatedInput"]), (&json!("allow"), &json!({})));
    assert_eq!(decision["updatedPermissions"][0]["mode"], "acceptEdits");
    tool.call(2, "ExitPlanMode", &plan, "t");
    tool.is_denied(2);
    // If it is announced once more, a person is asked once more.
    RUN.with_tool(&mut world, "PreToolUse", "ExitPlanMode", &plan, "t");
    assert_eq!(world.get("/v1/asks/s__t").json()["state"], "open");
}

#[test]
fn nobody_decides_about_a_call_that_nobody_has_named() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    // Without a daemon, and with one.
    tool.call(1, "Bash", &ls(), "t");
    tool.is_denied(1);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(2, "Bash", &ls(), "other");
    tool.is_denied(2);
    tool.call(3, "Bash", &ls(), "");
    tool.is_denied(3);
    // Two sessions with the same name: nobody knows whose call it is.
    Agent { session: "s2", ..RUN }.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(4, "Bash", &ls(), "t");
    tool.is_denied(4);
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"], json!([]));
}

#[test]
fn an_answer_is_for_one_call() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(tool.decision(1)["behavior"], "allow");
    tool.call(2, "Bash", &ls(), "t");
    tool.is_denied(2);
    // Not even if it is announced once more.
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(3, "Bash", &ls(), "t");
    tool.is_denied(3);
}

#[test]
fn a_call_that_is_cancelled_is_withdrawn_and_gets_no_reply() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    tool.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
    tool.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(tool.receive(), json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[test]
fn the_end_of_the_run_withdraws_what_it_asked() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    drop(tool.stdin.take());
    assert!(tool.process.wait().unwrap().success());
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
}
