//! `answerback pending`: the open questions.

use std::io::{self, IsTerminal};
use std::path::Path;

use anstream::{print, println};
use jiff::Timestamp;

use crate::api::{AskList, AskView};
use crate::terminal::{self, fit, style};

use super::exit::Exit;
use super::which::short_keys;
use super::{client, print_json, time};

/// List the open questions
///
/// The first column is enough of the key for the other commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback pending\n  \
    answerback pending --watch\n  \
    answerback pending --json | jq -r '.asks[].key'")]
pub(super) struct Args {
    /// Print JSON, as `GET /v1/asks` gives it; with --watch, one line for each change
    #[arg(long)]
    json: bool,
    /// Go on, and show every change
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let mut list = client.open_asks()?;
    loop {
        match (args.json, args.watch) {
            (true, true) => println!("{}", serde_json::to_string(&list)?),
            (true, false) => print_json(&list)?,
            (false, _) => {
                if args.watch && io::stdout().is_terminal() {
                    // Home, and clear what was there.
                    print!("\u{1b}[H\u{1b}[2J");
                }
                show(&list);
            }
        }
        if !args.watch {
            return Ok(Exit::Success);
        }
        list = client.next_change(&list.cursor)?;
    }
}

fn show(list: &AskList) {
    let asks = &list.asks;
    if asks.is_empty() {
        println!("No question is open.");
        return;
    }
    let rows: Vec<[String; 5]> = asks.iter().zip(short_keys(asks)).map(|(ask, key)| row(ask, key)).collect();
    let column = |index: usize| rows.iter().map(|row| row[index].chars().count()).max().unwrap_or(0);
    let (keys, ages, projects, headers) = (column(0), column(1), column(2), column(3));
    let taken = keys + ages + projects + headers + 4 * 2;
    let room = terminal::width().saturating_sub(taken).max(20);
    let (faint, choice, strong) = (style::FAINT, style::CHOICE, style::STRONG);
    for [key, age, project, header, question] in &rows {
        println!(
            "{choice}{key:keys$}{choice:#}  {faint}{age:>ages$}{faint:#}  {project:projects$}  \
             {strong}{header:headers$}{strong:#}  {}",
            fit(question, room)
        );
    }
}

fn row(ask: &AskView, key: &str) -> [String; 5] {
    let project = ask.project.as_deref().map(Path::new).and_then(Path::file_name);
    let more = match ask.questions.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let first = ask.questions.first();
    [
        key.to_owned(),
        time::age(ask.opened_at, Timestamp::now()),
        fit(&project.map_or_else(String::new, |name| name.to_string_lossy().into_owned()), 16),
        fit(first.map_or("", |question| &question.header), 12),
        first.map_or_else(String::new, |question| format!("{}{more}", question.question)),
    ]
}
