//! The input and the output of hooks, as far as the API describes them. The daemon reads more fields than these (`claude_code`).

use serde::Serialize;
use serde_json::{Map, Value};

/// The input of a hook, as Claude Code writes it. Other fields are allowed, and they are kept.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(examples(json!({"hook_event_name": "Stop", "session_id": "6a1b0c2d"})))]
pub struct HookInput {
    /// `PreToolUse`, `PermissionRequest`, `PostToolUse`, `UserPromptSubmit`, `Stop` or `SessionEnd`. Other events are ignored.
    pub hook_event_name: String,
    /// The id of the session. It is the first part of the ask's key.
    #[serde(default)]
    pub session_id: String,
    /// The id of the tool call. It is the second part of the ask's key. A `PermissionRequest` has none.
    #[serde(default)]
    pub tool_use_id: String,
    /// `AskUserQuestion`. Calls of other tools are ignored.
    #[serde(default)]
    pub tool_name: String,
    /// The questions, as `{"questions": [...]}`.
    pub tool_input: Option<Value>,
    /// The result of the tool, in a `PostToolUse` event.
    pub tool_response: Option<Value>,
    /// The directory the agent works in.
    pub cwd: Option<String>,
}

/// The output that the hook prints, in the form that Claude Code reads.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(value_type = Object)]
pub struct HookOutput(pub Map<String, Value>);
