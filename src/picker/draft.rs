//! What a person has entered and not sent: for the next time, or to be shown when the question is gone.

use serde::{Deserialize, Serialize};

/// Everything that was entered in a picker. It never has a choice that approves something: such a choice is made anew each time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// One for each question, in their order.
    pub entries: Vec<DraftEntry>,
    /// Why it is to be dismissed.
    pub reason: String,
}

/// What was entered for one question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftEntry {
    /// The text of the question.
    pub question: String,
    /// The labels that were chosen.
    pub chosen: Vec<String>,
    /// Own words.
    pub words: String,
    /// Whether the own words were chosen, too.
    pub has_words: bool,
    pub note: String,
}

impl Draft {
    /// Whether there is nothing in it that could be lost.
    pub fn is_empty(&self) -> bool {
        self.reason.is_empty() && self.entries.iter().all(DraftEntry::is_empty)
    }
}

impl DraftEntry {
    fn is_empty(&self) -> bool {
        self.chosen.is_empty() && self.words.is_empty() && self.note.is_empty()
    }
}
