//! How a page signs in.

use serde_json::{Value, json};

use crate::phone::admin;
use crate::world::World;

fn launch(world: &World) -> Value {
    admin(world, "POST /v1/launch", &json!({})).expect(201).json()
}

#[test]
fn a_code_is_traded_once_for_a_token_that_survives_a_restart() {
    let mut world = World::new();
    drop(world.daemon());
    let code = launch(&world)["code"].clone();
    let body = json!({"code": code});
    let session = world.send(None, "POST /v1/session", &body).expect(201).json();
    let token = session["token"].as_str().unwrap();
    world.send(None, "POST /v1/session", &body).expect(410);
    world.send(None, "POST /v1/session", &json!({"code": "guess"})).expect(410);

    world.kill_daemon();
    drop(world.daemon());
    world.send(Some(token), "GET /v1/asks", &json!({})).expect(200);
    world.send(Some(token), "POST /v1/launch", &json!({})).expect(403);
    let question = json!({"questions": [{"question": "Q?"}]});
    let ask = world.send(Some(token), "POST /v1/asks", &question).expect(201).json();
    let line = format!("POST /v1/asks/{}/answer", ask["key"].as_str().unwrap());
    let settled = world.send(Some(token), &line, &json!({"answers": {"Q?": "yes"}})).expect(200).json();
    assert_eq!(settled["outcome"]["by"]["channel"], "page");
}

#[test]
fn no_secret_is_written_where_it_need_not_be() {
    let mut world = World::with_config("log_level = \"trace\"\n");
    drop(world.daemon());
    let code = launch(&world)["code"].as_str().unwrap().to_owned();
    let session = world.send(None, "POST /v1/session", &json!({"code": code})).expect(201).json();
    let page_token = session["token"].as_str().unwrap().to_owned();
    world.send(Some(&page_token), "GET /v1/asks", &json!({})).expect(200);
    let everywhere = std::fs::read_dir(world.state("")).unwrap().flatten();
    for file in everywhere {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let holds = |secret: &str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!holds(&code) && !holds(&page_token), "{:?}", file.path());
        let meant = ["tokens.json", "daemon.json"].contains(&file.file_name().to_str().unwrap());
        assert_eq!(holds(&world.token()), meant, "{:?}", file.path());
    }
}
