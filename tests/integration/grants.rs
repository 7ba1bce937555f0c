//! Rules that were given through Answerback, and taking them back.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::edge_stolen::Stolen;
use crate::fleet::Fleet;
use crate::kinds::{ATTENDED, answer, suggestions};
use crate::world::World;

const RULE: &str = "Bash(npm test)";

/// A project in which somebody has chosen "Always allow".
fn granted(world: &mut World, id: &str) -> PathBuf {
    let project = world.home().join("shop");
    fs::create_dir_all(project.join(".claude")).unwrap();
    let input = json!({"command": "npm test"});
    ATTENDED.name(world, "Bash", &input, id);
    let mut extra = suggestions("Bash", &input);
    extra["cwd"] = json!(project.join("src"));
    let hook = ATTENDED.call(world, "PermissionRequest", "Bash", &input, &extra);
    let key = format!("s__{id}");
    world.until_open(&key);
    answer(world, &key, "Always allow Bash(npm test)", &json!({})).expect(200);
    hook.output();
    project.join(".claude/settings.local.json")
}

fn list(world: &World) -> Value {
    serde_json::from_str(&exits(&run(world, &["grants", "--json"]), 0).0).unwrap()
}

#[test]
fn a_rule_is_listed_with_its_line_and_taken_out_again() {
    let mut world = World::new();
    let (stdout, _) = exits(&run(&world, &["grants"]), 0);
    assert_eq!(stdout, "No rule was given through Answerback.\n");
    let file = granted(&mut world, "toolu_1");
    // What is not in the file was not granted, whatever somebody chose.
    assert_eq!(list(&world)["grants"][0]["state"], "not_in_file");
    exits(&run(&world, &["grants", "revoke", RULE]), 1);
    let before = "{\r\n\t\"permissions\" : {\"deny\": [\"Bash(npm test)\"],\r\n\"allow\": [ \"Read\"\r\n,\"Bash(npm test)\" ]}, \"x\": 1e999 }";
    fs::write(&file, before).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let grant = list(&world)["grants"][0].take();
    assert_eq!((&grant["rule"], &grant["line"], &grant["state"]), (&json!(RULE), &json!(4), &json!("in_file")));
    assert_eq!((&grant["file"], &grant["received"]), (&json!(file), &json!(null)));
    let (stdout, _) = exits(&run(&world, &["grants"]), 0);
    assert!(stdout.contains(&format!("1  {RULE}\n   {}:4\n", file.display())), "{stdout}");
    let (_, stderr) = exits(&run(&world, &["grants", "revoke", "1"]), 0);
    assert!(stderr.contains("within a second or two") && stderr.contains("is kept in"), "{stderr}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before.replace("\r\n,\"Bash(npm test)\"", ""));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(list(&world)["grants"][0]["state"], "not_in_file");
    exits(&run(&world, &["grants", "revoke", "2"]), 1);
    exits(&run(&world, &["grants", "revoke", "Bash(npm *)"]), 1);
}

#[test]
fn a_link_stays_a_link_and_what_is_not_json_stays_as_it_is() {
    let mut world = World::new();
    let file = granted(&mut world, "toolu_1");
    let real = world.home().join("dotfiles.json");
    symlink(&real, &file).unwrap();
    let broken = "{\n  // why\n  \"permissions\": {\"allow\": [\"Bash(npm test)\"]}\n}";
    fs::write(&real, broken).unwrap();
    assert_eq!(list(&world)["grants"][0]["state"], "unreadable");
    let (_, stderr) = exits(&run(&world, &["grants", "revoke", RULE]), 1);
    assert!(stderr.contains("line 2, column 3") && stderr.contains("Remove the comment"), "{stderr}");
    assert_eq!(fs::read_to_string(&real).unwrap(), broken);
    fs::write(&real, broken.replace("  // why\n", "")).unwrap();
    exits(&run(&world, &["grants", "revoke", RULE]), 0);
    assert!(file.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"permissions\": {\"allow\": []}\n}");
}

#[test]
fn a_receipt_a_repetition_and_a_session() {
    let mut world = World::new();
    granted(&mut world, "toolu_1");
    granted(&mut world, "toolu_2");
    let input = json!({"command": "npm test"});
    ATTENDED.call(&mut world, "PostToolUse", "Bash", &input, &json!({"tool_use_id": "toolu_2"})).no_decision();
    let grants = list(&world);
    assert_eq!(grants["grants"].as_array().unwrap().len(), 1, "{grants}");
    assert_eq!((&grants["grants"][0]["key"], &grants["grants"][0]["received"]), (&json!("s__toolu_2"), &json!(true)));
    let input = json!({"x": 1});
    ATTENDED.name(&mut world, "mcp__shop__note", &input, "toolu_3");
    let extra = json!({"permission_suggestions": [{"type": "addRules", "behavior": "allow", "destination": "session",
        "rules": [{"toolName": "mcp__shop__note"}]}]});
    let hook = ATTENDED.call(&mut world, "PermissionRequest", "mcp__shop__note", &input, &extra);
    world.until_open("s__toolu_3");
    answer(&world, "s__toolu_3", "Allow mcp__shop__note in this session", &json!({})).expect(200);
    hook.output();
    assert_eq!(list(&world)["grants"][0]["state"], "session");
    let (_, stderr) = exits(&run(&world, &["grants", "revoke", "mcp__shop__note"]), 1);
    assert!(stderr.contains("is in no file"), "{stderr}");
    let (stdout, _) = exits(&run(&world, &["history"]), 0);
    assert!(stdout.contains("rule: mcp__shop__note, until the session ends"), "{stdout}");
    assert!(stdout.contains("rule: Bash(npm test), for .claude/settings.local.json"), "{stdout}");
}

/// Has the machine of this link ask for a permission with a rule for this file, and grants the rule at the hub.
fn granted_over(link: &mut Stolen, hub: &World, key: &str, project: &str, file: &str) {
    let label = format!("Always allow {RULE}");
    let grants = json!([{"label": label, "rules": [RULE], "file": file}]);
    let subject = json!({"tool": "Bash", "command": "npm test", "input": {"command": "npm test"}, "grants": grants});
    let options = ["Allow once", &label, "Deny"].map(|label| json!({ "label": label }));
    let new = json!({
        "key": key, "origin": "claude-code", "kind": "permission", "subject": subject, "project": project,
        "questions": [{"question": "Allow?", "options": options}], "detail": "{}", "on_timeout": "native",
        "racing": true,
    });
    let opened = link.call(&json!({"do": "open", "per_session": 64, "new": new}));
    assert_eq!(opened["Ok"]["is"], "new", "{opened}");
    link.call(&json!({"do": "confirm", "key": key}));
    hub.answer(key, &json!({"Allow?": label})).expect(200);
}

#[test]
fn a_rule_of_another_machine_is_not_taken_out_of_a_file_of_this_one() {
    let fleet = Fleet::new();
    let mut link = Stolen::connect(&fleet.hub, &fleet.token("build-1"));
    let project = fleet.hub.home().join("shop");
    fs::create_dir_all(project.join(".claude")).unwrap();
    let rules = r#"{"permissions": {"allow": ["Bash(npm test)"]}}"#;
    let files = [".claude/settings.local.json", "other.json"].map(|name| project.join(name));
    files.iter().for_each(|file| fs::write(file, rules).unwrap());
    for (number, file) in [".claude/settings.local.json", "other.json", "../shop/other.json"].iter().enumerate() {
        granted_over(&mut link, &fleet.hub, &format!("s__{number}"), project.to_str().unwrap(), file);
        let (_, stderr) = exits(&run(&fleet.hub, &["grants", "revoke", "1"]), 1);
        assert!(stderr.contains("machine `build-1`") && stderr.contains("run /permissions"), "{file}: {stderr}");
    }
    for file in &files {
        assert_eq!(fs::read_to_string(file).unwrap(), rules, "{}", file.display());
    }
    let grant = list(&fleet.hub)["grants"][2].take();
    assert_eq!(
        (&grant["state"], &grant["host"], &grant["file"]),
        (&json!("elsewhere"), &json!("build-1"), &Value::Null)
    );
    let (stdout, _) = exits(&run(&fleet.hub, &["grants"]), 0);
    assert!(stdout.contains("on build-1, for .claude/settings.local.json of "), "{stdout}");
}
