//! The kind `form`: values that a server of the agent wants from a person. Each field of the form is a question.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::labels_in;
use super::topic::check_single;
use super::{Answer, Question, QuestionFault, Subject};

/// The options of a field that is true or false.
pub const YES: &str = "Yes";
pub const NO: &str = "No";
/// The options of a form that is only an address to open.
pub const ACCEPT: &str = "Accept";
pub const DECLINE: &str = "Decline";

/// Our own MCP server can show its questions in the client of an agent, too. The fields of that form begin with this.
pub const OWN_FIELD: &str = "answerback_";

/// One field of a form, as the subject has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The name in the content that the server gets.
    pub name: String,
    /// The text of the question that stands for this field.
    pub question: String,
    #[serde(rename = "type")]
    pub kind: FieldType,
    #[serde(default)]
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
}

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    String,
    Number,
    Integer,
    Boolean,
    /// One of the options.
    Choice,
    /// Any of the options.
    Choices,
}

/// The fields of a form. An address to open has none.
pub fn fields(subject: Option<&Subject>) -> Vec<Field> {
    let fields = subject.and_then(|subject| subject.get("fields")).cloned();
    fields.and_then(|fields| serde_json::from_value(fields).ok()).unwrap_or_default()
}

/// Whether this is the subject of a form: one with a field for each question, or an address to open.
pub(super) fn check(subject: &Subject, questions: &[Question]) -> Result<(), String> {
    subject.must_be::<&str>("server", "a text")?;
    subject.must_be::<&str>("message", "a text")?;
    match subject.must_be::<&str>("mode", "a text")? {
        "url" => {
            subject.must_be::<&str>("url", "a text")?;
            check_single(questions)
        }
        "form" => {
            let fields: Vec<Field> = subject.must_be("fields", "an array of fields")?;
            let asked = questions.iter().map(|question| &question.question);
            let is_asked = fields.iter().map(|field| &field.question).eq(asked);
            if is_asked { Ok(()) } else { Err("each question has one field, in the same order".to_owned()) }
        }
        _ => Err("`mode` must be `form` or `url`".to_owned()),
    }
}

pub(super) fn title(subject: Option<&Subject>) -> Cow<'_, str> {
    subject.and_then(|subject| subject.text("server")).unwrap_or("Form").into()
}

pub(super) fn summary(subject: Option<&Subject>) -> Cow<'_, str> {
    subject.and_then(|subject| subject.text("message")).unwrap_or("A form to fill in").into()
}

/// Everything that is wrong with the values. Claude Code does not check them.
pub(super) fn faults(subject: Option<&Subject>, questions: &[Question], answer: &Answer) -> Vec<QuestionFault> {
    let mut faults = Vec::new();
    for field in fields(subject) {
        let Some(text) = answer.answers.get(&field.question) else { continue };
        let question = questions.iter().find(|question| question.question == field.question);
        if let Some(problem) = field.problem(text, question) {
            faults.push(QuestionFault { question: field.question.clone(), problem });
        }
    }
    faults
}

impl Field {
    /// The rule that a text breaks.
    fn problem(&self, text: &str, question: Option<&Question>) -> Option<String> {
        match self.kind {
            FieldType::Integer if text.trim().parse::<i64>().is_err() => Some("must be a whole number".into()),
            FieldType::Number | FieldType::Integer => match text.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => self.range_problem(number),
                _ => Some("must be a number".into()),
            },
            FieldType::String => self.length_problem(text.chars().count()).or_else(|| self.format_problem(text)),
            FieldType::Choices => {
                let count = question.map_or(0, |question| labels_in(question, text).len());
                self.count_problem(count)
            }
            // The options are checked with every other question.
            FieldType::Boolean | FieldType::Choice => None,
        }
    }

    fn range_problem(&self, number: f64) -> Option<String> {
        match (self.minimum, self.maximum) {
            (Some(minimum), _) if number < minimum => Some(format!("must be at least {minimum}")),
            (_, Some(maximum)) if number > maximum => Some(format!("must be at most {maximum}")),
            _ => None,
        }
    }

    fn length_problem(&self, length: usize) -> Option<String> {
        match (self.min_length, self.max_length) {
            (Some(least), _) if length < least => Some(format!("must have at least {least} characters")),
            (_, Some(most)) if length > most => Some(format!("must have at most {most} characters")),
            _ => None,
        }
    }

    fn count_problem(&self, count: usize) -> Option<String> {
        match (self.min_items, self.max_items) {
            (Some(least), _) if count < least => Some(format!("choose at least {least}")),
            (_, Some(most)) if count > most => Some(format!("choose at most {most}")),
            _ => None,
        }
    }

    fn format_problem(&self, text: &str) -> Option<String> {
        let (is_valid, example) = match self.format.as_deref()? {
            "email" => (is_email(text), "an e-mail address, like me@example.org"),
            "uri" => (is_uri(text), "an address with its scheme, like https://example.org"),
            "date" => (text.parse::<Date>().is_ok(), "a date, like 2026-11-16"),
            "date-time" => (text.parse::<Timestamp>().is_ok(), "a date and time, like 2026-11-16T09:30:00Z"),
            // A format that is not known here is the server's to check.
            _ => return None,
        };
        (!is_valid).then(|| format!("must be {example}"))
    }
}

fn is_email(text: &str) -> bool {
    let is_word = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c == '@');
    text.rsplit_once('@').is_some_and(|(name, host)| is_word(name) && is_word(host))
}

fn is_uri(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let has_space = text.contains(|c: char| c.is_whitespace() || c.is_control());
    !has_space && text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(rules: Value) -> Field {
        let mut field = json!({"name": "n", "question": "N"});
        field.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        serde_json::from_value(field).unwrap()
    }

    #[test]
    fn values_are_checked_against_their_rules() {
        for (rules, good, bad, problem) in [
            (json!({"type": "integer"}), "7", "7.5", "whole number"),
            (json!({"type": "integer", "minimum": 1}), " 1 ", "0", "at least 1"),
            (json!({"type": "integer", "maximum": 65535}), "65535", "65536", "at most 65535"),
            (json!({"type": "number"}), "7.5", "seven", "a number"),
            (json!({"type": "number"}), "-1e3", "NaN", "a number"),
            (json!({"type": "string", "minLength": 2}), "éé", "é", "at least 2 characters"),
            (json!({"type": "string", "maxLength": 2}), "éé", "abc", "at most 2 characters"),
            (json!({"type": "string", "format": "email"}), "a@b", "a@b@", "e-mail address"),
            (json!({"type": "string", "format": "uri"}), "https://a", "a b", "scheme"),
            (json!({"type": "string", "format": "date"}), "2026-11-16", "16.11.2026", "a date"),
            (json!({"type": "string", "format": "date-time"}), "2026-11-16T09:30:00Z", "2026-11-16", "date and time"),
        ] {
            let field = field(rules.clone());
            assert_eq!(field.problem(good, None), None, "{rules} {good}");
            assert!(field.problem(bad, None).unwrap().contains(problem), "{rules} {bad}");
        }
        assert_eq!(field(json!({"type": "string", "format": "colour"})).problem("any", None), None);
    }

    #[test]
    fn choices_are_counted() {
        let question = json!({"question": "N", "multiSelect": true, "freeText": false,
            "options": [{"label": "A"}, {"label": "A, B"}, {"label": "C"}]});
        let question: Question = serde_json::from_value(question).unwrap();
        let field = field(json!({"type": "choices", "minItems": 2, "maxItems": 2}));
        let problem = |text: &str| field.problem(text, Some(&question));
        assert_eq!(problem("A, B, C"), None);
        assert!(problem("A, B").unwrap().contains("at least 2"));
        assert!(problem("A, A, B, C").unwrap().contains("at most 2"));
    }
}
