//! `answerback install` and `answerback doctor` in a repository that was made to do harm.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{ORIGINAL, Project, Said};
use crate::world::{ANSWERBACK, make_program};

/// Runs it with a limit for memory, and kills it if it does not end: a fault must not harm the machine of the test.
fn run(project: &mut Project, args: &[&str]) -> Said {
    let mut command = project.world.command("sh");
    command.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh", ANSWERBACK]).args(args).current_dir(&project.dir);
    Said::from(project.world.hook_with(command, b"").finish())
}

/// It ends with an error that names this file and says what to do, and the settings are not changed.
#[track_caller]
fn refused(project: &mut Project, args: &[&str], name: &str, reason: &str) {
    let said = run(project, args);
    let what = format!("{args:?} {name}: {said:?}");
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{what}");
    assert!(said.stderr.contains(name) && said.stderr.contains(reason) && said.stderr.contains("\nhint: "), "{what}");
    assert!(!said.stderr.contains("the owner and the mode"), "this does not help: {what}");
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn make_large(path: &Path) {
    // A byte more than the limit, without the room on disk.
    File::create(path).unwrap().set_len(4 * 1024 * 1024 + 1).unwrap();
}

#[test]
fn what_only_has_the_name_of_a_leftover_is_neither_read_nor_removed() {
    let mut project = Project::with(ORIGINAL);
    let name = ".settings.json.answerback-x";
    let leftover = project.dir.join(".claude").join(name);
    let secret = project.world.home().join("secret");
    fs::write(&secret, "secret").unwrap();
    let make: [(&str, &dyn Fn()); 5] = [
        ("a symbolic link", &|| symlink("/dev/zero", &leftover).unwrap()),
        ("a symbolic link", &|| symlink(&secret, &leftover).unwrap()),
        ("a named pipe", &|| make_pipe(&leftover)),
        ("a directory", &|| fs::create_dir(&leftover).unwrap()),
        ("larger than 4 MiB", &|| make_large(&leftover)),
    ];
    for (kind, make) in make {
        make();
        refused(&mut project, &["install"], name, kind);
        assert_eq!((project.bytes(), project.beside()), (ORIGINAL.into(), vec![name.into(), "settings.json".into()]));
        if leftover.is_dir() {
            fs::remove_dir(&leftover).unwrap();
        } else {
            fs::remove_file(&leftover).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    let copies = Command::new("grep").args(["-r", "secret"]).arg(project.world.state("backups")).output().unwrap();
    assert_eq!(copies.stdout, b"", "a file of somebody else was copied");

    // What an interrupted run did leave is a small file. It is kept in the state directory, and gone here.
    fs::write(&leftover, "{}").unwrap();
    project.run(&["install"]);
    assert_eq!(project.beside(), ["settings.json"]);
}

#[test]
fn settings_that_are_no_regular_file_are_refused_at_once() {
    let mut project = Project::with(ORIGINAL);
    let (settings, pipe) = (project.settings(), project.dir.join("pipe"));
    make_pipe(&pipe);
    let make: [(&str, &dyn Fn()); 5] = [
        ("it leads to /dev/zero, which is a character device", &|| symlink("/dev/zero", &settings).unwrap()),
        ("/pipe, which is a named pipe", &|| symlink(&pipe, &settings).unwrap()),
        ("it is a named pipe", &|| make_pipe(&settings)),
        ("it is a directory", &|| fs::create_dir(&settings).unwrap()),
        ("it is larger than 4 MiB, the limit", &|| make_large(&settings)),
    ];
    for (reason, make) in make {
        fs::remove_file(&settings).or_else(|_| fs::remove_dir(&settings)).unwrap();
        make();
        for args in [&["install"][..], &["install", "--dry-run"], &["uninstall"], &["uninstall", "--dry-run"]] {
            refused(&mut project, args, "/.claude/settings.json", reason);
        }
        let doctor = run(&mut project, &["doctor", "--json"]);
        assert!(doctor.code == Some(1) && doctor.stdout.contains(reason), "{doctor:?}");
        assert!(!doctor.stdout.contains("the owner and the mode"), "this does not help: {doctor:?}");
    }
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn the_other_settings_of_the_project_are_looked_at_with_the_same_care() {
    let mut project = Project::with(ORIGINAL);
    let local = project.dir.join(".claude/settings.local.json");
    symlink("/dev/zero", &local).unwrap();
    assert_eq!(run(&mut project, &["install"]).code, Some(0));
    let doctor = run(&mut project, &["doctor", "--json"]);
    assert!(doctor.stdout.contains("settings.local.json cannot be read: it leads to /dev/zero"), "{doctor:?}");
}

/// Each of them is an edit of its own, and so many would take hours.
#[test]
fn more_of_our_hooks_than_anybody_needs_are_refused_at_once() {
    let hooks = vec![serde_json::json!({"command": "answerback-hook"}); 20_000];
    let settings = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}}).to_string();
    let mut project = Project::with(&settings);
    for command in ["install", "uninstall"] {
        refused(&mut project, &[command], "/.claude/settings.json", "more than 100 hooks of Answerback");
    }
    assert_eq!(project.bytes(), settings.as_bytes());
    let doctor = run(&mut project, &["doctor", "--json"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("more than 100 hooks"), "{doctor:?}");
}

/// What install adds must not make a file that uninstall refuses.
#[test]
fn a_file_does_not_grow_beyond_the_limit() {
    let just_small_enough = format!("{{\"a\": \"{}\"}}", "a".repeat(4 * 1024 * 1024 - 9));
    let mut project = Project::with(&just_small_enough);
    refused(&mut project, &["install"], "/.claude/settings.json", "4 MiB");
    assert_eq!(project.bytes(), just_small_enough.as_bytes());
}

#[test]
fn files_of_the_state_directory_are_opened_with_the_same_care() {
    let mut project = Project::with(ORIGINAL);
    project.run(&["install"]);
    let backups = fs::read_dir(project.world.state("backups")).unwrap();
    let dir = backups.map(|entry| entry.unwrap().path()).next().unwrap();
    // Without its record, the entries are taken out one by one.
    fs::remove_file(dir.join("record.json")).unwrap();
    make_pipe(&dir.join("record.json"));
    assert_eq!(run(&mut project, &["uninstall"]).code, Some(0));
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
    fs::remove_file(dir.join("lock")).unwrap();
    make_pipe(&dir.join("lock"));
    refused(&mut project, &["install"], "/lock", "a named pipe");
}

impl Project {
    /// What the code of the repository would leave behind.
    fn trace(&self) -> PathBuf {
        self.world.home().join("code-of-the-repository-ran")
    }

    /// A configuration of git that runs code, if git reads it.
    fn config(&self, worktree: &str) -> String {
        let touch = format!("touch {}; false", self.trace().display());
        format!(
            "[core]\n repositoryformatversion = 1\n bare = false\n worktree = {worktree}\n fsmonitor = \"{touch}\"\n \
             sparseCheckout = true\n sparseCheckoutCone = true\n[index]\n sparse = true\n[extensions]\n \
             partialClone = origin\n[remote \"origin\"]\n url = .\n promisor = true\n uploadpack = \"{touch}\"\n"
        )
    }
}

#[test]
fn a_repository_runs_none_of_its_code() {
    // A clone brings a repository inside `.claude`.
    let buried = |project: &Project| {
        let claude = project.dir.join(".claude");
        for dir in ["objects", "refs/heads"] {
            fs::create_dir_all(claude.join(dir)).unwrap();
        }
        fs::write(claude.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(claude.join("config"), project.config("..")).unwrap();
        project.git(&["init", "--quiet"]);
    };
    // An archive brings `.git` itself.
    let unpacked = |project: &Project| {
        project.git(&["init", "--quiet"]);
        fs::write(project.dir.join(".git/config"), project.config(&project.dir.display().to_string())).unwrap();
    };
    // Git would fetch the directory that is left out and missing, with a program that the configuration names.
    let partial = |project: &Project| {
        project.git(&["init", "--quiet"]);
        let left_out = project.dir.join("left-out");
        fs::create_dir(&left_out).unwrap();
        fs::write(left_out.join("file"), "").unwrap();
        project.git(&["add", "."]);
        project.git(&["-c", "user.name=a", "-c", "user.email=a", "commit", "--quiet", "--message=a"]);
        project.git(&["sparse-checkout", "set", "--cone", "--sparse-index", ".claude"]);
        project.git(&["rm", "--quiet", "--cached", ".claude/settings.json"]);
        fs::remove_dir_all(project.dir.join(".git/objects")).unwrap();
        fs::create_dir(project.dir.join(".git/objects")).unwrap();
        let config = project.config(&project.dir.display().to_string());
        fs::write(project.dir.join(".git/config"), config.replace("fsmonitor", "monitor")).unwrap();
    };
    // Somebody has the current directory in the PATH.
    let programs = |project: &Project| {
        project.git(&["init", "--quiet"]);
        for name in ["git", "claude", "systemctl", "notify-send", "xdg-open", "tailscale"] {
            let script = format!("#!/bin/sh\ntouch {}\n", project.trace().display());
            make_program(&project.dir.join(name), script.as_bytes());
        }
    };
    type Make<'a> = &'a dyn Fn(&Project);
    let make: [(&str, Make<'_>); 4] =
        [("buried", &buried), ("unpacked", &unpacked), ("partial", &partial), ("programs", &programs)];
    let mut ran = Vec::new();
    for (variant, make) in make {
        let project = Project::with(ORIGINAL);
        make(&project);
        for args in [
            &["install", "--dry-run"][..],
            &["install"],
            &["install", "--local"],
            &["install", "--mcp"],
            &["install", "--mode", "hold"],
            &["status"],
            &["doctor"],
            &["notify", "test"],
            &["phone"],
            &["open"],
            &["uninstall", "--dry-run"],
            &["uninstall"],
            &["uninstall", "--everywhere"],
        ] {
            let mut command = project.command(args);
            command.env("PATH", ".:/usr/bin:/bin").env("DISPLAY", ":0").env("DBUS_SESSION_BUS_ADDRESS", "none");
            command.output().unwrap();
            if fs::remove_file(project.trace()).is_ok() {
                ran.push(format!("{variant}: {}", args.join(" ")));
            }
        }
    }
    assert_eq!(ran, [""; 0]);
}
