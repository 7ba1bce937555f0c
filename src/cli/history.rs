//! `answerback history`: what was asked, and what was answered.

use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use anstream::eprintln;
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::api::{AskView, ProjectList};
use crate::ask::{Kind, OutcomeKind};
use crate::client::{Client, Search};
use crate::text::{self, counted, one_line, style, wrap};

use super::exit::Exit;
use super::explain::hinted;
use super::export::{self, Format};
use super::grant::Granted;
use super::show::settled;
use super::which::short_keys;
use super::{client, machine, print_json, refuse_on_edge, time};

/// Show settled questions, newest first
///
/// After the time comes the end of the key, which `answerback show` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback history\n  \
    answerback history database --since 7d\n  \
    answerback history --kind permission --outcome answered\n  \
    answerback history --project . --json | jq -r '.asks[].outcome.answers'\n  \
    answerback history --since 30d --export csv > history.csv")]
pub(super) struct Args {
    /// Only with this text in a question, an answer, a note or a reason
    text: Option<String>,
    /// Only of this directory; of another host as HOST:/DIR
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Only of this host, which is then shown
    #[arg(long)]
    host: Option<String>,
    /// Only of this kind
    #[arg(long, value_parser = KINDS)]
    kind: Option<String>,
    /// Only with this outcome
    #[arg(long, value_parser = OUTCOMES)]
    outcome: Option<String>,
    /// Only those asked since: 12h, 7d, 2026-11-16
    #[arg(long, value_parser = time::parse_since)]
    since: Option<Timestamp>,
    /// At most so many, from 1 to 1000 [default: 20; all with --export]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,
    /// Print JSON, as `GET /v1/asks` gives it
    #[arg(long)]
    json: bool,
    /// Write everything that is found to stdout, for another program
    ///
    /// In a table, text that begins like a formula gets an apostrophe, because an agent may have written it.
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
    export: Option<Format>,
}

/// The words of the API.
const KINDS: [&str; 4] = ["question", "permission", "plan", "form"];
const OUTCOMES: [&str; 6] = ["answered", "answered_in_terminal", "dismissed", "released", "expired", "withdrawn"];

/// How many are shown.
const SHOWN: u16 = 20;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_on_edge("history is kept")?;
    let client = client()?;
    let (host, project) = place(&client, args)?;
    let search = Search {
        text: args.text.clone(),
        project,
        host,
        kind: args.kind.clone(),
        outcome: args.outcome.clone(),
        opened_since: args.since,
        before: None,
        limit: args.limit.unwrap_or(SHOWN),
    };
    if let Some(format) = args.export {
        let exported = export::write(&client, search, args.limit, format, &mut BufWriter::new(io::stdout().lock()))?;
        tell_damaged(exported.damaged);
        // On a screen, the end of the output says it.
        if !io::stdout().is_terminal() {
            eprintln!("{}.", counted(exported.count, "question was exported", "questions were exported"));
        }
        return Ok(Exit::Success);
    }
    let list = client.settled_asks(&search)?;
    if args.json {
        print_json(&list)?;
        return Ok(Exit::Success);
    }
    if list.asks.is_empty() {
        let is_all = search == Search { limit: search.limit, ..Search::default() };
        outln!("{}", if is_all { "Nothing was answered or closed yet." } else { "Nothing was found." });
    }
    let with_host = args.host.is_some() || machine::are_several_known(&client);
    for (ask, key) in list.asks.iter().zip(short_keys(&list.asks)) {
        show(ask, key, with_host)?;
    }
    tell_damaged(list.damaged);
    if list.next.is_some() {
        eprintln!("There are more: use --limit, or narrow the search.");
    }
    Ok(Exit::Success)
}

fn tell_damaged(count: usize) {
    if count > 0 {
        let what = counted(count, "question could not be read any more", "questions could not be read any more");
        eprintln!("{what}. Run: answerback doctor");
    }
}

/// The host and the directory that the search is limited to. A directory that is named without a host is one of this machine.
fn place(client: &Client, args: &Args) -> anyhow::Result<(Option<String>, Option<String>)> {
    let named = args.project.as_deref().and_then(Path::to_str).and_then(machine::split);
    let named = named.filter(|_| args.project.as_deref().is_some_and(|dir| !dir.exists()));
    let (host, elsewhere) = match (args.host.as_deref(), named) {
        (Some(host), Some((other, _))) if host != other => {
            let hint = "Leave --host out, or name the directory without its host.";
            return Err(hinted(format!("--project is of the host `{}`", one_line(other)), hint));
        }
        (given, Some((host, dir))) => (Some(given.unwrap_or(host)), Some(dir.to_owned())),
        (given, None) => (given, None),
    };
    if host.is_none() && args.project.is_none() {
        return Ok((None, None));
    }
    let known = client.projects()?;
    if let Some(host) = host {
        machine::must_be_known(&known, host)?;
    }
    let here = || Some(known.here.clone()).filter(|_| known.hosts.len() > 1);
    let project = match (elsewhere, args.project.as_deref()) {
        (Some(dir), _) => Some(dir),
        // Only that machine knows what this is another name for.
        (None, Some(dir)) if host.is_some_and(|host| host != known.here) => Some(dir.to_string_lossy().into_owned()),
        // A directory that is gone has no other name any more.
        (None, Some(dir)) if !dir.exists() && is_known(&known, dir) => Some(dir.to_string_lossy().into_owned()),
        (None, Some(dir)) => Some(real_name(dir, "or search by text")?),
        (None, None) => None,
    };
    Ok((host.map(ToOwned::to_owned).or_else(here), project))
}

/// Whether something was asked in a directory, under exactly this name.
fn is_known(known: &ProjectList, dir: &Path) -> bool {
    known
        .hosts
        .iter()
        .filter(|each| each.host == known.here)
        .flat_map(|each| &each.projects)
        .any(|project| Path::new(project) == dir)
}

/// A directory as askers name theirs. `otherwise` ends the hint for a directory that is not there.
pub(super) fn real_name(dir: &Path, otherwise: &str) -> anyhow::Result<String> {
    match dir.canonicalize() {
        Ok(dir) => Ok(dir.to_string_lossy().into_owned()),
        Err(error) => {
            Err(hinted(format!("{}: {error}", dir.display()), format!("Name a directory that exists, {otherwise}.")))
        }
    }
}

fn show(ask: &AskView, key: &str, with_host: bool) -> anyhow::Result<()> {
    let (faint, strong, good, warning) = (style::FAINT, style::STRONG, style::GOOD, style::WARNING);
    let Some(outcome) = &ask.outcome else { return Ok(()) };
    let project = machine::full_name(ask, with_host);
    let before = |text: &str, space: &str| if text.is_empty() { String::new() } else { format!("{space}{text}") };
    let asker = ask.asked_by.as_deref().map_or_else(String::new, |name| format!("asked by {}", one_line(name)));
    let place = format!("{project}{}", before(&asker, if project.is_empty() { "" } else { "  " }));
    let (time, what) = (time::local(ask.opened_at), settled(outcome));
    let head = format!("{time}  {key}{}  {what}", before(&place, "  "));
    let room = text::width().saturating_sub(2);
    // A place that does not fit into the line is easier to read on its own.
    if head.width() > text::width() && !place.is_empty() {
        outln!("{faint}{time}  {key}  {what}{faint:#}");
        for line in wrap(&place, room) {
            outln!("  {faint}{line}{faint:#}");
        }
    } else {
        outln!("{faint}{head}{faint:#}");
    }
    for (question, line) in ask.questions.iter().zip(ask.lines()) {
        for line in wrap(&line, room) {
            outln!("  {strong}{line}{strong:#}");
        }
        let answer = outcome.answers.as_ref().and_then(|answers| answers.get(&question.question));
        for line in answer.map(|answer| wrap(answer, room)).into_iter().flatten() {
            outln!("  {good}{line}{good:#}");
        }
        if answer.is_none() && outcome.kind == OutcomeKind::Answered && ask.kind == Kind::Question {
            outln!("  {faint}(not answered){faint:#}");
        }
        let note = outcome.notes.as_ref().and_then(|notes| notes.get(&question.question));
        for line in note.map(|note| wrap(note, room)).into_iter().flatten() {
            outln!("  {faint}{line}{faint:#}");
        }
    }
    for line in Granted::of(ask).map(|granted| wrap(&granted.sentence(), room)).into_iter().flatten() {
        outln!("  {faint}{line}{faint:#}");
    }
    if let Some(edited) = &outcome.edited {
        let fields: Vec<_> = edited.keys().map(|name| one_line(name)).collect();
        outln!("  {warning}edited before it was approved: {}{warning:#}", fields.join(", "));
    }
    for line in outcome.reason.as_deref().map(|reason| wrap(reason, room)).into_iter().flatten() {
        outln!("  {warning}{line}{warning:#}");
    }
    outln!("");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_are_those_of_the_api() {
        for kind in Kind::ALL {
            assert!(KINDS.iter().any(|word| json!(kind) == json!(word)), "{kind:?}");
        }
        for word in OUTCOMES {
            assert!(serde_json::from_value::<OutcomeKind>(json!(word)).is_ok(), "{word}");
        }
    }
}
