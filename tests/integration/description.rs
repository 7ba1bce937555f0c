//! The API's description of itself (`GET /v1/openapi.json`) is true, and every refusal has a reason. tests/api_description checks the same
//! with generated requests.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::http::{Reply, Request};
use crate::world::{World, question};

fn world() -> (World, Value) {
    let mut world = World::new();
    drop(world.daemon());
    let description = world.get("/v1/openapi.json").expect(200).json();
    (world, description)
}

/// Each operation as `METHOD /path`, with its description.
fn operations(description: &Value) -> Vec<(String, &Map<String, Value>)> {
    let paths = description["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| {
            (format!("{} {path}", method.to_uppercase()), operation.as_object().unwrap())
        })
    });
    operations.collect()
}

/// The request line of an operation, with values for the parameters in its path.
fn line(operation: &str) -> String {
    operation.replace("{key}", "s__none").replace("{id}", "1").replace("{name}", "none")
}

fn over_socket(world: &World, line: &str, body: &str) -> Reply {
    let headers = [("host", "localhost"), ("content-type", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Request { line, headers, body: body.as_bytes() }.over_socket(&world.state("daemon.sock")).unwrap()
}

#[test]
fn the_description_is_complete() {
    let (_world, description) = world();
    let info = &description["info"];
    assert_eq!((&info["title"], &info["contact"]), (&json!("Answerback"), &Value::Null));
    assert_eq!(info["license"]["name"], "MIT OR Apache-2.0");
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&description) {
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{name}: its id is another's too");
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{name}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}: {status}");
            let status: u16 = status.parse().unwrap_or_else(|_| panic!("{name}: {status} is no status"));
            if status >= 400 {
                let media_types: Vec<_> = response["content"].as_object().unwrap().keys().collect();
                assert_eq!(media_types, ["application/problem+json"], "{name}: {status}");
            }
        }
        for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            assert!(parameter["description"].is_string(), "{name}: {parameter}");
        }
    }
}

#[test]
fn the_description_names_the_role_of_each_operation() {
    let (world, description) = world();
    let tokens = world.daemon_json().unwrap();
    let tokens = [("token", &["read", "answer", "ask"][..]), ("hook_token", &["hook"])]
        .map(|(name, roles)| (format!("Bearer {}", tokens[name].as_str().unwrap()), roles));
    for (name, operation) in operations(&description) {
        let security = operation["security"].as_array().unwrap_or_else(|| panic!("{name}"));
        let role = security.first().map(|needed| needed["token"][0].as_str().unwrap());
        let statuses = operation["responses"].as_object().unwrap();
        let call = |token: Option<&str>| {
            let mut headers = vec![("host".to_owned(), world.address()), ("content-type".into(), "text/plain".into())];
            headers.extend(token.map(|token| ("authorization".to_owned(), token.to_owned())));
            let reply = Request { line: &line(&name), headers, body: b"" }.over_tcp(&world.address()).unwrap();
            assert!(statuses.contains_key(&reply.status.to_string()), "{name}: {} is not described", reply.status);
            reply
        };
        assert_eq!(call(None).status == 401, role.is_some(), "{name} without a token");
        for (token, roles) in &tokens {
            let reply = call(Some(token));
            let is_refused = reply.status == 403 && reply.json()["title"] == "This token is not for that.";
            assert_eq!(is_refused, role.is_some_and(|role| !roles.contains(&role)), "{name} with {roles:?}");
        }
    }
}

#[test]
fn every_body_is_checked_even_in_fields_that_are_ignored() {
    let (world, description) = world();
    let deep = format!(r#"{{"ignored": {}{}}}"#, "[".repeat(200), "]".repeat(200));
    let mut bodies = 0;
    for (name, operation) in operations(&description) {
        if !operation.contains_key("requestBody") {
            continue;
        }
        bodies += 1;
        for (body, reason) in [
            (deep.as_str(), "levels deep"),
            (r#"{"ignored": 1, "ignored": 2}"#, "`ignored` comes twice"),
            (r#"{"ignored": [{"inner": {"twice": 1, "twice": 1}}]}"#, "`twice` comes twice"),
        ] {
            let reply = over_socket(&world, &line(&name), body);
            let said = String::from_utf8_lossy(&reply.body);
            assert!(reply.status == 400 && said.contains(reason), "{name} {reason}: {} {said}", reply.status);
        }
        if !name.contains("hooks") {
            let said = over_socket(&world, &line(&name), "[]").expect(422).json()["title"].to_string();
            assert!(said.contains("an object"), "{name}: {said}");
        }
    }
    assert_eq!(bodies, 17, "bodies were found");
}

#[test]
fn an_answer_with_the_same_question_twice_is_refused() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    let path = format!("/v1/asks/{key}/answer");
    let title = world.post_bytes(&path, br#"{"answers": {"Which?": "A", "Which?": "B"}}"#).expect(400).json();
    assert!(title["title"].as_str().unwrap().contains("`Which?` comes twice"), "{title}");
    assert!(hook.is_waiting());
    world.answer(&key, &json!({"Which?": "B"})).expect(200);
}

#[test]
fn query_values_have_limits() {
    let (world, _) = world();
    let long = "x".repeat(513);
    for (query, named) in [
        ("limit=0", "limit: expected a whole number from 1 to 1000"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=%2B5", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("wait=301", "wait: expected a whole number from 0 to 300"),
        ("wait=-1", "wait"),
        ("wait=1.5", "wait"),
        ("since=-1", "since"),
        ("since=99999999999999999999", "since"),
        ("before=0", "before"),
        ("state=closed", "state"),
        ("outcome=lost", "outcome"),
        ("opened_since=yesterday", "opened_since"),
        ("stat=settled", "stat"),
        (&format!("text={long}"), "text"),
    ] {
        let problem = world.get(&format!("/v1/asks?{query}")).expect(400).json();
        assert!(problem["title"].as_str().unwrap().contains(named), "{query}: {problem}");
    }
    for query in ["limit=1&before=1&since=999999&wait=300", "limit=1000&state=all", "wait=0", "text=&session=&project="]
    {
        world.get(&format!("/v1/asks?{query}")).expect(200);
    }
    for line in ["GET /v1/asks/s__none?wait=301", "GET /v1/asks/s__none?weight=1", "GET /v1/pairing/1?wait=301"] {
        over_socket(&world, line, "").expect(400);
    }
    over_socket(&world, "POST /v1/pairing/token?wait=301", r#"{"claim": "x"}"#).expect(400);
    for line in ["GET /v1/previews/%ff", "GET /v1/pairing/%ff", "POST /v1/devices/%ff/revoke", "GET /v1/asks/%ff"] {
        let reply = over_socket(&world, line, "").expect(404);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{line}");
    }
}

#[test]
fn the_described_limits_are_the_limits_of_the_daemon() {
    let (world, description) = world();
    let limit = |pointer: &str| {
        let found = description.pointer(&format!("/components/schemas/{pointer}")).and_then(Value::as_u64);
        usize::try_from(found.unwrap_or_else(|| panic!("{pointer} has no limit"))).unwrap()
    };
    let ask = |body: Value| {
        let reply = world.post("/v1/asks", &body);
        let key = (reply.status == 201).then(|| reply.json()["key"].as_str().unwrap().to_owned());
        assert!(key.is_some() || reply.status == 422, "{}", reply.status);
        key
    };
    let questions =
        |count: usize| json!({"questions": (0..count).map(|n| question(&n.to_string())).collect::<Vec<_>>()});
    let of_one = |question: Value| json!({"questions": [question]});
    let text = |length: usize| "x".repeat(length);
    let options = |count: usize| (0..count).map(|n| json!({"label": n.to_string()})).collect::<Vec<_>>();
    type Body<'a> = &'a dyn Fn(usize) -> Value;
    for (pointer, body) in [
        ("AskRequest/properties/questions/maxItems", &questions as Body<'_>),
        ("AskRequest/properties/project/maxLength", &|n| json!({"questions": [question("?")], "project": text(n)})),
        ("AskRequest/properties/asked_by/maxLength", &|n| json!({"questions": [question("?")], "asked_by": text(n)})),
        ("Question/properties/question/maxLength", &|n| of_one(json!({"question": text(n)}))),
        ("Question/properties/options/maxItems", &|n| of_one(json!({"question": "?", "options": options(n)}))),
        ("QuestionOption/properties/label/maxLength", &|n| {
            of_one(json!({"question": "?", "options": [{"label": text(n)}]}))
        }),
    ] {
        assert!(ask(body(limit(pointer))).is_some(), "{pointer}");
        assert!(ask(body(limit(pointer) + 1)).is_none(), "{pointer} and one more");
    }
    for wrong in [
        json!({"questions": [["Which?"]]}),
        json!({"questions": [{"question": "Which?", "options": [["A"]]}]}),
        json!({"questions": [{"question": "Which?"}], "timeout_seconds": -1}),
    ] {
        assert!(ask(wrong.clone()).is_none(), "{wrong}");
    }
    let answers = limit("AnswerRequest/properties/answers/additionalProperties/oneOf/0/maxLength");
    let notes = limit("AnswerRequest/properties/notes/additionalProperties/maxLength");
    let reason = limit("DismissRequest/properties/reason/maxLength");
    for (more, status) in [(1, 422), (0, 200)] {
        let key = ask(questions(1)).unwrap();
        world.answer(&key, &json!({"0": text(answers + more)})).expect(status);
        let key = ask(questions(1)).unwrap();
        let body = json!({"answers": {"0": "A"}, "notes": {"0": text(notes + more)}});
        world.post(&format!("/v1/asks/{key}/answer"), &body).expect(status);
        let key = ask(questions(1)).unwrap();
        world.post(&format!("/v1/asks/{key}/dismiss"), &json!({"reason": text(reason + more)})).expect(status);
    }
}
