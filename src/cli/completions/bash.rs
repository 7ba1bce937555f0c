//! A line of bash. Bash passes it on as it was typed, and takes a reply as it is: both have to be quoted as the person began it.

use unicode_width::UnicodeWidthStr;

use crate::text::fit;

use super::open::Candidate;

/// `COMP_TYPE` when a person wants to see the candidates and nothing is put into the line.
pub(super) const LIST: &str = "63";
/// Between a candidate and what it is about.
const GAP: usize = 2;
/// What needs no backslash in a word.
const SAFE: &str = "_-./,+=:@%";
/// What cannot be written between double quotes as it is.
const UNSAFE_IN_DOUBLE_QUOTES: [char; 5] = ['"', '\\', '$', '`', '!'];

/// A line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its words without their quotes. The last is being completed, and may be empty.
    pub(super) words: Vec<String>,
    /// The beginning of the last word that bash leaves as it is. A reply stands for the rest.
    kept: usize,
    /// The quote that is open at the cursor.
    quote: Option<char>,
}

/// One word after the other, as the shell reads them.
#[derive(Debug, Default)]
struct Reader {
    words: Vec<String>,
    /// The word that has begun. It may be empty, between quotes.
    word: Option<String>,
    is_escaped: bool,
    quote: Option<char>,
}

impl Line {
    /// `text` is the end of the line that a reply stands for. `None` if the line is more than this understands.
    pub(super) fn read(line: &str, text: &str) -> Option<Self> {
        let mut reader = Reader::default();
        let start = line.len().checked_sub(text.len()).filter(|_| line.ends_with(text))?;
        // In this kind of quote, a backslash means many things.
        if line.contains("$'") {
            return None;
        }
        for character in line[..start].chars() {
            reader.take(character);
        }
        let kept = reader.word.as_ref().map_or(0, String::len);
        for character in text.chars() {
            reader.take(character);
        }
        let Reader { mut words, word, quote, .. } = reader;
        words.push(word.unwrap_or_default());
        Some(Self { words, kept, quote })
    }

    /// What bash shows and inserts, for each candidate that fits. `option` is before each of them. If `list` says how many columns there
    /// are for a list, several candidates are shown with what they are about.
    pub(super) fn replies(&self, option: &str, candidates: &[Candidate], list: Option<usize>) -> Vec<String> {
        let fitting = candidates.iter().filter_map(|candidate| {
            let reply = self.reply(&format!("{option}{}", candidate.word))?;
            Some((reply, candidate.about.as_str()))
        });
        let fitting: Vec<_> = fitting.collect();
        let Some(columns) = list.filter(|_| fitting.len() > 1) else {
            return fitting.into_iter().map(|(reply, _)| reply).collect();
        };
        let widest = fitting.iter().map(|(reply, _)| reply.width()).max().unwrap_or(0);
        let room = columns.saturating_sub(widest + GAP + 1);
        let listed = |(reply, about): (String, &str)| {
            let pad = " ".repeat(widest - reply.width() + GAP);
            let line = format!("{reply}{pad}{}", fit(about, room));
            // Bash shows two beside each other if they are short. One below the other is easier to read.
            let missing = (columns / 2 + 1).saturating_sub(line.width());
            line + &" ".repeat(missing)
        };
        fitting.into_iter().map(listed).collect()
    }

    fn reply(&self, word: &str) -> Option<String> {
        let begun = self.words.last()?;
        let rest = word.get(self.kept..).filter(|_| word.starts_with(begun))?;
        match self.quote {
            Some('"') => (!rest.contains(UNSAFE_IN_DOUBLE_QUOTES)).then(|| rest.to_owned()),
            Some(_) => (!rest.contains('\'')).then(|| rest.to_owned()),
            None => Some(escaped(rest)),
        }
    }
}

impl Reader {
    fn take(&mut self, character: char) {
        if self.is_escaped {
            self.is_escaped = false;
            if self.quote == Some('"') && !matches!(character, '"' | '\\' | '$' | '`') {
                self.word().push('\\');
            }
            self.word().push(character);
            return;
        }
        match (self.quote, character) {
            (None | Some('"'), '\\') => self.is_escaped = true,
            (None, '"' | '\'') => {
                self.quote = Some(character);
                self.word();
            }
            (Some(quote), _) if quote == character => self.quote = None,
            (None, ' ' | '\t' | '\n') => self.words.extend(self.word.take()),
            _ => self.word().push(character),
        }
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }
}

/// One word for the shell, whatever is in it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() && !character.is_ascii_alphanumeric() && !SAFE.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(line: &str, text: &str, words: &[&str]) -> Vec<String> {
        let candidates: Vec<_> =
            words.iter().map(|word| Candidate { word: (*word).to_owned(), about: "about".to_owned() }).collect();
        Line::read(line, text).map(|line| line.replies("", &candidates, None)).unwrap_or_default()
    }

    #[test]
    fn words_are_read_as_the_shell_reads_them() {
        for (line, words) in [
            ("answerback answer ", &["answerback", "answer", ""][..]),
            ("a  'b c' \"d \\\"e\" '' f\\ g", &["a", "b c", "d \"e", "", "f g"]),
            ("a 'b \\ c", &["a", "b \\ c"]),
            ("a \"b\\nc $", &["a", "b\\nc $"]),
        ] {
            assert_eq!(Line::read(line, "").unwrap().words, words, "{line}");
        }
    }

    #[test]
    fn a_reply_stands_for_the_end_of_the_word_in_its_quotes() {
        for (line, text, word, reply) in [
            ("a -a Database=SQ", "SQ", "Database=SQLite", Some("SQLite")),
            ("a -a Database=", "", "Database=SQLite", Some("SQLite")),
            ("a Use\\ S", "Use\\ S", "Use SQLite", Some("Use\\ SQLite")),
            ("a 'Use S", "Use S", "Use SQLite", Some("Use SQLite")),
            ("a 'Use S", "Use S", "Use Sam's", None),
            ("a \"Use", "Use", "Use $HOME", None),
            ("a 'Use", "Use", "Use $HOME", Some("Use $HOME")),
            ("a ", "", "$(touch x); `y` *'\"!~#", Some("\\$\\(touch\\ x\\)\\;\\ \\`y\\`\\ \\*\\'\\\"\\!\\~\\#")),
            ("a x", "x", "Use SQLite", None),
            ("a $'Use", "Use", "Use SQLite", None),
            ("a è", "è", "élan", None),
            ("a é", "é", "élan 日本", Some("élan\\ 日本")),
        ] {
            assert_eq!(replies(line, text, &[word]).first().map(String::as_str), reply, "{line}");
        }
        assert_eq!(Line::read("abc", "x"), None);
    }

    #[test]
    fn a_list_says_what_each_is_about() {
        let candidate = |word: &str, about: &str| Candidate { word: word.to_owned(), about: about.to_owned() };
        let candidates = [candidate("a b", "first"), candidate("abcdef", "")];
        let line = Line::read("x a", "a").unwrap();
        assert_eq!(line.replies("", &candidates, Some(20)), ["a\\ b    first", "abcdef     "]);
        assert_eq!(line.replies("", &candidates, Some(13)), ["a\\ b    fir…", "abcdef  "]);
        assert_eq!(line.replies("", &candidates, None), ["a\\ b", "abcdef"]);
        assert_eq!(Line::read("x ab", "ab").unwrap().replies("", &candidates, Some(20)), ["abcdef"]);
    }
}
