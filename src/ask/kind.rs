//! What an ask is about: its kind, its subject, and the words that stand for it where there is no room for all of it.
//!
//! Every ask has questions, whatever its kind. So code that does not know a kind can still show and answer it. What a kind says about
//! itself is in its own file beside this one. This file only asks the right one.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Answer, AnswerError, Question, QuestionFault, form, permission, plan};

/// The largest subject, and the largest edit of one, in bytes of JSON.
const MAX_SUBJECT: usize = 512 * 1024;

/// What sort of decision an ask wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Questions of the asker's own, without a subject.
    #[default]
    Question,
    /// Whether the agent may carry out its plan.
    Plan,
    /// Values that a server of the agent needs.
    Form,
    /// Whether the agent may use a tool.
    Permission,
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
    pub const ALL: [Self; 4] = [Self::Question, Self::Plan, Self::Form, Self::Permission];

    /// What people call such an ask.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Form => "form",
            Self::Permission => "permission request",
        }
    }

    /// Whether its answer is a decision about one call, and about no other.
    pub fn is_for_one_call(self) -> bool {
        matches!(self, Self::Permission | Self::Plan)
    }

    /// Whether the asker opens the ask first and waits for it with a second call.
    pub fn is_announced(self) -> bool {
        match self {
            Self::Question | Self::Plan => true,
            Self::Form | Self::Permission => false,
        }
    }

    /// A word or two for a chip or a column. It may be empty.
    pub fn title<'a>(self, subject: Option<&'a Subject>, questions: &'a [Question]) -> Cow<'a, str> {
        match self {
            Self::Question => questions.first().map(|first| first.header.as_str().into()).unwrap_or_default(),
            Self::Plan => plan::title(),
            Self::Form => form::title(subject),
            Self::Permission => permission::title(subject),
        }
    }

    /// One sentence that stands for the whole ask.
    pub fn summary<'a>(self, subject: Option<&'a Subject>, questions: &'a [Question]) -> Cow<'a, str> {
        match self {
            Self::Question => questions.first().map(|first| first.question.as_str().into()).unwrap_or_default(),
            Self::Plan => plan::summary(subject),
            Self::Form => form::summary(subject),
            Self::Permission => permission::summary(subject),
        }
    }

    /// One sentence for each question, in their order.
    pub fn lines<'a>(self, subject: Option<&'a Subject>, questions: &'a [Question]) -> Vec<Cow<'a, str>> {
        match self {
            Self::Question | Self::Form => questions.iter().map(|question| question.question.as_str().into()).collect(),
            Self::Plan | Self::Permission => vec![self.summary(subject, questions)],
        }
    }

    /// Whether choosing this option lets the agent do something. Such an option is never chosen by accident: not by its beginning, not as
    /// a default, not with a single key.
    pub fn is_approval(self, label: &str) -> bool {
        match self {
            Self::Permission => label != permission::DENY,
            Self::Plan => label != plan::KEEP_PLANNING,
            Self::Question | Self::Form => false,
        }
    }

    /// What words of a person's own come to, beside the options. `None` if they are an answer like any other.
    pub fn own_words(self) -> Option<&'static str> {
        match self {
            Self::Permission => Some("deny the call"),
            Self::Plan => Some("send the plan back"),
            Self::Question | Self::Form => None,
        }
    }

    /// The rules of a kind for an answer that fits the questions.
    pub fn check(self, subject: Option<&Subject>, questions: &[Question], answer: &Answer) -> Result<(), AnswerError> {
        let about_the_only = |problem: String| {
            let question = questions.first().map(|question| question.question.clone()).unwrap_or_default();
            vec![QuestionFault { question, problem }]
        };
        let is_too_large = answer.edited.as_ref().is_some_and(|edited| length(edited) > MAX_SUBJECT);
        let faults = match self {
            _ if is_too_large => about_the_only(format!("an edit has at most {} KiB", MAX_SUBJECT / 1024)),
            Self::Permission => permission::fault(subject, questions, answer).map(about_the_only).unwrap_or_default(),
            Self::Plan => plan::fault(questions, answer).map(about_the_only).unwrap_or_default(),
            Self::Question | Self::Form if answer.edited.is_some() => {
                about_the_only(format!("a {} cannot be edited", self.noun()))
            }
            Self::Form => form::faults(subject, questions, answer),
            Self::Question => Vec::new(),
        };
        if faults.is_empty() { Ok(()) } else { Err(AnswerError { faults }) }
    }
}

fn length(fields: &Map<String, Value>) -> usize {
    serde_json::to_string(fields).map_or(usize::MAX, |json| json.len())
}

impl Subject {
    /// Whether these fields are few enough for a subject.
    pub fn fits(fields: &Map<String, Value>) -> bool {
        length(fields) <= MAX_SUBJECT
    }

    /// All of its fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// One of its fields.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A field that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// A field that is an object.
    pub fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.get(name)?.as_object()
    }
}

impl TryFrom<Map<String, Value>> for Subject {
    type Error = SubjectTooLarge;

    fn try_from(fields: Map<String, Value>) -> Result<Self, SubjectTooLarge> {
        match length(&fields) {
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
        assert_eq!(names, ["question", "plan", "form", "permission"]);
        assert_eq!(names.map(|name| serde_json::from_value::<Kind>(name).unwrap()), Kind::ALL);
    }

    #[test]
    fn only_permissions_and_plans_approve() {
        let approvals = |kind: Kind, labels: [&'static str; 3]| labels.map(|label| kind.is_approval(label));
        assert_eq!(approvals(Kind::Permission, ["Allow once", "Always allow Bash(ls)", "Deny"]), [true, true, false]);
        let plan = ["Approve, accept edits", "Approve, ask before each edit", "Keep planning"];
        assert_eq!(approvals(Kind::Plan, plan), [true, true, false]);
        assert_eq!(approvals(Kind::Question, ["Allow once", "Yes", "Deny"]), [false; 3]);
        assert!(Kind::ALL.into_iter().all(|kind| kind.own_words().is_some() == kind.is_approval("Allow once")));
    }

    #[test]
    fn a_subject_is_an_object_of_bounded_size() {
        let read = |json: Value| serde_json::from_value::<Subject>(json).map_err(|error| error.to_string());
        let subject = json!({"tool": "Bash", "input": {"command": "ls"}});
        assert_eq!(serde_json::to_value(read(subject.clone()).unwrap()).unwrap(), subject);
        assert!(read(json!({"plan": "x".repeat(MAX_SUBJECT - 11)})).is_ok());
        assert!(read(json!({"plan": "x".repeat(MAX_SUBJECT - 10)})).unwrap_err().contains("524289"));
        assert!(read(json!("text")).is_err() && read(json!([])).is_err());
    }
}
