//! The WebSocket for companions: what they are shown, what they can say, and who may answer.

use serde_json::{Value, json};

use crate::companion::{Companion, connect_with};
use crate::http::Request;
use crate::kinds::{ATTENDED, Agent};
use crate::phone::admin;
use crate::world::{World, question, until};

fn response(key: &str, answers: &Value) -> Value {
    json!({"type": "ask_user_response", "data": {"question_id": key, "answers": answers}})
}

#[test]
fn a_question_is_asked_answered_and_settled() {
    let mut world = World::new();
    drop(world.daemon());
    let mut companion = Companion::of_all(&world);
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let frame = companion.next_of("ask_user_question");
    assert_eq!(
        (&frame["question_id"], &frame["kind"], &frame["subject"]),
        (&json!(key), &json!("question"), &Value::Null)
    );
    assert_eq!((&frame["session_id"], &frame["tool_call_id"]), (&json!("s"), &json!("t")));
    assert_eq!((&frame["questions"][0]["question"], &frame["timeout_seconds"]), (&json!("Which?"), &Value::Null));
    let waiting = companion.until_status("s", "waiting");
    assert_eq!((&waiting["waiting_for_user"], &waiting["is_processing"]), (&json!(true), &json!(false)));
    assert_eq!(waiting["pending_question_id"], key);
    companion.send(&response(&key, &json!({"Which?": "A"})));
    let settled = companion.next_of("ask_user_settled");
    assert_eq!((&settled["question_id"], &settled["outcome"]["answers"]), (&json!(key), &json!({"Which?": "A"})));
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    let status = companion.until_status("s", "working");
    assert_eq!((&status["is_processing"], &status["pending_question_id"]), (&json!(true), &Value::Null));
    // The event about it is not told again.
    let (_hook, second) = world.ask("s", "t2", &[question("Which?")]);
    assert_eq!(companion.next_of("ask_user_question")["question_id"], second);
}

#[test]
fn what_an_agent_has_started_reads_and_does_not_answer() {
    let mut world = World::new();
    drop(world.daemon());
    // This process is an agent: it has started a hook that says so.
    let pid: &'static str = std::process::id().to_string().leak();
    let hook = Agent { pid, ..ATTENDED }.call(&mut world, "UserPromptSubmit", "", &json!(null), &json!({}));
    hook.no_decision();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let (mut with_token, mut on_socket) = (Companion::new(&world), Companion::on_socket(&world));
    for frame in [
        response(&key, &json!({"Which?": "A"})),
        json!({"type": "ask_user_response", "data": {"question_id": key, "cancelled": true}}),
    ] {
        with_token.send(&frame);
        on_socket.send(&frame);
        for refused in [with_token.next_of("error"), on_socket.next_of("error")] {
            assert_eq!((&refused["error"], &refused["question_id"]), (&json!("agent"), &json!(key)));
        }
    }
    world.assert_open(&key);
}

#[test]
fn both_forms_of_an_answer_and_of_several_choices_are_understood() {
    let mut world = World::new();
    drop(world.daemon());
    let many =
        json!({"question": "Which?", "multiSelect": true, "options": [{"label": "A"}, {"label": "B"}, {"label": "C"}]});
    let mut companion = Companion::of_all(&world);
    let cases = [
        json!({"type": "ask_user_response", "conversation_id": "s", "tool_call_id": "t0", "answers": {"Which?": ["A", "C"]}}),
        json!({"type": "ask_user_response", "data": {"question_id": "s__t1", "answers": {"Which?": "A, C"}}}),
        json!({"type": "ask_user_response", "data": {"session_id": "s", "tool_call_id": "t2", "answers": {"Which?": ["A", "C"]}, "cancelled": false}}),
    ];
    for (number, frame) in cases.iter().enumerate() {
        let (hook, _) = world.ask("s", &format!("t{number}"), std::slice::from_ref(&many));
        companion.next_of("ask_user_question");
        companion.send(frame);
        assert_eq!(companion.next_of("ask_user_settled")["outcome"]["answers"], json!({"Which?": "A, C"}), "{frame}");
        assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A, C"}));
    }
}

#[test]
fn cancelled_dismisses_and_a_timeout_is_told() {
    let mut world = World::new();
    drop(world.daemon());
    let mut companion = Companion::of_all(&world);
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    companion.next_of("ask_user_question");
    companion.send(
        &json!({"type": "ask_user_response", "data": {"question_id": key, "cancelled": true, "reason": "later"}}),
    );
    let settled = companion.next_of("ask_user_settled");
    assert_eq!((&settled["outcome"]["kind"], &settled["outcome"]["reason"]), (&json!("dismissed"), &json!("later")));
    let ask =
        world.post("/v1/asks", &json!({"questions": [question("Now?")], "timeout_seconds": 1})).expect(201).json();
    let left = companion.next_of("ask_user_question")["timeout_seconds"].as_u64().unwrap();
    assert!(left <= 1);
    let timeout = companion.next_of("ask_user_timeout");
    assert_eq!((&timeout["question_id"], &timeout["error"]), (&ask["key"], &json!("Nobody answered in time.")));
    assert_eq!(companion.next_of("ask_user_settled")["outcome"]["kind"], "expired");
}

#[test]
fn what_happened_meanwhile_is_replayed() {
    let mut world = World::new();
    drop(world.daemon());
    let (_first, before) = world.ask("s", "before", &[question("Which?")]);
    let (_other, _) = world.ask("other", "t", &[question("Which?")]);
    let (mut companion, subscribed) = Companion::of(&world, "s");
    assert_eq!((&subscribed["session_id"], &subscribed["took_over"]), (&json!("s"), &json!(false)));
    let asked = companion.next_of("ask_user_question");
    assert_eq!(asked["question_id"], before, "only of its session");
    let cursor = asked["cursor"].clone();
    drop(companion);
    // Nobody is connected.
    world.answer(&before, &json!({"Which?": "A"})).expect(200);
    let (_second, after) = world.ask("s", "after", &[question("Which?")]);
    let mut companion = Companion::new(&world);
    companion.send(&json!({"type": "subscribe", "conversation_id": "s", "since": cursor}));
    assert_eq!(companion.next()["type"], "subscribed");
    assert_eq!(companion.next_of("ask_user_question")["question_id"], after);
    let settled = companion.next_of("ask_user_settled");
    assert_eq!((&settled["question_id"], &settled["outcome"]["answers"]), (&json!(before), &json!({"Which?": "A"})));
    // It was sent once, although the replay has its event, too.
    world.post(&format!("/v1/asks/{after}/release"), &json!({})).expect(200);
    assert_eq!(companion.next_of("ask_user_settled")["outcome"]["kind"], "released");
}

/// A cursor never runs ahead of what was sent.
#[test]
fn a_connection_that_is_lost_again_at_once_misses_nothing() {
    let mut world = World::new();
    drop(world.daemon());
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let mut companion = Companion::of_all(&world);
    let mut cursor = companion.next_of("ask_user_question")["cursor"].clone();
    drop(companion);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    // Each time, it is lost after the first frame.
    for _ in 0..2 {
        let mut companion = Companion::new(&world);
        companion.send(&json!({"type": "subscribe", "since": cursor}));
        cursor = companion.next()["cursor"].clone();
    }
    let mut companion = Companion::new(&world);
    companion.send(&json!({"type": "subscribe", "since": cursor}));
    assert_eq!(companion.next()["type"], "subscribed");
    assert_eq!(companion.next_of("ask_user_settled")["question_id"], key);
    // A later subscription on the same connection skips nothing that has not come yet.
    let (_hook, second) = world.ask("s", "t2", &[question("Which?")]);
    companion.next_of("ask_user_question");
    world.answer(&second, &json!({"Which?": "A"})).expect(200);
    companion.send(&json!({"type": "subscribe", "session_id": "other", "since": "999"}));
    let kinds = ["subscribed", "ask_user_settled"];
    let frames = [companion.next_of_any(&kinds), companion.next_of_any(&kinds)];
    assert!(frames.iter().any(|frame| frame["question_id"] == second), "{frames:?}");
}

#[test]
fn only_the_connection_that_took_a_session_last_may_answer_it() {
    let mut world = World::new();
    drop(world.daemon());
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let mut observer = Companion::of_all(&world);
    let (mut first, _) = Companion::of(&world, "s");
    let (mut second, subscribed) = Companion::of(&world, "s");
    assert_eq!(subscribed["took_over"], true);
    for companion in [&mut observer, &mut first, &mut second] {
        assert_eq!(companion.next_of("ask_user_question")["question_id"], key);
    }
    assert_eq!(first.next_of("session_taken"), json!({"type": "session_taken", "session_id": "s"}));
    for loser in [&mut first, &mut observer] {
        loser.send(&response(&key, &json!({"Which?": "A"})));
        assert_eq!(
            loser.next_of("session_taken"),
            json!({"type": "session_taken", "session_id": "s", "question_id": key})
        );
    }
    world.assert_open(&key);
    assert!(hook.is_waiting());
    second.send(&response(&key, &json!({"Which?": "B"})));
    for companion in [&mut second, &mut first, &mut observer] {
        assert_eq!(companion.next_of("ask_user_settled")["outcome"]["answers"], json!({"Which?": "B"}));
    }
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "B"}));
    // When it is gone, the others may answer again. The daemon notices that in its own time.
    drop(second);
    let (_hook, key) = world.ask("s", "t2", &[question("Which?")]);
    observer.next_of("ask_user_question");
    until("the session to be free", || {
        observer.send(&response(&key, &json!({"Which?": "A"})));
        let frame = observer.next_of_any(&["session_taken", "ask_user_settled"]);
        (frame["type"] == "ask_user_settled").then_some(())
    });
}

#[test]
fn all_kinds_of_asks_come_with_their_subject() {
    let mut world = World::new();
    drop(world.daemon());
    let mut companion = Companion::of_all(&world);
    let hook = ATTENDED.ask(&mut world, "Bash", &json!({"command": "npm test"}), "t");
    let frame = companion.next_of("ask_user_question");
    assert_eq!((&frame["kind"], &frame["subject"]["command"]), (&json!("permission"), &json!("npm test")));
    assert_eq!(frame["racing"], true);
    let text = frame["questions"][0]["question"].as_str().unwrap();
    companion.send(&json!({"type": "ask_user_response", "data": {"question_id": "s__t", "id": frame["id"], "answers": {text: "Allow once"}}}));
    companion.next_of("ask_user_settled");
    assert_eq!(hook.reply()["decision"], json!({"behavior": "allow"}));
}

#[test]
fn a_token_comes_in_the_first_frame_in_a_header_or_as_a_subprotocol() {
    let mut world = World::new();
    drop(world.daemon());
    let bearer = format!("Bearer {}", world.token());
    let (mut companion, _) = connect_with(&world, &[("authorization", &bearer)]).unwrap();
    companion.send(&json!({"type": "subscribe"}));
    assert_eq!(companion.next()["type"], "subscribed");
    let offered = format!("answerback.v1, answerback.token.{}", world.token());
    let (mut companion, response) = connect_with(&world, &[("sec-websocket-protocol", &offered)]).unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], "answerback.v1");
    companion.send(&json!({"type": "subscribe"}));
    assert_eq!(companion.next()["type"], "subscribed");
    let mut on_socket = Companion::on_socket(&world);
    on_socket.send(&json!({"type": "subscribe"}));
    assert_eq!(on_socket.next()["type"], "subscribed");
    // These are refused before there is a connection.
    let refused = |headers: &[(&'static str, &str)]| connect_with(&world, headers).err();
    assert_eq!(refused(&[("authorization", "Bearer wrong")]), Some(401));
    assert_eq!(refused(&[("sec-websocket-protocol", "answerback.v1, answerback.token.wrong")]), Some(401));
    let hook_token = format!("Bearer {}", world.daemon_json().unwrap()["hook_token"].as_str().unwrap());
    assert_eq!(refused(&[("authorization", &hook_token)]), Some(403));
    world.get("/v1/ws").expect(426);
    assert!(!world.log().contains(&world.token()));
}

#[test]
fn a_wrong_token_a_token_for_something_else_and_none_at_all_are_closed() {
    let mut world = World::new();
    drop(world.daemon());
    let hook_token = world.daemon_json().unwrap()["hook_token"].clone();
    for (frame, code) in [
        (json!({"type": "authenticate", "token": "wrong"}), 4401),
        (json!({"type": "authenticate", "token": hook_token}), 4403),
        (json!({"type": "subscribe"}), 4401),
        (json!("authenticate"), 4401),
    ] {
        let mut stranger = Companion::stranger(&world);
        stranger.send(&frame);
        stranger.expect_closed(code);
    }
    Companion::stranger(&world).expect_closed(4408);
}

#[test]
fn a_browser_of_another_site_gets_no_connection() {
    let mut world = World::new();
    drop(world.daemon());
    let bearer = format!("Bearer {}", world.token());
    let own = format!("http://{}", world.address());
    let with =
        |name: &'static str, value: &str| connect_with(&world, &[("authorization", &bearer), (name, value)]).err();
    assert_eq!(with("origin", &own), None);
    for origin in ["null", "https://evil.example", "http://localhost:3000", &format!("{own}.evil.example")] {
        assert_eq!(with("origin", origin), Some(403), "{origin}");
    }
    assert_eq!(with("host", "evil.example"), Some(403));
    for site in ["cross-site", "same-site"] {
        assert_eq!(with("sec-fetch-site", site), Some(403), "{site}");
    }
}

#[test]
fn a_page_of_an_origin_that_is_configured_gets_a_connection_and_nothing_else() {
    let mut world = World::with_config("websocket_origins = [\"http://localhost:3000\"]\n");
    drop(world.daemon());
    let bearer = format!("Bearer {}", world.token());
    let from = |origin: &str, site: &str| {
        connect_with(&world, &[("authorization", &bearer), ("origin", origin), ("sec-fetch-site", site)]).err()
    };
    assert_eq!(from("http://localhost:3000", "same-site"), None);
    assert_eq!(from("http://localhost:3001", "same-site"), Some(403));
    // It needs a token like everybody else.
    let mut stranger = connect_with(&world, &[("origin", "http://localhost:3000")]).unwrap().0;
    stranger.send(&json!({"type": "subscribe"}));
    stranger.expect_closed(4401);
    let mut headers = world.headers();
    headers.push(("origin".into(), "http://localhost:3000".into()));
    for line in ["GET /v1/asks", "GET /v1/events", "GET /v1/ws/", "POST /v1/ws"] {
        let reply = Request { line, headers: headers.clone(), body: b"" }.over_tcp(&world.address()).unwrap();
        assert_eq!(reply.status, 403, "{line}");
    }
}

#[test]
fn a_device_that_is_signed_out_loses_its_connection_at_once() {
    let mut world = World::new();
    drop(world.daemon());
    let code = admin(&world, "POST /v1/launch", &json!({})).expect(201).json()["code"].clone();
    let session = world.send(None, "POST /v1/session", &json!({"code": code, "name": "Desk"})).expect(201).json();
    let mut companion = Companion::with_token(&world, session["token"].as_str().unwrap());
    let mut other = Companion::of_all(&world);
    let devices = admin(&world, "GET /v1/devices", &json!({})).expect(200).json();
    let id = devices["devices"][0]["id"].to_string();
    admin(&world, &format!("POST /v1/devices/{id}/revoke"), &json!({})).expect(204);
    companion.expect_closed(4401);
    // The other connection notices nothing.
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(other.next_of("ask_user_question")["question_id"], key);
}

#[test]
fn a_daemon_that_stops_says_so() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let mut companion = Companion::of_all(&world);
    world.stop_daemon(&mut daemon);
    companion.expect_closed(1001);
}
