//! The requests and replies of the HTTP API, as types. The daemon serves them, and the commands use them.

mod away;
mod devices;
mod frames;
mod hooks;
mod schema;
mod sessions;
mod settling;
mod setup;

use std::borrow::Cow;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::ask::{
    Ask, Change, Kind, OnTimeout, Origin, Outcome, OutcomeKind, Question, QuestionFault, Receipt, Source, Subject,
};

pub use away::{AwayList, AwayRequest, AwayView};
pub use devices::{
    ClaimRequest, Claimed, ConfirmRequest, DeviceList, DeviceView, Pairing, PairingRequest, PairingState, PairingView,
    TokenRequest,
};
pub use frames::{
    AskUserQuestion, AskUserResponse, AskUserSettled, AskUserTimeout, Authenticate, ClientFrame, ErrorFrame, Response,
    ServerFrame, SessionStatus, SessionTaken, Subscribe, Subscribed,
};
pub use hooks::{HookInput, HookOutput};
pub use sessions::{SessionEvent, SessionList, SessionState, SessionView};
pub use settling::{AnswerRequest, DismissRequest, ReleaseRequest};
pub use setup::Setup;

/// One tool call that needs a person.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
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
    #[schema(required = true)]
    pub project: Option<String>,
    /// The name that the program gave itself. Absent if it gave none, and for an ask of a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// What sort of decision is wanted.
    // A daemon from before there were kinds does not say. It knows only questions.
    #[serde(default, deserialize_with = "known_or_question")]
    #[schema(required = true)]
    pub kind: Kind,
    /// The thing to decide about, in a shape that depends on the kind. Null for a question.
    #[schema(value_type = Option<Object>, required = true)]
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
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// The deadline. Null if there is none.
    #[serde(serialize_with = "time_or_null")]
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub expires_at: Option<Timestamp>,
    /// The time at which the ask ended. Null while it is open.
    #[serde(serialize_with = "time_or_null")]
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub settled_at: Option<Timestamp>,
    /// How the ask ended. Null while it is open.
    #[schema(required = true)]
    pub outcome: Option<OutcomeView>,
    /// The agent's own report of the answers that it received. Null until there is one.
    #[schema(required = true)]
    pub receipt: Option<Receipt>,
}

/// Writes a time with milliseconds always, so that the texts sort in the order of the times.
fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

fn time_or_null<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => self::time(time, serializer),
        None => serializer.serialize_none(),
    }
}

/// Every ask has questions. So a kind that only a newer daemon knows can still be shown and answered.
fn known_or_question<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    let name = Value::deserialize(deserializer)?;
    Ok(Kind::deserialize(name).unwrap_or_default())
}

/// Whether an ask still waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for an answer.
    Open,
    /// It has its outcome.
    Settled,
}

/// How an ask ended.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutcomeView {
    pub kind: OutcomeKind,
    /// The answers, by the text of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    pub answers: Option<IndexMap<String, String>>,
    /// The notes, by the text of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    pub notes: Option<IndexMap<String, String>>,
    /// What the person changed before they approved: fields that replaced fields of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub edited: Option<Map<String, Value>>,
    /// The reason that came with a dismissal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who settled the ask. Null if nobody did, as when it expires.
    #[schema(required = true)]
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
    fn new(outcome: &Outcome, by: Option<Source>) -> Self {
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
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AskList {
    pub asks: Vec<AskView>,
    /// The newest change that this list includes. Send it as `since`, or as `Last-Event-ID`.
    pub cursor: String,
    /// Send this as `before` to get the next page. Null on the last page.
    #[schema(required = true)]
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

/// All projects that have asks.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProjectList {
    /// Their directories.
    pub projects: Vec<String>,
}

/// The situation in which an ask came up. The texts come from the records of the session, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AskContext {
    /// The last thing that the agent said before it asked. Null if it is unknown.
    #[schema(required = true)]
    pub said: Option<String>,
    /// The git branch that the agent works on. Null if it is unknown.
    #[schema(required = true)]
    pub branch: Option<String>,
    /// The title of the session: the one that a person gave it, an automatic one, or the first line of the first prompt. At most 80
    /// characters. Null if it is unknown.
    #[serde(default)]
    #[schema(required = true)]
    pub title: Option<String>,
    /// Whether the terminal of the session asks at the same time, or can ask instead. False if nobody is at that terminal.
    #[serde(default)]
    #[schema(required = true)]
    pub terminal: bool,
    /// What happens to the agent at the deadline.
    #[serde(default)]
    #[schema(required = true)]
    pub on_timeout: OnTimeout,
}

/// Names one option of an ask. Its preview will be shown.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PreviewRequest {
    /// The number of the question, from 0.
    #[schema(maximum = 15)]
    #[serde(deserialize_with = "schema::whole")]
    pub question: usize,
    /// The number of the option, from 0.
    #[schema(maximum = 63)]
    #[serde(deserialize_with = "schema::whole")]
    pub option: usize,
}

/// Where the preview is.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PreviewPlace {
    /// The path for a frame. It works once.
    pub path: String,
}

/// One event of the stream.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EventView {
    /// `ask.opened`, `ask.settled`, `ask.deferred`, `ask.resumed` or `ask.receipt`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The place of this event in the order of all changes.
    pub cursor: String,
    /// The ask. A live event has it as it was right after the change. A replayed event, and any event of a large ask, has it as it is now.
    pub ask: AskView,
}

impl From<&Change> for EventView {
    fn from(change: &Change) -> Self {
        Self {
            kind: change.kind.name().to_owned(),
            cursor: change.cursor.0.to_string(),
            ask: AskView::from(&*change.ask),
        }
    }
}

/// Questions of a program.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(examples(json!({
    "questions": [{"question": "Deploy to production?", "options": [{"label": "Yes"}, {"label": "No"}]}],
    "project": "/home/me/shop",
    "asked_by": "deploy.sh",
    "timeout_seconds": 600
})))]
pub struct AskRequest {
    /// The questions. Each must have a text of its own.
    #[serde(deserialize_with = "schema::questions")]
    #[schema(min_items = 1, max_items = 16)]
    pub questions: Vec<Question>,
    /// The directory that the questions are about. At most 4 KiB in UTF-8.
    #[schema(max_length = 4096)]
    pub project: Option<String>,
    /// The name of the program that asks. People see it beside the questions, on one line, without control characters. At most 256 bytes in
    /// UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub asked_by: Option<String>,
    /// The ask expires after this many seconds. Without it, there is no deadline.
    #[schema(format = Int64, maximum = 4294967295_u32)]
    #[serde(default, deserialize_with = "schema::whole_or_null")]
    pub timeout_seconds: Option<u32>,
}

/// An empty object.
#[derive(Debug, Clone, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Nothing {}

/// The version of the daemon.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Version {
    pub version: String,
    /// The version of the API. It changes only if older clients would misunderstand the new one.
    pub protocol: u32,
    /// The process id of the daemon.
    pub pid: u32,
}

/// A one-time code that signs a page in.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Launch {
    /// Valid for one sign-in.
    pub code: String,
    /// How long the code is valid.
    pub expires_in_seconds: u64,
}

/// Signs a page in.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SessionRequest {
    /// From `POST /v1/launch`.
    pub code: String,
    /// A name for this browser. Without it, the name comes from the `User-Agent`.
    #[serde(default)]
    pub name: Option<String>,
}

/// The token of a page or a device.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Session {
    /// Send it as `Authorization: Bearer TOKEN`.
    pub token: String,
}

/// The body of every error.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// The kind of error. Programs can rely on it, because it does not change.
    #[serde(rename = "type")]
    #[schema(pattern = "^urn:answerback:problem:[a-z-]+$")]
    pub kind: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened, as a sentence for people.
    pub title: String,
    /// What to do about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How many seconds to wait before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u16>,
    /// What is wrong with each question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<QuestionFault>,
    /// The ask as it is now, if it was settled before this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<AskView>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    #[test]
    fn the_texts_of_times_sort_in_the_order_of_the_times() {
        let text = |millis: i64| {
            let mut json = Vec::new();
            time(&Timestamp::from_millisecond(millis).unwrap(), &mut serde_json::Serializer::new(&mut json)).unwrap();
            String::from_utf8(json).unwrap()
        };
        assert_eq!(text(640), "\"1970-01-01T00:00:00.640Z\"");
        assert!(text(1000) < text(1638) && text(1638) < text(1640));
    }

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
