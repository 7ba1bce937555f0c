//! Early signs that a permission was given in the terminal. Linux only: elsewhere there is no `/proc`, and so no sign.
//!
//! Claude Code reports a call when it is over, and a command may run for hours. Until then, the only sign of a "yes" in the terminal is a
//! new shell among the children of the agent. It may as well belong to another call, so it is shown and nothing else: it settles nothing.
//! It is looked for when somebody reads an ask, so that an ask that waits costs no CPU time.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::ask::{Ask, AskId, Kind};

use super::Inbox;

const PROC: &str = "/proc";
/// The shells that Claude Code runs commands with. It runs hooks with `sh`.
const SHELLS: [&str; 2] = ["bash", "zsh"];
/// Linux counts the start of a process in ticks of so many milliseconds, on every architecture that we build for.
const TICK: i64 = 10;
/// The start of the process and the age of the machine are both rounded down to ticks.
const ROUNDED: SignedDuration = SignedDuration::from_millis(20);

impl Inbox {
    /// Those of the asks that were perhaps answered in the terminal.
    pub async fn perhaps_answered(&self, asks: &[Arc<Ask>]) -> HashSet<AskId> {
        let host = self.store.host();
        let own = |ask: &&Arc<Ask>| ask.kind == Kind::Permission && ask.host == *host;
        let candidates: Vec<_> = asks.iter().filter(own).filter_map(|ask| Candidate::of(ask)).collect();
        if candidates.is_empty() {
            return HashSet::new();
        }
        let store = self.store.clone();
        let look = move || {
            let now = store.now();
            let seen = candidates.into_iter().filter(|candidate| candidate.has_new_shell(Path::new(PROC), now));
            seen.map(|candidate| candidate.id).collect()
        };
        // Without a result, the daemon is going down.
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }
}

/// An open permission for a command, beside the dialog of an agent whose process is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    id: AskId,
    agent: u32,
    opened_at: Timestamp,
}

impl Candidate {
    fn of(ask: &Ask) -> Option<Self> {
        let is_command = ask.kind == Kind::Permission && ask.subject.as_ref()?.text("tool") == Some("Bash");
        if !is_command || !ask.racing || !ask.is_open() {
            return None;
        }
        Some(Self { id: ask.id, agent: ask.asker.as_deref()?.parse().ok()?, opened_at: ask.opened_at })
    }

    /// Whether the agent has started a shell since it asked. `proc` is where the system shows its processes.
    fn has_new_shell(&self, proc: &Path, now: Timestamp) -> bool {
        let Some(boot) = boot_time(proc, now) else { return false };
        // A child belongs to the thread that started it.
        let threads = fs::read_dir(proc.join(self.agent.to_string()).join("task")).into_iter().flatten().flatten();
        let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        children.flat_map(|pids| pids.split_whitespace().map(|pid| proc.join(pid)).collect::<Vec<_>>()).any(|child| {
            is_shell(&child)
                && started_after_boot(&child)
                    .and_then(|started| boot.checked_add(started.checked_add(ROUNDED)?).ok())
                    .is_some_and(|started_at| started_at > self.opened_at)
        })
    }
}

/// The time at which the machine was started.
fn boot_time(proc: &Path, now: Timestamp) -> Option<Timestamp> {
    let uptime = fs::read_to_string(proc.join("uptime")).ok()?;
    let seconds: f64 = uptime.split(' ').next()?.parse().ok()?;
    now.checked_sub(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
}

/// Whether a process is a shell with a command: `/bin/bash -c …`.
fn is_shell(process: &Path) -> bool {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    SHELLS.contains(&name) && words.next().is_some_and(|word| word == "-c")
}

/// How long after the start of the machine a process was started.
fn started_after_boot(process: &Path) -> Option<SignedDuration> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program is in brackets and may hold anything. The start is the 20th field behind it.
    let ticks: i64 = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()?;
    Some(SignedDuration::from_millis(ticks.checked_mul(TICK)?))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::ask::samples::permission;
    use crate::ask::{HTTP_ASKER, Outcome, Settlement};

    /// The machine was started at 1000 and runs for 500 seconds. The agent 42 has two threads.
    struct Machine(TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.write("uptime", "500.25 900.00\n");
            machine.write("42/task/42/children", "");
            machine.write("42/task/43/children", "7 8 9 \n");
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A process that was started so many seconds after the machine.
        fn process(&self, pid: u32, seconds: i64, words: &[&str]) {
            self.write(&format!("{pid}/cmdline"), &format!("{}\0", words.join("\0")));
            let fields = "0 ".repeat(18);
            self.write(&format!("{pid}/stat"), &format!("{pid} (odd) name) S {fields}{} 0 0\n", seconds * 100));
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + seconds * 1000).unwrap()
    }

    #[test]
    fn a_shell_that_is_younger_than_the_ask_is_a_sign() {
        let machine = Machine::new();
        let seen = |opened: i64| {
            let candidate = Candidate { id: AskId(1), agent: 42, opened_at: at(opened) };
            candidate.has_new_shell(machine.0.path(), at(500))
        };
        assert!(!seen(300), "no process is there");
        // A hook, a program that the agent runs itself, and a shell from before.
        machine.process(7, 400, &["/bin/sh", "-c", "answerback-hook"]);
        machine.process(8, 400, &["/usr/bin/git", "-c", "x"]);
        machine.process(9, 200, &["/bin/bash", "-c", "source /snapshot && eval 'npm run dev'"]);
        assert!(!seen(300));
        machine.process(8, 400, &["/bin/bash", "-c", "source /snapshot && eval 'npm test'"]);
        assert!(seen(300) && seen(399) && !seen(401));
        machine.process(8, 400, &["/bin/bash", "script.sh"]);
        assert!(!seen(300));
        machine.process(8, 400, &["zsh", "-c", "x"]);
        assert!(seen(300));
        // The machine has been up for two years, which is more ticks than 32 bits can count.
        machine.write("uptime", "63072500.25 900.00\n");
        machine.process(8, 63_072_400, &["zsh", "-c", "x"]);
        assert!(seen(300) && seen(399) && !seen(401));
        machine.process(8, i64::MAX / 100, &["zsh", "-c", "x"]);
        assert!(!seen(300), "no process starts so late");
        machine.write("8/stat", "nonsense");
        assert!(!seen(300));
        let another = Candidate { id: AskId(1), agent: 41, opened_at: at(300) };
        assert!(!another.has_new_shell(machine.0.path(), at(500)), "its agent is gone");
    }

    #[test]
    fn only_an_open_command_beside_a_dialog_is_looked_for() {
        let racing = Ask { racing: true, asker: Some("42".into()), ..permission() };
        let expected = Candidate { id: racing.id, agent: 42, opened_at: racing.opened_at };
        assert_eq!(Candidate::of(&racing), Some(expected));
        let settled = Settlement { outcome: Outcome::Released, by: None, at: Timestamp::now() };
        let edit = serde_json::from_value(serde_json::json!({"tool": "Edit"})).unwrap();
        for other in [
            Ask { racing: false, ..racing.clone() },
            Ask { asker: None, ..racing.clone() },
            Ask { asker: Some(HTTP_ASKER.into()), ..racing.clone() },
            Ask { asker: Some("../1".into()), ..racing.clone() },
            Ask { kind: Kind::Question, ..racing.clone() },
            Ask { subject: Some(edit), ..racing.clone() },
            Ask { settlement: Some(settled), ..racing.clone() },
        ] {
            assert_eq!(Candidate::of(&other), None, "{other:?}");
        }
    }
}
