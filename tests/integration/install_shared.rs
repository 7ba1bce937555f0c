//! `answerback install` in a project that several people use: a file that git shares, one that it does not, and the form for everybody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::doctor_hooks::says;
use crate::install::{ORIGINAL, Project, Said, ours};
use crate::world::{ANSWERBACK, HOOK, question};
use crate::{doctor, world};

impl Project {
    pub(crate) fn git(&self, args: &[&str]) {
        let mut git = self.world.command("git");
        let output = git.args(args).current_dir(&self.dir).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// A project whose settings are part of its repository.
    fn tracked() -> Self {
        let project = Self::with(ORIGINAL);
        project.git(&["init", "--quiet"]);
        project.git(&["add", ".claude/settings.json"]);
        project
    }

    fn local(&self) -> PathBuf {
        self.dir.join(".claude/settings.local.json")
    }
}

fn json_of(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// The command that Claude Code runs for a question.
fn command_of(settings: &Value) -> &str {
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap()
}

#[test]
fn the_path_of_one_machine_is_not_written_into_a_file_that_git_shares() {
    let project = Project::tracked();
    for args in [&["install"][..], &["install", "--dry-run"], &["install", "--all", "--mode", "hold"]] {
        let error = project.fails(args);
        assert!(error.contains("settings.json is tracked by git") && error.contains(HOOK), "{error}");
        let dir = project.dir.display();
        assert!(error.contains(&format!("`answerback install --local {dir}`")), "{error}");
        assert!(error.contains(&format!("`answerback install --project {dir} --shared`")), "{error}");
        assert_eq!(project.bytes(), ORIGINAL.as_bytes());
    }
    // A hook of git sets this, and it must not hide where the file is.
    let mut command = project.command(&["install"]);
    assert_eq!(command.env("GIT_DIR", "/nonexistent").output().unwrap().status.code(), Some(1));
    // It is in the index, so the next commit would have it, even if it is not there now.
    fs::remove_dir_all(project.dir.join(".claude")).unwrap();
    assert!(project.fails(&["install"]).contains("tracked by git"));
    assert!(!project.dir.join(".claude").exists());
}

#[test]
fn a_file_that_has_the_path_already_can_be_updated_and_one_of_somebody_else_cannot() {
    let project = Project::with(ORIGINAL);
    project.run(&["install"]);
    project.git(&["init", "--quiet"]);
    project.git(&["add", ".claude/settings.json"]);
    assert!(project.run(&["install"]).stderr.contains("already installed"));
    project.run(&["install", "--permissions"]);
    assert_eq!(ours(&project.value()), [HOOK]);
    let theirs = String::from_utf8(project.bytes()).unwrap().replace(HOOK, "/home/ann/bin/answerback-hook");
    fs::write(project.settings(), theirs).unwrap();
    assert!(project.fails(&["install"]).contains(HOOK));
}

#[test]
fn a_file_that_may_be_committed_is_told() {
    let project = Project::tracked();
    fs::remove_file(project.settings()).unwrap();
    let git =
        |args: &[&str]| assert!(Command::new("git").arg("-C").arg(&project.dir).args(args).status().unwrap().success());
    git(&["rm", "-q", "--cached", ".claude/settings.json"]);
    let said = project.run(&["install"]);
    assert!(said.stderr.contains("Before you commit it, run this again with --shared"), "{said:?}");
    let said = project.run(&["uninstall"]);
    assert!(!said.stderr.contains("commit"), "{said:?}");
    assert!(!project.run(&["install", "--shared"]).stderr.contains("commit"));
}

#[test]
fn local_settings_are_for_one_person_and_everything_finds_them() {
    let project = Project::tracked();
    let said = project.run(&["install", "--local"]);
    assert!(said.stderr.contains("\nTo keep it out of commits, add it to .gitignore."), "{said:?}");
    assert_eq!((ours(&json_of(&project.local())), project.bytes()), (vec![HOOK], ORIGINAL.as_bytes().to_vec()));
    fs::write(project.dir.join(".gitignore"), "settings.local.json\n").unwrap();
    assert!(!project.run(&["install", "--local"]).stderr.contains("gitignore"));

    // No daemon runs, which it says with its exit code.
    let status: Value =
        serde_json::from_slice(&project.command(&["status", "--json"]).output().unwrap().stdout).unwrap();
    assert_eq!(status["coverage"]["questions"], true, "{status}");
    // Somebody who does not remember where it is.
    let said = project.run(&["uninstall"]);
    let remove = format!("To remove it there: answerback uninstall --local {}", project.dir.display());
    assert!(said.stderr.contains("There is no hook") && said.stderr.contains(&remove), "{said:?}");
    assert!(project.run(&["uninstall", "--everywhere"]).stderr.contains("settings.local.json"));
    assert!(!project.local().exists());

    fs::write(project.local(), "{}").unwrap();
    project.git(&["add", "--force", ".claude/settings.local.json"]);
    assert!(project.fails(&["install", "--local"]).contains("git rm --cached"));
}

#[test]
fn the_shared_form_finds_the_hook_and_says_nothing_without_it() {
    let project = Project::tracked();
    project.run(&["install", "--shared"]);
    let settings = project.value();
    let command = command_of(&settings).to_owned();
    assert!(!settings.to_string().contains(HOOK), "{settings}");

    let call = question("Which?").to_string();
    let run = |path: &str, home: &Path| {
        let mut sh = Command::new("/bin/sh");
        sh.args(["-c", &command]).env_clear().env("PATH", path).env("HOME", home).stdin(Stdio::piped());
        let mut child = sh.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Without the hook, nobody reads it.
        drop(std::io::Write::write_all(&mut child.stdin.take().unwrap(), call.as_bytes()));
        Said::from(child.wait_with_output().unwrap())
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let nothing = run("/usr/bin:/bin", elsewhere.path());
    assert_eq!((nothing.code, nothing.stdout.as_str(), nothing.stderr.as_str()), (Some(0), "", ""));
    // Both places where the hook may be: a program of its name says that it was found, and with which mode.
    for place in [".local/bin", "bin"] {
        let dir = elsewhere.path().join(place);
        fs::create_dir_all(&dir).unwrap();
        world::make_program(&dir.join("answerback-hook"), format!("#!/bin/sh\necho \"{place} $*\"\n").as_bytes());
    }
    let path = format!("/usr/bin:/bin:{}", elsewhere.path().join("bin").display());
    assert_eq!(run(&path, elsewhere.path()).stdout, "bin auto\n");
    assert_eq!(run("/usr/bin:/bin", elsewhere.path()).stdout, ".local/bin auto\n");

    project.run(&["uninstall"]);
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
}

#[test]
fn a_shared_file_stays_shared_and_keeps_its_choices() {
    let project = Project::tracked();
    project.run(&["install", "--shared", "--permissions", "--mode", "hold"]);
    let command = command_of(&project.value()).to_owned();
    assert!(command.ends_with("exec answerback-hook hold"), "{command}");
    let again = project.run(&["install"]);
    assert!(again.stderr.contains("already installed") && again.stderr.contains("The mode stays `hold`"), "{again:?}");
    let report: Value = serde_json::from_str(&project.run(&["install", "--json"]).stdout).unwrap();
    assert!(command.starts_with(report["command"].as_str().unwrap()), "{report}");
    assert_eq!(report["coverage"]["permissions"], true, "{report}");
    assert!(command_of(&project.value()).ends_with("exec answerback-hook hold"));
    project.run(&["install", "--mode", "auto"]);
    assert!(command_of(&project.value()).ends_with("exec answerback-hook auto"));
    for other in ["--local", "--user"] {
        let output = project.command(&["install", "--shared", other]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{other}");
    }
}

#[test]
fn a_second_file_with_the_hook_is_named_with_the_way_to_remove_it() {
    let project = Project::tracked();
    project.run(&["install", "--user"]);
    let said = project.run(&["install", "--shared"]);
    assert!(said.stderr.contains("To remove the other one: answerback uninstall --user"), "{said:?}");
    let said = project.run(&["install", "--local"]);
    let remove = format!("answerback uninstall --project {}", project.dir.display());
    assert!(said.stderr.contains("uninstall --user") && said.stderr.contains(&remove), "{said:?}");
    project.run(&["uninstall", "--local"]);
    project.run(&["uninstall", "--user"]);
    assert!(!project.run(&["install"]).stderr.contains("another file"));
}

#[test]
fn the_doctor_knows_where_a_shared_entry_leads() {
    let project = doctor::Project::new();
    project.install("--shared --all");
    // The doctor's PATH does not have our programs.
    let fault = project.fault();
    says(&fault, "error", &["settings.json", "answerback-hook", "not there"]);
    let own = Path::new(ANSWERBACK).parent().unwrap();
    assert!(fault["fix"].as_str().unwrap().contains(&format!("Put {} into the PATH", own.display())), "{fault}");
    let bin = project.world.home().join(".local/bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(HOOK, bin.join("answerback-hook")).unwrap();
    project.is_clean();
    // Another one comes first.
    world::make_program(&project.bin.join("answerback-hook"), b"#!/bin/sh\n");
    says(&project.fault(), "warning", &["not the one of this program"]);
}
