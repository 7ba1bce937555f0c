//! The questions as a form for the client of an agent, for a person who sits in front of it.
//!
//! MCP allows only flat forms. A question with options that also takes other words has two fields.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::ask::Question;
use crate::ask::form::OWN_FIELD;

/// What the client shows above the form.
pub(super) const MESSAGE: &str = "Answer here or in Answerback. The first answer counts.";

/// The JSON Schema of the form.
pub(super) fn schema(questions: &[Question]) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (number, question) in (1..).zip(questions) {
        let (name, other) = names(number);
        if !takes_other(question) {
            required.push(name.clone());
        }
        properties.insert(name, field(question));
        if takes_other(question) {
            let title = format!("Another answer: {}", short(question, number));
            let field =
                json!({"type": "string", "title": title, "description": "In your own words, instead of the options"});
            properties.insert(other, field);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// What a person entered, by the text of the question. Questions that they left out are not there.
pub(super) fn answers(questions: &[Question], content: &Map<String, Value>) -> IndexMap<String, Value> {
    let mut answers = IndexMap::new();
    for (number, question) in (1..).zip(questions) {
        let (name, other) = names(number);
        let words = content.get(&other).and_then(Value::as_str).map(str::trim).filter(|words| !words.is_empty());
        let answer = match (content.get(&name), words) {
            (Some(Value::Array(labels)), words) => {
                let all: Vec<_> = labels.iter().cloned().chain(words.map(Value::from)).collect();
                (!all.is_empty()).then_some(Value::Array(all))
            }
            (_, Some(words)) => Some(words.into()),
            (Some(Value::String(text)), None) if !text.trim().is_empty() => Some(text.as_str().into()),
            _ => None,
        };
        if let Some(answer) = answer {
            answers.insert(question.question.clone(), answer);
        }
    }
    answers
}

/// The names of the field for a question and of the one for other words. Our own hook knows them, and leaves such a form to the client.
fn names(number: usize) -> (String, String) {
    (format!("{OWN_FIELD}{number}"), format!("{OWN_FIELD}{number}_other"))
}

fn takes_other(question: &Question) -> bool {
    question.free_text && !question.options.is_empty()
}

fn short(question: &Question, number: usize) -> String {
    if question.header.is_empty() { format!("question {number}") } else { question.header.clone() }
}

fn field(question: &Question) -> Value {
    let labels: Vec<_> = question.options.iter().map(|option| option.label.as_str()).collect();
    let mut field = match (labels.is_empty(), question.multi_select) {
        (true, _) => json!({"type": "string", "title": question.question, "minLength": 1}),
        (false, false) => json!({"type": "string", "title": question.question, "enum": labels}),
        (false, true) => {
            let least = usize::from(!takes_other(question));
            json!({"type": "array", "title": question.question, "items": {"type": "string", "enum": labels}, "minItems": least})
        }
    };
    let described = question.options.iter().filter(|option| !option.description.is_empty());
    let descriptions: Vec<_> = described.map(|option| format!("{}: {}", option.label, option.description)).collect();
    if !descriptions.is_empty() {
        field["description"] = descriptions.join("\n").into();
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> Vec<Question> {
        serde_json::from_value(json!([
            {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite", "description": "One file"}, {"label": "Postgres"}]},
            {"question": "Which parts?", "options": [{"label": "Tests"}, {"label": "Docs"}], "multiSelect": true, "freeText": false},
            {"question": "Which name?"},
        ]))
        .unwrap()
    }

    #[test]
    fn a_form_is_flat_and_its_fields_are_known_as_ours() {
        assert_eq!(
            schema(&questions()),
            json!({"type": "object", "required": ["answerback_2", "answerback_3"], "properties": {
                "answerback_1": {"type": "string", "title": "Which database?", "enum": ["SQLite", "Postgres"], "description": "SQLite: One file"},
                "answerback_1_other": {"type": "string", "title": "Another answer: Database", "description": "In your own words, instead of the options"},
                "answerback_2": {"type": "array", "title": "Which parts?", "items": {"type": "string", "enum": ["Tests", "Docs"]}, "minItems": 1},
                "answerback_3": {"type": "string", "title": "Which name?", "minLength": 1},
            }})
        );
    }

    #[test]
    fn what_was_entered_becomes_answers() {
        for (content, expected) in [
            (
                json!({"answerback_1": "SQLite", "answerback_1_other": " ", "answerback_2": ["Tests", "Docs"], "answerback_3": "shop"}),
                json!({"Which database?": "SQLite", "Which parts?": ["Tests", "Docs"], "Which name?": "shop"}),
            ),
            (json!({"answerback_1": "SQLite", "answerback_1_other": "both"}), json!({"Which database?": "both"})),
            (json!({"answerback_2": [], "answerback_3": "  ", "other": 1}), json!({})),
        ] {
            let Value::Object(content) = content else { unreachable!() };
            assert_eq!(json!(answers(&questions(), &content)), expected);
        }
    }
}
