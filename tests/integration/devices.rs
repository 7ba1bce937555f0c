//! The devices that are signed in: listed, signed out, kept from guessing.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::Output;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::phone::{LAN, Phone, TlsStream, admin};
use crate::threads::until_asleep;
use crate::world::{ANSWERBACK, World, make_program, question, until};

/// A browser of this machine.
fn page(world: &World, token: Option<&str>, line: &str, body: &Value) -> Reply {
    let mut headers = world.headers_with(token);
    headers
        .push(("user-agent".into(), "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0".into()));
    Request { line, headers, body: body.to_string().as_bytes() }.over_tcp(&world.address()).unwrap()
}

fn sign_in(world: &World, name: Option<&str>) -> String {
    let code = admin(world, "POST /v1/launch", &json!({})).expect(201).json()["code"].clone();
    let session = page(world, None, "POST /v1/session", &json!({"code": code, "name": name})).expect(201).json();
    session["token"].as_str().unwrap().to_owned()
}

fn devices(world: &World) -> Vec<Value> {
    admin(world, "GET /v1/devices", &json!({})).expect(200).json()["devices"].as_array().unwrap().clone()
}

fn run(world: &World, args: &[&str]) -> Output {
    world.command(ANSWERBACK).args(args).output().unwrap()
}

#[test]
fn devices_are_listed_and_signed_out() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let browser = sign_in(&world, None);
    let named = sign_in(&world, Some("  Desk\u{1b}[31m "));
    let phone = Phone::paired(&world, "Phone");
    let list = devices(&world);
    let seen: Vec<_> = list.iter().map(|device| (device["name"].as_str().unwrap(), &device["kind"])).collect();
    assert_eq!(
        seen,
        [("Firefox on Linux", &json!("page")), ("Desk [31m", &json!("page")), ("Phone", &json!("paired"))]
    );

    let shown = String::from_utf8(run(&world, &["devices"]).stdout).unwrap();
    assert!(shown.contains("Firefox on Linux  this machine") && shown.contains("last seen 0 s ago"), "{shown}");
    let json: Value = serde_json::from_slice(&run(&world, &["devices", "--json"]).stdout).unwrap();
    assert_eq!(json["devices"].as_array().unwrap().len(), 3);

    let refused = run(&world, &["devices", "revoke", "Phone", "nobody"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("there is no device nobody"));
    phone.get("/v1/asks").expect(200);
    assert!(run(&world, &["devices", "revoke", "Phone"]).status.success());
    phone.get("/v1/asks").expect(401);
    page(&world, Some(&browser), "GET /v1/asks", &json!({})).expect(200);
    assert!(run(&world, &["devices", "revoke", &list[0]["id"].to_string()]).status.success());
    page(&world, Some(&browser), "GET /v1/asks", &json!({})).expect(401);
    page(&world, Some(&named), "GET /v1/asks", &json!({})).expect(200);
    admin(&world, "POST /v1/devices/999/revoke", &json!({})).expect(404);
    admin(&world, "POST /v1/devices/phone/revoke", &json!({})).expect(404);

    let _twin = sign_in(&world, Some("Desk [31m"));
    let ambiguous = run(&world, &["devices", "revoke", "Desk [31m"]);
    assert!(String::from_utf8(ambiguous.stderr).unwrap().contains("by their numbers"));
    assert!(run(&world, &["devices", "revoke", "--all"]).status.success());
    page(&world, Some(&named), "GET /v1/asks", &json!({})).expect(401);
    assert_eq!(devices(&world).len(), 0);
    world.get("/v1/asks").expect(200);
}

#[test]
fn what_a_revoked_device_waits_for_ends_within_a_second() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let (phone, other) = (Phone::paired(&world, "Phone"), Phone::paired(&world, "Other"));
    let (mut events, mut others) = (phone.events(), other.events());
    let cursor = phone.get("/v1/asks").json()["cursor"].as_str().unwrap().to_owned();
    let mut poll = phone.begin(&format!("GET /v1/asks?since={cursor}&wait=20"), &json!({}));
    // A daemon that sleeps has taken the request and not answered it: it is parked.
    until_asleep(world.daemon_pid());
    let revoked = Instant::now();
    admin(&world, "POST /v1/devices/1/revoke", &json!({})).expect(204);
    let polled = Reply::read(&mut poll).unwrap();
    assert!(ends(&mut events));
    let ended = revoked.elapsed();
    assert_eq!(polled.status, 401);
    assert!(ended < Duration::from_secs(1), "{ended:?}");
    phone.get("/v1/events").expect(401);
    // The other device's stream goes on.
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let heard = until("the other device to hear of it", || {
        let mut line = String::new();
        assert_ne!(others.read_line(&mut line).unwrap(), 0, "the stream ended");
        line.starts_with("data: ").then_some(line)
    });
    assert!(heard.contains(&key), "{heard}");
}

/// Whether a stream ends: with its last chunk, or with its connection. A stream that goes on sends a line every ten seconds.
fn ends(stream: &mut BufReader<TlsStream>) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut line = String::new();
    while Instant::now() < deadline {
        line.clear();
        match stream.read_line(&mut line) {
            Ok(0) => return true,
            Ok(_) if line == "0\r\n" => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::UnexpectedEof,
        }
    }
    false
}

#[test]
fn a_device_signs_itself_out() {
    let mut world = World::new();
    drop(world.daemon());
    let browser = sign_in(&world, None);
    page(&world, Some(&browser), "POST /v1/sign-out", &json!({})).expect(204);
    page(&world, Some(&browser), "GET /v1/asks", &json!({})).expect(401);
    assert_eq!(devices(&world).len(), 0);
    world.post("/v1/sign-out", &json!({})).expect(403);
    world.get("/v1/asks").expect(200);
}

#[test]
fn last_seen_is_not_written_at_every_request() {
    let mut world = World::new();
    drop(world.daemon());
    let browser = sign_in(&world, None);
    let asks = || page(&world, Some(&browser), "GET /v1/asks", &json!({})).expect(200);
    let seen = || devices(&world)[0]["last_seen_at"].as_str().unwrap().to_owned();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    let first = seen();
    // A minute ago: that is recent enough, and a time that was written now would be another.
    connection.execute("UPDATE devices SET last_seen_at = last_seen_at - 60 * 1000", []).unwrap();
    let recent = seen();
    assert!(recent < first);
    asks();
    // It would be written after the reply. A daemon that sleeps has nothing left to write.
    until_asleep(world.daemon_pid());
    assert_eq!(seen(), recent);
    connection.execute("UPDATE devices SET last_seen_at = last_seen_at - 9 * 60 * 1000", []).unwrap();
    assert!(seen() < recent);
    asks();
    until("it to be noted", || (seen() > first).then_some(()));
    connection.execute("UPDATE devices SET last_seen_at = last_seen_at - 31 * 24 * 3600 * 1000", []).unwrap();
    page(&world, Some(&browser), "GET /v1/asks", &json!({})).expect(401);
    assert_eq!(devices(&world).len(), 0);
}

#[test]
fn a_caller_that_fails_too_often_has_to_wait() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    let browser = sign_in(&world, None);
    let guesses: [(&str, &Value); 3] = [
        ("POST /v1/session", &json!({"code": "guess"})),
        ("POST /v1/pairing/claim", &json!({"code": "guess"})),
        ("POST /v1/pairing/token", &json!({"claim": "guess"})),
    ];
    for n in 0..10 {
        match n {
            0..9 => page(&world, None, guesses[n % 3].0, guesses[n % 3].1).expect(410),
            _ => page(&world, Some("guess"), "GET /v1/asks", &json!({})).expect(401),
        };
    }
    let refused = page(&world, Some("guess"), "GET /v1/asks", &json!({})).expect(429);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&wait), "{wait}");
    // The network's way to the same machine is no way around.
    phone.send("POST /v1/pairing/claim", &json!({"code": "guess"})).expect(429);
    let code = admin(&world, "POST /v1/launch", &json!({})).json()["code"].clone();
    for (line, body) in guesses {
        page(&world, None, line, body).expect(429);
    }
    // Who has a good code or token does not notice: nobody is kept out by what others try.
    page(&world, None, "POST /v1/session", &json!({"code": code})).expect(201);
    page(&world, Some(&browser), "GET /v1/asks", &json!({})).expect(200);
    phone.get("/v1/asks").expect(200);
    world.get("/v1/asks").expect(200);
    assert!(world.log().contains("too many failures to sign in"));
}

#[test]
fn a_launch_code_is_of_no_use_to_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut world = World::new();
    drop(world.daemon());
    let code = admin(&world, "POST /v1/launch", &json!({})).json()["code"].as_str().unwrap().to_owned();
    let curl = |uid: u32| {
        let mut command = world.command("curl");
        command.args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--json", &format!("{{\"code\": \"{code}\"}}")]);
        command.arg(format!("http://{}/v1/session", world.address()));
        let output = command.env("PATH", std::env::var_os("PATH").unwrap()).current_dir("/").uid(uid).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(curl(65534), "403");
    assert_eq!(curl(0), "201");
}

#[test]
fn the_page_is_opened_with_a_code_or_its_address_is_told() {
    let mut world = World::new();
    drop(world.daemon());
    let printed = String::from_utf8(run(&world, &["open", "--print"]).stdout).unwrap();
    let prefix = format!("http://{}/#launch=", world.address());
    let code = printed.trim().strip_prefix(&prefix).unwrap().to_owned();
    page(&world, None, "POST /v1/session", &json!({"code": code})).expect(201);
    // Nothing to open it with.
    let output = run(&world, &["open"]);
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().starts_with(&prefix));
    assert!(String::from_utf8(output.stderr).unwrap().contains("within a minute"));

    let opened = world.home().join("opened");
    let script = world.home().join("browser.sh");
    make_program(&script, format!("#!/bin/sh\nprintf %s \"$1\" > {}\n", opened.display()).as_bytes());
    let mut command = world.command(ANSWERBACK);
    let browsers = format!("/nonexistent/browser:{}", script.display());
    let output = command.arg("open").env("BROWSER", browsers).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let url = std::fs::read_to_string(opened).unwrap();
    let code = url.strip_prefix(&prefix).unwrap();
    page(&world, None, "POST /v1/session", &json!({"code": code})).expect(201);
}
