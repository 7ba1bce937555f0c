//! What hooks send and print, as far as it is described. The daemon reads more of it than that (`claude_code`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A hook's input, as Claude Code writes it. Other fields are allowed, and kept.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(examples(json!({"hook_event_name": "Stop", "session_id": "6a1b0c2d"})))]
pub struct HookInput {
    /// `PreToolUse`, `PermissionRequest`, `PostToolUse`, `UserPromptSubmit`, `Stop` or `SessionEnd`; others are ignored.
    pub hook_event_name: String,
    /// The session.
    #[serde(default)]
    pub session_id: String,
    /// The tool call in it.
    #[serde(default)]
    pub tool_use_id: String,
    /// `AskUserQuestion`; other tools are ignored.
    #[serde(default)]
    pub tool_name: String,
    /// The questions, as `{"questions": [...]}`.
    pub tool_input: Option<Value>,
    /// What the tool gave back.
    pub tool_response: Option<Value>,
    /// The directory the agent works in.
    pub cwd: Option<String>,
}

/// What the hook shall print, as Claude Code reads it.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(value_type = Object)]
pub struct HookOutput(pub Map<String, Value>);
