//! Random frames on the WebSocket. Whatever comes, the daemon goes on, its memory does not grow, and nothing about an ask changes.
//!
//! This is a bounded run. For a long one, set `ANSWERBACK_FUZZ_SECONDS`.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;

use crate::companion::{Companion, connect_with};
use crate::world::{World, question};

/// How many rounds are run if nobody names a time. A round is a connection.
const ROUNDS: u32 = 150;
/// More frames than this in one connection get it closed.
const FRAMES: u32 = 40;

/// A small generator of numbers that look random. The same seed makes the same run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Frames to begin with. None of them answers the ask that the test keeps open, and no change of a few letters makes one that does.
const SEEDS: [&str; 9] = [
    r#"{"type":"authenticate","token":"x"}"#,
    r#"{"type":"subscribe"}"#,
    r#"{"type":"subscribe","session_id":"s","since":"1"}"#,
    r#"{"type":"subscribe","conversation_id":"other"}"#,
    r#"{"type":"ask_user_response","data":{"question_id":"no__body","answers":{"Which?":"A"},"notes":{"Which?":"n"},"id":1}}"#,
    r#"{"type":"ask_user_response","conversation_id":"no","tool_call_id":"body","answers":{"Which?":["A","B"]}}"#,
    r#"{"type":"ask_user_response","data":{"question_id":"no__body","cancelled":true,"reason":"r","partial":true,"edited":{"a":1}}}"#,
    r#"[{"type":"subscribe"},null,1e999,"\ud800"]"#,
    "",
];

/// Bytes that JSON, UTF-8 and numbers care about.
const BYTES: [&[u8]; 14] =
    [b"{", b"}", b"[", b"]", b"\"", b"\\", b":", b",", b"1e400", b"-0", b"\\u0000", b"\0", b"\xff", b"\xc3\x28"];

fn mutate(random: &mut Random, seed: &str) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.splice(at..at, random.of(&BYTES).iter().copied())),
            2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            3 => drop(bytes.splice(at..at, b"[".repeat(random.below(300)))),
            _ => drop(bytes.splice(at..at, seed.bytes().take(random.below(2000)))),
        }
    }
    bytes
}

/// A frame with any header, which may lie about the length and the kind of what follows.
fn raw_frame(random: &mut Random, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![random.of(&[0x81, 0x01, 0x80, 0x82, 0x88, 0x89, 0x8a, 0xc1, 0x83, 0xff])];
    let mask = random.of(&[0x80, 0x80, 0x80, 0x00]);
    match random.below(4) {
        0 => frame.push(mask | u8::try_from(payload.len().min(125)).unwrap()),
        1 => {
            frame.push(mask | 126);
            frame.extend(u16::try_from(payload.len().min(60_000)).unwrap().to_be_bytes());
        }
        2 => {
            frame.push(mask | 127);
            frame.extend(random.next().to_be_bytes());
        }
        _ => frame.push(u8::try_from(random.below(256)).unwrap()),
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// The memory of the daemon, in bytes.
fn memory(world: &World) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", world.daemon_pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// One connection with random frames, until one side has enough.
fn round(world: &World, random: &mut Random) {
    let bearer = format!("Bearer {}", world.token());
    let headers: &[(&'static str, &str)] = if random.below(8) == 0 { &[] } else { &[("authorization", &bearer)] };
    let Ok((mut companion, _)) = connect_with(world, headers) else { return };
    companion.socket.get_mut().set_nonblocking(true).unwrap();
    for _ in 0..FRAMES {
        let seed = random.of(&SEEDS);
        let payload = mutate(random, seed);
        let sent = match (random.below(4), String::from_utf8(payload)) {
            (0, payload) => {
                let payload = payload.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
                let frame = raw_frame(random, &payload);
                companion.socket.get_mut().write_all(&frame).is_ok()
            }
            (1, Err(payload)) => companion.socket.send(Message::binary(payload.into_bytes())).is_ok(),
            (_, Ok(payload)) => companion.socket.send(Message::text(payload)).is_ok(),
            (_, Err(_)) => true,
        };
        // Read what is there, or a peer that never reads would be tested instead.
        while companion.socket.read().is_ok() {}
        if !sent {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn random_frames_harm_nobody() {
    let mut world = World::new();
    drop(world.daemon());
    let (hook, key) = world.ask("held", "t", &[question("Which?")]);
    let pid = world.daemon_pid();
    let long = std::env::var("ANSWERBACK_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let deadline = long.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    // A bounded run is always the same. A long one is another one each time.
    let seed = if long.is_some() { u64::from(std::process::id()) } else { 0x5eed };
    println!("the seed is {seed}");
    let mut random = Random(seed);
    let mut before = 0;
    let mut rounds = 0;
    while deadline.map_or(rounds < ROUNDS, |deadline| Instant::now() < deadline) {
        round(&world, &mut random);
        rounds += 1;
        // The first rounds make everything that is made once.
        if rounds == ROUNDS / 3 {
            before = memory(&world);
        }
    }
    assert_eq!(world.daemon_pid(), pid);
    let grown = memory(&world).saturating_sub(before);
    assert!(grown < 8 << 20, "the daemon has grown by {grown} bytes in {rounds} rounds");
    assert!(!world.log().contains("panicked"), "{}", world.log());
    world.assert_open(&key);
    let mut other = Companion::of_all(&world);
    other.next_of("ask_user_question");
    other.send(&json!({"type": "ask_user_response", "data": {"question_id": key, "answers": {"Which?": "A"}}}));
    other.next_of("ask_user_settled");
    hook.reply();
}
