//! What the WebSocket does with frames that make no sense, are too large, too many or in the wrong place.

use std::io::Write;

use serde_json::{Value, json};
use tungstenite::Message;

use crate::companion::Companion;
use crate::world::{World, question, until};

const MIB: usize = 1024 * 1024;

#[test]
fn a_frame_that_is_wrong_gets_an_error_and_changes_nothing() {
    let mut world = World::new();
    drop(world.daemon());
    let mut companion = Companion::of_all(&world);
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    companion.next_of("ask_user_question");
    let answer = |fields: Value| {
        let mut data = json!({"question_id": key, "answers": {"Which?": "A"}});
        data.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"type": "ask_user_response", "data": data}).to_string()
    };
    let cases = [
        ("", "bad-request"),
        ("{", "bad-request"),
        ("[]", "invalid"),
        ("{}", "invalid"),
        (r#"{"type": "subscribe", "type": "subscribe"}"#, "bad-request"),
        (r#"{"type": "shout"}"#, "invalid"),
        (r#"{"type": "subscribe", "session_id": 3}"#, "invalid"),
        (r#"{"type": "subscribe", "session_id": "no spaces"}"#, "invalid"),
        (r#"{"type": "subscribe", "session_id": "a", "conversation_id": "b"}"#, "invalid"),
        (r#"{"type": "subscribe", "since": "yesterday"}"#, "invalid"),
        (r#"{"type": "ask_user_response"}"#, "invalid"),
        (r#"{"type": "ask_user_response", "data": {"question_id": "no__body", "answers": {"Q": "A"}}}"#, "not-found"),
        (r#"{"type": "ask_user_response", "data": {"question_id": "nobody", "answers": {"Q": "A"}}}"#, "not-found"),
        (&answer(json!({"answers": {"Other?": "A"}})), "invalid"),
        (&answer(json!({"answers": {"Which?": 3}})), "invalid"),
        (&answer(json!({"answers": {}})), "invalid"),
        (&answer(json!({"answers": {"Which?": "x".repeat(20_000)}})), "invalid"),
        (&answer(json!({"id": 99_999})), "closed"),
        (&answer(json!({"cancelled": "yes"})), "invalid"),
        (&format!(r#"{{"type": "subscribe", "x": {}1{}}}"#, "[".repeat(200), "]".repeat(200)), "bad-request"),
    ];
    for (frame, kind) in cases {
        companion.send_text(frame);
        let error = companion.next_of("error");
        assert_eq!(error["error"], kind, "{frame}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.ends_with('.')), "{error}");
        // A frame that makes sense, so that the daemon does not lose its patience.
        companion.send(&json!({"type": "authenticate", "token": ""}));
        companion.next_of("authenticated");
    }
    companion.socket.send(Message::binary(vec![1, 2, 3])).unwrap();
    assert_eq!(companion.next_of("error")["message"], "A frame must be text, and this one is binary.");
    world.assert_open(&key);
    assert!(hook.is_waiting());
    // It still works. A second answer and a late one get the one that counts.
    companion.send_text(&answer(json!({})));
    companion.next_of("ask_user_settled");
    companion.send_text(&answer(json!({"answers": {"Which?": "B"}})));
    let late = companion.next_of("error");
    assert_eq!((&late["error"], &late["question_id"]), (&json!("answered-already"), &json!(key)));
    assert_eq!(late["outcome"]["answers"], json!({"Which?": "A"}));
    hook.reply();
}

#[test]
fn a_frame_over_the_limit_closes_only_its_own_connection() {
    let mut world = World::new();
    drop(world.daemon());
    let mut other = Companion::of_all(&world);
    let padded = |length: usize| {
        let frame = json!({"type": "subscribe", "x": ""}).to_string();
        frame.replace(r#""x":"""#, &format!(r#""x":"{}""#, "x".repeat(length - frame.len())))
    };
    let mut companion = Companion::new(&world);
    companion.send_text(&padded(MIB));
    assert_eq!(companion.next()["type"], "subscribed");
    // The daemon may be gone before all of it is written.
    drop(companion.socket.send(Message::text(padded(MIB + 1))));
    companion.expect_closed(1009);
    let mut companion = Companion::new(&world);
    // A frame that is announced and never comes.
    companion.socket.get_mut().write_all(&[0x81, 0xff, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]).unwrap();
    companion.expect_closed(1009);
    let mut companion = Companion::new(&world);
    companion.socket.get_mut().write_all(&[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]).unwrap();
    companion.expect_closed(1007);
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(other.next_of("ask_user_question")["question_id"], key);
}

#[test]
fn a_flood_is_cut_with_one_line_in_the_log() {
    let mut world = World::new();
    let mut daemon = world.daemon_with(|command| {
        command.env("ANSWERBACK_LOG", "info");
    });
    let mut other = Companion::of_all(&world);
    for (frame, reason) in
        [(r#"{"type": "authenticate", "token": ""}"#, "too many frames"), ("nonsense", "make no sense")]
    {
        let mut companion = Companion::new(&world);
        for _ in 0..10_000 {
            if companion.socket.send(Message::text(frame)).is_err() {
                break;
            }
        }
        // The reason may be lost, because the companion was still sending. The end is not.
        if let Ok(frame) = companion.closed() {
            assert_eq!(u16::from(frame.code), 1008);
            assert!(frame.reason.contains(reason), "{}", frame.reason);
        }
    }
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(other.next_of("ask_user_question")["question_id"], key);
    let log = world.log();
    assert!(log.matches("a companion's connection is closed").count() <= 2, "{log}");
    assert!(!log.contains("nonsense"), "{log}");
    world.stop_daemon(&mut daemon);
}

/// A companion that never reads is cut, and the others notice nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_companion_that_does_not_read_is_cut() {
    let mut world = World::new();
    drop(world.daemon());
    let _deaf = Companion::of_all(&world);
    let mut other = Companion::of_all(&world);
    let connections = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", world.daemon_pid())).unwrap();
        let targets = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    };
    let before = connections();
    let long = "x".repeat(12_000);
    // The kernel keeps a few hundred kilobytes for it. After that, the daemon cannot write.
    for number in 0..400 {
        let ask =
            world.post("/v1/asks", &json!({"questions": [question(&format!("{number} {long}"))]})).expect(201).json();
        assert_eq!(other.next_of("ask_user_question")["question_id"], ask["key"]);
        world.post(&format!("/v1/asks/{}/withdraw", ask["key"].as_str().unwrap()), &json!({})).expect(200);
        other.next_of("ask_user_settled");
    }
    until("the connection to be cut", || (connections() < before).then_some(()));
}
