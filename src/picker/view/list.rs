//! A list to move in: the rows of a question, or of the review.

use std::ops::Range;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::line::{Excerpt, Line, beginning};
use crate::picker::editor::Editor;
use crate::text::{one_line, style};

const POINTER: &str = "❯ ";

/// One row before it is drawn.
#[derive(Debug, Default)]
pub(super) struct Item<'a> {
    /// Rows without a number stand apart.
    pub(super) number: Option<usize>,
    /// A box, and whether it is ticked.
    pub(super) tick: Option<bool>,
    pub(super) label: String,
    /// Whether the label is followed by a sign that this is the answer.
    pub(super) is_chosen: bool,
    pub(super) details: Vec<(String, Style)>,
    /// In place of the details.
    pub(super) field: Option<&'a Editor>,
}

/// The room for a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) margin: usize,
    pub(super) width: usize,
    /// Lines for each label and each detail.
    pub(super) most: usize,
    /// Lines for a text field.
    pub(super) field: usize,
    /// Whether what stands apart does so with a line between.
    pub(super) is_airy: bool,
}

/// A list as lines, more of them than there may be room for.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) lines: Vec<Line>,
    margin: usize,
    /// What must be seen.
    focus: Range<usize>,
    /// Line and column of the text cursor.
    cursor: Option<(usize, usize)>,
    /// Whether some text is not all there.
    pub(super) is_cut: bool,
    /// The columns of the text field.
    pub(super) field: usize,
}

impl Listing {
    pub(super) fn new(items: &[Item<'_>], focus: usize, room: Room) -> Self {
        let mut listing = Self { margin: room.margin, ..Self::default() };
        for (index, item) in items.iter().enumerate() {
            if item.number.is_none() && room.is_airy && index > 0 {
                listing.lines.push(Line::blank());
            }
            let start = listing.lines.len();
            listing.draw(item, index == focus, items.len(), room);
            if index == focus {
                // While typing, the line with the cursor; a long text may not fit as a whole.
                listing.focus = listing.cursor.map_or(start..listing.lines.len(), |(line, _)| line..line + 1);
            }
        }
        listing
    }

    fn draw(&mut self, item: &Item<'_>, is_focus: bool, count: usize, room: Room) {
        let [number_style, label_style] = if is_focus {
            [style::CHOICE, style::CHOICE.bold()]
        } else if item.number.is_none() {
            [style::FAINT, style::STRONG]
        } else {
            [style::FAINT, Style::new()]
        };
        let mut first = Line::at(room.margin, if is_focus { POINTER } else { "  " }, style::CHOICE);
        if let Some(number) = item.number {
            // Numbers that no key picks keep the column, and the rest aligned.
            let digits = count.to_string().len();
            first = first.then(format!("{number:>digits$}. "), number_style);
        }
        if let Some(is_ticked) = item.tick {
            let (sign, style) = if is_ticked { ("[✓] ", style::GOOD) } else { ("[ ] ", number_style) };
            first = first.then(sign, style);
        }
        let indent = first.end();
        let columns = (room.margin + room.width).saturating_sub(indent).max(1);
        let sign = if item.is_chosen { " ✓" } else { "" };
        let start = beginning(&item.label, columns, room.most);
        let label = Excerpt::of(&one_line(start), columns.saturating_sub(sign.width()).max(1), room.most);
        self.is_cut |= label.is_cut || start.len() < item.label.len();
        // There is a row even if nothing of its label can be seen.
        let last = label.lines.len().max(1) - 1;
        let mut texts = label.lines.into_iter();
        for index in 0..=last {
            let text = texts.next().unwrap_or_default();
            let line = if index == 0 { first.clone() } else { Line::blank() };
            let line = line.then_at(indent, text, label_style);
            self.lines.push(if index == last { line.then(sign, style::GOOD) } else { line });
        }
        match item.field {
            Some(editor) => self.draw_field(editor, indent, columns, room.field),
            None => {
                for (text, style) in &item.details {
                    let detail = Excerpt::of(text, columns, room.most);
                    self.is_cut |= detail.is_cut;
                    self.lines.extend(detail.lines.into_iter().map(|line| Line::at(indent, line, *style)));
                }
            }
        }
    }

    fn draw_field(&mut self, editor: &Editor, indent: usize, columns: usize, most: usize) {
        let (lines, cursor) = field(editor, indent, columns, most);
        self.cursor = Some((self.lines.len() + cursor.0, cursor.1));
        self.field = columns;
        self.lines.extend(lines);
    }

    /// So many lines with the focus among them, and the text cursor in them.
    pub(super) fn window(&self, height: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        let total = self.lines.len();
        if height == 0 {
            return (Vec::new(), None);
        }
        if total <= height {
            return (self.lines.clone(), self.cursor);
        }
        // What is longer than the window is shown from its beginning.
        let length = self.focus.len().min(height);
        let start = (self.focus.start + length / 2).saturating_sub(height / 2).min(self.focus.start);
        let start = start.max((self.focus.start + length).saturating_sub(height)).min(total - height);
        let end = start + height;
        let mut lines = self.lines[start..end].to_vec();
        let is_free = |line: usize| !(self.focus.start..self.focus.start + length).contains(&line);
        let more = |sign: &str| Line::at(self.margin, sign, style::FAINT);
        if start > 0 && is_free(start) {
            lines[0] = more("↑");
        }
        if end < total && is_free(end - 1) {
            lines[height - 1] = more("↓");
        }
        (lines, self.cursor.map(|(line, column)| (line.saturating_sub(start), column)))
    }
}

/// A text field of at most so many lines, and its cursor.
pub(super) fn field(editor: &Editor, indent: usize, columns: usize, most: usize) -> (Vec<Line>, (usize, usize)) {
    let layout = editor.layout(columns);
    let (line, column) = layout.cursor;
    let start = (line + 1).saturating_sub(most.max(1));
    let shown = layout.lines.into_iter().skip(start).take(most.max(1));
    (shown.map(|text| Line::at(indent, text, Style::new())).collect(), (line - start, indent + column))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { margin: 1, width: 20, most: 2, field: 2, is_airy: true };

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn rows_are_aligned() {
        let mut items: Vec<_> = (1..=10)
            .map(|number| Item { number: Some(number), label: "x".repeat(number * 3), ..Item::default() })
            .collect();
        items[0].details = vec![("what it\nmeans".into(), style::FAINT)];
        items[1].is_chosen = true;
        items.push(Item { label: "Submit".into(), ..Item::default() });
        let listing = Listing::new(&items, 1, ROOM);
        assert_eq!(
            texts(&listing.lines[..6]),
            [
                "    1. xxx",
                "       what it",
                "       means",
                " ❯  2. xxxxxx ✓",
                "    3. xxxxxxxxx",
                "    4. xxxxxxxxxxxx"
            ]
        );
        assert!(listing.is_cut);
        assert_eq!(listing.lines[6..].last().map(Line::text).as_deref(), Some("   Submit"));
    }

    #[test]
    fn the_window_follows_the_focus() {
        let items: Vec<_> =
            (1..=9).map(|number| Item { number: Some(number), label: "x".into(), ..Item::default() }).collect();
        for (focus, expected) in [
            (0, [" ❯ 1. x", "   2. x", " ↓"]),
            (1, ["   1. x", " ❯ 2. x", " ↓"]),
            (4, [" ↑", " ❯ 5. x", " ↓"]),
            (8, [" ↑", "   8. x", " ❯ 9. x"]),
        ] {
            assert_eq!(texts(&Listing::new(&items, focus, ROOM).window(3).0), expected);
        }
        assert_eq!(texts(&Listing::new(&items, 4, ROOM).window(1).0), [" ❯ 5. x"]);
    }

    #[test]
    fn a_text_field_shows_its_cursor() {
        let editor = Editor::new("one\ntwo\nthree");
        let items = [
            Item { number: Some(1), label: "Other".into(), field: Some(&editor), ..Item::default() },
            Item { label: "Submit".into(), ..Item::default() },
        ];
        let listing = Listing::new(&items, 0, ROOM);
        assert_eq!(texts(&listing.lines), [" ❯ 1. Other", "      two", "      three", "", "   Submit"]);
        assert_eq!(listing.window(9).1, Some((2, 11)));
        let (lines, cursor) = listing.window(1);
        assert_eq!((texts(&lines), cursor), (vec!["      three".to_owned()], Some((0, 11))));
    }
}
