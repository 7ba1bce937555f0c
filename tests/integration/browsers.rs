//! A page of another site can neither read nor answer questions, even with a valid token.

use serde_json::json;

use crate::http::{Reply, Request};
use crate::world::{World, question};

/// Sends a request with a valid token and a valid body. Only the given header is wrong.
fn send(world: &World, line: &str, replace: &str, values: &[&str]) -> Reply {
    let mut headers = world.headers();
    headers.retain(|(name, _)| name != replace);
    headers.extend(values.iter().map(|value| (replace.to_owned(), (*value).to_owned())));
    let body = json!({"answers": {"Which?": "A"}}).to_string();
    Request { line, headers, body: body.as_bytes() }.over_tcp(&world.address()).unwrap()
}

#[test]
fn foreign_requests_are_refused_on_every_route() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let address = world.address();
    let port = address.rsplit(':').next().unwrap();
    let doubled = [address.as_str(), address.as_str()];
    let hosts = ["evil.com", &format!("127.0.0.1.nip.io:{port}"), "localhost:1", &format!("0.0.0.0:{port}")];
    let origins = ["null", "http://localhost:3000", &format!("http://localhost:{port}.evil.com"), "https://evil.com"];
    let answer = format!("POST /v1/asks/{key}/answer");
    for line in
        [answer.as_str(), "GET /v1/asks", "GET /v1/events", "GET /healthz", "GET /v1/nothing", "OPTIONS /v1/asks"]
    {
        let mut refused = vec![send(&world, line, "host", &doubled), send(&world, line, "host", &[])];
        refused.extend(hosts.map(|host| send(&world, line, "host", &[host])));
        refused.extend(origins.map(|origin| send(&world, line, "origin", &[origin])));
        refused.extend(["cross-site", "same-site"].map(|site| send(&world, line, "sec-fetch-site", &[site])));
        for reply in refused {
            // hyper itself refuses a request without a Host.
            assert!(matches!(reply.status, 403 | 400), "{line}: {}", reply.status);
            assert!(!reply.headers.iter().any(|(name, _)| name.starts_with("access-control-")));
        }
    }
    assert!(hook.is_waiting());
    let own = format!("http://localhost:{port}");
    send(&world, &answer, "origin", &[&own]).expect(200);
    hook.reply();
}

#[test]
fn every_reply_tells_browsers_to_be_careful() {
    let mut world = World::new();
    drop(world.daemon());
    for (line, header, value) in [
        ("GET /v1/asks", "accept", "*/*"),
        ("GET /v1/nothing", "accept", "*/*"),
        ("GET /v1/asks", "authorization", "Bearer wrong"),
        ("GET /v1/asks", "origin", "null"),
        ("POST /v1/asks", "content-type", "text/plain"),
    ] {
        let reply = send(&world, line, header, &[value]);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{line} {}", reply.status);
        }
    }
}

#[test]
fn the_socket_is_not_for_browsers() {
    let mut world = World::new();
    drop(world.daemon());
    let socket = world.state("daemon.sock");
    let get = |header: Option<&str>| {
        let mut headers = vec![("host".to_owned(), "localhost".to_owned())];
        headers.extend(header.map(|name| (name.to_owned(), "http://localhost".to_owned())));
        Request { line: "GET /v1/asks", headers, body: b"" }.over_socket(&socket).unwrap()
    };
    get(None).expect(200);
    get(Some("origin")).expect(403);
    get(Some("referer")).expect(403);
}
