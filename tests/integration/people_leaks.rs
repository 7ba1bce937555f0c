//! Nothing of a project reaches a person who may not see it, by whatever way.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::team::{Member, SECRET, SHOP, in_project, read_until, secret_question, shop, team};
use crate::world::question;

#[track_caller]
fn assert_silent(what: &str, text: &str) {
    assert!(!text.contains(SECRET), "{what}: {text}");
}

/// What a person who may answer in the shop gets from each operation, and the body to send. The key is that of a secret ask.
fn expected(operation: &str) -> (u16, Value) {
    let answer = json!({"answers": {"SECRET?": "B"}});
    match operation {
        "listAsks" | "listProjects" | "listSessions" | "getAway" | "getSetup" | "getVersion" | "getHealth" => {
            (200, json!({}))
        }
        "getDescription" | "getFrames" => (200, json!({})),
        "getAsk" | "getContext" | "dismissAsk" | "releaseAsk" | "withdrawAsk" => (404, json!({})),
        "answerAsk" => (404, answer),
        "placePreview" => (404, json!({"question": 0, "option": 0})),
        "showPreview" => (410, json!({})),
        "openAsk" => (403, json!({"questions": [{"question": "Mine?"}], "project": "/srv/SECRET"})),
        "setAway" => (403, json!({"words": "Mine", "for_seconds": 60})),
        "endAway" | "handInHook" | "launch" | "stopDaemon" => (403, json!({})),
        "beginPairing" | "getPairing" | "confirmPairing" | "refusePairing" | "listDevices" | "revokeDevice" => {
            (403, json!({}))
        }
        "listPeople" | "addPerson" | "setGrants" | "revokePerson" => (403, json!({})),
        "listHosts" | "addHost" | "revokeHost" | "openLink" => (403, json!({})),
        "signIn" => (410, json!({"code": "guess"})),
        "claimPairing" => (410, json!({"code": "guess"})),
        "fetchToken" => (410, json!({"claim": "guess"})),
        "openWebSocket" => (426, json!({})),
        other => panic!("{other}: say what a person may see there, and try it"),
    }
}

#[test]
fn no_operation_shows_a_project_that_a_person_may_not_see() {
    let (world, _hooks) = team();
    let anna = Member::new(&world, "Anna", &shop());
    let description = anna.get(&world, "/v1/openapi.json").expect(200).json();
    let mut tried = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            // The stream has a test of its own, and the last one would end this test.
            if id == "streamEvents" || id == "signOut" {
                continue;
            }
            let (status, body) = expected(id);
            for key in ["SECRET-open__t", "SECRET-answered__t", "SECRET-dismissed__t"] {
                let path = path.replace("{key}", key).replace("{id}", "1").replace("{name}", "none");
                let reply = anna.send(&world, &format!("{} {path}", method.to_uppercase()), &body);
                let text = String::from_utf8_lossy(&reply.body).into_owned();
                assert_silent(id, &text);
                assert_silent(id, &format!("{:?}", reply.headers));
                assert_eq!(reply.status, status, "{id}: {text}");
                tried += 1;
                if path == path.replace(key, "") {
                    break;
                }
            }
        }
    }
    assert!(tried > 45, "{tried}");
    // Nothing has changed.
    world.assert_open("SECRET-open__t");
    for query in [
        "state=all",
        "state=settled",
        "state=all&limit=1",
        "state=all&probes=true",
        "state=all&text=SECRET",
        "text=SECRET",
        "state=all&project=%2Fsrv%2FSECRET",
        "state=all&session=SECRET-answered",
        "state=settled&outcome=answered",
        "state=all&key_end=__t",
        "state=all&kind=question",
        "state=all&opened_since=2020-01-01T00:00:00Z",
        "state=all&before=3",
        "state=all&before=4&limit=2",
    ] {
        let reply = anna.get(&world, &format!("/v1/asks?{query}")).expect(200);
        assert_silent(query, &String::from_utf8_lossy(&reply.body));
        let list = reply.json();
        assert_eq!((&list["next"], list.get("damaged")), (&Value::Null, None), "{query}: {list}");
    }
    // What does not exist for them does not keep them waiting.
    let begun = Instant::now();
    anna.get(&world, "/v1/asks/SECRET-open__t?wait=300").expect(404);
    assert!(begun.elapsed() < Duration::from_secs(30));
    let projects = anna.get(&world, "/v1/projects").json();
    let hosts = json!([{"host": projects["here"], "projects": [SHOP]}]);
    assert_eq!((&projects["projects"], &projects["hosts"]), (&json!([SHOP]), &hosts));
    let sessions = anna.get(&world, "/v1/sessions").json();
    assert_eq!(
        (sessions["sessions"].as_array().unwrap().len(), &sessions["sessions"][0]["session"]),
        (1, &json!("shop-open"))
    );
    assert_eq!(anna.get(&world, "/v1/asks").json()["asks"].as_array().unwrap().len(), 1);
    // In their own project, they can do what they are there for.
    assert_eq!(anna.get(&world, "/v1/asks/shop-open__t/context").expect(200).json()["said"], "I am shop-open.");
    let by = anna.send(&world, "POST /v1/asks/shop-open__t/answer", &json!({"answers": {"Which?": "A"}})).expect(200);
    assert_eq!(by.json()["outcome"]["by"], json!({"channel": "page", "device": "Anna's phone", "person": "Anna"}));
    let asked = json!({"questions": [question("Deploy?")], "project": SHOP});
    let asked = anna.send(&world, "POST /v1/asks", &asked).expect(201).json();
    anna.send(&world, &format!("POST /v1/asks/{}/withdraw", asked["key"].as_str().unwrap()), &json!({})).expect(200);
    anna.send(&world, "POST /v1/sign-out", &json!({})).expect(204);
    anna.get(&world, "/v1/asks").expect(401);
}

#[test]
fn no_event_and_no_frame_shows_a_project_that_a_person_may_not_see() {
    let (mut world, _hooks) = team();
    let anna = Member::new(&world, "Anna", &shop());
    let asked = json!({"questions": [question("Deploy?")], "project": SHOP});
    let program = world.post("/v1/asks", &asked).expect(201).json();
    let mut events = anna.events(&world);
    let (mut companion, _) = anna.companion(&world, &json!({"type": "subscribe", "since": "0"}));
    // Each of them is up to date, so that what comes now is told while it happens.
    let mut told = read_until(&mut events, "shop-open__t");
    let mut frames = vec![companion.next_of("ask_user_question")];
    let project = format!("/srv/{SECRET}");
    let (_hook, _) = in_project(&mut world, "SECRET-live", &project, &[secret_question()]);
    world.post("/v1/asks/SECRET-live__t/answer", &json!({"answers": {"SECRET?": "SECRET label"}})).expect(200);
    world.post("/v1/asks/SECRET-open__t/dismiss", &json!({"reason": SECRET})).expect(200);
    world.post(&format!("/v1/asks/{}/withdraw", program["key"].as_str().unwrap()), &json!({})).expect(200);
    let (_hook, last) = in_project(&mut world, "shop-last", SHOP, &[question("Last?")]);
    told += &read_until(&mut events, &last);
    assert_silent("events", &told);
    // A session of their own that has ended is told, although nothing is known about it any more.
    let session = program["session"].as_str().unwrap();
    let is_end = |line: &str| line.contains("session.changed") && line.contains(session) && line.contains("\"ended\"");
    assert!(told.lines().any(is_end), "{told}");
    while frames.last().unwrap()["question_id"] != last {
        frames.push(companion.next());
    }
    for frame in &frames {
        assert_silent("frames", &frame.to_string());
    }

    // Naming the session or the question does not help.
    companion.send(&json!({"type": "subscribe", "session_id": "SECRET-open", "since": "0"}));
    companion.send(
        &json!({"type": "ask_user_response", "data": {"question_id": "SECRET-open__t", "answers": {"SECRET?": "B"}}}),
    );
    let mut texts = String::new();
    loop {
        let frame = companion.next();
        texts += &frame.to_string();
        if frame["type"] == "error" {
            assert_eq!(frame["error"], "not-found");
            break;
        }
    }
    assert_silent("frames", &texts.replace("SECRET-open__t", "").replace("\"SECRET-open\"", ""));
    companion.send(&json!({"type": "ask_user_response", "data": {"question_id": last, "answers": {"Last?": "A"}}}));
    let settled = loop {
        let frame = companion.next_of("ask_user_settled");
        if frame["question_id"] == last {
            break frame;
        }
    };
    assert_eq!(settled["outcome"]["by"]["person"], "Anna");
}
