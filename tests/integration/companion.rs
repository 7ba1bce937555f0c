//! A companion that speaks the WebSocket, for tests.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::error::Error;
use tungstenite::handshake::client::Response;
use tungstenite::http::HeaderValue;
use tungstenite::protocol::CloseFrame;
use tungstenite::{Message, WebSocket};

use crate::world::World;

/// Frames come at once or not at all. This is only for a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
pub(crate) struct Companion<S = TcpStream> {
    pub(crate) socket: WebSocket<S>,
    /// The status that came last for each session. They come whenever something happens, also before the frame that says what.
    statuses: HashMap<String, Value>,
}

/// Asks for a WebSocket with these headers. Returns it, or the status of the refusal.
pub(crate) fn connect_with(world: &World, headers: &[(&'static str, &str)]) -> Result<(Companion, Response), u16> {
    let stream = TcpStream::connect(world.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = format!("ws://{}/v1/ws", world.address()).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    match tungstenite::client(request, stream) {
        Ok((socket, response)) => Ok((Companion::from(socket), response)),
        Err(tungstenite::HandshakeError::Failure(Error::Http(response))) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

impl<S> From<WebSocket<S>> for Companion<S> {
    fn from(socket: WebSocket<S>) -> Self {
        Self { socket, statuses: HashMap::new() }
    }
}

impl Companion {
    /// A connection that has not shown a token.
    pub(crate) fn stranger(world: &World) -> Self {
        connect_with(world, &[]).unwrap().0
    }

    /// A connection with the token of `daemon.json`, which sends it in the first frame.
    pub(crate) fn new(world: &World) -> Self {
        Self::with_token(world, &world.token())
    }

    pub(crate) fn with_token(world: &World, token: &str) -> Self {
        let mut companion = Self::stranger(world);
        companion.send(&json!({"type": "authenticate", "token": token}));
        assert_eq!(companion.next(), json!({"type": "authenticated"}));
        companion
    }

    /// A connection that sees everything.
    pub(crate) fn of_all(world: &World) -> Self {
        let mut companion = Self::new(world);
        companion.send(&json!({"type": "subscribe"}));
        assert_eq!(companion.next()["type"], "subscribed");
        companion
    }

    /// A connection that has taken a session. Returns the frame that says so.
    pub(crate) fn of(world: &World, session: &str) -> (Self, Value) {
        let mut companion = Self::new(world);
        companion.send(&json!({"type": "subscribe", "session_id": session}));
        let subscribed = companion.next();
        assert_eq!(subscribed["type"], "subscribed");
        (companion, subscribed)
    }
}

impl Companion<UnixStream> {
    /// A connection on the socket, where no token is needed.
    pub(crate) fn on_socket(world: &World) -> Self {
        let stream = UnixStream::connect(world.state("daemon.sock")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = "ws://localhost/v1/ws".into_client_request().unwrap();
        Self::from(tungstenite::client(request, stream).unwrap().0)
    }
}

impl<S: Read + Write> Companion<S> {
    pub(crate) fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// The next frame, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        // Pings would go on for ever.
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match self.socket.read().expect("a frame") {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if frame["type"] == "session_status" {
                        self.statuses.insert(frame["session_id"].as_str().unwrap().to_owned(), frame.clone());
                    }
                    return frame;
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("not a frame: {other:?}"),
            }
        }
        panic!("waited in vain for a frame");
    }

    /// The next frame of this type.
    pub(crate) fn next_of(&mut self, kind: &str) -> Value {
        self.next_of_any(&[kind])
    }

    /// The next frame of one of these types. Statuses of sessions come in between whenever something happens.
    pub(crate) fn next_of_any(&mut self, kinds: &[&str]) -> Value {
        loop {
            let frame = self.next();
            if kinds.iter().any(|kind| frame["type"] == *kind) {
                return frame;
            }
            assert_eq!(frame["type"], "session_status", "waiting for {kinds:?}: {frame}");
        }
    }

    /// The status of a session, as soon as it is in this state.
    pub(crate) fn until_status(&mut self, session: &str, state: &str) -> Value {
        loop {
            if let Some(status) = self.statuses.get(session).filter(|status| status["state"] == state) {
                return status.clone();
            }
            self.next();
        }
    }

    /// How the daemon closes the connection.
    pub(crate) fn closed(&mut self) -> Result<CloseFrame, Error> {
        loop {
            if let Message::Close(frame) = self.socket.read()? {
                return Ok(frame.expect("a reason"));
            }
        }
    }

    #[track_caller]
    pub(crate) fn expect_closed(&mut self, code: u16) {
        let frame = self.closed().unwrap();
        assert_eq!(u16::from(frame.code), code, "{}", frame.reason);
    }
}
