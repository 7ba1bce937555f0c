//! `answerback doctor` compares our entries with what `answerback install` writes, and its advice works as it stands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::doctor::Project;
use crate::install::moved;
use crate::world::ANSWERBACK;

const EVENTS: [&str; 6] = ["PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd"];

impl Project {
    fn local(&self) -> PathBuf {
        self.dir.join(".claude/settings.local.json")
    }

    /// A command in the project's directory, with both programs and Claude Code in the PATH.
    pub(crate) fn sh(&self, command: &str) -> Output {
        let ours = Path::new(ANSWERBACK).parent().unwrap();
        let path = format!("{}:{}:/usr/bin:/bin", self.bin.display(), ours.display());
        let mut sh = self.world.command("sh");
        sh.args(["-c", command]).current_dir(&self.dir).env("PATH", path).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn install(&self, args: &str) {
        let output = self.sh(&format!("answerback install {args}"));
        assert!(output.status.success(), "{output:?}");
    }

    fn hook_findings(&self) -> Vec<Value> {
        let (_, findings) = self.doctor();
        findings.into_iter().filter(|finding| ["settings", "terminal"].contains(&as_text(&finding["check"]))).collect()
    }

    /// The only thing that is wrong with the settings.
    #[track_caller]
    pub(crate) fn fault(&self) -> Value {
        let mut findings = self.hook_findings();
        findings.retain(|finding| finding["level"] != "ok");
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings.remove(0)
    }

    /// Does what the doctor says, as a person would: the first command in it.
    #[track_caller]
    pub(crate) fn follow(&self, finding: &Value) {
        let fix = as_text(&finding["fix"]);
        let command = fix.split('`').nth(1).unwrap_or_else(|| panic!("no command in {fix}"));
        let output = self.sh(command);
        assert!(output.status.success(), "{command}: {output:?}");
    }

    #[track_caller]
    pub(crate) fn is_clean(&self) {
        let findings = self.hook_findings();
        assert!(findings.iter().all(|finding| finding["level"] == "ok"), "{findings:#?}");
        assert_eq!(findings.len(), 1, "{findings:#?}");
    }
}

fn as_text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[track_caller]
pub(crate) fn says(finding: &Value, level: &str, words: &[&str]) {
    assert_eq!(finding["level"], level, "{finding}");
    for word in words {
        assert!(as_text(&finding["message"]).contains(word), "{word}: {finding}");
    }
}

#[test]
fn a_missing_event_is_named_and_the_advice_brings_it_back() {
    let project = Project::new();
    let file = project.settings().display().to_string();
    project.is_clean();
    for event in EVENTS {
        project.edit_settings(|settings| {
            settings["hooks"].as_object_mut().unwrap().remove(event).unwrap();
        });
        let level = if ["PreToolUse", "PermissionRequest"].contains(&event) { "error" } else { "warning" };
        let fault = project.fault();
        says(&fault, level, &[&file, event, "missing"]);
        for other in EVENTS.into_iter().filter(|other| *other != event) {
            assert!(!as_text(&fault["message"]).contains(other), "{fault}");
        }
        let installed = |finding: &Value| finding["level"] == "ok" && finding["check"] == "settings";
        assert!(!project.hook_findings().iter().any(installed), "it says that all is well: {event}");
        project.follow(&fault);
        project.is_clean();
    }
    project.edit_settings(|settings| {
        for event in ["Stop", "PostToolUse", "SessionEnd"] {
            settings["hooks"].as_object_mut().unwrap().remove(event).unwrap();
        }
    });
    says(&project.fault(), "warning", &["PostToolUse, Stop and SessionEnd are missing"]);
}

#[test]
fn an_outdated_event_is_named_with_what_is_different() {
    let project = Project::new();
    let hook = |event: &str| format!("/hooks/{event}/0/hooks/0");
    for (pointer, key, value, level, words) in [
        (hook("PreToolUse"), "timeout", json!(30), "warning", &["PreToolUse", "after 30 s"][..]),
        (hook("PermissionRequest"), "timeout", json!(600), "warning", &["PermissionRequest", "after 600 s"]),
        (hook("Stop"), "timeout", json!(1), "warning", &["Stop (timeout)"]),
        (hook("SessionEnd"), "args", json!(["hold"]), "warning", &["SessionEnd (mode)"]),
        (hook("Stop"), "type", json!("prompt"), "warning", &["Stop (type)"]),
        (hook("PreToolUse"), "statusMessage", json!("Old"), "note", &["PreToolUse (statusMessage)"]),
        (
            hook("UserPromptSubmit"),
            "command",
            json!("/gone/answerback-hook"),
            "warning",
            &["/gone/", "UserPromptSubmit"],
        ),
        ("/hooks/PreToolUse/0".into(), "matcher", json!("AskUserQuestion"), "warning", &["PreToolUse (matcher)"]),
        ("/hooks/PreToolUse/0".into(), "matcher", json!("Bash"), "error", &["PreToolUse is missing"]),
    ] {
        project.edit_settings(|settings| settings.pointer_mut(&pointer).unwrap()[key] = value);
        let mut fault = project.hook_findings();
        fault.retain(|finding| finding["level"] != "ok");
        assert_eq!(fault.len(), 1, "{fault:#?}");
        says(&fault[0], level, words);
        project.follow(&fault[0]);
        project.is_clean();
    }
}

#[test]
fn an_event_that_has_it_twice_is_named() {
    let project = Project::new();
    project.edit_settings(|settings| {
        let groups = settings["hooks"]["Stop"].as_array_mut().unwrap();
        groups.push(groups[0].clone());
    });
    let fault = project.fault();
    says(&fault, "warning", &["settings.json", "twice", "Stop"]);
    project.follow(&fault);
    project.is_clean();
    project.edit_settings(|settings| settings["hooks"]["Notification"] = settings["hooks"]["Stop"].clone());
    let fault = project.fault();
    says(&fault, "note", &["settings.json", "Notification"]);
    project.follow(&fault);
    project.is_clean();
}

#[test]
fn two_files_that_contradict_each_other_are_told_with_both_ways_out() {
    let project = Project::new();
    project.install("--mode hold");
    project.install("--local --mode native");
    let fault = project.fault();
    says(&fault, "warning", &["settings.json", "hold", "settings.local.json", "native", "contradict"]);
    let fix = as_text(&fault["fix"]);
    assert!(fix.contains("answerback uninstall --local") && fix.contains("answerback uninstall --project"), "{fix}");
    project.follow(&fault);
    project.is_clean();
    assert!(project.settings().exists() && !project.local().exists());
}

#[test]
fn two_files_that_say_the_same_are_told_and_one_is_enough() {
    let project = Project::new();
    project.install("--user");
    let fault = project.fault();
    says(&fault, "warning", &["shop/.claude/settings.json", "twice"]);
    project.follow(&fault);
    project.is_clean();
    // What is incomplete goes, and what is complete stays.
    project.install("--local --mode auto");
    let user = project.world.home().join(".claude/settings.json");
    let whole: Value = serde_json::from_slice(&fs::read(&user).unwrap()).unwrap();
    let mut half = whole;
    half["hooks"].as_object_mut().unwrap().remove("PreToolUse").unwrap();
    fs::write(&user, half.to_string()).unwrap();
    let fault = project.fault();
    assert!(as_text(&fault["fix"]).contains("answerback uninstall --user"), "{fault}");
    project.follow(&fault);
    project.is_clean();
}

#[test]
fn a_project_that_is_the_home_directory_has_its_file_once() {
    let project = Project::new();
    project.install("--user");
    let home = project.world.home();
    let output = project.sh(&format!("answerback doctor --json --project {}", home.display()));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let findings: Vec<_> = findings.iter().filter(|finding| finding["check"] == "settings").collect();
    assert!(findings.len() == 1 && findings[0]["level"] == "ok", "{findings:#?}");
}

#[test]
fn with_the_hook_gone_the_advice_begins_with_the_programs() {
    let project = Project::new();
    let program = moved(&project.world.home().join("opt"));
    let hook = program.with_file_name("answerback-hook");
    let install = || {
        let mut command = project.world.command(&program);
        command.args(["install", "--project"]).arg(&project.dir).output().unwrap()
    };
    assert!(install().status.success());
    fs::remove_file(&hook).unwrap();
    assert_eq!(install().status.code(), Some(1), "what the doctor used to advise");
    for installed in [true, false] {
        if !installed {
            fs::remove_file(project.settings()).unwrap();
        }
        let (code, findings) = project.doctor_of(&program);
        let fault = findings.iter().find(|f| f["check"] == "settings" && f["level"] == "error").unwrap();
        let fix = as_text(&fault["fix"]);
        let (programs, settings) = (fix.find("install/install.sh").unwrap(), fix.find("`answerback install").unwrap());
        assert!(code == 1 && programs < settings, "{fault}");
        assert!(fix.contains(&hook.parent().unwrap().canonicalize().unwrap().display().to_string()), "{fix}");
    }
}

#[test]
fn a_headless_run_is_refused_only_if_its_question_would_be_lost() {
    let project = Project::new();
    project.claude("echo '2.1.325 (Claude Code)'");
    let run = || project.sh("answerback run -- claude -p 'ask me'");
    let without = |event: &str| {
        project.install("--mode auto");
        project.edit_settings(|settings| {
            settings["hooks"].as_object_mut().unwrap().remove(event).unwrap();
        });
        run()
    };
    let refused = without("PreToolUse");
    assert_eq!(refused.status.code(), Some(1));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("PreToolUse is missing") && stderr.contains("answerback install --project"), "{stderr}");
    for event in EVENTS.into_iter().filter(|event| *event != "PreToolUse") {
        let output = without(event);
        assert!(output.status.success(), "{event}: {output:?}");
    }
    // One that stands aside loses nothing if the other does not.
    project.install("--mode native");
    assert_eq!(run().status.code(), Some(1));
    project.install("--local --mode hold");
    assert!(run().status.success());
}
