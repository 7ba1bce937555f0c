//! What a companion says, and what it is told if that is refused.

use serde_json::Value;

use crate::api::{ClientFrame, ErrorFrame, Problem, Response, ServerFrame, Subscribe};
use crate::ask::{AskKey, Cursor};
use crate::http::strict_json;

/// Stands for a binary frame.
pub(super) const BINARY: &str = "\0";

/// A frame that is refused, and the question that it is about.
pub(super) struct Refused {
    pub(super) problem: Box<Problem>,
    pub(super) about: Option<String>,
}

impl Refused {
    pub(super) fn new(problem: impl Into<Problem>, about: Option<String>) -> Self {
        Self { problem: Box::new(problem.into()), about }
    }
}

/// Reads a frame.
pub(super) fn read(text: &[u8]) -> Result<ClientFrame, Problem> {
    if text == BINARY.as_bytes() {
        return Err(Problem::bad_request("A frame must be text, and this one is binary."));
    }
    strict_json::check(text)
        .map_err(|problem| Problem { title: problem.title.replace("The body", "The frame"), ..problem })?;
    let wrong = |error: serde_json::Error| {
        Problem::invalid(format!("The frame does not have the right shape: {error}."), Vec::new())
            .hint("GET /v1/asyncapi.json describes the frames.")
    };
    // serde would also accept an array with the fields in their order.
    let frame: Value = serde_json::from_slice(text).map_err(wrong)?;
    serde_json::from_value(frame).map_err(wrong)
}

/// The session and the cursor that a subscription names.
pub(super) fn wanted(frame: Subscribe) -> Result<(Option<String>, Option<Cursor>), Problem> {
    let invalid = |title: &str| Problem::invalid(title, Vec::new());
    let session = match (frame.session_id, frame.conversation_id) {
        (Some(one), Some(other)) if one != other => return Err(invalid("session_id and conversation_id differ.")),
        (one, other) => one.or(other),
    };
    if session.as_deref().is_some_and(|session| AskKey::new(session, "t").is_err()) {
        return Err(invalid("session_id is not the id of a session."));
    }
    let since = frame.since.map(|since| since.parse().ok().filter(|since| *since >= 0).map(Cursor));
    match since {
        Some(None) => Err(invalid("since is not a cursor of this daemon.")),
        since => Ok((session, since.flatten())),
    }
}

/// The ask that a response is about.
pub(super) fn named(response: &Response) -> Result<AskKey, Problem> {
    let key = match (&response.question_id, &response.session_id, &response.tool_call_id) {
        (Some(key), _, _) => key.parse().ok(),
        (None, Some(session), Some(call)) => AskKey::new(session, call).ok(),
        _ => {
            let missing = "The response names no question.";
            let hint = "Send question_id, or session_id (or conversation_id) and tool_call_id.";
            return Err(Problem::invalid(missing, Vec::new()).hint(hint));
        }
    };
    key.ok_or_else(Problem::unknown_ask)
}

pub(super) fn error(problem: Problem, question_id: Option<String>) -> ServerFrame {
    let kind = problem.kind.rsplit(':').next().unwrap_or_default().to_owned();
    ServerFrame::Error(Box::new(ErrorFrame {
        error: kind,
        message: problem.title,
        hint: problem.hint,
        question_id,
        outcome: problem.ask.and_then(|ask| ask.outcome),
        errors: problem.errors,
    }))
}
