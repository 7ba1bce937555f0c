//! How much memory an ask takes: what is kept for many readers is bounded in bytes.

use indexmap::IndexMap;

use super::{Ask, Outcome, Question};

/// What holds a text or a few, beside the texts.
const HOLDER: usize = 64;

impl Ask {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let project = self.project.as_ref().map_or(0, String::len);
        let questions: usize = self.questions.iter().map(of_question).sum();
        let outcome = self.settlement.as_ref().map_or(0, |settlement| of_outcome(&settlement.outcome));
        let receipt = self.receipt.as_ref().map_or(0, |receipt| of_texts(&receipt.answers));
        HOLDER + project + questions + outcome + receipt
    }
}

fn of_question(question: &Question) -> usize {
    let options = question.options.iter().map(|option| {
        HOLDER + option.label.len() + option.description.len() + option.preview.as_ref().map_or(0, String::len)
    });
    HOLDER + question.question.len() + question.header.len() + options.sum::<usize>()
}

fn of_outcome(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Answered(answer) | Outcome::AnsweredInTerminal(answer) => {
            of_texts(&answer.answers) + of_texts(&answer.notes)
        }
        Outcome::Dismissed { reason } => reason.as_ref().map_or(0, String::len),
        Outcome::Released | Outcome::Expired | Outcome::Withdrawn => 0,
    }
}

fn of_texts(texts: &IndexMap<String, String>) -> usize {
    texts.iter().map(|(name, text)| HOLDER + name.len() + text.len()).sum()
}
