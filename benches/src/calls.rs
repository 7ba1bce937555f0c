//! What hooks send. The bytes are taken from the real hook, so they are what it sends today.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::http::find;
use crate::lab::{Home, Lab, Place};

/// A session and a call of the same length as in [`question`].
const SESSION: &str = "00000000-bench-session";
const CALL: &str = "toolu_00000000benchcall";

/// How many questions a session gets. The daemon allows 64.
const PER_SESSION: usize = 50;

/// A call of `AskUserQuestion`, as Claude Code gives it to the hook.
pub fn question(number: usize) -> String {
    format!(
        concat!(
            r#"{{"session_id":"{}","transcript_path":"/none.jsonl","cwd":"/home/me/shop","permission_mode":"default","#,
            r#""hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"{}","#,
            r#""tool_input":{{"questions":[{{"question":"Which database should the shop use?","header":"Database","#,
            r#""multiSelect":false,"options":[{{"label":"SQLite","description":"One file, no server."}},"#,
            r#"{{"label":"PostgreSQL","description":"A server, for many writers."}}]}}]}}}}"#
        ),
        session(number),
        call(number)
    )
}

/// An event in a session without questions.
pub const STOP: &str = r#"{"session_id":"quiet","transcript_path":"/none.jsonl","cwd":"/home/me/shop","hook_event_name":"Stop","stop_hook_active":false}"#;

/// A question of a program. It waits in no connection.
pub const ASK: &str = concat!(
    r#"{"questions":[{"question":"Which database should the shop use?","header":"Database","multiSelect":false,"#,
    r#""options":[{"label":"SQLite","description":"One file, no server."},"#,
    r#"{"label":"PostgreSQL","description":"A server, for many writers."}]}]}"#
);

/// The body of an answer to [`question`] or [`ASK`].
pub const ANSWER: &str = r#"{"answers":{"Which database should the shop use?":"SQLite"}}"#;

/// The reply to a hook whose question got [`ANSWER`].
pub const OUTPUT: &str = concat!(
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","#,
    r#""updatedInput":{"answers":{"Which database should the shop use?":"SQLite"}}}}"#
);

fn session(number: usize) -> String {
    format!("{:08}-bench-session", number / PER_SESSION)
}

fn call(number: usize) -> String {
    format!("toolu_{number:08}benchcall")
}

/// The key of the ask that [`question`] opens.
pub fn key(number: usize) -> String {
    format!("{}__{}", session(number), call(number))
}

/// The path that answers it.
pub fn answer_path(number: usize) -> String {
    format!("/v1/asks/{}/answer", key(number))
}

/// The bytes that a hook sends for a question.
#[derive(Debug, Clone)]
pub struct Template(Vec<u8>);

impl Template {
    /// Runs the real hook once, and keeps what it sends.
    pub fn capture(lab: &Lab) -> Self {
        let stand_in = StandIn::new(lab);
        let mut hook = stand_in.start_hook(&lab.hook, &question(0));
        let (mut stream, bytes) = stand_in.accept();
        reply(&mut stream, "").unwrap();
        hook.wait();
        assert!(find(&bytes, SESSION.as_bytes()).is_some() && find(&bytes, CALL.as_bytes()).is_some());
        Self(bytes)
    }

    /// Reads bytes that were captured by another process.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The captured bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes for a certain question. Every call has its own name too.
    pub fn request(&self, number: usize) -> Vec<u8> {
        let mut bytes = self.0.clone();
        replace(&mut bytes, SESSION, &session(number));
        replace(&mut bytes, CALL, &call(number));
        let name = b"x-answerback-call: ";
        if let Some(start) = find(&bytes, name).map(|at| at + name.len()) {
            let length = find(&bytes[start..], b"\r\n").unwrap_or(0);
            let digits = format!("{number:0length$}");
            bytes[start..start + length].copy_from_slice(&digits.as_bytes()[..length]);
        }
        bytes
    }
}

fn replace(bytes: &mut [u8], old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let mut from = 0;
    while let Some(at) = find(&bytes[from..], old.as_bytes()) {
        bytes[from + at..from + at + old.len()].copy_from_slice(new.as_bytes());
        from += at + old.len();
    }
}

/// Sends the reply to a hook.
pub fn reply(stream: &mut UnixStream, body: &str) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
}

/// Stands in for the daemon, to measure a hook without one.
#[derive(Debug)]
pub struct StandIn {
    home: Home,
    listener: UnixListener,
}

impl StandIn {
    /// Listens where the hook expects its daemon.
    pub fn new(lab: &Lab) -> Self {
        let home = lab.home(Place::Disk);
        let listener = UnixListener::bind(home.socket()).unwrap();
        Self { home, listener }
    }

    /// Starts a hook that comes here.
    pub fn start_hook(&self, hook: &Path, input: &str) -> Hook {
        start_hook(&self.home, hook, input)
    }

    /// Waits for a request, and returns it with its connection. A hook may connect first only to see whether there is a daemon.
    pub fn accept(&self) -> (UnixStream, Vec<u8>) {
        loop {
            let (mut stream, _) = self.listener.accept().unwrap();
            let mut bytes = Vec::new();
            let mut chunk = [0; 8192];
            while !is_complete(&bytes) {
                match stream.read(&mut chunk).unwrap() {
                    0 => break,
                    count => bytes.extend_from_slice(&chunk[..count]),
                }
            }
            if is_complete(&bytes) {
                return (stream, bytes);
            }
        }
    }

    /// Tells a hook that its question is stored.
    pub fn say_parked(stream: &mut UnixStream) {
        stream.write_all(b"HTTP/1.1 102 Processing\r\nx-answerback-ask: a__b\r\n\r\n").unwrap();
    }
}

/// Starts a hook as Claude Code does, with its output in a pipe.
pub fn start_hook(home: &Home, hook: &Path, input: &str) -> Hook {
    let mut command = home.command(hook);
    Hook::start(command.stdout(Stdio::piped()), input)
}

/// A running hook. It is killed when this is dropped: otherwise it would start a daemon again that was stopped before.
#[derive(Debug)]
pub struct Hook(Child);

impl Hook {
    /// Starts any command as a hook.
    pub fn start(command: &mut Command, input: &str) -> Self {
        let mut child = command.spawn().unwrap();
        // A hook that ends early may not read all of its input.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        Self(child)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end.
    pub fn wait(&mut self) {
        self.0.wait().unwrap();
    }

    /// Waits for its end, and returns what it printed.
    pub fn output(&mut self) -> String {
        let mut printed = String::new();
        if let Some(stdout) = &mut self.0.stdout {
            stdout.read_to_string(&mut printed).unwrap();
        }
        self.wait();
        printed
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_complete(bytes: &[u8]) -> bool {
    let Some(end) = find(bytes, b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    bytes.len() >= end + 4 + length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_its_own_names_and_the_same_length() {
        let head = "POST / HTTP/1.1\r\nx-answerback-call: 4711-1794869221820123456\r\ncontent-length: ";
        let body = question(0);
        let template = Template::from_bytes(format!("{head}{}\r\n\r\n{body}", body.len()).into_bytes());
        let request = String::from_utf8(template.request(1234)).unwrap();
        assert_eq!(request.len(), template.bytes().len());
        assert!(request.ends_with(&question(1234)), "{request}");
        assert!(request.contains("x-answerback-call: 000000000000000000001234\r\n"), "{request}");
        assert!(is_complete(request.as_bytes()) && !is_complete(&request.as_bytes()[..request.len() - 1]));
    }

    #[test]
    fn a_question_is_json_and_its_key_says_where_it_belongs() {
        let call: serde_json::Value = serde_json::from_str(&question(60)).unwrap();
        let (session, id) = (call["session_id"].as_str().unwrap(), call["tool_use_id"].as_str().unwrap());
        assert_eq!(key(60), format!("{session}__{id}"));
        assert_ne!(key(60).split("__").next(), key(10).split("__").next());
        for text in [STOP, ANSWER, OUTPUT] {
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        }
    }
}
