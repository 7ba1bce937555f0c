//! `answerback restart`: another daemon in place of this one.

use std::time::{Duration, Instant};

use anstream::eprintln;
use answerback_hook::paths::Paths;
use answerback_hook::start::StartLock;

use crate::client::{Client, ClientError};
use crate::{daemon, store};

use super::daemon_process::{self, DaemonProcess};
use super::exit::Exit;
use super::explain::{hint_of, hinted};
use super::paths;

/// How long a daemon may take to start.
const START: Duration = Duration::from_secs(5);

/// Restart the daemon, after an update or to read the configuration
///
/// Nothing is lost: open questions stay open, and the hooks that wait for them come back by themselves. The configuration is checked
/// first: with a mistake in it, the running daemon goes on. A daemon that does not answer is ended. A service of systemd or launchd is
/// restarted through it, and stays its service.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback restart")]
pub(super) struct Args {}

pub(super) fn run(Args {}: &Args) -> anyhow::Result<Exit> {
    let running = Client::only_running(paths()?);
    check(&running)?;
    // Until the new daemon is there, hooks wait for it and start none of their own.
    let lock = daemon_process::lock(running.paths())?;
    let version = running.version();
    match (DaemonProcess::find(running.paths())?, version) {
        (None, _) | (_, Err(ClientError::NotRunning)) => start(&lock, running.paths())?,
        (Some(old), Ok(_)) => replace(&old, &running, &lock)?,
        (Some(old), Err(error)) if error.is_silence() => {
            // Only a process that is there can be looked up. A daemon that hangs is ended even if its manager cannot be asked.
            let manager = old.manager("restart");
            old.end()?;
            eprintln!("The daemon did not answer, and was ended.");
            match manager? {
                Some(manager) => {
                    manager.restart()?;
                    old.until_replaced(running.paths(), &manager)?;
                }
                None => start(&lock, running.paths())?,
            }
        }
        (Some(_), Err(error)) => return Err(error.into()),
    }
    // With the lock: another restart would replace the new daemon before it can say who it is.
    let new = running.version()?;
    eprintln!("Running: version {}, process {}.", new.version, new.pid);
    Ok(Exit::Success)
}

/// Whether another daemon could start. If not, the one that runs is left alone.
fn check(running: &Client) -> anyhow::Result<()> {
    if let Err(error) = daemon::check(running.paths()) {
        let first = hint_of(&error).unwrap_or_else(|| "Correct that.".to_owned());
        let hint = match running.version() {
            Err(ClientError::NotRunning) => format!("{first} Then run this again."),
            _ => format!("{first} Then run this again. The running daemon was left as it is."),
        };
        return Err(hinted(format!("a daemon could not start: {error:#}"), hint));
    }
    // If the daemon's own writer still answers while the store is locked, another program holds the lock. If the daemon's disk hangs, its
    // writer holds the lock and answers nobody. The devices are read by the writer, and every version has them.
    let store = running.paths().store();
    if store.exists() && store::is_locked(&store)? && running.devices().is_ok() {
        return Err(hinted(
            format!("another program holds {}: database is locked", store.display()),
            "End that program, then run this again. The running daemon was left as it is.",
        ));
    }
    Ok(())
}

fn replace(old: &DaemonProcess, running: &Client, lock: &StartLock) -> anyhow::Result<()> {
    match old.manager("restart")? {
        Some(manager) => {
            manager.restart()?;
            old.until_replaced(running.paths(), &manager)
        }
        None => {
            running.stop()?;
            old.until_ended()?;
            start(lock, running.paths())
        }
    }
}

fn start(lock: &StartLock, paths: &Paths) -> anyhow::Result<()> {
    lock.connect_or_start(paths, Instant::now() + START)?;
    Ok(())
}
