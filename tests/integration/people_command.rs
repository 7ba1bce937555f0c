//! `answerback people`: what it says, and what it does.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Output;

use serde_json::{Value, json};

use crate::phone::{LAN, Phone};
use crate::world::{ANSWERBACK, World, question};

fn run(world: &World, args: &[&str]) -> Output {
    world.command(ANSWERBACK).arg("people").args(args).output().unwrap()
}

#[track_caller]
fn works(world: &World, args: &[&str]) -> (String, String) {
    let output = run(world, args);
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

#[track_caller]
fn fails(world: &World, args: &[&str], parts: &[&str]) {
    let output = run(world, args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{args:?}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?}: {part}: {stderr}");
    }
}

#[test]
fn people_are_added_granted_and_removed() {
    let mut world = World::new();
    drop(world.daemon());
    let (stdout, stderr) = works(&world, &[]);
    assert!(
        stdout.contains("Nobody was added") && stdout.contains("people add NAME --role answer"),
        "{stdout}{stderr}"
    );
    let (_, stderr) =
        works(&world, &["add", "Anna B", "--role", "answer", "--project", "/srv/shop*", "--project", "ci-*:*"]);
    assert!(stderr.contains("Added: Anna B, answer /srv/shop*, answer ci-*:*."), "{stderr}");
    assert!(stderr.contains("answerback people invite 'Anna B'"), "{stderr}");
    let (stdout, _) = works(&world, &["add", "Ben", "--role", "admin", "--json"]);
    let ben: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&ben["name"], &ben["grants"]), (&json!("Ben"), &json!([{"role": "admin"}])));
    let (stdout, _) = works(&world, &[]);
    assert!(stdout.contains("Anna B  answer /srv/shop*, answer ci-*:*  0 devices  since "), "{stdout}");
    assert!(stdout.contains("Ben     admin "), "{stdout}");

    let (_, stderr) = works(&world, &["grant", "Anna B", "--role", "view"]);
    assert!(stderr.contains("Anna B may now: answer /srv/shop*, answer ci-*:*, view everything."), "{stderr}");
    // The same pattern gets the new role.
    let (_, stderr) = works(&world, &["grant", "Anna B", "--role", "view", "--project", "/srv/shop*"]);
    assert!(stderr.contains("Anna B may now: answer ci-*:*, view everything, view /srv/shop*."), "{stderr}");
    let (stdout, _) = works(&world, &["grant", "Anna B", "--role", "view", "--only", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["grants"], json!([{"role": "view"}]));

    fails(&world, &["add", "Ben", "--role", "view"], &["with this name already", "hint: "]);
    fails(&world, &["add", "Carl"], &["--role"]);
    fails(&world, &["add", "Carl", "--role", "owner"], &["view, answer, admin"]);
    fails(
        &world,
        &["add", "Carl", "--role", "admin", "--project", "/srv"],
        &["The role admin is for all projects", "hint: "],
    );
    fails(&world, &["add", "Carl", "--role", "view", "--project", ""], &["is empty"]);
    fails(&world, &["grant", "Carl", "--role", "view"], &["there is no person Carl", "answerback people lists them"]);
    fails(&world, &["invite", "Carl"], &["there is no person Carl"]);
    fails(&world, &["invite", "Ben"], &["lan_address"]);
    fails(&world, &["revoke", "Ben"], &["nobody is here to confirm", "--yes"]);
    let (_, stderr) = works(&world, &["revoke", "Ben", "--yes"]);
    assert!(stderr.contains("Removed: Ben. Signed out: 0 devices."), "{stderr}");
    let (stdout, _) = works(&world, &["--json"]);
    let people: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((people["people"].as_array().unwrap().len(), &people["people"][0]["name"]), (1, &json!("Anna B")));
}

#[test]
fn an_agent_lets_nobody_in() {
    let mut world = World::new();
    drop(world.daemon());
    for args in [
        &["add", "Me", "--role", "admin"][..],
        &["grant", "Me", "--role", "admin"],
        &["invite", "Me"],
        &["revoke", "Me", "--yes"],
    ] {
        let output = world.command(ANSWERBACK).arg("people").args(args).env("CLAUDECODE", "1").output().unwrap();
        assert!(!output.status.success(), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("inside Claude Code"), "{args:?}: {stderr}");
    }
    assert_eq!(works(&world, &["--json"]).0.trim(), "{\n  \"people\": []\n}");
}

#[test]
fn a_device_is_invited_and_history_says_who_answered() {
    let mut world = World::with_config(LAN);
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    works(&world, &["add", "Anna", "--role", "answer", "--project", "/home/me/shop"]);
    let mut command = world.command(ANSWERBACK).args(["people", "invite", "Anna", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let pairing = next();
    let mut phone = Phone::new(&pairing);
    let claim = json!({"code": pairing["code"], "name": "Pixel"});
    let claimed = phone.send("POST /v1/pairing/claim", &claim).expect(200).json();
    assert_eq!(next()["state"], "claimed");
    writeln!(command.stdin.take().unwrap(), "{}", claimed["check"].as_str().unwrap()).unwrap();
    let mut said = String::new();
    command.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(command.wait().unwrap().success(), "{said}");
    assert!(said.contains("Pixel belongs to Anna now (answer /home/me/shop)."), "{said}");
    let token = phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(200).json();
    phone.token = Some(token["token"].as_str().unwrap().to_owned());
    assert!(works(&world, &[]).0.contains("1 device "));
    phone.send(&format!("POST /v1/asks/{key}/answer"), &json!({"answers": {"Which?": "A"}})).expect(200);
    hook.reply();

    let printed =
        |args: &[&str]| String::from_utf8(world.command(ANSWERBACK).args(args).output().unwrap().stdout).unwrap();
    assert!(printed(&["devices"]).contains("Pixel  paired, of Anna"));
    assert!(printed(&["history"]).contains("answered, by Anna (Pixel)"));
    assert!(printed(&["show", &key]).contains("answered, by Anna (Pixel)"));
    let lines = printed(&["history", "--export", "jsonl"]);
    assert_eq!(serde_json::from_str::<Value>(&lines).unwrap()["outcome"]["by"]["person"], "Anna");
    let table = printed(&["history", "--export", "csv"]);
    assert!(table.contains(",page,Pixel,") && table.ends_with(",Anna,\r\n"), "{table}");
    let (_, stderr) = works(&world, &["revoke", "Anna", "--yes"]);
    assert!(stderr.contains("Signed out: 1 device."), "{stderr}");
    phone.get("/v1/asks").expect(401);
}
