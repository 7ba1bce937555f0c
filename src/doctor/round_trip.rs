//! The proof: a question goes through the real hook and the real daemon, is answered, and comes back.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use answerback_hook::stranger;
use serde_json::{Value, json};

use crate::access::Token;
use crate::api::AnswerRequest;
use crate::claude_code::PROBE_TOOL;
use crate::client::{Client, ClientError};
use crate::config::Config;

use super::Finding;

const CHECK: &str = "round_trip";
/// About a hundred times what a round trip takes.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
const QUESTION: &str = "Does a question come back answered?";

/// Asks a question of its own and answers it. On an edge, it can only be asked: people answer at the hub.
pub fn round_trip(client: &Client, hook: &Path) -> Finding {
    let is_edge = Config::load(&client.paths().config_file()).is_ok_and(|config| config.hub.is_some());
    match attempt(client, hook, is_edge) {
        Ok((asked, None)) => {
            let millis = asked.as_secs_f64() * 1000.0;
            Finding::ok(
                CHECK,
                format!("a question was asked through the hook, and is open at the hub after {millis:.1} ms"),
            )
        }
        Ok((asked, Some(answered))) => {
            let millis = |time: Duration| time.as_secs_f64() * 1000.0;
            Finding::ok(
                CHECK,
                format!(
                    "a question was asked through the hook, answered, and received (open after {:.1} ms, back after {:.1} ms)",
                    millis(asked),
                    millis(answered)
                ),
            )
        }
        Err(problem) => Finding::error(
            CHECK,
            format!("a question did not come back answered: {problem}"),
            "Look at the other findings, and into daemon.log in the state directory.",
        ),
    }
}

/// How long it took until the question was open, and then until the answer was back.
fn attempt(client: &Client, hook: &Path, only_ask: bool) -> Result<(Duration, Option<Duration>), String> {
    let told = |error: ClientError| error.to_string();
    let random = Token::generate().map_err(|error| error.to_string())?;
    let (session, tool_use_id) = (format!("doctor-{}", &random.reveal()[..8]), "round-trip");
    let key = format!("{session}__{tool_use_id}");
    let call = json!({
        "hook_event_name": "PreToolUse", "session_id": session, "tool_use_id": tool_use_id, "cwd": "/",
        "tool_name": PROBE_TOOL,
        "tool_input": {"questions": [{"question": QUESTION, "header": "Doctor", "multiSelect": false, "options": [
            {"label": "Yes", "description": "It does"}, {"label": "No", "description": "It does not"}]}]},
    });

    let started = Instant::now();
    let mut child = stranger::hide(&mut Command::new(hook))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", hook.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(call.to_string().as_bytes()).map_err(|error| format!("the hook does not listen: {error}"))?;
    }
    let arrived = until_arrived(client, &key, &mut child);
    let hook = Waiting::new(child);
    if let Err(problem) = arrived {
        let said = hook.output.recv_timeout(Duration::from_millis(100)).unwrap_or_default().1;
        return Err(format!("{problem}: {}", said.trim()));
    }
    let asked = started.elapsed();
    if only_ask {
        // The hook ends here, and its question is withdrawn.
        return Ok((asked, None));
    }
    let started = Instant::now();
    let answers = [(QUESTION.to_owned(), "Yes".into())].into();
    client.answer(&key, &AnswerRequest { answers, ..AnswerRequest::default() }).map_err(told)?;
    let (stdout, _) = hook.output.recv_timeout(PATIENCE).map_err(|_| "the hook did not return".to_owned())?;
    let answered = started.elapsed();
    let reply: Value =
        serde_json::from_str(&stdout).map_err(|error| format!("the hook's reply is not JSON: {error}"))?;
    match reply["hookSpecificOutput"]["updatedInput"]["answers"][QUESTION].as_str() {
        Some("Yes") => Ok((asked, Some(answered))),
        _ => Err(format!("the hook returned something else: {stdout}")),
    }
}

/// Waits until the daemon knows the question of a hook that was just started. It may be settled by then.
pub fn until_arrived(client: &Client, key: &str, hook: &mut Child) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match client.find_ask(key) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
        if hook.try_wait().is_ok_and(|status| status.is_some()) {
            return Err("the hook gave up".into());
        }
        if Instant::now() > deadline {
            return Err("the question did not arrive at the daemon".into());
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// A running hook. Dropping this ends it.
struct Waiting {
    pid: u32,
    output: mpsc::Receiver<(String, String)>,
}

impl Waiting {
    fn new(child: Child) -> Self {
        let pid = child.id();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            if let Ok(output) = child.wait_with_output() {
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                // The receiver may be gone.
                let _ = sender.send((text(output.stdout), text(output.stderr)));
            }
        });
        Self { pid, output }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // While the thread has not reported its end, the process is not reaped, so the number is still its own.
        if let (Err(mpsc::TryRecvError::Empty), Some(pid)) =
            (self.output.try_recv(), rustix::process::Pid::from_raw(self.pid.cast_signed()))
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}
