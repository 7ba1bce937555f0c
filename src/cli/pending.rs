//! `answerback pending`: the open questions.

use std::io::{self, IsTerminal};
use std::path::Path;

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::api::{AskList, AskView};
use crate::ask::Kind;
use crate::text::{self, fit, harmless_json, style};

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
    /// Keep running, and show every change
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let mut list = client.open_asks()?;
    loop {
        match (args.json, args.watch) {
            (true, true) => outln!("{}", harmless_json(&serde_json::to_string(&list)?)),
            (true, false) => print_json(&list)?,
            (false, _) => {
                if args.watch && io::stdout().is_terminal() {
                    // Move the cursor home and clear the screen.
                    io::Write::write_all(&mut anstream::stdout(), b"\x1b[H\x1b[2J")?;
                }
                show(&list)?;
            }
        }
        if !args.watch {
            return Ok(Exit::Success);
        }
        // In a terminal, draw again after each round, because the ages have changed.
        let redraws = !args.json && io::stdout().is_terminal();
        list = if redraws { client.poll(&list.cursor)? } else { client.next_change(&list.cursor)? };
    }
}

/// With fewer columns than this, project and header are left out.
const NARROW: usize = 60;

fn show(list: &AskList) -> anyhow::Result<()> {
    let asks = &list.asks;
    if asks.is_empty() {
        outln!("No question is open.");
    }
    let rows: Vec<[String; 6]> = asks.iter().zip(short_keys(asks)).map(|(ask, key)| row(ask, key)).collect();
    let column = |index: usize| rows.iter().map(|row| row[index].width()).max().unwrap_or(0);
    let (keys, ages, projects, kinds, headers) = (column(0), column(1), column(2), column(3), column(4));
    // Where there are only questions, nobody needs to be told.
    let has_kinds = asks.iter().any(|ask| ask.kind != Kind::Question);
    let width = text::width();
    let is_narrow = width < NARROW;
    let kinds_taken = if has_kinds { kinds + 2 } else { 0 };
    let taken = if is_narrow { keys + ages + 2 * 2 } else { keys + ages + projects + kinds_taken + headers + 4 * 2 };
    let room = width.saturating_sub(taken);
    let pad = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(text.width()));
    let (faint, choice, strong) = (style::FAINT, style::CHOICE, style::STRONG);
    for [key, age, project, kind, header, question] in &rows {
        let mut line = format!("{choice}{key}{choice:#}{}  {}{faint}{age}{faint:#}  ", pad(key, keys), pad(age, ages));
        if !is_narrow {
            line += &format!("{project}{}  ", pad(project, projects));
            if has_kinds {
                line += &format!("{kind}{}  ", pad(kind, kinds));
            }
            line += &format!("{strong}{header}{strong:#}{}  ", pad(header, headers));
        }
        outln!("{line}{}", fit(question, room));
    }
    Ok(())
}

fn row(ask: &AskView, key: &str) -> [String; 6] {
    let project = ask.project.as_deref().map(Path::new).and_then(Path::file_name);
    let more = match ask.questions.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    [
        key.to_owned(),
        time::age(ask.opened_at, Timestamp::now()),
        fit(&project.map_or_else(String::new, |name| name.to_string_lossy().into_owned()), 16),
        kind(ask.kind).to_owned(),
        fit(&ask.title(), 12),
        format!("{}{more}", ask.summary()),
    ]
}

/// In one word.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Question | Kind::Plan | Kind::Form => kind.noun(),
        Kind::Permission => "permission",
    }
}
