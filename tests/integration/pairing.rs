//! How a phone is let in, and nobody else.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

use crate::http::Reply;
use crate::phone::{LAN, Phone, admin, admin_begins};
use crate::threads::until_asleep;
use crate::world::{ANSWERBACK, World, question};

fn begin(world: &World) -> (Value, String, Phone) {
    let pairing = admin(world, "POST /v1/pairing", &json!({})).expect(201).json();
    let phone = Phone::new(&pairing);
    let path = format!("/v1/pairing/{}", pairing["id"].as_str().unwrap());
    (pairing, path, phone)
}

fn claim(phone: &Phone, pairing: &Value) -> Value {
    let claim = json!({"code": pairing["code"], "name": "Anna's\u{7} phone"});
    phone.send("POST /v1/pairing/claim", &claim).expect(200).json()
}

#[test]
fn a_phone_that_shows_the_digits_is_let_in() {
    let mut world = World::with_config(LAN);
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let (pairing, path, mut phone) = begin(&world);
    let url = pairing["url"].as_str().unwrap();
    let lan_url = world.daemon_json().unwrap()["lan_url"].as_str().unwrap().to_owned();
    assert_eq!(url, format!("{lan_url}/#pair={}", pairing["code"].as_str().unwrap()));
    assert_eq!(pairing["expires_in_seconds"], 300);
    let state = || admin(&world, &format!("GET {path}"), &json!({})).expect(200).json();
    assert_eq!(state(), json!({"state": "waiting", "name": null}));

    let claimed = claim(&phone, &pairing);
    let check = claimed["check"].as_str().unwrap();
    assert!(check.len() == 6 && check.bytes().all(|byte| byte.is_ascii_digit()), "{check}");
    assert_eq!(state(), json!({"state": "claimed", "name": "Anna's phone"}));
    let token = json!({"claim": claimed["claim"]});
    assert_eq!(phone.send("POST /v1/pairing/token", &token).expect(202).json(), json!({}));
    let wrong = if check == "000000" { "000001" } else { "000000" };
    let confirm = |check: &str| admin(&world, &format!("POST {path}/confirm"), &json!({"check": check}));
    assert!(confirm(wrong).expect(422).json()["hint"].as_str().unwrap().contains("2 more"));
    confirm(check).expect(200);
    assert_eq!(state()["state"], "confirmed");
    let session = phone.send("POST /v1/pairing/token", &token).expect(200).json();
    // It may have slept through the reply. It is one device all the same, and once revoked it stays out.
    assert_eq!(phone.send("POST /v1/pairing/token", &token).expect(200).json(), session);
    let devices = admin(&world, "GET /v1/devices", &json!({})).expect(200).json();
    assert_eq!(devices["devices"].as_array().unwrap().len(), 1, "{devices}");

    phone.token = Some(session["token"].as_str().unwrap().to_owned());
    assert_eq!(phone.get("/v1/asks").expect(200).json()["asks"][0]["key"], key);
    let line = format!("POST /v1/asks/{key}/answer");
    let settled = phone.send(&line, &json!({"answers": {"Which?": "A"}})).expect(200).json();
    assert_eq!(settled["outcome"]["by"], json!({"channel": "page", "device": "Anna's phone"}));
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    let history = world.command(ANSWERBACK).arg("history").output().unwrap();
    assert!(String::from_utf8(history.stdout).unwrap().contains("answered, by Anna's phone"));
    // Its rights are those of a companion.
    for line in
        ["POST /v1/launch", "POST /v1/pairing", "GET /v1/devices", "POST /v1/stop", "POST /v1/hooks/claude-code"]
    {
        phone.send(line, &json!({})).expect(403);
    }
    admin(&world, &format!("POST /v1/devices/{}/revoke", devices["devices"][0]["id"]), &json!({})).expect(204);
    phone.token = None;
    let again = phone.send("POST /v1/pairing/token", &token).expect(200).json();
    phone.token = Some(again["token"].as_str().unwrap().to_owned());
    phone.get("/v1/asks").expect(401);
}

#[test]
fn a_damaged_key_keeps_the_network_out_and_nobody_else() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    world.kill_daemon();
    std::fs::write(world.state("tls.json"), "{}").unwrap();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let refused = admin(&world, "POST /v1/pairing", &json!({})).expect(409).json();
    assert!(refused["title"].as_str().unwrap().contains("tls.json"), "{refused}");
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    hook.reply();
}

#[test]
fn it_survives_a_restart_and_so_does_the_certificate() {
    use std::os::unix::fs::MetadataExt;
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let phone = Phone::paired(&world, "Phone");
    let metadata = std::fs::metadata(world.state("tls.json")).unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o600);
    world.kill_daemon();
    drop(world.daemon());
    let again = Phone { address: begin(&world).2.address, ..phone };
    again.get("/v1/asks").expect(200);
}

#[test]
fn nobody_is_let_in_by_mistake() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let (pairing, path, phone) = begin(&world);
    phone.send("POST /v1/pairing/claim", &json!({"code": "guess"})).expect(410);
    let claimed = claim(&phone, &pairing);
    // Who saw the code too comes too late.
    phone.send("POST /v1/pairing/claim", &json!({"code": pairing["code"]})).expect(410);
    for status in [422, 422, 410, 410] {
        admin(&world, &format!("POST {path}/confirm"), &json!({"check": "wrong"})).expect(status);
    }
    let check = json!({"check": claimed["check"]});
    admin(&world, &format!("POST {path}/confirm"), &check).expect(410);
    phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(403);
    phone.send("POST /v1/pairing/token", &json!({"claim": "guess"})).expect(410);

    let (pairing, path, phone) = begin(&world);
    let claimed = claim(&phone, &pairing);
    admin(&world, &format!("POST {path}/refuse"), &json!({})).expect(200);
    admin(&world, &format!("POST {path}/refuse"), &json!({})).expect(410);
    phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(403);
    assert_eq!(admin(&world, &format!("GET {path}"), &json!({})).json()["state"], "refused");
    admin(&world, "GET /v1/pairing/nobody", &json!({})).expect(404);
    assert_eq!(admin(&world, "GET /v1/devices", &json!({})).json(), json!({"devices": []}));
}

#[test]
fn both_sides_are_told_at_once() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let (pairing, path, phone) = begin(&world);
    // Each side waits before the other one acts: a daemon that sleeps has taken the request and not answered it.
    let mut looking = admin_begins(&world, &format!("GET {path}?wait=20"), &json!({}));
    until_asleep(world.daemon_pid());
    let claimed = claim(&phone, &pairing);
    assert_eq!(Reply::read(&mut looking).unwrap().json()["state"], "claimed");
    let token = json!({"claim": claimed["claim"]});
    let mut fetching = phone.begin("POST /v1/pairing/token?wait=20", &token);
    until_asleep(world.daemon_pid());
    admin(&world, &format!("POST {path}/confirm"), &json!({"check": claimed["check"]})).expect(200);
    let session = Reply::read(&mut fetching).unwrap().expect(200).json();
    assert_eq!(session["token"].as_str().unwrap().len(), 64);
}

#[test]
fn without_a_way_in_there_is_an_explanation() {
    let mut world = World::new();
    drop(world.daemon());
    let problem = admin(&world, "POST /v1/pairing", &json!({})).expect(409).json();
    assert!(problem["title"].as_str().unwrap().contains("127.0.0.1 only"), "{problem}");
    let output = world.command(ANSWERBACK).arg("pair").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    for part in ["lan_address = \"0.0.0.0:27564\"", "public_url = \"https://", "answerback restart"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
fn the_command_shows_the_code_and_takes_the_digits() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let mut command = world.command(ANSWERBACK).args(["pair", "--name", "Work phone"]).spawn().unwrap();
    let mut stdout = BufReader::new(command.stdout.take().unwrap());
    let mut shown = String::new();
    while !shown.contains("#pair=") {
        assert_ne!(stdout.read_line(&mut shown).unwrap(), 0, "{shown}");
    }
    assert!(shown.contains('▀') && shown.contains('█'), "{shown}");
    let mut fingerprint = String::new();
    stdout.read_line(&mut fingerprint).unwrap();
    stdout.read_line(&mut fingerprint).unwrap();
    let fingerprint = fingerprint.replace('\n', "");
    let url = shown.lines().last().unwrap();
    let code = url.split("#pair=").nth(1).unwrap();
    let pairing = json!({"url": url, "fingerprint": fingerprint, "code": code});
    let phone = Phone::new(&pairing);
    let claimed = claim(&phone, &pairing);
    let check = claimed["check"].as_str().unwrap();
    let wrong = if check == "111111" { "222222" } else { "111111" };
    let mut stdin = command.stdin.take().unwrap();
    // As people type them.
    writeln!(stdin, "12345\n{wrong}\n{} {}", &check[..3], &check[3..]).unwrap();
    let mut said = String::new();
    command.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(command.wait().unwrap().success(), "{said}");
    for part in ["Work phone wants to be let in", "not six digits", "other digits", "Paired. Work phone"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(200);
    let list = world.command(ANSWERBACK).arg("devices").output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("Work phone  paired"));
}

#[test]
fn the_command_can_say_no_and_speak_json() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let mut command = world.command(ANSWERBACK).args(["pair", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let pairing = next();
    let phone = Phone::new(&pairing);
    let claimed = claim(&phone, &pairing);
    assert_eq!(next(), json!({"state": "claimed", "name": "Anna's phone"}));
    drop(command.stdin.take());
    assert_eq!(command.wait().unwrap().code(), Some(1));
    phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(403);
}

#[test]
fn no_secret_of_a_pairing_is_written_anywhere() {
    let mut world = World::with_config(&format!("{LAN}log_level = \"trace\"\n"));
    drop(world.daemon());
    let (pairing, path, phone) = begin(&world);
    let claimed = claim(&phone, &pairing);
    admin(&world, &format!("POST {path}/confirm"), &json!({"check": claimed["check"]})).expect(200);
    let session = phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(200).json();
    let secrets = [&pairing["code"], &claimed["claim"], &session["token"]];
    for file in std::fs::read_dir(world.state("")).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        for secret in secrets.map(|secret| secret.as_str().unwrap()) {
            let holds = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!holds, "{:?}", file.path());
        }
    }
}
