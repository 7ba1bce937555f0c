//! `answerback mcp`: the tool `ask_human` for any agent that speaks MCP.

use std::io::{self, IsTerminal};

use anstream::eprintln;
use anyhow::Context;

use crate::mcp::{self, Options};

use super::client;
use super::exit::Exit;

/// Serve the tool `ask_human` to an agent over MCP
///
/// It speaks MCP over stdin and stdout. An agent starts this command, not a person. The tool asks a person through Answerback and waits
/// for the answer. Questions that are open when the agent ends or cancels its call are taken back.
///
/// `answerback install --mcp` adds it to a project for Claude Code. For other agents, see docs/mcp.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback install --mcp                # for Claude Code, in this project\n  \
    claude mcp add answerback -- answerback mcp\n  \
    codex mcp add answerback -- answerback mcp")]
pub(super) struct Args {
    /// Show the questions in the agent's own program, too, if that can show forms (MCP elicitation); the first answer counts
    #[arg(long)]
    elicitation: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let directory = std::env::current_dir().context("the current directory is gone")?;
    let options = Options { directory: directory.to_str().map(ToOwned::to_owned), elicitation: args.elicitation };
    if io::stdin().is_terminal() {
        eprintln!("Waiting for an agent at the other end of stdin. To let an agent use this: answerback mcp --help");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(mcp::serve(client, options));
    // Dropping the runtime would wait for the thread that reads our input.
    runtime.shutdown_background();
    end.map(|()| Exit::Success)
}
