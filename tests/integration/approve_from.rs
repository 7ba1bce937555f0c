//! `approve_from = "devices"`: plans and permissions are for paired devices, and so is who else is let in.

use std::process::{Child, Output};

use serde_json::{Value, json};

use crate::kinds::{ATTENDED, answer, question};
use crate::phone::{LAN, Phone, admin};
use crate::world::{ANSWERBACK, World, until};

const DEVICES: &str = "approve_from = \"devices\"\n";

fn world() -> World {
    let mut world = World::with_config(&format!("{DEVICES}{LAN}"));
    drop(world.daemon());
    world
}

fn kind_of(reply: &Value) -> &str {
    reply["type"].as_str().unwrap().rsplit(':').next().unwrap()
}

/// The answer of a phone to an ask with one question.
fn decide(world: &World, phone: &Phone, key: &str, label: &str) -> u16 {
    let answers = json!({"answers": {question(world, key): label}});
    phone.send(&format!("POST /v1/asks/{key}/answer"), &answers).status
}

/// The consent that a device is asked for.
fn consent(world: &World) -> String {
    until("a device to be asked", || {
        let asks = world.get("/v1/asks").json()["asks"].as_array().unwrap().clone();
        let consent = asks.iter().find(|ask| ask["kind"] == "permission" && ask["origin"] == "program")?;
        consent["key"].as_str().map(ToOwned::to_owned)
    })
}

fn begin(world: &World, args: &[&str]) -> Child {
    world.command(ANSWERBACK).args(args).spawn().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn only_a_paired_device_decides_about_a_permission() {
    let mut world = world();
    let phone = Phone::paired(&world, "Phone");
    let code = admin(&world, "POST /v1/launch", &json!({})).expect(201).json()["code"].clone();
    let page = world.send(None, "POST /v1/session", &json!({"code": code})).expect(201).json();
    let hook = ATTENDED.ask(&mut world, "Bash", &json!({"command": "npm test"}), "t");
    let body = json!({"answers": {question(&world, "s__t"): "Allow once"}});
    for action in ["answer", "dismiss"] {
        let line = format!("POST /v1/asks/s__t/{action}");
        let body = if action == "answer" { body.clone() } else { json!({}) };
        let replies = [
            admin(&world, &line, &body),
            world.post(line.strip_prefix("POST ").unwrap(), &body),
            world.send(page["token"].as_str(), &line, &body),
        ];
        for reply in replies {
            assert_eq!(kind_of(&reply.expect(403).json()), "devices-only");
        }
    }
    let output = begin(&world, &["answer", "s__t", "Allow once"]).wait_with_output().unwrap();
    assert!(said(&output).contains("A permission request is decided on a paired device."), "{}", said(&output));
    world.assert_open("s__t");
    assert_eq!(decide(&world, &phone, "s__t", "Allow once"), 200);
    assert_eq!(hook.reply()["decision"]["behavior"], "allow");
    // A question approves nothing.
    let (_hook, key) = world.ask("q", "t", &[crate::world::question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
}

#[test]
fn who_else_is_let_in_needs_the_consent_of_a_paired_device() {
    let world = world();
    // Nobody could agree to the first one.
    let phone = Phone::paired(&world, "Phone");
    let begun = |body: &Value| admin(&world, "POST /v1/pairing", body);
    let refused = begun(&json!({})).expect(403).json();
    assert_eq!(kind_of(&refused), "consent");
    let key = consent(&world);
    assert_eq!(refused["ask"]["key"], key);
    // Until a device agrees, nothing changes that, and the socket cannot agree.
    begun(&json!({})).expect(403);
    assert_eq!(kind_of(&answer(&world, &key, "Allow once", &json!({})).expect(403).json()), "devices-only");
    assert_eq!(decide(&world, &phone, &key, "Allow once"), 200);
    // It is for this request and not for another one, and it is used once.
    begun(&json!({"name": "Another"})).expect(403);
    begun(&json!({})).expect(201);
    begun(&json!({})).expect(403);
    for (line, body) in [
        ("POST /v1/people", json!({"name": "Eve", "grants": [{"role": "admin"}]})),
        ("PUT /v1/people/1/grants", json!({"grants": [{"role": "admin"}]})),
        ("POST /v1/people/1/revoke", json!({})),
        ("POST /v1/hosts", json!({"name": "box"})),
        ("POST /v1/hosts/box/revoke", json!({})),
        ("POST /v1/devices/1/revoke", json!({})),
    ] {
        assert_eq!(kind_of(&admin(&world, line, &body).expect(403).json()), "consent", "{line}");
    }
    phone.get("/v1/asks").expect(200);
}

#[test]
fn a_consent_is_used_once_even_if_the_daemon_is_started_again() {
    let mut world = world();
    let phone = Phone::paired(&world, "Phone");
    let begun = |world: &World| admin(world, "POST /v1/pairing", &json!({}));
    begun(&world).expect(403);
    assert_eq!(decide(&world, &phone, &consent(&world), "Allow once"), 200);
    begun(&world).expect(201);
    world.kill_daemon();
    drop(world.daemon());
    begun(&world).expect(403);
}

#[test]
fn a_command_waits_for_the_consent_and_says_so() {
    let world = world();
    let phone = Phone::paired(&world, "Phone");
    for (label, code, expected) in
        [("Deny", 1, "No paired device has agreed to this."), ("Allow once", 0, "Added: Ben")]
    {
        let command = begin(&world, &["people", "add", "Ben", "--role", "answer"]);
        let key = consent(&world);
        let asked = question(&world, &key);
        assert!(asked.contains("Allow Answerback: add a person?") && asked.contains("Ben"), "{asked}");
        assert_eq!(decide(&world, &phone, &key, label), 200);
        let output = command.wait_with_output().unwrap();
        let said = said(&output) + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("A paired device has to agree to this.") && said.contains(expected), "{said}");
    }
    // A person who may answer everything does not decide who else is let in.
    let ben = admin(&world, "GET /v1/people", &json!({})).json()["people"][0]["id"].as_i64();
    admin(&world, "POST /v1/pairing", &json!({"person": ben})).expect(403);
    assert_eq!(decide(&world, &phone, &consent(&world), "Allow once"), 200);
    let bens = Phone::paired_for(&world, "Ben's phone", ben);
    admin(&world, "POST /v1/pairing", &json!({})).expect(403);
    let key = consent(&world);
    assert_eq!(decide(&world, &bens, &key, "Allow once"), 403);
    world.assert_open(&key);
}
