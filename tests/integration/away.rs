//! Somebody is away. Their own words answer what is asked meanwhile.

use serde_json::{Value, json};

use crate::commands::exits;
use crate::http::{Reply, Request};
use crate::kinds::{ATTENDED, suggestions};
use crate::receiver::Receiver;
use crate::world::{ANSWERBACK, Hook, World, call, question, until};

const WORDS: &str = "Decide yourself, and list what you decided";

/// Runs a command of the person. Returns what it prints on stdout and on stderr.
#[track_caller]
fn person(world: &World, args: &[&str]) -> (String, String) {
    exits(&world.command(ANSWERBACK).args(args).output().unwrap(), 0)
}

/// A question of an agent in this directory.
fn ask_in(world: &mut World, project: &str, id: &str, questions: &[Value]) -> Hook {
    let mut call = call("s", id, questions);
    call["cwd"] = json!(project);
    world.hook(&call)
}

fn put(world: &World, token: Option<&str>, body: &Value) -> Reply {
    world.send(token, "PUT /v1/away", body)
}

fn set(world: &World, body: &Value) -> Value {
    put(world, Some(&world.token()), body).expect(200).json()
}

#[test]
fn a_question_gets_the_words_and_history_says_whose_they_are() {
    let mut world = World::new();
    let (before, _) = world.ask("s", "before", &[question("Before?")]);
    let (stdout, said) = person(&world, &["away", WORDS, "--for", "8h"]);
    assert_eq!(stdout, "");
    assert!(said.contains("Away until ") && said.contains(WORDS) && said.contains("answerback back"), "{said}");

    let questions = [question("Which?"), question("How?")];
    let reply = world.hook(&call("s", "t", &questions)).reply();
    assert_eq!(reply["permissionDecision"], "allow");
    assert_eq!(reply["updatedInput"]["answers"], json!({"Which?": WORDS, "How?": WORDS}));
    let context = reply["additionalContext"].as_str().unwrap();
    assert!(context.contains("in advance, because they are away") && context.contains(WORDS), "{context}");

    let ask = world.settled("s__t");
    assert_eq!((&ask["outcome"]["kind"], &ask["outcome"]["by"]["channel"]), (&json!("answered"), &json!("away")));
    assert!(ask["outcome"]["by"]["agent"].as_str().unwrap().starts_with("answerback/"), "{ask}");
    let (history, _) = person(&world, &["history"]);
    assert!(history.contains("answered while away, by answerback/") && history.contains(WORDS), "{history}");
    // A program asks like an agent.
    let asked = world.post("/v1/asks", &json!({"questions": [{"question": "Name?"}]})).expect(201).json();
    let key = asked["key"].as_str().unwrap();
    assert_eq!(world.settled(key)["outcome"]["answers"], json!({"Name?": WORDS}));
    // It is the answer that counts.
    world.answer("s__t", &json!({"Which?": "A", "How?": "A"})).expect(409);

    let (status, _) = person(&world, &["status"]);
    let line = status.lines().find(|line| line.starts_with("away  ")).unwrap();
    assert!(line.ends_with(&format!("questions get “{WORDS}”")), "{line}");
    let json: Value = serde_json::from_str(&person(&world, &["status", "--json"]).0).unwrap();
    assert_eq!(json["away"][0]["words"], WORDS);
    // What was open before is not touched.
    world.assert_open("s__before");
    world.answer("s__before", &json!({"Before?": "A"})).expect(200);
    before.reply();
}

#[test]
fn nobody_is_notified_of_what_their_words_have_answered() {
    let receiver = Receiver::start();
    let ntfy = format!("[notify]\ndetails = true\n[notify.ntfy]\nurl = \"http://{}/my-topic\"\n", receiver.address);
    let mut world = World::with_config(&ntfy);
    person(&world, &["away", WORDS, "--for", "1h"]);
    world.hook(&call("s", "t1", &[question("While away?")])).reply();
    person(&world, &["back"]);
    let _hook = world.ask("s", "t2", &[question("Back again?")]);
    let told = receiver.next_json().to_string();
    assert!(told.contains("Back again?") && !told.contains("While away?"), "{told}");
}

#[test]
fn another_project_is_left_alone_and_the_nearest_words_count() {
    let mut world = World::new();
    let shop = world.home().join("shop");
    std::fs::create_dir_all(shop.join("api")).unwrap();
    let shop = shop.canonicalize().unwrap().to_str().unwrap().to_owned();
    person(&world, &["away", "Not in the shop", "--for", "1h", "--project", &format!("{shop}/")]);
    let answers = |hook: Hook| hook.reply()["updatedInput"]["answers"]["Which?"].take();
    let asked = [question("Which?")];
    assert_eq!(answers(ask_in(&mut world, &shop, "t1", &asked)), "Not in the shop");
    assert_eq!(answers(ask_in(&mut world, &format!("{shop}/api"), "t2", &asked)), "Not in the shop");
    let elsewhere = ask_in(&mut world, &format!("{shop}ping"), "t3", &asked);
    world.until_parked(&elsewhere);

    person(&world, &["away", "Later", "--for", "1h"]);
    assert_eq!(answers(ask_in(&mut world, "/home/me/site", "t4", &asked)), "Later");
    assert_eq!(answers(ask_in(&mut world, &shop, "t5", &asked)), "Not in the shop");
    world.assert_open("s__t3");

    person(&world, &["away", "Set again", "--for", "1h"]);
    let on = world.get("/v1/away").expect(200).json();
    let on: Vec<_> = on["away"].as_array().unwrap().iter().map(|note| (&note["project"], &note["words"])).collect();
    assert_eq!(on, [(&Value::Null, &json!("Set again")), (&json!(shop), &json!("Not in the shop"))]);
    // Back in the shop only.
    let (ended, _) = person(&world, &["back", "--project", &shop, "--json"]);
    let ended: Value = serde_json::from_str(&ended).unwrap();
    assert_eq!((&ended["away"][0]["words"], ended["away"].as_array().unwrap().len()), (&json!("Not in the shop"), 1));
    assert_eq!(answers(ask_in(&mut world, &shop, "t6", &asked)), "Set again");
}

#[test]
fn back_from_one_project_says_what_is_left() {
    let world = World::new();
    let shop = world.home().join("shop");
    std::fs::create_dir(&shop).unwrap();
    let shop = shop.to_str().unwrap();
    person(&world, &["away", "everywhere", "--for", "1h"]);
    let (_, said) = person(&world, &["back", "--project", shop]);
    assert!(said.contains("There are no words to take back for ") && said.contains("You are still away "), "{said}");
    person(&world, &["away", "here", "--for", "1h", "--project", shop]);
    let (_, said) = person(&world, &["back", "--project", shop]);
    assert!(said.contains("Taken back: here") && said.contains("“everywhere”"), "{said}");
    assert!(said.contains("run: answerback back") && !said.contains("Welcome back"), "{said}");
    // Whoever looks, or asks as the pretend agent, is told, too.
    let (overview, _) = person(&world, &[]);
    assert!(overview.starts_with("You are away until "), "{overview}");
    let (_, said) = person(&world, &["demo"]);
    assert!(said.contains("You are away until ") && said.ends_with("run: answerback back\n"), "{said}");
    assert_eq!(person(&world, &["back"]).1, "Welcome back. From now on, questions wait for you.\n");
    assert_eq!(person(&world, &["back"]).1, "You were not away.\n");
}

#[test]
fn it_is_over_with_back_and_at_its_time() {
    let mut world = World::new();
    person(&world, &["away", WORDS, "--for", "1h"]);
    world.hook(&call("s", "t1", &[question("Which?")])).reply();
    assert!(person(&world, &["back"]).1.contains("Welcome back"));
    let (_waiting, _) = world.ask("s", "t2", &[question("Which?")]);
    assert!(person(&world, &["back"]).1.contains("You were not away"));

    person(&world, &["away", WORDS, "--for", "2s"]);
    world.hook(&call("s", "t3", &[question("Which?")])).reply();
    until("the end", || (world.get("/v1/away").json() == json!({"away": []})).then_some(()));
    let (_waiting, _) = world.ask("s", "t4", &[question("Which?")]);
    world.assert_open("s__t4");
    let (status, _) = person(&world, &["status"]);
    assert!(!status.contains("away"), "{status}");
}

#[test]
fn it_survives_a_restart_and_is_over_even_if_no_daemon_ran_at_its_end() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    person(&world, &["away", WORDS, "--for", "1h"]);
    let end = set(&world, &json!({"words": "Soon", "for_seconds": 1, "project": "/home/me/shop"}))["until"].clone();
    let until_then = world.get("/v1/away").json()["away"][0]["until"].clone();
    world.kill_daemon();
    daemon.wait().unwrap();
    // No daemon runs that could be asked whether the time is over.
    let end: jiff::Timestamp = end.as_str().unwrap().parse().unwrap();
    until("its end", || (jiff::Timestamp::now() > end).then_some(()));
    let mut daemon = world.daemon();
    let on = world.get("/v1/away").json();
    assert_eq!((&on["away"][0]["until"], on["away"].as_array().unwrap().len()), (&until_then, 1));
    // The words for the shop are over, so those for every project count there.
    let reply = world.hook(&call("s", "t", &[question("Which?")])).reply();
    assert_eq!(reply["updatedInput"]["answers"], json!({"Which?": WORDS}));
    world.stop_daemon(&mut daemon);
}

#[test]
fn a_permission_is_denied_only_if_that_was_said_and_never_allowed() {
    let mut world = World::new();
    let input = json!({"command": "npm test", "description": "A test"});
    let dialog = |world: &mut World, id: &str| {
        ATTENDED.name(world, "Bash", &input, id);
        ATTENDED.call(world, "PermissionRequest", "Bash", &input, &suggestions("Bash", &input))
    };
    person(&world, &["away", WORDS, "--for", "1h"]);
    let waiting = dialog(&mut world, "t1");
    world.until_open("s__t1");
    world.until_parked(&waiting);
    person(&world, &["away", "Not while I sleep", "--for", "1h", "--kind", "permission"]);
    let denied = dialog(&mut world, "t2").reply()["decision"].take();
    assert_eq!(denied["behavior"], "deny");
    assert!(denied["message"].as_str().unwrap().contains("Not while I sleep"), "{denied}");
    assert_eq!(world.settled("s__t2")["outcome"]["by"]["channel"], "away");
    world.assert_open("s__t1");
    // Questions were not named, so they wait.
    let (_question, _) = world.ask("s", "t3", &[question("Which?")]);

    // Words that are a label would approve. Some are refused at once, and the others are never used.
    let kinds = json!(["permission", "plan"]);
    for words in ["Allow once", " Allow once ", "Approve, accept edits"] {
        let body = json!({"words": words, "for_seconds": 60, "kinds": kinds});
        let refused = put(&world, Some(&world.token()), &body).expect(422).json();
        assert!(refused["title"].as_str().unwrap().contains("nothing is approved"), "{refused}");
    }
    set(&world, &json!({"words": "Always allow Bash(npm test)", "for_seconds": 60, "kinds": kinds}));
    let waiting = dialog(&mut world, "t4");
    world.until_open("s__t4");
    world.until_parked(&waiting);
    world.assert_open("s__t4");
}

#[test]
fn a_plan_is_sent_back_only_if_that_was_said() {
    let mut world = World::new();
    let input = json!({"plan": "# Add a search", "planFilePath": "/home/me/.claude/plans/a.md"});
    let dialog = |world: &mut World, id: &str| {
        ATTENDED.name(world, "ExitPlanMode", &input, id);
        ATTENDED.call(world, "PermissionRequest", "ExitPlanMode", &input, &json!({}))
    };
    person(&world, &["away", WORDS, "--for", "1h"]);
    let waiting = dialog(&mut world, "t1");
    world.until_parked(&waiting);
    world.assert_open("s__t1");
    person(&world, &["away", "Write the tests first", "--for", "1h", "--kind", "plan", "--kind", "question"]);
    // Another plan, because an equal one would be the dialog of the first.
    let input = json!({"plan": "# Add an index", "planFilePath": "/home/me/.claude/plans/b.md"});
    ATTENDED.name(&mut world, "ExitPlanMode", &input, "t2");
    let reply = ATTENDED.call(&mut world, "PermissionRequest", "ExitPlanMode", &input, &json!({})).reply();
    assert_eq!(reply["decision"]["behavior"], "deny");
    assert!(reply["decision"]["message"].as_str().unwrap().contains("Write the tests first"), "{reply}");
    assert_eq!(world.settled("s__t2")["outcome"]["by"]["channel"], "away");
    world.hook(&call("s", "t3", &[question("Which?")])).reply();
}

#[test]
fn a_question_that_takes_only_its_options_is_left_open() {
    let mut world = World::new();
    drop(world.daemon());
    set(&world, &json!({"words": "Yes", "for_seconds": 60}));
    let options = json!([{"label": "Yes"}, {"label": "No"}]);
    let only = json!({"questions": [{"question": "Deploy?", "options": options, "freeText": false}]});
    let only = world.post("/v1/asks", &only).expect(201).json()["key"].as_str().unwrap().to_owned();
    // This one comes later. When it is answered, the first has been considered.
    let free = json!({"questions": [{"question": "Deploy?", "options": options}]});
    let free = world.post("/v1/asks", &free).expect(201).json()["key"].as_str().unwrap().to_owned();
    assert_eq!(world.settled(&free)["outcome"]["answers"], json!({"Deploy?": "Yes"}));
    world.assert_open(&only);
}

#[test]
fn who_may_set_it_and_what_is_refused() {
    let mut world = World::new();
    drop(world.daemon());
    let good = json!({"words": "w", "for_seconds": 60});
    let hook_token = world.daemon_json().unwrap()["hook_token"].as_str().unwrap().to_owned();
    put(&world, None, &good).expect(401);
    put(&world, Some(&hook_token), &good).expect(403);
    world.send(Some(&hook_token), "DELETE /v1/away", &json!({})).expect(403);
    world.send(Some(&hook_token), "GET /v1/away", &json!({})).expect(403);
    for (name, value) in [
        ("words", json!(" ")),
        ("words", json!("x".repeat(16 * 1024 + 1))),
        ("for_seconds", json!(0)),
        ("for_seconds", json!(30 * 24 * 60 * 60 + 1)),
        ("for_seconds", json!(1.5)),
        ("project", json!("shop")),
        ("kinds", json!([])),
        ("kinds", json!(["form"])),
        ("kinds", json!(["anything"])),
    ] {
        let mut body = good.clone();
        body[name] = value.clone();
        put(&world, Some(&world.token()), &body).expect(422);
    }
    assert_eq!(world.get("/v1/away").json(), json!({"away": []}));
    let delete = |path: &str| {
        Request { line: &format!("DELETE {path}"), headers: world.headers(), body: b"" }
            .over_tcp(&world.address())
            .unwrap()
    };
    delete("/v1/away?since=1").expect(400);
    assert_eq!(set(&world, &good)["kinds"], json!(["question"]));
    assert_eq!(delete("/v1/away?project=shop").expect(200).json(), json!({"away": []}));
    assert_eq!(delete("/v1/away").expect(200).json()["away"][0]["words"], "w");
}

#[test]
fn the_commands_say_what_is_wrong() {
    let world = World::new();
    let run = |args: &[&str]| world.command(ANSWERBACK).args(args).output().unwrap();
    exits(&run(&["away", "w"]), 2);
    exits(&run(&["away", "w", "--for", "soon"]), 2);
    exits(&run(&["away", "w", "--for", "1h", "--kind", "form"]), 2);
    let (_, said) = exits(&run(&["away", "w", "--for", "31d"]), 1);
    assert!(said.contains("30 days"), "{said}");
    let (_, said) = exits(&run(&["away", "w", "--for", "1h", "--project", "/no/such"]), 1);
    assert!(said.contains("/no/such") && said.contains("leave --project out"), "{said}");
    let inside = world.command(ANSWERBACK).args(["away", "w", "--for", "1h"]).env("CLAUDECODE", "1").output().unwrap();
    assert!(exits(&inside, 1).1.contains("inside Claude Code"));
    let (json, _) = person(&world, &["away", "w", "--for", "90m", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["words"], "w");
}
