//! Decides what a hook's call means for the daemon.

use jiff::Timestamp;

use crate::ask::{AskKey, KeyError, Kind, NewAsk, OnTimeout, Origin, Report};

use super::call::{Call, ReadError};
use super::client::Mode;
use super::deadline::Deadline;
use super::kinds::{self, InputError, PROBE_TOOL};
use super::version::Version;

/// What a hook's call means.
#[derive(Debug)]
pub(super) enum HookEvent {
    /// The agent asks a person and waits for the answer.
    Ask(Box<NewAsk>),
    /// The agent is about to open its dialog in the terminal. The hook does not wait.
    Announce(Box<NewAsk>),
    /// The agent's dialog is open in the terminal, and the hook waits beside it. The call does not say which tool call it belongs to.
    Race(Box<NewAsk>),
    /// The agent reports the answers that it has.
    Report(Box<Report>),
    /// The session has gone on, with or without an answer.
    WentOn {
        session: String,
        /// The process of that session.
        asker: Option<String>,
        /// Whether the session is over.
        has_ended: bool,
    },
    /// The call does not concern us.
    Other,
    /// The daemon cannot ask this question. Claude Code asks it in its own dialog.
    Unusable(Unusable),
}

/// Why the daemon cannot ask a question. `Display` never quotes the question. `Debug` may.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// The ids of the session and the tool call make no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The input of the tool contains no valid questions.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// Whether the event depends on the client's version. It does if the run is to end at the deadline, because only newer versions can do that.
pub(super) fn depends_on_version(call: &Call, deadline: Deadline) -> bool {
    let mode = call.client.mode(None);
    matches!(mode, Mode::Hold | Mode::Defer)
        && call.hook.hook_event_name == "PreToolUse"
        && kinds::asked_by(&call.hook).is_some()
        && deadline.of_call(&call.client, mode, None).then == OnTimeout::Defer
}

/// What a call means. `body` is the JSON of the call, and `version` is the version of its client.
pub(super) fn event(
    call: Call,
    body: &[u8],
    version: Option<Version>,
    deadline: Deadline,
    now: Timestamp,
) -> Result<HookEvent, ReadError> {
    let mode = call.client.mode(version);
    let kind = kinds::asked_by(&call.hook);
    let (event, kind): (fn(Box<NewAsk>) -> HookEvent, _) = match (call.hook.hook_event_name.as_str(), kind) {
        _ if mode == Mode::Native => return Ok(HookEvent::Other),
        ("PreToolUse", Some(kind)) if mode == Mode::Race => (HookEvent::Announce, kind),
        ("PreToolUse", Some(kind)) => (HookEvent::Ask, kind),
        ("PermissionRequest", Some(kind)) if mode == Mode::Race => (HookEvent::Race, kind),
        ("PostToolUse", Some(kind)) => {
            let report = report(kind, call);
            return Ok(report.map_or_else(HookEvent::Unusable, |report| HookEvent::Report(Box::new(report))));
        }
        ("Stop" | "UserPromptSubmit" | "SessionEnd", _) => {
            let has_ended = call.hook.hook_event_name == "SessionEnd";
            return Ok(HookEvent::WentOn { session: call.hook.session_id, asker: call.client.agent_pid, has_ended });
        }
        _ => return Ok(HookEvent::Other),
    };
    let detail = call.to_keep(body)?;
    let deadline = deadline.of_call(&call.client, mode, version);
    let new = new_ask(kind, call, detail, deadline, mode == Mode::Race, now);
    Ok(new.map_or_else(HookEvent::Unusable, |new| event(Box::new(new))))
}

fn new_ask(
    kind: Kind,
    call: Call,
    detail: String,
    deadline: Deadline,
    racing: bool,
    now: Timestamp,
) -> Result<NewAsk, Unusable> {
    let asked = kinds::of(kind).asked(&call.hook)?;
    let key = if call.hook.tool_use_id.is_empty() && call.hook.hook_event_name == "PermissionRequest" {
        // The time is part of the key, so that two calls with the same questions get two keys.
        AskKey::unnamed(&call.hook.session_id, &format!("{}-{}", now.as_microsecond(), &asked.digest[..8]))?
    } else {
        AskKey::new(&call.hook.session_id, &call.hook.tool_use_id)?
    };
    Ok(NewAsk {
        key,
        origin: if call.hook.tool_name == PROBE_TOOL { Origin::Probe } else { Origin::ClaudeCode },
        project: call.hook.cwd,
        kind,
        subject: asked.subject,
        questions: asked.questions,
        detail,
        expires_at: deadline.expires_at(now),
        on_timeout: deadline.then,
        racing,
        digest: Some(asked.digest),
        asker: call.client.agent_pid,
    })
}

fn report(kind: Kind, call: Call) -> Result<Report, Unusable> {
    let reported = kinds::of(kind).reported(&call.hook)?;
    Ok(Report {
        key: AskKey::new(&call.hook.session_id, &call.hook.tool_use_id)?,
        asker: call.client.agent_pid,
        digest: reported.digest,
        answers: reported.answers,
        notes: reported.notes,
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::client::Client;
    use super::*;

    fn read(body: &[u8], client: Client, deadline: Deadline, now: Timestamp) -> Result<HookEvent, ReadError> {
        read_with_version(body, client, None, deadline, now)
    }

    /// Does the same as the bridge. `recorded` is the version in the transcript.
    fn read_with_version(
        body: &[u8],
        client: Client,
        recorded: Option<Version>,
        deadline: Deadline,
        now: Timestamp,
    ) -> Result<HookEvent, ReadError> {
        let call = Call::read(body, client)?;
        let recorded = recorded.filter(|_| depends_on_version(&call, deadline));
        let version = call.version(recorded);
        event(call, body, version, deadline, now)
    }

    fn read_json(value: &Value) -> Result<HookEvent, ReadError> {
        read(value.to_string().as_bytes(), Client::default(), Deadline::default(), Timestamp::UNIX_EPOCH)
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
        let kept: Value = serde_json::from_str(&ask.detail).unwrap();
        assert_eq!(kept["hook"], call());
    }

    #[test]
    fn the_follow_up_tool_asks_too() {
        let mut call = call();
        call["tool_name"] = json!("AskFollowupQuestion");
        call["tool_input"] = json!({"question": "Q?", "options": ["A", "B"]});
        assert!(matches!(read_json(&call), Ok(HookEvent::Ask(_))));
    }

    #[test]
    fn the_reason_why_a_question_is_unusable_does_not_quote_it() {
        let mut call = call();
        call["tool_input"] = json!({"questions": [{"question": ["CANARY"]}]});
        let Ok(HookEvent::Unusable(reason)) = read_json(&call) else { panic!("usable") };
        assert!(!reason.to_string().contains("CANARY"), "{reason}");
    }

    #[test]
    fn other_events_and_tools_are_ignored() {
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
        read(call.to_string().as_bytes(), client, Deadline::default(), Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn a_question_races_if_a_person_is_at_the_terminal() {
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
            assert_eq!(client.mode(None) == Mode::Race, race, "{entrypoint}");
        }
    }

    #[test]
    fn received_answers_are_read_from_the_input_or_the_response() {
        let mut input = call()["tool_input"].clone();
        input["answers"] = json!({"Q?": "A"});
        let HookEvent::Report(from_input) = read_as("PostToolUse", "1", json!({"tool_input": input})) else {
            panic!("nothing received")
        };
        let response = json!({"answers": {"Q?": ["A", "B"]}, "annotations": {"Q?": {"notes": "n"}}});
        let HookEvent::Report(from_response) = read_as("PostToolUse", "0", json!({"tool_response": response})) else {
            panic!("nothing received")
        };
        assert_eq!(from_input.answers["Q?"], "A");
        assert_eq!((from_response.answers["Q?"].as_str(), from_response.notes["Q?"].as_str()), ("A, B", "n"));
        let HookEvent::Announce(announced) = read_as("PreToolUse", "1", json!({})) else { panic!("not announced") };
        assert_eq!(announced.digest.as_ref(), Some(&from_input.digest));
    }

    #[test]
    fn a_session_goes_on_at_the_end_of_a_turn_and_of_the_session() {
        for (event, ended) in [("Stop", false), ("UserPromptSubmit", false), ("SessionEnd", true)] {
            let HookEvent::WentOn { session, has_ended, .. } = read_as(event, "1", json!({})) else {
                panic!("{event}")
            };
            assert_eq!((session.as_str(), has_ended), ("s-1", ended));
        }
    }

    #[test]
    fn in_native_mode_calls_are_ignored() {
        for (mode, asks) in
            [(None, true), (Some("auto"), true), (Some("hold"), true), (Some("?"), true), (Some("native"), false)]
        {
            let client = Client { mode: mode.map(Into::into), ..Client::default() };
            let event = read(call().to_string().as_bytes(), client, Deadline::default(), Timestamp::UNIX_EPOCH);
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
            let event = read(call().to_string().as_bytes(), client, Deadline::default(), Timestamp::UNIX_EPOCH);
            let (Ok(HookEvent::Ask(ask)) | Ok(HookEvent::Announce(ask))) = event else { panic!("not an ask") };
            assert_eq!(ask.expires_at == Some(Timestamp::UNIX_EPOCH), ends, "{entrypoint}");
            assert_eq!(ask.on_timeout == OnTimeout::Defer, ends, "{entrypoint}");
            assert_eq!(ask.racing, attended == "1", "{entrypoint}");
        }
    }

    #[test]
    fn a_run_that_is_too_old_to_end_waits() {
        let deferring = |agent: Option<&str>, recorded, deadline: Deadline| {
            let client = Client {
                entrypoint: Some("sdk-cli".into()),
                agent: agent.map(Into::into),
                mode: Some("defer".into()),
                ..Client::default()
            };
            let body = call().to_string();
            let event = read_with_version(body.as_bytes(), client, recorded, deadline, Timestamp::UNIX_EPOCH);
            let Ok(HookEvent::Ask(ask)) = event else { panic!("not an ask") };
            (ask.on_timeout, ask.expires_at.map(Timestamp::as_second))
        };
        let deadline = Deadline { after: Some(SignedDuration::from_secs(60)), then: OnTimeout::Deny };
        let waits = (OnTimeout::Deny, Some(60));
        let ends = (OnTimeout::Defer, Some(0));
        assert_eq!(deferring(None, None, deadline), ends);
        assert_eq!(deferring(None, Some(Version(2, 1, 89)), deadline), ends);
        assert_eq!(deferring(None, Some(Version(2, 1, 88)), deadline), waits);
        assert_eq!(deferring(Some("claude-code_2-1-186_harness"), None, deadline), ends);
        assert_eq!(deferring(Some("claude-code_2-1-88_harness"), None, deadline), waits);
    }

    #[test]
    fn questions_without_a_key_or_a_valid_input_are_unusable() {
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
    fn only_a_run_that_can_be_resumed_is_deferred_at_the_deadline() {
        let deadline = Deadline { after: Some(SignedDuration::from_secs(60)), then: OnTimeout::Defer };
        for (attended, entrypoint, on_timeout) in
            [("1", "cli", OnTimeout::Native), ("0", "sdk-cli", OnTimeout::Defer), ("0", "sdk-ts", OnTimeout::Native)]
        {
            let client =
                Client { attended: Some(attended.into()), entrypoint: Some(entrypoint.into()), ..Client::default() };
            let event = read(call().to_string().as_bytes(), client, deadline, Timestamp::UNIX_EPOCH);
            let (Ok(HookEvent::Ask(ask)) | Ok(HookEvent::Announce(ask))) = event else { panic!("not an ask") };
            assert_eq!(ask.expires_at.map(Timestamp::as_second), Some(60));
            assert_eq!(ask.on_timeout, on_timeout);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(read(&body, Client::default(), Deadline::default(), Timestamp::UNIX_EPOCH));
        }

        #[test]
        fn no_tool_input_causes_an_error(text in r#"[{}\[\]":,a-z0-9\\ ]{0,80}"#) {
            let mut call = call();
            call["tool_input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({"questions": text}));
            prop_assert!(read_json(&call).is_ok());
        }
    }
}
