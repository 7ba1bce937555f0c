//! `answerback pending`: the open questions.

use std::io::{self, IsTerminal};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::api::AskView;
use crate::ask::Kind;
use crate::text::{self, fit, harmless_json, one_line, style};

use super::exit::Exit;
use super::which::short_keys;
use super::{client, machine, print_json, time};

/// List the open questions
///
/// The one that has waited longest comes first. The first column is enough of the key for the other commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback pending\n  \
    answerback pending --watch\n  \
    answerback pending --host build-7\n  \
    answerback pending --json | jq -r '.asks[].key'")]
pub(super) struct Args {
    /// Print JSON, as `GET /v1/asks` gives it; with --watch, one line for each change
    #[arg(long)]
    json: bool,
    /// Keep running, and show every change
    #[arg(long)]
    watch: bool,
    /// Only of this host, which is then shown
    #[arg(long)]
    host: Option<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let host = args.host.as_deref();
    let mut list = client.open_asks_of(host)?;
    if let Some(host) = host.filter(|_| list.asks.is_empty() && !args.watch) {
        machine::must_be_known(&client.projects()?, host)?;
    }
    loop {
        match (args.json, args.watch) {
            (true, true) => outln!("{}", harmless_json(&serde_json::to_string(&list)?)),
            (true, false) => print_json(&list)?,
            (false, _) => {
                if args.watch && io::stdout().is_terminal() {
                    // Move the cursor home and clear the screen.
                    io::Write::write_all(&mut anstream::stdout(), b"\x1b[H\x1b[2J")?;
                }
                match host.filter(|_| list.asks.is_empty()) {
                    Some(host) => outln!("No question of {} is open.", one_line(host)),
                    None if list.asks.is_empty() => outln!("No question is open."),
                    None => show(&list.asks, host.is_some() || machine::are_several(&list.asks))?,
                }
            }
        }
        if !args.watch {
            return Ok(Exit::Success);
        }
        // In a terminal, draw again after each round, because the ages have changed.
        let redraws = !args.json && io::stdout().is_terminal();
        list = if redraws { client.poll(&list.cursor, host)? } else { client.next_change(&list.cursor, host)? };
    }
}

/// A question needs so many columns to be understood. Other columns are left out before it gets fewer.
const READABLE: usize = 32;

/// The columns of a row before the question, in their order.
const KEY: usize = 0;
const AGE: usize = 1;
const PROJECT: usize = 2;
const KIND: usize = 3;
const HEADER: usize = 4;
const BEFORE: usize = 5;

/// These columns, and the question.
type Row = [String; BEFORE + 1];

/// Which columns are shown in so much room, and how much of it is left for the question.
fn columns(widths: [usize; BEFORE], room: usize) -> ([bool; BEFORE], usize) {
    let mut shown = widths.map(|width| width > 0);
    let left = |shown: &[bool; BEFORE]| {
        let taken: usize = widths.iter().zip(shown).map(|(width, shown)| if *shown { width + 2 } else { 0 }).sum();
        room.saturating_sub(taken)
    };
    // The header says least.
    for column in [HEADER, PROJECT, KIND] {
        if left(&shown) < READABLE {
            shown[column] = false;
        }
    }
    (shown, left(&shown))
}

/// A table of questions: as many columns as there is room for. `with_host`: their projects are named with their hosts.
pub(super) fn show(asks: &[AskView], with_host: bool) -> anyhow::Result<()> {
    let rows = asks.iter().zip(short_keys(asks)).map(|(ask, key)| row(ask, key, with_host));
    let mut rows: Vec<Row> = rows.collect();
    let mut widths = widths_of(asks, &rows);
    let (mut shown, mut room) = columns(widths, text::width());
    if with_host && !shown[PROJECT] {
        // There may be room for the host alone.
        for (row, ask) in rows.iter_mut().zip(asks) {
            row[PROJECT] = machine::short_host(ask);
        }
        widths = widths_of(asks, &rows);
        (shown, room) = columns(widths, text::width());
    }
    // The daemon lists the newest first.
    for row in rows.iter().rev() {
        let mut line = String::new();
        for column in (0..BEFORE).filter(|column| shown[*column]) {
            let (style, cell) = (style_of(column), &row[column]);
            let pad = " ".repeat(widths[column].saturating_sub(cell.width()));
            // Numbers stand at the right, text at the left.
            let (before, after) = if column == AGE { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line += &format!("{before}{style}{cell}{style:#}{after}  ");
        }
        outln!("{line}{}", fit(&row[BEFORE], room));
    }
    Ok(())
}

fn widths_of(asks: &[AskView], rows: &[Row]) -> [usize; BEFORE] {
    let mut widths = [0; BEFORE];
    for (column, width) in widths.iter_mut().enumerate() {
        *width = rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    }
    // Where there are only questions, nobody needs to be told.
    if asks.iter().all(|ask| ask.kind == Kind::Question) {
        widths[KIND] = 0;
    }
    widths
}

fn style_of(column: usize) -> Style {
    match column {
        KEY => style::CHOICE,
        AGE => style::FAINT,
        HEADER => style::STRONG,
        _ => Style::new(),
    }
}

fn row(ask: &AskView, key: &str, with_host: bool) -> Row {
    let more = match ask.questions.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    [
        key.to_owned(),
        time::age(ask.opened_at, time::now()),
        machine::short_name(ask, with_host),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_stays_readable_and_nothing_is_left_out_without_need() {
        let widths = [6, 6, 16, 10, 12];
        for (room, shown, left) in [
            (100, [true, true, true, true, true], 40),
            (80, [true, true, true, true, false], 34),
            (60, [true, true, false, true, false], 32),
            (50, [true, true, false, false, false], 34),
            (10, [true, true, false, false, false], 0),
        ] {
            assert_eq!(columns(widths, room), (shown, left), "{room}");
        }
        // What nobody has is not shown.
        assert_eq!(columns([6, 6, 0, 0, 8], 80), ([true, true, false, false, true], 54));
    }
}
