//! An ask, how it ended, and lists of asks.

use std::borrow::Cow;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::ask::{Ask, Kind, Origin, Outcome, OutcomeKind, Question, Receipt, Source, Subject};

use super::times::{time, time_or_null};

/// One tool call that needs a person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskView {
    /// The name of the ask: `session__toolUseId`.
    pub key: String,
    /// A key can be asked again after it was withdrawn or released, or has expired. Each time has an id of its own.
    pub id: i64,
    /// The id of the session that asks. It is the first part of the key.
    pub session: String,
    /// The id of the tool call. It is the second part of the key.
    pub tool_use_id: String,
    /// Who opened the ask.
    pub origin: Origin,
    /// The directory that the asker works in. Null if it is unknown.
    #[cfg_attr(test, schema(required = true))]
    pub project: Option<String>,
    /// The machine that the asker runs on. A project is the same one only on the same host.
    // A daemon from before there were hosts does not say. It has only its own.
    #[serde(default)]
    #[cfg_attr(test, schema(required = true))]
    pub host: String,
    /// The name that the program gave itself. Absent if it gave none, and for an ask of a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// What sort of decision is wanted.
    // A daemon from before there were kinds does not say. It knows only questions.
    #[serde(default, deserialize_with = "known_or_question")]
    #[cfg_attr(test, schema(required = true))]
    pub kind: Kind,
    /// The thing to decide about, in a shape that depends on the kind. Null for a question.
    #[cfg_attr(test, schema(value_type = Option<Object>, required = true))]
    pub subject: Option<Subject>,
    /// The questions of the call, in their order.
    pub questions: Vec<Question>,
    pub state: State,
    /// Whether the agent's own dialog is open at the same time. The first answer wins.
    pub racing: bool,
    /// Whether the agent has started a command since it asked, so that the dialog was perhaps answered. Only for an open permission for
    /// a command, on Linux, and only in the replies to `listAsks` and `getAsk`. Only true is ever written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub perhaps_answered: bool,
    /// Whether the run has ended to wait for the answer. The answer is kept until the run is resumed.
    pub deferred: bool,
    /// The time at which the ask was opened.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub opened_at: Timestamp,
    /// The deadline. Null if there is none.
    #[serde(serialize_with = "time_or_null")]
    #[cfg_attr(test, schema(value_type = Option<String>, format = DateTime, required = true))]
    pub expires_at: Option<Timestamp>,
    /// The time at which the ask ended. Null while it is open.
    #[serde(serialize_with = "time_or_null")]
    #[cfg_attr(test, schema(value_type = Option<String>, format = DateTime, required = true))]
    pub settled_at: Option<Timestamp>,
    /// How the ask ended. Null while it is open.
    #[cfg_attr(test, schema(required = true))]
    pub outcome: Option<OutcomeView>,
    /// The agent's own report of the answers that it received. Null until there is one.
    #[cfg_attr(test, schema(required = true))]
    pub receipt: Option<Receipt>,
}

/// Every ask has questions. So a kind that only a newer daemon knows can still be shown and answered.
fn known_or_question<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    let name = Value::deserialize(deserializer)?;
    Ok(Kind::deserialize(name).unwrap_or_default())
}

/// Whether an ask still waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for an answer.
    Open,
    /// It has its outcome.
    Settled,
}

/// How an ask ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct OutcomeView {
    pub kind: OutcomeKind,
    /// The answers, by the text of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<std::collections::HashMap<String, String>>))]
    pub answers: Option<IndexMap<String, String>>,
    /// The notes, by the text of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<std::collections::HashMap<String, String>>))]
    pub notes: Option<IndexMap<String, String>>,
    /// What the person changed before they approved: fields that replaced fields of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    pub edited: Option<Map<String, Value>>,
    /// The reason that came with a dismissal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who settled the ask. Null if nobody did, as when it expires.
    #[cfg_attr(test, schema(required = true))]
    pub by: Option<Source>,
}

impl From<&Ask> for AskView {
    fn from(ask: &Ask) -> Self {
        Self {
            key: ask.key.to_string(),
            id: ask.id.0,
            session: ask.key.session().to_owned(),
            tool_use_id: ask.key.tool_use_id().to_owned(),
            origin: ask.origin,
            project: ask.project.clone(),
            host: ask.host.as_str().to_owned(),
            asked_by: ask.asked_by.clone(),
            kind: ask.kind,
            subject: ask.subject.clone(),
            questions: ask.questions.iter().cloned().collect(),
            state: if ask.is_open() { State::Open } else { State::Settled },
            racing: ask.racing,
            perhaps_answered: false,
            deferred: ask.deferred,
            receipt: ask.receipt.clone(),
            opened_at: ask.opened_at,
            expires_at: ask.expires_at,
            settled_at: ask.settlement.as_ref().map(|settlement| settlement.at),
            outcome: ask
                .settlement
                .as_ref()
                .map(|settlement| OutcomeView::new(&settlement.outcome, settlement.by.clone())),
        }
    }
}

impl AskView {
    /// A word or two about the ask. May be empty.
    pub fn title(&self) -> Cow<'_, str> {
        self.kind.title(self.subject.as_ref(), &self.questions)
    }

    /// One sentence that stands for the whole ask.
    pub fn summary(&self) -> Cow<'_, str> {
        self.kind.summary(self.subject.as_ref(), &self.questions)
    }

    /// One sentence for each question, in their order.
    pub fn lines(&self) -> Vec<Cow<'_, str>> {
        self.kind.lines(self.subject.as_ref(), &self.questions)
    }
}

impl OutcomeView {
    pub(super) fn new(outcome: &Outcome, by: Option<Source>) -> Self {
        let answer = outcome.answer();
        let notes = answer.map(|answer| &answer.notes).filter(|notes| !notes.is_empty());
        let reason = match outcome {
            Outcome::Dismissed { reason } => reason.clone(),
            _ => None,
        };
        let answers = answer.map(|answer| answer.answers.clone());
        let edited = answer.and_then(|answer| answer.edited.clone());
        Self { kind: outcome.kind(), answers, notes: notes.cloned(), edited, reason, by }
    }
}

/// A page of asks, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskList {
    pub asks: Vec<AskView>,
    /// The newest change that this list includes. Send it as `since`, or as `Last-Event-ID`.
    pub cursor: String,
    /// Send this as `before` to get the next page. Null on the last page.
    #[cfg_attr(test, schema(required = true))]
    pub next: Option<i64>,
    /// How many asks are missing because their rows in the store are damaged. `answerback doctor` names them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: usize,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    #[test]
    fn an_ask_without_a_kind_is_a_question() {
        let mut json = serde_json::to_value(AskView::from(&ask(1, "s__t", "shop", 1))).unwrap();
        assert_eq!((&json["kind"], &json["subject"]), (&Value::from("question"), &Value::Null));
        let fields = json.as_object_mut().unwrap();
        fields.remove("kind").unwrap();
        fields.remove("subject").unwrap();
        let view: AskView = serde_json::from_value(json.clone()).unwrap();
        assert_eq!((view.kind, &view.subject), (Kind::Question, &None));
        // A newer daemon may know more kinds.
        json["kind"] = Value::from("later");
        json["subject"] = serde_json::json!({"tool": "Bash"});
        assert_eq!(serde_json::from_value::<AskView>(json).unwrap().kind, Kind::Question);
        assert_eq!((view.title(), view.summary()), ("Database".into(), "Which database, 0?".into()));
    }
}
