//! `answerback grants`: the permission rules that were given through Answerback, and taking them back.

mod place;

use std::path::PathBuf;

use anstream::eprintln;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::AskView;
use crate::claude_code::settings::rules::Rule;
use crate::claude_code::settings::scope::claude_dir;
use crate::claude_code::settings::{Outcome, Settings};
use crate::client::{Client, Search};
use crate::text::{reveal, style};

use super::exit::Exit;
use super::explain::hinted;
use super::grant::Granted;
use super::history::real_name;
use super::settings::{print_diff, shown};
use super::show::who;
use super::{client, no_home, paths, print_json, time, tree};

use place::Place;

/// How many asks to get at once. Each can be large.
const PAGE: u16 = 200;

/// List the rules that you gave, or take one back
///
/// These are the answers "Always allow …" and "Allow … in this session", newest first. The list shows where each rule stands in a
/// settings file now. Claude Code writes a rule there only if the answer came before an answer in the terminal.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    answerback grants\n  \
    answerback grants --json | jq -r '.grants[] | select(.line) | .rule'\n  \
    answerback grants revoke 2\n  \
    answerback grants revoke 'Bash(npm test)' --project ."
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Take a rule out of its settings file, and leave every other byte as it is
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback grants revoke 2\n  \
    answerback grants revoke 'Bash(npm test)'\n  \
    answerback grants revoke 'Bash(npm test)' --project ~/shop")]
struct RevokeArgs {
    /// A rule, or its number, as `answerback grants` lists them
    #[arg(value_name = "RULE|NUMBER")]
    rule: String,
    /// Only a rule that was given in this directory
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// One rule that somebody granted.
#[derive(Debug)]
struct Grant<'a> {
    rule: &'a str,
    ask: &'a AskView,
    place: Place,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let asks = granting_asks(&client)?;
    let grants = grants(&asks, &client.projects()?.here)?;
    match &args.command {
        Some(Command::Revoke(args)) => revoke(&grants, args)?,
        None if args.json => print_json(&json!({"grants": grants.iter().zip(1..).map(report).collect::<Vec<_>>()}))?,
        None => show(&grants)?,
    }
    Ok(Exit::Success)
}

/// The asks whose answer granted something, newest first.
fn granting_asks(client: &Client) -> anyhow::Result<Vec<AskView>> {
    let mut search = Search { limit: PAGE, ..Search::default() };
    let mut granting = Vec::new();
    loop {
        let list = client.settled_asks(&search)?;
        granting.extend(list.asks.into_iter().filter(|ask| Granted::of(ask).is_some()));
        match list.next {
            Some(next) => search.before = Some(next),
            None => return Ok(granting),
        }
    }
}

/// Each rule once for each place that it was granted for.
fn grants<'a>(asks: &'a [AskView], host: &str) -> anyhow::Result<Vec<Grant<'a>>> {
    let (paths, claude_dir) = (paths()?, claude_dir().ok_or_else(no_home)?);
    let mut grants: Vec<Grant<'a>> = Vec::new();
    for ask in asks {
        let Some(granted) = Granted::of(ask) else { continue };
        for rule in granted.rules {
            let place = Place::of(rule, granted.file, ask, host, &claude_dir, &paths);
            if !grants.iter().any(|grant| grant.rule == rule && grant.place == place) {
                grants.push(Grant { rule, ask, place });
            }
        }
    }
    Ok(grants)
}

/// The time of the answer.
fn granted_at(ask: &AskView) -> Timestamp {
    ask.settled_at.unwrap_or(ask.opened_at)
}

/// Whether the agent reported that it went on with this answer. `None` if it has reported nothing.
fn was_used(ask: &AskView) -> Option<bool> {
    ask.receipt.as_ref().map(|receipt| receipt.as_sent)
}

fn report((grant, number): (&Grant<'_>, usize)) -> Value {
    let Grant { rule, ask, place } = grant;
    json!({
        "number": number,
        "rule": rule,
        "host": ask.host,
        "project": ask.project,
        "state": place.name(),
        "file": place.file().map(|file| file.to_string_lossy()),
        "line": place.line(),
        "key": ask.key,
        "granted_at": granted_at(ask).to_string(),
        "by": ask.outcome.as_ref().and_then(|outcome| outcome.by.as_ref()),
        "received": was_used(ask),
    })
}

fn show(grants: &[Grant<'_>]) -> anyhow::Result<()> {
    let (faint, strong, warning) = (style::FAINT, style::STRONG, style::WARNING);
    if grants.is_empty() {
        outln!("No rule was given through Answerback.");
    }
    let digits = grants.len().to_string().len();
    for (Grant { rule, ask, place }, number) in grants.iter().zip(1..) {
        outln!("{number:>digits$}  {strong}{}{strong:#}", tree::single(rule));
        let indent = " ".repeat(digits);
        let place_style = if place.is_granted() { style::GOOD } else { warning };
        outln!("{indent}  {place_style}{}{place_style:#}", reveal(&place.to_string()));
        let by = ask.outcome.as_ref().and_then(who).map_or_else(String::new, |who| format!(" by {who}"));
        let project =
            ask.project.as_deref().map_or_else(String::new, |project| format!(" in {}", tree::single(project)));
        let received = match was_used(ask) {
            Some(true) => "the agent went on with it",
            Some(false) => "the agent did something else",
            None => "the agent has not reported that it received it",
        };
        outln!("{indent}  {faint}given {}{by}{project}; {received}{faint:#}", time::local(granted_at(ask)));
    }
    Ok(())
}

fn revoke(grants: &[Grant<'_>], args: &RevokeArgs) -> anyhow::Result<()> {
    let grant = chosen(grants, args)?;
    let rule = tree::single(grant.rule);
    let Some(file) = grant.place.file() else { return Err(not_here(&rule, grant)) };
    let paths = paths()?;
    let settings = Settings::at(file, &paths)?;
    let change = settings.revoke(&Rule::named(grant.rule))?;
    let file = shown(settings.path());
    if change.outcome == Outcome::NoSuchRule {
        return Err(hinted(format!("`{rule}` is not in {file}"), "There is nothing to take back."));
    }
    print_diff(&change, settings.path())?;
    eprintln!("`{rule}` is no longer in {file}.");
    eprintln!("A running session notices within a second or two. Then it asks again.");
    if let Some(backup) = &change.backup {
        eprintln!("What was there before is kept in {}.", shown(backup));
    }
    Ok(())
}

/// Why a rule cannot be taken out of a file here, and where it can.
fn not_here(rule: &str, grant: &Grant<'_>) -> anyhow::Error {
    match &grant.place {
        Place::Elsewhere { host, project, .. } => {
            let host = tree::single(host);
            let directory =
                project.as_deref().map_or_else(String::new, |project| format!(" in {}", tree::single(project)));
            hinted(
                format!("`{rule}` was given on the machine `{host}`, and only that machine can take it back"),
                format!("On {host}, start `claude`{directory} and run /permissions."),
            )
        }
        Place::Unknown => hinted(
            format!("nobody knows which file `{rule}` is in"),
            "Start `claude` in its project and run /permissions to look for it.",
        ),
        _ => hinted(
            format!("`{rule}` is in no file"),
            "It was given until the end of its session. End that session to take it back.",
        ),
    }
}

/// The grant that a number or a rule names. Of several with the same rule, the only one that is still in its file.
fn chosen<'g, 'a>(grants: &'g [Grant<'a>], args: &RevokeArgs) -> anyhow::Result<&'g Grant<'a>> {
    const LIST: &str = "`answerback grants` lists the rules with their numbers.";
    let project = args.project.as_deref().map(|dir| real_name(dir, "or leave it out")).transpose()?;
    let is_in_project = |grant: &&Grant<'_>| project.is_none() || grant.ask.project == project;
    if let Ok(number) = args.rule.parse::<usize>() {
        let grant = number.checked_sub(1).and_then(|index| grants.get(index));
        return grant
            .filter(is_in_project)
            .ok_or_else(|| hinted(format!("there is no rule with the number {number}"), LIST));
    }
    let named: Vec<_> = grants.iter().filter(is_in_project).filter(|grant| grant.rule == args.rule).collect();
    let there: Vec<_> = named.iter().copied().filter(|grant| grant.place.is_granted()).collect();
    let rule = tree::single(&args.rule);
    match (there.as_slice(), named.as_slice()) {
        ([only], _) | ([], [only, ..]) => Ok(only),
        ([], []) => Err(hinted(format!("no rule `{rule}` was given through Answerback"), LIST)),
        (several, _) => Err(hinted(
            format!("`{rule}` is in {} files", several.len()),
            "Say which one with --project DIR, or give its number from `answerback grants`.",
        )),
    }
}
