//! Requests that never reach a handler. Their refusals look like all other errors, on every listener.

use crate::http::{Reply, Request};
use crate::phone::{LAN, Phone};
use crate::world::World;

/// The maximum length of a request line and its headers, including the blank line at the end.
const MAX_HEAD: usize = 32 * 1024;

type Headers = Vec<(String, String)>;

/// Sends one request to each listener. Returns the name of each listener and its reply.
fn by_each_way(world: &World, phone: &Phone, line: &str, more: &dyn Fn(&Headers) -> Headers) -> Vec<(String, Reply)> {
    let with_more = |mut headers: Headers| {
        headers.extend(more(&headers));
        headers
    };
    let socket = vec![("host".to_owned(), "localhost".to_owned())];
    let over_tcp = Request { line, headers: with_more(world.headers()), body: b"" }.over_tcp(&world.address());
    let over_socket = Request { line, headers: with_more(socket), body: b"" }.over_socket(&world.state("daemon.sock"));
    let over_tls = Request { line, headers: with_more(phone.headers()), body: b"" }.over(phone.connect());
    [("tcp", over_tcp), ("socket", over_socket), ("tls", over_tls)]
        .map(|(way, reply)| (format!("{way}: {}", line.escape_debug()), reply.unwrap()))
        .into()
}

#[track_caller]
fn check_refusal(what: &str, reply: &Reply, status: u16) {
    assert_eq!(reply.status, status, "{what}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("referrer-policy", "no-referrer"),
        ("content-type", "application/problem+json"),
        ("connection", "close"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{what}: {name}");
    }
    let problem = reply.json();
    assert_eq!(problem["status"], status, "{what}");
    assert!(problem["type"].as_str().unwrap().starts_with("urn:answerback:problem:"), "{what}: {problem}");
    assert!(problem["title"].as_str().unwrap().ends_with('.'), "{what}: {problem}");
}

#[test]
fn a_malformed_request_is_refused_with_a_problem() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    for line in ["GET", "GET / there", "G\u{1}T /healthz", "GET /\u{7f}"] {
        for (what, reply) in by_each_way(&world, &phone, line, &|_| Vec::new()) {
            check_refusal(&what, &reply, 400);
        }
    }
    let no_header = |_: &Headers| vec![("not a name".to_owned(), "x".to_owned())];
    for (what, reply) in by_each_way(&world, &phone, "GET /healthz", &no_header) {
        check_refusal(&what, &reply, 400);
    }
    let too_many = |_: &Headers| (0..100).map(|n| (format!("x-{n}"), "x".to_owned())).collect();
    for (what, reply) in by_each_way(&world, &phone, "GET /healthz", &too_many) {
        check_refusal(&what, &reply, 431);
    }
}

#[test]
fn an_unfinished_request_does_not_spoil_the_reply_before_it() {
    use std::io::{Read, Write};
    let mut world = World::new();
    drop(world.daemon());
    let mut stream = std::net::TcpStream::connect(world.address()).unwrap();
    let host = world.address();
    write!(stream, "GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\nnonsense\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let (first, second) = said.split_once("ok\n").unwrap();
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    assert!(second.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{said}");
    assert!(second.contains("x-content-type-options: nosniff\r\n") && second.ends_with('}'), "{said}");
}

#[test]
fn a_head_has_32_kib_at_most() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    let line = "GET /healthz";
    let padded_to = |size: usize| {
        move |headers: &Headers| {
            let fixed = format!("{line} HTTP/1.1\r\nx-padding: \r\ncontent-length: 0\r\n\r\n").len();
            let others: usize = headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
            vec![("x-padding".to_owned(), "x".repeat(size - fixed - others))]
        }
    };
    for (what, reply) in by_each_way(&world, &phone, line, &padded_to(MAX_HEAD)) {
        assert_eq!(reply.status, 200, "{what}");
    }
    // The last head is much longer than the daemon reads. The refusal must arrive even if the rest is never read.
    for size in [MAX_HEAD + 1, 40_000, 400_000] {
        for (what, reply) in by_each_way(&world, &phone, line, &padded_to(size)) {
            check_refusal(&format!("{what} with {size} bytes"), &reply, 431);
        }
    }
}
