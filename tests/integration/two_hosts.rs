//! Questions of two machines in one store. One daemon alone opens questions only for its own machine, so the tests write the name of the
//! other one into the store while no daemon runs.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::terminal::Terminal;
use crate::world::{World, question};

const SHOP: &str = "/home/me/shop";

/// Makes questions those of another machine. No daemon must be running. A daemon that has the file to itself may take over what is open,
/// so the file does not let it.
pub(crate) fn move_asks(world: &World, host: &str, which: &str) {
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute(&format!("UPDATE asks SET host = ?1 WHERE {which}"), [host]).unwrap();
    let keep =
        "CREATE TRIGGER IF NOT EXISTS keep_host BEFORE UPDATE OF host ON asks WHEN old.host IN ('build-7', 'laptop')
        BEGIN SELECT RAISE(IGNORE); END";
    connection.execute_batch(keep).unwrap();
}

/// Three settled questions: two of another machine, and one of this. Returns the name of this machine, too.
fn world() -> (World, String) {
    let mut world = World::new();
    let mut daemon = world.daemon();
    for (text, project) in [("There?", Some(SHOP)), ("Without project?", None), ("Here?", Some(SHOP))] {
        let ask = json!({"questions": [question(text)], "project": project});
        let asked = world.send(Some(&world.token()), "POST /v1/asks", &ask).expect(201).json();
        world.answer(asked["key"].as_str().unwrap(), &json!({ text: "A" })).expect(200);
    }
    let here = world.get("/v1/projects").expect(200).json()["here"].as_str().unwrap().to_owned();
    world.stop_daemon(&mut daemon);
    move_asks(&world, "build-7", "id < 3");
    drop(world.daemon());
    (world, here)
}

fn texts(list: &Value) -> Vec<&str> {
    let asks = list["asks"].as_array().unwrap().iter();
    asks.map(|ask| ask["questions"][0]["question"].as_str().unwrap()).collect()
}

#[test]
fn asks_name_their_host_and_are_listed_by_it() {
    let (world, here) = world();
    let list = |query: &str| world.get(&format!("/v1/asks?state=all{query}")).expect(200).json();
    let all = list("");
    let hosts: Vec<_> = all["asks"].as_array().unwrap().iter().map(|ask| ask["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, [here.as_str(), "build-7", "build-7"]);
    assert_eq!(texts(&list("&host=build-7")), ["Without project?", "There?"]);
    assert_eq!(texts(&list("&host=build-7&limit=1")), ["Without project?"]);
    assert_eq!(texts(&list("&host=build-7&project=/home/me/shop")), ["There?"]);
    assert_eq!(texts(&list("&host=build-7&text=there")), ["There?"]);
    assert_eq!(texts(&list(&format!("&host={here}&project=/home/me/shop"))), ["Here?"]);
    assert_eq!(texts(&list("&project=/home/me/shop")), ["Here?", "There?"]);
    assert_eq!(texts(&list("&host=nobody")), [""; 0]);
    world.get(&format!("/v1/asks?host={}", "x".repeat(256))).expect(400);
    let mut expected = vec![json!({"host": "build-7", "projects": [SHOP]}), json!({"host": here, "projects": [SHOP]})];
    expected.sort_by_key(|host| host["host"].as_str().unwrap().to_owned());
    let projects = world.get("/v1/projects").expect(200).json();
    assert_eq!(projects, json!({"projects": [SHOP], "hosts": expected, "here": here}));
    // A new question is of this machine.
    let asked = world.post("/v1/asks", &json!({"questions": [question("New?")]})).expect(201).json();
    assert_eq!(asked["host"], *here);
    assert_eq!(texts(&world.get(&format!("/v1/asks?host={here}")).expect(200).json()), ["New?"]);
    assert_eq!(texts(&world.get("/v1/asks?host=build-7").expect(200).json()), [""; 0]);
}

#[test]
fn commands_name_the_host_and_search_by_it() {
    let (world, here) = world();
    let history = |args: &[&str]| exits(&run(&world, &[&["history"], args].concat()), 0).0;
    let all = history(&[]);
    for place in [format!("{here}:{SHOP}"), format!("build-7:{SHOP}"), "  build-7  ".to_owned()] {
        assert!(all.contains(&place), "{place}: {all}");
    }
    let shown = |printed: &str| ["There?", "Without project?", "Here?"].map(|text| printed.contains(text));
    assert_eq!(shown(&history(&["--host", "build-7"])), [true, true, false]);
    assert_eq!(shown(&history(&["--host", "build-7", "--project", SHOP])), [true, false, false]);
    assert_eq!(shown(&history(&["--project", &format!("build-7:{SHOP}")])), [true, false, false]);
    assert_eq!(shown(&history(&["--project", &format!("{here}:{SHOP}")])), [false, false, true]);
    // A directory without a host is one of this machine.
    let dir = world.home().to_str().unwrap().to_owned();
    assert_eq!(shown(&history(&["--project", &dir])), [false; 3]);

    let (_, stderr) = exits(&run(&world, &["history", "--host", "nobody"]), 1);
    assert!(stderr.contains("no question comes from the host `nobody`") && stderr.contains("`build-7`"), "{stderr}");
    let (_, stderr) = exits(&run(&world, &["history", "--host", &here, "--project", "build-7:/srv"]), 1);
    assert!(stderr.contains("--project is of the host `build-7`"), "{stderr}");
    let (_, stderr) = exits(&run(&world, &["pending", "--host", "nobody"]), 1);
    assert!(stderr.contains("no question comes from the host `nobody`"), "{stderr}");
    let (stdout, _) = exits(&run(&world, &["pending", "--host", "build-7"]), 0);
    assert_eq!(stdout, "No question of build-7 is open.\n");

    let list = world.get("/v1/asks?state=settled").json();
    let there = list["asks"][2]["key"].as_str().unwrap();
    let (stdout, _) = exits(&run(&world, &["show", there]), 0);
    assert!(stdout.contains("\n  host     build-7\n  project  /home/me/shop\n"), "{stdout}");
}

#[test]
fn an_open_question_is_shown_with_its_host_if_that_is_asked_for() {
    let (world, here) = world();
    world.post("/v1/asks", &json!({"questions": [question("New?")], "project": SHOP})).expect(201);
    // All open questions are of one machine.
    let (stdout, _) = exits(&run(&world, &["pending"]), 0);
    assert!(stdout.contains("  shop  ") && !stdout.contains(&here), "{stdout}");
    let (stdout, _) = exits(&run(&world, &["pending", "--host", &here]), 0);
    assert!(stdout.contains(":shop  "), "{stdout}");
}

#[test]
fn an_export_names_the_host() {
    let (world, here) = world();
    let (stdout, _) = exits(&run(&world, &["history", "--export", "csv"]), 0);
    let rows: Vec<_> = stdout.lines().collect();
    assert!(rows[0].ends_with(",by,host,person,hub"), "{}", rows[0]);
    assert!(rows[1].ends_with(&format!(",{here},,")) && rows[2].ends_with(",build-7,,"), "{stdout}");
    let (stdout, _) = exits(&run(&world, &["history", "--export", "jsonl", "--host", "build-7"]), 0);
    let hosts: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["host"].clone()).collect();
    assert_eq!(hosts, ["build-7", "build-7"]);
}

#[test]
fn with_one_host_nothing_names_it() {
    let mut world = World::new();
    drop(world.daemon());
    let ask = json!({"questions": [question("Which?")], "project": SHOP});
    let key = world.post("/v1/asks", &ask).expect(201).json()["key"].as_str().unwrap().to_owned();
    let here = world.get("/v1/projects").expect(200).json()["here"].as_str().unwrap().to_owned();
    let printed = |args: &[&str]| exits(&run(&world, args), 0).0;
    let mut all = printed(&["pending"]) + &printed(&[]) + &printed(&["show"]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    all = all + &printed(&["history"]) + &printed(&["show", &key]);
    assert!(all.contains(SHOP) && !all.contains(&format!("{here}:")) && !all.contains("host"), "{all}");
}

#[test]
fn open_questions_of_two_hosts_are_told_apart_everywhere() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let keys = ["There?", "Here?"].map(|text| {
        let ask = json!({"questions": [question(text)], "project": SHOP});
        world.post("/v1/asks", &ask).expect(201).json()["key"].as_str().unwrap().to_owned()
    });
    world.stop_daemon(&mut daemon);
    move_asks(&world, "build-7", "id = 1");
    drop(world.daemon());
    let here = world.get("/v1/projects").expect(200).json()["here"].as_str().unwrap().to_owned();
    assert_eq!(texts(&world.get("/v1/asks?host=build-7").expect(200).json()), ["There?"]);
    let (stdout, _) = exits(&run(&world, &["pending", "--host", "build-7"]), 0);
    assert!(stdout.contains("build-7:shop") && !stdout.contains("Here?"), "{stdout}");
    let (stdout, _) = exits(&run(&world, &["completions", "fish", "--", "answerback", "show", ""]), 0);
    assert!(stdout.contains("build-7:shop: There?"), "{stdout}");
    // The picker begins with the one that has waited longest.
    Terminal::open(&world, 80, 24).shows("build-7:shop");
    // An answer here is an answer there.
    let answered = world.answer(&keys[0], &json!({"There?": "A"})).expect(200).json();
    assert_eq!((&answered["host"], &answered["state"]), (&json!("build-7"), &json!("settled")));
    assert_ne!(here, "build-7");
}
