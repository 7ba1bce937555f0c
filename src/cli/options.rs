//! Which option of a question a word means.

use strsim::damerau_levenshtein;

use crate::ask::{Kind, Question};
use crate::text::{fit, one_line};

use super::explain::hinted;

/// How many options an error lists, and the columns for each.
const LISTED: usize = 9;
const COLUMNS: usize = 40;
/// How many similar labels an error offers.
const OFFERED: usize = 3;

/// A word that means no option, or more than one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Miss<'a> {
    pub(super) word: String,
    pub(super) kind: MissKind<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum MissKind<'a> {
    /// No option; these labels are similar.
    Unknown(Vec<&'a str>),
    /// Any of these.
    Ambiguous(Vec<&'a str>),
}

/// The option with this label, in upper or lower case.
pub(super) fn named<'a>(question: &'a Question, word: &str) -> Option<&'a str> {
    match by_label(question, word).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The label as it is, or else those that differ in upper and lower case only.
fn by_label<'a>(question: &'a Question, word: &str) -> Vec<&'a str> {
    match labels(question).find(|label| *label == word) {
        Some(exact) => vec![exact],
        None => distinct(labels(question).filter(|label| folded(label) == folded(word))),
    }
}

/// The option that a word means: by its label, its number, or the beginning of its label, in this order.
pub(super) fn find<'a>(question: &'a Question, word: &str) -> Result<&'a str, Miss<'a>> {
    let miss = |kind| Err(Miss { word: word.to_owned(), kind });
    let mut fitting = by_label(question, word);
    if fitting.is_empty() {
        fitting = by_number(question, word);
    }
    if fitting.is_empty() && !word.trim().is_empty() {
        fitting = distinct(labels(question).filter(|label| folded(label).starts_with(&folded(word))));
    }
    match fitting.as_slice() {
        [only] => Ok(only),
        [] => miss(MissKind::Unknown(similar(question, word))),
        _ => miss(MissKind::Ambiguous(fitting)),
    }
}

/// Whether a word names an option beyond doubt: it is its whole label, or its number.
pub(super) fn is_exact(question: &Question, word: &str, label: &str) -> bool {
    word == label || by_number(question, word) == [label]
}

/// The options that a word means: one, or for a multi-select also several with commas between them.
pub(super) fn find_all<'a>(question: &'a Question, word: &str) -> Result<Vec<&'a str>, Miss<'a>> {
    let whole = find(question, word).map(|label| vec![label]);
    let parts: Vec<_> = word.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    // A comma may be a part of a label.
    let is_list = question.multi_select && word.contains(',') && !parts.is_empty();
    if !is_list || named(question, word).is_some() {
        return whole;
    }
    let listed: Result<Vec<_>, _> = parts.into_iter().map(|part| find(question, part)).collect();
    listed.or_else(|miss| whole.map_err(|_| miss))
}

/// The option with this number. Where the label of another begins with the same number, either may be meant.
fn by_number<'a>(question: &'a Question, word: &str) -> Vec<&'a str> {
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let place = word.parse::<usize>().ok().filter(|_| is_number).and_then(|number| number.checked_sub(1));
    let Some(option) = place.and_then(|place| question.options.get(place)) else { return Vec::new() };
    let begins = |label: &&str| {
        let rest = label.trim_start().strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    distinct(std::iter::once(option.label.as_str()).chain(labels(question).filter(begins)))
}

fn labels(question: &Question) -> impl Iterator<Item = &str> {
    question.options.iter().map(|option| option.label.as_str())
}

fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

fn distinct<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for label in labels {
        if !distinct.contains(&label) {
            distinct.push(label);
        }
    }
    distinct
}

/// The labels that the word may be a misspelling of, the nearest first.
fn similar<'a>(question: &'a Question, word: &str) -> Vec<&'a str> {
    let word = folded(word);
    let mut near: Vec<_> = distinct(labels(question))
        .into_iter()
        .filter_map(|label| {
            let label_folded = folded(label);
            let length = word.chars().count().max(label_folded.chars().count());
            let distance = damerau_levenshtein(&word, &label_folded);
            (distance <= (length / 3).max(1) && distance < length).then_some((distance, label))
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(OFFERED).map(|(_, label)| label).collect()
}

/// Labels for a sentence.
pub(super) fn quoted(labels: &[&str]) -> String {
    labels.iter().map(|label| format!("`{}`", fit(label, COLUMNS))).collect::<Vec<_>>().join(", ")
}

/// All options with their numbers, for a sentence.
pub(super) fn listed(question: &Question) -> String {
    let numbered = labels(question).zip(1..).take(LISTED);
    let mut list: Vec<_> = numbered.map(|(label, number)| format!("{number} `{}`", fit(label, COLUMNS))).collect();
    if question.options.len() > LISTED {
        list.push(format!("and {} more", question.options.len() - LISTED));
    }
    list.join(", ")
}

impl Miss<'_> {
    /// The error. A word that could have been a key may have been meant as one.
    pub(super) fn explain(&self, kind: Kind, question: &Question, may_be_key: bool) -> anyhow::Error {
        let (word, name) = (one_line(&self.word), one_line(&question.question));
        let own_words = match (question.free_text, kind.own_words()) {
            (true, None) => " For words of your own, use --text.".to_owned(),
            (true, Some(effect)) => format!(" Words of your own {effect}: give them with --text."),
            (false, _) => String::new(),
        };
        let options = listed(question);
        match &self.kind {
            MissKind::Ambiguous(labels) => hinted(
                format!("`{word}` could be any of {} of `{name}`", quoted(labels)),
                "Write more of the label, or the number of the option.",
            ),
            // A guess must not lead to an approval.
            MissKind::Unknown(near) if near.iter().any(|label| !kind.is_approval(label)) => hinted(
                format!("`{word}` is no option of `{name}`"),
                format!("Did you mean {}? The options are {options}.{own_words}", quoted(near)),
            ),
            MissKind::Unknown(_) if may_be_key => hinted(
                format!("`{word}` is neither the key of an open question nor an option of `{name}`"),
                format!("`answerback pending` lists the keys. The options are {options}.{own_words}"),
            ),
            MissKind::Unknown(_) => {
                hinted(format!("`{word}` is no option of `{name}`"), format!("The options are {options}.{own_words}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(labels: &[&str], multi_select: bool) -> Question {
        let options: Vec<_> = labels.iter().map(|label| json!({"label": label})).collect();
        serde_json::from_value(json!({"question": "Q?", "options": options, "multiSelect": multi_select})).unwrap()
    }

    #[test]
    fn a_label_comes_before_a_number_and_a_number_before_a_beginning() {
        for (labels, word, meant) in [
            (&["Yes", "yes"][..], "yes", Some("yes")),
            (&["Yes", "yes"], "YES", None),
            (&["Yes", "No"], " yes ", Some("Yes")),
            (&["2", "1"], "2", Some("2")),
            (&["Two", "One"], "2", Some("One")),
            (&["Two", "One"], "3", None),
            (&["Two", "One"], "0", None),
            (&["Two", "One"], "+1", None),
            (&["7 days", "a month"], "7", Some("7 days")),
            (&["2 days", "5 days"], "2", None),
            (&["1 day", "20 days"], "2", Some("20 days")),
            (&["Go", "Gopher"], "go", Some("Go")),
            (&["Go", "Gopher"], "g", None),
            (&["Élan", "Zest"], "éL", Some("Élan")),
            (&["Same", "Same"], "sa", Some("Same")),
            (&["A", "B"], "", None),
            (&["A", "B"], " ", None),
        ] {
            assert_eq!(find(&question(labels, false), word).ok(), meant, "{word:?} of {labels:?}");
        }
    }

    #[test]
    fn a_comma_separates_the_labels_of_a_multi_select_alone() {
        let labels = ["Yes, please", "Yes", "No"];
        for (word, single, multi) in [
            ("Yes,", Some(vec!["Yes, please"]), Some(vec!["Yes"])),
            ("no,", None, Some(vec!["No"])),
            ("yes,no", None, Some(vec!["Yes", "No"])),
            ("yes, please", Some(vec!["Yes, please"]), Some(vec!["Yes, please"])),
            (",", None, None),
            ("no, never", None, None),
        ] {
            assert_eq!(find_all(&question(&labels, false), word).ok(), single, "{word}");
            assert_eq!(find_all(&question(&labels, true), word).ok(), multi, "{word}");
        }
    }

    #[test]
    fn slips_are_recognised() {
        let question = question(&["Yes", "No", "Later on", "PostgreSQL"], false);
        for (word, near) in [
            ("Yess", vec!["Yes"]),
            ("yse", vec!["Yes"]),
            ("latter on", vec!["Later on"]),
            ("postgressql", vec!["PostgreSQL"]),
            ("zzzzzz", vec![]),
            ("x", vec![]),
            ("", vec![]),
        ] {
            let Err(Miss { kind: MissKind::Unknown(similar), .. }) = find(&question, word) else { panic!("{word}") };
            assert_eq!(similar, near, "{word}");
        }
    }
}
