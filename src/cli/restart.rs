//! `answerback restart`: another daemon in place of this one.

use std::time::{Duration, Instant};

use anstream::eprintln;

use crate::api::{Nothing, Version};
use crate::client::{Client, ClientError};
use crate::daemon;

use super::exit::{Exit, hinted};
use super::{frozen, paths};

const PATIENCE: Duration = Duration::from_secs(10);

/// Start the daemon again: after an update, or to read the configuration
///
/// Nothing is lost: open questions stay open, and the hooks that wait for them come back by themselves. The configuration is checked
/// first: with a mistake in it, the running daemon goes on. A daemon that does not answer is ended.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback restart")]
pub(super) struct Args {}

pub(super) fn run(Args {}: &Args) -> anyhow::Result<Exit> {
    let running = Client::only_running(paths()?);
    let version = running.get::<Version>("/v1/version");
    if let Err(error) = daemon::check(running.paths()) {
        let hint = match version {
            Err(ClientError::NotRunning) => "Correct that, then run this again.",
            _ => "The daemon that runs was left as it is. Correct that, then run this again.",
        };
        return Err(hinted(format!("a daemon could not start: {error:#}"), hint));
    }
    let old = match version {
        Ok(old) => Some(old.pid),
        Err(ClientError::NotRunning) => None,
        Err(error) if error.is_silence() => {
            frozen::end(running.paths())?;
            eprintln!("The daemon did not answer, and was ended.");
            None
        }
        Err(error) => return Err(error.into()),
    };
    if old.is_some() {
        running.post::<()>("/v1/stop", &Nothing {})?;
    }
    let new = another(&Client::new(paths()?), old)?;
    eprintln!("Running: version {}, process {}.", new.version, new.pid);
    Ok(Exit::Success)
}

/// A hook that waits may start it before we do, which is as good.
fn another(client: &Client, old: Option<u32>) -> anyhow::Result<Version> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match client.get::<Version>("/v1/version") {
            Ok(version) if Some(version.pid) != old => return Ok(version),
            // The old one says its last words.
            Ok(_) | Err(ClientError::Exchange(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= deadline {
            return Err(hinted("the daemon does not stop", "Look into daemon.log in the state directory."));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
