//! How much memory an ask takes. What is kept in memory for readers is bounded in bytes.

use indexmap::IndexMap;
use serde_json::Value;

use super::{Ask, NewAsk, Outcome, Question, Questions, Subject};

/// The memory that a text or a few texts need beside their bytes.
const HOLDER: usize = 64;

impl Ask {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let outcome = self.settlement.as_ref().map_or(0, |settlement| of_outcome(&settlement.outcome));
        let receipt = self.receipt.as_ref().map_or(0, |receipt| of_texts(&receipt.answers));
        of_asked([&self.project, &self.asked_by], self.subject.as_ref(), &self.questions) + outcome + receipt
    }
}

impl NewAsk {
    /// About how many bytes the ask takes while it is open.
    pub fn weight(&self) -> usize {
        of_asked([&self.project, &self.asked_by], self.topic.subject(), self.topic.questions())
    }
}

fn of_asked(names: [&Option<String>; 2], subject: Option<&Subject>, questions: &Questions) -> usize {
    let names = names.into_iter().flatten().map(String::len).sum::<usize>();
    let subject: usize = subject.into_iter().flat_map(Subject::fields).map(of_field).sum();
    HOLDER + names + subject + questions.iter().map(of_question).sum::<usize>()
}

fn of_field((name, value): (&String, &Value)) -> usize {
    HOLDER + name.len() + of_value(value)
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => HOLDER + text.len(),
        Value::Array(values) => HOLDER + values.iter().map(of_value).sum::<usize>(),
        Value::Object(fields) => HOLDER + fields.iter().map(of_field).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => HOLDER,
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
            let edited: usize = answer.edited.iter().flatten().map(of_field).sum();
            of_texts(&answer.answers) + of_texts(&answer.notes) + edited
        }
        Outcome::Dismissed { reason } => reason.as_ref().map_or(0, String::len),
        Outcome::Released | Outcome::Expired | Outcome::Withdrawn => 0,
    }
}

fn of_texts(texts: &IndexMap<String, String>) -> usize {
    texts.iter().map(|(name, text)| HOLDER + name.len() + text.len()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ask::samples::ask;

    #[test]
    fn a_subject_counts() {
        let mut ask = ask(1, "s__t", "shop", 1);
        let without = ask.weight();
        let subject = json!({"input": {"command": "x".repeat(1000)}, "paths": ["y".repeat(1000)], "once": true});
        ask.subject = Some(serde_json::from_value(subject).unwrap());
        assert!((2000..3000).contains(&(ask.weight() - without)), "{}", ask.weight() - without);
    }
}
