//! Which version of Claude Code is installed.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::claude_code::Version;

/// Claude Code takes a fraction of this. Another program of that name may never end.
const PATIENCE: Duration = Duration::from_secs(5);

/// What `claude --version` says, if there is one that says it in time.
pub fn installed() -> Option<Version> {
    ask("claude", PATIENCE)
}

fn ask(program: &str, patience: Duration) -> Option<Version> {
    let mut command = Command::new(program);
    command.arg("--version").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    // A read has no time limit, and a descendant of the program may keep the pipe open, so the read is left behind in a thread.
    thread::spawn(move || {
        let mut said = String::new();
        let read = stdout.map(|stdout| stdout.take(1024).read_to_string(&mut said));
        drop(sender.send(read.is_some_and(|read| read.is_ok()).then_some(said)));
    });
    let said = receiver.recv_timeout(patience).ok().flatten();
    // It has ended by itself, or is killed now.
    drop(child.kill());
    drop(child.wait());
    Version::parse(&said?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// A program that does this. Not written by this process: another test may be starting a program just then, which
    /// would inherit the open file, and a file that is open for writing cannot be run.
    fn program(dir: &tempfile::TempDir, script: &str) -> String {
        let (text, program) = (dir.path().join("script"), dir.path().join("claude"));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        assert!(Command::new("install").args(["-m", "755"]).args([&text, &program]).status().unwrap().success());
        program.to_str().unwrap().to_owned()
    }

    #[test]
    fn the_version_comes_from_the_program() {
        let dir = tempfile::tempdir().unwrap();
        let program = program(&dir, "[ \"$*\" = --version ] && echo '2.1.90 (Claude Code)'");
        assert_eq!(ask(&program, PATIENCE), Some(Version(2, 1, 90)));
    }

    #[test]
    fn no_program_and_one_that_never_ends_have_no_version() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ask("/nonexistent/claude", PATIENCE), None);
        let program = program(&dir, "exec sleep 60");
        let start = Instant::now();
        assert_eq!(ask(&program, Duration::from_millis(50)), None);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
