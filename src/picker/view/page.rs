//! Pages to read: the keys, and all of a question.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::foot::hints;
use super::line::{Line, pad};
use super::{Area, Frame, Size};
use crate::picker::state::{Extent, Page, Row, Seen, State};
use crate::text::{fit, style, wrap};

const KEYS: &[(&str, &str)] = &[
    ("↑ ↓, j k", "move"),
    ("1 to 9", "pick directly"),
    ("Enter", "pick, continue, submit"),
    ("Space", "tick, or pick without going on"),
    ("Tab, →", "next question, then the review"),
    ("Shift-Tab, ←", "previous question"),
    ("n", "note, sent with the answer"),
    ("v", "read the question and the option in full"),
    ("PgUp PgDn", "scroll a preview"),
    ("d", "dismiss: no answer, with a reason if you like"),
    ("r", "release: answer in the terminal dialog"),
    ("Esc, q", "leave; the question stays open"),
    ("Ctrl-C", "leave at once, also while typing"),
    ("", ""),
    ("Typing", "every letter is text"),
    ("Enter", "done"),
    ("Alt-Enter", "new line"),
    ("Ctrl-W", "delete a word"),
    ("Ctrl-U, Ctrl-K", "delete to the start, to the end"),
    ("Esc", "stop typing; the text stays"),
];
const KEY_COLUMNS: usize = 16;

/// A page from a line on, or from as far down as there is something to show.
pub(super) fn render(state: &State<'_>, page: Page, top: usize, area: Area, size: Size) -> Frame {
    let lines = match page {
        Page::Keys => keys(area),
        Page::Question => question(state, area),
    };
    let height = size.rows.saturating_sub(if size.rows > 6 { 2 } else { 1 }).max(1);
    let top = top.min(lines.len().saturating_sub(height));
    let is_long = lines.len() > height;
    let (from, to, total) = (top + 1, (top + height).min(lines.len()), lines.len());
    let mut shown: Vec<Line> = lines.into_iter().skip(top).take(height).collect();
    if size.rows > 1 {
        shown.resize(size.rows - 1, Line::blank());
        let mut foot = hints(if is_long { &[("Esc", "back"), ("↑↓", "scroll")] } else { &[("Esc", "back")] }, area);
        let place = format!("{from}–{to} of {total}");
        if is_long && foot.end() + place.width() + 2 <= area.margin + area.width {
            foot = foot.then_at(area.margin + area.width - place.width(), place, style::FAINT);
        }
        shown.push(foot);
    }
    let seen = (page == Page::Question).then_some(Seen { from: top, to, total });
    Frame { lines: shown, cursor: None, extent: Extent { top, page: height, field: 0 }, seen }
}

fn keys(area: Area) -> Vec<Line> {
    let mut lines = vec![Line::at(area.margin, "Keys", style::STRONG), Line::blank()];
    for (key, what) in KEYS {
        if area.width < 2 * KEY_COLUMNS {
            lines.push(Line::at(area.margin, fit(key, area.width), style::CHOICE));
            lines.extend(
                wrap(what, area.width.saturating_sub(2))
                    .into_iter()
                    .map(|line| Line::at(area.margin + 2, line, style::FAINT)),
            );
            continue;
        }
        let mut first = Line::at(area.margin, pad(key, KEY_COLUMNS), style::CHOICE);
        for line in wrap(what, area.width - KEY_COLUMNS) {
            lines.push(first.then_at(area.margin + KEY_COLUMNS, line, style::FAINT));
            first = Line::blank();
        }
        if what.is_empty() {
            lines.push(Line::blank());
        }
    }
    lines
}

fn question(state: &State<'_>, area: Area) -> Vec<Line> {
    let Some(question) = state.question() else { return Vec::new() };
    let paragraph = |text: &str, style| -> Vec<_> {
        wrap(text.trim_end(), area.width).into_iter().map(|line| Line::at(area.margin, line, style)).collect()
    };
    let mut lines = paragraph(state.heading(), style::STRONG);
    if let Some(Row::Option(option)) = state.rows().get(state.row())
        && let Some(option) = question.options.get(*option)
    {
        lines.push(Line::blank());
        lines.extend(paragraph(&option.label, style::CHOICE));
        lines.extend(paragraph(&option.description, style::FAINT));
        if let Some(preview) = &option.preview {
            lines.push(Line::blank());
            lines.extend(paragraph(preview, Style::new()));
        }
    }
    lines
}
