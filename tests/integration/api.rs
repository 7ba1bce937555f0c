//! The HTTP API as docs/api.md describes it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::threads::until_asleep;
use crate::world::{ANSWERBACK, World, question};

fn asks(list: &Value) -> Vec<&str> {
    list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap()).collect()
}

#[test]
fn lists_by_state_session_and_project_newest_first_and_in_pages() {
    let mut world = World::new();
    let _hooks: Vec<_> = ["one", "two", "three"].iter().map(|id| world.ask("s", id, &[question("Which?")])).collect();
    let (_hook, _) = world.ask("other", "four", &[question("Which?")]);
    world.answer("s__two", &json!({"Which?": "A"})).expect(200);
    let list = |query: &str| world.get(&format!("/v1/asks{query}")).expect(200).json();
    assert_eq!(asks(&list("")), ["other__four", "s__three", "s__one"]);
    assert_eq!(asks(&list("?state=settled")), ["s__two"]);
    assert_eq!(asks(&list("?state=all")), ["other__four", "s__three", "s__two", "s__one"]);
    assert_eq!(asks(&list("?state=all&session=s&project=/home/me/shop")), ["s__three", "s__two", "s__one"]);
    assert_eq!(asks(&list("?session=s")), ["s__three", "s__one"]);
    assert_eq!(asks(&list("?project=/elsewhere")), Vec::<&str>::new());
    assert_eq!(asks(&list("?opened_since=2100-01-01T00:00:00Z")), Vec::<&str>::new());
    assert_eq!(asks(&list("?session=other&opened_since=2020-01-01T00:00:00Z")), ["other__four"]);
    for state in ["open&session=s", "all&session=s"] {
        let first = list(&format!("?state={state}&limit=1"));
        assert_eq!(asks(&first), ["s__three"]);
        let second = list(&format!("?state={state}&limit=5&before={}", first["next"]));
        assert_eq!(*asks(&second).last().unwrap(), "s__one");
        assert_eq!(second["next"], Value::Null);
    }
}

#[test]
fn finds_text_in_questions_and_answers_and_nowhere_else() {
    let mut world = World::new();
    let (_hook, first) = world.ask("s", "first", &[question("Which database?")]);
    let (_hook, second) = world.ask("s", "second", &[question("100% sure?")]);
    world.answer(&first, &json!({"Which database?": "Postgres, with a \"twist\""})).expect(200);
    world.post(&format!("/v1/asks/{second}/dismiss"), &json!({"reason": "no time"})).expect(200);
    let find = |text: &str| {
        let list = world.get(&format!("/v1/asks?state=all&text={text}")).expect(200).json();
        asks(&list).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(find("DATABASE"), ["s__first"]);
    assert_eq!(find("%22twist%22"), ["s__first"]);
    assert_eq!(find("no%20time"), ["s__second"]);
    assert_eq!(find("0%25"), ["s__second"]);
    for nowhere in ["multiSelect", "answered", "dismissed", "kind", "1_0", "%25%25"] {
        assert_eq!(find(nowhere), Vec::<String>::new(), "{nowhere}");
    }
}

#[test]
fn a_program_withdraws_its_own_question_and_no_other() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let ask = world.post("/v1/asks", &json!({"questions": [question("Deploy?")]})).expect(201).json();
    let own = ask["key"].as_str().unwrap();
    world.post(&format!("/v1/asks/{own}/withdraw"), &json!({})).expect(200);
    assert_eq!(world.settled(own)["outcome"]["kind"], "withdrawn");
    world.answer(own, &json!({"Deploy?": "A"})).expect(410);
    world.post(&format!("/v1/asks/{key}/withdraw"), &json!({})).expect(403);
    assert!(hook.is_waiting());
    world.assert_open(&key);
}

#[test]
fn an_ask_has_all_its_fields() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let ask = world.get(&format!("/v1/asks/{key}")).expect(200).json();
    for (field, value) in [
        ("key", json!("s__t")),
        ("session", json!("s")),
        ("tool_use_id", json!("t")),
        ("origin", json!("claude-code")),
        ("project", json!("/home/me/shop")),
        ("questions", json!([question("Which?")])),
        ("state", json!("open")),
        ("deferred", json!(false)),
        ("outcome", Value::Null),
        ("expires_at", Value::Null),
    ] {
        assert_eq!(ask[field], value, "{field}");
    }
    assert!(ask["opened_at"].as_str().unwrap().ends_with('Z'));
    world.post(&format!("/v1/asks/{key}/dismiss"), &json!({"reason": "no"})).expect(200);
    let settled = world.get(&format!("/v1/asks/{key}")).json();
    assert_eq!(settled["outcome"], json!({"kind": "dismissed", "reason": "no", "by": {"channel": "token"}}));
    assert!(settled["settled_at"].as_str().unwrap() >= settled["opened_at"].as_str().unwrap());
}

#[test]
fn a_list_that_has_not_changed_is_not_sent_again() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let etag = world.get("/v1/asks").header("etag").unwrap().to_owned();
    let again = |etag: &str| {
        let mut headers = world.headers();
        headers.push(("if-none-match".into(), etag.into()));
        Request { line: "GET /v1/asks", headers, body: b"" }.over_tcp(&world.address()).unwrap()
    };
    assert_eq!(again(&etag).expect(304).body, b"");
    again("\"0\"").expect(200);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_ne!(again(&etag).expect(200).header("etag").unwrap(), etag);
}

#[test]
fn a_long_poll_returns_with_the_change() {
    let mut world = World::new();
    drop(world.daemon());
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let cursor = world.get("/v1/asks").json()["cursor"].as_str().unwrap().to_owned();
    let started = Instant::now();
    let begin = |line: &str| {
        let request = Request { line, headers: world.headers(), body: b"" };
        request.begin_over_tcp(&world.address()).unwrap()
    };
    let mut list = begin(&format!("GET /v1/asks?since={cursor}&wait=20"));
    let mut ask = begin(&format!("GET /v1/asks/{key}?wait=20"));
    // A daemon that sleeps has taken both requests and answered neither.
    until_asleep(world.daemon_pid());
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    let list = Reply::read(&mut list).unwrap().expect(200).json();
    let ask = Reply::read(&mut ask).unwrap().expect(200).json();
    assert!(started.elapsed().as_secs() < 15, "both came back before their time was up");
    assert_eq!(list["asks"], json!([]));
    assert!(list["cursor"].as_str().unwrap().parse::<i64>().unwrap() > cursor.parse().unwrap());
    assert_eq!(ask["state"], "settled");
    // Nothing changes any more. The poll returns when the time is up, with the same cursor.
    let cursor = list["cursor"].as_str().unwrap();
    assert_eq!(world.get(&format!("/v1/asks?since={cursor}&wait=1")).expect(200).json()["cursor"], cursor);
    // A cursor beyond the newest change belongs to another store. The poll does not wait for it.
    world.get("/v1/asks?since=999999&wait=20").expect(200);
    assert!(started.elapsed().as_secs() < 15);
}

#[test]
fn any_program_can_ask() {
    let mut world = World::new();
    drop(world.daemon());
    let body = json!({"questions": [{"question": "Deploy?", "options": [{"label": "Yes"}, {"label": "No"}]},
        {"question": "Which name?"}], "project": "/home/me/site", "asked_by": " deploy\u{1b}[31m\n2.0\u{202e}"});
    let created = world.post("/v1/asks", &body).expect(201);
    let ask = created.json();
    let key = ask["key"].as_str().unwrap();
    assert_eq!(created.header("location"), Some(format!("/v1/asks/{key}").as_str()));
    assert_eq!((&ask["origin"], &ask["project"]), (&json!("program"), &json!("/home/me/site")));
    assert_eq!(ask["asked_by"], "deploy [31m 2.0", "a name is one harmless line");
    let shown = world.command(ANSWERBACK).args(["show", key]).output().unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains("\n  asker    deploy [31m 2.0\n"));
    world.answer(key, &json!({"Deploy?": "Yes", "Which name?": "blue"})).expect(200);
    assert_eq!(world.settled(key)["outcome"]["answers"], json!({"Deploy?": "Yes", "Which name?": "blue"}));
    let history = world.command(ANSWERBACK).arg("history").output().unwrap();
    assert!(String::from_utf8(history.stdout).unwrap().contains("  asked by deploy [31m 2.0  answered"));

    for (body, why) in [
        (json!({"questions": []}), "1 to 16"),
        (json!({"questions": [{"question": " "}]}), "no text"),
        (json!({"questions": [{"question": "a"}, {"question": "a"}]}), "same text"),
        (json!({"questions": [{"text": "a"}]}), "missing field"),
        (json!({}), "missing field"),
    ] {
        let title = world.post("/v1/asks", &body).expect(422).json()["title"].to_string();
        assert!(title.contains(why), "{title}");
    }
    let ask_as = |name: &str| world.post("/v1/asks", &json!({"questions": [{"question": "a"}], "asked_by": name}));
    for name in [
        "Answerback",
        " CLAUDE ",
        "cl\u{200b}aude\u{2060}",
        "Сlаudе",
        "answer-back!",
        "Claude Code",
        "C1aude",
        "CIaude",
        "answerback, process 4711",
    ] {
        let problem = ask_as(name).expect(422).json();
        assert!(problem["title"].as_str().unwrap().contains("not Answerback or Claude"), "{name}: {problem}");
    }
    // An agent that asks with the MCP server says which version it is.
    for name in ["Claude Code 2.1.325", "claudette", "deploy for Claude"] {
        ask_as(name).expect(201);
    }
}

#[test]
fn invalid_requests_are_refused_with_a_reason() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let answer = format!("/v1/asks/{key}/answer");
    let send = |line: &str, content_type: &str, body: &[u8]| {
        let mut headers = world.headers();
        headers.retain(|(name, _)| name != "content-type");
        if !content_type.is_empty() {
            headers.push(("content-type".into(), content_type.into()));
        }
        Request { line, headers, body }.over_tcp(&world.address()).unwrap()
    };
    let post = format!("POST {answer}");
    let good = br#"{"answers": {"Which?": "A"}}"#;
    let deep = format!(r#"{{"answers": {{"Which?": {}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    for (line, content_type, body, status) in [
        (post.as_str(), "application/json", &b"{"[..], 400),
        (&post, "application/json", b"", 400),
        (&post, "application/json", b"\xff", 400),
        (&post, "application/json", deep.as_bytes(), 400),
        (&post, "application/json", b"[]", 422),
        (&post, "application/json", br#"{"answers": 3}"#, 422),
        (&post, "text/plain", good, 415),
        (&post, "application/x-www-form-urlencoded", good, 415),
        (&post, "multipart/form-data; boundary=x", good, 415),
        (&post, "application/jsonp", good, 415),
        (&post, "", good, 415),
        (&post, "application/json", &vec![b' '; 2 * 1024 * 1024], 413),
        ("GET /v1/asks?state=closed", "", b"", 400),
        ("GET /v1/asks?since=soon", "", b"", 400),
        ("GET /v1/nothing", "", b"", 404),
        ("GET /v1/asks/s__nobody", "", b"", 404),
        ("DELETE /v1/asks", "", b"", 405),
        (&format!("GET {answer}"), "", b"", 405),
    ] {
        let reply = send(line, content_type, body).expect(status);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{line}");
        let problem = reply.json();
        assert_eq!(problem["status"], status, "{line}");
        assert!(problem["type"].as_str().unwrap().starts_with("urn:answerback:problem:"), "{problem}");
        assert!(problem["title"].as_str().unwrap().ends_with('.'), "{problem}");
    }
    send(&post, "Application/JSON; charset=utf-8", good).expect(200);
}

#[test]
fn compressed_bodies_are_refused() {
    let mut world = World::new();
    let (_hook, key) = world.ask("s", "t", &[question("Which?")]);
    let mut headers = world.headers();
    headers.push(("content-encoding".into(), "gzip".into()));
    let line = format!("POST /v1/asks/{key}/answer");
    Request { line: &line, headers, body: b"\x1f\x8b" }.over_tcp(&world.address()).unwrap().expect(415);
}

#[test]
fn the_description_covers_every_route_and_each_needs_a_token() {
    let mut world = World::new();
    drop(world.daemon());
    let openapi = world.get("/v1/openapi.json").expect(200).json();
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    let described: BTreeSet<_> = openapi["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| format!("{method} {path}")))
        .collect();
    let expected = [
        "delete /v1/away",
        "get /healthz",
        "get /v1/asks",
        "get /v1/asks/{key}",
        "get /v1/asks/{key}/context",
        "get /v1/asyncapi.json",
        "get /v1/away",
        "get /v1/devices",
        "get /v1/events",
        "get /v1/hosts",
        "get /v1/link",
        "get /v1/openapi.json",
        "get /v1/pairing/{id}",
        "get /v1/people",
        "get /v1/previews/{name}",
        "get /v1/projects",
        "get /v1/sessions",
        "get /v1/setup",
        "get /v1/version",
        "get /v1/ws",
        "post /v1/asks",
        "post /v1/asks/{key}/answer",
        "post /v1/asks/{key}/dismiss",
        "post /v1/asks/{key}/preview",
        "post /v1/asks/{key}/release",
        "post /v1/asks/{key}/withdraw",
        "post /v1/devices/{id}/revoke",
        "post /v1/hooks/claude-code",
        "post /v1/hosts",
        "post /v1/hosts/{name}/revoke",
        "post /v1/launch",
        "post /v1/pairing",
        "post /v1/pairing/claim",
        "post /v1/pairing/token",
        "post /v1/pairing/{id}/confirm",
        "post /v1/pairing/{id}/refuse",
        "post /v1/people",
        "post /v1/people/{id}/revoke",
        "post /v1/session",
        "post /v1/sign-out",
        "post /v1/stop",
        "put /v1/away",
        "put /v1/people/{id}/grants",
    ];
    assert_eq!(described, expected.map(str::to_owned).into());
    let hidden = ["get /v1/nothing", "delete /v1/asks"].map(str::to_owned);
    for route in described.iter().chain(&hidden) {
        let without = [
            "get /healthz",
            "get /v1/previews/{name}",
            "post /v1/session",
            "post /v1/pairing/claim",
            "post /v1/pairing/token",
        ]
        .contains(&route.as_str());
        let line = route.replace("{key}", "s__t").replace("{id}", "1").replace("{name}", "none");
        let (method, path) = line.split_once(' ').unwrap();
        for token in ["", "Bearer ", "Bearer wrong", "Basic abc", &format!("Bearer {}x", world.token())] {
            let mut headers = vec![("host".to_owned(), world.address())];
            if !token.is_empty() {
                headers.push(("authorization".into(), token.into()));
            }
            let line = format!("{} {path}", method.to_uppercase());
            let reply = Request { line: &line, headers, body: b"" }.over_tcp(&world.address()).unwrap();
            let expected = match (without, token) {
                // These operations succeed, or refuse the name or the missing JSON.
                (true, "") => matches!(reply.status, 200 | 410 | 415),
                (false, "") => reply.status == 401,
                // After ten failed attempts, the address gets 429.
                _ => matches!(reply.status, 401 | 429),
            };
            assert!(expected, "{line} with {token:?}: {}", reply.status);
        }
    }
}

#[test]
fn each_token_works_only_for_its_own_operations() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let hook_token = world.daemon_json().unwrap()["hook_token"].as_str().unwrap().to_owned();
    let with = |token: &str, line: &str, body: &Value| world.send(Some(token), line, body);
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"});
    with(&hook_token, &format!("POST /v1/asks/{key}/answer"), &json!({"answers": {"Which?": "A"}})).expect(403);
    with(&hook_token, "GET /v1/asks", &json!({})).expect(403);
    with(&world.token(), "POST /v1/hooks/claude-code", &stop).expect(403);
    with(&world.token(), "POST /v1/launch", &json!({})).expect(403);
    with(&world.token(), "POST /v1/stop", &json!({})).expect(403);
    assert_eq!(with(&hook_token, "POST /v1/hooks/claude-code", &stop).expect(200).body, b"");
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
    // A hook over HTTP gets the same reply for its own question as the hook program.
    let call = crate::world::call("s", "over-http", &[question("Which?")]);
    let reply = thread::scope(|scope| {
        let waiting = scope.spawn(|| with(&hook_token, "POST /v1/hooks/claude-code", &call).expect(200).json());
        world.until_open("s__over-http");
        world.answer("s__over-http", &json!({"Which?": "B"})).expect(200);
        waiting.join().unwrap()
    });
    assert_eq!(reply["hookSpecificOutput"], hook.reply());
}

#[test]
fn the_version_names_the_daemon_and_the_protocol() {
    let mut world = World::new();
    drop(world.daemon());
    let version = world.get("/v1/version").expect(200).json();
    assert_eq!(version, json!({"version": env!("CARGO_PKG_VERSION"), "protocol": 1, "pid": world.daemon_pid()}));
    let json = world.daemon_json().unwrap();
    assert_eq!((&json["version"], &json["protocol"]), (&version["version"], &version["protocol"]));
}

#[test]
fn slow_headers_and_slow_bodies_are_cut() {
    let mut world = World::new();
    drop(world.daemon());
    let address = world.address();
    let open = |text: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(15))).unwrap();
        stream
    };
    let head = format!("POST /v1/session HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    let silent = open("");
    let slow_header = open("GET / HTTP/1.1\r\nhost:");
    let slow_body = open(&format!("{head}content-length: 100\r\n\r\n{{"));
    for (mut stream, expected) in [(silent, ""), (slow_header, ""), (slow_body, "HTTP/1.1 408")] {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn another_user_is_turned_away_from_the_socket() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut world = World::new();
    drop(world.daemon());
    // The user is turned away even if the directory is open to everybody.
    for dir in
        [world.home().to_path_buf(), world.home().join(".local"), world.home().join(".local/state"), world.state("")]
    {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(world.state("daemon.sock"), fs::Permissions::from_mode(0o666)).unwrap();
    let curl = |uid: u32| {
        let mut command = world.command("curl");
        command.args(["-s", "--unix-socket"]).arg(world.state("daemon.sock")).arg("http://localhost/healthz");
        command.env("PATH", std::env::var_os("PATH").unwrap()).uid(uid).output().unwrap().stdout
    };
    assert_eq!(curl(0), b"ok\n");
    assert_eq!(curl(65534), b"");
    assert!(world.log().contains("another user was turned away"));
}
