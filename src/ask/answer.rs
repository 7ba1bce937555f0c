//! What a person said, checked against what was asked.

use std::borrow::Cow;
use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MAX_TEXT, Question, Questions};

/// How Claude Code joins several choices.
const SEPARATOR: &str = ", ";

/// What is wrong with an answer that leaves a question out.
pub const NOT_ANSWERED: &str = "this question is not answered";

/// A complete answer: one text for each question (or, where the caller said so, for some), in the order of the questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Question text to answer. Several choices are joined as Claude Code joins them.
    pub answers: IndexMap<String, String>,
    /// Question text to a person's note beside the answer.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub notes: IndexMap<String, String>,
    /// What the person changed in the thing that they approved: fields that replace fields of the asker's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Map<String, Value>>,
}

/// Why an answer is refused: everything that is wrong with it, not just the first thing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer does not fit the questions")]
pub struct AnswerError {
    /// One entry for each thing that is wrong.
    pub faults: Vec<QuestionFault>,
}

/// One thing wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct QuestionFault {
    /// The question it is about, as it was sent.
    pub question: String,
    /// What is wrong.
    pub problem: String,
}

impl Answer {
    /// Checks what was sent against the questions: a label, a text or an array of labels for each, and notes. All must be
    /// answered but those that are optional, unless `partial`. The kind of the ask may have more rules.
    pub fn new(
        questions: &Questions,
        answers: &IndexMap<String, Value>,
        notes: &IndexMap<String, String>,
        partial: bool,
    ) -> Result<Self, AnswerError> {
        let mut faults = Vec::new();
        let mut fault = |question: &str, problem: &str| {
            faults.push(QuestionFault { question: question.to_owned(), problem: problem.to_owned() });
        };
        for text in answers.keys().chain(notes.keys()) {
            if questions.get(text).is_none() {
                fault(text, "this question was not asked");
            }
        }
        let mut answer = Self { answers: IndexMap::new(), notes: IndexMap::new(), edited: None };
        for question in questions {
            match answers.get(&question.question).map(|value| chosen(question, value)) {
                Some(Ok(text)) => drop(answer.answers.insert(question.question.clone(), text)),
                Some(Err(problem)) => fault(&question.question, &problem),
                None if partial || question.optional => {}
                None => fault(&question.question, NOT_ANSWERED),
            }
            match notes.get(&question.question) {
                Some(note) if note.len() > MAX_TEXT => fault(&question.question, "the note is over 16 KiB"),
                Some(note) if !note.trim().is_empty() => {
                    answer.notes.insert(question.question.clone(), note.clone());
                }
                _ => {}
            }
        }
        let may_be_empty = questions.iter().all(|question| question.optional);
        if faults.is_empty() && answer.answers.is_empty() && !may_be_empty {
            faults.push(QuestionFault { question: String::new(), problem: "no question is answered".into() });
        }
        if faults.is_empty() { Ok(answer) } else { Err(AnswerError { faults }) }
    }
}

fn chosen(question: &Question, value: &Value) -> Result<String, Cow<'static, str>> {
    const SHAPE: &str = "an answer is a text, or an array of texts where more than one may be chosen";
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(choices) => {
            let choices: Option<Vec<&str>> = choices.iter().map(Value::as_str).collect();
            let choices = choices.ok_or(SHAPE)?;
            if choices.len() > 1 && !question.multi_select {
                return Err("only one answer may be chosen".into());
            }
            if choices.iter().any(|choice| choice.trim().is_empty()) {
                return Err("the answer is empty".into());
            }
            if !question.free_text && !choices.iter().all(|choice| has_label(question, choice)) {
                return Err(only_labels(question));
            }
            let text = choices.join(SEPARATOR);
            // Labels may have the separator in them. An answer that would be read as other labels is none.
            if !question.free_text && labels_in(question, &text) != choices {
                return Err("together, these labels cannot be told from other labels".into());
            }
            text
        }
        _ => return Err(SHAPE.into()),
    };
    if text.trim().is_empty() {
        return Err("the answer is empty".into());
    }
    if text.len() > MAX_TEXT {
        return Err("the answer is over 16 KiB".into());
    }
    if !question.free_text && !is_made_of_labels(question, &text) {
        return Err(only_labels(question));
    }
    Ok(text)
}

fn has_label(question: &Question, text: &str) -> bool {
    question.options.iter().any(|option| option.label == text)
}

/// Whether a text is a label, or for a multi-select labels with `, ` between them. Labels may have that in them as well, so every
/// way to divide the text is tried.
fn is_made_of_labels(question: &Question, text: &str) -> bool {
    if question.multi_select { !labels_in(question, text).is_empty() } else { has_label(question, text) }
}

/// The labels that an answer to a multi-select is made of. None if it is not made of labels.
pub fn labels_in<'a>(question: &'a Question, text: &str) -> Vec<&'a str> {
    let (mut ways, mut seen) = (vec![(0, Vec::new())], BTreeSet::new());
    while let Some((start, labels)) = ways.pop() {
        if !seen.insert(start) {
            continue;
        }
        for option in &question.options {
            let Some(rest) = text[start..].strip_prefix(option.label.as_str()) else { continue };
            let labels = [labels.as_slice(), &[option.label.as_str()]].concat();
            match rest.strip_prefix(SEPARATOR) {
                _ if rest.is_empty() => return labels,
                Some(rest) => ways.push((text.len() - rest.len(), labels)),
                None => {}
            }
        }
    }
    Vec::new()
}

fn only_labels(question: &Question) -> Cow<'static, str> {
    let labels: Vec<_> = question.options.iter().map(|option| format!("`{}`", option.label)).collect();
    format!("the answer must be made of the options: {}", labels.join(", ")).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn questions() -> Questions {
        serde_json::from_value(json!([
            {"question": "One?", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "Many?", "options": [{"label": "X"}, {"label": "Y"}], "multiSelect": true},
        ]))
        .unwrap()
    }

    fn answer(mut sent: Value) -> Result<Answer, Vec<(String, String)>> {
        let answers = serde_json::from_value(sent["answers"].take()).unwrap();
        let notes = serde_json::from_value(sent["notes"].take()).unwrap_or_default();
        Answer::new(&questions(), &answers, &notes, sent["partial"] == true)
            .map_err(|error| error.faults.into_iter().map(|fault| (fault.question, fault.problem)).collect())
    }

    #[test]
    fn labels_that_together_read_like_others_are_refused() {
        let question: Question =
            serde_json::from_value(json!({"question": "Which?", "multiSelect": true, "freeText": false,
            "options": [{"label": "Read, Write"}, {"label": "Read"}, {"label": "Write"}, {"label": "Run"}]}))
            .unwrap();
        assert_eq!(chosen(&question, &json!(["Read", "Run"])).unwrap(), "Read, Run");
        assert_eq!(chosen(&question, &json!(["Read, Write"])).unwrap(), "Read, Write");
        for choices in [json!(["Read", "Write"]), json!(["Run", "Read", "Write"])] {
            assert!(chosen(&question, &choices).is_err(), "{choices}");
        }
    }

    #[test]
    fn labels_free_text_arrays_and_notes() {
        let answer = answer(json!({
            "answers": {"Many?": ["X", "Y"], "One?": "neither of them"},
            "notes": {"One?": "because", "Many?": "  "},
        }))
        .unwrap();
        let answers: Vec<_> = answer.answers.iter().map(|(q, a)| (q.as_str(), a.as_str())).collect();
        assert_eq!(answers, [("One?", "neither of them"), ("Many?", "X, Y")]);
        assert_eq!(answer.notes.len(), 1);
        assert_eq!(answer.notes["One?"], "because");
    }

    #[test]
    fn everything_wrong_is_named() {
        let faults = answer(json!({"answers": {"One?": 3, "Else?": "x"}, "notes": {"Which?": "n"}})).unwrap_err();
        let about: Vec<_> = faults.iter().map(|(question, _)| question.as_str()).collect();
        assert_eq!(about, ["Else?", "Which?", "One?", "Many?"]);
    }

    #[test]
    fn refused_values() {
        let long = "x".repeat(MAX_TEXT + 1);
        for (one, problem) in [
            (json!(""), "empty"),
            (json!(" \n"), "empty"),
            (json!([]), "empty"),
            (json!(["A", ""]), "only one"),
            (json!([""]), "empty"),
            (json!(["A", "B"]), "only one"),
            (json!([1]), "array of texts"),
            (json!(null), "array of texts"),
            (json!({"a": 1}), "array of texts"),
            (json!(long), "16 KiB"),
        ] {
            let faults = answer(json!({"answers": {"One?": one, "Many?": "X"}})).unwrap_err();
            assert_eq!(faults.len(), 1, "{one}");
            assert!(faults[0].1.contains(problem), "{one}: {faults:?}");
        }
    }

    #[test]
    fn without_free_text_an_answer_is_made_of_labels() {
        let question = |multi_select: bool| -> Question {
            let options = json!([{"label": "A"}, {"label": "A, B"}, {"label": "C"}]);
            let json = json!({"question": "Q?", "options": options, "multiSelect": multi_select, "freeText": false});
            serde_json::from_value(json).unwrap()
        };
        for (value, single, multi) in [
            (json!("A"), true, true),
            (json!("A, B"), true, true),
            (json!(["A, B"]), true, true),
            (json!("A, A, B, C"), false, true),
            (json!(["A", "C"]), false, true),
            (json!(["A, C"]), false, false),
            (json!("A, "), false, false),
            (json!("A,C"), false, false),
            (json!("B"), false, false),
            (json!("a"), false, false),
            (json!("A else"), false, false),
        ] {
            assert_eq!(chosen(&question(false), &value).is_ok(), single, "{value}");
            assert_eq!(chosen(&question(true), &value).is_ok(), multi, "{value}");
        }
        let problem = chosen(&question(true), &json!("else")).unwrap_err();
        assert_eq!(problem, "the answer must be made of the options: `A`, `A, B`, `C`");
    }

    #[test]
    fn some_questions_are_left_out_only_on_purpose() {
        assert!(answer(json!({"answers": {"One?": "A"}})).is_err());
        assert_eq!(answer(json!({"answers": {"One?": "A"}, "partial": true})).unwrap().answers.len(), 1);
        assert!(answer(json!({"answers": {}, "partial": true})).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_sent_an_accepted_answer_is_whole(one in ".{0,40}", many in prop::collection::vec(".{0,20}", 0..4)) {
            let sent = [("One?".to_owned(), json!(one)), ("Many?".to_owned(), json!(many))].into_iter().collect();
            let blank = |text: &str| text.trim().is_empty();
            let expected = !blank(&one) && !many.is_empty() && !many.iter().any(|text| blank(text));
            let answer = Answer::new(&questions(), &sent, &IndexMap::new(), false);
            prop_assert_eq!(answer.is_ok(), expected);
            if let Ok(answer) = answer {
                prop_assert_eq!(&answer.answers["One?"], &one);
                prop_assert_eq!(&answer.answers["Many?"], &many.join(", "));
            }
        }
    }
}
