//! What happens when nobody answers in time.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::world::{HOOK, World, call, question};

#[test]
fn a_question_that_expires_goes_back_to_the_terminal() {
    let mut world = World::with_config("timeout_seconds = 1\n");
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_ne!(world.get(&format!("/v1/asks/{key}")).json()["expires_at"], Value::Null);
    hook.no_decision();
    assert_eq!(world.settled(&key)["outcome"], json!({"kind": "expired", "by": null}));
    world.answer(&key, &json!({"Which?": "A"})).expect(410);
}

#[test]
fn a_question_that_expires_is_denied_if_so_configured() {
    let mut world = World::with_config("timeout_seconds = 1\non_timeout = \"deny\"\n");
    let (hook, _) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(hook.reply()["permissionDecision"], "deny");
}

#[test]
fn a_run_whose_question_expires_ends_and_gets_the_answer_when_it_is_resumed() {
    let mut world = World::with_config("timeout_seconds = 1\non_timeout = \"defer\"\n");
    // Only a one-shot run can stop and be resumed.
    let one_shot = |world: &mut World| {
        let mut command = world.command(HOOK);
        command.env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("CLAUDE_CODE_SESSION_ATTENDED", "0");
        world.hook_with(command, call("s", "t", &[question("Which?")]).to_string().as_bytes())
    };
    let key = "s__t";
    assert_eq!(one_shot(&mut world).reply()["permissionDecision"], "defer");
    let ask = world.get(&format!("/v1/asks/{key}")).json();
    assert_eq!((&ask["state"], &ask["deferred"]), (&json!("open"), &json!(true)));

    // A resumed run that still finds no answer is deferred again.
    assert_eq!(one_shot(&mut world).reply()["permissionDecision"], "defer");

    // The ask stays open without any wait, for longer than the grace after a restart. The grace itself is tested.
    world.kill_daemon();
    drop(world.daemon());
    assert_eq!(world.get(&format!("/v1/asks/{key}?wait=11")).json()["state"], "open");

    world.answer(key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(one_shot(&mut world).reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
}

#[test]
fn in_defer_mode_a_run_ends_at_once() {
    let mut world = World::new();
    let one_shot = |world: &mut World| {
        let mut command = world.command(HOOK);
        command.arg("defer").env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("CLAUDE_CODE_SESSION_ATTENDED", "0");
        world.hook_with(command, call("s", "t", &[question("Which?")]).to_string().as_bytes())
    };
    assert_eq!(one_shot(&mut world).reply()["permissionDecision"], "defer");
    let ask = world.get("/v1/asks/s__t").json();
    assert_eq!((&ask["state"], &ask["deferred"], &ask["expires_at"]), (&json!("open"), &json!(true), &json!(null)));
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
    assert_eq!(one_shot(&mut world).reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
}

#[test]
fn a_deadline_does_not_depend_on_the_wall_clock() {
    const DAY: i64 = 24 * 60 * 60;
    for ahead in [DAY, -DAY] {
        let mut world = World::new();
        let mut daemon = world.daemon();
        let request = json!({"questions": [question("Which?")], "timeout_seconds": 1000});
        let key = world.post("/v1/asks", &request).expect(201).json()["key"].as_str().unwrap().to_owned();
        world.stop_daemon(&mut daemon);
        drop(world.daemon_with(|daemon| Faults::set_clock(daemon, ahead)));
        let ask = world.get(&format!("/v1/asks/{key}")).expect(200).json();
        assert_eq!(ask["state"], "open", "{ask}");
        let expires_at: Timestamp = ask["expires_at"].as_str().unwrap().parse().unwrap();
        let left = expires_at.duration_since(Timestamp::now()).as_secs() - ahead;
        assert!((900..=1000).contains(&left), "{left} s are left with a clock that is {ahead} s ahead");
    }
}

#[test]
fn a_deadline_goes_on_across_a_restart() {
    let mut world = World::with_config("timeout_seconds = 3\n");
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    let expires_at = world.get(&format!("/v1/asks/{key}")).json()["expires_at"].clone();
    let pid = world.kill_daemon();
    world.until_daemon_other_than(pid);
    assert_eq!(world.get(&format!("/v1/asks/{key}")).json()["expires_at"], expires_at);
    hook.no_decision();
    assert_eq!(world.settled(&key)["outcome"]["kind"], "expired");
}

#[test]
fn a_programs_question_has_a_deadline_of_its_own() {
    let mut world = World::new();
    drop(world.daemon());
    let body = json!({"questions": [question("Deploy?")], "timeout_seconds": 1});
    let key = world.post("/v1/asks", &body).expect(201).json()["key"].as_str().unwrap().to_owned();
    assert_eq!(world.settled(&key)["outcome"]["kind"], "expired");
}

#[test]
fn a_session_that_cannot_be_resumed_is_not_stopped() {
    let mut world = World::with_config("timeout_seconds = 1\non_timeout = \"defer\"\n");
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    hook.no_decision();
    assert_eq!(world.settled(&key)["outcome"]["kind"], "expired");
}
