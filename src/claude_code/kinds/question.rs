//! The kind `question`: calls of `AskUserQuestion`.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::ask::{Answer, Ask, Channel, News, Questions, Topic};

use super::super::call::HookInput;
use super::super::changed_file::CurrentFile;
use super::super::reply::quoted;
use super::tool_input::{self, InputError};
use super::{Asked, CallKind, Decision, Reported};

/// The tools that ask questions. The last one is for probes.
const TOOLS: [&str; 3] = ["AskUserQuestion", "AskFollowupQuestion", PROBE_TOOL];

/// The tool name of probes, the questions that Answerback asks itself. No agent has a tool of this name, and no repository or model can
/// choose the tool name in a hook's input. So a real question is never taken for a probe and hidden.
pub const PROBE_TOOL: &str = "AnswerbackProbe";

/// A call of a tool that asks questions. The answers go into the tool's input.
pub(super) struct Question;

impl CallKind for Question {
    fn is_asked_by(&self, hook: &HookInput) -> bool {
        TOOLS.contains(&hook.tool_name.as_str())
    }

    fn asked(&self, hook: &HookInput, _file: &CurrentFile) -> Result<Asked, InputError> {
        let questions = tool_input::questions(hook.tool_input.as_ref().unwrap_or(&Value::Null))?;
        Ok(Asked { topic: Topic::of_questions(questions), digest: self.digest(hook)? })
    }

    fn digest(&self, hook: &HookInput) -> Result<String, InputError> {
        tool_input::digest(hook.tool_input.as_ref().unwrap_or(&Value::Null))
    }

    fn reported(&self, hook: &HookInput) -> Result<Reported, InputError> {
        let tool_input = hook.tool_input.as_ref().unwrap_or(&Value::Null);
        let seen = |field| {
            let in_response = hook.tool_response.as_ref().and_then(|response| response.get(field));
            in_response.or_else(|| tool_input.get(field)).and_then(Value::as_object)
        };
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Array(labels) => labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        let answers = seen("answers").into_iter().flatten();
        let notes = seen("annotations").into_iter().flatten();
        let note = |about: &Value| Some(about.get("notes")?.as_str()?.to_owned());
        let news = News::Answers {
            answers: answers.map(|(question, answer)| (question.clone(), text(answer))).collect(),
            notes: notes.filter_map(|(question, about)| Some((question.clone(), note(about)?))).collect(),
        };
        Ok(Reported { digest: Some(self.digest(hook)?), news })
    }

    /// The whole original input goes back, with the answers in it.
    fn decide(&self, ask: &Ask, answer: &Answer, hook: Option<&HookInput>) -> Decision {
        let tool_input = hook.and_then(|hook| hook.tool_input.as_ref());
        let original = tool_input.and_then(|tool_input| tool_input::normalise(tool_input).ok());
        let mut input = original.unwrap_or_else(|| {
            // The answer still gets through. Only the other fields of the input are lost.
            tracing::error!(key = %ask.key, "the stored call is damaged");
            Map::from_iter([("questions".to_owned(), json!(ask.questions))])
        });
        input.insert("answers".into(), json!(answer.answers));
        let annotations = annotations(&ask.questions, answer);
        if !annotations.is_empty() {
            input.insert("annotations".into(), Value::Object(annotations));
        }
        Decision::Allow { input: Some(input), permissions: Vec::new() }
    }

    fn noun(&self) -> &'static str {
        "question"
    }

    fn context(&self, ask: &Ask, answer: &Answer) -> Option<String> {
        let by = ask.settlement.as_ref().and_then(|settlement| settlement.by.as_ref());
        let channel = match by.map(|by| by.channel) {
            Some(Channel::Device) => "on the Answerback page",
            Some(Channel::Token) => "through the Answerback HTTP endpoint",
            Some(Channel::Socket) => "with an Answerback command on this machine",
            Some(Channel::Terminal) => "in the terminal",
            Some(Channel::Notification) => "from an Answerback notification",
            Some(Channel::Away) => "in advance, because they are away",
            Some(Channel::Hub) | None => "through Answerback",
        };
        let mut text = format!("The user answered {channel}");
        if let Some(agent) = by.and_then(|by| by.agent.as_deref()) {
            // Writing to a string does not fail, here and below.
            let _ = write!(text, " (client {})", quoted(agent));
        }
        text.push_str(". These are the user's own answers:");
        for question in &ask.questions {
            let _ = write!(text, "\n- Question: {}", quoted(&question.question));
            match answer.answers.get(&question.question) {
                Some(answer) => drop(write!(text, "\n  Answer: {}", quoted(answer))),
                None => text.push_str("\n  The user left this question unanswered. Do not assume an answer."),
            }
            if let Some(note) = answer.notes.get(&question.question) {
                let _ = write!(text, "\n  Note: {}", quoted(note));
            }
        }
        Some(text)
    }
}

/// The person's notes, and the preview of the option that was chosen.
fn annotations(questions: &Questions, answer: &Answer) -> Map<String, Value> {
    let mut annotations = Map::new();
    for question in questions {
        let mut annotation = Map::new();
        let chosen = answer.answers.get(&question.question);
        let option = question.options.iter().find(|option| Some(&option.label) == chosen);
        if let Some(preview) = option.and_then(|option| option.preview.as_ref()) {
            annotation.insert("preview".into(), json!(preview));
        }
        if let Some(note) = answer.notes.get(&question.question) {
            annotation.insert("notes".into(), json!(note));
        }
        if !annotation.is_empty() {
            annotations.insert(question.question.clone(), Value::Object(annotation));
        }
    }
    annotations
}
