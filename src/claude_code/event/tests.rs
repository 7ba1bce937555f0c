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
    let rules = Rules { deadline, unattended_waits: false };
    let recorded = recorded.filter(|_| depends_on_version(&call, rules));
    let version = call.version(recorded);
    event(call, body, version, &CurrentFile::Unseen, rules, now)
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
    let said = |report: &Report| match &report.news {
        News::Answers { answers, notes } => (answers["Q?"].clone(), notes.get("Q?").cloned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(said(&from_input), ("A".to_owned(), None));
    assert_eq!(said(&from_response), ("A, B".to_owned(), Some("n".to_owned())));
    let HookEvent::Announce(announced) = read_as("PreToolUse", "1", json!({})) else { panic!("not announced") };
    assert_eq!(announced.digest, from_input.digest);
}

#[test]
fn a_session_goes_on_at_the_end_of_a_turn_and_of_the_session() {
    let thread =
        |subagent: Option<&str>| Thread { session: "s-1".into(), asker: None, subagent: subagent.map(Into::into) };
    for event in ["Stop", "SubagentStop"] {
        let went_on = read_as(event, "1", json!({}));
        assert!(
            matches!(went_on, HookEvent::WentOn { thread: found, done } if found == thread(None) && done.is_empty())
        );
    }
    assert!(matches!(read_as("UserPromptSubmit", "1", json!({})), HookEvent::Prompted(found) if found == thread(None)));
    assert!(matches!(read_as("SessionEnd", "1", json!({})), HookEvent::Ended(found) if found == thread(None)));
    let calls = json!([{"tool_use_id": "t1", "tool_response": "It was rejected. To tell you how to proceed, the user said:\nno"}, {"tool_use_id": "t2", "tool_response": [1]}, {"tool_use_id": "t3", "tool_response": "Denied by a safety check, not by the user."}, {}, 3]);
    let batch = |calls: Value| read_as("PostToolBatch", "1", json!({"agent_id": "a1", "tool_calls": calls}));
    let HookEvent::WentOn { thread: found, done } = batch(calls.as_array().unwrap()[..4].into()) else {
        panic!("no batch")
    };
    assert_eq!(found, thread(Some("a1")));
    let done: Vec<_> = done.into_iter().map(|report| (report.key.to_string(), report.news)).collect();
    let refused = |words: Option<&str>| News::Refused(words.map(Into::into));
    // Only what a person said is a person's answer.
    let expected = [("t1", Some("no")), ("t2", None), ("t3", None)];
    assert_eq!(done, expected.map(|(id, words)| (format!("s-1__{id}"), refused(words))));
    // A shape that is not known names no calls, but the thread goes on.
    assert!(matches!(batch(calls), HookEvent::WentOn { done, .. } if done.is_empty()));
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

/// A call of another tool, from a client that says what it is.
fn read_tool(
    event: &str,
    tool: &str,
    entrypoint: Option<&str>,
    attended: &str,
    extra: Value,
    rules: Rules,
) -> HookEvent {
    let mut call = call();
    call["hook_event_name"] = json!(event);
    call["tool_name"] = json!(tool);
    call["tool_input"] = json!({"command": "npm test", "plan": "# Plan"});
    let mode = extra.get("mode").and_then(Value::as_str).map(ToOwned::to_owned);
    let waits = extra.get("waits").and_then(Value::as_str).map(ToOwned::to_owned);
    call.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let entrypoint = entrypoint.map(ToOwned::to_owned);
    let client = Client { attended: Some(attended.into()), entrypoint, mode, waits, ..Client::default() };
    let body = call.to_string();
    let call = Call::read(body.as_bytes(), client).unwrap();
    event_of(call, body.as_bytes(), rules)
}

fn event_of(call: Call, body: &[u8], rules: Rules) -> HookEvent {
    event(call, body, None, &CurrentFile::Unseen, rules, Timestamp::UNIX_EPOCH).unwrap()
}

#[test]
fn a_permission_is_asked_beside_the_dialog_and_named_before() {
    let read = |event: &str, extra: Value| read_tool(event, "Bash", Some("cli"), "1", extra, Rules::default());
    let HookEvent::Name(named) = read("PreToolUse", json!({})) else { panic!("not named") };
    assert_eq!(named.key.as_str(), "s-1__toolu_01");
    let HookEvent::Race(ask) = read("PermissionRequest", json!({"tool_use_id": ""})) else { panic!("not asked") };
    assert!(ask.racing && ask.key.is_unnamed() && ask.topic.kind() == Kind::Permission);
    assert_eq!(ask.digest.as_deref(), Some(named.digest.as_str()));
    for event in ["PostToolUse", "PostToolUseFailure"] {
        let HookEvent::Report(report) = read(event, json!({})) else { panic!("{event}") };
        assert_eq!((report.digest.as_ref(), report.key.as_str()), (Some(&named.digest), "s-1__toolu_01"));
        assert!(matches!(report.news, News::Ran(Some(_))));
    }
}

#[test]
fn only_calls_of_claude_code_are_asked_and_only_if_somebody_could_know() {
    let plain = Rules::default();
    let waits = Rules { unattended_waits: true, ..plain };
    let subagent = json!({"agent_id": "a1", "agent_type": "helper"});
    let hold = json!({"mode": "hold", "agent_id": "a1"});
    for (entrypoint, attended, extra, rules, asked, why) in [
        (Some("cli"), "1", json!({}), plain, true, "a person at the terminal"),
        (None, "1", json!({}), plain, false, "another agent"),
        (Some("sdk-ts"), "0", json!({}), plain, true, "a host"),
        (Some("sdk-cli"), "0", json!({}), plain, false, "a one-shot run"),
        (Some("sdk-cli"), "0", json!({}), waits, true, "a one-shot run, configured to wait"),
        (Some("sdk-cli"), "0", json!({"waits": "1"}), plain, true, "a one-shot run, started to wait"),
        (Some("cli"), "1", subagent.clone(), plain, false, "a subagent, whose dialog would be hidden"),
        (Some("cli"), "1", hold, plain, true, "the same, but the person wants it"),
        (Some("cli"), "0", subagent, plain, true, "a subagent of a session without a person"),
    ] {
        let event = read_tool("PermissionRequest", "Bash", entrypoint, attended, extra.clone(), rules);
        assert_eq!(matches!(event, HookEvent::Race(_)), asked, "{why}");
        if extra.get("agent_id").is_none() {
            let event = read_tool("PermissionRequest", "ExitPlanMode", entrypoint, attended, extra, rules);
            assert_eq!(matches!(event, HookEvent::Race(_)), asked, "plan: {why}");
        }
    }
}

#[test]
fn a_plan_is_announced_and_its_report_is_known_by_its_id() {
    let read = |event: &str, extra: Value| read_tool(event, "ExitPlanMode", Some("cli"), "1", extra, Rules::default());
    let HookEvent::Announce(announced) = read("PreToolUse", json!({})) else { panic!("not announced") };
    let HookEvent::Race(racing) = read("PermissionRequest", json!({"tool_use_id": ""})) else { panic!("no race") };
    assert_eq!((announced.topic.kind(), &announced.digest), (Kind::Plan, &racing.digest));
    let HookEvent::Report(report) = read("PostToolUse", json!({"tool_input": {}})) else { panic!("no report") };
    assert_eq!((report.digest, report.news), (None, News::Ran(None)));
    // Some versions send no plan.
    assert!(matches!(read("PreToolUse", json!({"tool_input": {}})), HookEvent::Announce(_)));
}

#[test]
fn a_form_waits_only_where_no_dialog_is_missed() {
    let form = json!({"tool_name": "", "mcp_server_name": "shop", "message": "Where?",
        "requested_schema": {"properties": {"port": {"type": "integer"}}}});
    for (attended, mode, asked) in [("0", "auto", true), ("1", "auto", false), ("1", "hold", true)] {
        let mut extra = form.clone();
        extra["mode"] = json!(mode);
        extra["tool_use_id"] = json!("");
        let event = read_tool("Elicitation", "", Some("cli"), attended, extra, Rules::default());
        assert_eq!(
            matches!(&event, HookEvent::Ask(ask) if ask.topic.kind() == Kind::Form && !ask.racing),
            asked,
            "{attended} {mode}"
        );
    }
}

#[test]
fn only_a_question_is_ever_deferred() {
    let deadline = Deadline { after: Some(SignedDuration::from_secs(60)), then: OnTimeout::Defer };
    let rules = Rules { deadline, unattended_waits: true };
    for tool in ["Bash", "ExitPlanMode"] {
        for mode in ["auto", "defer"] {
            let event = read_tool("PermissionRequest", tool, Some("sdk-cli"), "0", json!({"mode": mode}), rules);
            let HookEvent::Race(ask) = event else { panic!("{tool} {mode}") };
            assert_eq!((ask.on_timeout, ask.expires_at.map(Timestamp::as_second)), (OnTimeout::Native, Some(60)));
        }
    }
}

#[test]
fn a_call_that_is_sent_again_has_the_same_key() {
    let key = |name: Option<&str>, now: i64| {
        let mut call = call();
        call["hook_event_name"] = json!("PermissionRequest");
        call.as_object_mut().unwrap().remove("tool_use_id");
        let name = name.map(ToOwned::to_owned);
        let client = Client { attended: Some("1".into()), call: name, ..Client::default() };
        let now = Timestamp::from_second(now).unwrap();
        let Ok(HookEvent::Race(ask)) = read(call.to_string().as_bytes(), client, Deadline::default(), now) else {
            panic!("no race")
        };
        ask.key.to_string()
    };
    assert_eq!(key(Some("7-1"), 1), "s-1__unnamed-7-1");
    assert_eq!(key(Some("7-1"), 1), key(Some("7-1"), 2));
    assert_ne!(key(Some("7-1"), 1), key(Some("7-2"), 1));
    // Without a name, or with one that is none, each call has a key of its own.
    for name in [None, Some("a b"), Some("")] {
        assert_ne!(key(name, 1), key(name, 2), "{name:?}");
    }
}
