//! The daemon, as the programs see it: over the socket, blocking, started when it is needed.
//!
//! - `calls`: one typed method for each call of the API. Every call has a deadline.
//! - `target`: paths and queries. No other room writes them.

mod calls;
mod target;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use answerback_hook::client::{ExchangeError, Request, exchange};
use answerback_hook::hint::Hint;
use answerback_hook::paths::Paths;
use answerback_hook::start::{self, StartError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Problem;

pub use calls::Search;
pub use target::answer_path;

use target::Target;

/// How long a daemon may take to start.
const START: Duration = Duration::from_secs(5);
/// How long a daemon may take to reply, beyond what it was asked to wait.
const REPLY: Duration = Duration::from_secs(3);
/// How much longer a change may take: an answer waits until it is certain that its asker is there.
const CHANGE: Duration = Duration::from_secs(4);
/// One round of waiting. The next call begins another.
const ROUND: Duration = Duration::from_secs(60);
/// Between two attempts to reach a daemon.
const PAUSE: Duration = Duration::from_millis(250);
const AGENT: &str = concat!("answerback/", env!("CARGO_PKG_VERSION"));

/// Why a program gets nothing from the daemon.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no daemon, and none could be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no daemon, and this client starts none.
    #[error("the daemon is not running")]
    NotRunning,
    /// The connection broke.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The daemon did not reply to a request that changes something.
    #[error("{0}: it is not known whether this was done")]
    Unanswered(ExchangeError),
    /// The daemon says no.
    #[error("{}", .0.title)]
    Refused(Box<Problem>),
    /// This version does not understand the reply.
    #[error("the daemon's reply is not understood: {0}")]
    Reply(#[from] serde_json::Error),
}

impl ClientError {
    /// Whether there is a daemon, and it does not answer.
    pub fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::Exchange(ExchangeError::Silent)
                | Self::Unanswered(ExchangeError::Silent)
                | Self::Start(StartError::Timeout)
        )
    }
}

impl Hint for ClientError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(problem) => problem.hint.clone(),
            Self::Unanswered(_) => Some("Run: answerback restart. Then look: answerback pending".to_owned()),
            error if error.is_silence() => Some("It hangs. Run: answerback restart".to_owned()),
            Self::Start(error) => error.hint(),
            Self::NotRunning | Self::Exchange(_) | Self::Reply(_) => None,
        }
    }
}

/// A connection to the daemon of one instance, made anew for each call.
#[derive(Debug, Clone)]
pub struct Client {
    paths: Paths,
    starts: bool,
    /// All the time that a call may take, if that is less than usual.
    limit: Option<Duration>,
    /// What the daemon is told about who calls.
    agent: Cow<'static, str>,
}

impl Client {
    /// A client that starts the daemon if there is none.
    pub fn new(paths: Paths) -> Self {
        Self { paths, starts: true, limit: None, agent: AGENT.into() }
    }

    /// A client that never starts a daemon.
    pub fn only_running(paths: Paths) -> Self {
        Self { paths, starts: false, limit: None, agent: AGENT.into() }
    }

    /// A client that never starts a daemon, and whose calls have this time and no more.
    pub fn in_a_hurry(paths: Paths, limit: Duration) -> Self {
        Self { paths, starts: false, limit: Some(limit), agent: AGENT.into() }
    }

    /// The same client, calling for a program with this name. What cannot stand in a header is left out.
    pub fn named(self, name: &str) -> Self {
        let agent: String = name.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        Self { agent: agent.into(), ..self }
    }

    /// Where the files of the instance are.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// `GET`. A daemon that ends during the call is no reason to fail: the next one gets the same call.
    fn get<T: DeserializeOwned>(&self, target: &Target) -> Result<T, ClientError> {
        self.get_within(target, Duration::ZERO)
    }

    /// `GET` of something that the daemon waits for. The query of the target says the same time.
    fn get_within<T: DeserializeOwned>(&self, target: &Target, wait: Duration) -> Result<T, ClientError> {
        match self.send("GET", target, b"", wait) {
            Err(ClientError::Exchange(ExchangeError::Lost(_))) if self.starts => self.send("GET", target, b"", wait),
            done => done,
        }
    }

    /// `POST`.
    fn post<T: DeserializeOwned>(&self, target: &Target, body: &impl Serialize) -> Result<T, ClientError> {
        self.change("POST", target, &serde_json::to_vec(body)?)
    }

    /// `PUT`.
    fn put<T: DeserializeOwned>(&self, target: &Target, body: &impl Serialize) -> Result<T, ClientError> {
        self.change("PUT", target, &serde_json::to_vec(body)?)
    }

    /// `DELETE`.
    fn delete<T: DeserializeOwned>(&self, target: &Target) -> Result<T, ClientError> {
        self.change("DELETE", target, b"")
    }

    /// A request that changes something. It is not repeated: the first one may have been done.
    fn change<T: DeserializeOwned>(&self, method: &str, target: &Target, body: &[u8]) -> Result<T, ClientError> {
        let mut done = self.send(method, target, body, CHANGE);
        // Where only devices approve, one of them is asked. Then the same request of the same process is good.
        if let Err(ClientError::Refused(problem)) = &done
            && let Some(ask) = problem.ask.as_ref().filter(|_| problem.kind.ends_with(":consent"))
        {
            anstream::eprintln!("{} Approve this on a paired device: it is asked now.", problem.title);
            self.until_settled(&ask.key)?;
            done = self.send(method, target, body, CHANGE);
        }
        done.map_err(|error| match error {
            ClientError::Exchange(error @ (ExchangeError::Silent | ExchangeError::Lost(_))) => {
                ClientError::Unanswered(error)
            }
            error => error,
        })
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        target: &Target,
        body: &[u8],
        wait: Duration,
    ) -> Result<T, ClientError> {
        let deadline = Instant::now() + self.limit.unwrap_or(START);
        let stream = if self.starts {
            start::connect_or_start(&self.paths, deadline)?
        } else {
            start::connect(&self.paths, deadline)?.ok_or(ClientError::NotRunning)?
        };
        let request = Request::json(method, target.as_str(), [("user-agent", &*self.agent)], body);
        let deadline = if self.limit.is_some() { deadline } else { Instant::now() + wait + REPLY };
        let response = exchange(&stream, &request, deadline)?;
        if (200..300).contains(&response.status) {
            // A success may have an empty body.
            let body = if response.body.is_empty() { b"null" } else { response.body.as_slice() };
            return Ok(serde_json::from_slice(body)?);
        }
        Err(ClientError::Refused(Box::new(serde_json::from_slice(&response.body)?)))
    }

    /// Tries until there is a reply, across restarts of the daemon. A daemon that was killed is started again. One that was stopped on
    /// purpose is waited for. One that hangs is reported once. Anything that waiting cannot cure is an error.
    fn patiently<T>(&self, attempt: impl Fn(&Self) -> Result<T, ClientError>) -> Result<T, ClientError> {
        let mut was_told = false;
        loop {
            let was_stopped = !self.paths.daemon_json().exists();
            let client = Self { starts: self.starts && !was_stopped, ..self.clone() };
            match attempt(&client) {
                Err(error) if error.is_silence() => {
                    if !std::mem::replace(&mut was_told, true) {
                        anstream::eprintln!(
                            "The daemon does not answer. Still waiting. To end it and start another, run: answerback restart"
                        );
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(
                    ClientError::Exchange(ExchangeError::Lost(_))
                    | ClientError::NotRunning
                    | ClientError::Start(StartError::Connect(..) | StartError::Died),
                ) => std::thread::sleep(PAUSE),
                done => return done,
            }
        }
    }
}
