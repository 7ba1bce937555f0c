//! `answerback phone`: what is found, what is checked, and what is said.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::phone::LAN;
use crate::terminal::Terminal;
use crate::world::{ANSWERBACK, World, make_program};

const TAILSCALE: &str = r#"#!/bin/sh
case "$*" in
"status --json --peers=false") echo '{"BackendState": "Running", "Self": {"DNSName": "box.tail1.ts.net."}}' ;;
"serve status --json") echo "$SERVE" ;;
*) exit 1 ;;
esac
"#;

/// The programs that can be found are those of the test.
fn bin(world: &World) -> PathBuf {
    let bin = world.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    bin
}

fn run(world: &World, arguments: &[&str], serve: &str) -> Output {
    let mut command = world.command(ANSWERBACK);
    command.arg("phone").args(arguments).env("PATH", bin(world)).env("SERVE", serve).stdin(Stdio::null());
    command.output().unwrap()
}

fn report(world: &World, serve: &str, code: i32) -> Value {
    let output = run(world, &["--json"], serve);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn way<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["ways"].as_array().unwrap().iter().find(|way| way["name"] == name).unwrap_or_else(|| panic!("{report:#}"))
}

fn port(world: &World) -> u16 {
    world.address().rsplit(':').next().unwrap().parse().unwrap()
}

/// A listener at the address that this machine has in its network.
fn listener() -> TcpListener {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("198.51.100.1:9").unwrap();
    TcpListener::bind((socket.local_addr().unwrap().ip(), 0)).unwrap()
}

/// A reverse proxy to the daemon, for one request after the other. It may change the head of a request.
fn serve(listener: TcpListener, daemon: String, change: impl Fn(String) -> String + Send + 'static) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let mut upstream = TcpStream::connect(&daemon).unwrap();
            let head = change(head).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
            upstream.write_all(head.as_bytes()).unwrap();
            let mut reply = Vec::new();
            upstream.read_to_end(&mut reply).unwrap();
            stream.write_all(&reply).unwrap();
        }
    });
}

#[test]
fn what_is_installed_is_found_and_the_commands_fit_this_machine() {
    let world = World::new();
    let config = world.home().join(".config/answerback/config.toml");
    let before = fs::read_to_string(&config).unwrap();
    let found = report(&world, "{}", 1);
    let states = |report: &Value| {
        ["own-network", "tailscale", "cloudflared", "ssh"].map(|name| way(report, name)["state"].clone())
    };
    assert_eq!(states(&found), ["off", "missing", "missing", "missing"]);
    assert_eq!((&found["url"], &found["notifications"]["ntfy"]), (&json!(null), &json!(false)));
    assert_eq!(way(&found, "own-network")["steps"][0], json!({"set": "lan_address = \"0.0.0.0:27564\""}));
    make_program(&bin(&world).join("tailscale"), TAILSCALE.as_bytes());
    for program in ["cloudflared", "ssh", "ufw"] {
        make_program(&bin(&world).join(program), b"#!/bin/sh\nexit 1\n");
    }
    let port = port(&world);
    let found = report(&world, "{}", 1);
    assert_eq!(states(&found), ["off", "off", "off", "off"]);
    let steps = json!([{"run": format!("tailscale serve --bg {port}")},
        {"set": "public_url = \"https://box.tail1.ts.net\""}, {"run": "answerback restart"}]);
    assert_eq!(way(&found, "tailscale")["steps"], steps);
    for (name, command) in [
        ("own-network", "sudo ufw allow 27564/tcp".to_owned()),
        ("cloudflared", format!("cloudflared tunnel run --url http://127.0.0.1:{port} answerback")),
        ("ssh", format!("ssh -N -R 127.0.0.1:27563:127.0.0.1:{port} you@answers.example.org")),
    ] {
        assert!(way(&found, name)["steps"].to_string().contains(&command), "{name}: {found:#}");
    }
    // Serve leads here already, and under another port.
    let proxy = format!("http://127.0.0.1:{port}");
    let serve = json!({"Web": {"box.tail1.ts.net:8443": {"Handlers": {"/": {"Proxy": proxy}}}}}).to_string();
    let found = report(&world, &serve, 1);
    let steps = json!([{"set": "public_url = \"https://box.tail1.ts.net:8443\""}, {"run": "answerback restart"}]);
    assert_eq!(way(&found, "tailscale")["steps"], steps);
    // The same for people. Nothing is asked, and nothing is changed.
    let output = run(&world, &[], "{}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for text in [
        &format!("The daemon listens on 127.0.0.1:{port}."),
        "Tailscale Serve: connected as box.tail1.ts.net; Serve does not lead to this daemon",
        &format!("    Run: tailscale serve --bg {port}\n    Put this at the top of {}:\n", config.display()),
        "      public_url = \"https://box.tail1.ts.net\"\n    Run: answerback restart\n",
        "The daemon may get another port at its next start.",
        "      [notify.ntfy]\n      url = \"https://ntfy.sh/answerback-",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
}

#[test]
fn a_program_that_hangs_is_not_waited_for() {
    let world = World::new();
    make_program(&bin(&world).join("tailscale"), b"#!/bin/sh\n/bin/sleep 600\n");
    let started = Instant::now();
    let found = report(&world, "", 1);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert_eq!(way(&found, "tailscale")["about"], "installed, not connected");
}

#[test]
fn the_own_network_is_checked_as_a_phone_would() {
    let mut world = World::with_config(LAN);
    let mut daemon = world.daemon();
    let found = report(&world, "", 0);
    let own = way(&found, "own-network");
    assert_eq!((&own["state"], &found["url"]), (&json!("ready"), &own["url"]), "{found:#}");
    assert_eq!(own["url"], world.daemon_json().unwrap()["lan_url"]);
    assert!(own["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{own:#}");
    assert_eq!(own["checks"].as_array().unwrap().len(), 3);
    let output = run(&world, &[], "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("run in a terminal: answerback pair"), "{output:?}");
    // Another daemon answers there, with a certificate of its own.
    let mut other = World::with_config(LAN);
    drop(other.daemon());
    fs::copy(other.state("tls.json"), world.state("tls.json")).unwrap();
    let found = report(&world, "", 1);
    let own = way(&found, "own-network");
    assert_eq!((&own["state"], &found["url"]), (&json!("broken"), &json!(null)), "{found:#}");
    assert!(own["checks"].to_string().contains("another certificate"), "{own:#}");
    // The daemon does not know yet what the configuration says.
    world.stop_daemon(&mut daemon);
    world.write_config("port = 0\n");
    drop(world.daemon());
    world.write_config(&format!("port = 0\n{LAN}[notify.ntfy]\nurl = \"https://ntfy.sh/t\"\n"));
    let found = report(&world, "", 1);
    let own = way(&found, "own-network");
    assert_eq!(own["checks"][0]["message"], "the daemon does not listen on 0.0.0.0:0");
    assert!(own["checks"][0]["hint"].as_str().unwrap().starts_with("Run: answerback restart."), "{own:#}");
    assert_eq!(found["notifications"], json!({"ntfy": true}));
}

#[test]
fn a_public_address_is_tried_from_outside() {
    let (good, bad) = (listener(), listener());
    let origin = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
    let (url, wrong) = (origin(&good), origin(&bad));
    let configured = |url: &str| format!("port = 0\npublic_url = \"{url}\"\n");
    let world = World::with_config(&format!("public_url = \"{url}\"\n"));
    let first = |world: &World, code: i32| {
        let found = report(world, "", code);
        let way = way(&found, "public-url");
        let last = way["checks"].as_array().unwrap().last().unwrap();
        (way["state"].clone(), last["message"].as_str().unwrap().to_owned(), last["hint"].clone())
    };
    // Nothing serves it yet. The listener accepts, and says nothing.
    let (state, message, _) = first(&world, 1);
    assert!(state == "broken" && message.contains("cannot be reached from here"), "{message}");
    serve(good, world.address(), |head| head);
    let (state, message, _) = first(&world, 0);
    assert!(state == "ready" && message == format!("{url} leads to a daemon"), "{message}");
    // The daemon still has the old name, and then the proxy does not pass on the new one.
    world.write_config(&configured(&wrong));
    let (state, message, hint) = first(&world, 1);
    assert!(state == "broken" && message.contains("does not accept"), "{message}");
    assert!(hint.as_str().unwrap().contains("answerback restart"), "{hint}");
    let restarted = world.command(ANSWERBACK).arg("restart").output().unwrap();
    assert!(restarted.status.success(), "{restarted:?}");
    serve(bad, world.address(), |head| {
        let lines = head.split("\r\n").map(|line| match line.to_lowercase().starts_with("host:") {
            true => "host: inside.example",
            false => line,
        });
        lines.collect::<Vec<_>>().join("\r\n")
    });
    let (state, message, hint) = first(&world, 1);
    assert!(state == "broken" && message.contains("refuses the request (403)"), "{message}");
    assert!(hint.as_str().unwrap().contains("Host header"), "{hint}");
}

#[test]
fn in_a_terminal_the_code_follows() {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let script = format!("PATH={} {ANSWERBACK} phone; echo \"exit $?\"; exec sleep 600", bin(&world).display());
    let terminal = Terminal::run(&world, 110, 60, &script);
    let screen = terminal.shows("Scan it with the phone");
    assert!(
        screen.contains("as its address") && screen.contains("/#pair=") && screen.contains("██████████"),
        "{screen}"
    );
    terminal.press(&["C-c"]);
}
