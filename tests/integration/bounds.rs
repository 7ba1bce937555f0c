//! What a reader can make the daemon hold is bounded in bytes, however large the questions are and however slowly it reads.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::crowd::narrow;
use crate::phone::LAN;
use crate::team::Member;
use crate::world::{ANSWERBACK, World, until};

/// Almost as much as one request can carry.
const LARGE: usize = 900_000;
const READERS: usize = 12;
/// What all readers together may cost.
const MOST: u64 = 64 * 1024 * 1024;

fn large(text: &str) -> Value {
    let question = json!({"question": text, "header": "Pick", "multiSelect": false, "options": [
        {"label": "A", "description": "x".repeat(LARGE)}, {"label": "B", "description": "second"}]});
    json!({"questions": [question], "project": "/srv/large", "asked_by": "x"})
}

/// Opens large questions, and settles those that are not to stay open. Returns the keys of the others, newest first.
fn with_large_questions(settled: usize, open: usize) -> (World, Vec<String>) {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let ask = |number: usize| {
        let ask = world.post("/v1/asks", &large(&format!("Which {number}?"))).expect(201).json();
        ask["key"].as_str().unwrap().to_owned()
    };
    for number in 0..settled {
        world.post(&format!("/v1/asks/{}/withdraw", ask(number)), &json!({})).expect(200);
    }
    let mut keys: Vec<_> = (settled..settled + open).map(ask).collect();
    keys.reverse();
    (world, keys)
}

/// A line of the daemon's status, in bytes.
fn memory(world: &World, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", world.daemon_pid())).unwrap();
    let line = status.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    line.trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// Whether the kernel holds something for a connection whose other end does not read.
fn is_full(stream: &TcpStream) -> bool {
    let from = stream.local_addr().unwrap().port();
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().any(|line| {
        let columns: Vec<_> = line.split_ascii_whitespace().collect();
        columns[2].ends_with(&format!(":{from:04X}")) && !columns[4].starts_with("00000000:")
    })
}

#[test]
fn readers_that_never_read_cost_little_memory() {
    let (world, _) = with_large_questions(16, 16);
    let viewer = Member::new(&world, "Vera", &json!([{"role": "view"}]));
    for path in [
        "/v1/asks?state=settled&limit=1000",
        "/v1/asks",
        "/v1/asks?state=all&limit=1000&since=1&wait=60",
        "/v1/asks?text=which&limit=1000",
        "/v1/events",
    ] {
        let before = memory(&world, "VmRSS:");
        fs::write(format!("/proc/{}/clear_refs", world.daemon_pid()), "5").unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nlast-event-id: 0\r\n\r\n",
            world.address(),
            viewer.token
        );
        let readers: Vec<TcpStream> = (0..READERS)
            .map(|_| {
                let mut reader = narrow(&world.address());
                reader.write_all(request.as_bytes()).unwrap();
                reader
            })
            .collect();
        let started = Instant::now();
        world.get("/v1/asks?state=settled&limit=1").expect(200);
        let took = started.elapsed();
        // The daemon cuts a reader after a while, so some may be gone when the last one gets its reply.
        let mut waiting: Vec<_> = readers.iter().collect();
        until(&format!("the replies to {path}"), || {
            waiting.retain(|reader| !is_full(reader));
            waiting.is_empty().then_some(())
        });
        let cost = memory(&world, "VmHWM:").saturating_sub(before);
        println!("{path}: {} MiB, and somebody else waited {took:?}", cost >> 20);
        assert!(cost <= MOST, "{READERS} readers of {path} cost {} MiB", cost >> 20);
        // Without the bounds, it was most of a minute.
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}

#[test]
fn a_reader_that_follows_the_pages_sees_everything() {
    let (world, keys) = with_large_questions(0, 8);
    let viewer = Member::new(&world, "Vera", &json!([{"role": "view"}]));
    let (mut seen, mut before) = (Vec::new(), String::new());
    loop {
        let reply = viewer.get(&world, &format!("/v1/asks?{before}")).expect(200);
        assert!(reply.body.len() < 4 * 1024 * 1024, "{} bytes", reply.body.len());
        let list = reply.json();
        seen.extend(list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap().to_owned()));
        if list["next"].is_null() {
            break;
        }
        before = format!("before={}", list["next"]);
    }
    assert_eq!(seen, keys);
}

#[test]
fn the_commands_work_with_many_large_questions() {
    let (world, keys) = with_large_questions(0, 32);
    let run = |arguments: &[&str]| {
        let output = world.command(ANSWERBACK).args(arguments).output().unwrap();
        let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {error}");
        format!("{said}{error}")
    };
    let list: Value = serde_json::from_str(&run(&["pending", "--json"])).unwrap();
    let listed: Vec<_> = list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap()).collect();
    assert_eq!(listed, keys);
    assert!(run(&["pending"]).lines().count() >= 32);
    assert!(run(&["status"]).contains("32"));
    assert!(run(&["show", &keys[31]]).contains("Which 0?"));
    assert!(run(&["show", &keys[0][keys[0].len() - 8..]]).contains("Which 31?"));
    run(&["answer", &keys[31], "A"]);
    run(&["dismiss", &keys[30]]);
    let history: Value = serde_json::from_str(&run(&["history", "--json"])).unwrap();
    assert_eq!(history["asks"].as_array().unwrap().len(), 2);
}
