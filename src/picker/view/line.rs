//! Lines of styled text, and text in lines.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::text::{fit, wrap};

/// Text in one style. It has been made harmless and has no line breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::picker) struct Span {
    /// Where it begins. Terminals disagree about the width of some characters; what begins at a column does so whatever
    /// is left of it.
    pub(in crate::picker) column: usize,
    pub(in crate::picker) text: String,
    pub(in crate::picker) style: Style,
}

impl Span {
    /// The first column behind it.
    pub(in crate::picker) fn end(&self) -> usize {
        self.column + self.text.width()
    }
}

/// One line of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::picker) struct Line {
    pub(in crate::picker) spans: Vec<Span>,
}

impl Line {
    pub(super) fn blank() -> Self {
        Self::default()
    }

    pub(super) fn at(column: usize, text: impl Into<String>, style: Style) -> Self {
        Self::blank().then_at(column, text, style)
    }

    /// Goes on where it ends.
    pub(super) fn then(self, text: impl Into<String>, style: Style) -> Self {
        let end = self.end();
        self.then_at(end, text, style)
    }

    pub(super) fn then_at(mut self, column: usize, text: impl Into<String>, style: Style) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.spans.push(Span { column, text, style });
        }
        self
    }

    pub(super) fn end(&self) -> usize {
        self.spans.last().map_or(0, Span::end)
    }

    /// Cuts what does not fit, whatever was meant to.
    pub(super) fn clip(&mut self, columns: usize) {
        for span in &mut self.spans {
            while span.end() > columns && span.text.pop().is_some() {}
        }
        self.spans.retain(|span| !span.text.is_empty());
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for span in &self.spans {
            text.push_str(&" ".repeat(span.column.saturating_sub(text.width())));
            text.push_str(&span.text);
        }
        text
    }
}

/// Lines of a text, and whether they are all of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) lines: Vec<String>,
    pub(super) is_cut: bool,
}

impl Excerpt {
    /// The first lines of a text; an ellipsis tells that there is more.
    pub(super) fn of(text: &str, columns: usize, most: usize) -> Self {
        let most = most.max(1);
        let start = beginning(text, columns, most);
        let mut lines = wrap(start.trim(), columns);
        let is_cut = start.len() < text.len() || lines.len() > most;
        lines.truncate(most);
        if is_cut && let Some(last) = lines.last_mut() {
            *last = with_ellipsis(last, columns);
        }
        Self { lines, is_cut }
    }
}

/// What is more than enough for so many lines: the rest of a long text need not be looked at for every frame.
pub(super) fn beginning(text: &str, columns: usize, lines: usize) -> &str {
    let enough = columns.saturating_mul(lines.saturating_add(1));
    text.char_indices().nth(enough).map_or(text, |(at, _)| &text[..at])
}

fn with_ellipsis(line: &str, columns: usize) -> String {
    let longer = format!("{line}…");
    if longer.width() <= columns { longer } else { fit(&longer, columns) }
}

/// The text in so many columns, the rest blank.
pub(super) fn pad(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let rest = columns.saturating_sub(fitted.width());
    fitted + &" ".repeat(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_says_that_it_is_one() {
        let excerpt = Excerpt::of;
        let whole =
            |lines: &[&str]| Excerpt { lines: lines.iter().map(|line| (*line).into()).collect(), is_cut: false };
        let part = |lines: &[&str]| Excerpt { is_cut: true, ..whole(lines) };
        assert_eq!(excerpt("one two three\n", 8, 2), whole(&["one two", "three"]));
        assert_eq!(excerpt("one two three", 8, 1), part(&["one two…"]));
        assert_eq!(excerpt("one twos three", 8, 1), part(&["one two…"]));
        assert_eq!(excerpt(&"x".repeat(1000), 4, 2), part(&["xxxx", "xxx…"]));
        assert_eq!(excerpt("", 8, 2), whole(&[]));
    }

    #[test]
    fn what_does_not_fit_is_clipped() {
        let style = Style::new();
        let mut line = Line::at(1, "日本", style).then("abc", style).then_at(12, "gone", style);
        assert_eq!(line.text(), " 日本abc    gone");
        line.clip(6);
        assert_eq!(line.text(), " 日本a");
        line.clip(2);
        assert_eq!(line.text(), "");
    }
}
