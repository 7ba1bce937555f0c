//! The tool that a run without a terminal asks for permission.
//!
//! A one-shot run has nobody to ask. `--permission-prompt-tool` names a tool of an MCP server that it asks instead, and with such a tool
//! Claude Code also offers the model its questions and plans. `answerback run` brings that server: it hands each call to the daemon as
//! a hook would, and waits for the decision.
//!
//! Measured with 2.1.90, 2.1.186 and 2.1.325:
//! - The tool gets the id of the call, but not the session and no suggestions for rules.
//! - `updatedInput` is required in the older versions, so the input always goes back.
//! - In 2.1.325 the `PermissionRequest` hook runs beside the tool, and the first decision counts. In the older ones only the tool is asked.
//! - In 2.1.325 a call of a tool ends after 30 minutes without a sign of life.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::call::PERMISSION_PROMPT;

/// The command that is the server.
pub const COMMAND: &str = "permission-tool";
/// Not the name that `answerback install --mcp` gives to its server: a run may have both.
const SERVER: &str = "answerback-run";
const TOOL: &str = "permission";
/// The version of the protocol, for a client that does not ask for one.
const PROTOCOL: &str = "2025-06-18";
/// In milliseconds. The longest that Claude Code's timers can do.
const LONGEST: u32 = i32::MAX as u32;
/// How JSON-RPC says that there is no such method.
const NO_SUCH_METHOD: i32 = -32601;
const WRONG_REQUEST: i32 = -32600;
const UNREADABLE_MESSAGE: i32 = -32700;
const UNREADABLE: &str = "Nobody could be asked about this call, because its input is not valid JSON or is nested too deeply. Make the call again without that.";
const UNDECIDED: &str = "Nobody has allowed this call, and this run has no terminal to ask in. Permissions wait for the user after `answerback install --permissions` in this project.";

/// The option that says which tool is asked for permission.
pub const OPTION: &str = "--permission-prompt-tool";

/// The options that make Claude Code ask this tool. `program` is this program.
pub fn options(program: &Path) -> [String; 3] {
    let server = json!({"type": "stdio", "command": program, "args": [COMMAND], "timeout": LONGEST});
    // The option takes several values. In one word with its value, it does not take the prompt for one more.
    let config = format!("--mcp-config={}", json!({"mcpServers": {SERVER: server}}));
    [OPTION.to_owned(), format!("mcp__{SERVER}__{TOOL}"), config]
}

/// What a line from Claude Code asks for.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// This is the reply.
    Reply(Value),
    /// A person is to decide.
    Decide(Decide),
    /// Nobody waits for the decision with this id any more.
    Cancel(Value),
    /// Nothing is to be done.
    Nothing,
}

/// A call that needs a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Decide {
    /// The id of the request.
    pub id: Value,
    /// The name for signs of life, if they are wanted.
    progress: Option<Value>,
    arguments: Map<String, Value>,
}

/// Reads a line. Whoever waits for a reply gets one, also if the line cannot be read: a call without a reply would wait for ever.
pub fn read(line: &str) -> Request {
    let mut message = match serde_json::from_str(line) {
        Ok(Value::Object(message)) => message,
        Ok(_) => return Request::Nothing,
        Err(_) => return unreadable(line),
    };
    let mut params = match message.remove("params") {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    if method == "notifications/cancelled" {
        return params.remove("requestId").map_or(Request::Nothing, Request::Cancel);
    }
    // Without an id it is something that we are told, and without a method it is a reply, and we ask for none.
    let (Some(id), false) = (message.get("id").cloned(), method.is_empty()) else { return Request::Nothing };
    let result = match method {
        "initialize" => json!({
            "protocolVersion": params.get("protocolVersion").and_then(Value::as_str).unwrap_or(PROTOCOL),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "answerback", "version": env!("CARGO_PKG_VERSION")},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [description()]}),
        "tools/call" => {
            let progress = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
            let arguments = match params.remove("arguments") {
                Some(Value::Object(arguments)) => arguments,
                _ => Map::new(),
            };
            return Request::Decide(Decide { id, progress, arguments });
        }
        other => {
            return Request::Reply(error(&id, NO_SUCH_METHOD, &format!("there is no method {other}")));
        }
    };
    Request::Reply(reply(&id, &result))
}

/// Parts of a message that can be read although others cannot, such as half of a character or a structure that is nested too deeply.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
}

fn unreadable(line: &str) -> Request {
    let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(line) else { return Request::Nothing };
    let read = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let (Some(id), Some(method)) = (read(envelope.id), read(envelope.method)) else { return Request::Nothing };
    if method == "tools/call" {
        let decision = json!({"behavior": "deny", "message": UNREADABLE});
        return Request::Reply(decided(&id, &decision));
    }
    Request::Reply(error(&id, UNREADABLE_MESSAGE, "the message cannot be read"))
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The reply with a decision.
fn decided(id: &Value, decision: &Value) -> Value {
    reply(id, &json!({"content": [{"type": "text", "text": decision.to_string()}]}))
}

fn description() -> Value {
    json!({
        "name": TOOL,
        "description": "Asks the user for permission. Only Claude Code itself calls it.",
        "inputSchema": {
            "type": "object",
            "properties": {"tool_name": {"type": "string"}, "input": {"type": "object"}, "tool_use_id": {"type": "string"}},
            "required": ["tool_name", "input"],
        },
    })
}

fn reply(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

impl Decide {
    /// What the daemon is asked, as the input of a hook.
    pub fn hook_input(&self, directory: &Path) -> Value {
        let argument = |name: &str| self.arguments.get(name);
        json!({
            "hook_event_name": PERMISSION_PROMPT,
            "tool_name": argument("tool_name"),
            "tool_input": argument("input"),
            "tool_use_id": argument("tool_use_id"),
            "cwd": directory,
        })
    }

    /// The reply to Claude Code. `output` is what the hook printed. Whatever is not a decision denies.
    pub fn reply(&self, output: &[u8]) -> Value {
        let decision = serde_json::from_slice::<Value>(output).ok();
        let decision = decision.as_ref().and_then(|output| output.pointer("/hookSpecificOutput/decision"));
        let decision = match decision.and_then(Value::as_object) {
            Some(decision) if decision.get("behavior").is_some_and(|behavior| behavior == "allow") => {
                let mut decision = decision.clone();
                let input = self.arguments.get("input").cloned().unwrap_or_else(|| json!({}));
                decision.entry("updatedInput").or_insert(input);
                Value::Object(decision)
            }
            Some(decision) => json!(decision),
            None => json!({"behavior": "deny", "message": UNDECIDED}),
        };
        decided(&self.id, &decision)
    }

    /// The reply to a call whose id belongs to another call that waits.
    pub fn reply_to_used_id(&self) -> Value {
        error(&self.id, WRONG_REQUEST, "another call with this id waits for its decision")
    }

    /// A sign of life, so that Claude Code goes on waiting. `None` if it does not want any.
    pub fn sign_of_life(&self, count: u64) -> Option<Value> {
        let token = self.progress.as_ref()?;
        let params = json!({"progressToken": token, "progress": count});
        Some(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide() -> Decide {
        let line = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
            "name": TOOL, "_meta": {"progressToken": 4},
            "arguments": {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "toolu_1"},
        }});
        match read(&line.to_string()) {
            Request::Decide(decide) => decide,
            other => panic!("{other:?}"),
        }
    }

    fn decision(reply: &Value) -> Value {
        assert_eq!(reply["id"], 4);
        serde_json::from_str(reply["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    #[test]
    fn a_client_learns_what_it_asks_for() {
        let ask = |method: &str, params: Value| {
            let line = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).to_string();
            match read(&line) {
                Request::Reply(reply) => reply,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            ask("initialize", json!({"protocolVersion": "2024-11-05"}))["result"]["protocolVersion"],
            "2024-11-05"
        );
        assert_eq!(ask("initialize", json!(null))["result"]["protocolVersion"], PROTOCOL);
        assert_eq!(ask("tools/list", json!({}))["result"]["tools"][0]["name"], TOOL);
        assert_eq!(ask("ping", json!({})), json!({"jsonrpc": "2.0", "id": "a", "result": {}}));
        assert_eq!(ask("prompts/list", json!({}))["error"]["code"], NO_SUCH_METHOD);
    }

    #[test]
    fn what_needs_no_reply_gets_none() {
        for line in [
            "",
            "[]",
            "{",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        ] {
            assert_eq!(read(line), Request::Nothing, "{line}");
        }
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#;
        assert_eq!(read(cancelled), Request::Cancel(json!(4)));
    }

    #[test]
    fn a_call_that_cannot_be_read_is_denied() {
        let call = |input: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"arguments":{{"input":{input}}}}}}}"#)
        };
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for input in [r#"{"content":"half \ud83d"}"#, "1e400", &deep] {
            let Request::Reply(reply) = read(&call(input)) else { panic!("{input} gets no reply") };
            let decision = decision(&reply);
            assert_eq!((&decision["behavior"], &decision["message"]), (&json!("deny"), &json!(UNREADABLE)), "{input}");
        }
        let other = call("1e400").replace("tools/call", "ping");
        assert!(matches!(read(&other), Request::Reply(reply) if reply["error"]["code"] == UNREADABLE_MESSAGE));
    }

    #[test]
    fn only_a_decision_that_allows_allows_and_the_input_always_goes_back() {
        let decide = decide();
        let replied = |decision: Value| {
            let output = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
            super::tests::decision(&decide.reply(output.to_string().as_bytes()))
        };
        let allowed = json!({"behavior": "allow", "updatedInput": {"command": "ls"}});
        assert_eq!(replied(json!({"behavior": "allow"})), allowed);
        let edited = json!({"behavior": "allow", "updatedInput": {"command": "pwd"}, "updatedPermissions": []});
        assert_eq!(replied(edited.clone()), edited);
        let denied = json!({"behavior": "deny", "message": "no"});
        assert_eq!(replied(denied.clone()), denied);
        for output in ["", "{}", "allow", r#"{"hookSpecificOutput":{"decision":"allow"}}"#] {
            let reply = super::tests::decision(&decide.reply(output.as_bytes()));
            assert_eq!((&reply["behavior"], &reply["message"]), (&json!("deny"), &json!(UNDECIDED)), "{output}");
        }
    }

    #[test]
    fn the_daemon_is_asked_with_the_id_of_the_call() {
        let input = decide().hook_input(Path::new("/shop"));
        let expected = json!({"hook_event_name": PERMISSION_PROMPT, "tool_name": "Bash", "tool_input": {"command": "ls"},
            "tool_use_id": "toolu_1", "cwd": "/shop"});
        assert_eq!(input, expected);
        assert_eq!(decide().sign_of_life(3).unwrap()["params"], json!({"progressToken": 4, "progress": 3}));
    }
}
