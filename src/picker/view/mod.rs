//! A state as lines for a screen of some size. Everything foreign goes through [`crate::text`] on its way.

mod body;
mod foot;
mod line;
mod list;
mod page;
mod preview;

use unicode_width::UnicodeWidthStr;

use super::state::{Extent, Mode, Seen, State};
use crate::text::{fit, one_line, style};
use foot::Foot;
pub(super) use line::Line;

/// The widest text that is pleasant to read.
const COMFORTABLE: usize = 100;
/// The most that is used of a wide screen: options and a preview side by side.
const WIDEST: usize = 150;
/// The longest name of a question among others.
const CHIP: usize = 16;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// What a screen shows.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) lines: Vec<Line>,
    /// Row and column of the text cursor, where there is one.
    pub(super) cursor: Option<(usize, usize)>,
    /// For the state: what there was room for.
    pub(super) extent: Extent,
    /// For the state: what of the matter was on the screen. `None` if that was only a part of it, beside the list.
    pub(super) seen: Option<Seen>,
}

/// The part of the screen that is written on.
#[derive(Debug, Clone, Copy)]
struct Area {
    margin: usize,
    width: usize,
}

/// What there was no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nothing,
    Text,
    Preview,
}

impl Area {
    fn of(columns: usize) -> Self {
        let margin = match columns {
            0..40 => 0,
            40..60 => 1,
            _ => 2,
        };
        Self { margin, width: (columns - 2 * margin).min(WIDEST) }
    }

    fn comfortable(self) -> Self {
        Self { width: self.width.min(COMFORTABLE), ..self }
    }
}

/// Never wider or higher than the screen, whatever is asked.
pub(super) fn render(state: &State<'_>, size: Size) -> Frame {
    let area = Area::of(size.columns);
    let mut frame = match state.mode {
        Mode::Reading(page, top) => page::render(state, page, top, area.comfortable(), size),
        _ => ask(state, area, size.rows),
    };
    frame.lines.truncate(size.rows);
    for line in &mut frame.lines {
        line.clip(size.columns);
    }
    frame.cursor = frame
        .cursor
        .map(|(row, column)| (row.min(size.rows.saturating_sub(1)), column.min(size.columns.saturating_sub(1))));
    frame
}

/// Head, question, list, foot. A low screen loses blank lines first, then the head.
fn ask(state: &State<'_>, area: Area, rows: usize) -> Frame {
    let is_airy = rows >= 15;
    let comfortable = area.comfortable();
    let mut lines = Vec::new();
    if rows >= 9 {
        lines.push(title(state, comfortable));
    }
    if rows >= 6 && !state.is_only_question() {
        if is_airy {
            lines.push(Line::blank());
        }
        lines.push(chips(state, comfortable));
    }
    if rows >= 12 {
        lines.push(Line::blank());
    }
    let gap = usize::from(rows >= 12);
    // The foot takes what it needs up to a third; how much of the rest is cut decides about its last line.
    let most = (rows / 3).clamp(usize::from(rows > 2), 8);
    let room = Foot::new(state, comfortable, most, Cut::Nothing).lines.len() + gap;
    let (body, is_whole) = body::render(state, area, rows.saturating_sub(lines.len() + room), is_airy);
    let foot = Foot::new(state, comfortable, most, body.cut);
    let mut cursor = body.cursor.map(|(line, column)| (lines.len() + line, column));
    lines.extend(body.lines);
    lines.resize(rows.saturating_sub(foot.lines.len()).min(lines.len() + gap), Line::blank());
    cursor = foot.cursor.map(|(line, column)| (lines.len() + line, column)).or(cursor);
    lines.extend(foot.lines);
    let seen = is_whole.then_some(Seen { from: 0, to: 1, total: 1 });
    Frame { lines, cursor, extent: Extent { field: body.extent.field.max(foot.field), ..body.extent }, seen }
}

fn title(state: &State<'_>, area: Area) -> Line {
    let project = fit(&state.title.project, area.width);
    let others = [&state.title.session, &state.title.age].map(|text| one_line(text));
    let others: Vec<_> = others.iter().filter(|text| !text.is_empty()).map(String::as_str).collect();
    let mut line = Line::at(area.margin, project, style::STRONG);
    let separator = if line.end() > area.margin { "  " } else { "" };
    let left = (area.margin + area.width).saturating_sub(line.end().max(area.margin) + separator.len());
    let rest = fit(&others.join(" · "), left);
    if left > 1 && !rest.is_empty() {
        let column = line.end().max(area.margin) + separator.len();
        line = line.then_at(column, rest, style::FAINT);
    }
    line
}

/// Where one is among the questions, and which have an answer.
fn chips(state: &State<'_>, area: Area) -> Line {
    let count = state.questions.len();
    let names: Vec<_> = (0..count).map(|index| fit(&state.name(index), CHIP)).chain(["Review".to_owned()]).collect();
    let mark = |index: usize| if index < count && state.is_answered(index) { "✓" } else { "·" };
    let width: usize = names.iter().map(|name| name.width() + 5).sum();
    let mut line = Line::blank();
    if width <= area.width + 1 {
        let mut column = area.margin;
        for (index, name) in names.iter().enumerate() {
            let text = if index < count { format!(" {} {name} ", mark(index)) } else { format!(" {name} ") };
            let style = match index {
                index if index == state.place => style::CHOICE.invert(),
                index if index < count && state.is_answered(index) => style::GOOD,
                _ => style::FAINT,
            };
            line = line.then_at(column, text, style);
            column = line.end() + 1;
        }
        return line;
    }
    let name = fit(&names[state.place], area.width.saturating_sub(count + 8).max(1));
    line = line.then_at(area.margin, name, style::CHOICE);
    if state.place < count {
        line = line.then(format!(" {}/{count}", state.place + 1), style::FAINT);
    }
    line = line.then(" ", style::FAINT);
    for index in 0..count {
        let style = if state.is_answered(index) { style::GOOD } else { style::FAINT };
        line = line.then(mark(index), style);
    }
    line
}

#[cfg(test)]
mod tests;
