//! The letter groups of a text, which are the words of the search index.
//!
//! A text contains another one only if it contains each of its groups of letters. So an index of the groups of one, two and three letters
//! finds any part of a text, also in scripts without spaces. SQLite's tokenizer must not judge letters, so each letter is written as four
//! digits to the base of 36, which every tokenizer takes for a word.

use std::collections::BTreeSet;

use crate::ask;

use super::sums;

/// The longest group, in letters.
const LONGEST: usize = 3;

/// The most groups that a search looks up. More would find hardly less, because what is found is compared with the whole text anyway.
const MAX_LOOKED_UP: usize = 8;

/// A text with more different groups than this is not put into the index, because that would take too long at one go.
const MAX_GROUPS: usize = 20_000;

/// Something beside the text that a search may be limited to. It never changes once an ask is settled, so it is a word of the index, too.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark<'a> {
    Session(&'a str),
    Project(&'a str),
    Kind(&'a str),
    Outcome(&'a str),
    /// The key ends with this.
    KeyEnd(&'a str),
}

/// So many letters at the end of a key are indexed. People are shown that many.
const LONGEST_END: usize = 6;

impl<'a> Mark<'a> {
    /// The marks of a key: one for each of its ends.
    pub(super) fn ends_of(key: &'a str) -> impl Iterator<Item = Self> {
        key.char_indices().rev().take(LONGEST_END).map(|(start, _)| Self::KeyEnd(&key[start..]))
    }

    /// The mark of all keys with this end, and of others if it is long.
    pub(super) fn of_end(end: &'a str) -> Option<Self> {
        Self::ends_of(end).last()
    }

    /// No group of letters is as long as this.
    fn word(self) -> String {
        let (letter, text) = match self {
            Self::Session(text) => ('s', text),
            Self::Project(text) => ('p', text),
            Self::Kind(text) => ('d', text),
            Self::Outcome(text) => ('o', text),
            Self::KeyEnd(text) => ('k', text),
        };
        format!("{letter}{:016x}", sums::of_word(text))
    }
}

/// The words under which a text is found. `None` if there are too many.
pub(super) fn words<'a>(folded: &str, marks: impl IntoIterator<Item = Mark<'a>>) -> Option<Words> {
    let mut groups = BTreeSet::new();
    for part in ask::parts(folded) {
        let letters: Vec<char> = part.chars().collect();
        for length in 1..=LONGEST {
            groups.extend(letters.windows(length).map(Group::of));
            if groups.len() > MAX_GROUPS {
                return None;
            }
        }
    }
    let mut text = String::with_capacity(groups.len() * 13);
    for group in &groups {
        group.write(&mut text);
        text.push(' ');
    }
    for mark in marks {
        text.push_str(&mark.word());
        text.push(' ');
    }
    Some(Words { text, count: groups.len() })
}

/// What the index gets for one ask.
#[derive(Debug)]
pub(super) struct Words {
    /// The words, with spaces between them.
    pub(super) text: String,
    /// How many groups there are.
    pub(super) count: usize,
}

/// The expression that finds every ask with these marks and with this text in its own, and others. `None` without any of both.
pub(super) fn expression<'a>(folded: &str, marks: impl IntoIterator<Item = Mark<'a>>) -> Option<String> {
    let letters: Vec<char> = folded.chars().collect();
    let mut groups = BTreeSet::new();
    if let Some(last) = letters.len().checked_sub(LONGEST) {
        // They cover the text from its beginning to its end, and do not overlap unless they must.
        let starts: Vec<usize> = (0..last).step_by(LONGEST).chain([last]).collect();
        let looked_up = starts.len().min(MAX_LOOKED_UP);
        for n in 0..looked_up {
            let start = starts[n * (starts.len() - 1) / looked_up.saturating_sub(1).max(1)];
            groups.insert(Group::of(&letters[start..start + LONGEST]));
        }
    } else if !letters.is_empty() {
        groups.insert(Group::of(&letters));
    }
    let mut words: Vec<String> = marks.into_iter().map(Mark::word).collect();
    words.extend(groups.iter().map(|group| {
        let mut word = String::new();
        group.write(&mut word);
        word
    }));
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

/// One to three letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    length: u8,
    letters: [char; LONGEST],
}

impl Group {
    fn of(letters: &[char]) -> Self {
        let mut group = Self { length: 0, letters: ['\0'; LONGEST] };
        for (place, letter) in group.letters.iter_mut().zip(letters) {
            *place = *letter;
            group.length += 1;
        }
        group
    }

    fn write(&self, text: &mut String) {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        for letter in &self.letters[..self.length.into()] {
            let code = *letter as usize;
            for place in [36 * 36 * 36, 36 * 36, 36, 1] {
                text.push(char::from(DIGITS[code / place % 36]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_a_word_of_four_digits_and_no_two_are_the_same() {
        let words: Vec<String> = ["a", "\0", "\u{10ffff}", " ", "%", "猫"]
            .map(|letter| words(letter, []).unwrap().text.trim().to_owned())
            .into();
        assert_eq!(words, ["002p", "0000", "nvnj", "000w", "0011", "0mqz"]);
    }

    #[test]
    fn groups_do_not_reach_from_one_text_into_another() {
        let count = |text| words(text, []).unwrap().count;
        assert_eq!((count("ab"), count("abc"), count("a\u{1f}b"), count("aaaa"), count("")), (3, 6, 2, 3, 0));
    }

    #[test]
    fn a_text_with_very_many_groups_is_left_out() {
        let text: String = (0..10_000).map(|n| char::from_u32(0x4e00 + n).unwrap()).collect();
        assert!(words(&text, []).is_none());
        assert!(words(&"the same again ".repeat(10_000), []).is_some());
    }

    #[test]
    fn a_search_looks_up_few_groups_from_beginning_to_end() {
        let count = |text: &str| expression(text, []).unwrap().matches('"').count() / 2;
        let lengths = [("a", 1), ("ab", 1), ("abc", 1), ("abcd", 2), ("abcdefg", 3)];
        assert_eq!(lengths.map(|(text, _)| count(text)), lengths.map(|(_, groups)| groups));
        let long: String = (0..300).map(|n| char::from_u32(0x4e00 + n).unwrap()).collect();
        assert_eq!(count(&long), MAX_LOOKED_UP);
        let last: Vec<char> = long.chars().skip(297).collect();
        let mut word = String::new();
        Group::of(&last).write(&mut word);
        assert!(expression(&long, []).unwrap().contains(&word));
        assert_eq!(expression("a", [Mark::Session("s")]).unwrap().matches(" AND ").count(), 1);
        assert_eq!(expression("", []), None);
    }
}
