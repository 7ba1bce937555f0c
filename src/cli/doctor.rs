//! `answerback doctor`: is everything in place?

use std::path::PathBuf;

use serde_json::json;

use crate::claude_code::settings::session;
use crate::client::Client;
use crate::doctor::{self, Finding, Level};
use crate::text::{self, counted, style, wrap};

use super::exit::Exit;
use super::programs::hook_path;
use super::{paths, print_json};

/// Check that a question would come back answered, and prove it
///
/// Looks at the programs, Claude Code's settings in all scopes, its version, the daemon and its files, and asks a question of its own
/// through the real hook. Says which waits come to Answerback (questions, plans, permissions, forms), and how to add the others. Every
/// finding says what to do. Exits with 1 if there is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback doctor                   # for the project in the current directory\n  \
    answerback doctor --project ~/shop\n  \
    answerback doctor --json | jq '.findings[] | select(.level == \"error\")'")]
pub(super) struct Args {
    /// Where Claude Code is started
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Only ask a question and see it come back
    #[arg(long)]
    round_trip: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let paths = paths()?;
    let hook = hook_path()?;
    // "/shop/." is "/shop".
    let project: PathBuf = std::path::absolute(&args.project)?.components().collect();
    let mut findings = if args.round_trip { Vec::new() } else { doctor::examine(&paths, &hook, &project) };
    findings.push(doctor::round_trip(&Client::new(paths.clone()), &hook));
    if !args.round_trip {
        findings.push(doctor::port(&paths));
    }
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    if args.json {
        let coverage = session::coverage(&session::files(&project));
        print_json(&json!({"ok": worst < Level::Error, "coverage": coverage, "findings": findings}))?;
    } else {
        findings.iter().try_for_each(show)?;
        summarise(&findings)?;
    }
    Ok(if worst == Level::Error { Exit::Failure } else { Exit::Success })
}

fn show(finding: &Finding) -> anyhow::Result<()> {
    let (mark, look) = match finding.level {
        Level::Ok => ("✓", style::GOOD),
        Level::Note => ("·", style::FAINT),
        Level::Warning => ("!", style::WARNING),
        Level::Error => ("✗", style::BAD),
    };
    let room = text::width().saturating_sub(4);
    let mut mark = mark;
    for line in wrap(&finding.message, room) {
        outln!("{look}{mark}{look:#} {line}");
        mark = " ";
    }
    let faint = style::FAINT;
    for line in finding.fix.iter().flat_map(|fix| wrap(fix, room)) {
        outln!("    {faint}{line}{faint:#}");
    }
    Ok(())
}

fn summarise(findings: &[Finding]) -> anyhow::Result<()> {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    match (count(Level::Error), count(Level::Warning)) {
        (0, 0) => outln!("\nAll is well."),
        (errors, warnings) => {
            outln!("\n{}, {}.", counted(errors, "error", "errors"), counted(warnings, "warning", "warnings"));
        }
    }
    Ok(())
}
