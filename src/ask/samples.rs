//! Asks for the tests of every module.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::permission::{ALLOW_ONCE, DENY};
use super::{Ask, AskId, Host, Kind, NewAsk, OnTimeout, Origin, Question, QuestionOption, Questions, Topic, plan};

fn questions(count: usize) -> Questions {
    let option = |label: &str| QuestionOption { label: label.into(), description: String::new(), preview: None };
    let question = |n: usize| Question {
        question: format!("Which database, {n}?"),
        header: "Database".into(),
        options: vec![option("SQLite"), option("PostgreSQL")],
        multi_select: false,
        free_text: true,
        optional: false,
    };
    Questions::new((0..count).map(question).collect()).unwrap()
}

/// A permission that the agent waits for.
pub(crate) fn permission() -> Ask {
    let labels = [ALLOW_ONCE, "Always allow Bash(npm test)", DENY];
    let subject = json!({"tool": "Bash", "command": "npm test", "directory": "/home/me/shop",
        "input": {"command": "npm test", "description": "Runs the tests"}, "grants": []});
    of_kind(Kind::Permission, subject, "Allow Bash?\n\nnpm test", &labels)
}

/// A plan that the agent waits for.
pub(crate) fn plan() -> Ask {
    let labels = [plan::ACCEPT_EDITS, plan::ASK_BEFORE_EDITS, plan::KEEP_PLANNING];
    let subject = json!({"plan": "\n# Add a search\n\n1. Index", "file": "/home/me/.claude/plans/a.md"});
    of_kind(Kind::Plan, subject, "Approve this plan?", &labels)
}

/// A form of a server that the agent uses.
pub(crate) fn form() -> Ask {
    let field = json!({"name": "port", "question": "Port", "type": "integer", "required": true});
    let subject = json!({"server": "shop", "message": "Where?", "mode": "form", "fields": [field]});
    of_kind(Kind::Form, subject, "Port", &[])
}

/// What such an ask is about.
pub(crate) fn topic(kind: Kind) -> Topic {
    let Ask { subject, questions, .. } = match kind {
        Kind::Question => ask(1, "s__t", "shop", 1),
        Kind::Plan => plan(),
        Kind::Form => form(),
        Kind::Permission => permission(),
    };
    Topic::new(kind, subject.map(|subject| subject.fields().clone()), questions).unwrap()
}

fn of_kind(kind: Kind, subject: Value, question: &str, labels: &[&str]) -> Ask {
    let options: Vec<_> = labels.iter().map(|label| json!({"label": label})).collect();
    let questions = json!([{"question": question, "options": options}]);
    Ask {
        kind,
        subject: Some(serde_json::from_value(subject).unwrap()),
        questions: serde_json::from_value(questions).unwrap(),
        ..ask(1, "s__t", "shop", 1)
    }
}

/// What a program asks, with no deadline.
pub(crate) fn new_ask(key: &str) -> NewAsk {
    NewAsk {
        key: key.parse().unwrap(),
        origin: Origin::Program,
        project: None,
        topic: Topic::of_questions(questions(1)),
        detail: String::new(),
        expires_at: None,
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: None,
        asker: None,
        asked_by: None,
    }
}

/// An open ask of one project with so many questions.
pub(crate) fn ask(id: i64, key: &str, project: &str, count: usize) -> Ask {
    Ask {
        id: AskId(id),
        key: key.parse().unwrap(),
        origin: Origin::ClaudeCode,
        project: (!project.is_empty()).then(|| format!("/home/me/{project}")),
        kind: Kind::Question,
        subject: None,
        questions: questions(count),
        opened_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: None,
        asker: None,
        asked_by: None,
        host: Host::new("here"),
        deferred: false,
        settlement: None,
        receipt: None,
    }
}
