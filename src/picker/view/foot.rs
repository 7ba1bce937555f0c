//! The last lines: a note, a small text field, something to tell, and the keys that matter now.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::line::{Excerpt, Line};
use super::list;
use super::{Area, Cut};
use crate::picker::editor::Editor;
use crate::picker::state::{Confirm, Field, Mode, Row, State};
use crate::text::{fit, style};

/// A key and what it is for.
pub(super) type Hint = (&'static str, &'static str);

const SEPARATOR: &str = " · ";
/// Every other key is on that page.
const HELP: Hint = ("?", "keys");

/// The foot, drawn.
#[derive(Debug, Default)]
pub(super) struct Foot {
    pub(super) lines: Vec<Line>,
    /// Line and column of the text cursor.
    pub(super) cursor: Option<(usize, usize)>,
    /// The columns of the text field.
    pub(super) field: usize,
}

impl Foot {
    /// In at most so many lines.
    pub(super) fn new(state: &State<'_>, area: Area, most: usize, cut: Cut) -> Self {
        let mut foot = Self::default();
        match &state.mode {
            Mode::Typing(Field::Note, editor) => foot.ask("Note, sent with your answer", editor, area, most),
            Mode::Typing(Field::Reason, editor) => foot.ask("Dismiss. Why? (may stay empty)", editor, area, most),
            Mode::Confirming(Confirm::Release) => foot.tell("Release to the terminal dialog?", area, most),
            Mode::Confirming(Confirm::Leave) => {
                foot.tell("Leave? Nothing is sent, what you entered is kept.", area, most)
            }
            _ => {
                // On a screen of one or two lines, the row with the cursor is worth more than a message.
                if let Some(message) = state.message.as_ref().filter(|_| most > 0) {
                    foot.tell(message, area, most);
                }
                let note = state.entries.get(state.place).map_or("", |entry| &entry.note);
                if !note.is_empty() && most > foot.lines.len() + 1 {
                    let note = fit(&format!("Note: {note}"), area.width);
                    foot.lines.push(Line::at(area.margin, note, style::FAINT));
                }
            }
        }
        if foot.lines.len() < most {
            foot.lines.push(hints(&hints_for(state, cut), area));
        }
        foot
    }

    fn tell(&mut self, text: &str, area: Area, most: usize) {
        let lines = Excerpt::of(text, area.width, most.saturating_sub(1)).lines;
        self.lines.extend(lines.into_iter().map(|line| Line::at(area.margin, line, style::WARNING)));
    }

    fn ask(&mut self, label: &str, editor: &Editor, area: Area, most: usize) {
        self.field = area.width;
        let (lines, (line, column)) = list::field(editor, area.margin, area.width, most.saturating_sub(2));
        if most > lines.len() {
            self.lines.push(Line::at(area.margin, fit(label, area.width), style::STRONG));
        }
        self.cursor = Some((self.lines.len() + line, column));
        self.lines.extend(lines);
    }
}

fn hints_for(state: &State<'_>, cut: Cut) -> Vec<Hint> {
    let is_multi = state.question().is_some_and(|question| question.multi_select);
    let next = match state.is_only_question() {
        false => Some(("Tab", "next")),
        true if is_multi => Some(("Tab", "to submit")),
        true => None,
    };
    let read = match cut {
        Cut::Preview => Some(("PgDn", "scroll")),
        Cut::Text => Some(("v", "read all")),
        Cut::Nothing => None,
    };
    let mut hints: Vec<Hint> = match (&state.mode, state.rows()[state.row()]) {
        (Mode::Typing(Field::Note, _), _) => return vec![("Enter", "keep"), ("Alt-Enter", "new line")],
        (Mode::Typing(Field::Reason, _), _) => return vec![("Enter", "dismiss"), ("Esc", "back")],
        (Mode::Typing(..), _) => {
            let enter = ("Enter", if is_multi { "continue" } else { "answer" });
            return [enter].into_iter().chain(next).chain([("Esc", "stop typing")]).collect();
        }
        (Mode::Confirming(Confirm::Release), _) => return vec![("Enter", "release"), ("Esc", "back")],
        (Mode::Confirming(Confirm::Leave), _) => return vec![("Esc", "leave"), ("Space", "stay")],
        (_, Row::Submit) => vec![("Enter", "submit")],
        (_, Row::Question(_)) => vec![("Enter", "change")],
        (_, Row::Continue) if state.is_only_question() => vec![("Enter", "submit")],
        (_, Row::Continue) => vec![("Enter", "continue")],
        (_, Row::Other) => vec![("Enter", "type")],
        (_, Row::Option(_)) if is_multi => vec![("Space", "tick")],
        (_, Row::Option(_)) => vec![("Enter", "pick")],
    };
    hints.extend(read);
    hints.extend(next.filter(|_| matches!(state.rows()[state.row()], Row::Option(_) | Row::Other)));
    hints.extend(state.question().map(|_| ("n", "note")));
    hints.extend([("d", "dismiss"), ("Esc", "leave"), ("r", "release"), HELP]);
    hints
}

/// As many as fit: the first in any case, the last if it can be, the others in their order.
pub(super) fn hints(hints: &[Hint], area: Area) -> Line {
    let width = |(key, what): &Hint| key.width() + 1 + what.width() + SEPARATOR.width();
    let [first, others @ .., last] = hints else {
        return hints.first().map_or_else(Line::blank, |only| hint(Line::blank(), area.margin, *only));
    };
    let mut room = (area.width + SEPARATOR.width()).saturating_sub(width(first));
    let mut fits = |hint: &&Hint| {
        let fits = width(hint) <= room;
        room = if fits { room - width(hint) } else { 0 };
        fits
    };
    let last = Some(last).filter(&mut fits);
    let mut line = hint(Line::blank(), area.margin, *first);
    for next in others.iter().take_while(fits).chain(last) {
        line = line.then(SEPARATOR, style::FAINT);
        let end = line.end();
        line = hint(line, end, *next);
    }
    line
}

fn hint(line: Line, column: usize, (key, what): Hint) -> Line {
    line.then_at(column, key, Style::new()).then(format!(" {what}"), style::FAINT)
}
