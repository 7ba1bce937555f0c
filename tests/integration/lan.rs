//! From the network and through a proxy: with TLS and a paired device, or not at all.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::phone::{LAN, Phone, admin};
use crate::world::{ANSWERBACK, World, question};

const PUBLIC: &str = "public_url = \"https://answers.example.org\"\n";

/// The phone's own headers with one replaced.
fn replaced(headers: Vec<(String, String)>, name: &str, values: &[&str]) -> Vec<(String, String)> {
    let mut headers = headers;
    headers.retain(|(key, _)| key != name);
    headers.extend(values.iter().map(|value| (name.to_owned(), (*value).to_owned())));
    headers
}

#[test]
fn foreign_requests_are_refused_on_the_network() {
    let mut world = World::with_config(LAN);
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let phone = Phone::paired(&world, "Phone");
    let port = phone.address.rsplit(':').next().unwrap();
    let answer = format!("POST /v1/asks/{key}/answer");
    let body = json!({"answers": {"Which?": "A"}}).to_string();
    let send = |line: &str, name: &str, values: &[&str]| {
        let mut headers = replaced(phone.headers(), name, values);
        if name == "host" {
            headers.retain(|(key, _)| key != "origin");
        }
        Request { line, headers, body: body.as_bytes() }.over(phone.connect()).unwrap()
    };
    let own = phone.address.as_str();
    let hosts = [
        "evil.com".to_owned(),
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost:{port}"),
        format!("0.0.0.0:{port}"),
        world.address(),
        "127.0.0.1".to_owned(),
        format!("192.168.254.253:{port}"),
    ];
    let origins = ["null", "https://evil.com", &format!("http://{own}"), &format!("https://{own}.evil.com"), ""];
    for line in [answer.as_str(), "GET /v1/asks", "GET /v1/events", "GET /healthz", "POST /v1/pairing/claim"] {
        let mut refused = vec![send(line, "host", &[own, own]), send(line, "host", &[])];
        refused.extend(hosts.iter().map(|host| send(line, "host", &[host])));
        refused.extend(origins.map(|origin| send(line, "origin", &[origin])));
        refused.extend(["cross-site", "same-site"].map(|site| send(line, "sec-fetch-site", &[site])));
        for reply in refused {
            assert!(matches!(reply.status, 403 | 400), "{line}: {}", reply.status);
        }
    }
    assert!(hook.is_waiting());
    let name = format!("{}.local:{port}", rustix::system::uname().nodename().to_str().unwrap().to_lowercase());
    send("GET /v1/asks", "host", &[&name]).expect(200);
    send("GET /healthz", "host", &[own]).expect(200);
    send(&answer, "origin", &[&format!("https://{own}")]).expect(200);
    hook.reply();
}

/// Tokens of `daemon.json` and launch codes are good for nothing, wherever it comes from.
fn only_devices_count(world: &World, send: impl Fn(Option<&str>, &str, &Value) -> Reply, device: &str) {
    let json = world.daemon_json().unwrap();
    send(Some(json["token"].as_str().unwrap()), "GET /v1/asks", &json!({})).expect(401);
    send(Some(json["hook_token"].as_str().unwrap()), "POST /v1/hooks/claude-code", &json!({})).expect(401);
    send(None, "GET /v1/asks", &json!({})).expect(401);
    send(None, "GET /v1/openapi.json", &json!({})).expect(401);
    assert_eq!(send(None, "GET /healthz", &json!({})).expect(200).body, b"ok\n");
    assert!(send(None, "GET /", &json!({})).expect(200).body.starts_with(b"<!doctype html>"));
    let code = admin(world, "POST /v1/launch", &json!({})).json()["code"].clone();
    let problem = send(None, "POST /v1/session", &json!({"code": code})).expect(403).json();
    assert!(problem["hint"].as_str().unwrap().contains("answerback pair"), "{problem}");
    send(Some(device), "GET /v1/asks", &json!({})).expect(200);
    send(Some(device), "POST /v1/stop", &json!({})).expect(403);
    // The code was not used up by that; and what is let in here is let in here alone.
    let page = world.post("/v1/session", &json!({"code": code})).expect(201).json();
    send(Some(page["token"].as_str().unwrap()), "GET /v1/asks", &json!({})).expect(401);
    let large = json!({"code": "x".repeat(5000)});
    send(None, "POST /v1/pairing/claim", &large).expect(413);
}

#[test]
fn on_the_network_only_devices_count() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    let send = |token: Option<&str>, line: &str, body: &Value| {
        let phone = Phone {
            address: phone.address.clone(),
            fingerprint: phone.fingerprint.clone(),
            token: token.map(Into::into),
        };
        phone.send(line, body)
    };
    only_devices_count(&world, send, phone.token.as_deref().unwrap());
}

#[test]
fn through_a_proxy_only_devices_count_and_only_under_its_name() {
    let mut world = World::with_config(PUBLIC);
    drop(world.daemon());
    let send_with = |headers: Vec<(String, String)>, line: &str, body: &Value| {
        Request { line, headers, body: body.to_string().as_bytes() }.over_tcp(&world.address()).unwrap()
    };
    let headers = |token: Option<&str>| {
        let mut headers = vec![
            ("host".to_owned(), "answers.example.org".to_owned()),
            ("origin".to_owned(), "https://answers.example.org".to_owned()),
            ("x-forwarded-for".to_owned(), "203.0.113.9".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        headers
    };
    let send = |token: Option<&str>, line: &str, body: &Value| send_with(headers(token), line, body);

    let pairing = admin(&world, "POST /v1/pairing", &json!({})).expect(201).json();
    let code = pairing["code"].as_str().unwrap();
    assert_eq!(pairing["url"], format!("https://answers.example.org/#pair={code}"));
    assert_eq!(pairing["fingerprint"], Value::Null);
    let claimed = send(None, "POST /v1/pairing/claim", &json!({"code": code, "name": "Far away"})).expect(200).json();
    let confirm = format!("POST /v1/pairing/{}/confirm", pairing["id"].as_str().unwrap());
    admin(&world, &confirm, &json!({"check": claimed["check"]})).expect(200);
    let session = send(None, "POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(200).json();
    let device = session["token"].as_str().unwrap();
    only_devices_count(&world, send, device);

    for (name, value) in [
        ("host", "answers.example.org.evil.com"),
        ("host", "answers.example.org:443"),
        ("host", "evil.com"),
        ("origin", "http://answers.example.org"),
        ("origin", "null"),
        ("origin", &format!("http://{}", world.address())),
        ("sec-fetch-site", "cross-site"),
        // A proxy that says it was reached as 127.0.0.1.
        ("host", &world.address()),
    ] {
        send_with(replaced(headers(Some(device)), name, &[value]), "GET /v1/asks", &json!({})).expect(403);
    }
    let rewritten = vec![
        ("host".to_owned(), world.address()),
        ("x-forwarded-for".to_owned(), "203.0.113.9".to_owned()),
        ("authorization".to_owned(), format!("Bearer {}", world.token())),
    ];
    let problem = send_with(rewritten, "GET /v1/asks", &json!({})).expect(403).json();
    assert!(problem["hint"].as_str().unwrap().contains("public_url"), "{problem}");
}

#[test]
fn without_tls_nothing_is_served() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    let mut plain = TcpStream::connect(&phone.address).unwrap();
    let token = phone.token.as_deref().unwrap();
    let host = &phone.address;
    write!(plain, "GET /healthz HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut said = String::new();
    plain.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 400 ") && said.ends_with("begin with https://.\n"), "{said}");
    assert!(said.contains("x-content-type-options: nosniff\r\n"), "{said}");
    // And everything that listens elsewhere than on loopback is this port.
    let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", world.daemon_pid())).unwrap();
    let inodes = inodes(world.daemon_pid());
    let listening: Vec<_> = table
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .filter(|columns| columns[3] == "0A" && inodes.contains(&columns[9].to_owned()))
        .map(|columns| columns[1].to_owned())
        .collect();
    let port: u16 = host.rsplit(':').next().unwrap().parse().unwrap();
    assert_eq!(listening.len(), 2, "{listening:?}");
    for address in listening {
        assert!(address.starts_with("0100007F:") || address == format!("00000000:{port:04X}"), "{address}");
    }
}

/// Of the sockets that a process has open.
fn inodes(pid: u32) -> Vec<String> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect()
}

#[test]
fn a_silent_connection_is_cut() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let address = Phone::new(&admin(&world, "POST /v1/pairing", &json!({})).json()).address;
    let started = Instant::now();
    let mut silent = TcpStream::connect(&address).unwrap();
    let mut half = TcpStream::connect(&address).unwrap();
    half.write_all(&[0x16, 3, 1]).unwrap();
    for stream in [&mut silent, &mut half] {
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        assert_eq!(stream.read(&mut [0; 64]).unwrap(), 0);
    }
    assert!(started.elapsed() >= Duration::from_secs(9));
}

#[test]
fn an_address_that_cannot_be_meant_is_refused_with_a_reason() {
    for (config, reason) in [
        ("lan_address = \"127.0.0.1:27564\"\n", "this machine alone"),
        ("lan_address = \"[::1]:27564\"\n", "this machine alone"),
        ("lan_address = \"27564\"\n", "is not an IP address with a port"),
        ("public_url = \"answers.example.org\"\n", "does not begin with https://"),
        ("public_url = \"https://answers.example.org/page\"\n", "more than a host"),
    ] {
        let world = World::with_config(config);
        let output = world.command(ANSWERBACK).arg("daemon").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{config}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(reason) && stderr.contains("line 2"), "{config}: {stderr}");
    }
}

#[test]
fn an_address_that_is_taken_keeps_no_hook_from_its_daemon() {
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut world = World::with_config(&format!("lan_address = \"{address}\"\n"));
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(world.daemon_json().unwrap().get("lan_url"), None);
    let output = world.command(ANSWERBACK).arg("pair").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&format!("cannot listen on {address}")), "{stderr}");
}

#[test]
fn status_tells_the_address() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let url = world.daemon_json().unwrap()["lan_url"].as_str().unwrap().to_owned();
    let status = world.command(ANSWERBACK).arg("status").output().unwrap();
    assert!(String::from_utf8(status.stdout).unwrap().contains(&format!("network    {url}\n")));
    let status = world.command(ANSWERBACK).args(["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["lan_url"], url);
}

#[test]
fn the_doctor_knows_the_ways_in() {
    let doctor = |world: &World| {
        let output = world.command(ANSWERBACK).args(["doctor", "--json"]).output().unwrap();
        let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = findings["findings"].as_array().unwrap().iter();
        all.filter(|finding| finding["check"] == "network").map(|finding| finding["level"].clone()).collect::<Vec<_>>()
    };
    let mut world = World::with_config(&format!("{LAN}public_url = \"http://answers.example.org\"\n"));
    drop(world.daemon());
    assert_eq!(doctor(&world), ["ok", "warning"]);
    let taken = TcpListener::bind("0.0.0.0:0").unwrap();
    let address = taken.local_addr().unwrap();
    world.write_config(&format!("port = 0\nlan_address = \"{address}\"\n{PUBLIC}"));
    assert!(world.command(ANSWERBACK).arg("restart").output().unwrap().status.success());
    assert_eq!(doctor(&world), ["warning", "ok"]);
}

/// Runs a program that must succeed.
fn run(program: &str, dir: &std::path::Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program).args(arguments).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_certificate_of_a_private_authority_is_served_under_the_public_name() {
    let dir = tempfile::tempdir().unwrap();
    let openssl = |line: &str| run("openssl", dir.path(), &line.split(' ').collect::<Vec<_>>());
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=Authority -keyout ca.key -out ca.pem",
    );
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=hub -addext subjectAltName=DNS:answers.example.org -keyout key.pem -out hub.csr",
    );
    openssl("x509 -req -in hub.csr -CA ca.pem -CAkey ca.key -days 2 -copy_extensions copy -out certificate.pem");
    let at = dir.path().display();
    let config = format!("{LAN}{PUBLIC}tls_certificate = \"{at}/certificate.pem\"\ntls_key = \"{at}/key.pem\"\n");
    let mut world = World::with_config(&config);
    let mut daemon = world.daemon();
    let lan = world.daemon_json().unwrap()["lan_url"].as_str().unwrap().to_owned();
    let port = lan.rsplit(':').next().unwrap();
    // As a balancer does that passes the connection on: the name has no port of its own.
    let (resolve, url) =
        (format!("answers.example.org:{port}:127.0.0.1"), format!("https://answers.example.org:{port}/healthz"));
    let curl = [
        "--silent",
        "--show-error",
        "--fail",
        "--cacert",
        "ca.pem",
        "--resolve",
        &resolve,
        "-H",
        "Host: answers.example.org",
        &url,
    ];
    assert_eq!(run("curl", dir.path(), &curl), "ok\n");
    world.stop_daemon(&mut daemon);
    // A broken file is said in the log, and hooks are served all the same.
    std::fs::write(dir.path().join("key.pem"), "").unwrap();
    drop(world.daemon());
    assert!(
        world.log().contains("key.pem") && world.log().contains("the local network is not served"),
        "{}",
        world.log()
    );
}
