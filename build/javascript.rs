//! Takes comments, indentation and needless spaces out of JavaScript. It knows strings, templates, regular expressions and comments, and
//! nothing else about the language. Each line stays a line, so a semicolon that was left out is still left out in the right place, and
//! people can read an error with its line.

/// Words after which a slash begins a regular expression.
const BEFORE_OPERAND: [&str; 16] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];
/// Words whose parentheses end before a statement.
const BEFORE_STATEMENT: [&str; 4] = ["for", "if", "while", "with"];
/// A space beside one of these separates nothing.
const SEPARATORS: &[u8] = b"{}()[];,:?=<>&|!*%^~\"'`";

/// Something that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `(`
    Parenthesis { is_before_statement: bool },
    /// `[` or `{`
    Other,
    /// `${` in a template
    Placeholder,
}

/// What a slash means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Division,
    RegularExpression,
    /// After a closing brace, only a parser can tell.
    Unclear,
}

struct Stripper<'a> {
    source: &'a str,
    at: usize,
    stripped: String,
    open: Vec<Open>,
    slash: Slash,
    /// The last word, if nothing but spaces came after it.
    word: &'a str,
}

/// The code without what only people need.
pub fn strip(source: &str) -> Result<String, String> {
    let mut stripper = Stripper {
        source,
        at: 0,
        stripped: String::with_capacity(source.len()),
        open: Vec::new(),
        slash: Slash::RegularExpression,
        word: "",
    };
    while let Some(next) = stripper.peek(0) {
        stripper.token(next).map_err(|problem| format!("line {}: {problem}", stripper.line()))?;
    }
    if !stripper.open.is_empty() {
        return Err("something is not closed".to_owned());
    }
    Ok(stripper.stripped)
}

impl<'a> Stripper<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn line(&self) -> usize {
        self.source[..self.at].lines().count().max(1)
    }

    fn token(&mut self, next: u8) -> Result<(), String> {
        match (next, self.peek(1)) {
            (b' ' | b'\t' | b'\r' | b'\n', _) | (b'/', Some(b'/' | b'*')) => self.gap(),
            (b'"' | b'\'', _) => {
                let end = self.end_of_string(next)?;
                self.operand(end);
                Ok(())
            }
            (b'`', _) => self.template(),
            (b'/', _) => match self.slash {
                Slash::Division => {
                    self.operator(1);
                    Ok(())
                }
                Slash::RegularExpression => {
                    let end = self.end_of_regular_expression()?;
                    self.operand(end);
                    Ok(())
                }
                Slash::Unclear => Err("put parentheses around what is before this slash".to_owned()),
            },
            // After these, an operand is over.
            (b'+', Some(b'+')) | (b'-', Some(b'-')) => {
                self.operand(self.at + 2);
                Ok(())
            }
            (b'(' | b'[' | b'{', _) => {
                let is_before_statement = BEFORE_STATEMENT.contains(&self.word);
                self.open.push(if next == b'(' { Open::Parenthesis { is_before_statement } } else { Open::Other });
                self.operator(1);
                Ok(())
            }
            (b')' | b']' | b'}', _) => self.close(next),
            _ if is_word(next) => {
                self.word();
                Ok(())
            }
            _ => {
                self.operator(1);
                Ok(())
            }
        }
    }

    /// Spaces and comments.
    fn gap(&mut self) -> Result<(), String> {
        let mut has_line_break = false;
        loop {
            let rest = &self.source[self.at..];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").ok_or("a comment has no end")? + 2
            } else {
                rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()
            };
            if length == 0 {
                break;
            }
            has_line_break |= rest[..length].contains('\n');
            self.at += length;
        }
        let (Some(before), Some(after)) = (self.stripped.bytes().last(), self.peek(0)) else { return Ok(()) };
        if has_line_break {
            self.stripped.push('\n');
        } else if !SEPARATORS.contains(&before) && !SEPARATORS.contains(&after) {
            self.stripped.push(' ');
        }
        Ok(())
    }

    fn copy(&mut self, end: usize) {
        self.stripped.push_str(&self.source[self.at..end]);
        self.at = end;
    }

    fn operand(&mut self, end: usize) {
        self.copy(end);
        (self.slash, self.word) = (Slash::Division, "");
    }

    fn operator(&mut self, length: usize) {
        self.copy(self.at + length);
        (self.slash, self.word) = (Slash::RegularExpression, "");
    }

    fn word(&mut self) {
        let bytes = self.source.as_bytes();
        let end = (self.at..bytes.len()).find(|at| !is_word(bytes[*at])).unwrap_or(bytes.len());
        // `a.of` is the name of a property.
        let is_property = self.stripped.ends_with('.');
        let word = &self.source[self.at..end];
        self.operand(end);
        if !is_property {
            self.word = word;
            if BEFORE_OPERAND.contains(&word) {
                self.slash = Slash::RegularExpression;
            }
        }
    }

    fn close(&mut self, bracket: u8) -> Result<(), String> {
        let open = self.open.pop().ok_or("something is closed that was not open")?;
        match (bracket, open) {
            (b'}', Open::Placeholder) => {
                self.copy(self.at + 1);
                self.rest_of_template()
            }
            (b'}', Open::Other) => {
                self.operator(1);
                self.slash = Slash::Unclear;
                Ok(())
            }
            (b')', Open::Parenthesis { is_before_statement: true }) => {
                self.operator(1);
                Ok(())
            }
            (b')', Open::Parenthesis { .. }) | (b']', Open::Other) => {
                self.operand(self.at + 1);
                Ok(())
            }
            _ => Err("another bracket is open".to_owned()),
        }
    }

    fn template(&mut self) -> Result<(), String> {
        self.copy(self.at + 1);
        self.rest_of_template()
    }

    /// Copies a template up to its end, or up to its next placeholder.
    fn rest_of_template(&mut self) -> Result<(), String> {
        let bytes = self.source.as_bytes();
        let mut end = self.at;
        loop {
            match bytes.get(end) {
                Some(b'\\') => end += 2,
                Some(b'`') => {
                    self.operand(end + 1);
                    return Ok(());
                }
                Some(b'$') if bytes.get(end + 1) == Some(&b'{') => {
                    self.operator(end + 2 - self.at);
                    self.open.push(Open::Placeholder);
                    return Ok(());
                }
                Some(_) => end += 1,
                None => return Err("a template has no end".to_owned()),
            }
        }
    }

    fn end_of_string(&self, quote: u8) -> Result<usize, String> {
        self.end_of_literal(|byte, _| byte == quote).ok_or_else(|| "a string has no end".to_owned())
    }

    fn end_of_regular_expression(&self) -> Result<usize, String> {
        let end = self.end_of_literal(|byte, is_in_class| byte == b'/' && !is_in_class);
        end.ok_or_else(|| "a regular expression has no end".to_owned())
    }

    /// The place after the literal that begins here. It ends in the same line. `None` if it does not.
    fn end_of_literal(&self, is_end: impl Fn(u8, bool) -> bool) -> Option<usize> {
        let bytes = self.source.as_bytes();
        let (mut at, mut is_in_class) = (self.at + 1, false);
        loop {
            match *bytes.get(at)? {
                b'\n' => return None,
                b'\\' => at += 1,
                byte if is_end(byte, is_in_class) => return Some(at + 1),
                b'[' => is_in_class = true,
                b']' => is_in_class = false,
                _ => {}
            }
            at += 1;
        }
    }
}

/// Whether a byte is part of a name or a number. Every character outside of ASCII counts.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_$#".contains(&byte) || !byte.is_ascii()
}
