//! The event stream has every change once and in order, from the place where the reader left off.

use std::io::BufRead;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Request;
use crate::world::{World, question};

/// A reader of the event stream. Each event is (id, name, data).
struct Stream(Box<dyn BufRead + Send>);

impl Stream {
    fn open(world: &World, last_event_id: Option<&str>) -> Self {
        let mut headers = world.headers();
        headers.extend(last_event_id.map(|id| ("last-event-id".to_owned(), id.to_owned())));
        let request = Request { line: "GET /v1/events", headers, body: b"" };
        let (reply, body) = request.stream(&world.address()).unwrap();
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        reply.expect(200);
        Self(Box::new(body))
    }

    fn next(&mut self) -> (i64, String, Value) {
        self.next_unless_cut().expect("the stream ended")
    }

    fn next_unless_cut(&mut self) -> Option<(i64, String, Value)> {
        let (mut id, mut name) = (None, String::new());
        // Keep-alive lines would go on forever, so there is a deadline.
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            let mut line = String::new();
            self.0.read_line(&mut line).ok()?;
            // A line without an end was cut.
            match line.strip_suffix('\n')?.trim_end().split_once(": ") {
                Some(("id", value)) => id = value.parse().ok(),
                Some(("event", value)) => name = value.to_owned(),
                Some(("data", value)) => return Some((id.unwrap(), name, serde_json::from_str(value).unwrap())),
                // Skip the chunk lengths of the transfer, and blank lines.
                _ => {}
            }
        }
        panic!("waited in vain for an event");
    }
}

#[test]
fn changes_are_streamed_live_in_order() {
    let mut world = World::new();
    let (_hook, before) = world.ask("s", "before", &[question("Which?")]);
    let mut stream = Stream::open(&world, None);
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    world.post(&format!("/v1/asks/{before}/release"), &json!({})).expect(200);
    let events = [stream.next(), stream.next(), stream.next()];
    let seen: Vec<_> =
        events.iter().map(|(_, name, data)| (name.as_str(), data["ask"]["key"].as_str().unwrap())).collect();
    assert_eq!(seen, [("ask.opened", key.as_str()), ("ask.settled", key.as_str()), ("ask.settled", before.as_str())]);
    assert_eq!(events[1].2["ask"]["outcome"]["answers"], json!({"Which?": "A"}));
    assert!(events.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(events[2].2["cursor"], events[2].0.to_string());
}

/// Opens a stream, and says when each of its first three comments came.
fn comments(world: &World, query: &str) -> [Duration; 3] {
    let started = Instant::now();
    let line = format!("GET /v1/events{query}");
    let headers = world.headers().into_iter().chain([("last-event-id".to_owned(), "0".to_owned())]).collect();
    let (reply, mut body) = Request { line: &line, headers, body: b"" }.stream(&world.address()).unwrap();
    reply.expect(200);
    let mut events = 0;
    let times = [0; 3].map(|_| {
        loop {
            let mut line = String::new();
            assert_ne!(body.read_line(&mut line).unwrap(), 0, "the stream ended");
            match line.trim_end() {
                ":" => return started.elapsed(),
                line => events += usize::from(line.starts_with("event: ")),
            }
        }
    });
    assert_eq!(events, 1, "a comment keeps no event back");
    times
}

#[test]
fn a_stream_begins_with_a_comment_and_repeats_it_as_often_as_the_reader_wants() {
    let mut world = World::new();
    drop(world.daemon());
    world.post("/v1/asks", &json!({"questions": [question("Which?")]})).expect(201);
    let [first, second, third] = comments(&world, "?heartbeat=1");
    assert!(second - first >= Duration::from_millis(500) && third - second >= Duration::from_millis(500));
    assert!(third < Duration::from_secs(9), "{third:?} is longer than the default");
    // The first line of any stream is the comment, also if there are events to send.
    let headers = world.headers().into_iter().chain([("last-event-id".to_owned(), "0".to_owned())]).collect();
    let request = Request { line: "GET /v1/events", headers, body: b"" };
    let (_, body) = request.stream(&world.address()).unwrap();
    let lines: Vec<_> = body.lines().take(6).map(Result::unwrap).collect();
    let comment = lines.iter().position(|line| line.trim_end() == ":").unwrap();
    assert!(lines[..comment].iter().all(|line| !line.starts_with("id:")), "{lines:?}");
    for wrong in ["0", "31", "-1", "1.5", "soon", ""] {
        world.get(&format!("/v1/events?heartbeat={wrong}")).expect(400);
    }
}

#[test]
fn unknown_events_of_a_newer_version_do_not_hide_the_events_after_them() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let opened = |world: &World| {
        let ask = world.post("/v1/asks", &json!({"questions": [question("Which?")]})).expect(201).json();
        ask["key"].clone()
    };
    let first = opened(&world);
    world.stop_daemon(&mut daemon);
    let store = rusqlite::Connection::open(world.state("asks.db")).unwrap();
    // There are more of them than fit on one page.
    for _ in 0..600 {
        store.execute("INSERT INTO events (ask, kind, at) VALUES (1, 'ask.from_the_future', 0)", []).unwrap();
    }
    drop(store);
    drop(world.daemon());
    let second = opened(&world);
    let mut stream = Stream::open(&world, Some("0"));
    assert_eq!([stream.next().2["ask"]["key"].take(), stream.next().2["ask"]["key"].take()], [first, second]);
}

#[test]
fn probes_make_no_events() {
    let mut world = World::new();
    drop(world.daemon());
    let mut stream = Stream::open(&world, None);
    drop(world.command(crate::world::ANSWERBACK).arg("doctor").output().unwrap());
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(stream.next().2["ask"]["key"], *key);
    let mut replay = Stream::open(&world, Some("0"));
    assert_eq!(replay.next().2["ask"]["key"], *key);
}

#[test]
fn a_reader_that_comes_back_misses_nothing_even_across_a_restart() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "first", &[question("Which?")]);
    let mut stream = Stream::open(&world, Some("0"));
    let (seen, _, first) = stream.next();
    assert_eq!(first["ask"]["key"], "s__first");
    drop(stream);

    // Make more than one page of events, with a restart in between.
    let pid = world.kill_daemon();
    world.until_daemon_other_than(pid);
    let mut keys = Vec::new();
    for n in 0..150 {
        let body = json!({"questions": [question(&format!("Number {n}?"))]});
        let key = world.post("/v1/asks", &body).expect(201).json()["key"].as_str().unwrap().to_owned();
        world.post(&format!("/v1/asks/{key}/dismiss"), &json!({})).expect(200);
        keys.push(key);
    }
    let mut stream = Stream::open(&world, Some(&seen.to_string()));
    let mut last = seen;
    for key in &keys {
        for kind in ["ask.opened", "ask.settled"] {
            let (id, name, data) = stream.next();
            assert_eq!((name.as_str(), data["ask"]["key"].as_str().unwrap()), (kind, key.as_str()));
            assert!(id > last);
            last = id;
        }
    }
    // After the replay, the stream goes on live.
    world.answer("s__first", &json!({"Which?": "A"})).expect(200);
    assert_eq!(stream.next().1, "ask.settled");
}

#[test]
fn the_stream_goes_on_from_the_cursor_of_a_list() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let cursor = world.get("/v1/asks").json()["cursor"].as_str().unwrap().to_owned();
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    let (_, name, data) = Stream::open(&world, Some(&cursor)).next();
    assert_eq!((name.as_str(), &data["ask"]["key"]), ("ask.settled", &json!(key)));
}

#[test]
fn a_reader_that_does_not_read_misses_nothing() {
    let mut world = World::new();
    drop(world.daemon());
    let mut stream = Stream::open(&world, None);
    // Make many more events than fit into the daemon's ring and the kernel's buffers.
    let text = "x".repeat(8_000);
    for n in 0..600 {
        let key = world
            .post("/v1/asks", &json!({"questions": [{"question": format!("{n} {text}")}]}))
            .expect(201)
            .json()["key"]
            .clone();
        world.post(&format!("/v1/asks/{}/dismiss", key.as_str().unwrap()), &json!({})).expect(200);
    }
    let mut last = 0;
    for n in 0..600 {
        for kind in ["ask.opened", "ask.settled"] {
            // The reader may have been cut in the meantime. It comes back, as browsers do.
            let (id, name, data) = stream.next_unless_cut().unwrap_or_else(|| {
                stream = Stream::open(&world, Some(&last.to_string()));
                stream.next()
            });
            last = id;
            let question = data["ask"]["questions"][0]["question"].as_str().unwrap();
            assert_eq!((name.as_str(), question.split(' ').next().unwrap()), (kind, n.to_string().as_str()));
        }
    }
}

#[test]
fn a_cursor_of_a_store_that_is_gone_starts_from_the_beginning() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let (_, _, data) = Stream::open(&world, Some("999999")).next();
    assert_eq!(data["ask"]["key"], json!(key));
}

#[test]
fn an_invalid_last_event_id_is_refused() {
    let mut world = World::new();
    drop(world.daemon());
    let mut headers = world.headers();
    headers.push(("last-event-id".into(), "yesterday".into()));
    Request { line: "GET /v1/events", headers, body: b"" }.over_tcp(&world.address()).unwrap().expect(400);
}

/// The peak of the process's memory, in MB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() / 1000
}

#[test]
fn a_reader_that_does_not_read_costs_little_memory_however_large_the_questions() {
    /// Measured: 35 MB, with and without the reader that does not read, and however many asks there are.
    const MAX_MB: u64 = 100;
    const ASKS: usize = 80;
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    let _stalled = Stream::open(&world, None);
    let mut honest = Stream::open(&world, None);
    let reader = std::thread::spawn(move || {
        for n in 0..ASKS {
            for kind in ["ask.opened", "ask.settled"] {
                let (_, name, data) = honest.next();
                assert_eq!((name.as_str(), &data["ask"]["questions"][0]["question"]), (kind, &json!(n.to_string())));
            }
        }
    });
    let preview = "x".repeat(1_000_000);
    for n in 0..ASKS {
        let question = json!({"question": n.to_string(), "options": [{"label": "A", "preview": preview}]});
        let ask = world.post("/v1/asks", &json!({"questions": [question]})).expect(201).json();
        let key = ask["key"].as_str().unwrap();
        world.post(&format!("/v1/asks/{key}/dismiss"), &json!({})).expect(200);
    }
    // A later reader reads all events from the store.
    let mut late = Stream::open(&world, Some("0"));
    for _ in 0..2 * ASKS {
        late.next();
    }
    reader.join().unwrap();
    let peak = peak(pid);
    assert!(peak < MAX_MB, "{peak} MB");
}
