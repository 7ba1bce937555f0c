//! A crowd of strangers shuts out nobody: neither the page, nor a phone, nor a program that answers.

use std::fs;
use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::http::Request;
use crate::phone::{LAN, Phone, admin};
use crate::world::{ANSWERBACK, World, call, question, until};

/// More than there are places on loopback.
const CROWD: usize = 2180;
/// More than there are places for the network.
const TLS_CROWD: usize = 560;
/// An honest client gets its reply within this time, even on a busy machine. If the daemon made no room for it, it would wait for ten seconds
/// or forever.
const PROMPTLY: Duration = Duration::from_secs(5);

/// The size of the crowd, limited by the file descriptors of this process.
fn crowd(wanted: usize) -> usize {
    let hard = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard }).unwrap();
    hard.map_or(wanted, |hard| wanted.min(usize::try_from(hard / 2).unwrap()))
}

/// A connection whose window is soon full, so that a crowd of them needs little memory.
pub(crate) fn narrow(address: &str) -> TcpStream {
    let stream = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    sockopt::set_socket_recv_buffer_size(&stream, 4096).unwrap();
    connect(&stream, &address.parse::<SocketAddr>().unwrap()).unwrap();
    stream.into()
}

/// Sends requests whose replies do not fit into the window, and never reads the replies.
fn pipeline(stream: &mut impl Write, host: &str) {
    let request = format!("GET /page/card.js HTTP/1.1\r\nhost: {host}\r\n\r\n");
    // An error means that the daemon has closed the connection already.
    drop(stream.write_all(request.repeat(200).as_bytes()));
}

/// Reads events until a question is settled. It needs a deadline, because keep-alive lines would go on forever.
fn until_settled(events: &mut impl BufRead) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut line = String::new();
    while !line.contains("ask.settled") {
        assert!(Instant::now() < deadline, "waited in vain for an event");
        line.clear();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "the stream ended");
    }
}

#[test]
fn strangers_that_never_read_do_not_shut_out_a_companion() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let host = world.address();
    let request = Request { line: "GET /v1/events", headers: world.headers(), body: b"" };
    let (_, mut events) = request.stream(&host).unwrap();
    let strangers: Vec<_> = (0..crowd(CROWD))
        .map(|_| {
            let mut stranger = narrow(&host);
            pipeline(&mut stranger, &host);
            stranger
        })
        .collect();
    let started = Instant::now();
    let list = world.get("/v1/asks").expect(200).json();
    assert_eq!(list["asks"][0]["key"], json!(key));
    assert!(world.get("/").expect(200).body.starts_with(b"<!doctype html>"));
    assert!(hook.is_waiting());
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    let took = started.elapsed();
    assert!(took < PROMPTLY, "{took:?} with {} strangers", strangers.len());
    hook.reply();
    // The crowd does not close a connection with a token.
    until_settled(&mut events);
    // The crowd is logged at most once a minute.
    let logged = world.log().matches("to make room").count();
    assert!((1..=3).contains(&logged), "{}", world.log());
    drop(strangers);
}

#[test]
fn a_client_that_does_not_read_is_cut() {
    let mut world = World::new();
    drop(world.daemon());
    let host = world.address();
    let mut stranger = narrow(&host);
    pipeline(&mut stranger, &host);
    // The kernel lists the daemon's end of the connection until the daemon closes it, with the number of unsent bytes.
    let from = stranger.local_addr().unwrap().port();
    let unsent = || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        table.lines().find_map(|line| {
            let columns: Vec<_> = line.split_ascii_whitespace().collect();
            let is_it = columns[2].ends_with(&format!(":{from:04X}")) && columns[3] == "01";
            is_it.then(|| u64::from_str_radix(columns[4].split(':').next().unwrap(), 16).unwrap())
        })
    };
    let started = Instant::now();
    let mut most = unsent().unwrap();
    until("the connection to be cut", || match unsent() {
        Some(bytes) => {
            most = most.max(bytes);
            None
        }
        None => Some(()),
    });
    assert!(started.elapsed() > Duration::from_secs(5), "{:?}", started.elapsed());
    // Many such clients must not fill the kernel's memory.
    assert!((1..400_000).contains(&most), "{most} bytes");
}

#[test]
fn peers_that_never_read_do_not_shut_out_a_phone() {
    let mut world = World::with_config(LAN);
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let phone = Phone::paired(&world, "Phone");
    let mut events = phone.events();
    let strangers: Vec<_> = (0..crowd(TLS_CROWD))
        .map(|_| {
            let mut stranger = phone.connect();
            stranger.sock.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            pipeline(&mut stranger, &phone.address);
            stranger
        })
        .collect();
    let started = Instant::now();
    assert_eq!(phone.get("/v1/asks").expect(200).json()["asks"][0]["key"], json!(key));
    assert!(started.elapsed() < PROMPTLY, "{:?} with {} peers", started.elapsed(), strangers.len());
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    until_settled(&mut events);
    drop(strangers);
}

#[test]
fn silent_peers_do_not_delay_a_phone() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    let silent: Vec<_> = (0..crowd(600)).map(|_| TcpStream::connect(&phone.address).unwrap()).collect();
    let started = Instant::now();
    phone.get("/v1/asks").expect(200);
    assert!(started.elapsed() < PROMPTLY, "{:?} with {} silent peers", started.elapsed(), silent.len());
}

#[test]
fn one_token_does_not_take_the_places_of_the_others() {
    let mut world = World::with_config(LAN);
    let mut command = world.command("/bin/sh");
    // This makes 125 places for callers with a token.
    command.args(["-c", "ulimit -n 1024; exec \"$0\" daemon --background", ANSWERBACK]);
    let mut daemon = world.daemon_of(command);
    let phone = Phone::paired(&world, "Phone").token.unwrap();
    let host = admin(&world, "POST /v1/hosts", &json!({"name": "build-1"})).expect(201).json();
    let idle = |token: &str, status: u16| {
        let headers = world.headers_with(Some(token));
        let (head, stream) = Request { line: "GET /v1/asks", headers, body: b"" }.stream(&world.address()).unwrap();
        assert_eq!(head.status, status);
        stream
    };
    let mut greedy: Vec<_> = (0..80).map(|_| idle(host["token"].as_str().unwrap(), 403)).collect();
    greedy.extend((0..80).map(|_| idle(&phone, 200)));
    let request = Request { line: "GET /v1/events", headers: world.headers(), body: b"" };
    let (_, mut events) = request.stream(&world.address()).unwrap();
    let strangers: Vec<_> = (0..300).map(|_| TcpStream::connect(world.address()).unwrap()).collect();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    until_settled(&mut events);
    drop((greedy, strangers));
    world.kill_daemon();
    daemon.wait().unwrap();
}

#[test]
fn people_can_answer_even_if_there_are_few_descriptors() {
    const HOOKS: usize = 60;
    let mut world = World::new();
    let limited = "ulimit -n 64; exec \"$0\" daemon --background";
    let mut command = world.command("/bin/sh");
    command.args(["-c", limited, ANSWERBACK]);
    let mut daemon = world.daemon_of(command);
    let mut hooks: Vec<_> =
        (0..HOOKS).map(|n| world.hook(&call("s", &format!("t{n}"), &[question("Which?")]))).collect();
    let open = || {
        let list = admin(&world, "GET /v1/asks", &json!({})).expect(200).json();
        list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Each question is parked or left to the terminal.
    let parked = until("every hook to be parked or let go", || {
        let waiting = hooks.iter_mut().filter_map(|hook| hook.is_waiting().then_some(())).count();
        let open = open();
        (waiting < HOOKS && waiting == open.len()).then_some(open)
    });
    assert!(parked.len() >= 8, "{}", parked.len());
    assert!(world.log().contains("file descriptors"), "{}", world.log());
    // People can still use TCP, the socket and the commands.
    assert_eq!(world.get("/v1/asks").expect(200).json()["asks"].as_array().unwrap().len(), parked.len());
    let pending = world.command(ANSWERBACK).args(["pending", "--json"]).output().unwrap();
    assert!(pending.status.success(), "{pending:?}");
    world.answer(&parked[0], &json!({"Which?": "A"})).expect(200);
    let number: usize = parked[0].strip_prefix("s__t").unwrap().parse().unwrap();
    let answered = hooks.remove(number).reply();
    assert_eq!(answered["permissionDecision"], "allow");
    // Now there is room for one more question.
    let (_hook, _) = world.ask("other", "t", &[question("Which?")]);
    for hook in hooks.into_iter().filter_map(|mut hook| (!hook.is_waiting()).then_some(hook)) {
        hook.no_decision();
    }
    world.kill_daemon();
    daemon.wait().unwrap();
}

#[test]
fn a_store_needs_no_descriptor_for_a_commit() {
    let mut world = World::new();
    let limited = "ulimit -n 64; exec \"$0\" daemon --background";
    let mut command = world.command("/bin/sh");
    command.args(["-c", limited, ANSWERBACK]);
    drop(world.daemon_of(command));
    let pid = world.daemon_json().unwrap()["pid"].as_u64().unwrap();
    let socket = world.state("daemon.sock");
    let used = || fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let asking = UnixStream::connect(&socket).unwrap();
    // Every descriptor that is left goes to a connection that says nothing.
    let _crowd: Vec<UnixStream> = (0..80).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    until("no descriptor to be left", || (used() >= 64).then_some(()));
    let body = json!({"questions": [question("Which?")]}).to_string();
    let headers = [("host", "localhost"), ("content-type", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Request { line: "POST /v1/asks", headers, body: body.as_bytes() }.over(asking).unwrap().expect(201);
    world.kill_daemon();
}
