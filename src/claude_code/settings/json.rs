//! Strict JSON with the place of everything in the text.
//!
//! Claude Code drops a whole settings file for one comment, so a parser that forgives would be a wrong judge of it, and
//! one that keeps no places could not leave the rest of the file alone.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use answerback_hook::hint::Hint;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Deeper than any settings, and far from the end of the stack.
const MAX_DEPTH: usize = 128;

/// Why a text is left alone: what is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct Refusal {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages below say it")]
pub enum Problem {
    Bom,
    NotUtf8,
    Comment,
    TrailingComma,
    MissingComma,
    SingleQuotes,
    BadString(String),
    BadNumber,
    Unexpected(char),
    End,
    After,
    TooDeep,
    Duplicate { key: String, first_line: usize },
    WrongType { what: String, wanted: &'static str },
    TooMany(usize),
    ServerNameTaken(&'static str),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bom => f.write_str("a byte order mark, which JSON does not have"),
            Self::NotUtf8 => f.write_str("this is not UTF-8"),
            Self::Comment => f.write_str("a comment, and Claude Code ignores a settings file that has one"),
            Self::TrailingComma => f.write_str("a comma with nothing after it"),
            Self::MissingComma => f.write_str("a comma is missing before this"),
            Self::SingleQuotes => f.write_str("JSON has only double quotes"),
            Self::BadString(why) => write!(f, "a string that is not JSON: {why}"),
            Self::BadNumber => f.write_str("a number that is not JSON"),
            Self::Unexpected(found) => write!(f, "unexpected {found:?}"),
            Self::End => f.write_str("the file ends too early"),
            Self::After => f.write_str("the file goes on after its end"),
            Self::TooDeep => write!(f, "nested more than {MAX_DEPTH} deep"),
            Self::Duplicate { key, first_line } => {
                write!(f, "the key {key:?} is there twice, first in line {first_line}")
            }
            Self::WrongType { what, wanted } => write!(f, "{what} should be {wanted}"),
            Self::ServerNameTaken(name) => write!(f, "another server is called {name:?}"),
            Self::TooMany(limit) => write!(f, "there are more than {limit} hooks of Answerback, and this is the next"),
        }
    }
}

impl Hint for Refusal {
    fn hint(&self) -> Option<String> {
        let hint = match self.problem {
            Problem::Bom => "Save it as UTF-8 without a byte order mark.",
            Problem::NotUtf8 => "Save it as UTF-8.",
            Problem::Comment => "Remove the comment.",
            Problem::TrailingComma => "Remove the comma.",
            Problem::Duplicate { .. } => "Claude Code goes by the last one: remove the other.",
            Problem::WrongType { .. } => "Correct it by hand.",
            Problem::TooMany(_) => "Remove them by hand.",
            Problem::ServerNameTaken(_) => {
                "Give it another name, or add the one of Answerback by hand under another name."
            }
            _ => "Correct it by hand: Claude Code cannot read it like this.",
        };
        Some(hint.to_owned())
    }
}

/// A value and where it is.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        if let Kind::Object(members) = &self.kind { Some(members) } else { None }
    }

    pub(super) fn elements(&self) -> Option<&[Node]> {
        if let Kind::Array(elements) = &self.kind { Some(elements) } else { None }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.members()?.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// Where its members or elements are.
    pub(super) fn items(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.start..member.value.span.end).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.clone()).collect(),
            Kind::Scalar => Vec::new(),
        }
    }

    /// Its value. Null for a number that no type can hold, such as 1e999.
    pub(super) fn value(&self, text: &str) -> Value {
        serde_json::from_str(&text[self.span.clone()]).unwrap_or_default()
    }
}

/// The whole text as one value.
pub(super) fn parse(text: &str) -> Result<Node, Refusal> {
    let mut parser = Parser { text, at: 0 };
    if text.starts_with('\u{feff}') {
        return Err(parser.refuse(0, Problem::Bom));
    }
    let root = parser.value(0)?;
    parser.space()?;
    if parser.at < text.len() { Err(parser.refuse(parser.at, Problem::After)) } else { Ok(root) }
}

/// The bytes of a file as text.
pub fn decode(bytes: &[u8]) -> Result<&str, Refusal> {
    str::from_utf8(bytes).map_err(|error| {
        let good = str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        refuse(good, good.len(), Problem::NotUtf8)
    })
}

/// A refusal of the text at this byte.
pub(super) fn refuse(text: &str, at: usize, problem: Problem) -> Refusal {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    Refusal { line, column: before[line_start..].chars().count() + 1, problem }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn refuse(&self, at: usize, problem: Problem) -> Refusal {
        refuse(self.text, at, problem)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// White space as JSON defines it, and no other.
    fn space(&mut self) -> Result<(), Refusal> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        let rest = &self.text[self.at..];
        if ["//", "/*", "#"].iter().any(|comment| rest.starts_with(comment)) {
            return Err(self.refuse(self.at, Problem::Comment));
        }
        Ok(())
    }

    fn unexpected(&self) -> Refusal {
        let problem = match self.text[self.at..].chars().next() {
            None => Problem::End,
            Some('\'') => Problem::SingleQuotes,
            Some(found) => Problem::Unexpected(found),
        };
        self.refuse(self.at, problem)
    }

    fn value(&mut self, depth: usize) -> Result<Node, Refusal> {
        self.space()?;
        if depth > MAX_DEPTH {
            return Err(self.refuse(self.at, Problem::TooDeep));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => {
                self.string()?;
                Kind::Scalar
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Refusal> {
        let mut members: Vec<Member> = Vec::new();
        let mut known = HashMap::new();
        self.items(b'}', |parser| {
            if parser.peek() != Some(b'"') {
                return Err(parser.unexpected());
            }
            let start = parser.at;
            let key = parser.string()?;
            if let Some(first) = known.insert(key.clone(), start) {
                let first_line = parser.refuse(first, Problem::End).line;
                return Err(parser.refuse(start, Problem::Duplicate { key, first_line }));
            }
            parser.space()?;
            if parser.peek() != Some(b':') {
                return Err(parser.unexpected());
            }
            parser.at += 1;
            let value = parser.value(depth + 1)?;
            members.push(Member { key, start, value });
            Ok(())
        })?;
        Ok(Kind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Kind, Refusal> {
        let mut elements = Vec::new();
        self.items(b']', |parser| {
            elements.push(parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Kind::Array(elements))
    }

    /// From the opening bracket to after the closing one.
    fn items(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Result<(), Refusal>) -> Result<(), Refusal> {
        self.at += 1;
        self.space()?;
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.space()?;
            match self.peek() {
                Some(b',') => {
                    let comma = self.at;
                    self.at += 1;
                    self.space()?;
                    if let Some(b'}' | b']') = self.peek() {
                        return Err(self.refuse(comma, Problem::TrailingComma));
                    }
                }
                Some(found) if found == close => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'"' | b'{' | b'[') => return Err(self.refuse(self.at, Problem::MissingComma)),
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Finds the end of the string. serde_json then checks its escapes.
    fn string(&mut self) -> Result<String, Refusal> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                None | Some(b'\n') => return Err(self.refuse(start, Problem::BadString("it has no end".into()))),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        serde_json::from_str(&self.text[start..self.at]).map_err(|error| {
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or(&why);
            self.refuse(start, Problem::BadString(why.to_owned()))
        })
    }

    fn number(&mut self) -> Result<Kind, Refusal> {
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        match serde_json::from_str::<IgnoredAny>(&self.text[start..self.at]) {
            Ok(_) => Ok(Kind::Scalar),
            Err(_) => Err(self.refuse(start, Problem::BadNumber)),
        }
    }

    fn word(&mut self) -> Result<Kind, Refusal> {
        let rest = &self.text[self.at..];
        match ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(Kind::Scalar)
            }
            None => Err(self.unexpected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn refused(text: &str) -> (usize, usize, Problem) {
        let Refusal { line, column, problem } = parse(text).unwrap_err();
        (line, column, problem)
    }

    #[test]
    fn everything_has_its_place() {
        let text = "{ \"a\": [1, {\"b\": null}],\n\"\\u0063\":\"d\" }";
        let root = parse(text).unwrap();
        let items: Vec<_> = root.items().into_iter().map(|item| &text[item]).collect();
        assert_eq!(items, ["\"a\": [1, {\"b\": null}]", "\"\\u0063\":\"d\""]);
        assert_eq!(root.get("c").unwrap().value(text), "d");
        assert_eq!(root.get("a").unwrap().elements().unwrap().len(), 2);
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_is() {
        let bad_string = |why: &str| Problem::BadString(why.to_owned());
        for (text, line, column, problem) in [
            ("\u{feff}{}", 1, 1, Problem::Bom),
            ("{\n  // why\n}", 2, 3, Problem::Comment),
            ("{\"é\": 1 /* why */}", 1, 9, Problem::Comment),
            ("{}\n# why\n", 2, 1, Problem::Comment),
            ("[\r\n 1,\r\n]", 2, 3, Problem::TrailingComma),
            ("{\"a\":1,}", 1, 7, Problem::TrailingComma),
            ("{\"a\":1\n \"b\":2}", 2, 2, Problem::MissingComma),
            ("{'a': 1}", 1, 2, Problem::SingleQuotes),
            ("{a: 1}", 1, 2, Problem::Unexpected('a')),
            ("[1\u{a0}]", 1, 3, Problem::Unexpected('\u{a0}')),
            ("{\"a\" 1}", 1, 6, Problem::Unexpected('1')),
            ("[,1]", 1, 2, Problem::Unexpected(',')),
            ("{]", 1, 2, Problem::Unexpected(']')),
            ("[01]", 1, 2, Problem::BadNumber),
            ("[1.]", 1, 2, Problem::BadNumber),
            ("[\"a\tb\"]", 1, 2, bad_string("control character (\\u0000-\\u001F) found while parsing a string")),
            ("[\"a\nb\"]", 1, 2, bad_string("it has no end")),
            ("[\"\\x\"]", 1, 2, bad_string("invalid escape")),
            ("{\"a\": [1", 1, 9, Problem::End),
            ("", 1, 1, Problem::End),
            ("{} {}", 1, 4, Problem::After),
            ("[truely]", 1, 6, Problem::Unexpected('l')),
            ("{\"a\": {\n\"b\": 1,\n\"\\u0062\": 2}}", 3, 1, Problem::Duplicate { key: "b".into(), first_line: 2 }),
        ] {
            assert_eq!(refused(text), (line, column, problem), "{text}");
        }
        assert_eq!(refused(&"[".repeat(100_000)).2, Problem::TooDeep);
    }

    proptest! {
        /// serde_json decides what is JSON.
        #[test]
        fn exactly_json_is_accepted(text in r#"([ \n\t{}\[\]:,"\\a1é/-]|"a"|"b":|\[1\]|null|true|0|1e5|,){0,12}"#) {
            let accepted = match parse(&text) {
                Err(Refusal { problem: Problem::Duplicate { .. }, .. }) => return Ok(()),
                other => other.is_ok(),
            };
            prop_assert_eq!(accepted, serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
        }

        #[test]
        fn nothing_makes_it_panic(text in "\\PC*") {
            drop(parse(&text));
        }
    }
}
