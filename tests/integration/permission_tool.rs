//! The permission tool that `answerback run` brings: a real MCP server beside the real hook and daemon.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::http::Request;
use crate::kinds::{ATTENDED, Agent, answer};
use crate::world::{ANSWERBACK, HOOK, World, call, question, until};

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
fn an_approval_counts_only_for_what_was_shown() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    let plan = |text: &str| json!({"plan": text, "planFilePath": "/plans/shop.md"});
    // Another hook changes the plan after it was shown, or the name is used for something else.
    for (id, called, input) in [(1, "ExitPlanMode", plan("# Other")), (2, "Bash", ls())] {
        let name = format!("t{id}");
        let key = format!("s__{name}");
        RUN.with_tool(&mut world, "PreToolUse", "ExitPlanMode", &plan("# Shop"), &name);
        answer(&world, &key, "Approve, accept edits", &json!({})).expect(200);
        tool.call(id, called, &input, &name);
        world.until_open(&key);
        world.post(&format!("/v1/asks/{key}/dismiss"), &json!({"reason": "no"})).expect(200);
        assert_eq!(tool.decision(id)["behavior"], "deny");
    }
    // The same while the first one is open.
    RUN.with_tool(&mut world, "PreToolUse", "ExitPlanMode", &plan("# Shop"), "t3");
    tool.call(3, "ExitPlanMode", &plan("# Other"), "t3");
    until("the other plan", || {
        let ask = world.get("/v1/asks/s__t3").json();
        (ask["state"] == "open" && ask["subject"]["plan"] == "# Other").then_some(())
    });
    answer(&world, "s__t3", "Approve, accept edits", &json!({})).expect(200);
    assert_eq!(tool.decision(3)["behavior"], "allow");
}

#[test]
fn a_plan_that_was_withdrawn_because_the_tool_came_late_is_asked_again() {
    let mut world = World::new();
    let plan = json!({"plan": "# Shop", "planFilePath": "/plans/shop.md"});
    RUN.with_tool(&mut world, "PreToolUse", "ExitPlanMode", &plan, "t");
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
    let mut tool = Tool::start(&world);
    tool.call(1, "ExitPlanMode", &plan, "t");
    world.until_open("s__t");
    answer(&world, "s__t", "Approve, accept edits", &json!({})).expect(200);
    assert_eq!(tool.decision(1)["behavior"], "allow");
}

#[test]
fn one_answer_allows_one_of_two_equal_calls() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    tool.call(2, "Bash", &ls(), "t");
    tool.is_denied(2);
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(tool.decision(1)["behavior"], "allow");
}

#[test]
fn a_hook_that_says_it_was_parked_gets_no_approval_that_was_used() {
    let mut world = World::new();
    let hook = ATTENDED.ask(&mut world, "Bash", &ls(), "t");
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(hook.reply()["decision"]["behavior"], "allow");
    ATTENDED.call(&mut world, "PostToolUse", "Bash", &ls(), &json!({"tool_use_id": "t"})).no_decision();
    let call =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": ls()});
    let headers = [
        ("content-type", "application/json"),
        ("x-answerback-attended", "1"),
        ("x-answerback-entrypoint", "cli"),
        ("x-answerback-agent-pid", "1"),
        ("x-answerback-resumed", "s__t"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let body = call.to_string();
    let forged = Request { line: "POST /v1/hooks/claude-code", headers, body: body.as_bytes() };
    let waiting = forged.begin_over_socket(&world.state("daemon.sock")).unwrap();
    until("a new life of the key", || (world.get("/v1/asks/s__t").json()["state"] == "open").then_some(()));
    drop(waiting);
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
fn a_call_that_is_cancelled_at_once_leaves_nothing_open() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    for id in 1..=5 {
        tool.call(id, "Bash", &ls(), "t");
        tool.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    until("nothing is open", || (world.get("/v1/asks").json()["asks"] == json!([])).then_some(()));
    tool.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
    assert_eq!(tool.receive()["id"], 9);
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    tool.call(1, "Bash", &ls(), "t2");
    assert_eq!(tool.receive()["error"]["code"], -32600);
    answer(&world, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(tool.decision(1)["behavior"], "allow");
}

#[test]
fn the_person_sees_where_the_agent_is_and_not_where_the_run_began() {
    let mut world = World::new();
    let mut tool = Tool::start(&world);
    RUN.with_tool(&mut world, "PreToolUse", "Bash", &ls(), "t");
    tool.call(1, "Bash", &ls(), "t");
    world.until_open("s__t");
    let ask = world.get("/v1/asks/s__t").json();
    assert_eq!((&ask["project"], &ask["subject"]["directory"]), (&json!("/home/me/shop"), &json!("/home/me/shop")));
}

#[test]
fn a_question_of_a_run_is_held_in_every_mode() {
    let mut world = World::new();
    let mut command = world.command(HOOK);
    command.arg("race").env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("ANSWERBACK_WAITS", "tool");
    let hook = world.hook_with(command, call("s", "t", &[question("Which?")]).to_string().as_bytes());
    world.until_open("s__t");
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
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
