//! What the HTTP API says and hears, as types: for the daemon that serves it and for the commands that use it.

mod devices;
mod hooks;
mod schema;

use std::borrow::Cow;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::ask::{Ask, Change, Kind, Origin, Outcome, OutcomeKind, Question, QuestionFault, Receipt, Source, Subject};

pub use devices::{
    ClaimRequest, Claimed, ConfirmRequest, DeviceList, DeviceView, Pairing, PairingRequest, PairingState, PairingView,
    TokenRequest,
};
pub use hooks::{HookInput, HookOutput};

/// One call that wants a person.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AskView {
    /// Its name: `session__toolUseId`.
    pub key: String,
    /// Tells two lives of one key apart.
    pub id: i64,
    /// The asking session.
    pub session: String,
    /// The tool call in it.
    pub tool_use_id: String,
    /// Who asks.
    pub origin: Origin,
    /// The directory the asker works in.
    #[schema(required = true)]
    pub project: Option<String>,
    /// What sort of decision is wanted.
    // A daemon from before there were kinds does not say. It knows only questions.
    #[serde(default)]
    #[schema(required = true)]
    pub kind: Kind,
    /// What is decided about, in the shape that the kind defines; null for a question.
    #[schema(value_type = Option<Object>, required = true)]
    pub subject: Option<Subject>,
    /// What is asked.
    pub questions: Vec<Question>,
    pub state: State,
    /// The agent's own dialog is open at the same time, and the first answer wins.
    pub racing: bool,
    /// Nobody waits right now; the answer is kept for the resumed run.
    pub deferred: bool,
    #[serde(serialize_with = "time")]
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// The deadline; null if there is none.
    #[serde(serialize_with = "time_or_null")]
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub expires_at: Option<Timestamp>,
    #[serde(serialize_with = "time_or_null")]
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub settled_at: Option<Timestamp>,
    /// How it ended; null while it is open.
    #[schema(required = true)]
    pub outcome: Option<OutcomeView>,
    /// What the agent was seen to have received; null until it is seen.
    #[schema(required = true)]
    pub receipt: Option<Receipt>,
}

/// Always with milliseconds, so that times as texts sort as times.
fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

fn time_or_null<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => self::time(time, serializer),
        None => serializer.serialize_none(),
    }
}

/// Whether an ask still wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It wants an answer.
    Open,
    /// It has its outcome.
    Settled,
}

/// How an ask ended.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutcomeView {
    pub kind: OutcomeKind,
    /// Question text to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    pub answers: Option<IndexMap<String, String>>,
    /// Question text to note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    pub notes: Option<IndexMap<String, String>>,
    /// Why it was dismissed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who settled it; null if it expired or was withdrawn.
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
            kind: ask.kind,
            subject: ask.subject.clone(),
            questions: ask.questions.iter().cloned().collect(),
            state: if ask.is_open() { State::Open } else { State::Settled },
            racing: ask.racing,
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
    /// A word or two for it. They may be empty.
    pub fn title(&self) -> Cow<'_, str> {
        self.kind.title(self.subject.as_ref(), &self.questions)
    }

    /// One sentence that stands for all of it.
    pub fn summary(&self) -> Cow<'_, str> {
        self.kind.summary(self.subject.as_ref(), &self.questions)
    }

    /// One sentence for each of its questions, in their order.
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
        Self { kind: outcome.kind(), answers, notes: notes.cloned(), reason, by }
    }
}

/// Some asks, newest first.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AskList {
    pub asks: Vec<AskView>,
    /// The newest change this list knows of: for `since`, and for `Last-Event-ID`.
    pub cursor: String,
    /// There are more: for `before`.
    #[schema(required = true)]
    pub next: Option<i64>,
    /// So many are left out because the store cannot read them any more: `answerback doctor` names them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The directories there are asks of.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProjectList {
    pub projects: Vec<String>,
}

/// What surrounds an ask, as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AskContext {
    /// The last thing the agent said before it asked.
    #[schema(required = true)]
    pub said: Option<String>,
    /// The branch it works on.
    #[schema(required = true)]
    pub branch: Option<String>,
}

/// Which preview to show.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PreviewRequest {
    /// The place of the question, from 0.
    #[schema(maximum = 15)]
    #[serde(deserialize_with = "schema::whole")]
    pub question: usize,
    /// The place of the option, from 0.
    #[schema(maximum = 63)]
    #[serde(deserialize_with = "schema::whole")]
    pub option: usize,
}

/// Where a preview can be looked at, once.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PreviewPlace {
    /// For the frame it is shown in.
    pub path: String,
}

/// One event of the stream.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EventView {
    /// `ask.opened`, `ask.settled`, `ask.deferred`, `ask.resumed` or `ask.receipt`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its place in the order of all changes.
    pub cursor: String,
    /// The ask: as it was then, in a live event; as it is now, in a replayed one or if it is large.
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

/// A question of any program.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(examples(json!({
    "questions": [{"question": "Deploy to production?", "options": [{"label": "Yes"}, {"label": "No"}]}],
    "project": "/home/me/shop",
    "timeout_seconds": 600
})))]
pub struct AskRequest {
    /// What to ask. No two have the same text.
    #[serde(deserialize_with = "schema::questions")]
    #[schema(min_items = 1, max_items = 16)]
    pub questions: Vec<Question>,
    /// The directory it is about; at most 4 KiB in UTF-8.
    #[schema(max_length = 4096)]
    pub project: Option<String>,
    /// After how many seconds nobody needs the answer any more.
    #[schema(format = Int64, maximum = 4294967295_u32)]
    #[serde(default, deserialize_with = "schema::whole_or_null")]
    pub timeout_seconds: Option<u32>,
}

/// An answer as it is sent. Each text has at most 16 KiB in UTF-8.
#[derive(Debug, Clone, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(examples(json!({
    "answers": {"Deploy to production?": "Yes"},
    "notes": {"Deploy to production?": "but not before noon"}
})))]
pub struct AnswerRequest {
    /// Question text to a label, a free text, or an array of labels for a multi-select question.
    #[schema(schema_with = schema::answers)]
    pub answers: IndexMap<String, Value>,
    /// Question text to a note that goes along with its answer.
    #[serde(default)]
    #[schema(schema_with = schema::notes)]
    pub notes: IndexMap<String, String>,
    /// Whether questions may be left unanswered.
    #[serde(default)]
    pub partial: bool,
}

/// Why a question is not answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
#[schema(examples(json!({"reason": "Not today."})))]
pub struct DismissRequest {
    /// The asker is told; at most 16 KiB in UTF-8.
    #[schema(max_length = 16384)]
    pub reason: Option<String>,
}

/// Nothing needs to be said.
#[derive(Debug, Clone, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Nothing {}

/// What runs here.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Version {
    pub version: String,
    /// Changes when an older client would misunderstand.
    pub protocol: u32,
    /// The daemon's process.
    pub pid: u32,
}

/// A one-time code for a page.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Launch {
    /// Good for one sign-in.
    pub code: String,
    /// And for so long.
    pub expires_in_seconds: u64,
}

/// A page signs in.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SessionRequest {
    /// From `POST /v1/launch`.
    pub code: String,
    /// What to call this browser; otherwise it is told from its `User-Agent`.
    #[serde(default)]
    pub name: Option<String>,
}

/// A page's own token.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Session {
    /// For `Authorization: Bearer`.
    pub token: String,
}

/// What every error looks like: a stable type, a sentence a person understands, and what to do.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// Names the kind of error, and does not change.
    #[serde(rename = "type")]
    #[schema(pattern = "^urn:answerback:problem:[a-z-]+$")]
    pub kind: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened.
    pub title: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// After how many seconds it may be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u16>,
    /// What is wrong with which question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<QuestionFault>,
    /// The ask as it is, where somebody else settled it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<AskView>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    #[test]
    fn times_as_texts_sort_as_times() {
        let text = |millis: i64| {
            let mut json = Vec::new();
            time(&Timestamp::from_millisecond(millis).unwrap(), &mut serde_json::Serializer::new(&mut json)).unwrap();
            String::from_utf8(json).unwrap()
        };
        assert_eq!(text(640), "\"1970-01-01T00:00:00.640Z\"");
        assert!(text(1000) < text(1638) && text(1638) < text(1640));
    }

    #[test]
    fn an_ask_of_a_daemon_from_before_there_were_kinds_is_a_question() {
        let mut json = serde_json::to_value(AskView::from(&ask(1, "s__t", "shop", 1))).unwrap();
        assert_eq!((&json["kind"], &json["subject"]), (&Value::from("question"), &Value::Null));
        let fields = json.as_object_mut().unwrap();
        fields.remove("kind").unwrap();
        fields.remove("subject").unwrap();
        let view: AskView = serde_json::from_value(json).unwrap();
        assert_eq!((view.kind, &view.subject), (Kind::Question, &None));
        assert_eq!((view.title(), view.summary()), ("Database".into(), "Which database, 0?".into()));
    }
}
