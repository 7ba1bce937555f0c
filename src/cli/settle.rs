//! `answerback dismiss` and `answerback release`: settle a question without answering it.

use anstream::eprintln;

use crate::api::{AskView, DismissRequest};
use crate::ask::Origin;
use crate::text::one_line;

use super::exit::Exit;
use super::explain::hinted;
use super::{client, ended, refuse_on_edge, unsent, which};

/// Refuse to answer a question; the agent is told
///
/// A permission request is denied, a plan is sent back, and a form is declined.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback dismiss\n  \
    answerback dismiss 3fa2c1 --reason 'Ask me again when the tests pass'")]
pub(super) struct DismissArgs {
    /// Any part of the key; not needed when one question is open
    key: Option<String>,
    /// Tell the agent why
    #[arg(long, short, allow_hyphen_values = true)]
    reason: Option<String>,
}

/// Hand a question back to the agent's own dialog in the terminal
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback release\n  \
    answerback release 3fa2c1")]
pub(super) struct ReleaseArgs {
    /// Any part of the key; not needed when one question is open
    key: Option<String>,
}

pub(super) fn dismiss(args: &DismissArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("questions are answered")?;
    let client = client()?;
    let open = client.open_asks()?.asks;
    let ask = which::open_ask(&open, args.key.as_deref(), |part| ended::find(&client, part))?;
    let request = DismissRequest { reason: args.reason.clone(), id: Some(ask.id) };
    tell("Dismissed", &ended::settled(client.dismiss(&ask.key, &request))?);
    unsent::tell_and_forget(&client, ask);
    Ok(Exit::Success)
}

pub(super) fn release(args: &ReleaseArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("questions are answered")?;
    let client = client()?;
    let open = client.open_asks()?.asks;
    let ask = which::open_ask(&open, args.key.as_deref(), |part| ended::find(&client, part))?;
    // A program has no terminal that could ask instead.
    let what = if ask.origin == Origin::Program { "Released" } else { "Released to the terminal" };
    tell(what, &ended::settled(client.release(&ask.key, Some(ask.id)))?);
    unsent::tell_and_forget(&client, ask);
    Ok(Exit::Success)
}

pub(super) fn tell(what: &str, ask: &AskView) {
    eprintln!("{what}: {}", one_line(&ask.summary()));
}

/// An agent must not answer its own questions. It could by other means: this is a speed bump, not a wall.
pub(super) fn refuse_inside_agent() -> anyhow::Result<()> {
    const SIGNS: [&str; 2] = ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"];
    if SIGNS.iter().any(|sign| std::env::var_os(sign).is_some()) {
        return Err(hinted(
            "this runs inside Claude Code, and its questions are for a person",
            "Run it in a terminal of your own.",
        ));
    }
    Ok(())
}
