//! Runs programs under valgrind and reads what it counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::calls::{self, Hook};
use crate::lab::{Home, Lab, Place};
use crate::servers::{Kind, Server};

/// A tool of valgrind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Counts instructions.
    Callgrind,
    /// Counts allocations.
    Dhat,
}

/// What a daemon's heap was seen to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heap {
    /// How many blocks were allocated in all.
    pub blocks: f64,
    /// How many bytes were in use when most were.
    pub most: f64,
}

impl Tool {
    /// A program under this tool. The log goes to a file.
    fn command(self, lab: &Lab, home: &Home, program: &Path, log: &Path) -> Command {
        let mut command = match &lab.launcher {
            Some(launcher) => {
                let mut command = home.command(launcher);
                command.arg("valgrind");
                command
            }
            None => home.command("valgrind"),
        };
        let tool = match self {
            Self::Callgrind => ["--tool=callgrind", "--callgrind-out-file=/dev/null"],
            Self::Dhat => ["--tool=dhat", "--dhat-out-file=/dev/null"],
        };
        command.args(tool).arg(format!("--log-file={}", log.display())).arg(program);
        command
    }
}

/// Says why valgrind cannot be used here.
pub fn check_that_it_works(lab: &Lab) -> Result<(), String> {
    let home = lab.home(Place::Memory);
    let log = home.path().join("version.log");
    let mut command = Tool::Callgrind.command(lab, &home, &lab.answerback, &log);
    let output = command.arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("valgrind cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(log).unwrap_or_default();
    Err(format!("valgrind does not work with these programs here: {}", said.lines().last().unwrap_or_default()))
}

/// The instructions of a hook that is run with some input. `meanwhile` is called while it runs, with its
/// process.
pub fn hook_instructions(lab: &Lab, home: &Home, hook: &Path, input: &str, meanwhile: impl FnOnce(u32)) -> f64 {
    let log = home.path().join("hook.log");
    let mut command = Tool::Callgrind.command(lab, home, hook, &log);
    let mut hook = Hook::start(command.stdout(Stdio::piped()), input);
    meanwhile(hook.pid());
    hook.output();
    collected(&fs::read_to_string(log).unwrap())
}

/// A daemon under valgrind.
#[derive(Debug)]
pub struct Watched {
    /// The daemon.
    pub server: Server,
    log: PathBuf,
}

impl Watched {
    /// Starts it, with its files in memory.
    pub fn start(lab: &Lab, tool: Tool) -> Self {
        let home = lab.home(Place::Memory);
        let log = home.path().join("daemon-valgrind.log");
        let mut command = tool.command(lab, &home, &lab.answerback, &log);
        command.args(["daemon", "--background"]);
        Self { server: Server::run(command, Kind::Answerback, home), log }
    }

    /// Ends it, and returns what valgrind wrote.
    fn stop(self) -> String {
        let home = self.server.stop();
        let log = fs::read_to_string(&self.log).unwrap();
        drop(home);
        log
    }

    /// Ends it, and returns its instructions.
    pub fn instructions(self) -> f64 {
        collected(&self.stop())
    }

    /// Ends it, and returns what its heap did.
    pub fn heap(self) -> Heap {
        heap(&self.stop())
    }

    /// Answers one of the questions of [`calls`].
    pub fn answer(&self, conn: &mut crate::http::Conn, number: usize) {
        conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
    }
}

/// The number of instructions in a log of callgrind.
fn collected(log: &str) -> f64 {
    number_after(log, "Collected :").unwrap_or_else(|| panic!("callgrind counted nothing: {log}"))
}

/// The heap in a log of dhat.
fn heap(log: &str) -> Heap {
    let found = || {
        let total = log.lines().find(|line| line.contains(" Total:"))?;
        let blocks = number_after(total, "bytes in ")?;
        Some(Heap { blocks, most: number_after(log, "At t-gmax:")? })
    };
    found().unwrap_or_else(|| panic!("dhat counted nothing: {log}"))
}

fn number_after(text: &str, words: &str) -> Option<f64> {
    let (_, rest) = text.split_once(words)?;
    rest.split_whitespace().next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_callgrind_and_dhat_are_read() {
        let log = "==1== Events    : Ir\n==1== Collected : 19130\n==1== \n==1== I   refs:      19,130\n";
        assert_eq!(collected(log), 19_130.0);
        let log = "==1== Total:     1,234,567 bytes in 8,901 blocks\n==1== At t-gmax: 345,678 bytes in 90 blocks\n";
        assert_eq!(heap(log), Heap { blocks: 8901.0, most: 345_678.0 });
    }
}
