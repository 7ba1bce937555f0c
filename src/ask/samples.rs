//! Asks for the tests of every module.

use jiff::Timestamp;

use super::{Ask, AskId, Host, Kind, NewAsk, OnTimeout, Origin, Question, QuestionOption, Questions};

fn questions(count: usize) -> Questions {
    let option = |label: &str| QuestionOption { label: label.into(), description: String::new(), preview: None };
    let question = |n: usize| Question {
        question: format!("Which database, {n}?"),
        header: "Database".into(),
        options: vec![option("SQLite"), option("PostgreSQL")],
        multi_select: false,
        free_text: true,
    };
    Questions::new((0..count).map(question).collect()).unwrap()
}

/// What a program asks, with no deadline.
pub(crate) fn new_ask(key: &str) -> NewAsk {
    NewAsk {
        key: key.parse().unwrap(),
        origin: Origin::Program,
        project: None,
        kind: Kind::Question,
        subject: None,
        questions: questions(1),
        detail: String::new(),
        expires_at: None,
        on_timeout: OnTimeout::Native,
        racing: false,
        digest: None,
        asker: None,
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
        host: Host::new("here"),
        deferred: false,
        settlement: None,
        receipt: None,
    }
}
