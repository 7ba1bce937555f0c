//! Reads the input of the tools that ask questions. Models write this input, and they do not always get its form right.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::ask::{Questions, QuestionsError, TopicError};

const DEFAULT_HEADER: &str = "Question";

/// Why the input contains no valid questions.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The field is missing.
    #[error("the tool's input has neither `questions` nor `question`")]
    NoQuestions,
    /// There is no input, or it is not an object.
    #[error("the call has no input")]
    NoInput,
    /// The thing to decide about is too large, or not what it has to be.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The questions have the wrong shape.
    #[error("the questions do not have the right shape")]
    Shape(#[from] serde_json::Error),
    /// The questions cannot be asked.
    #[error(transparent)]
    Invalid(#[from] QuestionsError),
}

/// The questions of a tool's input.
pub(super) fn questions(tool_input: &Value) -> Result<Questions, InputError> {
    let normal = normalise(tool_input)?;
    let mut questions = normal.get("questions").cloned().unwrap_or_default();
    // `freeText` is our own field. Claude Code always accepts free text, so a model must not forbid it.
    for question in questions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        question.remove("freeText");
    }
    Ok(Questions::new(serde_json::from_value(questions)?)?)
}

/// A digest of the questions. It does not depend on the order of the keys in the JSON, or on other fields of the input.
pub(super) fn digest(tool_input: &Value) -> Result<String, InputError> {
    let normal = normalise(tool_input)?;
    Ok(digest_of(normal.get("questions").unwrap_or(&Value::Null)))
}

/// A digest of a value. It does not depend on the order of the keys in the JSON.
pub(super) fn digest_of(value: &Value) -> String {
    hex::encode(Sha256::digest(canonical(value).to_string()))
}

/// The value with the keys of every object sorted.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().map(|(key, value)| (key, canonical(value))).collect();
            json!(sorted)
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

/// The input in the form of Claude Code's own schema, with `questions` as an array of objects. Input in that form is returned unchanged,
/// including unknown fields.
///
/// It also understands these forms: `questions` as a string of JSON, a flat `{question, options, ...}`, and options as plain texts.
pub(super) fn normalise(tool_input: &Value) -> Result<Map<String, Value>, InputError> {
    let mut input = tool_input.as_object().cloned().ok_or(InputError::NoQuestions)?;
    let mut questions = match input.get("questions") {
        Some(Value::String(text)) => match serde_json::from_str(text)? {
            Value::Object(mut nested) => nested.remove("questions").unwrap_or(Value::Object(nested)),
            nested => nested,
        },
        Some(questions) => questions.clone(),
        None if input.contains_key("question") => {
            let mut question = Map::new();
            for field in ["question", "header", "options", "multiSelect"] {
                if let Some(value) = input.remove(field) {
                    question.insert(field.into(), value);
                }
            }
            question.entry("header").or_insert_with(|| json!(DEFAULT_HEADER));
            question.entry("multiSelect").or_insert(json!(false));
            Value::Object(question)
        }
        None => return Err(InputError::NoQuestions),
    };
    if questions.is_object() {
        questions = json!([questions]);
    }
    for question in questions.as_array_mut().into_iter().flatten() {
        if let Some(options) = question.get_mut("options") {
            normalise_options(options)?;
        }
    }
    input.insert("questions".into(), questions);
    Ok(input)
}

fn normalise_options(options: &mut Value) -> Result<(), InputError> {
    if let Value::String(text) = options {
        *options = serde_json::from_str(text)?;
    }
    for option in options.as_array_mut().into_iter().flatten() {
        if let Value::String(label) = option {
            *option = json!({"label": label, "description": ""});
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_input() -> Value {
        json!({"questions": [
            {"question": "Q?", "header": "H", "options": [{"label": "A", "description": "a"}, {"label": "B", "description": ""}],
             "multiSelect": false},
        ]})
    }

    #[test]
    fn input_in_the_right_form_is_unchanged() {
        let mut input = canonical_input();
        input["metadata"] = json!({"source": "x"});
        input["questions"][0]["unknown"] = json!(1);
        assert_eq!(Value::Object(normalise(&input).unwrap()), input);
    }

    #[test]
    fn questions_may_be_a_string_of_json() {
        for text in [
            canonical_input()["questions"].to_string(),
            canonical_input().to_string(),
            canonical_input()["questions"][0].to_string(),
        ] {
            let normal = normalise(&json!({"questions": text})).unwrap();
            assert_eq!(Value::Object(normal), canonical_input(), "{text}");
        }
    }

    #[test]
    fn one_flat_question_may_have_plain_options() {
        for options in [json!(["A", "B"]), json!("[\"A\", \"B\"]")] {
            let normal = normalise(&json!({"question": "Q?", "options": options, "other": 1})).unwrap();
            let expected = json!({"other": 1, "questions": [{
                "question": "Q?", "header": "Question", "multiSelect": false,
                "options": [{"label": "A", "description": ""}, {"label": "B", "description": ""}],
            }]});
            assert_eq!(Value::Object(normal), expected);
        }
    }

    #[test]
    fn the_digest_depends_only_on_the_questions() {
        let reordered: Value = json!({"answers": {"Q?": "A"}, "questions": [{"multiSelect": false, "header": "H",
            "options": [{"description": "a", "label": "A"}, {"label": "B", "description": ""}], "question": "Q?"}]});
        assert_eq!(digest(&canonical_input()).unwrap(), digest(&reordered).unwrap());
        let mut other = canonical_input();
        other["questions"][0]["options"][0]["label"] = json!("C");
        assert_ne!(digest(&canonical_input()).unwrap(), digest(&other).unwrap());
    }

    #[test]
    fn input_without_questions_is_an_error() {
        for input in [json!(null), json!([]), json!({}), json!({"questions": "{"}), json!({"questions": 3})] {
            assert!(questions(&input).is_err(), "{input}");
        }
    }
}
