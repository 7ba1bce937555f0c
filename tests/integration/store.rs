//! The file the truth is in.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{ANSWERBACK, World, call, question};

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    world.kill_daemon();
    daemon.wait().unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(world.state("asks.db")).unwrap();
    let refused = world.command(ANSWERBACK).arg("daemon").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("schema 99") && stderr.contains("newer version"), "{stderr}");
    assert_eq!(fs::read(world.state("asks.db")).unwrap(), before);
    world.hook(&call("s", "t", &[question("Which?")])).no_decision();
}

#[test]
fn a_file_of_another_program_is_refused_and_left_as_it_is() {
    let world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch("CREATE TABLE precious (a); INSERT INTO precious VALUES (1)").unwrap();
    drop(connection);
    for content in
        [fs::read(world.state("asks.db")).unwrap(), b"not a database at all, but long enough to look".to_vec()]
    {
        fs::write(world.state("asks.db"), &content).unwrap();
        let refused = world.command(ANSWERBACK).arg("daemon").output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(fs::read(world.state("asks.db")).unwrap(), content);
    }
}

#[test]
fn the_first_schema_still_loads() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let dump = include_str!("../data/store-v1.sql");
    Connection::open(world.state("asks.db")).unwrap().execute_batch(dump).unwrap();
    drop(world.daemon());
    let list = world.get("/v1/asks?state=all").expect(200).json();
    let asks = list["asks"].as_array().unwrap();
    assert_eq!(asks.len(), 4);
    let by_key = |key: &str| asks.iter().find(|ask| ask["key"] == key).unwrap();
    assert_eq!(by_key("s1__answered")["outcome"]["answers"], json!({"Which?": "A", "Many?": "X, Y"}));
    assert_eq!(by_key("s1__answered")["outcome"]["notes"], json!({"Which?": "a note"}));
    assert_eq!(by_key("s1__dismissed")["outcome"]["reason"], "not today");
    assert_eq!(by_key("s1__withdrawn")["outcome"]["kind"], "withdrawn");
    assert_eq!(by_key("s1__deferred")["deferred"], true);
    // The answer it holds is still given.
    let call = call("s1", "answered", &[question("Which?"), question("Many?")]);
    assert_eq!(world.hook(&call).reply()["updatedInput"]["answers"], json!({"Which?": "A", "Many?": "X, Y"}));
}

#[test]
fn the_second_schema_still_loads_and_its_page_stays_signed_in() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch(include_str!("../data/store-v2.sql")).unwrap();
    let token = "c3fb4611198f1335096b1824f4e0894380f6eeefb2d74b0ea21e5b3855943a16";
    let now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    connection.execute(&format!("UPDATE page_sessions SET created_at = {now} - 86400000"), []).unwrap();
    drop(connection);
    drop(world.daemon());
    let list = world.send(Some(token), "GET /v1/asks?state=all", &json!({})).expect(200).json();
    let asks = list["asks"].as_array().unwrap();
    let answered = asks.iter().find(|ask| ask["key"] == "s2__answered").unwrap();
    assert_eq!(answered["outcome"]["by"], json!({"channel": "page", "agent": "browser/1.0"}));
    assert_eq!(answered["receipt"]["as_sent"], true);
    assert_eq!(asks.iter().filter(|ask| ask["state"] == "open").count(), 1);
}

#[test]
fn the_third_schema_still_loads_and_its_open_questions_go_on() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch(include_str!("../data/store-v3.sql")).unwrap();
    drop(connection);
    let mut daemon = world.daemon();
    let listed = |query: &str| {
        let list = world.get(&format!("/v1/asks?state=all{query}")).expect(200).json();
        let keys = list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap().to_owned());
        keys.collect::<Vec<_>>()
    };
    // What the doctor had asked itself is told apart from now on.
    assert_eq!(listed(""), ["program-2c0b43d5ef97__4c44cf43647a", "s3__answered", "s3__open"]);
    assert_eq!(listed("&probes=true").len(), 4);
    assert_eq!(world.get("/v1/asks/s3__answered").json()["outcome"]["notes"], json!({"Which?": "a note"}));
    // A hook of before comes back, and the end of another process of its session is not its own.
    let mut command = world.command(crate::world::HOOK);
    command.env("CLAUDE_PID", "4711");
    let hook = world.hook_with(command, call("s3", "open", &[question("Which?")]).to_string().as_bytes());
    world.until_parked(&hook);
    let mut end = call("s3", "", &[question("Which?")]);
    end["hook_event_name"] = json!("SessionEnd");
    world.hook(&end).no_decision();
    world.answer("s3__open", &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
    // Its deadline is in the far future, and is kept.
    world.stop_daemon(&mut daemon);
    drop(world.daemon());
    let program = world.get("/v1/asks/program-2c0b43d5ef97__4c44cf43647a").expect(200).json();
    assert_eq!(program["state"], "open");
}

#[test]
fn the_fourth_schema_still_loads_is_sound_and_can_be_answered() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch(include_str!("../data/store-v4.sql")).unwrap();
    let now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    connection.execute(&format!("UPDATE devices SET last_seen_at = {now} - 86400000"), []).unwrap();
    drop(connection);
    let store_is_sound = |world: &World| {
        let doctor = world.command(ANSWERBACK).args(["doctor", "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
        let about_store = report["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "store");
        assert_eq!(about_store.unwrap()["level"], "ok", "{report}");
    };
    // The first look is at the file as the old version left it. Then the doctor's own question starts a daemon.
    store_is_sound(&world);
    store_is_sound(&world);

    let list = world.get("/v1/asks?state=all").expect(200).json();
    let mut found: Vec<_> = list["asks"].as_array().unwrap().iter().collect();
    found.sort_unstable_by_key(|ask| ask["id"].as_i64());
    let (expired, deploy) = ("program-ccf159e950de__c7cbf1f1e31a", "program-2d2a2ac61aee__b7146bdfe63e");
    let outcomes: Vec<_> =
        found.iter().map(|ask| (ask["key"].as_str().unwrap(), ask["outcome"]["kind"].as_str())).collect();
    assert_eq!(
        outcomes,
        [
            ("s4__answered", Some("answered")),
            ("s4__terminal", Some("answered_in_terminal")),
            ("s4__dismissed", Some("dismissed")),
            ("s4__released", Some("released")),
            ("s4__withdrawn", Some("withdrawn")),
            (expired, Some("expired")),
            ("s4__deferred", None),
            (deploy, None),
            ("s4__open", None),
        ]
    );
    assert!(found.iter().all(|ask| ask["kind"] == "question" && ask["subject"].is_null()), "{list}");
    assert_eq!(found[0]["outcome"]["notes"], json!({"Which?": "a note"}));
    assert_eq!(found[0]["outcome"]["by"], json!({"channel": "page", "agent": "browser/1.0", "device": "Anna's phone"}));
    assert_eq!((&found[0]["receipt"]["as_sent"], &found[1]["receipt"]["as_sent"]), (&json!(true), &json!(true)));
    assert_eq!(found[1]["outcome"]["answers"], json!({"Which?": "B"}));
    assert_eq!(found[2]["outcome"]["reason"], "not today");
    assert_eq!((&found[6]["deferred"], &found[7]["project"]), (&json!(true), &json!("/home/me/site")));

    // Both devices are still signed in.
    for token in [
        "44f5b3666c6716ea6aab6316afaf2fc978fe02bd7c60c1e39b128f43ed85e6b1",
        "5e179b0f0034d1c301f02e0d4db6e312cc92a3f47f78e61ad3c9011a0f6a41c2",
    ] {
        world.send(Some(token), "GET /v1/asks", &json!({})).expect(200);
    }

    // A hook that lost its daemon comes back, and everything that is open can be answered.
    let mut command = world.command(crate::world::HOOK);
    command.env("CLAUDE_PID", "4711");
    let mut asked = question("Which?");
    asked["options"][0]["preview"] = json!("look");
    let hook = world.hook_with(command, call("s4", "open", &[asked]).to_string().as_bytes());
    world.until_parked(&hook);
    world.answer("s4__open", &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    world.answer("s4__deferred", &json!({"Which?": "B"})).expect(200);
    world.answer(deploy, &json!({"Deploy?": "Yes"})).expect(200);
    store_is_sound(&world);
}

#[test]
fn the_fifth_schema_still_loads_and_somebody_can_be_away_in_it() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch(include_str!("../data/store-v5.sql")).unwrap();
    drop(connection);
    drop(world.daemon());
    let list = world.get("/v1/asks?state=all").expect(200).json();
    let mut found: Vec<_> = list["asks"].as_array().unwrap().iter().collect();
    found.sort_unstable_by_key(|ask| ask["id"].as_i64());
    let kinds: Vec<_> = found.iter().map(|ask| (&ask["key"], &ask["kind"], &ask["outcome"]["kind"])).collect();
    let deploy = json!("program-543bb399fe1f__0ac7e5d67654");
    assert_eq!(
        kinds,
        [
            (&json!("s5__answered"), &json!("question"), &json!("answered")),
            (&json!("s5__permission"), &json!("permission"), &json!("answered")),
            (&json!("s5__plan"), &json!("plan"), &json!("answered")),
            (&json!("s5__open"), &json!("permission"), &Value::Null),
            (&deploy, &json!("question"), &Value::Null),
        ]
    );
    assert_eq!(found[1]["outcome"]["edited"], json!({"command": "npm test --quick"}));
    assert_eq!((&found[1]["subject"]["command"], found[1].get("damaged")), (&json!("npm test"), None));
    assert_eq!(world.get("/v1/away").expect(200).json(), json!({"away": []}));
    let away = json!({"words": "Wait for me", "for_seconds": 60, "kinds": ["question", "permission"]});
    world.send(Some(&world.token()), "PUT /v1/away", &away).expect(200);
    // What was open before stays open, and can be answered.
    world.answer(deploy.as_str().unwrap(), &json!({"Deploy?": "Yes"})).expect(200);
    world.assert_open("s5__open");
}

#[test]
fn the_fifth_and_the_sixth_schema_still_load_and_are_searched() {
    let (answered, plan, deploy) = ("s5__answered", "s5__plan", "program-543bb399fe1f__0ac7e5d67654");
    let (allow, open) = ("s5__permission", "s5__open");
    for (dump, is_dismissed) in
        [(include_str!("../data/store-v5.sql"), false), (include_str!("../data/store-v6.sql"), true)]
    {
        let mut world = World::new();
        answerback_hook::start::create_state_dir(&world.state("")).unwrap();
        let connection = Connection::open(world.state("asks.db")).unwrap();
        connection.execute_batch(dump).unwrap();
        // A row that makes no sense does not keep the others from being searched.
        connection.execute("UPDATE asks SET questions = '[' WHERE key = ?1", [plan]).unwrap();
        drop(connection);
        drop(world.daemon());
        let search = |filter: &str| {
            let list = world.get(&format!("/v1/asks?state=all&{filter}")).expect(200).json();
            let keys = list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap().to_owned());
            keys.collect::<Vec<_>>()
        };
        assert_eq!(search("text=WHICH"), [answered]);
        assert_eq!(search("text=allow%20bash"), [open, allow]);
        assert_eq!(search("text=allow%20bash&outcome=answered"), [allow]);
        assert_eq!(search("text=deploy"), [deploy]);
        let dismissed = if is_dismissed { &[deploy][..] } else { &[] };
        assert_eq!(search("text=%C3%A4rger%20with%20the%20%E9%8D%B5"), dismissed);
        assert_eq!(search("outcome=dismissed"), dismissed);
        assert_eq!(search("key_end=swered"), [answered]);
        assert_eq!(search("key_end=red"), [answered]);
        assert_eq!(world.get("/v1/asks?state=settled").expect(200).json()["damaged"], 1);
    }
}

#[test]
fn the_seventh_schema_still_loads_and_is_searched() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch(include_str!("../data/store-v7.sql")).unwrap();
    drop(connection);
    drop(world.daemon());
    let list = world.get("/v1/asks?state=all&text=WHICH").expect(200).json();
    assert_eq!((&list["asks"][0]["key"], list["asks"].as_array().unwrap().len()), (&json!("s5__answered"), 1));
    let hook = world.hook(&call("s5", "answered", &[question("Which?")]));
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
}

#[test]
fn the_eighth_schema_still_loads_and_is_listed_by_host() {
    let mut world = World::new();
    answerback_hook::start::create_state_dir(&world.state("")).unwrap();
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute_batch(include_str!("../data/store-v8.sql")).unwrap();
    // One of them is in the index.
    let indexed =
        "INSERT INTO texts SELECT ask, text, project, opened_at FROM waiting JOIN asks ON id = ask WHERE ask = 1;
        DELETE FROM waiting WHERE ask = 1";
    connection.execute_batch(indexed).unwrap();
    drop(connection);
    drop(world.daemon());
    let keys = |query: &str| {
        let list = world.get(&format!("/v1/asks?state=settled&{query}")).expect(200).json();
        list["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = keys("");
    assert_eq!(all.last().unwrap(), "s5__answered");
    assert_eq!(keys("host=workstation"), all);
    assert_eq!(keys("host=nobody"), [""; 0]);
    let projects = world.get("/v1/projects").expect(200).json();
    let hosts = projects["hosts"].as_array().unwrap();
    assert_eq!(
        (hosts.len(), &hosts[0]["host"], &hosts[0]["projects"]),
        (1, &json!("workstation"), &projects["projects"])
    );
}
