//! People and roles: who may do what, and how it ends.

use std::io::BufRead;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Reply, Request};
use crate::phone::{LAN, Phone, admin};
use crate::team::{Member, read_until, shop, team};
use crate::threads::until_asleep;
use crate::world::{World, question};

#[test]
fn somebody_who_may_not_answer_takes_no_session_from_those_who_may() {
    let (world, _hooks) = team();
    let (anna, ben) = (Member::new(&world, "Anna", &shop()), Member::new(&world, "Ben", &json!([{"role": "view"}])));
    let subscribe = json!({"type": "subscribe", "session_id": "shop-open"});
    let (mut hers, _) = anna.companion(&world, &subscribe);
    hers.next_of("ask_user_question");
    let (mut his, took_over) = ben.companion(&world, &subscribe);
    assert!(!took_over);
    his.next_of("ask_user_question");
    his.send(&json!({"type": "ask_user_response", "data": {"question_id": "shop-open__t", "cancelled": true}}));
    assert_eq!(his.next_of_any(&["error", "session_taken"])["type"], "session_taken");
    hers.send(
        &json!({"type": "ask_user_response", "data": {"question_id": "shop-open__t", "answers": {"Which?": "A"}}}),
    );
    assert_eq!(hers.next_of_any(&["ask_user_settled", "session_taken"])["type"], "ask_user_settled");
}

#[test]
fn each_role_allows_what_it_is_for() {
    let (world, _hooks) = team();
    let viewer = Member::new(&world, "Viewer", &json!([{"role": "view"}]));
    let answerer = Member::new(&world, "Answerer", &json!([{"role": "answer"}]));
    let boss = Member::new(&world, "Boss", &json!([{"role": "admin"}]));
    let open = |member: &Member| member.get(&world, "/v1/asks").expect(200).json()["asks"].as_array().unwrap().len();
    assert_eq!([open(&viewer), open(&answerer), open(&boss)], [3, 3, 3]);
    let away = json!({"words": "Later", "for_seconds": 60, "kinds": ["plan"]});
    for (line, body, statuses) in [
        ("POST /v1/asks/shop-open__t/dismiss", json!({}), [403, 200, 409]),
        ("PUT /v1/away", away, [403, 200, 200]),
        ("DELETE /v1/away", json!({}), [403, 200, 200]),
        ("POST /v1/asks", json!({"questions": [question("Now?")]}), [403, 201, 201]),
        ("GET /v1/devices", json!({}), [403, 403, 200]),
        ("GET /v1/people", json!({}), [403, 403, 200]),
        ("POST /v1/people", json!({"name": "New", "grants": [{"role": "view"}]}), [403, 403, 201]),
        ("PUT /v1/people/99/grants", json!({"grants": [{"role": "view"}]}), [403, 403, 404]),
        ("POST /v1/people/99/revoke", json!({}), [403, 403, 404]),
        ("POST /v1/pairing", json!({}), [403, 403, 201]),
        ("GET /v1/hosts", json!({}), [403, 403, 200]),
        ("POST /v1/hosts", json!({"name": "build-1"}), [403, 403, 201]),
        ("POST /v1/hosts/build-1/revoke", json!({}), [403, 403, 204]),
        ("GET /v1/link", json!({}), [403, 403, 403]),
        ("POST /v1/launch", json!({}), [403, 403, 403]),
        ("POST /v1/stop", json!({}), [403, 403, 403]),
        ("POST /v1/hooks/claude-code", json!({}), [403, 403, 403]),
    ] {
        // What was dismissed before is refused in another way, but not because of the role.
        for (member, status) in [&viewer, &answerer, &boss].into_iter().zip(statuses) {
            let reply = member.send(&world, line, &body);
            let status = if line.ends_with("dismiss") && status == 409 { 200 } else { status };
            assert_eq!(reply.status, status, "{line}: {}", String::from_utf8_lossy(&reply.body));
            if status == 403 {
                assert_eq!(reply.json()["type"], "urn:answerback:problem:role", "{line}");
            }
        }
    }
    // A device that an admin lets in belongs to them, so it ends with them.
    let pairing = boss.send(&world, "POST /v1/pairing", &json!({})).expect(201).json();
    let phone = Phone::new(&pairing);
    let claimed =
        phone.send("POST /v1/pairing/claim", &json!({"code": pairing["code"], "name": "Second"})).expect(200).json();
    let path = format!("POST /v1/pairing/{}/confirm", pairing["id"].as_str().unwrap());
    boss.send(&world, &path, &json!({"check": claimed["check"]})).expect(200);
    phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(200);
    let devices = boss.get(&world, "/v1/devices").expect(200).json();
    let second =
        devices["devices"].as_array().unwrap().iter().find(|device| device["name"] == "Second").unwrap().clone();
    assert_eq!(second["person"], "Boss");
    boss.send(&world, &format!("POST /v1/devices/{}/revoke", second["id"]), &json!({})).expect(204);
}

#[test]
fn what_a_person_who_is_removed_waits_for_ends_at_once() {
    let (world, _hooks) = team();
    let (anna, ben) = (Member::new(&world, "Anna", &shop()), Member::new(&world, "Ben", &shop()));
    let (mut events, mut others) = (anna.events(&world), ben.events(&world));
    read_until(&mut events, "shop-open__t");
    let (mut companion, _) = anna.companion(&world, &json!({"type": "subscribe"}));
    companion.next_of("ask_user_question");
    let cursor = anna.get(&world, "/v1/asks").json()["cursor"].as_str().unwrap().to_owned();
    let headers = world.headers_with(Some(&anna.token));
    let poll = format!("GET /v1/asks?since={cursor}&wait=60");
    let mut poll = Request { line: &poll, headers, body: b"" }.begin_over_tcp(&world.address()).unwrap();
    // A daemon that sleeps has taken the request and not answered it: it is parked.
    until_asleep(world.daemon_pid());
    let revoked = Instant::now();
    anna.revoke(&world);
    assert_eq!(Reply::read(&mut poll).unwrap().status, 401);
    companion.expect_closed(4401);
    let mut rest = String::new();
    while rest.lines().last() != Some("0") {
        assert!(revoked.elapsed() < Duration::from_secs(5), "the stream goes on");
        if events.read_line(&mut rest).unwrap() == 0 {
            break;
        }
    }
    anna.get(&world, "/v1/asks").expect(401);
    world.post("/v1/asks/shop-open__t/release", &json!({})).expect(200);
    read_until(&mut others, "ask.settled");
    let people = admin(&world, "GET /v1/people", &json!({})).expect(200).json();
    assert_eq!((people["people"].as_array().unwrap().len(), &people["people"][0]["name"]), (1, &json!("Ben")));
}

#[test]
fn other_grants_count_at_once_for_what_is_open() {
    let (world, _hooks) = team();
    let anna = Member::new(&world, "Anna", &shop());
    let mut events = anna.events(&world);
    read_until(&mut events, "shop-open__t");
    let (mut companion, _) = anna.companion(&world, &json!({"type": "subscribe"}));
    companion.next_of("ask_user_question");
    let list = anna.get(&world, "/v1/asks").expect(200);
    let etag = list.header("etag").unwrap().to_owned();
    anna.grant(&world, &json!([{"role": "view", "project": "/srv/SECRET"}]));
    read_until(&mut events, "event: reset");
    companion.next_of("reset");
    for _ in 0..2 {
        let shown = companion.next_of("ask_user_question");
        assert_eq!(shown["project"], "/srv/SECRET", "{shown}");
    }
    // The cursor is the same, and the list is another.
    let mut headers = world.headers_with(Some(&anna.token));
    headers.push(("if-none-match".into(), etag));
    let again = Request { line: "GET /v1/asks", headers, body: b"" }.over_tcp(&world.address()).unwrap().expect(200);
    assert_eq!(again.json()["asks"].as_array().unwrap().len(), 2);
    anna.get(&world, "/v1/asks/shop-open__t").expect(404);
    companion.send(
        &json!({"type": "ask_user_response", "data": {"question_id": "shop-open__t", "answers": {"Which?": "A"}}}),
    );
    assert_eq!(companion.next_of("error")["error"], "not-found");
    companion.send(
        &json!({"type": "ask_user_response", "data": {"question_id": "SECRET-open__t", "answers": {"SECRET?": "B"}}}),
    );
    assert_eq!(companion.next_of("error")["error"], "role");
    // A change of what they could see before is not told any more.
    world.post("/v1/asks/shop-open__t/release", &json!({})).expect(200);
    world.post("/v1/asks/SECRET-open__t/release", &json!({})).expect(200);
    let told = read_until(&mut events, "data: {\"type\":\"ask.settled\"");
    let settled = told.lines().last().unwrap();
    assert!(settled.contains("SECRET-open__t"), "{settled}");
    assert_eq!(companion.next_of("ask_user_settled")["question_id"], "SECRET-open__t");
}

#[test]
fn a_device_of_nobody_sees_everything_and_people_survive_a_restart() {
    let (mut world, _hooks) = team();
    let anna = Member::new(&world, "Anna", &shop());
    let phone = Phone::paired(&world, "Own");
    assert_eq!(phone.get("/v1/asks").expect(200).json()["asks"].as_array().unwrap().len(), 3);
    phone.send("GET /v1/people", &json!({})).expect(403);
    let before = admin(&world, "GET /v1/people", &json!({})).expect(200).json();
    world.kill_daemon();
    drop(world.daemon());
    assert_eq!(admin(&world, "GET /v1/people", &json!({})).expect(200).json(), before);
    assert_eq!(anna.get(&world, "/v1/asks").expect(200).json()["asks"].as_array().unwrap().len(), 1);
}

#[test]
fn bad_people_are_refused_with_a_reason() {
    let mut world = World::new();
    drop(world.daemon());
    let add = |body: Value| admin(&world, "POST /v1/people", &body);
    let view = json!([{"role": "view"}]);
    add(json!({"name": "Anna", "grants": view})).expect(201);
    for (body, status, said) in [
        (json!({"name": "Anna", "grants": view}), 409, "with this name"),
        (json!({"name": " \n", "grants": view}), 422, "needs a name"),
        (json!({"name": "Ben", "grants": []}), 422, "at least one grant"),
        (json!({"name": "Ben", "grants": [{"role": "owner"}]}), 422, "unknown variant `owner`"),
        (json!({"name": "Ben", "grants": [{"role": "admin", "project": "/srv/*"}]}), 422, "for all projects"),
        (json!({"name": "Ben", "grants": [{"role": "view", "project": ""}]}), 422, "is empty"),
    ] {
        let reply = add(body).expect(status).json();
        assert!(reply["title"].as_str().unwrap().contains(said), "{reply}");
    }
    admin(&world, "PUT /v1/people/x/grants", &json!({"grants": view})).expect(404);
    let mut lan = World::with_config(LAN);
    drop(lan.daemon());
    admin(&lan, "POST /v1/pairing", &json!({"person": 7})).expect(404);
}
