//! What an agent reports about one of its calls. A report may prove that an answer was received, or tell of an answer that was given at
//! the agent's own dialog. It never approves anything: what it tells has happened already.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::permission::{self, DENY};
use super::plan::{self, KEEP_PLANNING};
use super::{Answer, Ask, AskKey, Kind};

/// How a call that was allowed elsewhere reads. Nobody knows which of the options it was.
const ALLOWED: &str = "Allowed";
const APPROVED: &str = "Approved";

/// The agent's report about one of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The call, as the agent names it.
    pub key: AskKey,
    /// The process that made the call.
    pub asker: Option<String>,
    /// The digest of the call's input. `None` if the report does not repeat the input.
    pub digest: Option<String>,
    pub news: News,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The agent has these answers.
    Answers {
        /// Question text to answer.
        answers: IndexMap<String, String>,
        /// Question text to note.
        notes: IndexMap<String, String>,
    },
    /// The tool was run, with this input if the report repeats it.
    Ran(Option<Map<String, Value>>),
    /// The tool was not run. These are the words of a person who refused it. `None` if nobody is known to have refused.
    Refused(Option<String>),
}

impl Ask {
    /// The answer that somebody must have given elsewhere, for this to have happened.
    pub fn answer_behind(&self, news: &News) -> Option<Answer> {
        let only = |text: &str, note: Option<&String>| {
            let question = self.questions.iter().next()?.question.clone();
            let notes = note.map(|note| (question.clone(), note.clone())).into_iter().collect();
            Some(Answer { answers: [(question, text.to_owned())].into(), notes, edited: None })
        };
        match (self.kind, news) {
            (Kind::Permission, News::Ran(_)) => only(ALLOWED, None),
            (Kind::Permission, News::Refused(Some(words))) => only(DENY, Some(words)),
            (Kind::Plan, News::Ran(_)) => only(APPROVED, None),
            (Kind::Plan, News::Refused(Some(words))) => only(KEEP_PLANNING, Some(words)),
            (_, News::Answers { answers, notes }) => {
                let (mut answers, mut notes) = (answers.clone(), notes.clone());
                answers.retain(|question, _| self.questions.get(question).is_some());
                notes.retain(|question, _| self.questions.get(question).is_some());
                (!answers.is_empty()).then_some(Answer { answers, notes, edited: None })
            }
            (_, News::Refused(_)) | (Kind::Question | Kind::Form, News::Ran(_)) => None,
        }
    }

    /// Whether the agent did what this answer says.
    pub fn was_followed(&self, sent: &Answer, news: &News) -> bool {
        let questions = self.questions.as_slice();
        match (self.kind, news) {
            (Kind::Permission, News::Ran(input)) => {
                matches!(permission::ruling(questions, sent), permission::Ruling::Allow(_))
                    && input.as_ref().is_none_or(|input| self.input_with(sent).as_ref() == Some(input))
            }
            (Kind::Permission, News::Refused(_)) => {
                matches!(permission::ruling(questions, sent), permission::Ruling::Deny(_))
            }
            (Kind::Plan, News::Ran(_)) => matches!(plan::ruling(questions, sent), plan::Ruling::Approve { .. }),
            (Kind::Plan, News::Refused(_)) => matches!(plan::ruling(questions, sent), plan::Ruling::KeepPlanning(_)),
            _ => self.answer_behind(news).is_some_and(|received| received.answers == sent.answers),
        }
    }

    /// The input of the call, with what the person has changed in it.
    pub fn input_with(&self, answer: &Answer) -> Option<Map<String, Value>> {
        let mut input = self.subject.as_ref()?.object("input")?.clone();
        input.extend(answer.edited.iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        Some(input)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ask::permission::ALLOW_ONCE;
    use crate::ask::samples;

    fn sent(ask: &Ask, text: &str, edited: Value) -> Answer {
        let question = ask.questions.as_slice()[0].question.clone();
        let edited = edited.as_object().cloned();
        Answer { answers: [(question, text.to_owned())].into(), notes: IndexMap::new(), edited }
    }

    #[test]
    fn a_call_that_ran_follows_only_the_approval_of_that_input() {
        let ask = samples::permission();
        let input = |command: &str| json!({"command": command, "description": "Runs the tests"}).as_object().cloned();
        let edit = || json!({"command": "npm test --quick"});
        for (text, edited, ran, followed) in [
            (ALLOW_ONCE, json!(null), input("npm test"), true),
            (ALLOW_ONCE, json!(null), None, true),
            (ALLOW_ONCE, json!(null), input("rm -rf /"), false),
            (ALLOW_ONCE, edit(), input("npm test --quick"), true),
            (ALLOW_ONCE, edit(), input("npm test"), false),
            (DENY, json!(null), input("npm test"), false),
            ("no", json!(null), None, false),
        ] {
            let news = News::Ran(ran);
            assert_eq!(ask.was_followed(&sent(&ask, text, edited), &news), followed, "{text} {news:?}");
        }
        assert!(ask.was_followed(&sent(&ask, "no", json!(null)), &News::Refused(None)));
        assert!(!ask.was_followed(&sent(&ask, ALLOW_ONCE, json!(null)), &News::Refused(None)));
    }

    #[test]
    fn a_report_tells_what_was_said_elsewhere() {
        let (permission, plan) = (samples::permission(), samples::plan());
        let said = |ask: &Ask, news: News| {
            let answer = ask.answer_behind(&news).unwrap();
            (answer.answers[0].clone(), answer.notes.values().next().cloned())
        };
        let refused = || News::Refused(Some("tests first".to_owned()));
        assert_eq!(said(&permission, News::Ran(None)), ("Allowed".to_owned(), None));
        assert_eq!(said(&permission, refused()), ("Deny".to_owned(), Some("tests first".to_owned())));
        assert_eq!(said(&plan, News::Ran(None)), ("Approved".to_owned(), None));
        assert_eq!(said(&plan, refused()), ("Keep planning".to_owned(), Some("tests first".to_owned())));
        // The agent was stopped by something else, and nobody said no.
        assert_eq!(
            (permission.answer_behind(&News::Refused(None)), plan.answer_behind(&News::Refused(None))),
            (None, None)
        );
        let question = samples::ask(1, "s__t", "shop", 1);
        assert_eq!(question.answer_behind(&News::Ran(None)), None);
        // What is told elsewhere is never an approval that could be used again.
        let allowed = permission.answer_behind(&News::Ran(None)).unwrap();
        let ruling = permission::ruling(permission.questions.as_slice(), &allowed);
        assert!(matches!(ruling, permission::Ruling::Deny(_)));
    }
}
