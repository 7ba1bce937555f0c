//! Settings under attack: other writers, and `kill -9` at every step.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use crate::install::{ORIGINAL, Project, Said, moved, ours};
use crate::world::HOOK;

/// Edits the file as others do: reads it, adds a key, puts the new one in its place, knows no lock.
fn edit(settings: &Path, key: &str) {
    let mut value: Value = serde_json::from_slice(&fs::read(settings).unwrap()).expect("a torn file");
    value[key] = json!(true);
    let temporary = settings.with_extension("theirs");
    let mut file = fs::File::create(&temporary).unwrap();
    file.write_all(serde_json::to_string_pretty(&value).unwrap().as_bytes()).unwrap();
    file.sync_all().unwrap();
    fs::rename(temporary, settings).unwrap();
}

#[test]
fn a_hundred_writers_lose_nothing() {
    let project = Project::with(ORIGINAL);
    let (sender, ended) = mpsc::channel();
    // Whenever one of ours has ended, with others on their way, somebody else makes an edit.
    let edits = thread::scope(|scope| {
        for index in 0..100 {
            let (sender, project) = (sender.clone(), &project);
            let command = if index % 2 == 0 { "install" } else { "uninstall" };
            scope.spawn(move || sender.send(Said::from(project.command(&[command]).output().unwrap())).unwrap());
        }
        drop(sender);
        let edit_after = |(number, said): (usize, Said)| {
            assert_eq!(said.code, Some(0), "{said:?}");
            edit(&project.settings(), &format!("edit {number}"));
        };
        ended.into_iter().enumerate().map(edit_after).count()
    });
    assert_eq!(edits, 100);
    for command in ["install", "uninstall"] {
        project.run(&[command]);
        let value = project.value();
        assert_eq!(ours(&value).len(), usize::from(command == "install"));
        for edit in 0..edits {
            assert_eq!(value[format!("edit {edit}")], json!(true), "edit {edit} of {edits} is lost");
        }
        assert_eq!(value["env"], json!({"A": "1"}));
    }
    assert_eq!(project.beside(), ["settings.json"]);
}

/// Runs a program up to this system call and kills it there; false if it was over before.
#[allow(unsafe_code)]
fn kill_at(command: &mut Command, system_call: usize) -> bool {
    use std::io::{Error, Result};
    use std::os::unix::process::CommandExt;
    use std::ptr::null_mut;

    fn ptrace(request: libc::c_uint, pid: libc::pid_t) -> Result<()> {
        // SAFETY: the requests used here take no pointers.
        match unsafe { libc::ptrace(request, pid, null_mut::<u8>(), null_mut::<u8>()) } {
            -1 => Err(Error::last_os_error()),
            _ => Ok(()),
        }
    }
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0)) };
    let mut child = command.spawn().unwrap();
    let pid = child.id().cast_signed();
    let is_over = || {
        let mut status = 0;
        // SAFETY: a child of ours, and a place for what became of it.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        !libc::WIFSTOPPED(status)
    };
    // It stops first at its beginning, then whenever it enters or leaves a system call.
    assert!(!is_over());
    let over = (0..2 * system_call).any(|_| {
        ptrace(libc::PTRACE_SYSCALL, pid).unwrap();
        is_over()
    });
    if !over {
        child.kill().unwrap();
    }
    // Unless that is done already.
    drop(child.wait());
    !over
}

/// Kills a command at each of its system calls in turn, each time in a state it begins from.
fn kill_everywhere(command: impl Fn() -> Command, begin: impl Fn(), check: impl Fn()) {
    for system_call in 0.. {
        begin();
        let killed = kill_at(&mut command(), system_call);
        check();
        if !killed {
            assert!(system_call > 50, "it never ran");
            return;
        }
    }
}

/// What an empty object is replaced by cannot be told from what we put there: only the record knows it.
const NEEDS_THE_RECORD: &str = "{\"hooks\": {}, \"a\": 1}\n";

#[test]
fn killed_at_any_system_call_the_file_is_the_old_or_the_new() {
    let project = Project::with(NEEDS_THE_RECORD);
    project.run(&["install"]);
    let installed = project.bytes();
    let check = || {
        let bytes = project.bytes();
        assert!(bytes == installed || bytes == NEEDS_THE_RECORD.as_bytes(), "{}", String::from_utf8_lossy(&bytes));
    };
    let original = || {
        project.run(&["uninstall"]);
        assert_eq!((project.bytes(), project.beside()), (NEEDS_THE_RECORD.into(), vec!["settings.json".to_owned()]));
    };
    let hook = || {
        project.run(&["install"]);
        assert_eq!((project.bytes(), project.beside()), (installed.clone(), vec!["settings.json".to_owned()]));
    };
    kill_everywhere(|| project.command(&["install"]), original, check);
    kill_everywhere(|| project.command(&["uninstall"]), hook, check);
    original();
}

#[test]
fn killed_at_any_system_call_an_update_does_not_forget_the_original() {
    let project = Project::with(NEEDS_THE_RECORD);
    let program = moved(&project.world.home().join("opt"));
    let update = || {
        let mut command = project.world.command(&program);
        command.arg("install").current_dir(&project.dir).stdin(Stdio::null());
        command
    };
    let begin = || {
        project.run(&["uninstall"]);
        assert_eq!(project.bytes(), NEEDS_THE_RECORD.as_bytes());
        project.run(&["install"]);
    };
    kill_everywhere(update, begin, || assert_eq!(ours(&project.value()).len(), 1));
    begin();
}

#[test]
fn killed_at_any_system_call_a_file_that_was_not_there_can_be_gone_again() {
    let project = Project::new();
    let begin = || {
        for command in ["install", "uninstall"] {
            project.run(&[command]);
        }
        assert!(!project.dir.join(".claude").exists());
    };
    let check = || {
        if project.settings().exists() {
            assert_eq!(ours(&project.value()), [HOOK]);
        }
    };
    kill_everywhere(|| project.command(&["install"]), begin, check);
    begin();
}
