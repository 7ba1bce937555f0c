//! `answerback daemon`: run the daemon.

use std::fs::OpenOptions;
use std::io::{self, Write};

use answerback_hook::start::READY;
use anyhow::Context;
use rustix::fs::Mode;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::daemon::{self, Port};
use crate::instance::{Instance, InstanceError};
use crate::logging::{self, Destination};

use super::exit::Exit;

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
        report(&format!("{error:#}").replace('\n', " "));
    }
    result.map(|()| Exit::Success)
}

fn serve(args: &Args) -> anyhow::Result<()> {
    let paths = super::paths()?;
    let config = Config::load(&paths.config_file())?;
    let instance = match Instance::claim(paths) {
        // Somebody else was faster, which is as good.
        Err(InstanceError::Running) if args.background => {
            report(READY);
            return Ok(());
        }
        claimed => claimed?,
    };
    let log = instance.paths().log();
    let destination = if args.background { Destination::File(&log) } else { Destination::Stderr };
    logging::start(config.log_level, destination).with_context(|| format!("cannot log to {}", log.display()))?;
    let port = args.port.map_or(Port::Preferably(config.port), Port::Exactly);
    // This daemon waits, it does not compute: one thread is both smaller and faster. The store has its own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ready = || {
        if args.background {
            report(READY);
            if let Err(error) = let_go_of_stdout() {
                tracing::warn!(%error, "stdout stays open");
            }
        }
    };
    runtime.block_on(async {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let shutdown = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        daemon::run(instance, &config, port, shutdown, ready).await
    })
}

/// One line for whoever started this in the background; they may be gone.
fn report(line: &str) {
    let mut stdout = io::stdout();
    drop(writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
}

fn let_go_of_stdout() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&null)?)
}
