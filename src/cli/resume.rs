//! `answerback resume`: go on with a run that ended because nobody answered in time.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anstream::eprintln;
use answerback_hook::hook::WAITS;

use crate::api::{AskView, State};
use crate::claude_code::{TOOL_WAITS, permission_tool};
use crate::text::one_line;

use super::exit::Exit;
use super::explain::hinted;
use super::programs::find;
use super::{client, which};

/// Resume a headless run that was deferred, with its answer
///
/// A one-shot run (claude -p) ends at its first question if the hook was installed with `--mode defer`. With `on_timeout = "defer"`, it
/// ends when nobody answers in time. In both cases its question stays open. This runs `claude -p --resume` for it, in its directory;
/// Claude gets the answer at once. What follows -- is added to that command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback resume                              # the only run that waits\n  \
    answerback resume 3fa2c1 -- --output-format json")]
pub(super) struct Args {
    /// Any part of the key; not needed when one run waits to be resumed
    key: Option<String>,
    /// More arguments for Claude Code, after --
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let asks = client.newest_asks()?.asks;
    // An ask with a receipt was resumed before.
    let deferred: Vec<AskView> = asks.into_iter().filter(|ask| ask.deferred && ask.receipt.is_none()).collect();
    let ask = match (args.key.as_deref(), deferred.as_slice()) {
        (_, []) => {
            return Err(hinted(
                "no run waits to be resumed",
                "A run is deferred at its first question with `answerback install --mode defer`, or after a while with \
                 `timeout_seconds` and `on_timeout = \"defer\"` in config.toml.",
            ));
        }
        (key, several) => which::ask(several, key)?,
    };
    if ask.state == State::Open {
        let open = client.open_asks()?.asks;
        let key = which::short_key(&open, &ask.key);
        return Err(hinted("its question is not answered yet", format!("Run: answerback answer {key}")));
    }
    let directory = ask.project.as_deref().unwrap_or("/");
    eprintln!("Resuming session {} in {}", one_line(&ask.session), one_line(directory));
    let claude = find("claude").ok_or_else(|| hinted("there is no claude in the PATH", "Install Claude Code."))?;
    let error = Command::new(claude)
        .args(permission_tool::options(&std::env::current_exe()?))
        .args(["-p", "--resume", &ask.session])
        .args(&args.arguments)
        .env(WAITS, TOOL_WAITS)
        .current_dir(directory)
        .exec();
    Err(hinted(format!("cannot run claude in {}: {error}", one_line(directory)), "Is the directory still there?"))
}
