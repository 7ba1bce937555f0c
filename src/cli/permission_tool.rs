//! `answerback permission-tool`: the MCP server that `answerback run` gives to Claude Code. Each call becomes a run of the hook, which
//! finds the daemon, starts it, and outlives its restarts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use answerback_hook::hook::WAITS;
use answerback_hook::stranger;
use serde_json::Value;

use crate::claude_code::TOOL_WAITS;
use crate::claude_code::permission_tool::{self, Decide, Request};

use super::exit::Exit;
use super::programs::hook_program;

/// Claude Code gives up on a tool that is silent for half an hour.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// Serve the permission tool of `answerback run`
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// The calls that wait for a decision, by the id of the request, each with its hook as soon as that runs.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<HashMap<String, Option<Child>>>>);

impl Waiting {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Option<Child>>> {
        // No code that holds this lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call. Returns whether no other call has its id.
    fn begin(&self, id: &Value) -> bool {
        match self.calls().entry(id.to_string()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(None);
                true
            }
        }
    }

    /// Notes the hook of a call. If the call was cancelled meanwhile, the hook is ended.
    fn runs(&self, id: &Value, hook: Child) {
        match self.calls().get_mut(&id.to_string()) {
            Some(place) => *place = Some(hook),
            None => end(hook),
        }
    }

    /// Forgets a call, and ends its hook, which takes its question back if that is still open. Returns whether the call was there.
    fn end(&self, id: &Value) -> bool {
        let call = self.calls().remove(&id.to_string());
        let was_there = call.is_some();
        if let Some(hook) = call.flatten() {
            end(hook);
        }
        was_there
    }
}

fn end(mut hook: Child) {
    // It may have ended by itself.
    drop(hook.kill());
    drop(hook.wait());
}

pub(super) fn run(_: &Args) -> anyhow::Result<Exit> {
    let hook = hook_program()?;
    let directory = std::env::current_dir()?;
    let waiting = Waiting::default();
    for line in io::stdin().lock().lines() {
        match permission_tool::read(&line?) {
            Request::Reply(reply) => send(&reply)?,
            Request::Decide(decide) if !waiting.begin(&decide.id) => send(&decide.reply_to_used_id())?,
            Request::Decide(decide) => {
                let (hook, directory, waiting) = (hook.clone(), directory.clone(), waiting.clone());
                thread::spawn(move || {
                    let output = ask(&hook, &directory, &decide, &waiting).unwrap_or_else(|error| {
                        eprintln!("answerback: a call is denied, because nobody could be asked: {error}");
                        Vec::new()
                    });
                    // A call that was cancelled gets no reply. If this fails, nobody reads our output, and there is nobody to tell.
                    drop(waiting.end(&decide.id).then(|| send(&decide.reply(&output))));
                });
            }
            Request::Cancel(id) => drop(waiting.end(&id)),
            Request::Nothing => {}
        }
    }
    // Claude Code has ended. The hooks see that nobody reads their output, and end too.
    Ok(Exit::Success)
}

/// What the hook prints about a call: the decision, or nothing.
fn ask(program: &Path, directory: &Path, decide: &Decide, waiting: &Waiting) -> io::Result<Vec<u8>> {
    let mut hook = stranger::hide(&mut Command::new(program))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // What Claude Code says about itself to its hooks, it does not say to its servers.
        .env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
        .env("CLAUDE_CODE_SESSION_ATTENDED", "0")
        .env_remove("CLAUDE_PID")
        .env(WAITS, TOOL_WAITS)
        .spawn()?;
    let (stdin, stdout) = (hook.stdin.take(), hook.stdout.take());
    waiting.runs(&decide.id, hook);
    let (sender, output) = mpsc::channel();
    let input = decide.hook_input(directory).to_string();
    thread::spawn(move || {
        let mut printed = Vec::new();
        let said = stdin.map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
        let read = said.and_then(|()| stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut printed)));
        // If this fails, the other thread has ended with the process.
        drop(sender.send(read.map(|_| printed)));
    });
    let mut signs = 0;
    loop {
        match output.recv_timeout(SIGN_OF_LIFE) {
            Ok(output) => return output,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                signs += 1;
                decide.sign_of_life(signs).map_or(Ok(()), |sign| send(&sign))?;
            }
        }
    }
}

/// Writes one message.
fn send(message: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{message}")?;
    stdout.flush()
}
