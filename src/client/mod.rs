//! The daemon, as the commands see it: over the socket, blocking, started when it is needed. Every call has a deadline.

use std::time::{Duration, Instant};

use answerback_hook::client::{ExchangeError, Request, exchange};
use answerback_hook::paths::Paths;
use answerback_hook::start::{self, StartError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::{AskList, AskView, Problem, State};

/// How long a daemon may take to start.
const START: Duration = Duration::from_secs(5);
/// How long a daemon may take to reply, beyond what it was asked to wait.
const REPLY: Duration = Duration::from_secs(3);
/// One round of waiting; then it is asked again.
const ROUND_SECONDS: u32 = 60;
const ROUND: Duration = Duration::from_secs(ROUND_SECONDS as u64);
const PAUSE: Duration = Duration::from_millis(250);
const AGENT: &str = concat!("answerback/", env!("CARGO_PKG_VERSION"));

/// Why a command gets nothing from the daemon.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no daemon, and none could be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is none, and none shall be started.
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
    /// The daemon says something else than this version understands.
    #[error("the daemon's reply is not understood: {0}")]
    Reply(#[from] serde_json::Error),
}

impl ClientError {
    /// Whether there is a daemon that does not answer.
    pub fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::Exchange(ExchangeError::Silent)
                | Self::Unanswered(ExchangeError::Silent)
                | Self::Start(StartError::Timeout)
        )
    }
}

/// The way to the daemon of an instance.
#[derive(Debug, Clone)]
pub struct Client {
    paths: Paths,
    starts: bool,
}

impl Client {
    /// Starts the daemon if there is none.
    pub fn new(paths: Paths) -> Self {
        Self { paths, starts: true }
    }

    /// Never starts one.
    pub fn only_running(paths: Paths) -> Self {
        Self { paths, starts: false }
    }

    /// Where the files of the instance are.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// `GET`. A daemon that ends while it is asked is no reason to fail: the next one is asked.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.get_within(path, Duration::ZERO)
    }

    /// `GET` of something that the daemon waits for. The path says so too, and for how long.
    pub fn get_within<T: DeserializeOwned>(&self, path: &str, wait: Duration) -> Result<T, ClientError> {
        match self.send("GET", path, b"", wait) {
            Err(ClientError::Exchange(ExchangeError::Lost(_))) if self.starts => self.send("GET", path, b"", wait),
            done => done,
        }
    }

    /// `POST`.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        self.send("POST", path, &serde_json::to_vec(body)?, Duration::ZERO).map_err(|error| match error {
            ClientError::Exchange(error @ (ExchangeError::Silent | ExchangeError::Lost(_))) => {
                ClientError::Unanswered(error)
            }
            error => error,
        })
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        wait: Duration,
    ) -> Result<T, ClientError> {
        let deadline = Instant::now() + START;
        let stream = if self.starts {
            start::connect_or_start(&self.paths, deadline)?
        } else {
            start::connect(&self.paths, deadline)?.ok_or(ClientError::NotRunning)?
        };
        let request = Request::json(method, path, [("user-agent", AGENT)], body);
        let response = exchange(&stream, &request, Instant::now() + wait + REPLY)?;
        if (200..300).contains(&response.status) {
            // Some successes have nothing to say.
            let body = if response.body.is_empty() { b"null" } else { response.body.as_slice() };
            return Ok(serde_json::from_slice(body)?);
        }
        Err(ClientError::Refused(Box::new(serde_json::from_slice(&response.body)?)))
    }

    /// The open asks, newest first.
    pub fn open_asks(&self) -> Result<AskList, ClientError> {
        self.get("/v1/asks")
    }

    /// The open asks, once anything has changed after a cursor, or after a minute.
    pub fn poll(&self, cursor: &str) -> Result<AskList, ClientError> {
        self.patiently(|client| client.get_within(&format!("/v1/asks?since={cursor}&wait={ROUND_SECONDS}"), ROUND))
    }

    /// The open asks, once anything has changed after a cursor.
    pub fn next_change(&self, cursor: &str) -> Result<AskList, ClientError> {
        loop {
            let list = self.poll(cursor)?;
            if list.cursor != cursor {
                return Ok(list);
            }
        }
    }

    /// The ask, once it is settled.
    pub fn settled(&self, key: &str) -> Result<AskView, ClientError> {
        loop {
            let path = format!("/v1/asks/{key}?wait={ROUND_SECONDS}");
            let ask: AskView = self.patiently(|client| client.get_within(&path, ROUND))?;
            if ask.state == State::Settled {
                return Ok(ask);
            }
        }
    }

    /// Tries until there is a reply, across restarts of the daemon. A daemon that was killed is started again. One that was stopped on
    /// purpose is waited for. One that hangs is reported once. Anything that waiting cannot cure is an error.
    fn patiently<T>(&self, attempt: impl Fn(&Self) -> Result<T, ClientError>) -> Result<T, ClientError> {
        let mut was_told = false;
        loop {
            let was_stopped = !self.paths.daemon_json().exists();
            let client = Self { starts: self.starts && !was_stopped, paths: self.paths.clone() };
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
