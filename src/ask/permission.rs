//! The kind `permission`: may the agent use this tool, now and in this way?
//!
//! An approval is power. Only the exact label of an option allows, and every other text denies. So a slip of the finger, a text in another
//! language or an answer to another question never approves anything.

use std::borrow::Cow;

use super::topic::check_single;
use super::{Answer, Question, Subject};

/// The option that allows this one call.
pub const ALLOW_ONCE: &str = "Allow once";
/// The option that denies it.
pub const DENY: &str = "Deny";

/// What an answer says about the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling<'a> {
    /// Run it. This is the label that was chosen.
    Allow(&'a str),
    /// Do not run it. These are the person's words, if there are any.
    Deny(Option<&'a str>),
}

/// What an answer says about the call. An answer to no question denies.
pub fn ruling<'a>(questions: &'a [Question], answer: &'a Answer) -> Ruling<'a> {
    let [question] = questions else { return Ruling::Deny(None) };
    let note = answer.notes.get(&question.question).map(String::as_str);
    match answer.answers.get(&question.question).map(String::as_str) {
        Some(DENY) | None => Ruling::Deny(note),
        Some(text) => match question.options.iter().find(|option| option.label == text) {
            Some(option) => Ruling::Allow(&option.label),
            None => Ruling::Deny(Some(text)),
        },
    }
}

/// The parts of a subject that are objects.
#[expect(dead_code, reason = "only the shape is checked")]
mod shape {
    use serde::Deserialize;

    #[derive(Deserialize)]
    pub(super) struct Grant<'a> {
        label: &'a str,
        rules: Vec<&'a str>,
        file: Option<&'a str>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Diff<'a> {
        is_new: bool,
        replaces_unseen: bool,
        #[serde(borrow)]
        hunks: Vec<Hunk<'a>>,
    }

    #[derive(Deserialize)]
    struct Hunk<'a> {
        old: Option<u64>,
        new: Option<u64>,
        #[serde(borrow)]
        lines: Vec<&'a str>,
    }

    #[derive(Deserialize)]
    pub(super) struct Agent<'a> {
        id: &'a str,
        #[serde(rename = "type")]
        kind: Option<&'a str>,
    }
}

/// Whether this is the subject of a permission.
pub(super) fn check(subject: &Subject, questions: &[Question]) -> Result<(), String> {
    subject.must_be::<&str>("tool", "a text")?;
    if subject.object("input").is_none() {
        return Err("`input` must be an object".to_owned());
    }
    for name in ["directory", "command", "path", "url", "server"] {
        subject.may_be::<&str>(name, "a text")?;
    }
    subject.may_be::<shape::Diff<'_>>("diff", "the difference of a file")?;
    subject.may_be::<shape::Agent<'_>>("agent", "an object with `id` and `type`")?;
    subject.must_be::<Vec<shape::Grant<'_>>>("grants", "an array of objects with `label`, `rules` and `file`")?;
    check_single(questions)
}

pub(super) fn title(subject: Option<&Subject>) -> Cow<'_, str> {
    tool(subject).into()
}

/// The tool, and what it would do. A command of several lines is on one line where there is room for one only.
pub(super) fn summary(subject: Option<&Subject>) -> Cow<'_, str> {
    let object = ["command", "path", "url"].iter().find_map(|name| subject?.text(name));
    match object {
        Some(object) => format!("Allow {}: {object}", tool(subject)).into(),
        None => format!("Allow {}?", tool(subject)).into(),
    }
}

/// Whether the summary says all that the call would do: a command of one line in letters that look like nothing else, and no other input
/// but its description, which does nothing.
pub(super) fn is_told_by_summary(subject: Option<&Subject>) -> bool {
    let command = subject.and_then(|subject| subject.text("command"));
    let input = subject.and_then(|subject| subject.object("input"));
    command.is_some_and(|command| command.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()))
        && input.is_some_and(|input| input.keys().all(|name| ["command", "description"].contains(&name.as_str())))
}

fn tool(subject: Option<&Subject>) -> &str {
    subject.and_then(|subject| subject.text("tool")).unwrap_or("the tool")
}

/// What is wrong with an answer, beyond what is wrong with any answer.
pub(super) fn fault(subject: Option<&Subject>, questions: &[Question], answer: &Answer) -> Option<String> {
    let Ruling::Allow(label) = ruling(questions, answer) else {
        return answer.edited.is_some().then(|| "a denied call cannot be edited".to_owned());
    };
    if !answer.notes.is_empty() {
        return Some(format!("an allowed call takes no note; choose `{DENY}` to send words to the agent"));
    }
    if answer.edited.is_some() && label != ALLOW_ONCE {
        return Some(format!("a rule is for the call as the agent wrote it; an edited call takes `{ALLOW_ONCE}`"));
    }
    let input = subject.and_then(|subject| subject.object("input"));
    let strange = answer.edited.iter().flatten().find(|(name, _)| input.is_none_or(|input| !input.contains_key(*name)));
    if let Some((name, _)) = strange {
        return Some(format!("the call has no field `{name}` that could be edited"));
    }
    let command = answer.edited.as_ref().and_then(|edited| edited.get("command")).and_then(|command| command.as_str());
    let is_empty = command.is_some_and(|command| command.trim().is_empty());
    is_empty.then(|| format!("an empty command cannot be allowed; choose `{DENY}` to stop the call"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ask::samples::permission;

    fn answer(text: &str, note: Option<&str>) -> Answer {
        let question = permission().questions.as_slice()[0].question.clone();
        let notes = note.map(|note| (question.clone(), note.to_owned()));
        Answer { answers: [(question, text.to_owned())].into(), notes: notes.into_iter().collect(), edited: None }
    }

    #[test]
    fn only_the_exact_label_of_an_option_allows() {
        let ask = permission();
        for (text, note, expected) in [
            ("Allow once", None, Ruling::Allow("Allow once")),
            ("Always allow Bash(npm test)", None, Ruling::Allow("Always allow Bash(npm test)")),
            ("Deny", None, Ruling::Deny(None)),
            ("Deny", Some("not on Fridays"), Ruling::Deny(Some("not on Fridays"))),
            ("allow once", None, Ruling::Deny(Some("allow once"))),
            ("Allow once ", None, Ruling::Deny(Some("Allow once "))),
            ("yes", None, Ruling::Deny(Some("yes"))),
            ("Allow once, Deny", None, Ruling::Deny(Some("Allow once, Deny"))),
        ] {
            assert_eq!(ruling(ask.questions.as_slice(), &answer(text, note)), expected, "{text}");
        }
        assert_eq!(ruling(&[], &answer("Allow once", None)), Ruling::Deny(None));
    }

    #[test]
    fn what_an_approval_may_carry() {
        let ask = permission();
        let fault = |answer: &Answer| fault(ask.subject.as_ref(), ask.questions.as_slice(), answer);
        assert_eq!(fault(&answer("Allow once", None)), None);
        assert_eq!(fault(&answer("Deny", Some("no"))), None);
        assert!(fault(&answer("Allow once", Some("go"))).unwrap().contains("takes no note"));
        for (text, edited, refused) in [
            ("Allow once", json!({"command": "npm test --quick"}), None),
            ("Allow once", json!({"timeout": 1}), Some("`timeout`")),
            ("Allow once", json!({"command": " "}), Some("empty command")),
            ("Always allow Bash(npm test)", json!({"command": "ls"}), Some("a rule is for")),
            ("Deny", json!({"command": "ls"}), Some("denied call")),
            ("other words", json!({"command": "ls"}), Some("denied call")),
        ] {
            let answer = Answer { edited: edited.as_object().cloned(), ..answer(text, None) };
            let found = fault(&answer);
            assert_eq!(found.is_some(), refused.is_some(), "{text} {edited}");
            assert!(refused.is_none_or(|part| found.unwrap().contains(part)));
        }
    }

    #[test]
    fn its_words() {
        let ask = permission();
        assert_eq!(ask.title(), "Bash");
        assert_eq!(ask.lines(), ["Allow Bash: npm test"]);
    }
}
