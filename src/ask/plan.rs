//! The kind `plan`: may the agent carry out its plan?

use std::borrow::Cow;

use super::topic::check_single;
use super::{Answer, Question, Subject};

/// Approves, and lets the agent edit files without asking.
pub const ACCEPT_EDITS: &str = "Approve, accept edits";
/// Approves, and keeps asking before each edit.
pub const ASK_BEFORE_EDITS: &str = "Approve, ask before each edit";
/// Sends the agent back to its plan.
pub const KEEP_PLANNING: &str = "Keep planning";

/// What an answer says about the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling<'a> {
    Approve {
        /// Whether files may be edited without asking.
        accept_edits: bool,
    },
    /// Stay in plan mode. This is the person's feedback, if there is any.
    KeepPlanning(Option<Cow<'a, str>>),
}

/// What an answer says about the plan. Only the exact labels approve.
pub fn ruling<'a>(questions: &[Question], answer: &'a Answer) -> Ruling<'a> {
    let [question] = questions else { return Ruling::KeepPlanning(None) };
    let note = answer.notes.get(&question.question).map(String::as_str);
    match (answer.answers.get(&question.question).map(String::as_str), note) {
        (Some(ACCEPT_EDITS), _) => Ruling::Approve { accept_edits: true },
        (Some(ASK_BEFORE_EDITS), _) => Ruling::Approve { accept_edits: false },
        (Some(KEEP_PLANNING) | None, note) => Ruling::KeepPlanning(note.map(Into::into)),
        (Some(words), None) => Ruling::KeepPlanning(Some(words.into())),
        (Some(words), Some(note)) => Ruling::KeepPlanning(Some(format!("{words}\n\n{note}").into())),
    }
}

/// Whether this is the subject of a plan.
pub(super) fn check(subject: &Subject, questions: &[Question]) -> Result<(), String> {
    subject.must_be::<&str>("plan", "a text")?;
    subject.may_be::<Option<&str>>("file", "a text or null")?;
    check_single(questions)
}

pub(super) fn title() -> Cow<'static, str> {
    "Plan".into()
}

/// The first line of the plan, without the marks of a heading.
pub(super) fn summary(subject: Option<&Subject>) -> Cow<'_, str> {
    let plan = subject.and_then(|subject| subject.text("plan")).unwrap_or_default();
    let line = plan.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    match line {
        Some(line) => format!("Approve the plan: {line}").into(),
        None => "Approve the plan?".into(),
    }
}

/// What is wrong with an answer, beyond what is wrong with any answer.
pub(super) fn fault(questions: &[Question], answer: &Answer) -> Option<String> {
    let Ruling::Approve { .. } = ruling(questions, answer) else {
        return answer.edited.is_some().then(|| "only an approved plan can be edited".to_owned());
    };
    if !answer.notes.is_empty() {
        return Some(format!("an approved plan takes no note; choose `{KEEP_PLANNING}` to send words to the agent"));
    }
    let edited = answer.edited.as_ref()?;
    match edited.get("plan").and_then(|plan| plan.as_str()).filter(|_| edited.len() == 1) {
        None => Some("an edited plan is a text in the field `plan`, and nothing else".to_owned()),
        Some(plan) if plan.trim().is_empty() => {
            Some(format!("an empty plan cannot be approved; choose `{KEEP_PLANNING}` to send the plan back"))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ask::samples::plan;

    fn answer(text: &str, note: Option<&str>, edited: Value) -> Answer {
        let question = plan().questions.as_slice()[0].question.clone();
        let notes = note.map(|note| (question.clone(), note.to_owned()));
        let edited = edited.as_object().cloned();
        Answer { answers: [(question, text.to_owned())].into(), notes: notes.into_iter().collect(), edited }
    }

    #[test]
    fn only_the_exact_labels_approve() {
        let ask = plan();
        let keep = |words: &str| Ruling::KeepPlanning(Some(words.to_owned().into()));
        for (text, note, expected) in [
            (ACCEPT_EDITS, None, Ruling::Approve { accept_edits: true }),
            (ASK_BEFORE_EDITS, None, Ruling::Approve { accept_edits: false }),
            (KEEP_PLANNING, None, Ruling::KeepPlanning(None)),
            (KEEP_PLANNING, Some("tests first"), keep("tests first")),
            ("approve, accept edits", None, keep("approve, accept edits")),
            ("tests first", Some("and docs"), keep("tests first\n\nand docs")),
        ] {
            assert_eq!(ruling(ask.questions.as_slice(), &answer(text, note, json!(null))), expected, "{text}");
        }
    }

    #[test]
    fn what_an_approval_may_carry() {
        let ask = plan();
        for (text, note, edited, refused) in [
            (ACCEPT_EDITS, None, json!(null), None),
            (ACCEPT_EDITS, None, json!({"plan": "shorter"}), None),
            (ACCEPT_EDITS, Some("go"), json!(null), Some("no note")),
            (ACCEPT_EDITS, None, json!({"plan": 3}), Some("is a text")),
            (ACCEPT_EDITS, None, json!({"plan": " \n"}), Some("empty plan")),
            (ACCEPT_EDITS, None, json!({"planFilePath": "/etc/passwd"}), Some("is a text")),
            (KEEP_PLANNING, Some("no"), json!({"plan": "x"}), Some("only an approved plan")),
        ] {
            let found = fault(ask.questions.as_slice(), &answer(text, note, edited));
            assert_eq!(found.is_some(), refused.is_some(), "{text} {found:?}");
            assert!(refused.is_none_or(|part| found.unwrap().contains(part)));
        }
    }

    #[test]
    fn its_words() {
        assert_eq!(plan().title(), "Plan");
        assert_eq!(plan().lines(), ["Approve the plan: Add a search"]);
    }
}
