//! What a hook's call shows about its session: that the agent is there, and whether it works.

use jiff::Timestamp;

use crate::ask::AskKey;
use crate::registry::{Activity, AgentProcess};

use super::call::Call;
use super::client::Client;
use super::kinds::PROBE_TOOL;

/// Longer texts are no names of directories or programs, and are not kept.
const MAX_NAME: usize = 4096;

/// The process that makes this call. `None` if the call shows nothing about an agent.
pub(super) fn sighting(call: &Call, now: Timestamp) -> Option<AgentProcess> {
    let hook = &call.hook;
    // The id must fit into the keys of asks.
    AskKey::new(&hook.session_id, "t").ok()?;
    // A host never says that the turn or the process of its agent is over.
    if hook.tool_name == PROBE_TOOL || call.client.is_host() {
        return None;
    }
    let activity = match hook.hook_event_name.as_str() {
        "Stop" | "StopFailure" if hook.agent_id.is_none() => Activity::Idle,
        "SessionEnd" => Activity::Ended,
        // These may come after the end of the turn, and say nothing about it.
        "Notification" | "SubagentStop" => return None,
        _ => Activity::Working,
    };
    Some(AgentProcess {
        session: hook.session_id.clone(),
        asker: call.client.agent_pid.clone().filter(|asker| asker.len() < MAX_NAME),
        project: hook.cwd.clone().filter(|directory| directory.len() < MAX_NAME),
        agent: name(&call.client),
        records: call.transcript().filter(|path| path.as_os_str().len() < MAX_NAME),
        activity,
        seen_at: now,
    })
}

/// The agent and its version, as far as they are known.
fn name(client: &Client) -> Option<String> {
    match client.version() {
        Some(version) => Some(format!("claude-code {version}")),
        None if client.is_claude_code() => Some("claude-code".to_owned()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn seen(fields: &Value) -> Option<AgentProcess> {
        let mut body =
            json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/shop", "transcript_path": "/t"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let agent = Some("claude-code_2-1-325_harness".into());
        let client = Client { agent, agent_pid: Some("7".into()), ..Client::default() };
        sighting(&Call::read(body.to_string().as_bytes(), client).unwrap(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn events_show_what_the_agent_does() {
        let activity = |fields: Value| seen(&fields).map(|process| process.activity);
        for event in
            ["PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Elicitation", "SomethingNew"]
        {
            assert_eq!(activity(json!({"hook_event_name": event})), Some(Activity::Working), "{event}");
        }
        assert_eq!(activity(json!({"hook_event_name": "Stop"})), Some(Activity::Idle));
        assert_eq!(activity(json!({"hook_event_name": "PreToolUse", "agent_id": "a"})), Some(Activity::Working));
        assert_eq!(activity(json!({"hook_event_name": "SubagentStop", "agent_id": "a"})), None);
        assert_eq!(activity(json!({"hook_event_name": "SessionEnd"})), Some(Activity::Ended));
        assert_eq!(activity(json!({"hook_event_name": "Notification"})), None);
    }

    #[test]
    fn a_session_is_known_by_its_names_and_nothing_huge_is_kept() {
        let process = seen(&json!({})).unwrap();
        assert_eq!((process.session.as_str(), process.asker.as_deref()), ("s", Some("7")));
        assert_eq!(process.agent.as_deref(), Some("claude-code 2.1.325"));
        assert_eq!(process.records, Some("/t".into()));
        let long = "x".repeat(MAX_NAME);
        let process = seen(&json!({"cwd": long, "transcript_path": long})).unwrap();
        assert_eq!((process.project, process.records), (None, None));
        assert_eq!(seen(&json!({"session_id": long})), None);
        assert_eq!(seen(&json!({"session_id": ""})), None);
        assert_eq!(seen(&json!({"tool_name": PROBE_TOOL})), None);
    }
}
