//! The tool `ask_human` as a model sees it: when to use it, what goes in, what comes out.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::ask::{Question, QuestionOption, Questions};

/// Its name.
pub(super) const NAME: &str = "ask_human";

/// What a client may show to a person who looks at the server.
pub(super) const INSTRUCTIONS: &str = "Answerback brings your questions to a person, who may be at another screen or on a phone. Use \
    `ask_human` if you need a decision, a preference or a fact that only the person has.";

pub(super) const DESCRIPTION: &str = "\
Ask the person you work for, and wait for the answer. The person may be away from this terminal: the questions reach them in a browser, on a \
phone or on a command line, so an answer can take from seconds to hours.

Use it if you need something that only the person can give: a decision between real alternatives, a preference, a missing fact, a go-ahead \
for something that is hard to undo. Do not use it for what you can find out yourself, or to report progress. Ask everything that belongs \
together in one call.

The result has `outcome`. Only with `answered` there are answers. With `dismissed`, `released`, `expired` or `withdrawn` nobody answered: do \
not make up an answer and do not act as if you had one. Go on with what needs no answer, choose the safest way and say that you did, or stop \
and say what you need.";

/// The longest time that a call may ask for: what the daemon takes.
const LONGEST: u32 = u32::MAX;

pub(super) fn input_schema() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["questions"],
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 16,
                "description": "The questions, in the order in which the person should read them. They are answered together.",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["question"],
                    "properties": {
                        "question": {
                            "type": "string",
                            "minLength": 1,
                            "description": "The whole question, understandable to somebody who does not see this conversation. No two questions may have the same text.",
                        },
                        "header": {"type": "string", "description": "A word or two that stand for the question in a list, such as `Database`."},
                        "options": {
                            "type": "array",
                            "maxItems": 64,
                            "description": "What the person can choose. Leave it out for an answer in the person's own words. Do not add an option like \"Other\": the person can always write something else, unless `freeText` is false.",
                            "items": {
                                "type": "object",
                                "additionalProperties": false,
                                "required": ["label"],
                                "properties": {
                                    "label": {"type": "string", "minLength": 1, "description": "The choice in a few words. It is the answer, if the person chooses it."},
                                    "description": {"type": "string", "description": "What the choice means, or what follows from it."},
                                },
                            },
                        },
                        "multiSelect": {"type": "boolean", "default": false, "description": "Whether the person may choose more than one option."},
                        "freeText": {"type": "boolean", "default": true, "description": "Whether the person may answer in their own words instead. If false, the answer is always one of the options, and there must be options."},
                    },
                },
            },
            "timeout_seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": LONGEST,
                "description": "Give up after this many seconds; the outcome is then `expired`. Leave it out to wait for as long as it takes.",
            },
        },
    }))
}

pub(super) fn output_schema() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "required": ["outcome", "answers"],
        "properties": {
            "outcome": {
                "type": "string",
                "enum": ["answered", "dismissed", "released", "expired", "withdrawn"],
                "description": "`answered`: see `answers`. `dismissed`: a person refused to answer. `released`: a person closed the question without an answer. `expired`: nobody answered in time. `withdrawn`: the question was taken back.",
            },
            "answers": {
                "type": "array",
                "description": "One entry for each question that was answered, in the order of the questions. Empty unless the outcome is `answered`.",
                "items": {
                    "type": "object",
                    "required": ["question", "answer"],
                    "properties": {
                        "question": {"type": "string"},
                        "answer": {"type": "string", "description": "The label of an option, several labels with `, ` between them, or the person's own words."},
                        "choices": {"type": "array", "items": {"type": "string"}, "description": "The labels that were chosen, if `multiSelect` was true and the answer consists of labels."},
                        "note": {"type": "string", "description": "What the person added to this answer."},
                    },
                },
            },
            "unanswered": {"type": "array", "items": {"type": "string"}, "description": "Questions that the person left out, if there are any."},
            "message": {"type": "string", "description": "What you must know besides the answers, above all if there are none."},
            "reason": {"type": "string", "description": "Why the person refused to answer, if they said so."},
            "by": {
                "type": "object",
                "description": "Where the outcome came from, if somebody caused it.",
                "required": ["channel"],
                "properties": {
                    "channel": {"type": "string", "description": "`page`, `socket`, `token`, `notification`, or `away` for words that the person left in advance for everything that is asked."},
                    "agent": {"type": "string", "description": "The program that the person used."},
                    "device": {"type": "string", "description": "The name of the browser or phone."},
                },
            },
        },
    }))
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(schema) => schema,
        _ => unreachable!("a schema is written as an object"),
    }
}

/// What a call asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inquiry {
    pub(super) questions: Questions,
    pub(super) timeout_seconds: Option<u32>,
}

// A model that misspells a field must learn that. So unknown fields are refused, and the messages name what is expected.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    questions: Vec<AskedQuestion>,
    timeout_seconds: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "an object with a `question`")]
struct AskedQuestion {
    question: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    options: Vec<AskedOption>,
    #[serde(default)]
    multi_select: bool,
    free_text: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with a `label`")]
struct AskedOption {
    label: String,
    #[serde(default)]
    description: String,
}

/// Reads the arguments of a call. The error is for the model.
pub(super) fn read(arguments: Map<String, Value>) -> Result<Inquiry, String> {
    let refused = |why: String| format!("{why}. Nobody was asked. Correct the arguments of {NAME} and call it again.");
    let Arguments { questions, timeout_seconds } = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| refused(format!("The arguments do not fit: {error}")))?;
    if timeout_seconds == Some(0) {
        return Err(refused("timeout_seconds must be at least 1".to_owned()));
    }
    let questions = questions.into_iter().map(Question::from).collect();
    let questions =
        Questions::new(questions).map_err(|error| refused(format!("These questions cannot be asked: {error}")))?;
    Ok(Inquiry { questions, timeout_seconds })
}

impl From<AskedQuestion> for Question {
    fn from(asked: AskedQuestion) -> Self {
        let option = |AskedOption { label, description }| QuestionOption { label, description, preview: None };
        Self {
            question: asked.question,
            header: asked.header,
            options: asked.options.into_iter().map(option).collect(),
            multi_select: asked.multi_select,
            free_text: asked.free_text.unwrap_or(true),
            optional: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: Value) -> Result<Inquiry, String> {
        super::read(object(arguments))
    }

    #[test]
    fn arguments_become_questions() {
        let inquiry = read(json!({"questions": [
            {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite", "description": "One file"}, {"label": "PostgreSQL"}], "multiSelect": true, "freeText": false},
            {"question": "Which name?"},
        ], "timeout_seconds": 60}))
        .unwrap();
        let expected = json!([
            {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite", "description": "One file"}, {"label": "PostgreSQL", "description": ""}], "multiSelect": true, "freeText": false},
            {"question": "Which name?", "header": "", "options": [], "multiSelect": false},
        ]);
        assert_eq!(serde_json::to_value(&inquiry.questions).unwrap(), expected);
        assert_eq!(inquiry.timeout_seconds, Some(60));
    }

    #[test]
    fn a_mistake_is_named() {
        for (arguments, why) in [
            (json!({}), "missing field `questions`"),
            (json!({"questions": []}), "1 to 16 questions"),
            (json!({"questions": ["Which?"]}), "expected an object with a `question`"),
            (json!({"questions": [{"question": "Which?", "options": ["A"]}]}), "expected an object with a `label`"),
            (json!({"questions": [{"question": "Which?", "multi_select": true}]}), "unknown field `multi_select`"),
            (json!({"questions": [{"question": "Which?"}, {"question": "Which?"}]}), "same text"),
            (json!({"questions": [{"question": "Which?", "freeText": false}]}), "needs options"),
            (json!({"questions": [{"question": "Which?"}], "timeout_seconds": 0}), "at least 1"),
            (json!({"questions": [{"question": "Which?"}], "timeout_seconds": 1.5}), "floating point"),
            (json!({"question": "Which?"}), "unknown field `question`"),
        ] {
            let error = read(arguments.clone()).unwrap_err();
            assert!(error.contains(why) && error.contains("Nobody was asked"), "{arguments}: {error}");
        }
    }

    #[test]
    fn the_schema_has_the_limits_of_the_questions() {
        let schema = Value::Object(input_schema());
        let at = |pointer: &str| schema.pointer(pointer).unwrap().as_u64().unwrap();
        let questions = |count: u64| json!({"questions": (0..count).map(|n| json!({"question": n.to_string()})).collect::<Vec<_>>()});
        let most = at("/properties/questions/maxItems");
        assert!(read(questions(most)).is_ok() && read(questions(most + 1)).is_err());
        let options = |count: u64| {
            let options: Vec<_> = (0..count).map(|n| json!({"label": n.to_string()})).collect();
            json!({"questions": [{"question": "?", "options": options}]})
        };
        let most = at("/properties/questions/items/properties/options/maxItems");
        assert!(read(options(most)).is_ok() && read(options(most + 1)).is_err());
    }
}
