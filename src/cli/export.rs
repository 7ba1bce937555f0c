//! History for other programs: lines of JSON, or a table.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use crate::api::AskView;
use crate::client::{Client, Search};
use crate::text::{harmless_json, sanitise};

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// JSON lines: each question on a line of its own, as `GET /v1/asks` gives it
    Jsonl,
    /// A table for spreadsheets, with a row for each question
    Csv,
}

/// The most questions in one reply of the daemon. If they are so large that the reply is too long, there are fewer.
const PAGE: u16 = 25;

const COLUMNS: [&str; 16] = [
    "opened_at",
    "settled_at",
    "project",
    "session",
    "key",
    "kind",
    "question",
    "outcome",
    "answer",
    "note",
    "reason",
    "channel",
    "by",
    "host",
    "person",
    "hub",
];

/// What was exported.
#[derive(Debug, Default)]
pub(super) struct Exported {
    /// How many were written.
    pub(super) count: usize,
    /// How many could not be read any more.
    pub(super) damaged: usize,
}

/// Writes everything that the search finds, newest first. `most`: at most so many.
pub(super) fn write(
    client: &Client,
    mut search: Search,
    most: Option<u16>,
    format: Format,
    output: &mut impl Write,
) -> anyhow::Result<Exported> {
    if format == Format::Csv {
        output.write_all(csv_row(COLUMNS.map(Cow::Borrowed)).as_bytes())?;
    }
    let mut exported = Exported::default();
    let mut left = most.map_or(usize::MAX, usize::from);
    while left > 0 {
        search.limit = PAGE.min(u16::try_from(left).unwrap_or(u16::MAX));
        let list = client.exported_asks(&search)?;
        for ask in &list.asks {
            write_ask(ask, format, output)?;
        }
        left -= list.asks.len();
        exported.count += list.asks.len();
        exported.damaged += list.damaged;
        match list.next {
            Some(next) => search.before = Some(next),
            None => break,
        }
    }
    output.flush()?;
    Ok(exported)
}

fn write_ask(ask: &AskView, format: Format, output: &mut impl Write) -> anyhow::Result<()> {
    match format {
        Format::Jsonl => writeln!(output, "{}", harmless_json(&serde_json::to_string(ask)?))?,
        Format::Csv => write_rows(ask, output)?,
    }
    Ok(())
}

fn write_rows(ask: &AskView, output: &mut impl Write) -> io::Result<()> {
    let outcome = ask.outcome.as_ref();
    let by = outcome.and_then(|outcome| outcome.by.as_ref());
    for question in &ask.questions {
        let text = &question.question;
        let of = |texts: Option<&indexmap::IndexMap<String, String>>| {
            texts.and_then(|texts| texts.get(text)).map_or(Cow::Borrowed(""), |text| Cow::Owned(text.clone()))
        };
        let row = csv_row([
            format!("{:.3}", ask.opened_at).into(),
            ask.settled_at.map_or(Cow::Borrowed(""), |time| format!("{time:.3}").into()),
            ask.project.as_deref().unwrap_or_default().into(),
            ask.session.as_str().into(),
            ask.key.as_str().into(),
            word(&ask.kind),
            text.into(),
            outcome.map_or(Cow::Borrowed(""), |outcome| word(&outcome.kind)),
            of(outcome.and_then(|outcome| outcome.answers.as_ref())),
            of(outcome.and_then(|outcome| outcome.notes.as_ref())),
            outcome.and_then(|outcome| outcome.reason.as_deref()).unwrap_or_default().into(),
            by.map_or(Cow::Borrowed(""), |by| word(&by.channel)),
            by.and_then(|by| by.device.as_deref().or(by.agent.as_deref())).unwrap_or_default().into(),
            ask.host.as_str().into(),
            by.and_then(|by| by.person.as_deref()).unwrap_or_default().into(),
            by.and_then(|by| by.hub.as_deref()).unwrap_or_default().into(),
        ]);
        output.write_all(row.as_bytes())?;
    }
    Ok(())
}

/// The word that the API uses.
fn word(value: &impl Serialize) -> Cow<'static, str> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word.into(),
        _ => "".into(),
    }
}

/// A row as RFC 4180 has it.
fn csv_row<const N: usize>(cells: [Cow<'_, str>; N]) -> String {
    let mut row = cells.map(|cell| csv_cell(&cell)).join(",");
    row.push_str("\r\n");
    row
}

/// A spreadsheet runs a cell that begins like a formula, also after white space and what cannot be seen, and with the wide signs of East
/// Asian scripts. An agent may have written it, so such a cell gets an apostrophe, which spreadsheets take for "this is text".
fn csv_cell(text: &str) -> String {
    let text = sanitise(text);
    let visible = text.trim_start_matches(|c: char| c.is_whitespace() || c == char::REPLACEMENT_CHARACTER);
    let is_formula = visible.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let text = if is_formula { format!("'{text}") } else { text };
    if text.contains([',', ';', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be_and_no_cell_is_a_formula() {
        for (text, cell) in [
            ("", ""),
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("-1", "'-1"),
            ("@x", "'@x"),
            ("a\u{1b}[31m", "a\u{fffd}[31m"),
            ("\n =1+1", "\"'\n =1+1\""),
            ("＝1", "'＝1"),
            ("日本", "日本"),
            // Where a comma belongs to a number, a semicolon divides the cells.
            ("a;=1+1", "\"a;=1+1\""),
            ("\u{200b}=1+1", "'\u{fffd}=1+1"),
            ("\u{2060} \u{ad}@x", "'\u{fffd} \u{fffd}@x"),
            ("\u{feff}\u{200d}-1", "'\u{fffd}\u{fffd}-1"),
        ] {
            assert_eq!(csv_cell(text), cell, "{text:?}");
        }
        assert_eq!(csv_row(["a".into(), "b c".into()]), "a,b c\r\n");
    }
}
