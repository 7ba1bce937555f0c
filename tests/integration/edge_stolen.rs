//! What somebody with a stolen host token can do to a hub: little.

use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::fleet::Fleet;
use crate::world::{World, question};

/// How much of a long frame goes at once.
const PIECE: usize = 16_000;

/// A stolen token at a link, with which somebody says whatever they like.
pub(crate) struct Stolen(pub(crate) WebSocket<TcpStream>);

impl Stolen {
    pub(crate) fn connect(hub: &World, token: &str) -> Self {
        let mut stolen = Self::hello(hub, token, &json!({"more": 1}));
        while stolen.next()["type"] != "ready" {}
        stolen
    }

    /// Says hello with these fields, too.
    fn hello(hub: &World, token: &str, more: &Value) -> Self {
        let address = hub.address();
        let mut request = format!("ws://{address}/v1/link").into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let stream = TcpStream::connect(address).unwrap();
        let (mut socket, _) = tungstenite::client(request, stream).unwrap();
        let mut hello = json!({"type": "hello", "version": 1});
        hello.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        socket.send(Message::text(hello.to_string())).unwrap();
        Self(socket)
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut frame = String::new();
        loop {
            match self.0.read().unwrap() {
                // A sign of life between the pieces of a frame.
                Message::Text(text) if text.starts_with('{') && !frame.is_empty() => {}
                Message::Text(text) => match text.strip_prefix('+') {
                    Some(piece) => frame.push_str(piece),
                    None => {
                        frame.push_str(text.strip_prefix('.').unwrap_or(&text));
                        return serde_json::from_str(&frame).unwrap();
                    }
                },
                Message::Close(frame) => {
                    return json!({"type": "close", "code": frame.map(|frame| u16::from(frame.code))});
                }
                _ => {}
            }
        }
    }

    /// Sends a frame: a long one in pieces.
    fn say(&mut self, frame: &str) {
        if frame.len() < PIECE {
            return self.0.send(Message::text(frame)).unwrap();
        }
        let mut pieces = frame.as_bytes().chunks(PIECE).peekable();
        while let Some(piece) = pieces.next() {
            let mark = if pieces.peek().is_some() { '+' } else { '.' };
            self.0.send(Message::text(format!("{mark}{}", std::str::from_utf8(piece).unwrap()))).unwrap();
        }
    }

    /// What comes of a command.
    pub(crate) fn call(&mut self, command: &Value) -> Value {
        self.say(&json!({"type": "call", "id": 7, "command": command}).to_string());
        loop {
            let mut frame = self.next();
            if frame["type"] == "done" {
                return frame["result"].take();
            }
        }
    }

    #[track_caller]
    pub(crate) fn refused(&mut self, command: &Value) {
        let result = self.call(command);
        assert_eq!(result["Err"]["kind"], "refused", "{command}: {result}");
    }
}

#[test]
fn a_cursor_that_no_hub_has_given_out_is_no_cursor() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (_hook, key) = edge.ask("s", "t", &[question("Which?")]);
    let token = crate::edge_access::edge_token(&edge);
    for cursor in [i64::MIN, -1, i64::MAX] {
        let mut link = Stolen::hello(&fleet.hub, &token, &json!({ "cursor": cursor }));
        assert_eq!(link.next()["resumes"], false, "{cursor}");
        assert_eq!(link.next()["ask"]["key"], json!(key), "{cursor}");
        assert_eq!(link.next()["type"], "ready", "{cursor}");
    }
    assert!(!fleet.hub.log().contains("panicked"));
}

/// The command that opens an ask, with so many bytes in its only option.
fn open(key: &str, length: usize) -> Value {
    let option = json!({"label": "A", "description": "x".repeat(length), "preview": null});
    let question = json!({"question": "Which?", "header": "", "options": [option], "multiSelect": false});
    let new = json!({
        "key": key, "origin": "claude-code", "kind": "question", "questions": [question], "detail": "{}",
        "on_timeout": "native", "racing": true,
    });
    json!({"do": "open", "per_session": 64, "new": new})
}

/// The command that opens an ask of a kind with this subject, and with one question for each of these texts.
fn open_kind(key: &str, kind: &str, subject: &Value, questions: &[&str]) -> Value {
    let mut open = open(key, 0);
    open["new"]["kind"] = json!(kind);
    open["new"]["subject"] = subject.clone();
    open["new"]["questions"] = questions.iter().map(|text| question(text)).collect();
    open
}

#[test]
fn a_subject_that_does_not_fit_its_kind_is_refused_and_the_inbox_stays_readable() {
    let fleet = Fleet::new();
    let mut link = Stolen::connect(&fleet.hub, &fleet.token("build-1"));
    let call = json!({"tool": "Bash", "command": "ls", "input": {"command": "ls"}, "grants": []});
    let form = json!({"server": "db", "message": "", "mode": "form",
        "fields": [{"name": "n", "question": "Which?", "type": "string", "required": true}]});
    let plan = json!({"plan": "# Go", "file": null});
    let with = |subject: &Value, name: &str, value: Value| {
        let mut subject = subject.clone();
        subject[name] = value;
        subject
    };
    for (kind, subject, problem) in [
        ("plan", json!({"plan": 5}), "`plan`"),
        ("plan", json!({}), "`plan`"),
        ("plan", Value::Null, "no subject"),
        ("plan", with(&plan, "file", json!([])), "`file`"),
        ("question", plan.clone(), "no subject"),
        ("permission", json!({}), "`tool`"),
        ("permission", with(&call, "input", json!("ls")), "`input`"),
        ("permission", with(&call, "command", Value::Null), "`command`"),
        ("permission", with(&call, "grants", json!([{"label": 1}])), "`grants`"),
        ("permission", with(&call, "diff", json!({"hunks": [{"lines": 7}]})), "`diff`"),
        ("permission", with(&call, "agent", json!("a")), "`agent`"),
        ("form", json!({}), "`server`"),
        ("form", with(&form, "mode", json!("fly")), "`mode`"),
        ("form", with(&form, "fields", json!({"n": 1})), "`fields`"),
        ("form", with(&form, "fields", json!([])), "one field"),
        ("form", with(&form, "mode", json!("url")), "`url`"),
    ] {
        let result = link.call(&open_kind("s__t", kind, &subject, &["Which?"]));
        assert_eq!(result["Err"]["kind"], "refused", "{kind} {subject}: {result}");
        assert!(result["Err"]["message"].as_str().unwrap().contains(problem), "{kind} {subject}: {result}");
    }
    for (kind, subject) in [("plan", &plan), ("permission", &call)] {
        link.refused(&open_kind("s__t", kind, subject, &["Which?", "And?"]));
    }
    assert_eq!(fleet.hub.get("/v1/asks").json()["asks"], json!([]));
    for (kind, subject) in [("plan", &plan), ("permission", &call), ("form", &form), ("question", &Value::Null)] {
        let result = link.call(&open_kind(&format!("s__{kind}"), kind, subject, &["Which?"]));
        assert_eq!(result["Ok"]["is"], "new", "{kind}: {result}");
    }
}

#[test]
fn a_name_over_a_link_is_as_short_as_over_http() {
    let fleet = Fleet::new();
    let mut link = Stolen::connect(&fleet.hub, &fleet.token("build-1"));
    for name in ["asked_by", "asker", "digest", "project"] {
        let mut open = open("s__t", 0);
        open["new"]["origin"] = json!("program");
        open["new"][name] = json!("x".repeat(5000));
        link.refused(&open);
    }
}

#[test]
fn what_a_machine_adds_to_its_questions_counts_as_well() {
    let fleet = Fleet::with_config("asker_mib_per_day = 1\n");
    let mut link = Stolen::connect(&fleet.hub, &fleet.token("build-1"));
    let id = |link: &mut Stolen, key: &str| link.call(&open(key, 0))["Ok"]["ask"]["id"].take();
    let (first, second) = (id(&mut link, "s__t"), id(&mut link, "s__u"));
    let answers = json!({"Which?": "x".repeat(700_000)});
    let outcome = json!({"kind": "answered_in_terminal", "answers": answers});
    assert_eq!(link.call(&json!({"do": "settle", "ask": first, "outcome": outcome}))["Ok"]["is"], "won");
    let receipt = json!({"answers": answers, "as_sent": true, "at": "2026-01-01T00:00:00Z"});
    link.call(&json!({"do": "receive", "ask": first, "receipt": receipt}));
    let result = link.call(&json!({"do": "settle", "ask": second, "outcome": outcome}));
    assert!(result["Err"]["message"].as_str().unwrap().contains("too much was asked within a day"), "{result}");
    // It can still take its questions back.
    let outcome = json!({"kind": "withdrawn"});
    assert_eq!(link.call(&json!({"do": "settle", "ask": second, "outcome": outcome}))["Ok"]["is"], "won");
}

#[test]
fn nothing_goes_over_a_link_that_is_too_large_over_http() {
    let fleet = Fleet::new();
    let mut link = Stolen::connect(&fleet.hub, &fleet.token("build-1"));
    let large = 2 * 1024 * 1024;
    link.refused(&open("s__t", large));
    let id = link.call(&open("s__t", 1000))["Ok"]["ask"]["id"].take();
    let answers = json!({"Which?": "x".repeat(large)});
    let edited = json!({"x": "x".repeat(large)});
    for answer in [json!({ "answers": answers }), json!({"answers": {"Which?": "A"}, "edited": edited})] {
        let mut outcome = answer;
        outcome["kind"] = json!("answered_in_terminal");
        link.refused(&json!({"do": "settle", "ask": id, "outcome": outcome}));
    }
    let receipt = json!({"answers": answers, "as_sent": true, "at": "2026-01-01T00:00:00Z"});
    link.refused(&json!({"do": "receive", "ask": id, "receipt": receipt}));
    let outcome = json!({"kind": "answered_in_terminal", "answers": {"Which?": "A"}});
    assert_eq!(link.call(&json!({"do": "settle", "ask": id, "outcome": outcome}))["Ok"]["is"], "won");
    // A frame that is larger than any frame ends the link.
    let most = "x".repeat(9 * 1024 * 1024);
    for piece in most.as_bytes().chunks(PIECE) {
        let piece = format!("+{}", std::str::from_utf8(piece).unwrap());
        if link.0.send(Message::text(piece)).is_err() {
            break;
        }
    }
    fleet.until_not_linked("build-1");
}

#[test]
fn a_link_over_which_only_nonsense_comes_is_closed_and_does_not_fill_the_log() {
    let fleet = Fleet::new();
    let token = fleet.token("build-1");
    for _ in 0..3 {
        let mut link = Stolen::connect(&fleet.hub, &token);
        for _ in 0..100 {
            link.refused(&json!({"do": "fly"}));
        }
        link.0.send(Message::text(json!({"type": "call", "id": 7, "command": {"do": "fly"}}).to_string())).unwrap();
        let closed = std::iter::repeat_with(|| link.next()).find(|frame| frame["type"] != "beat").unwrap();
        assert_eq!(closed, json!({"type": "close", "code": 1008}));
    }
    let log = fleet.hub.log();
    assert!((1..=30).contains(&log.matches("host=\"build-1\"").count()), "{log}");
}
