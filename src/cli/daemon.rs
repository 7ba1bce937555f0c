//! `answerback daemon`: run the daemon.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use answerback_hook::paths::Paths;
use answerback_hook::start::{self, READY};
use anyhow::Context;
use rustix::fs::Mode;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::daemon::logging::{self, Destination};
use crate::daemon::{self, Port};
use crate::instance::{Instance, InstanceError};

use super::exit::Exit;
use super::explain::hint_of;

/// How long to wait for a daemon that starts or ends. Less than a hook waits.
const BETWEEN_DAEMONS: Duration = Duration::from_millis(1500);
const RETRY: Duration = Duration::from_millis(5);

/// Run the daemon in the foreground
///
/// Hooks start it by themselves when they need it, so this is for watching it work and for service managers. It serves the
/// hooks on a unix socket and everything else on 127.0.0.1, and tells where in daemon.json in the state directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback daemon             # stop with Ctrl-C; open questions stay open\n  \
    answerback daemon --port 0    # on any free port")]
pub(super) struct Args {
    /// Listen on this port of 127.0.0.1, or fail; 0 takes any free one [default: the configured one, 27563]
    #[arg(long)]
    port: Option<u16>,
    /// Say `ready` on stdout and let go of it, log to a file: how hooks start it
    #[arg(long, hide = true)]
    background: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let result = serve(args);
    if args.background
        && let Err(error) = &result
    {
        // The hook that waits for `ready` passes this on.
        report(&start::refusal(&format!("{error:#}"), hint_of(error).as_deref()));
    }
    result.map(|()| Exit::Success)
}

fn serve(args: &Args) -> anyhow::Result<()> {
    let paths = super::paths()?;
    let config = Config::load(&paths.config_file())?;
    let instance = if args.background { claim_or_find(&paths)? } else { Some(Instance::claim(paths)?) };
    let Some(instance) = instance else {
        report(READY);
        return Ok(());
    };
    let log = instance.paths().log();
    let destination = if args.background { Destination::File(&log) } else { Destination::Stderr };
    logging::start(config.log_level, destination).with_context(|| format!("cannot log to {}", log.display()))?;
    let port = args.port.map_or(Port::Preferably(config.port), Port::Exactly);
    // The daemon mostly waits, so one thread is smaller and faster than several. The store has a thread of its own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ready = || {
        if args.background {
            report(READY);
            if let Err(error) = let_go_of_stdout() {
                tracing::warn!(%error, "stdout stays open");
            }
        }
    };
    let result = runtime.block_on(async {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let shutdown = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        daemon::run(instance, &config, port, shutdown, ready).await
    });
    // A thread may wait for a file system that never answers. The end does not wait for it.
    runtime.shutdown_background();
    result
}

/// The instance, or `None` if another daemon serves it. A daemon that holds the lock and does not listen is starting or ending. Wait for
/// that: a question that comes between two daemons must find one of them.
fn claim_or_find(paths: &Paths) -> anyhow::Result<Option<Instance>> {
    let deadline = Instant::now() + BETWEEN_DAEMONS;
    loop {
        match Instance::claim(paths.clone()) {
            Err(InstanceError::Running) if Instant::now() < deadline => {
                if start::connect_now(&paths.socket()).is_ok() {
                    return Ok(None);
                }
                thread::sleep(RETRY);
            }
            claimed => return Ok(Some(claimed?)),
        }
    }
}

/// Writes one line for the program that started this in the background. It may be gone.
fn report(line: &str) {
    let mut stdout = io::stdout();
    drop(writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
}

fn let_go_of_stdout() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&null)?)
}
