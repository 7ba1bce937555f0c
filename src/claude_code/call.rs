//! A call of a hook: what Claude Code sent, and what the hook program says about the client. It is read when it comes in, kept with
//! its ask, and read again for the reply.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ask::DEMO_SESSION;
use crate::registry::NamedCall;

use super::about::About;
use super::client::Client;
use super::kinds::PROBE_TOOL;
use super::version::Version;

/// The event of the permission tool of `answerback run`. Claude Code has no event of this name.
pub const PERMISSION_PROMPT: &str = "PermissionPrompt";

/// The body is not a hook's JSON.
#[derive(Debug, thiserror::Error)]
#[error("the hook's input is not understood: {0}")]
pub struct ReadError(#[from] serde_json::Error);

/// One call of a hook.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) client: Client,
    pub(super) hook: HookInput,
}

/// The fields of a hook's input that are read. The others are kept as they are.
#[derive(Debug, Deserialize)]
pub(super) struct HookInput {
    pub(super) hook_event_name: String,
    #[serde(default)]
    pub(super) session_id: String,
    #[serde(default)]
    pub(super) tool_use_id: String,
    #[serde(default)]
    pub(super) tool_name: String,
    pub(super) tool_input: Option<Value>,
    pub(super) tool_response: Option<Value>,
    pub(super) cwd: Option<String>,
    /// What Claude Code offers to remember, so that it need not ask again.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) permission_suggestions: Option<Value>,
    /// The subagent that makes the call.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) agent_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) agent_type: Option<String>,
    /// The calls of a batch that is over.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tool_calls: Vec<BatchCall>,
    /// The server of the tool. Older versions do not say it.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) mcp_server: Option<McpServer>,
    /// The server that wants a form to be filled in, and the form.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) mcp_server_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) requested_schema: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) elicitation_id: Option<String>,
    /// Any value, so that a strange one does not spoil the rest.
    transcript_path: Option<Value>,
}

/// A field that other events use for something else, so a strange value must not spoil the rest.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The server of a tool.
#[derive(Debug, Deserialize)]
pub(super) struct McpServer {
    pub(super) name: String,
}

/// One call of a batch.
#[derive(Debug, Deserialize)]
pub(super) struct BatchCall {
    #[serde(default)]
    pub(super) tool_use_id: String,
    /// What the model was shown: a text, or blocks of content.
    pub(super) tool_response: Option<Value>,
}

/// A call as it is kept: the hook's input is there byte for byte.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    client: Client,
    /// Only with asks of another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<About>,
    #[serde(borrow)]
    hook: &'a RawValue,
}

impl Call {
    /// Reads a call that comes in.
    pub(super) fn read(body: &[u8], client: Client) -> Result<Self, ReadError> {
        // The whole body is read, so that JSON that is nested too deeply is refused wherever it is.
        let hook = HookInput::deserialize(serde_json::from_slice::<Value>(body)?)?;
        Ok(Self { client, hook })
    }

    /// Whether the permission tool of `answerback run` sends it.
    pub(super) fn is_permission_prompt(&self) -> bool {
        self.hook.hook_event_name == PERMISSION_PROMPT
    }

    /// Whether Answerback itself has run the hook, for a test or a demonstration.
    pub(super) fn is_our_own(&self) -> bool {
        self.hook.tool_name == PROBE_TOOL || self.hook.session_id.starts_with(DEMO_SESSION)
    }

    /// Fills in what the permission tool does not know about its call.
    pub(super) fn complete(&mut self, announced: NamedCall) {
        self.hook.session_id = announced.key.session().to_owned();
        self.hook.agent_id = announced.subagent;
        // The tool runs where the run began. The agent may have gone elsewhere.
        self.hook.cwd = announced.project.or(self.hook.cwd.take());
        self.client.agent_pid = announced.asker;
    }

    /// The text to keep with the ask. `body` is what the call was read from.
    pub(super) fn to_keep(&self, body: &[u8]) -> Result<String, ReadError> {
        let kept = Kept { client: self.client.clone(), about: None, hook: serde_json::from_slice(body)? };
        Ok(serde_json::to_string(&kept)?)
    }

    /// The call that was kept; `None` if the text is damaged.
    pub(super) fn kept(detail: &str) -> Option<Self> {
        let kept: Kept<'_> = serde_json::from_str(detail).ok()?;
        Some(Self { hook: serde_json::from_str(kept.hook.get()).ok()?, client: kept.client })
    }

    /// The text to keep, with what is known about the session.
    pub(super) fn keep_with(detail: &str, about: About) -> Option<String> {
        let kept: Kept<'_> = serde_json::from_str(detail).ok()?;
        serde_json::to_string(&Kept { about: Some(about), ..kept }).ok()
    }

    /// What was kept about the session.
    pub(super) fn kept_about(detail: &str) -> Option<About> {
        serde_json::from_str::<Kept<'_>>(detail).ok()?.about
    }

    /// Where Claude Code writes the records of this call's session.
    pub(super) fn transcript(&self) -> Option<PathBuf> {
        self.hook.transcript_path.as_ref()?.as_str().map(PathBuf::from)
    }

    /// The transcript, if the client's version can be found nowhere else.
    pub(super) fn transcript_for_version(&self) -> Option<PathBuf> {
        if self.client.version().is_some() { None } else { self.transcript() }
    }

    /// The version of the client. `recorded` is the one in the transcript, for clients that do not send it.
    pub(super) fn version(&self, recorded: Option<Version>) -> Option<Version> {
        self.client.version().or(recorded)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_is_read_can_be_read_again() {
        for depth in 120..135 {
            let nested: Value = (0..depth).fold(json!(1), |inner, _| json!([inner]));
            let body = json!({"hook_event_name": "PreToolUse", "tool_input": {"deep": nested}}).to_string();
            if let Ok(call) = Call::read(body.as_bytes(), Client::default()) {
                let again = Call::kept(&call.to_keep(body.as_bytes()).unwrap()).unwrap();
                assert_eq!(again.hook.tool_input, call.hook.tool_input, "{depth}");
            } else {
                assert!(depth > 120, "the limit is near");
            }
        }
    }

    #[test]
    fn a_call_is_kept_byte_for_byte() {
        let body = "{ \"hook_event_name\":\"Stop\",\n \"n\": 1.50, \"n\": 2 }";
        let call = Call::read(body.as_bytes(), Client::default()).unwrap();
        assert!(call.to_keep(body.as_bytes()).unwrap().contains(body));
        assert!(Call::kept("damaged").is_none());
    }

    #[test]
    fn a_strange_transcript_path_is_none() {
        let call = |path: Value| {
            let body = json!({"hook_event_name": "Stop", "transcript_path": path}).to_string();
            Call::read(body.as_bytes(), Client::default()).unwrap()
        };
        assert_eq!(call(json!("/t.jsonl")).transcript(), Some(PathBuf::from("/t.jsonl")));
        assert_eq!((call(json!(3)).transcript(), call(Value::Null).transcript()), (None, None));
    }
}
