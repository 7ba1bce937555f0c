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

#[test]
fn nothing_is_asked_over_a_link_that_could_not_be_asked_at_the_hub() {
    let fleet = Fleet::new();
    let mut link = Stolen::connect(&fleet.hub, &fleet.token("build-1"));
    let open = |length: usize| {
        let option = json!({"label": "A", "description": "x".repeat(length), "preview": null});
        let question = json!({"question": "Which?", "header": "", "options": [option], "multiSelect": false});
        let new = json!({
            "key": "s__t", "origin": "claude_code", "kind": "question", "questions": [question], "detail": "{}",
            "on_timeout": "release", "racing": false,
        });
        json!({"do": "open", "per_session": 64, "new": new})
    };
    link.refused(&open(1024 * 1024));
    assert_eq!(link.call(&open(1000))["Ok"]["is"], "new");
}
