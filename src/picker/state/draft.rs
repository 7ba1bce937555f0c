//! What has been entered, as a draft, and a draft in its place again.

use super::{Field, Mode, State};
use crate::picker::draft::Draft;

impl State<'_> {
    /// What has been entered so far, also in the text field that is open.
    pub(in crate::picker) fn draft(&self) -> Draft {
        let mut entries = self.entries.clone();
        let mut reason = self.reason.clone();
        if let Mode::Typing(field, editor) = &self.mode {
            let here = self.questions.get(self.place).zip(entries.get_mut(self.place));
            match (field, here) {
                (Field::Other, Some((question, entry))) => entry.keep_other(question, editor.text()),
                (Field::Note, Some((_, entry))) => editor.text().trim().clone_into(&mut entry.note),
                (Field::Reason, _) => editor.text().trim().clone_into(&mut reason),
                _ => {}
            }
        }
        let approves = |label: &str| self.kind().is_approval(label);
        let entries = self.questions.iter().zip(&entries).map(|(question, entry)| entry.draft(question, approves));
        Draft { entries: entries.collect(), reason }
    }

    /// The same with a draft of the same questions. What approves something is left out, whoever wrote it into the draft.
    pub(in crate::picker) fn with_draft(mut self, draft: &Draft) -> Self {
        let kind = self.kind();
        for (index, question) in self.questions.iter().enumerate() {
            let Some(drafted) = draft.entries.iter().find(|entry| entry.question == question.question) else {
                continue;
            };
            self.entries[index].restore(question, drafted, |label| kind.is_approval(label));
            self.rows[index] = self.first_row(index).unwrap_or(self.rows[index]);
        }
        self.reason.clone_from(&draft.reason);
        // A text field that is open gets its text.
        self.go_to(self.place);
        if !draft.is_empty() {
            self.message = Some("What you entered before is here again.".to_owned());
        }
        self
    }

    /// The row of the first thing that is chosen for a question, or of the own words.
    fn first_row(&self, index: usize) -> Option<usize> {
        let (entry, options) = (&self.entries[index], self.questions[index].options.len());
        let has_words = !entry.other().is_empty() && self.questions[index].free_text;
        (0..options).find(|option| entry.has(*option)).or(has_words.then_some(options))
    }
}
