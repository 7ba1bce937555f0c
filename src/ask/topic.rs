//! What a new ask is about: a kind with a subject and questions that fit it.
//!
//! Asks come from hooks, from programs and from other machines, and every companion relies on the shape of a subject. A
//! [`NewAsk`](super::NewAsk) takes only a [`Topic`], so no way in can forget the check. An [`Ask`](super::Ask) from a store has the three
//! parts by themselves: an old or damaged one can still be read.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Kind, Question, Questions, Subject, SubjectTooLarge, form, permission, plan};

/// A kind, its subject and its questions, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    kind: Kind,
    subject: Option<Subject>,
    questions: Questions,
}

/// Why a kind, a subject and questions cannot be asked together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// The subject is too large.
    #[error(transparent)]
    TooLarge(#[from] SubjectTooLarge),
    /// A question that has a subject.
    #[error("a question has no subject, and this has one")]
    HasSubject,
    /// Another kind without one.
    #[error("this {} has no subject", .0.noun())]
    NoSubject(Kind),
    /// The subject does not have the fields of its kind, or the questions are not those of the subject.
    #[error("this is not the subject of a {}: {problem}", kind.noun())]
    Misfit { kind: Kind, problem: String },
}

impl Topic {
    /// Checks that they fit.
    pub fn new(kind: Kind, subject: Option<Map<String, Value>>, questions: Questions) -> Result<Self, TopicError> {
        let subject = subject.map(Subject::try_from).transpose()?;
        let checked = match (kind, &subject) {
            (Kind::Question, None) => Ok(()),
            (Kind::Question, Some(_)) => return Err(TopicError::HasSubject),
            (_, None) => return Err(TopicError::NoSubject(kind)),
            (Kind::Plan, Some(subject)) => plan::check(subject, questions.as_slice()),
            (Kind::Form, Some(subject)) => form::check(subject, questions.as_slice()),
            (Kind::Permission, Some(subject)) => permission::check(subject, questions.as_slice()),
        };
        checked.map_err(|problem| TopicError::Misfit { kind, problem })?;
        Ok(Self { kind, subject, questions })
    }

    /// Questions of the asker's own.
    pub fn of_questions(questions: Questions) -> Self {
        Self { kind: Kind::Question, subject: None, questions }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    pub fn questions(&self) -> &Questions {
        &self.questions
    }
}

/// What a kind demands of the fields of its subject. An error names the field.
impl Subject {
    /// A field that must be there.
    pub(super) fn must_be<'a, T: Deserialize<'a>>(&'a self, name: &str, what: &str) -> Result<T, String> {
        let value = self.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
        T::deserialize(value).map_err(|_| format!("`{name}` must be {what}"))
    }

    /// A field that may be absent. It may not be null: companions tell the two apart.
    pub(super) fn may_be<'a, T: Deserialize<'a>>(&'a self, name: &str, what: &str) -> Result<(), String> {
        if self.get(name).is_none() { Ok(()) } else { self.must_be::<T>(name, what).map(drop) }
    }
}

/// The decision about one thing is one question.
pub(super) fn check_single(questions: &[Question]) -> Result<(), String> {
    if questions.len() == 1 { Ok(()) } else { Err(format!("it has one question, and here are {}", questions.len())) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ask::samples;

    #[test]
    fn what_hooks_make_fits() {
        for ask in [samples::permission(), samples::plan(), samples::form()] {
            let fields = ask.subject.as_ref().map(|subject| subject.fields().clone());
            let topic = Topic::new(ask.kind, fields, ask.questions.clone()).unwrap();
            assert_eq!(
                (topic.kind(), topic.subject(), topic.questions()),
                (ask.kind, ask.subject.as_ref(), &ask.questions)
            );
        }
    }

    #[test]
    fn a_damaged_field_is_named() {
        for ask in [samples::permission(), samples::plan(), samples::form()] {
            let fields = ask.subject.as_ref().map(|subject| subject.fields().clone()).unwrap();
            for name in fields.keys() {
                let damaged = Map::from_iter(
                    fields
                        .iter()
                        .map(|(other, value)| (other.clone(), if other == name { json!(5) } else { value.clone() })),
                );
                let error = Topic::new(ask.kind, Some(damaged), ask.questions.clone()).unwrap_err();
                assert!(error.to_string().contains(&format!("`{name}`")), "{name}: {error}");
            }
        }
    }
}
