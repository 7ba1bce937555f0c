//! A team at one daemon: people with devices, and two projects of which one must not be seen by everybody.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::companion::{Companion, connect_with};
use crate::http::{Reply, Request};
use crate::phone::{LAN, Phone, admin};
use crate::world::{Hook, World, call, question};

/// It is in every text of the project that must not be seen.
pub(crate) const SECRET: &str = "SECRET";
pub(crate) const SHOP: &str = "/srv/shop";

/// Somebody of a team, with a device that is signed in.
pub(crate) struct Member {
    pub(crate) id: i64,
    pub(crate) token: String,
}

impl Member {
    pub(crate) fn new(world: &World, name: &str, grants: &Value) -> Self {
        let person = admin(world, "POST /v1/people", &json!({"name": name, "grants": grants})).expect(201).json();
        let id = person["id"].as_i64().unwrap();
        let phone = Phone::paired_for(world, &format!("{name}'s phone"), Some(id));
        Self { id, token: phone.token.unwrap() }
    }

    /// The same over loopback, where a hub has a way of its own to the network.
    pub(crate) fn near(world: &World, name: &str, grants: &Value) -> Self {
        let person = admin(world, "POST /v1/people", &json!({"name": name, "grants": grants})).expect(201).json();
        let pairing = admin(world, "POST /v1/pairing", &json!({"person": person["id"]})).expect(201).json();
        let claim = json!({"code": pairing["code"], "name": "Phone"});
        let claim = world.send(None, "POST /v1/pairing/claim", &claim).expect(200).json();
        let confirm = format!("POST /v1/pairing/{}/confirm", pairing["id"].as_str().unwrap());
        admin(world, &confirm, &json!({"check": claim["check"]})).expect(200);
        let token = world.send(None, "POST /v1/pairing/token", &json!({"claim": claim["claim"]})).expect(200).json();
        Self { id: person["id"].as_i64().unwrap(), token: token["token"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn send(&self, world: &World, line: &str, body: &Value) -> Reply {
        world.send(Some(&self.token), line, body)
    }

    pub(crate) fn get(&self, world: &World, path: &str) -> Reply {
        self.send(world, &format!("GET {path}"), &json!({}))
    }

    /// The event stream from its beginning, with what sessions do.
    pub(crate) fn events(&self, world: &World) -> BufReader<TcpStream> {
        let mut headers = world.headers_with(Some(&self.token));
        headers.push(("last-event-id".into(), "0".into()));
        let request = Request { line: "GET /v1/events?sessions=true&probes=true", headers, body: b"" };
        let (head, stream) = request.stream(&world.address()).unwrap();
        assert_eq!(head.status, 200);
        stream
    }

    /// A companion that has subscribed with this frame, and whether that took a session from another one.
    pub(crate) fn companion(&self, world: &World, subscribe: &Value) -> (Companion, bool) {
        let bearer = format!("Bearer {}", self.token);
        let mut companion = connect_with(world, &[("authorization", &bearer)]).unwrap().0;
        companion.send(subscribe);
        let subscribed = companion.next_of("subscribed");
        (companion, subscribed["took_over"] == true)
    }

    pub(crate) fn grant(&self, world: &World, grants: &Value) {
        let line = format!("PUT /v1/people/{}/grants", self.id);
        admin(world, &line, &json!({"grants": grants})).expect(200);
    }

    pub(crate) fn revoke(&self, world: &World) {
        admin(world, &format!("POST /v1/people/{}/revoke", self.id), &json!({})).expect(204);
    }
}

pub(crate) fn in_project(world: &mut World, session: &str, project: &str, questions: &[Value]) -> (Hook, String) {
    let transcript = world.home().join(format!("{session}.jsonl"));
    let said = json!({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": format!("I am {session}.")}]}});
    fs::write(&transcript, format!("{said}\n")).unwrap();
    let mut call = call(session, "t", questions);
    call["cwd"] = project.into();
    call["transcript_path"] = transcript.to_str().unwrap().into();
    let hook = world.hook(&call);
    let key = format!("{session}__t");
    world.until_open(&key);
    world.until_parked(&hook);
    (hook, key)
}

pub(crate) fn secret_question() -> Value {
    json!({"question": "SECRET?", "header": SECRET, "multiSelect": false, "options": [
        {"label": "SECRET label", "description": SECRET, "preview": "<b>SECRET</b>"}, {"label": "B", "description": SECRET}]})
}

pub(crate) fn shop() -> Value {
    json!([{"role": "answer", "project": SHOP}])
}

/// A team with asks of two projects. In the secret one, an ask is open, one is answered, and one is dismissed. Somebody is away there.
pub(crate) fn team() -> (World, Vec<Hook>) {
    let mut world = World::with_config(LAN);
    drop(world.daemon());
    let project = format!("/srv/{SECRET}");
    let mut hooks = Vec::new();
    for session in ["SECRET-answered", "SECRET-dismissed", "SECRET-open"] {
        hooks.push(in_project(&mut world, session, &project, &[secret_question()]).0);
    }
    let answer = json!({"answers": {"SECRET?": "SECRET label"}, "notes": {"SECRET?": "SECRET note"}});
    world.post("/v1/asks/SECRET-answered__t/answer", &answer).expect(200);
    world.post("/v1/asks/SECRET-dismissed__t/dismiss", &json!({"reason": "SECRET reason"})).expect(200);
    world
        .post("/v1/asks", &json!({"questions": [secret_question()], "project": project, "asked_by": SECRET}))
        .expect(201);
    let away = json!({"words": "SECRET words", "for_seconds": 600, "project": "/srv/SECRET", "kinds": ["plan"]});
    world.send(Some(&world.token()), "PUT /v1/away", &away).expect(200);
    hooks.push(in_project(&mut world, "shop-open", SHOP, &[question("Which?")]).0);
    (world, hooks)
}

/// Reads a stream until a line has this text. Returns everything that came.
pub(crate) fn read_until(stream: &mut impl BufRead, text: &str) -> String {
    let mut all = String::new();
    loop {
        let start = all.len();
        assert_ne!(stream.read_line(&mut all).unwrap(), 0, "the stream ended: {all}");
        if all[start..].contains(text) {
            return all;
        }
    }
}
