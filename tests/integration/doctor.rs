//! `answerback doctor` and `answerback run`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::commands::exits;
use crate::world::{ANSWERBACK, HOOK, NOBODY, World, copy_program, make_program, question};

/// A world with a project that has the hook, and a Claude Code of some version.
pub(crate) struct Project {
    pub(crate) world: World,
    pub(crate) dir: PathBuf,
    pub(crate) bin: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let (dir, bin) = (world.home().join("shop"), world.home().join("bin"));
        fs::create_dir_all(&dir).unwrap();
        fs::create_dir_all(&bin).unwrap();
        let project = Self { world, dir, bin };
        project.claude("echo '2.1.325 (Claude Code)'");
        let installed =
            project.world.command(ANSWERBACK).args(["install", "--project"]).arg(&project.dir).output().unwrap();
        assert!(installed.status.success(), "{installed:?}");
        project
    }

    pub(crate) fn claude(&self, script: &str) {
        make_program(&self.bin.join("claude"), format!("#!/bin/sh\n{script}\n").as_bytes());
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.dir.join(".claude/settings.json")
    }

    pub(crate) fn edit_settings(&self, edit: impl FnOnce(&mut Value)) {
        let mut settings = serde_json::from_slice(&fs::read(self.settings()).unwrap()).unwrap();
        edit(&mut settings);
        fs::write(self.settings(), settings.to_string()).unwrap();
    }

    pub(crate) fn doctor(&self) -> (i32, Vec<Value>) {
        self.doctor_of(Path::new(ANSWERBACK))
    }

    pub(crate) fn doctor_of(&self, program: &Path) -> (i32, Vec<Value>) {
        let path = format!("{}:/usr/bin:/bin", self.bin.display());
        let mut command = self.world.command(program);
        let output = command.args(["doctor", "--json", "--project"]).arg(&self.dir).env("PATH", path).output().unwrap();
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code().unwrap(), report["findings"].as_array().unwrap().clone())
    }

    /// The doctor finds this, and says what to do.
    #[track_caller]
    fn finds(&self, check: &str, level: &str, message: &str) {
        let (code, findings) = self.doctor();
        expect(&findings, check, level, message);
        assert_eq!(code, i32::from(findings.iter().any(|finding| finding["level"] == "error")));
    }
}

#[track_caller]
fn expect(findings: &[Value], check: &str, level: &str, message: &str) {
    let found = findings.iter().find(|finding| {
        finding["check"] == check && finding["level"] == level && finding["message"].as_str().unwrap().contains(message)
    });
    let found = found.unwrap_or_else(|| panic!("no {level} of {check} with {message:?} in {findings:#?}"));
    assert!(found["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{found}");
}

#[test]
fn all_is_well_and_a_round_trip_proves_it() {
    let project = Project::new();
    let (code, findings) = project.doctor();
    let bad: Vec<_> =
        findings.iter().filter(|finding| finding["level"] == "warning" || finding["level"] == "error").collect();
    assert_eq!((code, bad), (0, vec![]));
    let round_trip = findings.iter().find(|finding| finding["check"] == "round_trip").unwrap();
    assert!(round_trip["message"].as_str().unwrap().contains("received"), "{round_trip}");
    let history = project.world.get("/v1/asks?state=settled&probes=true").json();
    assert_eq!(history["asks"][0]["outcome"]["kind"], "answered");
    // It is said that one-shot runs need help.
    expect(&findings, "headless", "note", "cannot ask");
}

#[test]
fn faults_of_the_settings() {
    let project = Project::new();
    let whole = fs::read(project.settings()).unwrap();
    let plant = |edit: &dyn Fn(&mut Value)| {
        fs::write(project.settings(), &whole).unwrap();
        project.edit_settings(edit);
    };
    plant(&|settings| settings["disableAllHooks"] = json!(true));
    project.finds("settings", "error", "turns all hooks off");
    plant(&|settings| settings["permissions"] = json!({"deny": ["Bash(rm *)", "AskUserQuestion"]}));
    project.finds("settings", "error", "forbids");
    plant(&|settings| settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = json!("/gone/answerback-hook"));
    project.finds("settings", "error", "is not there");
    plant(&|settings| settings["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = json!(30));
    project.finds("settings", "warning", "after 30 s");
    plant(&|settings| {
        let other = json!({"matcher": "AskUserQuestion", "hooks": [{"type": "command", "command": "other.py"}]});
        settings["hooks"]["PreToolUse"].as_array_mut().unwrap().push(other);
    });
    project.finds("settings", "warning", "other.py");
    plant(&|settings| settings["hooks"] = json!({}));
    project.finds("settings", "error", "not installed");
    fs::write(project.settings(), [b"// by hand\n".as_slice(), &whole].concat()).unwrap();
    project.finds("settings", "error", "line 1, column 1");
    // The user's file counts too.
    fs::write(project.settings(), &whole).unwrap();
    fs::create_dir_all(project.world.home().join(".claude")).unwrap();
    fs::write(project.world.home().join(".claude/settings.json"), r#"{"disableAllHooks": true}"#).unwrap();
    project.finds("settings", "error", "turns all hooks off");
}

#[test]
fn faults_of_the_programs() {
    let project = Project::new();
    let alone = project.bin.join("answerback");
    copy_program(ANSWERBACK, &alone);
    let (code, findings) = project.doctor_of(&alone);
    assert_eq!(code, 1);
    expect(&findings, "program", "error", "missing");
    expect(&findings, "round_trip", "error", "did not come back");
    fs::write(project.bin.join("answerback-hook"), "not a program").unwrap();
    expect(&project.doctor_of(&alone).1, "program", "error", "cannot be run");

    project.claude("echo '2.0.76 (Claude Code)'");
    project.finds("claude_code", "warning", "2.0.76 takes answers as its own only");
    fs::remove_file(project.bin.join("claude")).unwrap();
    project.finds("claude_code", "warning", "not in the PATH");
}

#[test]
fn faults_of_the_instance() {
    let mut project = Project::new();
    let state = project.world.state("");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    project.finds("files", "error", "mode 755");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();

    project.world.write_config("prot = 1\n");
    project.finds("config", "error", "prot");
    project.finds("round_trip", "error", "prot");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    project.world.write_config(&format!("port = {port}\n"));
    drop(project.world.daemon());
    project.finds("port", "warning", &format!("another program has port {port}"));

    project.world.kill_daemon();
    project.finds("daemon", "note", "left its socket behind");

    project.world.kill_daemon();
    let store = project.world.state("asks.db");
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    project.finds("store", "error", "newer version");
    fs::write(&store, vec![7; 8192]).unwrap();
    project.finds("store", "error", "not a database");
}

#[test]
fn a_pipe_in_place_of_settings_is_told_and_not_waited_for() {
    let project = Project::new();
    fs::remove_file(project.settings()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(project.settings()).status().unwrap();
    assert!(made.success());
    project.finds("settings", "error", "not a regular file");
    let install = project.world.command(ANSWERBACK).args(["install", "--project"]).arg(&project.dir).output().unwrap();
    assert_eq!(install.status.code(), Some(1));
}

#[test]
fn the_report_is_readable() {
    let project = Project::new();
    let path = format!("{}:/usr/bin:/bin", project.bin.display());
    let mut command = project.world.command(ANSWERBACK);
    let output = command.arg("doctor").current_dir(&project.dir).env("PATH", path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("✓ the hook is installed in ") && text.ends_with("\nAll is well.\n"), "{text}");
}

#[test]
fn run_passes_everything_through_and_makes_one_shot_runs_able_to_ask() {
    let project = Project::new();
    project.claude("printf '[%s]' \"$@\"; cat; exit 7");
    let path = format!("{}:/usr/bin:/bin", project.bin.display());
    let run = |dir: &Path, args: &[&str]| {
        let mut command = project.world.command(ANSWERBACK);
        command.args(["run", "--"]).args(args).current_dir(dir).env("PATH", &path);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // One that is refused does not read it.
        drop(std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"input"));
        child.wait_with_output().unwrap()
    };
    let output = run(&project.dir, &["claude", "-p", "ask me", "--model", "x"]);
    assert_eq!(output.status.code(), Some(7));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let (added, given) = stdout.split_once("][-p]").unwrap();
    assert_eq!(given, "[ask me][--model][x]input");
    let config =
        added.strip_prefix("[--permission-prompt-tool][mcp__answerback-run__permission][--mcp-config=").unwrap();
    let config: Value = serde_json::from_str(config).unwrap();
    let server = &config["mcpServers"]["answerback-run"];
    assert_eq!((&server["command"], &server["args"]), (&json!(ANSWERBACK), &json!(["permission-tool"])));
    let refused = run(project.world.home(), &["claude", "-p", "ask me"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("answerback install"), "{refused:?}");
    let brings = run(project.world.home(), &["claude", "--settings", "x.json", "-p", "ask me"]);
    assert_eq!(brings.status.code(), Some(7));
    let wrapped = run(&project.dir, &["env", "A=1", "claude", "-p", "ask me"]);
    assert_eq!(wrapped.status.code(), Some(7), "{wrapped:?}");
    project.edit_settings(|settings| settings["disableAllHooks"] = json!(true));
    let off = run(&project.dir, &["claude", "-p", "ask me"]);
    assert!(String::from_utf8_lossy(&off.stderr).contains("turns all hooks off"), "{off:?}");
    project.edit_settings(|settings| settings["disableAllHooks"] = json!(false));
    let missing = run(&project.dir, &["no-such-program"]);
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn a_project_can_have_a_mode_of_its_own() {
    let mut project = Project::new();
    let path = format!("{}:/usr/bin:/bin", project.bin.display());
    let install = |project: &Project, mode: &str| {
        let mut command = project.world.command(ANSWERBACK);
        command.args(["install", "--mode", mode, "--project"]).arg(&project.dir).env("PATH", &path);
        command.output().unwrap()
    };
    let native = install(&project, "native");
    assert!(native.status.success());
    assert!(String::from_utf8_lossy(&native.stderr).contains("Everything it asks stays in the terminal"), "{native:?}");
    let settings: Value = serde_json::from_slice(&fs::read(project.settings()).unwrap()).unwrap();
    assert_eq!(settings["hooks"]["PreToolUse"].as_array().unwrap().len(), 1, "updated, not doubled");
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"], json!(["native"]));
    expect(&project.doctor().1, "mode", "note", "stands aside");
    let before = fs::read(project.settings()).unwrap();
    assert!(install(&project, "native").status.success());
    assert_eq!(fs::read(project.settings()).unwrap(), before);
    assert_eq!(install(&project, "sideways").status.code(), Some(2));

    let mut native = project.world.command(HOOK);
    native.arg("native");
    let call = crate::world::call("s", "t", &[question("Which?")]).to_string();
    let hook = project.world.hook_with(native, call.as_bytes());
    hook.no_decision();
    assert!(install(&project, "auto").status.success());
    assert_eq!(project.doctor().0, 0);
}

#[test]
fn uninstall_everywhere_finds_every_place() {
    let project = Project::new();
    let run = |args: &[&str]| project.world.command(ANSWERBACK).args(args).current_dir(&project.dir).output().unwrap();
    assert!(run(&["install", "--user"]).status.success());
    assert!(run(&["install", "--local"]).status.success());
    let user = project.world.home().join(".claude/settings.json");
    assert!(user.exists() && project.settings().exists());
    let removed = run(&["uninstall", "--everywhere"]);
    assert!(removed.status.success(), "{removed:?}");
    assert!(!user.exists() && !project.settings().exists() && !project.dir.join(".claude").exists());
    // One file that cannot be edited does not keep the hook in the others.
    assert!(run(&["install", "--user"]).status.success());
    assert!(run(&["install"]).status.success());
    let whole = fs::read_to_string(project.settings()).unwrap();
    fs::write(project.settings(), format!("// mine\n{whole}")).unwrap();
    let some = run(&["uninstall", "--everywhere", "--json"]);
    assert_eq!(some.status.code(), Some(1));
    assert_eq!(serde_json::from_slice::<Value>(&some.stdout).unwrap().as_array().unwrap().len(), 1);
    assert!(!user.exists());
    fs::write(project.settings(), whole).unwrap();
    assert!(run(&["uninstall", "--everywhere"]).status.success());
    let nothing = run(&["uninstall", "--everywhere"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("not installed anywhere"), "{nothing:?}");
}

#[test]
fn the_doctor_does_not_disturb_who_waits() {
    let mut project = Project::new();
    let (mut hook, key) = project.world.ask("s", "t", &[question("Which?")]);
    assert_eq!(project.doctor().0, 0);
    assert!(hook.is_waiting());
    project.world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
    assert!(Path::new(HOOK).exists());
}

#[test]
fn a_home_that_cannot_be_used_is_told() {
    let world = World::new();
    // Somebody who may not look into this home.
    let stranger = |args: &[&str]| {
        let mut command = world.command(ANSWERBACK);
        command.args(args).current_dir("/").uid(NOBODY).gid(NOBODY);
        command.output()
    };
    if !rustix::process::geteuid().is_root() || !stranger(&["--version"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: the program cannot be run as another user here");
        return;
    }
    let (stdout, _) = exits(&stranger(&["status"]).unwrap(), 6);
    assert!(stdout.contains("cannot start") && stdout.contains("cannot be written to"), "{stdout}");
    let (stdout, _) = exits(&stranger(&["doctor"]).unwrap(), 1);
    assert!(stdout.contains("✗") && stdout.contains("set XDG_STATE_HOME to one of your own"), "{stdout}");
    let (_, stderr) = exits(&stranger(&["pending"]).unwrap(), 1);
    assert!(stderr.contains("hint: Run: answerback doctor"), "{stderr}");
}
