//! The hook itself: stdin to the daemon, its reply to stdout.
//!
//! It fails open and fast: whatever goes wrong, Claude Code gets an empty stdout and exit code 0, which means "no
//! decision" and leads to its own dialog. Never an invented or empty answer.
//!
//! A daemon that has stored a question and keeps its call parked says so with an interim reply (`102 Processing`). Until then there
//! is one deadline for everything, whatever the daemon, its store or its disk does. From then on the reply may take as long as it
//! takes, and a lost connection is not a failure: the daemon is started again and asked with the same body, and knows the question
//! by its key.

use std::env;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{self, ExitCode};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::client::{self, ExchangeError, Request, Response};
use crate::hint::{self, Hint};
use crate::json;
use crate::paths::Paths;
use crate::start::{self, StartError};
use crate::stranger;
use crate::wait;
use crate::wire;

/// From start to giving up, as long as the question is not parked.
const FAIL_OPEN: Duration = Duration::from_millis(1800);
// The two seconds that people are promised. Tests on a busy machine cannot tell.
const _: () = assert!(FAIL_OPEN.as_millis() < 2000);
/// How long a wait that lost its daemon tries to get one back.
const RESUME: Duration = Duration::from_secs(30);
/// A call that was parked for this long was a wait.
const A_WHILE: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Stands for the key of an ask that is not known.
const UNKNOWN_KEY: &str = "1";
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The variable that tells the hooks of a run without a terminal whether it waits for permissions.
pub const WAITS: &str = "ANSWERBACK_WAITS";

/// The variables that the daemon gets, and the headers they are sent in. The whole environment is never sent, because it holds secrets.
const HEADERS: &[(&str, &str)] = &[
    (wire::ATTENDED, "CLAUDE_CODE_SESSION_ATTENDED"),
    (wire::ENTRYPOINT, "CLAUDE_CODE_ENTRYPOINT"),
    (wire::AGENT, "AI_AGENT"),
    (wire::AGENT_PID, "CLAUDE_PID"),
    (wire::WAITS, WAITS),
];

/// The events that may ask. Other events come with every turn, and start no daemon: without one, nobody waits. The name may be anywhere in
/// the input, because a daemon that was started in vain does no harm.
const ASKING_EVENTS: [&[u8]; 3] = [b"PreToolUse", b"PermissionRequest", b"Elicitation"];

#[derive(Debug)]
enum Failure {
    Stdin(io::Error),
    TooLong,
    NoHome,
    Start(StartError),
    Exchange(ExchangeError),
    Status(u16),
    NotJson,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin(error) => write!(f, "cannot read the hook's input: {error}"),
            Self::TooLong => write!(f, "the hook's input is over {} bytes", client::MAX_BODY),
            Self::NoHome => write!(f, "there is no home directory"),
            Self::Start(error) => write!(f, "{error}"),
            Self::Exchange(error) => write!(f, "{error}"),
            Self::Status(status) => write!(f, "the daemon refused the hook's input with status {status}"),
            Self::NotJson => write!(f, "the daemon's reply is not one JSON object"),
        }
    }
}

impl std::error::Error for Failure {}

impl Hint for Failure {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome => Some("Set HOME.".to_owned()),
            Self::Start(error) => error.hint(),
            Self::Stdin(_) | Self::TooLong | Self::Exchange(_) | Self::Status(_) | Self::NotJson => None,
        }
    }
}

/// Runs the hook. Always a success for Claude Code: a failure is one line on stderr.
pub fn main() -> ExitCode {
    match run() {
        // If this fails, nobody reads our output, and there is nobody to tell.
        Ok(reply) => drop(io::stdout().write_all(&reply)),
        Err(failure) => drop(writeln!(io::stderr(), "answerback-hook: {}", hint::one_line(&failure))),
    }
    ExitCode::SUCCESS
}

fn run() -> Result<Vec<u8>, Failure> {
    let body = read_input(&mut io::stdin().lock())?;
    // The input was read, so that its writer does not meet a closed pipe.
    if body.is_empty() || stranger::has_started_us() {
        return Ok(Vec::new());
    }
    let mut environment: Vec<(&str, String)> =
        HEADERS.iter().filter_map(|(header, name)| Some((*header, env::var(name).ok()?))).collect();
    // The daemon interprets the argument. The hook does not.
    environment.extend(env::args_os().nth(1).and_then(|mode| Some((wire::MODE, mode.into_string().ok()?))));
    environment.push((wire::CALL, call_name()));
    environment.push((wire::ACKNOWLEDGES, "1".to_owned()));
    let paths = Paths::from_env().ok_or(Failure::NoHome)?;
    let deadline = Instant::now() + FAIL_OPEN;
    let running = start::connect(&paths, deadline).map_err(Failure::Start)?;
    if running.is_none() && !may_ask(&body) {
        return Ok(Vec::new());
    }
    deliver(&paths, running, deadline, |resumed| {
        let headers = environment.iter().map(|(header, value)| (*header, value.as_str()));
        let resumed = resumed.map(|key| (wire::RESUMED, key));
        wire::call(headers.chain(resumed), &body)
    })
}

/// A name for this run of the hook. A call that is sent again, because the connection was lost, has the same name.
fn call_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}.{}", process::id(), now.as_secs(), now.subsec_nanos())
}

/// Whether the name of an asking event is in the input.
fn may_ask(body: &[u8]) -> bool {
    (0..body.len()).any(|start| ASKING_EVENTS.iter().any(|event| body[start..].starts_with(event)))
}

fn read_input(stdin: &mut impl Read) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let limit = client::MAX_BODY as u64 + 1;
    stdin.take(limit).read_to_end(&mut body).map_err(Failure::Stdin)?;
    if body.len() > client::MAX_BODY {
        // Read the rest, so that the writer does not meet a closed pipe.
        io::copy(stdin, &mut io::sink()).map_err(Failure::Stdin)?;
        return Err(Failure::TooLong);
    }
    Ok(body)
}

/// Sends the call until there is a reply, first over the connection that is there. `request` makes the call. If it is repeated after the
/// daemon was lost, it gets the key of the ask that it was parked on.
fn deliver(
    paths: &Paths,
    mut running: Option<UnixStream>,
    mut deadline: Instant,
    request: impl Fn(Option<&str>) -> Request,
) -> Result<Vec<u8>, Failure> {
    let mut pause = FIRST_PAUSE;
    let mut parked_on: Option<String> = None;
    loop {
        let connected = match running.take() {
            Some(stream) => Ok(stream),
            None => start::connect_or_start(paths, deadline),
        };
        let failure = match connected {
            Ok(stream) => {
                let mut parked_at: Option<Instant> = None;
                let call = request(parked_on.as_deref());
                let was_parked = parked_on.is_some();
                let response = client::exchange_parked(&stream, &call, deadline, |key| {
                    parked_at = Some(Instant::now());
                    // A daemon of an earlier version does not say the key.
                    parked_on = Some(key.unwrap_or(UNKNOWN_KEY).to_owned());
                });
                // Only the first parking, or one that lasted, renews the time. A daemon that crashes on this call must not renew it
                // for ever.
                if parked_at.is_some_and(|at| !was_parked || at.elapsed() >= A_WHILE) {
                    deadline = Instant::now() + RESUME;
                    pause = FIRST_PAUSE;
                }
                match response {
                    Ok(Response { status: 200, body }) => return checked(body),
                    // The daemon cannot reply now, but the question may have its answer. Ask again.
                    Ok(Response { status: status @ 500.., .. }) if parked_on.is_some() => Failure::Status(status),
                    Ok(Response { status, .. }) => return Err(Failure::Status(status)),
                    Err(ExchangeError::Abandoned) => return Ok(Vec::new()),
                    Err(garbage @ ExchangeError::Garbage(_)) => return Err(Failure::Exchange(garbage)),
                    Err(lost) => Failure::Exchange(lost),
                }
            }
            // A program that is being replaced cannot be run for a moment; a parked question outlasts that.
            Err(error) if parked_on.is_some() => Failure::Start(error),
            Err(error) => return Err(Failure::Start(error)),
        };
        if Instant::now() + pause >= deadline {
            return Err(failure);
        }
        if !wait::is_stdout_read() {
            return Ok(Vec::new());
        }
        thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Claude Code reads stdout as one JSON object: nothing else may get there.
fn checked(reply: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if reply.is_empty() || json::is_object(&reply) { Ok(reply) } else { Err(Failure::NotJson) }
}
