//! `answerback notify`: try out what is configured.

use answerback_hook::hint::Hint;
use serde_json::json;

use crate::config::Config;
use crate::notify::{self, Notice};
use crate::text::{sanitise, style};

use super::exit::Exit;
use super::explain::hinted;
use super::{paths, print_json};

const EXAMPLES: &str = "Examples:\n  \
    answerback notify test\n  \
    answerback notify test --json | jq '.ways[] | select(.ok | not)'";

/// Try out notifications
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Test(TestArgs),
}

/// Send a test notification every configured way, and report what came of it
///
/// It reads the configuration as it is now; the daemon reads it again with `answerback restart`. Exits with 1 if a way fails, or if there is
/// none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct TestArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Command::Test(args) = &args.command;
    let path = paths()?.config_file();
    let ways = notify::ways(&Config::load(&path)?, None);
    if ways.is_empty() && !args.json {
        return Err(hinted(
            "no notifications are configured, and there is no desktop",
            format!("Add [notify.ntfy], [notify.webhook] or [notify.desktop] to {}.", path.display()),
        ));
    }
    let (good, bad) = (style::GOOD, style::BAD);
    let mut reports = Vec::new();
    for way in &ways {
        let (name, to) = (way.name(), way.target());
        let result = way.deliver(&Notice::Test);
        let (reason, hint) = match &result {
            Ok(()) => (None, None),
            Err(failure) => (Some(sanitise(&failure.to_string())), failure.hint()),
        };
        if !args.json {
            match (&reason, &hint) {
                (Some(reason), Some(hint)) => outln!("{bad}✗{bad:#} {name}, {}: {reason}\n    {hint}", sanitise(to)),
                _ => outln!("{good}✓{good:#} {name}, {}", sanitise(to)),
            }
        }
        reports.push(json!({"way": name, "to": to, "ok": result.is_ok(), "reason": reason, "hint": hint}));
    }
    let ok = !reports.is_empty() && reports.iter().all(|report| report["ok"] == true);
    if args.json {
        print_json(&json!({"ok": ok, "ways": reports}))?;
    }
    Ok(if ok { Exit::Success } else { Exit::Failure })
}
