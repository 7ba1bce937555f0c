//! A hook's call on the socket is served in one of two ways. A call in the very form of our own hook is served without hyper, and a call in
//! any other form with it. Nobody may be able to tell the two apart, so each test here takes both ways.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::world::{World, call, question};

/// The limit of a body.
const MAX_BODY: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The bytes of our own hook.
    OwnHook,
    /// The same call, written a little differently.
    AnyClient,
}

const WAYS: [Way; 2] = [Way::OwnHook, Way::AnyClient];

impl Way {
    fn head(self, length: usize) -> String {
        let host = if self == Self::OwnHook { "host" } else { "Host" };
        format!(
            "POST /v1/hooks/claude-code HTTP/1.1\r\n{host}: localhost\r\ncontent-type: application/json\r\n\
             x-answerback-attended: 0\r\nx-answerback-entrypoint: sdk-cli\r\nx-answerback-agent-pid: 4242\r\n\
             x-answerback-call: 1-2.3\r\ncontent-length: {length}\r\n\r\n"
        )
    }

    fn send(self, stream: &mut impl Write, body: &[u8]) {
        let request = [self.head(body.len()).as_bytes(), body].concat();
        // The daemon may refuse a long body before it has read it.
        drop(stream.write_all(&request));
    }

    fn connect(self, world: &World) -> BufReader<UnixStream> {
        let stream = UnixStream::connect(world.state("daemon.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        BufReader::new(stream)
    }

    /// Sends a call on a connection of its own.
    fn begin(self, world: &World, body: &[u8]) -> BufReader<UnixStream> {
        let mut reader = self.connect(world);
        self.send(reader.get_mut(), body);
        reader
    }

    /// The reply. Only hyper sends the date, so that tells whether the call went the way it was meant to go.
    #[track_caller]
    fn reply(self, reader: &mut impl BufRead) -> Reply {
        let reply = Reply::read(reader).unwrap();
        assert_eq!(reply.header("date").is_some(), self == Self::AnyClient, "{self:?}: {:?}", reply.headers);
        reply
    }
}

/// What a client can see of a reply, but for the date.
fn seen(reply: &Reply) -> (u16, Vec<(String, String)>, String) {
    let mut headers = reply.headers.clone();
    headers.retain(|(name, _)| name != "date");
    headers.sort();
    (reply.status, headers, String::from_utf8(reply.body.clone()).unwrap())
}

fn ask(tool_use_id: &str) -> Vec<u8> {
    call("s", tool_use_id, &[question("Which?")]).to_string().into_bytes()
}

fn stop() -> Vec<u8> {
    json!({"hook_event_name": "Stop", "session_id": "s"}).to_string().into_bytes()
}

#[track_caller]
fn assert_parked(reader: &mut impl BufRead, key: &str) {
    let interim = Reply::read(reader).unwrap();
    assert_eq!((interim.status, interim.header("x-answerback-ask")), (102, Some(key)));
}

#[track_caller]
fn assert_closed(mut reader: impl BufRead) {
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

#[test]
fn replies_and_problems_are_the_same() {
    let mut world = World::new();
    drop(world.daemon());
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    for (body, status) in [
        (String::from_utf8(stop()).unwrap(), 200),
        (json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash"}).to_string(), 200),
        (json!({"hook_event_name": "Unknown", "session_id": "s"}).to_string(), 200),
        (String::new(), 400),
        ("{".into(), 400),
        ("[]".into(), 400),
        ("{} {}".into(), 400),
        ("{\"session_id\": 1}".into(), 400),
        (deep, 400),
    ] {
        let [own, any] = WAYS.map(|way| seen(&way.reply(&mut way.begin(&world, body.as_bytes()))));
        assert_eq!(own, any, "{body}");
        assert_eq!(own.0, status, "{body}: {own:?}");
        assert!(own.1.iter().any(|(name, value)| name == "x-content-type-options" && value == "nosniff"), "{own:?}");
        if status != 200 {
            let problem: Value = serde_json::from_str(&own.2).unwrap();
            assert_eq!(problem["type"], "urn:answerback:problem:bad-request", "{body}");
        }
    }
}

#[test]
fn a_question_is_parked_and_gets_its_answer() {
    let mut world = World::new();
    drop(world.daemon());
    let [own, any] = WAYS.map(|way| {
        let (id, key) = (format!("{way:?}"), format!("s__{way:?}"));
        let mut reader = way.begin(&world, &ask(&id));
        assert_parked(&mut reader, &key);
        let mut open = world.get(&format!("/v1/asks/{key}")).expect(200).json();
        world.answer(&key, &json!({"Which?": "B"})).expect(200);
        let reply = way.reply(&mut reader);
        assert_eq!(reply.header("connection"), Some("close"));
        assert_closed(reader);
        for field in ["key", "tool_use_id", "id", "opened_at"] {
            open.as_object_mut().unwrap().remove(field);
        }
        (seen(&reply), open)
    });
    assert_eq!(own, any);
    let output: Value = serde_json::from_str(&own.0.2).unwrap();
    assert_eq!(output["hookSpecificOutput"]["updatedInput"]["answers"], json!({"Which?": "B"}));
}

#[test]
fn nobody_answers_before_the_hook_has_heard_that_it_is_parked() {
    let mut world = World::new();
    drop(world.daemon());
    let begin = |id: &str| {
        let (mut reader, body) = (Way::OwnHook.connect(&world), ask(id));
        let head = Way::OwnHook.head(body.len());
        let head = head.replace("content-length", "x-answerback-acknowledges: 1\r\ncontent-length");
        reader.get_mut().write_all(&[head.as_bytes(), &body].concat()).unwrap();
        assert_parked(&mut reader, &format!("s__{id}"));
        reader
    };
    let answer = |id: &str| world.answer(&format!("s__{id}"), &json!({"Which?": "B"}));
    let mut reader = begin("heard");
    assert!(answer("heard").expect(503).json()["type"].as_str().unwrap().ends_with("unconfirmed"));
    reader.get_mut().write_all(b"\n").unwrap();
    answer("heard").expect(200);
    Way::OwnHook.reply(&mut reader).expect(200);
    // One that hangs up instead gets no answer, and nobody is told that it does.
    drop(begin("unheard"));
    answer("unheard").expect(410);
}

#[test]
fn the_same_call_from_both_is_one_question_with_one_answer() {
    let mut world = World::new();
    drop(world.daemon());
    let mut readers = WAYS.map(|way| way.begin(&world, &ask("t")));
    readers.iter_mut().for_each(|reader| assert_parked(reader, "s__t"));
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
    let [own, any] = [0, 1].map(|index| seen(&WAYS[index].reply(&mut readers[index])));
    assert_eq!(own, any);
    // A call that comes later gets the same answer at once.
    for way in WAYS {
        assert_eq!(seen(&way.reply(&mut way.begin(&world, &ask("t")))).2, own.2, "{way:?}");
    }
}

#[test]
fn hanging_up_withdraws_whatever_was_sent_after_the_call() {
    let mut world = World::new();
    drop(world.daemon());
    for way in WAYS {
        for (number, surplus) in
            ["", "\r\n", "x", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"].iter().enumerate()
        {
            let (id, key) = (format!("{way:?}{number}"), format!("s__{way:?}{number}"));
            let mut reader = way.begin(&world, &ask(&id));
            assert_parked(&mut reader, &key);
            reader.get_mut().write_all(surplus.as_bytes()).unwrap();
            world.assert_open(&key);
            drop(reader);
            assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn", "{way:?} {surplus:?}");
        }
    }
}

#[test]
fn a_body_may_come_in_pieces() {
    let mut world = World::new();
    drop(world.daemon());
    for way in WAYS {
        let (body, key) = (ask(&format!("{way:?}")), format!("s__{way:?}"));
        let mut reader = way.connect(&world);
        reader.get_mut().write_all(way.head(body.len()).as_bytes()).unwrap();
        for piece in body.chunks(body.len().div_ceil(3)) {
            // The daemon gets to see each piece alone. There is nothing to wait for: it says nothing before the last one.
            thread::sleep(Duration::from_millis(20));
            reader.get_mut().write_all(piece).unwrap();
        }
        assert_parked(&mut reader, &key);
        world.answer(&key, &json!({"Which?": "A"})).expect(200);
        assert_eq!(way.reply(&mut reader).status, 200, "{way:?}");
    }
}

#[test]
fn a_connection_may_be_used_again_and_for_anything() {
    let mut world = World::new();
    drop(world.daemon());
    let health = Request { line: "GET /healthz", headers: vec![("host".into(), "localhost".into())], body: b"" };
    for way in WAYS {
        let mut reader = way.connect(&world);
        for _ in 0..3 {
            way.send(reader.get_mut(), &stop());
            assert_eq!(way.reply(&mut reader).status, 200, "{way:?}");
        }
        reader = health.begin(reader.into_inner());
        assert_eq!(Reply::read(&mut reader).unwrap().body, b"ok\n", "{way:?}");
        // Once hyper has a connection, it keeps it.
        way.send(reader.get_mut(), &stop());
        assert_eq!(Way::AnyClient.reply(&mut reader).status, 200, "{way:?}");
    }
}

#[test]
fn a_body_has_1_mib_at_most() {
    let mut world = World::new();
    drop(world.daemon());
    for way in WAYS {
        let mut body = stop();
        body.resize(MAX_BODY, b' ');
        assert_eq!(way.reply(&mut way.begin(&world, &body)).status, 200, "{way:?}");
        body.push(b' ');
        // Our own hook sends no such body, so hyper refuses it in either form.
        let refused = Way::AnyClient.reply(&mut way.begin(&world, &body));
        assert_eq!(
            (refused.status, &refused.json()["type"]),
            (413, &json!("urn:answerback:problem:too-large")),
            "{way:?}"
        );
    }
}

#[test]
fn a_session_has_64_open_questions_at_most() {
    let mut world = World::new();
    drop(world.daemon());
    let mut parked: Vec<_> = (0..64).map(|n| WAYS[n % 2].begin(&world, &ask(&format!("t{n}")))).collect();
    for (n, reader) in parked.iter_mut().enumerate() {
        assert_parked(reader, &format!("s__t{n}"));
    }
    for way in WAYS {
        // The terminal asks instead.
        let reply = way.reply(&mut way.begin(&world, &ask(&format!("{way:?}"))));
        assert_eq!((reply.status, reply.body.len()), (200, 0), "{way:?}");
    }
}

#[test]
fn a_store_that_cannot_save_is_a_problem() {
    let mut world = World::new();
    drop(world.daemon());
    let other = Connection::open(world.state("asks.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let [own, any] = WAYS.map(|way| seen(&way.reply(&mut way.begin(&world, &ask("t")))));
    assert_eq!(own, any);
    assert_eq!(own.0, 503, "{own:?}");
    assert!(own.2.contains("Nothing was saved"), "{own:?}");
}

#[test]
fn a_silent_or_slow_caller_is_cut() {
    let mut world = World::new();
    drop(world.daemon());
    let world = &world;
    thread::scope(|scope| {
        for way in WAYS {
            scope.spawn(move || {
                let mut reader = way.connect(world);
                reader.get_mut().write_all(format!("{}{{", way.head(100)).as_bytes()).unwrap();
                let refused = way.reply(&mut reader);
                let kind = refused.json()["type"].clone();
                assert_eq!((refused.status, kind), (408, json!("urn:answerback:problem:too-slow")), "{way:?}");
            });
            // A caller that says nothing, before its first call and after one.
            scope.spawn(move || {
                assert_closed(way.connect(world));
            });
            scope.spawn(move || {
                let mut reader = way.begin(world, &stop());
                way.reply(&mut reader);
                assert_closed(reader);
            });
        }
    });
}

#[test]
fn a_daemon_that_stops_cuts_what_waits_and_keeps_its_question() {
    for way in WAYS {
        let mut world = World::new();
        let mut daemon = world.daemon();
        let mut silent = way.connect(&world);
        let mut reader = way.begin(&world, &ask("t"));
        assert_parked(&mut reader, "s__t");
        world.stop_daemon(&mut daemon);
        for reader in [&mut reader, &mut silent] {
            let mut rest = Vec::new();
            drop(reader.read_to_end(&mut rest));
            assert_eq!(String::from_utf8_lossy(&rest), "", "{way:?}");
        }
        drop(world.daemon());
        world.assert_open("s__t");
        // The hook comes back with the same call and gets the answer.
        let mut reader = way.begin(&world, &ask("t"));
        assert_parked(&mut reader, "s__t");
        world.answer("s__t", &json!({"Which?": "A"})).expect(200);
        assert_eq!(way.reply(&mut reader).status, 200, "{way:?}");
    }
}
