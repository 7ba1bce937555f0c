//! What has been filled in for one question.

use std::collections::BTreeSet;

use serde_json::Value;

use super::draft::DraftEntry;
use crate::ask::{MAX_TEXT, Question};

/// The choices, the own words and the note for one question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Options, by their place. For a single choice at most one, and none beside own words.
    chosen: BTreeSet<usize>,
    /// Own words; they may be there without being the answer.
    other: String,
    has_other: bool,
    /// A note that is sent with the answer.
    pub(super) note: String,
}

/// Why an entry cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Missing,
    TooLong,
}

impl Entry {
    pub(super) fn has(&self, option: usize) -> bool {
        self.chosen.contains(&option)
    }

    pub(super) fn has_other(&self) -> bool {
        self.has_other
    }

    pub(super) fn other(&self) -> &str {
        &self.other
    }

    /// Chooses an option. In a multi-select, choosing it again takes it back.
    pub(super) fn choose(&mut self, question: &Question, option: usize) {
        if !question.multi_select {
            self.chosen = BTreeSet::from([option]);
            self.has_other = false;
        } else if !self.chosen.remove(&option) {
            self.chosen.insert(option);
        }
    }

    /// Keeps own words. In a multi-select they are chosen as soon as there are any. In a single choice they stay chosen if they were.
    pub(super) fn keep_other(&mut self, question: &Question, text: &str) {
        text.trim().clone_into(&mut self.other);
        self.has_other = !self.other.is_empty() && (question.multi_select || self.has_other);
    }

    /// Makes own words the answer, or a part of it.
    pub(super) fn choose_other(&mut self, question: &Question) {
        self.has_other = !self.other.is_empty();
        if self.has_other && !question.multi_select {
            self.chosen.clear();
        }
    }

    /// Chooses own words of a multi-select, or takes that back. The words stay.
    pub(super) fn toggle_other(&mut self) {
        self.has_other = !self.has_other && !self.other.is_empty();
    }

    /// The labels and words that are the answer, in the order of the options.
    pub(super) fn texts<'a>(&'a self, question: &'a Question) -> Vec<&'a str> {
        let labels = self.chosen.iter().filter_map(|option| question.options.get(*option));
        labels.map(|option| option.label.as_str()).chain(self.has_other.then_some(self.other.as_str())).collect()
    }

    /// What the API takes: labels in an array where more than one may be chosen.
    pub(super) fn value(&self, question: &Question) -> Value {
        let texts = self.texts(question);
        if question.multi_select { texts.into() } else { texts.concat().into() }
    }

    pub(super) fn fault(&self, question: &Question) -> Option<Fault> {
        let texts = self.texts(question);
        if texts.is_empty() {
            return (!question.optional).then_some(Fault::Missing);
        }
        (texts.join(", ").len() > MAX_TEXT).then_some(Fault::TooLong)
    }

    /// What is worth keeping, without the choices that approve something.
    pub(super) fn draft(&self, question: &Question, approves: impl Fn(&str) -> bool) -> DraftEntry {
        let labels = self.chosen.iter().filter_map(|option| question.options.get(*option)).map(|option| &option.label);
        DraftEntry {
            question: question.question.clone(),
            chosen: labels.filter(|label| !approves(label)).cloned().collect(),
            words: self.other.clone(),
            has_words: self.has_other,
            note: self.note.clone(),
        }
    }

    /// Takes what was kept, as far as the question allows it.
    pub(super) fn restore(&mut self, question: &Question, draft: &DraftEntry, approves: impl Fn(&str) -> bool) {
        *self = Self::default();
        for label in draft.chosen.iter().filter(|label| !approves(label)) {
            if let Some(option) = question.options.iter().position(|option| option.label == *label) {
                self.choose(question, option);
            }
        }
        if question.free_text {
            self.keep_other(question, &draft.words);
            self.has_other = false;
            if draft.has_words {
                self.choose_other(question);
            }
        }
        self.note.clone_from(&draft.note);
    }

    /// Whether there is nothing in it that could be lost.
    pub(super) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(multi_select: bool) -> Question {
        serde_json::from_value(json!({
            "question": "Q?", "multiSelect": multi_select, "options": [{"label": "A"}, {"label": "B"}],
        }))
        .unwrap()
    }

    #[test]
    fn one_thing_is_chosen_of_a_single_choice() {
        let (question, mut entry) = (question(false), Entry::default());
        assert_eq!(entry.fault(&question), Some(Fault::Missing));
        entry.choose(&question, 1);
        entry.choose(&question, 0);
        entry.choose(&question, 0);
        assert_eq!(entry.value(&question), json!("A"));
        entry.keep_other(&question, " mine\n");
        assert_eq!(entry.value(&question), json!("A"));
        entry.choose_other(&question);
        assert_eq!(entry.value(&question), json!("mine"));
        entry.keep_other(&question, "ours");
        assert_eq!(entry.value(&question), json!("ours"));
        entry.keep_other(&question, " ");
        assert_eq!(entry.fault(&question), Some(Fault::Missing));
    }

    #[test]
    fn any_number_is_chosen_of_a_multi_select() {
        let (question, mut entry) = (question(true), Entry::default());
        entry.keep_other(&question, "mine");
        entry.choose(&question, 1);
        entry.choose(&question, 0);
        assert_eq!(entry.value(&question), json!(["A", "B", "mine"]));
        entry.choose(&question, 1);
        entry.toggle_other();
        assert_eq!(entry.value(&question), json!(["A"]));
        entry.toggle_other();
        assert_eq!(entry.value(&question), json!(["A", "mine"]));
        entry.choose(&question, 0);
        entry.keep_other(&question, "");
        entry.toggle_other();
        assert_eq!(entry.fault(&question), Some(Fault::Missing));
        assert!(entry.is_untouched());
    }

    #[test]
    fn an_answer_that_would_be_refused_is_known() {
        let (question, mut entry) = (question(true), Entry::default());
        entry.keep_other(&question, &"x".repeat(MAX_TEXT));
        assert_eq!(entry.fault(&question), None);
        entry.choose(&question, 0);
        assert_eq!(entry.fault(&question), Some(Fault::TooLong));
    }
}
