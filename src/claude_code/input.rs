//! What a hook sends.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ask::{AskKey, KeyError, Kind, NewAsk, OnTimeout, Origin, Questions, Report};

use super::client::{Client, Mode};
use super::tool_input::{self, InputError};
use super::version::{Carrier, Version};

/// The tools that ask a person, and the one that asks nobody.
const ASKING_TOOLS: [&str; 3] = ["AskUserQuestion", "AskFollowupQuestion", PROBE_TOOL];

/// The tool of questions that Answerback asks itself. No agent has such a tool, and no repository or model can choose the name that the
/// agent puts into a hook's input: so a real question cannot pass for one that nobody sees.
pub const PROBE_TOOL: &str = "AnswerbackProbe";

/// How the calls are named that do not name themselves.
const UNNAMED: &str = "unnamed-";

/// Whether an ask was opened by an event that did not name its call.
pub fn is_unnamed(key: &AskKey) -> bool {
    key.tool_use_id().starts_with(UNNAMED)
}

/// How long to wait, and what then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// `None`: as long as it takes.
    pub timeout: Option<SignedDuration>,
    /// What happens when the time is up.
    pub on_timeout: OnTimeout,
}

/// What a hook's call comes to.
#[derive(Debug)]
pub enum HookEvent {
    /// A person is asked, and the agent waits.
    Ask(Box<NewAsk>),
    /// A person is about to be asked in the terminal; the agent goes on to open its dialog.
    Announce(Box<NewAsk>),
    /// A person is asked in the terminal, and whoever answers first has answered. The call is not named.
    Race(Box<NewAsk>),
    /// The agent has the answers to a call.
    Received(Box<Report>),
    /// The agent goes on, whatever it has asked.
    WentOn {
        /// Which one.
        session: String,
        /// Which of its processes.
        asker: Option<String>,
        /// For good.
        has_ended: bool,
    },
    /// Nothing for us.
    Other,
    /// A question that cannot be taken over, and why. Claude Code asks it itself.
    Unusable(Unusable),
}

/// Why a question cannot be taken over. Shown, it quotes nothing of the question; debugged, it may.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The session or the tool call has a name that makes no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The questions are not understood.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// The body is not a hook's JSON.
#[derive(Debug, thiserror::Error)]
#[error("the hook's input is not understood: {0}")]
pub struct ReadError(#[from] serde_json::Error);

/// What is read of a hook's input. The rest is unknown today and kept as it is.
#[derive(Deserialize)]
struct HookInput {
    hook_event_name: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    tool_use_id: String,
    #[serde(default)]
    tool_name: String,
    tool_input: Option<Value>,
    tool_response: Option<Value>,
    cwd: Option<String>,
}

/// What is kept of a call until it is answered: the call as it came, whatever is in it.
#[derive(Serialize, Deserialize)]
pub(super) struct Detail {
    client: Client,
    hook: Box<RawValue>,
}

impl Detail {
    /// How the answer gets to the model. `recorded` is the version of a client that does not say.
    pub(super) fn carrier(&self, recorded: Option<Version>) -> Carrier {
        Carrier::of(self.client.version().or(recorded))
    }

    /// Whether the client told its version.
    pub(super) fn says_version(&self) -> bool {
        self.client.version().is_some()
    }

    /// The call as it came.
    pub(super) fn hook(&self) -> &str {
        self.hook.get()
    }

    pub(super) fn tool_input(&self) -> Option<Value> {
        let hook: HookInput = serde_json::from_str(self.hook.get()).ok()?;
        hook.tool_input
    }
}

/// Reads a hook's call.
pub fn read(body: &[u8], client: Client, policy: Policy, now: Timestamp) -> Result<HookEvent, ReadError> {
    // The whole of it, so that what is nested too deeply is refused wherever it is.
    let input = HookInput::deserialize(serde_json::from_slice::<Value>(body)?)?;
    let mode = client.mode();
    let asks = ASKING_TOOLS.contains(&input.tool_name.as_str());
    let event = match (input.hook_event_name.as_str(), mode) {
        (_, Mode::Native) => return Ok(HookEvent::Other),
        ("PreToolUse", Mode::Race) if asks => HookEvent::Announce,
        ("PreToolUse", _) if asks => HookEvent::Ask,
        ("PermissionRequest", Mode::Race) if asks => HookEvent::Race,
        ("PostToolUse", _) if asks => {
            return Ok(received(&input, client.agent_pid).map_or_else(HookEvent::Unusable, HookEvent::Received));
        }
        ("Stop" | "UserPromptSubmit" | "SessionEnd", _) => {
            let has_ended = input.hook_event_name == "SessionEnd";
            return Ok(HookEvent::WentOn { session: input.session_id, asker: client.agent_pid, has_ended });
        }
        _ => return Ok(HookEvent::Other),
    };
    let (key, questions, digest) = match usable(&input, now) {
        Ok(usable) => usable,
        Err(reason) => return Ok(HookEvent::Unusable(reason)),
    };
    let policy = match policy.on_timeout {
        _ if mode == Mode::Defer => Policy { timeout: Some(SignedDuration::ZERO), on_timeout: OnTimeout::Defer },
        // Stopping the process is for one-shot runs nobody looks at; a person gets the dialog, a host is asked.
        OnTimeout::Defer if !client.can_be_resumed() => Policy { on_timeout: OnTimeout::Native, ..policy },
        _ => policy,
    };
    let hook: &RawValue = serde_json::from_slice(body)?;
    let asker = client.agent_pid.clone();
    let origin = if input.tool_name == PROBE_TOOL { Origin::Probe } else { Origin::ClaudeCode };
    let detail = serde_json::to_string(&Detail { client, hook: hook.to_owned() })?;
    Ok(event(Box::new(NewAsk {
        key,
        origin,
        project: input.cwd,
        kind: Kind::Question,
        subject: None,
        questions,
        detail,
        expires_at: policy.timeout.and_then(|timeout| now.checked_add(timeout).ok()),
        on_timeout: policy.on_timeout,
        racing: mode == Mode::Race,
        digest: Some(digest),
        asker,
    })))
}

/// What becomes of an ask that would end its run, once the records tell that its client is too old for that: it waits.
pub fn unless_too_old(mut new: NewAsk, recorded: Option<Version>, policy: Policy, now: Timestamp) -> NewAsk {
    if new.on_timeout == OnTimeout::Defer && recorded.is_some_and(|version| !version.can_defer()) {
        new.on_timeout = match policy.on_timeout {
            OnTimeout::Defer => OnTimeout::Native,
            on_timeout => on_timeout,
        };
        new.expires_at = policy.timeout.and_then(|timeout| now.checked_add(timeout).ok());
    }
    new
}

fn usable(input: &HookInput, now: Timestamp) -> Result<(AskKey, Questions, String), Unusable> {
    let tool_input = input.tool_input.as_ref().unwrap_or(&Value::Null);
    let digest = tool_input::digest(tool_input)?;
    // An event that does not name its call names it by its moment: two of them are two.
    let unnamed = || format!("{UNNAMED}{}-{}", now.as_microsecond(), &digest[..8]);
    let id = if input.tool_use_id.is_empty() && input.hook_event_name == "PermissionRequest" {
        unnamed()
    } else {
        input.tool_use_id.clone()
    };
    Ok((AskKey::new(&input.session_id, &id)?, tool_input::questions(tool_input)?, digest))
}

fn received(input: &HookInput, asker: Option<String>) -> Result<Box<Report>, Unusable> {
    let tool_input = input.tool_input.as_ref().unwrap_or(&Value::Null);
    let seen = |field| {
        let in_response = input.tool_response.as_ref().and_then(|response| response.get(field));
        in_response.or_else(|| tool_input.get(field)).and_then(Value::as_object)
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(labels) => labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    let answers = seen("answers").into_iter().flatten().map(|(question, answer)| (question.clone(), text(answer)));
    let notes = seen("annotations").into_iter().flatten();
    let notes =
        notes.filter_map(|(question, about)| Some((question.clone(), about.get("notes")?.as_str()?.to_owned())));
    Ok(Box::new(Report {
        key: AskKey::new(&input.session_id, &input.tool_use_id)?,
        asker,
        digest: tool_input::digest(tool_input)?,
        answers: answers.collect(),
        notes: notes.collect(),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read_json(value: &Value) -> Result<HookEvent, ReadError> {
        read(value.to_string().as_bytes(), Client::default(), Policy::default(), Timestamp::UNIX_EPOCH)
    }

    fn call() -> Value {
        json!({
            "hook_event_name": "PreToolUse", "session_id": "s-1", "tool_use_id": "toolu_01", "cwd": "/p",
            "tool_name": "AskUserQuestion", "permission_mode": "default", "from_the_future": {"a": [1]},
            "tool_input": {"questions": [{"question": "Q?", "header": "H", "options": [{"label": "A"}], "multiSelect": false}]},
        })
    }

    #[test]
    fn a_question_becomes_an_ask_and_unknown_fields_are_kept() {
        let Ok(HookEvent::Ask(ask)) = read_json(&call()) else { panic!("not an ask") };
        assert_eq!(ask.key.as_str(), "s-1__toolu_01");
        assert_eq!(ask.project.as_deref(), Some("/p"));
        assert_eq!(ask.expires_at, None);
        let detail: Detail = serde_json::from_str(&ask.detail).unwrap();
        assert_eq!(serde_json::from_str::<Value>(detail.hook.get()).unwrap(), call());
    }

    #[test]
    fn the_follow_up_tool_asks_too() {
        let mut call = call();
        call["tool_name"] = json!("AskFollowupQuestion");
        call["tool_input"] = json!({"question": "Q?", "options": ["A", "B"]});
        assert!(matches!(read_json(&call), Ok(HookEvent::Ask(_))));
    }

    #[test]
    fn whatever_is_read_can_be_read_again() {
        for depth in 120..135 {
            let mut call = call();
            let nested: Value = (0..depth).fold(json!(1), |inner, _| json!([inner]));
            call["tool_input"]["deep"] = nested;
            if let Ok(HookEvent::Ask(ask)) = read_json(&call) {
                let detail: Detail = serde_json::from_str(&ask.detail).unwrap();
                assert_eq!(detail.tool_input(), Some(call["tool_input"].take()), "{depth}");
            } else {
                assert!(depth > 120, "the limit is near");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_the_question() {
        let mut call = call();
        call["tool_input"] = json!({"questions": [{"question": ["CANARY"]}]});
        let Ok(HookEvent::Unusable(reason)) = read_json(&call) else { panic!("usable") };
        assert!(!reason.to_string().contains("CANARY"), "{reason}");
    }

    #[test]
    fn other_events_and_tools_are_nothing_for_us() {
        for (field, value) in
            [("hook_event_name", "Notification"), ("hook_event_name", "PermissionRequest"), ("tool_name", "Bash")]
        {
            let mut call = call();
            call[field] = json!(value);
            assert!(matches!(read_json(&call), Ok(HookEvent::Other)), "{value}");
        }
    }

    fn read_as(event: &str, attended: &str, extra: Value) -> HookEvent {
        let mut call = call();
        call["hook_event_name"] = json!(event);
        call.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let client = Client { attended: Some(attended.into()), ..Client::default() };
        read(call.to_string().as_bytes(), client, Policy::default(), Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn with_a_person_at_the_terminal_it_is_a_race() {
        let HookEvent::Announce(announced) = read_as("PreToolUse", "1", json!({})) else { panic!("not announced") };
        let HookEvent::Race(racing) = read_as("PermissionRequest", "1", json!({"tool_use_id": ""})) else {
            panic!("no race")
        };
        assert!(announced.racing && racing.racing);
        assert_eq!(announced.digest, racing.digest);
        assert_ne!(announced.key, racing.key);
        assert!(matches!(read_as("PreToolUse", "0", json!({})), HookEvent::Ask(ask) if !ask.racing));
        assert!(matches!(read_as("PermissionRequest", "0", json!({})), HookEvent::Other));
        for (entrypoint, race) in [("cli", true), ("sdk-cli", false)] {
            let client = Client { entrypoint: Some(entrypoint.into()), ..Client::default() };
            assert_eq!(client.mode() == Mode::Race, race, "{entrypoint}");
        }
    }

    #[test]
    fn what_the_agent_received_is_read_from_either_place() {
        let mut input = call()["tool_input"].clone();
        input["answers"] = json!({"Q?": "A"});
        let HookEvent::Received(from_input) = read_as("PostToolUse", "1", json!({"tool_input": input})) else {
            panic!("nothing received")
        };
        let response = json!({"answers": {"Q?": ["A", "B"]}, "annotations": {"Q?": {"notes": "n"}}});
        let HookEvent::Received(from_response) = read_as("PostToolUse", "0", json!({"tool_response": response})) else {
            panic!("nothing received")
        };
        assert_eq!(from_input.answers["Q?"], "A");
        assert_eq!((from_response.answers["Q?"].as_str(), from_response.notes["Q?"].as_str()), ("A, B", "n"));
        let HookEvent::Announce(announced) = read_as("PreToolUse", "1", json!({})) else { panic!("not announced") };
        assert_eq!(announced.digest.as_ref(), Some(&from_input.digest));
    }

    #[test]
    fn the_end_of_a_turn_and_of_a_session() {
        for (event, ended) in [("Stop", false), ("UserPromptSubmit", false), ("SessionEnd", true)] {
            let HookEvent::WentOn { session, has_ended, .. } = read_as(event, "1", json!({})) else {
                panic!("{event}")
            };
            assert_eq!((session.as_str(), has_ended), ("s-1", ended));
        }
    }

    #[test]
    fn in_native_mode_the_bridge_stands_aside() {
        for (mode, asks) in
            [(None, true), (Some("auto"), true), (Some("hold"), true), (Some("?"), true), (Some("native"), false)]
        {
            let client = Client { mode: mode.map(Into::into), ..Client::default() };
            let event = read(call().to_string().as_bytes(), client, Policy::default(), Timestamp::UNIX_EPOCH);
            assert_eq!(matches!(event, Ok(HookEvent::Ask(_))), asks, "{mode:?}");
        }
    }

    #[test]
    fn in_defer_mode_only_a_run_that_can_be_resumed_ends_at_once() {
        for (attended, entrypoint, ends) in [("0", "sdk-cli", true), ("0", "sdk-ts", false), ("1", "cli", false)] {
            let client = Client {
                attended: Some(attended.into()),
                entrypoint: Some(entrypoint.into()),
                mode: Some("defer".into()),
                ..Client::default()
            };
            let event = read(call().to_string().as_bytes(), client, Policy::default(), Timestamp::UNIX_EPOCH);
            let (Ok(HookEvent::Ask(ask)) | Ok(HookEvent::Announce(ask))) = event else { panic!("not an ask") };
            assert_eq!(ask.expires_at == Some(Timestamp::UNIX_EPOCH), ends, "{entrypoint}");
            assert_eq!(ask.on_timeout == OnTimeout::Defer, ends, "{entrypoint}");
            assert_eq!(ask.racing, attended == "1", "{entrypoint}");
        }
    }

    #[test]
    fn a_client_that_is_too_old_to_end_waits() {
        let deferring = |agent: Option<&str>, recorded, policy: Policy| {
            let client = Client {
                entrypoint: Some("sdk-cli".into()),
                agent: agent.map(Into::into),
                mode: Some("defer".into()),
                ..Client::default()
            };
            let event = read(call().to_string().as_bytes(), client, policy, Timestamp::UNIX_EPOCH);
            let Ok(HookEvent::Ask(ask)) = event else { panic!("not an ask") };
            let ask = unless_too_old(*ask, recorded, policy, Timestamp::UNIX_EPOCH);
            (ask.on_timeout, ask.expires_at.map(Timestamp::as_second))
        };
        let policy = Policy { timeout: Some(SignedDuration::from_secs(60)), on_timeout: OnTimeout::Deny };
        let waits = (OnTimeout::Deny, Some(60));
        let ends = (OnTimeout::Defer, Some(0));
        assert_eq!(deferring(None, None, policy), ends);
        assert_eq!(deferring(None, Some(Version(2, 1, 89)), policy), ends);
        assert_eq!(deferring(None, Some(Version(2, 1, 88)), policy), waits);
        assert_eq!(deferring(Some("claude-code_2-1-186_harness"), None, policy), ends);
        assert_eq!(deferring(Some("claude-code_2-1-88_harness"), None, policy), waits);
    }

    #[test]
    fn what_cannot_be_taken_over_says_why() {
        for (field, value) in [
            ("session_id", json!("a b")),
            ("tool_use_id", json!("")),
            ("tool_input", json!({})),
            ("tool_input", json!({"questions": []})),
            ("tool_input", json!({"questions": "not json"})),
        ] {
            let mut call = call();
            call[field] = value.clone();
            assert!(matches!(read_json(&call), Ok(HookEvent::Unusable(_))), "{field}: {value}");
        }
    }

    #[test]
    fn the_deadline_and_what_then() {
        let policy = Policy { timeout: Some(SignedDuration::from_secs(60)), on_timeout: OnTimeout::Defer };
        for (attended, entrypoint, on_timeout) in
            [("1", "cli", OnTimeout::Native), ("0", "sdk-cli", OnTimeout::Defer), ("0", "sdk-ts", OnTimeout::Native)]
        {
            let client =
                Client { attended: Some(attended.into()), entrypoint: Some(entrypoint.into()), ..Client::default() };
            let event = read(call().to_string().as_bytes(), client, policy, Timestamp::UNIX_EPOCH);
            let (Ok(HookEvent::Ask(ask)) | Ok(HookEvent::Announce(ask))) = event else { panic!("not an ask") };
            assert_eq!(ask.expires_at.map(Timestamp::as_second), Some(60));
            assert_eq!(ask.on_timeout, on_timeout);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(body in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(read(&body, Client::default(), Policy::default(), Timestamp::UNIX_EPOCH));
        }

        #[test]
        fn no_tool_input_is_too_strange(text in r#"[{}\[\]":,a-z0-9\\ ]{0,80}"#) {
            let mut call = call();
            call["tool_input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({"questions": text}));
            prop_assert!(read_json(&call).is_ok());
        }
    }
}
