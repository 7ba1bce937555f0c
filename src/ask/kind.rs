//! What an ask is about: its kind, its subject, and the words that stand for it where there is no room for all of it.
//!
//! Every ask has questions, whatever its kind. So code that does not know a kind can still show and answer it. What a kind says about
//! itself is in this file and nowhere else.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Question;

/// The largest subject, in bytes of JSON.
const MAX_SUBJECT: usize = 256 * 1024;

/// What sort of decision an ask wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Questions of the asker's own, without a subject.
    #[default]
    Question,
}

/// What an ask decides about: a command, a plan, a form. The kind defines which fields it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Subject(Map<String, Value>);

/// Why something cannot be the subject of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a subject has at most {MAX_SUBJECT} bytes of JSON, and this has {0}")]
pub struct SubjectTooLarge(usize);

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 1] = [Self::Question];

    /// A word or two for a chip or a column. It may be empty.
    pub fn title<'a>(self, subject: Option<&'a Subject>, questions: &'a [Question]) -> Cow<'a, str> {
        match (self, subject) {
            (Self::Question, _) => questions.first().map(|first| first.header.as_str().into()).unwrap_or_default(),
        }
    }

    /// One sentence that stands for the whole ask.
    pub fn summary<'a>(self, subject: Option<&'a Subject>, questions: &'a [Question]) -> Cow<'a, str> {
        match (self, subject) {
            (Self::Question, _) => questions.first().map(|first| first.question.as_str().into()).unwrap_or_default(),
        }
    }

    /// One sentence for each question, in their order.
    pub fn lines<'a>(self, subject: Option<&'a Subject>, questions: &'a [Question]) -> Vec<Cow<'a, str>> {
        match (self, subject) {
            (Self::Question, _) => questions.iter().map(|question| question.question.as_str().into()).collect(),
        }
    }
}

impl Subject {
    pub(super) fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl TryFrom<Map<String, Value>> for Subject {
    type Error = SubjectTooLarge;

    fn try_from(fields: Map<String, Value>) -> Result<Self, SubjectTooLarge> {
        match serde_json::to_string(&fields).map_or(usize::MAX, |json| json.len()) {
            0..=MAX_SUBJECT => Ok(Self(fields)),
            length => Err(SubjectTooLarge(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ask::samples::ask;

    #[test]
    fn a_question_is_called_by_its_first_question() {
        let ask = ask(1, "s__t", "shop", 2);
        assert_eq!(ask.kind, Kind::Question);
        assert_eq!(ask.title(), "Database");
        assert_eq!(ask.kind.summary(None, ask.questions.as_slice()), "Which database, 0?");
        assert_eq!(ask.lines(), ["Which database, 0?", "Which database, 1?"]);
    }

    #[test]
    fn every_kind_has_a_name_and_can_be_read_again() {
        let names = Kind::ALL.map(|kind| serde_json::to_value(kind).unwrap());
        assert_eq!(names, ["question"]);
        assert_eq!(names.map(|name| serde_json::from_value::<Kind>(name).unwrap()), Kind::ALL);
    }

    #[test]
    fn a_subject_is_an_object_of_bounded_size() {
        let read = |json: Value| serde_json::from_value::<Subject>(json).map_err(|error| error.to_string());
        let subject = json!({"tool": "Bash", "input": {"command": "ls"}});
        assert_eq!(serde_json::to_value(read(subject.clone()).unwrap()).unwrap(), subject);
        assert!(read(json!({"plan": "x".repeat(MAX_SUBJECT - 11)})).is_ok());
        assert!(read(json!({"plan": "x".repeat(MAX_SUBJECT - 10)})).unwrap_err().contains("262145"));
        assert!(read(json!("text")).is_err() && read(json!([])).is_err());
    }
}
