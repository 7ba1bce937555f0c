//! `answerback restart`: another daemon in place of this one.

use anstream::eprintln;

use crate::client::{Client, ClientError};
use crate::daemon;
use crate::store;

use super::daemon_process::DaemonProcess;
use super::exit::Exit;
use super::explain::{hint_of, hinted};
use super::paths;

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
    let version = running.version();
    if let Err(error) = daemon::check(running.paths()) {
        let first = hint_of(&error).unwrap_or_else(|| "Correct that.".to_owned());
        let hint = match version {
            Err(ClientError::NotRunning) => format!("{first} Then run this again."),
            _ => format!("{first} Then run this again. The running daemon was left as it is."),
        };
        return Err(hinted(format!("a daemon could not start: {error:#}"), hint));
    }
    // A daemon whose disk hangs holds the lock itself, and cannot read. One that can read is not the one that holds it.
    let store = running.paths().store();
    if store.exists() && store::is_locked(&store)? && running.projects().is_ok() {
        return Err(hinted(
            format!("another program holds {}: database is locked", store.display()),
            "The daemon that runs was left as it is. End that program, then run this again.",
        ));
    }
    let old = DaemonProcess::find(running.paths())?;
    match version {
        Err(ClientError::NotRunning) => {}
        Ok(_) => {
            running.stop()?;
            old.iter().try_for_each(DaemonProcess::until_ended)?;
        }
        Err(error) if error.is_silence() => {
            old.iter().try_for_each(DaemonProcess::end)?;
            eprintln!("The daemon did not answer, and was ended.");
        }
        Err(error) => return Err(error.into()),
    }
    // A hook that waits may start it before we do, which is as good.
    let new = Client::new(paths()?).version()?;
    eprintln!("Running: version {}, process {}.", new.version, new.pid);
    Ok(Exit::Success)
}
