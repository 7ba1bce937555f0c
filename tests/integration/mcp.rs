//! `answerback mcp`: the real server beside the real daemon, spoken to in JSON-RPC as an agent does.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{ANSWERBACK, World, signal, until};

/// A server, and the agent that has started it.
pub(crate) struct Agent {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    /// An agent that can show no forms.
    fn start(world: &World) -> Self {
        Self::with(world, &[], &json!({}))
    }

    /// An agent with these capabilities. The server has these options.
    pub(crate) fn with(world: &World, options: &[&str], capabilities: &Value) -> Self {
        let mut agent = Self::silent(world, options);
        agent.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "codex", "title": "Codex\u{1b}", "version": "0.42"}}),
        );
        agent.send(&json!({"method": "notifications/initialized"}));
        agent
    }

    /// An agent that has said nothing yet.
    fn silent(world: &World, options: &[&str]) -> Self {
        let mut command = world.command(ANSWERBACK);
        let mut process = command.arg("mcp").args(options).current_dir(world.home()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Self { stdin: process.stdin.take(), process, stdout }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        self.send_text(&message.to_string());
    }

    fn send_text(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// A request with the id 0, and its reply.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"id": 0, "method": method, "params": params}));
        let reply = self.receive();
        assert_eq!(reply["id"], 0, "{reply}");
        reply
    }

    /// Calls the tool.
    pub(crate) fn call(&mut self, id: u32, arguments: &Value) {
        let params = json!({"name": "ask_human", "arguments": arguments});
        self.send(&json!({"id": id, "method": "tools/call", "params": params}));
    }

    /// Calls the tool, and waits until its questions are the only ones that are open. Returns the ask.
    pub(crate) fn ask(&mut self, world: &World, id: u32, arguments: &Value) -> Value {
        self.call(id, arguments);
        the_open_ask(world)
    }

    /// The result of this call, which must be the next message.
    #[track_caller]
    pub(crate) fn result(&mut self, id: u32) -> Value {
        let mut reply = self.receive();
        assert_eq!(reply["id"], id, "{reply}");
        reply["result"].take()
    }

    /// What the model can read, if the call was no success.
    #[track_caller]
    fn failure(&mut self, id: u32) -> String {
        let result = self.result(id);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input of the server, and waits for its end.
    pub(crate) fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    fn cancel(&mut self, id: u32) {
        self.send(&json!({"method": "notifications/cancelled", "params": {"requestId": id, "reason": "Esc"}}));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Waits until one ask is open, and returns it.
fn the_open_ask(world: &World) -> Value {
    until("one open ask", || {
        let list = world.daemon_json().and_then(|_| world.try_get("/v1/asks").ok())?.json();
        let asks = list["asks"].as_array().unwrap();
        (asks.len() == 1).then(|| asks[0].clone())
    })
}

fn key(ask: &Value) -> &str {
    ask["key"].as_str().unwrap()
}

fn one(question: &str) -> Value {
    json!({"questions": [{"question": question}]})
}

#[test]
fn the_tool_is_described_for_models() {
    let world = World::new();
    let mut agent = Agent::silent(&world, &[]);
    let params = |version: &str| json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    let reply = agent.request("initialize", &params("2025-06-18"));
    assert_eq!(reply["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(reply["result"]["serverInfo"]["name"], "answerback");
    let reply = agent.request("tools/list", &json!({}));
    let [tool] = reply["result"]["tools"].as_array().unwrap().as_slice() else { panic!("{reply}") };
    assert_eq!(tool["name"], "ask_human");
    assert!(tool["description"].as_str().unwrap().contains("do not make up an answer"), "{tool}");
    assert_eq!(tool["inputSchema"]["properties"]["questions"]["maxItems"], 16);
    assert_eq!(tool["outputSchema"]["properties"]["outcome"]["enum"][0], "answered");
    assert_eq!(agent.request("ping", &json!({}))["result"], json!({}));
    assert!(world.daemon_json().is_none(), "nothing was asked, so no daemon was needed");
}

#[test]
fn a_client_without_a_handshake_is_served_too() {
    let world = World::new();
    let mut agent = Agent::silent(&world, &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "newest", "version": "3"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let arguments = one("Which?");
    let params = json!({"name": "ask_human", "arguments": arguments, "_meta": meta});
    agent.send(&json!({"id": 1, "method": "tools/call", "params": params}));
    let ask = the_open_ask(&world);
    assert_eq!(ask["asked_by"], "newest 3");
    world.answer(key(&ask), &json!({"Which?": "This"})).expect(200);
    assert_eq!(agent.result(1)["structuredContent"]["answers"][0]["answer"], "This");
}

#[test]
fn an_answer_comes_back_with_choices_notes_and_its_source() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    let questions = json!({"questions": [
        {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite", "description": "One file"}, {"label": "PostgreSQL"}]},
        {"question": "Which parts?", "options": [{"label": "Tests"}, {"label": "Docs"}, {"label": "Both, later"}], "multiSelect": true, "freeText": false},
        {"question": "Which name?"},
    ]});
    let ask = agent.ask(&world, 1, &questions);
    assert_eq!((&ask["origin"], &ask["asked_by"]), (&json!("program"), &json!("Codex 0.42")));
    let directory = world.home().canonicalize().unwrap();
    assert_eq!(ask["project"], directory.to_str().unwrap());
    assert_eq!((&ask["expires_at"], &ask["questions"][1]["freeText"]), (&Value::Null, &json!(false)));
    let body = json!({"answers": {"Which database?": "neither", "Which parts?": ["Tests", "Both, later"], "Which name?": "a \"b\"\nc"},
        "notes": {"Which database?": "ask again"}});
    world.post(&format!("/v1/asks/{}/answer", key(&ask)), &body).expect(200);
    let result = agent.result(1);
    assert_eq!(
        result["structuredContent"],
        json!({"outcome": "answered", "by": {"channel": "token"}, "answers": [
            {"question": "Which database?", "answer": "neither", "note": "ask again"},
            {"question": "Which parts?", "answer": "Tests, Both, later", "choices": ["Tests", "Both, later"]},
            {"question": "Which name?", "answer": "a \"b\"\nc"},
        ]})
    );
    assert_eq!(result["isError"], false);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(r#""Which name?" = "a \"b\"\nc""#), "{text}");
}

#[test]
fn several_calls_wait_at_once_and_each_gets_its_own_answer() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    for id in 1..=3 {
        agent.call(id, &one(&format!("Number {id}?")));
    }
    let asks = until("three open asks", || {
        let list = world.daemon_json().and_then(|_| world.try_get("/v1/asks").ok())?.json();
        let asks = list["asks"].as_array().unwrap().clone();
        (asks.len() == 3).then_some(asks)
    });
    for id in [2, 3, 1] {
        let question = format!("Number {id}?");
        let ask = asks.iter().find(|ask| ask["questions"][0]["question"] == question.as_str()).unwrap();
        world.answer(key(ask), &json!({ question: id.to_string() })).expect(200);
        assert_eq!(agent.result(id)["structuredContent"]["answers"][0]["answer"], id.to_string());
    }
}

#[test]
fn without_an_answer_the_model_is_told_not_to_make_one_up() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    for (id, action, body, outcome, says) in [
        (1, "dismiss", json!({"reason": "ask Anna"}), "dismissed", "ask Anna"),
        (2, "release", json!({}), "released", "without an answer"),
        (3, "withdraw", json!({}), "withdrawn", "taken back"),
    ] {
        let ask = agent.ask(&world, id, &one("Which?"));
        world.post(&format!("/v1/asks/{}/{action}", key(&ask)), &body).expect(200);
        let result = agent.result(id);
        assert_eq!((&result["isError"], &result["structuredContent"]["answers"]), (&json!(false), &json!([])));
        assert_eq!(result["structuredContent"]["outcome"], outcome);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(says) && text.contains("Do not make one up"), "{text}");
    }
    agent.call(4, &json!({"questions": [{"question": "Which?"}], "timeout_seconds": 1}));
    let result = agent.result(4);
    assert_eq!(result["structuredContent"]["outcome"], "expired");
    assert!(result["structuredContent"]["message"].as_str().unwrap().contains("Do not make one up"), "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Nobody answered in time"), "{result}");
}

#[test]
fn a_call_that_is_cancelled_is_withdrawn_and_gets_no_reply() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    let ask = agent.ask(&world, 1, &one("Which?"));
    agent.cancel(1);
    assert_eq!(world.settled(key(&ask))["outcome"]["kind"], "withdrawn");
    // Also if it is cancelled before its question is open.
    for id in 2..6 {
        agent.call(id, &one("Which?"));
        agent.cancel(id);
    }
    until("nothing is open, and all were asked", || {
        let open = world.get("/v1/asks").json()["asks"].as_array().unwrap().len();
        let ended = world.get("/v1/asks?state=settled").json()["asks"].as_array().unwrap().len();
        ((open, ended) == (0, 5)).then_some(())
    });
    assert_eq!(agent.request("ping", &json!({}))["result"], json!({}));
}

#[test]
fn the_end_of_the_agent_withdraws_what_it_asked() {
    let world = World::new();
    for ending in [None, Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP)] {
        let mut agent = Agent::start(&world);
        let ask = agent.ask(&world, 1, &one("Which?"));
        match ending {
            None => drop(agent.stdin.take()),
            Some(ending) => signal(agent.process.id(), ending),
        }
        assert!(agent.process.wait().unwrap().success());
        let ask = world.get(&format!("/v1/asks/{}", key(&ask))).json();
        assert_eq!(ask["outcome"]["kind"], "withdrawn", "{ending:?}");
    }
    // Before it has said anything.
    Agent::silent(&world, &[]).end();
}

#[test]
fn a_daemon_that_is_killed_comes_back_and_the_answer_still_arrives() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    let ask = agent.ask(&world, 1, &one("Which?"));
    let killed = world.kill_daemon();
    // The server starts another one.
    world.until_daemon_other_than(killed);
    world.assert_open(key(&ask));
    world.answer(key(&ask), &json!({"Which?": "This"})).expect(200);
    assert_eq!(agent.result(1)["structuredContent"]["answers"][0]["answer"], "This");
    // Killed once more, and cancelled while there is none.
    let ask = agent.ask(&world, 2, &one("Else?"));
    let killed = world.kill_daemon();
    agent.cancel(2);
    world.until_daemon_other_than(killed);
    assert_eq!(world.settled(key(&ask))["outcome"]["kind"], "withdrawn");
}

#[test]
fn a_client_that_wants_signs_of_life_gets_them() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    let params = json!({"name": "ask_human", "arguments": one("Which?"), "_meta": {"progressToken": "p"}});
    agent.send(&json!({"id": 1, "method": "tools/call", "params": params}));
    let mut last = -1.0;
    for _ in 0..2 {
        let sign = agent.receive();
        assert_eq!(
            (&sign["method"], &sign["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
        let progress = sign["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{sign}");
        last = progress;
    }
    world.answer(key(&the_open_ask(&world)), &json!({"Which?": "This"})).expect(200);
    assert_eq!(agent.result(1)["structuredContent"]["outcome"], "answered");
}

#[test]
fn mistakes_are_named_and_ask_nobody() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    for (arguments, why) in [
        (json!({}), "missing field `questions`"),
        (json!({"questions": []}), "1 to 16 questions"),
        (json!({"questions": [{"question": " "}]}), "no text"),
        (json!({"questions": [{"question": "Which?", "options": ["A"]}]}), "an object with a `label`"),
        (json!({"questions": [{"question": "Which?", "multi_select": true}]}), "unknown field `multi_select`"),
        (json!({"questions": "Which?"}), "expected a sequence"),
    ] {
        agent.call(1, &arguments);
        let failure = agent.failure(1);
        assert!(failure.contains(why) && failure.contains("Nobody was asked"), "{arguments}: {failure}");
    }
    let reply = agent.request("tools/call", &json!({"name": "ask_robot", "arguments": {}}));
    assert_eq!(reply["error"]["code"], -32602);
    assert!(reply["error"]["message"].as_str().unwrap().contains("the only one is ask_human"), "{reply}");
    assert_eq!(agent.request("prompts/get", &json!({"name": "x"}))["error"]["code"], -32601);
    assert!(world.daemon_json().is_none());
}

#[test]
fn broken_input_does_not_end_the_server() {
    let world = World::new();
    let mut agent = Agent::start(&world);
    for line in ["{", "not JSON", "", "\u{1}", "[1, 2"] {
        agent.send_text(line);
    }
    assert_eq!(agent.request("ping", &json!({}))["result"], json!({}));
    // JSON that is no message.
    agent.send_text("{\"jsonrpc\": \"2.0\"}");
    assert_eq!(agent.receive()["error"]["code"], -32600);
    assert_eq!(agent.request("ping", &json!({}))["result"], json!({}));
}

#[test]
fn a_daemon_that_cannot_start_is_a_failure_that_the_model_can_read() {
    let world = World::with_config("nonsense = 1\n");
    let mut agent = Agent::start(&world);
    agent.call(1, &one("Which?"));
    let failure = agent.failure(1);
    assert!(failure.contains("could not reach a person") && failure.contains("Do not make one up"), "{failure}");
}

#[test]
fn words_that_were_left_in_advance_are_called_that() {
    let mut world = World::new();
    drop(world.daemon());
    let away = json!({"words": "Decide yourself", "for_seconds": 60});
    world.send(Some(&world.token()), "PUT /v1/away", &away).expect(200);
    let mut agent = Agent::start(&world);
    agent.call(1, &one("Which?"));
    let result = agent.result(1);
    assert_eq!(result["structuredContent"]["by"]["channel"], "away");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("left these words in advance"), "{result}");
}
