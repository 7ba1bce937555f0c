//! The preview of the option under the cursor: beside the list, or below where the screen is narrow.

use anstyle::Style;

use super::body::Body;
use super::line::{Excerpt, Line};
use super::list::Listing;
use super::{Area, Cut};
use crate::picker::state::{Extent, Row, State};
use crate::text::{fit, style, wrap};

/// From so many columns on it is beside.
const SIDE_BY_SIDE: usize = 76;
const BAR: &str = "│ ";
/// The least that is worth having below: a blank line, a rule, three lines.
const LEAST: usize = 5;

/// Where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// None of the options has one.
    Nowhere,
    /// With so many columns for the list.
    Beside(usize),
    Below,
}

/// A part of a preview.
#[derive(Debug)]
struct Pane {
    lines: Vec<(String, Style)>,
    extent: Extent,
    cut: Cut,
}

impl Placement {
    pub(super) fn of(state: &State<'_>, area: Area) -> Self {
        let has_any =
            state.question().is_some_and(|question| question.options.iter().any(|option| option.preview.is_some()));
        match has_any {
            false => Self::Nowhere,
            true if area.width < SIDE_BY_SIDE => Self::Below,
            true => Self::Beside((area.width * 2 / 5).clamp(30, 50)),
        }
    }

    pub(super) fn list_width(self, area: Area) -> usize {
        match self {
            Self::Beside(columns) => columns,
            _ => area.comfortable().width,
        }
    }

    /// The lines it needs besides those of the list.
    pub(super) fn lines(self) -> usize {
        if self == Self::Below { LEAST } else { 0 }
    }

    /// The list with it, in at most so many lines.
    pub(super) fn draw(self, state: &State<'_>, listing: &Listing, area: Area, height: usize) -> Body {
        let extent = Extent { field: listing.field, ..Extent::default() };
        let alone = || {
            let (lines, cursor) = listing.window(height);
            Body { lines, cursor, extent, cut: Cut::Nothing }
        };
        match self {
            Self::Nowhere => alone(),
            Self::Beside(columns) => {
                let column = area.margin + columns + 2;
                let width = (area.margin + area.width).saturating_sub(column + 2);
                let pane = Pane::of(state, width, height);
                let mut body = alone();
                body.lines.resize(body.lines.len().max(tallest(state, width, height)), Line::blank());
                let mut texts = pane.lines.into_iter();
                for line in &mut body.lines {
                    let (text, style) = texts.next().unwrap_or_default();
                    *line = std::mem::take(line).then_at(column, BAR, style::FAINT).then(text, style);
                }
                Body { extent: Extent { field: extent.field, ..pane.extent }, cut: pane.cut, ..body }
            }
            Self::Below => {
                let whole = listing.lines.len();
                let rows = if whole + LEAST <= height { whole } else { height / 2 };
                if height < rows + LEAST {
                    let has_one = preview(state).is_some();
                    return Body { cut: if has_one { Cut::Text } else { Cut::Nothing }, ..alone() };
                }
                let (mut lines, cursor) = listing.window(rows);
                let pane = Pane::of(state, area.width, height - rows - 2);
                lines.push(Line::blank());
                lines.push(Line::at(area.margin, "─".repeat(area.width), style::FAINT));
                let end = lines.len() + tallest(state, area.width, height - rows - 2);
                lines.extend(pane.lines.into_iter().map(|(text, style)| Line::at(area.margin, text, style)));
                lines.resize(end, Line::blank());
                Body { lines, cursor, extent: Extent { field: extent.field, ..pane.extent }, cut: pane.cut }
            }
        }
    }
}

/// That of the option under the cursor.
fn preview<'a>(state: &State<'a>) -> Option<&'a str> {
    let Row::Option(option) = state.rows()[state.row()] else { return None };
    state.question()?.options.get(option)?.preview.as_deref()
}

/// The room for any of the previews, so that nothing jumps from one to the next.
fn tallest(state: &State<'_>, width: usize, height: usize) -> usize {
    let options = state.question().map_or(&[][..], |question| &question.options);
    let previews = options.iter().filter_map(|option| option.preview.as_deref());
    previews.map(|text| Excerpt::of(text, width, height).lines.len()).max().unwrap_or(0).max(1)
}

impl Pane {
    fn of(state: &State<'_>, width: usize, height: usize) -> Self {
        let Some(text) = preview(state) else {
            let lines = vec![(fit("No preview", width), style::FAINT)];
            return Self { lines, extent: Extent::default(), cut: Cut::Nothing };
        };
        let lines = wrap(text.trim_end(), width);
        let total = lines.len();
        let is_long = total > height;
        // The last line tells where one is.
        let page = if is_long { height.saturating_sub(1).max(1) } else { height };
        let top = state.preview_top.min(total.saturating_sub(page));
        let mut lines: Vec<_> = lines.into_iter().skip(top).take(page).map(|line| (line, Style::new())).collect();
        if is_long && height > 1 {
            let place = format!("lines {}–{} of {total}", top + 1, top + page);
            lines.push((fit(&place, width), style::FAINT));
        }
        Self { lines, extent: Extent { top, page, field: 0 }, cut: if is_long { Cut::Preview } else { Cut::Nothing } }
    }
}
