//! Which process is at the other end of the socket, and who started it.
//!
//! An agent must not answer what it asks itself. The kernel says which process connects to the socket, and which process started that
//! one, up to the agent if it was the agent. This is a speed bump and not a wall: a process that outlives its parent gets another one, and
//! over TCP the kernel does not name the process.

use std::fs;

/// Nobody works in a chain of processes as long as this, and a chain that changes while it is read must come to an end.
const MAX_ANCESTORS: usize = 1024;
/// It becomes the parent of every process that has lost its own, so being its descendant means nothing.
const INIT: i32 = 1;

/// Whether `ancestor` has started this process, directly or through others. `false` where the system does not tell.
pub(super) fn was_started_by(process: i32, ancestor: i32) -> bool {
    if ancestor <= INIT {
        return false;
    }
    let mut process = process;
    for _ in 0..MAX_ANCESTORS {
        if process == ancestor {
            return true;
        }
        match parent(process) {
            Some(parent) if parent > INIT => process = parent,
            _ => return false,
        }
    }
    true
}

/// Linux tells it in a line of the form `12 (name) S 7 …`. The name may contain anything.
fn parent(process: i32) -> Option<i32> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = line.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_was_started_by_its_ancestors_and_by_nobody_else() {
        let this = i32::try_from(std::process::id()).unwrap();
        // A shell that starts another one, and both wait for the end of their input.
        let script = "sh -c 'echo $$; read x'; true";
        let mut shell =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (child, grandchild) = (i32::try_from(shell.id()).unwrap(), line.trim().parse().unwrap());
        assert!(was_started_by(grandchild, child) && was_started_by(grandchild, this));
        assert!(!was_started_by(child, grandchild) && !was_started_by(this, child));
        assert!(!was_started_by(grandchild, INIT) && !was_started_by(grandchild, 0));
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert!(!was_started_by(child, this), "it is gone");
    }
}
