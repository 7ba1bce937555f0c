//! What a host token is good for, and what it is not.

use std::net::TcpStream;

use serde_json::{Value, json};
use tungstenite::Message;
use tungstenite::client::IntoClientRequest;

use crate::edge_stolen::Stolen;
use crate::fleet::{Fleet, join};
use crate::http::Request;
use crate::phone::{LAN, Phone, admin};
use crate::world::{ANSWERBACK, World, call, question, until};

#[test]
fn a_host_token_gets_403_everywhere_but_at_the_link() {
    let fleet = Fleet::new();
    let token = fleet.token("build-1");
    let description = fleet.hub.get("/v1/openapi.json").expect(200).json();
    let mut count = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let path = path.replace("{key}", "s__t").replace("{id}", "1").replace("{name}", "x");
            let line = format!("{} {path}", method.to_uppercase());
            let reply = fleet.hub.send(Some(&token), &line, &json!({}));
            if path == "/v1/link" {
                assert_eq!(reply.status, 426, "{line}");
                continue;
            }
            assert_eq!(reply.status, 403, "{line}");
            assert!(reply.json()["hint"].as_str().unwrap().contains("host token"), "{line}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
    for line in ["GET /", "GET /nowhere", "DELETE /v1/asks", "POST /v1/link/x"] {
        fleet.hub.send(Some(&token), line, &json!({})).expect(403);
    }
    // Nor does it open the WebSocket of companions, in any of the ways to show a token there.
    let mut request = format!("ws://{}/v1/ws", fleet.hub.address()).into_client_request().unwrap();
    let protocols = format!("answerback.v1, answerback.token.{token}");
    request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
    let refused = tungstenite::client(request, TcpStream::connect(fleet.hub.address()).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("403"), "{refused}");
    let request = format!("ws://{}/v1/ws", fleet.hub.address());
    let (mut socket, _) = tungstenite::client(request, TcpStream::connect(fleet.hub.address()).unwrap()).unwrap();
    socket.send(Message::text(json!({"type": "authenticate", "token": token}).to_string())).unwrap();
    assert!(matches!(socket.read().unwrap(), Message::Close(_)));
}

#[test]
fn the_link_is_for_host_tokens_alone_and_never_for_browsers() {
    let fleet = Fleet::new();
    let token = fleet.token("build-1");
    let upgrade = |token: Option<&str>, origin: Option<&str>| {
        let mut headers = fleet.hub.headers_with(token);
        let all = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        headers.extend(all.map(|(name, value)| (name.to_owned(), value.to_owned())));
        headers.extend(origin.map(|origin| ("origin".to_owned(), origin.to_owned())));
        Request { line: "GET /v1/link", headers, body: b"" }.over_tcp(&fleet.hub.address()).unwrap()
    };
    assert_eq!(upgrade(Some(&token), None).status, 101);
    let own = format!("http://{}", fleet.hub.address());
    assert_eq!(upgrade(Some(&token), Some(&own)).status, 403);
    assert_eq!(upgrade(Some(&token), Some("https://evil.example")).status, 403);
    assert_eq!(upgrade(Some(&fleet.hub.token()), None).status, 403);
    assert_eq!(upgrade(None, None).status, 401);
    assert_eq!(upgrade(Some("0".repeat(64).as_str()), None).status, 401);
}

#[test]
fn a_stolen_token_answers_nothing_and_sees_nothing_of_others() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let (mut hook, key) = edge.ask("s", "t", &[question("Which?")]);
    let id = fleet.hub.get(&format!("/v1/asks/{key}")).json()["id"].clone();
    let answer = json!({"answers": {"Which?": "A"}, "notes": {}});
    let outcomes = [
        json!({"kind": "answered", "answers": {"Which?": "A"}, "notes": {}}),
        json!({"kind": "dismissed", "reason": null}),
        json!({"kind": "released"}),
        json!({"kind": "answered_in_terminal", "answers": {"Which?": "A"}, "notes": {}}),
    ];
    // The token of another machine: the ask does not exist for it.
    let mut other = Stolen::connect(&fleet.hub, &fleet.token("build-2"));
    for outcome in outcomes.iter().chain(&[json!({"kind": "withdrawn"}), json!({"kind": "expired"})]) {
        other.refused(&json!({"do": "settle", "ask": id, "outcome": outcome}));
    }
    for command in [
        json!({"do": "defer", "ask": id}),
        json!({"do": "resume", "ask": id, "expires_in": 1}),
        json!({"do": "detail", "ask": id}),
        json!({"do": "receive", "ask": id, "receipt": {"answers": answer["answers"], "as_sent": true, "at": "2026-01-01T00:00:00Z"}}),
        json!({"do": "list"}),
    ] {
        other.refused(&command);
    }
    assert_eq!(other.call(&json!({"do": "ask", "key": key}))["Ok"], json!({"is": "ask", "ask": null}));
    let changes = other.call(&json!({"do": "changes", "after": 0, "limit": 1000}));
    assert_eq!(changes["Ok"]["changes"], json!([]), "{changes}");
    // Its own token: it can end what it asks, and answers nothing.
    let own = edge_token(&edge);
    let mut own = Stolen::connect(&fleet.hub, &own);
    for outcome in outcomes {
        own.refused(&json!({"do": "settle", "ask": id, "outcome": outcome}));
    }
    fleet.hub.assert_open(&key);
    assert!(hook.is_waiting());
    own.0.send(Message::text("nonsense")).unwrap();
    while own.next()["type"] != "close" {}
}

pub(crate) fn edge_token(edge: &World) -> String {
    let file: Value = serde_json::from_slice(&std::fs::read(edge.state("host.json")).unwrap()).unwrap();
    file["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_second_link_of_the_same_host_takes_the_place_of_the_first() {
    let fleet = Fleet::new();
    let token = fleet.token("build-1");
    let mut first = Stolen::connect(&fleet.hub, &token);
    let mut second = Stolen::connect(&fleet.hub, &token);
    while first.next()["type"] != "close" {}
    assert_eq!(second.call(&json!({"do": "ask", "key": "s__t"}))["Ok"]["ask"], Value::Null);
    // A daemon that was replaced says so, and does not fight.
    let mut edge = fleet.edge_with(&token);
    drop(edge.daemon());
    until("the place", || (second.next()["type"] == "close").then_some(()));
    let mut third = Stolen::connect(&fleet.hub, &token);
    let problem = until("the edge to notice", || {
        edge.get("/v1/version").json()["hub"]["problem"].as_str().map(ToOwned::to_owned)
    });
    assert!(problem.contains("another daemon"), "{problem}");
    edge.hook(&call("s", "t", &[question("Which?")])).no_decision();
    assert_eq!(third.call(&json!({"do": "ask", "key": "s__t"}))["Ok"]["ask"], Value::Null);
}

#[test]
fn a_token_that_is_taken_back_ends_the_link_at_once() {
    let fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let said = fleet.run(&["hosts"]).stdout;
    assert!(String::from_utf8_lossy(&said).contains("build-1  linked now  0 open questions"), "{said:?}");
    let (_hook, key) = edge.ask("s", "t", &[question("Which?")]);
    let token = edge_token(&edge);
    fleet.run(&["hosts", "revoke", "build-1"]);
    let problem = until("the edge to notice", || {
        edge.get("/v1/version").json()["hub"]["problem"].as_str().map(ToOwned::to_owned)
    });
    assert!(problem.contains("taken back"), "{problem}");
    fleet.hub.send(Some(&token), "GET /v1/link", &json!({})).expect(401);
    edge.hook(&call("s", "u", &[question("Which?")])).no_decision();
    // Nobody is asked to trust what it had asked.
    let outcome = until("the question to be withdrawn", || {
        let ask = fleet.hub.get(&format!("/v1/asks/{key}")).json();
        (ask["state"] == "settled").then(|| ask["outcome"]["kind"].clone())
    });
    assert_eq!(outcome, "withdrawn");
    assert_eq!(fleet.hosts(), json!([]));
    let output = fleet.hub.command(ANSWERBACK).args(["hosts", "revoke", "build-1"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("There is no such machine"), "{output:?}");
}

#[test]
fn a_host_has_a_name_of_its_own_and_is_no_device() {
    let fleet = Fleet::new();
    fleet.token("build-1");
    let add = |name: &str| admin(&fleet.hub, "POST /v1/hosts", &json!({"name": name}));
    add("build-1").expect(409);
    // The hub itself has this name.
    add("hub").expect(409);
    for name in ["", "a b", "../x", &"a".repeat(64)] {
        add(name).expect(422);
    }
    assert_eq!(admin(&fleet.hub, "GET /v1/devices", &json!({})).json()["devices"], json!([]));
    let hosts = fleet.hosts();
    assert_eq!((&hosts[0]["name"], &hosts[0]["linked"], &hosts[1]), (&json!("build-1"), &json!(false), &Value::Null));
}

#[test]
fn a_machine_does_not_join_what_it_cannot_trust() {
    let fleet = Fleet::new();
    let token = fleet.token("build-1");
    let ca = fleet.ca.to_str().unwrap();
    let edge = World::new();
    let config = edge.home().join(".config/answerback/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let refused = |args: &[&str], token: &str, why: &str| {
        let output = join(&edge, args, token);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{args:?}: {said}");
        assert!(!edge.state("host.json").exists() && std::fs::read_to_string(&config).unwrap() == before);
    };
    refused(&[&fleet.url], &token, "certificate cannot be trusted");
    refused(&[&fleet.url, "--ca", ca], &"0".repeat(64), "does not know the host token");
    refused(&[&fleet.url, "--ca", ca], "nonsense", "not a host token");
    refused(&[&fleet.url], &format!("{token}.{}", "0".repeat(64)), "another one than the token says");
    refused(&["http://answers.example.org"], &token, "not encrypted");
    refused(&["https://127.0.0.1:1"], &token, "cannot join");
    let other = Fleet::new();
    refused(&[&fleet.url, "--ca", other.ca.to_str().unwrap()], &token, "certificate cannot be trusted");
}

#[test]
fn a_hub_with_a_certificate_of_its_own_is_known_by_the_token() {
    let mut hub = World::with_config(&format!("{LAN}host_name = \"hub\"\n"));
    drop(hub.daemon());
    let output = hub.command(ANSWERBACK).args(["host", "add", "build-1"]).output().unwrap();
    let (said, code) = (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
    let url = said.split_whitespace().skip_while(|word| *word != "join").nth(1).unwrap();
    let mut edge = World::with_config("# mine\n[permissions]\nunattended = \"wait\"\n");
    let output = join(&edge, &[url], code.trim());
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Joined.") && said.contains("build-1") && said.contains("terminal"), "{said}");
    let config = std::fs::read_to_string(edge.home().join(".config/answerback/config.toml")).unwrap();
    assert!(config.contains("# mine") && config.contains("hub_ca"), "{config}");
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    hub.answer(&key, &json!({"Which?": "A"})).expect(200);
    hook.reply();
    // A phone at the hub answers, too, and the token is of no use on the network but for the link.
    let phone = Phone::paired(&hub, "Phone");
    let thief = Phone { token: Some(edge_token(&edge)), ..Phone::paired(&hub, "Thief") };
    let (hook, key) = edge.ask("s", "u", &[question("Which?")]);
    let body = json!({"answers": {"Which?": "B"}});
    thief.send(&format!("POST /v1/asks/{key}/answer"), &body).expect(403);
    thief.get("/v1/asks").expect(403);
    phone.send(&format!("POST /v1/asks/{key}/answer"), &body).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "B");
}

#[test]
fn a_person_sees_the_machines_that_they_may_see() {
    let fleet = Fleet::new();
    let (mut first, mut second) = (fleet.linked_edge("build-1"), fleet.linked_edge("build-2"));
    let (hook, theirs) = first.ask("s1", "t", &[question("Which?")]);
    let (_hook, other) = second.ask("s2", "t", &[question("Which?")]);
    for key in [&theirs, &other] {
        fleet.hub.until_open(key);
    }
    let grants = json!([{"role": "answer", "project": "build-1:*"}]);
    let anna = admin(&fleet.hub, "POST /v1/people", &json!({"name": "Anna", "grants": grants})).expect(201).json();
    let pairing = admin(&fleet.hub, "POST /v1/pairing", &json!({"person": anna["id"]})).expect(201).json();
    let claim = json!({"code": pairing["code"], "name": "Phone"});
    let claim = fleet.hub.send(None, "POST /v1/pairing/claim", &claim).expect(200).json();
    let confirm = format!("POST /v1/pairing/{}/confirm", pairing["id"].as_str().unwrap());
    admin(&fleet.hub, &confirm, &json!({"check": claim["check"]})).expect(200);
    let fetched = fleet.hub.send(None, "POST /v1/pairing/token", &json!({"claim": claim["claim"]})).expect(200).json();
    let token = fetched["token"].as_str().unwrap();
    let send = |line: &str, body: &Value| fleet.hub.send(Some(token), line, body);
    let list = send("GET /v1/asks?state=all", &json!({})).expect(200).json();
    let keys: Vec<_> = list["asks"].as_array().unwrap().iter().map(|ask| &ask["key"]).collect();
    assert_eq!(keys, [&json!(theirs)]);
    assert_eq!(send("GET /v1/asks?host=build-2", &json!({})).expect(200).json()["asks"], json!([]));
    let hosts = send("GET /v1/projects", &json!({})).expect(200).json()["hosts"].take();
    let names: Vec<_> = hosts.as_array().unwrap().iter().map(|host| &host["host"]).collect();
    assert_eq!(names, [&json!("build-1")]);
    let answer = json!({"answers": {"Which?": "B"}});
    send(&format!("POST /v1/asks/{other}/answer"), &answer).expect(404);
    send(&format!("POST /v1/asks/{theirs}/answer"), &answer).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "B");
    assert_eq!(fleet.hub.settled(&theirs)["outcome"]["by"]["person"], "Anna");
    fleet.hub.assert_open(&other);
    // The calls about people belong to the hub.
    let problem = admin(&first, "GET /v1/people", &json!({})).expect(409).json();
    assert_eq!(problem["type"], "urn:answerback:problem:at-hub");
}
