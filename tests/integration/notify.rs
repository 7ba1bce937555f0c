//! People are notified about questions, and the buttons of a notification answer them.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::ports::unused_port;
use crate::receiver::Receiver;
use crate::world::{ANSWERBACK, HOOK, Hook, World, call, make_program, question, until};

const PUBLIC: &str = "https://answers.example.org";

fn with_ntfy(receiver: &Receiver, notify: &str) -> World {
    World::with_config(&format!(
        "public_url = \"{PUBLIC}\"\n[notify]\n{notify}\n[notify.ntfy]\nurl = \"http://{}/my-topic\"\ntoken = \"tk_1\"\n",
        receiver.address
    ))
}

fn with_webhook(receiver: &Receiver, notify: &str) -> World {
    World::with_config(&format!(
        "[notify]\n{notify}\n[notify.webhook]\nurl = \"http://{}/hooks?t=1\"\nsecret = \"hush\"\n",
        receiver.address
    ))
}

/// Sends the request of a phone whose button is pressed. It goes to the daemon itself, not to the public URL.
fn press(world: &World, action: &Value) -> Reply {
    let path = action["url"].as_str().unwrap().strip_prefix(PUBLIC).unwrap();
    let ticket = action["headers"]["Authorization"].as_str().unwrap();
    send(world, ticket, &format!("{} {path}", action["method"].as_str().unwrap()), action["body"].as_str().unwrap())
}

fn send(world: &World, authorization: &str, line: &str, body: &str) -> Reply {
    let headers = [
        // A proxy passes on the public name.
        ("host", PUBLIC.trim_start_matches("https://").to_owned()),
        ("authorization", authorization.to_owned()),
        ("content-type", "application/json".to_owned()),
        ("user-agent", "ntfy/1.2".to_owned()),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
    Request { line, headers, body: body.as_bytes() }.over_tcp(&world.address()).unwrap()
}

/// Opens a question that races the terminal.
fn race(world: &mut World, session: &str, id: &str) -> Hook {
    let mut call = call(session, id, &[question("Which?")]);
    let mut hook = |call: &Value| {
        let mut command = world.command(HOOK);
        command.env("CLAUDE_CODE_SESSION_ATTENDED", "1").env("CLAUDE_CODE_ENTRYPOINT", "cli");
        world.hook_with(command, call.to_string().as_bytes())
    };
    hook(&call).no_decision();
    call["hook_event_name"] = json!("PermissionRequest");
    call.as_object_mut().unwrap().remove("tool_use_id");
    hook(&call)
}

fn run(world: &World, args: &[&str]) -> Output {
    world.command(ANSWERBACK).args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_button_answers_and_the_hook_returns_it() {
    let receiver = Receiver::start();
    let mut world = with_ntfy(&receiver, "details = true");
    let (hook, key) = world.ask("s", "t", &[question("Which one?")]);
    let post = receiver.next();
    assert_eq!((post.path.as_str(), post.header("authorization")), ("/", "Bearer tk_1"));
    let message: Value = serde_json::from_slice(&post.body).unwrap();
    assert_eq!(message["topic"], "my-topic");
    assert_eq!(message["title"], "shop has a question: Pick");
    assert_eq!(message["message"], "Which one?\n• A\n• B");
    assert_eq!((&message["priority"], &message["click"]), (&json!(3), &json!(format!("{PUBLIC}/#ask={key}"))));
    let actions = message["actions"].as_array().unwrap();
    let labels: Vec<_> = actions.iter().map(|action| (&action["action"], &action["label"], &action["clear"])).collect();
    assert_eq!(labels, [(&json!("http"), &json!("A"), &json!(true)), (&json!("http"), &json!("B"), &json!(true))]);

    let pressed = press(&world, &actions[1]).expect(204);
    assert!(pressed.body.is_empty());
    assert_eq!(world.settled(&key)["outcome"]["by"], json!({"channel": "notification", "agent": "ntfy/1.2"}));
    let reply = hook.reply();
    assert_eq!(reply["updatedInput"]["answers"], json!({"Which one?": "B"}));
    let context = reply["additionalContext"].as_str().unwrap();
    assert!(context.starts_with("The user answered from an Answerback notification"), "{context}");
    press(&world, &actions[1]).expect(204);
    // A ticket may answer but not read.
    let refused = press(&world, &actions[0]).expect(409).json();
    assert_eq!((refused.get("ask"), refused.get("hint")), (None, None));
    let history = String::from_utf8(run(&world, &["history"]).stdout).unwrap();
    assert!(history.contains("answered from a notification, by ntfy/1.2"), "{history}");
}

#[test]
fn a_ticket_can_only_choose_an_option_of_its_ask() {
    let receiver = Receiver::start();
    let mut world = with_ntfy(&receiver, "details = true");
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let action = receiver.next_json()["actions"][0].take();
    let ticket = action["headers"]["Authorization"].as_str().unwrap();
    let body = action["body"].as_str().unwrap();
    // A ticket takes only an option, so that somebody who reads the topic cannot send words of their own.
    for words in [
        json!({"answers": {"Which?": "do something else"}}),
        json!({"answers": {"Which?": ["A"]}}),
        json!({"answers": {"Which?": "A"}, "notes": {"Which?": "and something else"}}),
        json!({"answers": {}, "partial": true}),
    ] {
        send(&world, ticket, &format!("POST /v1/asks/{key}/answer"), &words.to_string()).expect(422);
    }
    let (_other, other) = world.ask("s", "other", &[question("Which?")]);
    for line in [
        &format!("POST /v1/asks/{other}/answer"),
        &format!("POST /v1/asks/{key}/dismiss"),
        &format!("POST /v1/asks/{key}/release"),
        &format!("POST /v1/asks/{key}/withdraw"),
        &format!("GET /v1/asks/{key}"),
        "GET /v1/asks",
        "POST /v1/asks",
        "GET /v1/events",
        "GET /v1/version",
        "GET /v1/openapi.json",
        "POST /v1/launch",
        "POST /v1/stop",
        "POST /v1/hooks/claude-code",
    ] {
        let reply = send(&world, ticket, line, body);
        assert_eq!(reply.status, 403, "{line}");
        assert!(!String::from_utf8_lossy(&reply.body).contains("Which?"), "{line}");
    }
    let line = format!("POST /v1/asks/{key}/answer");
    for tampered in [
        ticket.replace(".1.", ".2."),
        ticket.replace(&key, &other),
        ticket[..ticket.len() - 2].to_owned(),
        format!("{ticket}00"),
    ] {
        assert_ne!(tampered, ticket);
        send(&world, &tampered, &line, body).expect(401);
    }
    // The same key asked again is another life, with another notification. Nothing else is open then, so that notification has buttons.
    world.post(&format!("/v1/asks/{other}/release"), &json!({})).expect(200);
    world.post(&format!("/v1/asks/{key}/release"), &json!({})).expect(200);
    hook.no_decision();
    press(&world, &action).expect(410);
    let (hook, _) = world.ask("s", "t", &[question("Which?")]);
    press(&world, &action).expect(410);
    let again = receiver.next_json();
    // The daemon stores no tickets, so a ticket survives a restart.
    world.kill_daemon_once_parked(&hook);
    world.until_open(&key);
    press(&world, &again["actions"][0]).expect(204);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
}

#[test]
fn a_webhook_gets_signed_events_when_an_ask_is_opened_and_settled() {
    let receiver = Receiver::start();
    let mut world = with_webhook(&receiver, "details = true");
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let post = receiver.next();
    assert_eq!(post.path, "/hooks?t=1");
    let check = "import hmac,sys; t=sys.argv[1].encode(); b=sys.stdin.buffer.read(); \
                 print('v1='+hmac.new(b'hush', t+b'.'+b, 'sha256').hexdigest(), end='')";
    let mut python = world.command("/usr/bin/env");
    let path = std::env::var_os("PATH").unwrap();
    let mut python =
        python.env("PATH", path).args(["python3", "-c", check, post.header("x-answerback-timestamp")]).spawn().unwrap();
    python.stdin.take().unwrap().write_all(&post.body).unwrap();
    let expected = String::from_utf8(python.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(post.header("x-answerback-signature"), expected);

    let opened: Value = serde_json::from_slice(&post.body).unwrap();
    let ask = world.get(&format!("/v1/asks/{key}")).json();
    assert_eq!(
        opened,
        json!({"type": "ask.opened", "key": key, "id": ask["id"], "kind": "question", "session": "s",
            "project": "shop", "opened_at": ask["opened_at"], "racing": false, "questions": ask["questions"]})
    );
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    let settled = receiver.next_json();
    assert_eq!((&settled["type"], &settled["key"]), (&json!("ask.settled"), &json!(key)));
    assert_eq!(settled["outcome"], json!({"kind": "answered"}));
}

#[test]
fn a_racing_ask_waits_for_the_delay_before_its_notification() {
    let receiver = Receiver::start();
    let mut world = with_webhook(&receiver, "delay_seconds = 3600");
    let racing = race(&mut world, "raced", "t");
    world.until_open("raced__t");
    // The doctor's own questions make no notification.
    assert!(run(&world, &["doctor", "--round-trip"]).status.success());
    let (_first, first) = world.ask("s", "first", &[question("Which?")]);
    assert_eq!(receiver.next_json()["key"], json!(first));
    world.answer("raced__t", &json!({"Which?": "A"})).expect(200);
    drop(racing);
    let (second, key) = world.ask("s", "second", &[question("Which?")]);
    let notice = receiver.next_json();
    assert_eq!((&notice["type"], &notice["key"]), (&json!("ask.opened"), &json!(key)));
    // A new daemon does not repeat the notification, but it knows that there was one.
    world.kill_daemon_once_parked(&second);
    world.until_open(&key);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    let notice = receiver.next_json();
    assert_eq!((&notice["type"], &notice["key"]), (&json!("ask.settled"), &json!(key)));
}

#[test]
fn without_a_delay_a_racing_ask_gets_its_notification_at_once() {
    let receiver = Receiver::start();
    let mut world = with_ntfy(&receiver, "delay_seconds = 0");
    let _dialog = race(&mut world, "s", "t");
    let message = receiver.next_json();
    assert_eq!(message["title"], "shop has a question");
    assert_eq!(message["message"], "It waits for your answer.");
    assert_eq!(message.get("actions"), None);
}

#[test]
fn the_desktop_command_gets_text_as_plain_arguments() {
    let mut world = World::new();
    let script = world.home().join("show");
    let dump = world.home().join("show.out");
    make_program(&script, b"#!/bin/sh\nprintf '%s\\0' \"$@\" >\"$0.out\"\n");
    world.write_config(&format!(
        "port = 0\n[notify]\ndetails = true\n[notify.desktop]\ncommand = [\"{}\", \"{{title}}\", \"{{body}}\", \"-u={{url}}\", \"$HOME {{x}}\", \"end\"]\n",
        script.display()
    ));
    let hostile = "$(touch pwned) `touch pwned`; touch pwned \"'\n{title}\u{1b}]52;c;x\u{7} \u{202e}?";
    let mut asked = call("s", "t", &[question(hostile)]);
    asked["cwd"] = json!("/home/me/-e $(touch pwned)");
    let hook = world.hook(&asked);
    let arguments = until("the command", || fs::read_to_string(&dump).ok().filter(|dump| dump.ends_with("end\0")));
    let arguments: Vec<_> = arguments.split_terminator('\0').collect();
    assert_eq!(
        arguments,
        [
            " -e $(touch pwned) has a question: Pick",
            "$(touch pwned) `touch pwned`; touch pwned \"' {title}\u{fffd}]52;c;x\u{fffd} \u{fffd}?\n• A\n• B",
            "-u=",
            "$HOME {x}",
            "end"
        ]
    );
    let touched = |dir: &std::path::Path| dir.join("pwned").exists();
    assert!(
        !touched(world.home()) && !touched(std::path::Path::new("/")) && !touched(&std::env::current_dir().unwrap())
    );
    world.answer("s__t", &json!({hostile: "A"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({hostile: "A"}));
}

#[test]
fn questions_and_secrets_do_not_leak() {
    let (ntfy, webhook) = (Receiver::start(), Receiver::start());
    let mut world = World::new();
    let dump = world.home().join("desktop.out");
    world.write_config(&format!(
        "port = 0\nlog_level = \"trace\"\n[notify.desktop]\ncommand = [\"/bin/sh\", \"-c\", 'env >\"$0\"; printf %s \"$*\" >>\"$0\"', \"{}\", \"{{title}}\", \"{{body}}\", \"end\"]\n\
         [notify.ntfy]\nurl = \"http://{}/CANARY-topic\"\ntoken = \"CANARY-token\"\n\
         [notify.webhook]\nurl = \"http://{}/CANARY-path\"\nsecret = \"CANARY-secret\"\n",
        dump.display(), ntfy.address, webhook.address
    ));
    let mut asked = question("CANARY-question");
    asked["header"] = json!("CANARY-header");
    asked["options"][0]["label"] = json!("CANARY-label");
    let (_hook, key) = world.ask("s", "t", &[asked]);
    let mut posted: Vec<_> = [ntfy.next(), webhook.next()].into();
    until("the command", || fs::read_to_string(&dump).ok().filter(|dump| dump.ends_with("end")));
    world.answer(&key, &json!({"CANARY-question": "CANARY-answer"})).expect(200);
    posted.push(webhook.next());
    for post in &posted {
        let body = String::from_utf8_lossy(&post.body).replace("\"topic\":\"CANARY-topic\"", "");
        assert!(!body.contains("CANARY"), "{body}");
    }
    let shown = fs::read_to_string(&dump).unwrap();
    assert!(shown.contains("shop has a question") && !shown.contains("CANARY"), "{shown}");
    assert!(!shown.contains(&world.token()));
    assert!(!world.log().contains("CANARY"), "{}", world.log());
    assert!(world.log().contains("can be read by other users"), "{}", world.log());
    let doctor: Value = serde_json::from_slice(&run(&world, &["doctor", "--json"]).stdout).unwrap();
    let config = doctor["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "config").unwrap();
    assert!(config["level"] == "warning" && config["fix"].as_str().unwrap().contains("chmod"), "{config}");
}

#[test]
fn a_receiver_that_is_down_or_hangs_delays_no_answer() {
    let down = format!("127.0.0.1:{}", unused_port());
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut world = World::with_config(&format!(
        "[notify.desktop]\ncommand = [\"/nonexistent/show\"]\n[notify.ntfy]\nurl = \"http://{down}/my-topic\"\n\
         [notify.webhook]\nurl = \"http://{}/my-path\"\n",
        hanging.local_addr().unwrap()
    ));
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let _connected = hanging.accept().unwrap();
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    let (_hook, _) = world.ask("s", "u", &[question("Which?")]);
    let told = |way: &str| {
        let line = |log: &str| {
            log.lines().find(|line| line.contains("notification failed") && line.contains(way)).map(str::to_owned)
        };
        until(&format!("{way} in the log"), || line(&world.log()))
    };
    let ntfy = told("ntfy");
    assert!(ntfy.contains(&down) && ntfy.contains("refused") && !ntfy.contains("my-topic"), "{ntfy}");
    let desktop = told("desktop");
    assert!(desktop.contains("cannot run /nonexistent/show"), "{desktop}");
    // The daemon stops at once, even if a notification is still being sent.
    world.post("/v1/asks/s__u/release", &json!({})).expect(200);
    let output = run(&world, &["stop"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_burst_of_questions_shares_a_few_notifications() {
    let receiver = Receiver::start();
    let mut world = with_ntfy(&receiver, "");
    drop(world.daemon());
    for n in 0..20 {
        let ask = json!({"questions": [{"question": format!("{n}?")}], "project": "/home/me/shop"});
        world.post("/v1/asks", &ask).expect(201);
    }
    let (mut notified, mut messages) = (0, 0);
    while notified < 20 {
        let title = receiver.next_json()["title"].as_str().unwrap().to_owned();
        let count = title.strip_prefix("shop has ").unwrap().split(' ').next().unwrap();
        notified += if count == "a" { 1 } else { count.parse().unwrap() };
        messages += 1;
    }
    assert!(notified == 20 && messages <= 5, "{messages} messages");
}

#[test]
fn the_test_command_tries_every_way() {
    let world = World::new();
    let output = run(&world, &["notify", "test"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("[notify.ntfy]"), "{output:?}");
    assert!(!world.state("").exists(), "it needs no daemon");

    let (good, elsewhere) = (Receiver::start(), Receiver::replying("302 Found"));
    world.write_config(&format!(
        "[notify.desktop]\ncommand = [\"/bin/sh\", \"-c\", \"exit 3\"]\n[notify.ntfy]\nurl = \"http://{}/t\"\n\
         [notify.webhook]\nurl = \"http://{}/w\"\n",
        good.address, elsewhere.address
    ));
    let output = run(&world, &["notify", "test", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ways: Vec<_> = report["ways"].as_array().unwrap().iter().map(|way| (&way["way"], &way["ok"])).collect();
    let expected = [("desktop", false), ("ntfy", true), ("webhook", false)];
    assert_eq!(ways, expected.map(|(way, ok)| (json!(way), json!(ok))).each_ref().map(|(way, ok)| (way, ok)));
    assert!(report["ways"][0]["reason"].as_str().unwrap().contains("exit status: 3"), "{report}");
    assert!(report["ways"][2]["reason"].as_str().unwrap().contains("302"), "{report}");
    assert_eq!(good.next_json()["title"], "Answerback: a test");
    assert_eq!(elsewhere.next_json(), json!({"type": "test"}));
    // The first thing it gets after that is the next test: no redirect was followed.
    run(&world, &["notify", "test"]);
    assert_eq!(elsewhere.next().path, "/w");

    world.write_config(&format!("[notify.webhook]\nurl = \"http://{}/w\"\n", good.address));
    let output = run(&world, &["notify", "test"]);
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains(&format!("✓ webhook, {}", good.address)) && !stdout.contains("/w"), "{stdout}");
}
