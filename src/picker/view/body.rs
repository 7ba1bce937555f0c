//! The question and what can be chosen.

use anstyle::Style;

use super::line::{Excerpt, Line};
use super::list::{Item, Listing, Room};
use super::preview::Placement;
use super::{Area, Cut};
use crate::ask::Question;
use crate::picker::entry::Entry;
use crate::picker::state::{Extent, Field, Mode, Row, State};
use crate::text::style;

/// The middle of the screen, drawn.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) lines: Vec<Line>,
    /// Line and column of the text cursor.
    pub(super) cursor: Option<(usize, usize)>,
    pub(super) extent: Extent,
    pub(super) cut: Cut,
}

/// In at most so many lines. Also returns whether all of the text above the list is there.
pub(super) fn render(state: &State<'_>, area: Area, height: usize, is_airy: bool) -> (Body, bool) {
    let placement = Placement::of(state, area);
    let heading = |most: usize| Excerpt::of(state.heading(), area.comfortable().width, most);
    let gap = usize::from(height >= 8);
    let items = items(state);
    let list = |most: usize| {
        let room =
            Room { margin: area.margin, width: placement.list_width(area), most, field: (height / 3).max(1), is_airy };
        Listing::new(&items, state.row(), room)
    };
    let needed = heading(height).lines.len() + gap + placement.lines();
    // Long texts give way until the list fits; what is left out can be read on a page of its own.
    let mut listing = list(height);
    for most in [3, 2, 1] {
        if needed + listing.lines.len() > height {
            listing = list(most);
        }
    }
    let spare = height.saturating_sub(gap + placement.lines() + listing.lines.len());
    let heading = heading(spare.max(height / 3));
    let mut lines: Vec<_> = heading.lines.into_iter().map(|line| Line::at(area.margin, line, style::STRONG)).collect();
    let is_whole = !heading.is_cut && lines.len() < height;
    // The row of the cursor comes before the question, if it must be one of them.
    lines.truncate(height.saturating_sub(1));
    lines.resize((lines.len() + gap).min(height.saturating_sub(1)), Line::blank());
    let above = lines.len();
    let mut body = placement.draw(state, &listing, area, height - above);
    if body.cut == Cut::Nothing && (heading.is_cut || listing.is_cut) {
        body.cut = Cut::Text;
    }
    lines.append(&mut body.lines);
    (Body { lines, cursor: body.cursor.map(|(line, column)| (above + line, column)), ..body }, is_whole)
}

fn items<'a>(state: &'a State<'_>) -> Vec<Item<'a>> {
    let rows = state.rows();
    rows.into_iter()
        .enumerate()
        .map(|(index, row)| match (row, state.question(), state.entries.get(state.place)) {
            (Row::Option(option), Some(question), Some(entry)) => {
                Item { number: Some(index + 1), ..option_item(question, entry, option) }
            }
            (Row::Other, Some(question), Some(entry)) => {
                Item { number: (index > 0).then_some(index + 1), ..other_item(state, question, entry) }
            }
            (Row::Question(question), ..) => Item { number: Some(index + 1), ..review_item(state, question) },
            (Row::Continue, ..) if !state.is_only_question() => Item { label: "Continue".into(), ..Item::default() },
            _ => Item { label: "Submit".into(), ..Item::default() },
        })
        .collect()
}

fn option_item<'a>(question: &Question, entry: &Entry, option: usize) -> Item<'a> {
    let is_chosen = entry.has(option);
    let details = question.options[option].description.trim();
    Item {
        tick: question.multi_select.then_some(is_chosen),
        label: question.options[option].label.clone(),
        is_chosen: is_chosen && !question.multi_select,
        details: vec![(details.to_owned(), style::FAINT)],
        ..Item::default()
    }
}

fn other_item<'a>(state: &'a State<'_>, question: &Question, entry: &Entry) -> Item<'a> {
    let own_words = match entry.other() {
        "" => ("Your own words".to_owned(), style::FAINT),
        text => (text.to_owned(), Style::new()),
    };
    let field = match &state.mode {
        Mode::Typing(Field::Other, editor) => Some(editor),
        _ => None,
    };
    let has_other = field.map_or(entry.has_other(), |editor| !editor.text().trim().is_empty());
    Item {
        tick: question.multi_select.then_some(has_other),
        label: if question.options.is_empty() { "Your answer".into() } else { "Other".into() },
        is_chosen: entry.has_other() && !question.multi_select,
        details: vec![own_words],
        field,
        ..Item::default()
    }
}

fn review_item<'a>(state: &State<'_>, index: usize) -> Item<'a> {
    let (question, entry) = (&state.questions[index], &state.entries[index]);
    let mut details: Vec<_> = entry.texts(question).into_iter().map(|text| (text.to_owned(), style::GOOD)).collect();
    if details.is_empty() {
        details.push(("no answer yet".to_owned(), style::WARNING));
    }
    if !entry.note.is_empty() {
        details.push((format!("Note: {}", entry.note), style::FAINT));
    }
    Item { label: question.question.clone(), details, ..Item::default() }
}
