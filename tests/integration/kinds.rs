//! Calls of Claude Code for the tests of permissions, plans and forms.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::{HOOK, Hook, World};

/// An agent whose hooks are run by a test.
#[derive(Clone, Copy)]
pub(crate) struct Agent {
    pub(crate) session: &'static str,
    pub(crate) attended: &'static str,
    pub(crate) entrypoint: &'static str,
    /// The arguments of the hook: a mode.
    pub(crate) args: &'static [&'static str],
    /// The process of the agent. `1` is a process that is always there.
    pub(crate) pid: &'static str,
}

/// Claude Code with a person at its terminal.
pub(crate) const ATTENDED: Agent = Agent { session: "s", attended: "1", entrypoint: "cli", args: &[], pid: "1" };
/// Claude Code under a host of its own, without a terminal.
pub(crate) const HOSTED: Agent = Agent { attended: "0", entrypoint: "sdk-ts", ..ATTENDED };

impl Agent {
    /// Runs the hook with a call. Fields of `extra` are added to the call.
    pub(crate) fn call(&self, world: &mut World, event: &str, tool: &str, input: &Value, extra: &Value) -> Hook {
        let mut call = json!({
            "hook_event_name": event, "session_id": self.session, "cwd": "/home/me/shop",
            "transcript_path": "/nowhere", "tool_name": tool, "tool_input": input,
        });
        call.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let mut command = world.command(HOOK);
        command
            .args(self.args)
            .env("CLAUDE_CODE_SESSION_ATTENDED", self.attended)
            .env("CLAUDE_CODE_ENTRYPOINT", self.entrypoint)
            .env("CLAUDE_PID", self.pid);
        world.hook_with(command, call.to_string().as_bytes())
    }

    /// The hook that names a call before it is made.
    pub(crate) fn name(&self, world: &mut World, tool: &str, input: &Value, id: &str) {
        self.call(world, "PreToolUse", tool, input, &json!({"tool_use_id": id})).no_decision();
    }

    /// A call in this directory that needs permission.
    pub(crate) fn ask_in(&self, world: &mut World, directory: &Path, tool: &str, input: &Value, id: &str) -> Hook {
        let mut extra = json!({"tool_use_id": id, "cwd": directory});
        self.call(world, "PreToolUse", tool, input, &extra).no_decision();
        extra.as_object_mut().unwrap().remove("tool_use_id");
        let hook = self.call(world, "PermissionRequest", tool, input, &extra);
        world.until_open(&format!("{}__{id}", self.session));
        hook
    }

    /// A call that needs permission: it is named, and then the hook waits beside the dialog.
    pub(crate) fn ask(&self, world: &mut World, tool: &str, input: &Value, id: &str) -> Hook {
        self.name(world, tool, input, id);
        let hook = self.call(world, "PermissionRequest", tool, input, &suggestions(tool, input));
        world.until_open(&format!("{}__{id}", self.session));
        hook
    }
}

/// What Claude Code suggests beside a call, as measured.
pub(crate) fn suggestions(tool: &str, input: &Value) -> Value {
    let suggestions = match tool {
        "Bash" => json!([{"type": "addRules", "behavior": "allow", "destination": "localSettings",
            "rules": [{"toolName": "Bash", "ruleContent": input["command"]}]}]),
        "Edit" | "Write" => json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]),
        _ => return json!({}),
    };
    json!({"permission_suggestions": suggestions})
}

/// The question of an ask that has one.
pub(crate) fn question(world: &World, key: &str) -> String {
    world.get(&format!("/v1/asks/{key}")).expect(200).json()["questions"][0]["question"].as_str().unwrap().to_owned()
}

/// Answers the only question of an ask. Fields of `extra` are added to the request.
pub(crate) fn answer(world: &World, key: &str, text: &str, extra: &Value) -> crate::http::Reply {
    let mut body = json!({"answers": {question(world, key): text}});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    world.post(&format!("/v1/asks/{key}/answer"), &body)
}
