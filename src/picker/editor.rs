//! One text field. A text may have several lines; what a person sees as one character is one step of the cursor.

use unicode_width::UnicodeWidthStr;

use super::keys::Key;
use crate::ask::MAX_TEXT;
use crate::text::{boundaries, sanitise};

/// A text and a place in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Editor {
    text: String,
    /// In bytes.
    cursor: usize,
}

/// What a key did to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    /// The key changed the text or moved the cursor.
    Taken,
    /// The text has no room for all that was typed or pasted.
    Full,
    /// The key means nothing here, or there is no line above or below.
    Passed,
}

/// A text in lines of so many columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// What to show, harmless.
    pub(super) lines: Vec<String>,
    /// Line and column.
    pub(super) cursor: (usize, usize),
}

/// Where the cursor can stand.
#[derive(Debug, Clone, Copy)]
struct Stop {
    byte: usize,
    line: usize,
    column: usize,
}

impl Editor {
    /// A text with the cursor at its end.
    pub(super) fn new(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// `columns` are those the text is shown in: up and down go by what is seen.
    pub(super) fn handle(&mut self, key: &Key, columns: usize) -> Typed {
        match key {
            Key::Char(character) => return self.insert(character.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => return self.insert(text),
            Key::LineBreak => return self.insert("\n"),
            Key::Backspace => self.delete(self.before(), self.cursor),
            Key::Delete => self.delete(self.cursor, self.after()),
            Key::DeleteWord => self.delete(self.word_before(), self.cursor),
            Key::DeleteToStart => self.delete(self.line_start(), self.cursor),
            Key::DeleteToEnd => self.delete(self.cursor, self.line_end()),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::Up => return self.go_to_line(columns, |line| line.checked_sub(1)),
            Key::Down => return self.go_to_line(columns, |line| Some(line + 1)),
            _ => return Typed::Passed,
        }
        Typed::Taken
    }

    /// Inserts as much as there is room for, without control characters.
    fn insert(&mut self, text: &str) -> Typed {
        let room = MAX_TEXT - self.text.len();
        let clean = clean(text);
        let fitting = &clean[..clean.floor_char_boundary(room)];
        self.text.insert_str(self.cursor, fitting);
        self.cursor += fitting.len();
        if fitting.len() < clean.len() { Typed::Full } else { Typed::Taken }
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        boundaries(&self.text).take_while(|boundary| *boundary < self.cursor).last().unwrap_or(0)
    }

    fn after(&self) -> usize {
        boundaries(&self.text).find(|boundary| *boundary > self.cursor).unwrap_or(self.text.len())
    }

    fn word_before(&self) -> usize {
        let words = self.text[..self.cursor].trim_end();
        words
            .char_indices()
            .rfind(|(_, character)| character.is_whitespace())
            .map_or(0, |(at, space)| at + space.len_utf8())
    }

    fn word_after(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let word = rest.trim_start();
        let skipped = rest.len() - word.len();
        self.cursor + skipped + word.find(char::is_whitespace).unwrap_or(word.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn go_to_line(&mut self, columns: usize, target: impl Fn(usize) -> Option<usize>) -> Typed {
        let (_, stops) = self.in_lines(columns);
        let here = self.stop(&stops);
        let Some(line) = target(here.line) else { return Typed::Passed };
        // The first stop of a line is at column 0, so there is one if there is the line.
        match stops.iter().rfind(|stop| stop.line == line && stop.column <= here.column) {
            Some(stop) => {
                self.cursor = stop.byte;
                Typed::Taken
            }
            None => Typed::Passed,
        }
    }

    /// The text as it is to be shown.
    pub(super) fn layout(&self, columns: usize) -> Layout {
        let (lines, stops) = self.in_lines(columns);
        let here = self.stop(&stops);
        Layout { lines, cursor: (here.line, here.column) }
    }

    /// The last stop that is not behind the cursor: a text inserted before an accent may have joined it.
    fn stop(&self, stops: &[Stop]) -> Stop {
        let not_behind = stops.iter().rfind(|stop| stop.byte <= self.cursor);
        not_behind.copied().unwrap_or(Stop { byte: 0, line: 0, column: 0 })
    }

    /// Lines break where they are full, not between words, so that a person can foresee where the next letter appears.
    fn in_lines(&self, columns: usize) -> (Vec<String>, Vec<Stop>) {
        let (mut lines, mut stops) = (vec![String::new()], Vec::new());
        let (mut column, mut start) = (0, 0);
        for end in boundaries(&self.text).skip(1) {
            let cluster = &self.text[start..end];
            let mut shown = sanitise(cluster);
            if shown.width() > columns {
                shown = char::REPLACEMENT_CHARACTER.to_string();
            }
            let width = shown.width();
            let is_break = cluster == "\n";
            // A line break and the cursor behind the last letter need a column as well.
            if column + width.max(1) > columns && column > 0 {
                lines.push(String::new());
                column = 0;
            }
            stops.push(Stop { byte: start, line: lines.len() - 1, column });
            if is_break {
                lines.push(String::new());
                column = 0;
            } else if let Some(line) = lines.last_mut() {
                line.push_str(&shown);
                column += width;
            }
            start = end;
        }
        if column >= columns && column > 0 {
            lines.push(String::new());
            column = 0;
        }
        stops.push(Stop { byte: start, line: lines.len() - 1, column });
        (lines, stops)
    }
}

/// Pasted text may have the line breaks of another system, and characters that a terminal would act on.
fn clean(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}'], "\n");
    lines.chars().filter(|character| matches!(character, '\n' | '\t') || !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn type_in(editor: &mut Editor, keys: &[Key]) {
        for key in keys {
            editor.handle(key, 20);
        }
    }

    #[test]
    fn a_step_is_what_a_person_sees_as_a_character() {
        let mut editor = Editor::new("ae\u{301}👩‍💻🇫🇷");
        type_in(&mut editor, &[Key::Backspace, Key::Backspace]);
        assert_eq!(editor.text(), "ae\u{301}");
        type_in(&mut editor, &[Key::Left, Key::Char('x'), Key::Delete]);
        assert_eq!(editor.text(), "ax");
    }

    #[test]
    fn pasted_text_keeps_its_lines_and_loses_what_acts() {
        let editor = Editor::new("a\r\nb\rc\u{2028}d\te\u{1b}[2J\u{9b}\u{7}f");
        assert_eq!(editor.text(), "a\nb\nc\nd\te[2Jf");
        assert_eq!(editor.layout(20).lines, ["a", "b", "c", "d    e[2Jf"]);
    }

    #[test]
    fn words_and_lines() {
        let mut editor = Editor::new("one  two\nthree four ");
        type_in(&mut editor, &[Key::DeleteWord]);
        assert_eq!(editor.text(), "one  two\nthree ");
        type_in(&mut editor, &[Key::Home, Key::Char('>'), Key::End, Key::Char('<')]);
        assert_eq!(editor.text(), "one  two\n>three <");
        type_in(&mut editor, &[Key::WordLeft, Key::WordLeft, Key::DeleteToEnd]);
        assert_eq!(editor.text(), "one  two\n");
        type_in(&mut editor, &[Key::Left, Key::DeleteToStart]);
        assert_eq!(editor.text(), "\n");
        let mut editor = Editor::new("one two");
        type_in(&mut editor, &[Key::Home, Key::WordRight, Key::WordRight, Key::WordRight, Key::Char('!')]);
        assert_eq!(editor.text(), "one two!");
    }

    #[test]
    fn a_text_is_broken_where_the_line_is_full() {
        let layout = Editor::new("abcdef\n日本語").layout(4);
        assert_eq!(layout.lines, ["abcd", "ef", "日本", "語"]);
        assert_eq!(layout.cursor, (3, 2));
        assert_eq!(Editor::new("abcd").layout(4), Layout { lines: vec!["abcd".into(), "".into()], cursor: (1, 0) });
        assert_eq!(Editor::default().layout(4), Layout { lines: vec!["".into()], cursor: (0, 0) });
    }

    #[test]
    fn up_and_down_go_by_what_is_seen() {
        let mut editor = Editor::new("abcdef\nx");
        assert_eq!(editor.handle(&Key::Up, 4), Typed::Taken);
        assert_eq!(editor.layout(4).cursor, (1, 1));
        assert_eq!(editor.handle(&Key::Up, 4), Typed::Taken);
        assert_eq!(editor.layout(4).cursor, (0, 1));
        assert_eq!(editor.handle(&Key::Up, 4), Typed::Passed);
        type_in(&mut editor, &[Key::Right, Key::Right]);
        for expected in [(1, 2), (2, 1)] {
            assert_eq!(editor.handle(&Key::Down, 4), Typed::Taken);
            assert_eq!(editor.layout(4).cursor, expected);
        }
        assert_eq!(editor.handle(&Key::Down, 4), Typed::Passed);
    }

    #[test]
    fn a_text_has_an_end() {
        let mut editor = Editor::new(&"x".repeat(MAX_TEXT - 2));
        assert_eq!(editor.handle(&Key::Paste("日本".into()), 80), Typed::Full);
        assert_eq!(editor.handle(&Key::Paste("abc".into()), 80), Typed::Full);
        assert_eq!(editor.text().len(), MAX_TEXT);
        assert_eq!(editor.handle(&Key::Char('x'), 80), Typed::Full);
        assert_eq!(editor.handle(&Key::Backspace, 80), Typed::Taken);
        assert_eq!(editor.handle(&Key::Char('x'), 80), Typed::Taken);
    }

    fn any_key() -> impl Strategy<Value = Key> {
        prop_oneof![
            4 => prop::sample::select(vec!['a', 'b', ' ', '語', 'é']).prop_map(Key::Char),
            1 => "[ab \n]{0,6}".prop_map(Key::Paste),
            6 => prop::sample::select(vec![
                Key::LineBreak, Key::Backspace, Key::Delete, Key::DeleteWord, Key::DeleteToStart, Key::DeleteToEnd,
                Key::Left, Key::Right, Key::WordLeft, Key::WordRight, Key::Home, Key::End,
            ]),
        ]
    }

    /// What is before the cursor, and what is behind it.
    #[derive(Default)]
    struct Model(Vec<char>, Vec<char>);

    impl Model {
        fn handle(&mut self, key: &Key) {
            let Self(before, behind) = self;
            let line_start = before.iter().rposition(|c| *c == '\n').map_or(0, |at| at + 1);
            let line_end = behind.iter().position(|c| *c == '\n').unwrap_or(behind.len());
            let spaces = before.iter().rev().take_while(|c| c.is_whitespace()).count();
            let letters = before.iter().rev().skip(spaces).take_while(|c| !c.is_whitespace()).count();
            let word_start = before.len() - spaces - letters;
            let gap = behind.iter().take_while(|c| c.is_whitespace()).count();
            let word_end = gap + behind.iter().skip(gap).take_while(|c| !c.is_whitespace()).count();
            match key {
                Key::Char(character) => before.push(*character),
                Key::Paste(text) => before.extend(text.chars()),
                Key::LineBreak => before.push('\n'),
                Key::Backspace => drop(before.pop()),
                Key::Delete => drop(behind.drain(..behind.len().min(1))),
                Key::DeleteWord => before.truncate(word_start),
                Key::DeleteToStart => before.truncate(line_start),
                Key::DeleteToEnd => drop(behind.drain(..line_end)),
                Key::Left => drop(behind.splice(..0, before.pop())),
                Key::Right => before.extend(behind.drain(..behind.len().min(1))),
                Key::WordLeft => drop(behind.splice(..0, before.split_off(word_start))),
                Key::WordRight => before.extend(behind.drain(..word_end)),
                Key::Home => drop(behind.splice(..0, before.split_off(line_start))),
                Key::End => before.extend(behind.drain(..line_end)),
                _ => {}
            }
        }
    }

    proptest! {
        #[test]
        fn it_edits_as_the_model_does(keys in prop::collection::vec(any_key(), 0..60)) {
            let (mut editor, mut model) = (Editor::default(), Model::default());
            for key in &keys {
                editor.handle(key, 20);
                model.handle(key);
                prop_assert_eq!(&editor.text[..editor.cursor], model.0.iter().collect::<String>(), "{:?}", key);
                prop_assert_eq!(&editor.text[editor.cursor..], model.1.iter().collect::<String>(), "{:?}", key);
            }
        }

        #[test]
        fn whatever_is_typed_is_shown_in_its_columns(
            texts in prop::collection::vec(any::<String>(), 1..4),
            moves in prop::collection::vec(prop::sample::select(vec![
                Key::Left, Key::Right, Key::Up, Key::Down, Key::Home, Key::Backspace, Key::Delete, Key::WordLeft,
            ]), 0..12),
            columns in 2usize..30,
        ) {
            let mut editor = Editor::default();
            for text in texts {
                editor.handle(&Key::Paste(text), columns);
                for key in &moves {
                    editor.handle(key, columns);
                }
            }
            let layout = editor.layout(columns);
            prop_assert!(layout.lines.iter().all(|line| line.width() <= columns && !line.chars().any(char::is_control)));
            let (line, column) = layout.cursor;
            prop_assert!(line < layout.lines.len() && column < columns);
        }
    }
}
