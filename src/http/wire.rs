//! What the API says and hears, as types.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ask::{Ask, Origin, Outcome, Question, Source};
use crate::store::Change;

/// One call that wants a person.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AskView {
    /// Its name: `session__toolUseId`.
    key: String,
    /// Tells two lives of one key apart.
    id: i64,
    /// The asking session.
    session: String,
    /// The tool call in it.
    tool_use_id: String,
    /// Who asks.
    origin: Origin,
    /// The directory the asker works in.
    project: Option<String>,
    /// What is asked.
    questions: Vec<Question>,
    state: State,
    /// Nobody waits right now; the answer is kept for the resumed run.
    deferred: bool,
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
    /// When it is too late.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    settled_at: Option<Timestamp>,
    /// How it ended; null while it is open.
    outcome: Option<OutcomeView>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    Open,
    Settled,
}

/// How an ask ended.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct OutcomeView {
    kind: OutcomeKind,
    /// Question text to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    answers: Option<IndexMap<String, String>>,
    /// Question text to note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
    notes: Option<IndexMap<String, String>>,
    /// Why it was dismissed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Who did it.
    by: Option<Source>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum OutcomeKind {
    Answered,
    Dismissed,
    Released,
    Expired,
    Withdrawn,
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
            questions: ask.questions.iter().cloned().collect(),
            state: if ask.is_open() { State::Open } else { State::Settled },
            deferred: ask.deferred,
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

impl OutcomeView {
    fn new(outcome: &Outcome, by: Option<Source>) -> Self {
        let plain = |kind| Self { kind, answers: None, notes: None, reason: None, by };
        match outcome {
            Outcome::Answered(answer) => Self {
                answers: Some(answer.answers.clone()),
                notes: (!answer.notes.is_empty()).then(|| answer.notes.clone()),
                ..plain(OutcomeKind::Answered)
            },
            Outcome::Dismissed { reason } => Self { reason: reason.clone(), ..plain(OutcomeKind::Dismissed) },
            Outcome::Released => plain(OutcomeKind::Released),
            Outcome::Expired => plain(OutcomeKind::Expired),
            Outcome::Withdrawn => plain(OutcomeKind::Withdrawn),
        }
    }
}

/// Some asks, newest first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AskList {
    pub(super) asks: Vec<AskView>,
    /// The newest change this list knows of: for `since`, and for `Last-Event-ID`.
    pub(super) cursor: String,
    /// There are more: for `before`.
    pub(super) next: Option<i64>,
}

/// One event of the stream.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct EventView {
    /// `ask.opened`, `ask.settled`, `ask.deferred` or `ask.resumed`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Its place in the order of all changes.
    cursor: String,
    /// The ask: as it was then, in a live event; as it is now, in a replayed one.
    ask: AskView,
}

impl From<&Change> for EventView {
    fn from(change: &Change) -> Self {
        Self { kind: change.kind.name(), cursor: change.cursor.0.to_string(), ask: AskView::from(&*change.ask) }
    }
}

/// A question of any program.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(super) struct AskRequest {
    /// What to ask.
    pub(super) questions: Vec<Question>,
    /// The directory it is about.
    pub(super) project: Option<String>,
    /// After how many seconds nobody needs the answer any more.
    pub(super) timeout_seconds: Option<u32>,
}

/// Why a question is not answered.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(super) struct DismissRequest {
    /// The asker is told.
    pub(super) reason: Option<String>,
}

/// Nothing needs to be said.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(super) struct ReleaseRequest {}

/// What runs here.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Version {
    pub(super) version: &'static str,
    /// Changes when an older client would misunderstand.
    pub(super) protocol: u32,
}

/// A one-time code for a page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Launch {
    /// Good for one sign-in.
    pub(super) code: String,
    /// And for so long.
    pub(super) expires_in_seconds: u64,
}

/// A page signs in.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(super) struct SessionRequest {
    /// From `POST /v1/launch`.
    pub(super) code: String,
}

/// A page's own token.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Session {
    /// For `Authorization: Bearer`.
    pub(super) token: String,
}
