//! `answerback stop`: stop the daemon.

use anstream::eprintln;

use crate::api::AskView;
use crate::ask::Origin;
use crate::client::{Client, ClientError};
use crate::instance;
use crate::text::counted;

use super::daemon_process::{self, DaemonProcess};
use super::exit::Exit;
use super::explain::hinted;
use super::manager::Manager;
use super::paths;

/// Stop the daemon
///
/// Questions stay open on disk. A hook that waits would start the daemon again at once, so while questions wait this needs
/// --release. A daemon that does not answer is ended. A service of systemd or launchd is stopped through it, and starts again at the
/// next login.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback stop\n  \
    answerback stop --release    # hand open questions to their terminals")]
pub(super) struct Args {
    /// Hand waiting questions back to their terminals first
    #[arg(long)]
    release: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = Client::only_running(paths()?);
    if !client.paths().state_dir().exists() {
        eprintln!("The daemon is not running.");
        return Ok(Exit::Success);
    }
    let _lock = daemon_process::lock(client.paths())?;
    let waiting = match client.open_asks() {
        Err(ClientError::NotRunning) if instance::is_held(client.paths()) => {
            return Err(hinted(
                "a daemon is starting or stopping, and does not listen",
                "Wait a moment, then run this again.",
            ));
        }
        Err(ClientError::NotRunning) => {
            eprintln!("The daemon is not running.");
            return Ok(Exit::Success);
        }
        Err(error) if error.is_silence() => {
            if let Some(process) = DaemonProcess::find(client.paths())? {
                // Only a process that is there can be looked up. A daemon that hangs is ended even if its manager cannot be asked.
                let manager = process.manager("stop");
                process.end()?;
                eprintln!("The daemon did not answer, and was ended. A hook that waits starts another.");
                // A manager that is told to stop it does not take its end for a crash.
                manager?.iter().try_for_each(Manager::stop)?;
            }
            return Ok(Exit::Success);
        }
        list => list?.asks,
    };
    let of_programs = waiting.iter().filter(|ask| ask.origin == Origin::Program).count();
    let mut waiting: Vec<AskView> =
        waiting.into_iter().filter(|ask| ask.origin == Origin::ClaudeCode && !ask.deferred).collect();
    let is_edge = client.version()?.hub.is_some();
    if !is_edge && !waiting.is_empty() {
        // The hooks of other machines wait for their own daemons, or go to another hub.
        let here = client.projects()?.here;
        waiting.retain(|ask| here.is_empty() || ask.host == here);
    }
    if is_edge && args.release && !waiting.is_empty() {
        return Err(hinted(
            "questions wait, and only the hub can hand them back to their terminals",
            "Release them at the hub, or end what asks, then run this again.",
        ));
    }
    if !waiting.is_empty() && !args.release {
        return Err(hinted(
            match waiting.len() {
                1 => "a question waits, and its hook would start the daemon again".to_owned(),
                count => format!("{count} questions wait, and their hooks would start the daemon again"),
            },
            "Answer first, or hand what waits back to its terminal with --release.",
        ));
    }
    for ask in &waiting {
        match client.release(&ask.key, Some(ask.id)) {
            Ok(_) => {}
            // Somebody settled it meanwhile, which is as good.
            Err(ClientError::Refused(problem)) if problem.status != 403 => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(process) = DaemonProcess::find(client.paths())? {
        match process.manager("stop")? {
            Some(manager) => manager.stop()?,
            None => client.stop()?,
        }
        // Whoever removes the daemon's files next must not meet it.
        process.until_ended()?;
    }
    eprintln!("Stopped.");
    if of_programs > 0 {
        let what = counted(of_programs, "question of a program stays open", "questions of programs stay open");
        eprintln!("{what}. Any command starts the daemon again, for example: answerback pending");
    }
    Ok(Exit::Success)
}
