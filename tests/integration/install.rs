//! `answerback install` and `answerback uninstall` on real files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::world::{ANSWERBACK, HOOK, World};

pub(crate) const ORIGINAL: &str = "{\n   \"model\": \"opus\",\n   \"env\": { \"A\": \"1\" }\n}";

/// A project in a world.
pub(crate) struct Project {
    pub(crate) world: World,
    pub(crate) dir: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let dir = world.home().join("shop");
        fs::create_dir(&dir).unwrap();
        Self { world, dir }
    }

    pub(crate) fn with(settings: impl AsRef<[u8]>) -> Self {
        let project = Self::new();
        fs::create_dir(project.dir.join(".claude")).unwrap();
        fs::write(project.settings(), settings).unwrap();
        project
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.dir.join(".claude/settings.json")
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.settings()).unwrap()
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(ANSWERBACK);
        command.args(args).current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let said = Said::from(self.command(args).output().unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        said
    }

    #[track_caller]
    pub(crate) fn fails(&self, args: &[&str]) -> String {
        let said = Said::from(self.command(args).output().unwrap());
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
        assert!(said.stderr.starts_with("error: ") && said.stderr.contains("\nhint: "), "{}", said.stderr);
        said.stderr
    }

    pub(crate) fn beside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.join(".claude")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

fn corpus(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/settings").join(dir);
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

/// The commands of our entries, each once. No event may have two of them.
pub(crate) fn ours(settings: &Value) -> Vec<&str> {
    let mut commands = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        let handlers = groups.as_array().into_iter().flatten().filter_map(|group| group["hooks"].as_array()).flatten();
        let own = handlers.filter_map(|handler| handler["command"].as_str()).filter(|c| c.contains("answerback-hook"));
        let before = commands.len();
        commands.extend(own);
        assert!(commands.len() - before <= 1, "doubled in {event}: {settings}");
    }
    commands.sort_unstable();
    commands.dedup();
    commands
}

#[test]
fn every_kind_of_file_gets_the_hook_and_gets_its_bytes_back() {
    let files = corpus("");
    assert!(files.len() >= 15);
    for file in files {
        let original = fs::read(&file).unwrap();
        let project = Project::with(&original);
        let installed = project.run(&["install"]);
        assert_eq!(ours(&project.value()), [HOOK], "{}", file.display());
        assert!(!installed.stdout.contains('\x1b'), "colours, and nobody sees them");
        project.run(&["uninstall"]);
        assert_eq!(project.bytes(), original, "{}", file.display());
        assert_eq!(project.beside(), ["settings.json"]);
    }
}

#[test]
fn the_diff_is_only_our_lines_and_the_backup_is_where_it_says() {
    let original = fs::read(corpus("").into_iter().find(|path| path.ends_with("other_hooks.json")).unwrap()).unwrap();
    let project = Project::with(&original);
    let said = project.run(&["install", "--project", "."]);
    let changes: Vec<_> = said.stdout.lines().skip(2).filter(|line| !line.starts_with([' ', '@'])).collect();
    let entries = changes.iter().filter(|line| line.contains("answerback-hook")).count();
    assert_eq!(
        entries,
        ["PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd"].len()
    );
    assert!(changes.iter().all(|line| line.starts_with('+')), "{}", said.stdout);
    assert!(said.stdout.contains(&format!("+            \"command\": \"{HOOK}\",\n")), "{}", said.stdout);
    let state = project.world.state("backups").display().to_string();
    let backup = said.stderr.split_whitespace().find(|word| word.starts_with(&state)).unwrap();
    assert_eq!(fs::read(backup.trim_end_matches('.')).unwrap(), original);
    assert!(said.stderr.contains("Next: "), "{}", said.stderr);
}

#[test]
fn what_claude_code_could_not_read_is_refused_and_left_alone() {
    let files = corpus("refused");
    assert!(files.len() >= 15);
    for file in files {
        let original = fs::read(&file).unwrap();
        let project = Project::with(&original);
        let error = project.fails(&["install"]);
        assert!(error.contains("settings.json cannot be edited: line ") && error.contains(", column "), "{error}");
        assert_eq!((project.bytes(), project.beside()), (original, vec!["settings.json".to_owned()]));
    }
    let project = Project::with("{\n  \"a\": 1, // why\n}\n");
    assert!(project.fails(&["install"]).contains("line 2, column 11: a comment"));
    assert!(project.fails(&["uninstall"]).contains("line 2, column 11: a comment"));
}

#[test]
fn twice_is_once() {
    let project = Project::with(ORIGINAL);
    project.run(&["install"]);
    let identity = || {
        let metadata = fs::metadata(project.settings()).unwrap();
        (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), project.bytes())
    };
    let before = identity();
    let again = project.run(&["install"]);
    assert!(again.stdout.is_empty() && again.stderr.contains("already installed"), "{again:?}");
    assert_eq!(identity(), before);
    project.run(&["uninstall"]);
    let nothing = project.run(&["uninstall"]);
    assert!(nothing.stdout.is_empty() && nothing.stderr.contains("There is no hook"), "{nothing:?}");
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
}

#[test]
fn links_and_modes_survive() {
    let project = Project::new();
    let at = |name: &str| project.world.home().join(name);
    fs::create_dir(project.dir.join(".claude")).unwrap();
    fs::create_dir(at("dotfiles")).unwrap();
    fs::write(at("dotfiles/real.json"), ORIGINAL).unwrap();
    fs::set_permissions(at("dotfiles/real.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.json", at("dotfiles/link.json")).unwrap();
    symlink("../../dotfiles/link.json", project.settings()).unwrap();
    for command in ["install", "uninstall"] {
        project.run(&[command]);
        assert!(project.settings().is_symlink() && at("dotfiles/link.json").is_symlink());
        let metadata = fs::symlink_metadata(at("dotfiles/real.json")).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(at("dotfiles/real.json")).unwrap() == ORIGINAL, command == "uninstall");
    }
    assert_eq!(fs::read_dir(at("dotfiles")).unwrap().count(), 2);
}

#[test]
fn each_scope_has_its_file() {
    let project = Project::new();
    let home = project.world.home().to_path_buf();
    let other = home.join("other");
    fs::create_dir(&other).unwrap();
    for (args, file) in [
        (vec![], project.settings()),
        (vec!["--project", "../other"], other.join(".claude/settings.json")),
        (vec!["--local"], project.dir.join(".claude/settings.local.json")),
        (vec!["--local", "../other"], other.join(".claude/settings.local.json")),
        (vec!["--user"], home.join(".claude/settings.json")),
    ] {
        let with = |command| [&[command], &args[..]].concat();
        assert!(!file.exists());
        project.run(&with("install"));
        assert_eq!(ours(&serde_json::from_slice(&fs::read(&file).unwrap()).unwrap()), [HOOK], "{args:?}");
        project.run(&with("uninstall"));
        assert!(!file.parent().unwrap().exists(), "{args:?}: what was made is not gone");
    }
    let config_dir = home.join("elsewhere");
    let mut command = project.command(&["install", "--user"]);
    assert!(command.env("CLAUDE_CONFIG_DIR", &config_dir).output().unwrap().status.success());
    assert!(config_dir.join("settings.json").exists() && !home.join(".claude").exists());

    assert!(project.fails(&["install", "--project", "nowhere"]).contains("no directory nowhere"));
    for both in [["--user", "--local"], ["--project=.", "--user"], ["--project=.", "--local"]] {
        let output = project.command(&["install"]).args(both).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{both:?}");
    }
}

#[test]
fn a_dry_run_shows_it_and_does_nothing() {
    let project = Project::with(ORIGINAL);
    let dry = project.run(&["install", "--dry-run"]);
    assert_eq!((project.bytes(), project.world.state("").exists()), (ORIGINAL.as_bytes().to_vec(), false));
    assert!(dry.stderr.contains("Nothing was changed"), "{dry:?}");
    assert_eq!(dry.stdout, project.run(&["install"]).stdout);
    let installed = project.bytes();
    let dry = project.run(&["uninstall", "--dry-run"]);
    assert_eq!(project.bytes(), installed);
    assert_eq!(dry.stdout, project.run(&["uninstall"]).stdout);
}

#[test]
fn programs_get_json() {
    let project = Project::with(ORIGINAL);
    let json = |args: &[&str]| -> Value {
        let said = project.run(args);
        assert_eq!(said.stderr, "");
        serde_json::from_str(&said.stdout).unwrap()
    };
    let path = project.settings().canonicalize().unwrap();
    let installed = json(&["install", "--json"]);
    assert_eq!(installed["path"], path.to_str().unwrap());
    assert_eq!((&installed["outcome"], &installed["changed"]), (&json!("installed"), &json!(true)));
    assert_eq!((&installed["command"], &installed["dry_run"]), (&json!(HOOK), &json!(false)));
    assert_eq!(fs::read_to_string(installed["backup"].as_str().unwrap()).unwrap(), ORIGINAL);
    let again = json(&["install", "--json", "--dry-run"]);
    assert_eq!((&again["outcome"], &again["changed"]), (&json!("already_installed"), &json!(false)));
    let removed = json(&["uninstall", "--json"]);
    assert_eq!((&removed["outcome"], &removed["changed"]), (&json!("restored"), &json!(true)));
}

#[test]
fn an_enabled_plugin_is_enough() {
    let enabled = "{\"enabledPlugins\": {\"answerback@tools\": true}}";
    let project = Project::with(enabled);
    for args in [&["install"][..], &["install", "--local"]] {
        let said = project.run(args);
        assert!(said.stderr.contains("answerback@tools"), "{said:?}");
        assert_eq!((project.bytes(), project.beside()), (enabled.into(), vec!["settings.json".to_owned()]));
    }
    let said = project.run(&["install", "--json"]);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&said["outcome"], &said["plugin"]), (&json!("plugin_enabled"), &json!("answerback@tools")));
    // The local settings have the last word, and it is no.
    let local = project.dir.join(".claude/settings.local.json");
    fs::write(local, "{\"enabledPlugins\": {\"answerback@tools\": false}}").unwrap();
    project.run(&["install"]);
    assert_eq!(ours(&project.value()), [HOOK]);
}

/// A program in another place. Not written by this process: another test may be starting a program just then, which would
/// inherit the open file, and a file that is open for writing cannot be run.
fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("install").args(["-m", "755"]).args([from, to]).status().unwrap().success());
}

/// Both programs in another place.
pub(crate) fn moved(to: &Path) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    for program in [ANSWERBACK, HOOK].map(Path::new) {
        copy_program(program, &to.join(program.file_name().unwrap()));
    }
    to.join("answerback")
}

#[test]
fn a_moved_program_updates_its_entry() {
    let project = Project::with(ORIGINAL);
    project.run(&["install"]);
    let program = moved(&project.world.home().join("opt"));
    let hook = program.with_file_name("answerback-hook").canonicalize().unwrap();
    let mut install = project.world.command(&program);
    let said = Said::from(install.arg("install").current_dir(&project.dir).output().unwrap());
    assert!(said.code == Some(0) && said.stderr.contains("up to date"), "{said:?}");
    assert_eq!(ours(&project.value()), [hook.to_str().unwrap()]);
    let changes = said.stdout.lines().skip(2).filter(|line| line.starts_with(['+', '-'])).count();
    assert_eq!(changes, 2 * 6, "{}", said.stdout);
    project.run(&["uninstall"]);
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());

    fs::remove_file(hook).unwrap();
    let output = project.world.command(&program).arg("install").current_dir(&project.dir).output().unwrap();
    let said = Said::from(output);
    assert!(said.code == Some(1) && said.stderr.contains("/answerback-hook\nhint: "), "{said:?}");
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
}

#[test]
fn a_path_that_is_special_to_a_shell_is_written_for_the_version_there_is() {
    let project = Project::with(ORIGINAL);
    let home = project.world.home();
    let program = moved(&home.join("it's a \"$place\""));
    let hook = program.with_file_name("answerback-hook").canonicalize().unwrap();
    let bin = home.join("bin");
    fs::create_dir(&bin).unwrap();
    for (version, exec_form) in [(Some("2.1.185"), false), (Some("2.1.186"), true), (None, false)] {
        let claude = bin.join("claude");
        match version {
            Some(version) => {
                let script = bin.join("script");
                fs::write(&script, format!("#!/bin/sh\necho '{version} (Claude Code)'\n")).unwrap();
                copy_program(&script, &claude);
            }
            None => fs::remove_file(&claude).unwrap(),
        }
        let mut install = project.world.command(&program);
        install.arg("install").current_dir(&project.dir).env("PATH", &bin);
        let said = Said::from(install.output().unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        let settings = project.value();
        let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
        let command = handler["command"].as_str().unwrap();
        assert_eq!(handler["args"].is_array(), exec_form, "{version:?}: {handler}");
        if exec_form {
            assert_eq!(command, hook.to_str().unwrap());
        } else {
            // As Claude Code runs it. Without a question there is nothing to do, and nothing to say.
            let output = project.world.command("sh").args(["-c", command]).stdin(Stdio::null()).output().unwrap();
            assert_eq!(Said::from(output).stderr, "", "{command}");
        }
        assert_eq!(ours(&settings).len(), 1);
    }
    project.run(&["uninstall"]);
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
}

#[test]
fn help_has_examples() {
    let project = Project::new();
    for command in ["install", "uninstall"] {
        let help = project.run(&[command, "--help"]).stdout;
        for word in ["Examples:", "--project <DIR>", "--local [<DIR>]", "--user", "--dry-run", "--json"] {
            assert!(help.contains(word), "{word}: {help}");
        }
    }
}
