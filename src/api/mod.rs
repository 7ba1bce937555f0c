//! The requests and replies of the HTTP API, as types. The daemon serves them, and the commands use them.

mod asks;
mod away;
mod devices;
mod fields;
mod frames;
mod hosts;
mod people;
#[cfg(test)]
mod schema;
mod sessions;
mod settling;
mod setup;
mod times;

use serde::{Deserialize, Serialize};

use crate::ask::{Change, OnTimeout, Question, QuestionFault};
use crate::store::HostProjects;

pub use asks::{AskList, AskView, OutcomeView, State};
pub use away::{AwayList, AwayRequest, AwayView};
pub use devices::{
    ClaimRequest, Claimed, ConfirmRequest, DeviceList, DeviceView, Pairing, PairingRequest, PairingState, PairingView,
    TokenRequest,
};
#[cfg(test)]
pub use frames::Authenticate;
pub use frames::{
    AskUserQuestion, AskUserResponse, AskUserSettled, AskUserTimeout, ClientFrame, ErrorFrame, Reset, Response,
    ServerFrame, SessionStatus, SessionTaken, Subscribe, Subscribed,
};
pub use hosts::{HostList, HostRequest, HostView, NewHost};
pub use people::{GrantsRequest, PersonList, PersonRequest, PersonView};
pub use sessions::{SessionEvent, SessionList, SessionState, SessionView};
pub use settling::{AnswerRequest, DismissRequest, ReleaseRequest};
pub use setup::Setup;

/// All projects that have asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ProjectList {
    /// Their directories, on whichever host.
    pub projects: Vec<String>,
    /// The hosts that have asks, each with its own projects.
    // A daemon from before there were hosts does not list them.
    #[serde(default)]
    #[cfg_attr(test, schema(required = true))]
    pub hosts: Vec<ProjectHost>,
    /// The host of this daemon. It may have no asks.
    #[serde(default)]
    #[cfg_attr(test, schema(required = true))]
    pub here: String,
}

/// A host that has asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ProjectHost {
    /// Its name.
    pub host: String,
    /// The directories of its projects. Empty if its asks are of no project.
    pub projects: Vec<String>,
}

impl From<HostProjects> for ProjectHost {
    fn from(found: HostProjects) -> Self {
        Self { host: found.host.as_str().to_owned(), projects: found.projects }
    }
}

/// The situation in which an ask came up. The texts come from the records of the session, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AskContext {
    /// The last thing that the agent said before it asked. Null if it is unknown.
    #[cfg_attr(test, schema(required = true))]
    pub said: Option<String>,
    /// The git branch that the agent works on. Null if it is unknown.
    #[cfg_attr(test, schema(required = true))]
    pub branch: Option<String>,
    /// The title of the session: the one that a person gave it, an automatic one, or the first line of the first prompt. At most 80
    /// characters. Null if it is unknown.
    #[serde(default)]
    #[cfg_attr(test, schema(required = true))]
    pub title: Option<String>,
    /// Whether the terminal of the session asks at the same time, or can ask instead. False if nobody is at that terminal.
    #[serde(default)]
    #[cfg_attr(test, schema(required = true))]
    pub terminal: bool,
    /// What happens to the agent at the deadline.
    #[serde(default)]
    #[cfg_attr(test, schema(required = true))]
    pub on_timeout: OnTimeout,
    /// The user whose agent asks, on another machine. Absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The agent and its version, on another machine. Absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Names one option of an ask. Its preview will be shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct PreviewRequest {
    /// The number of the question, from 0.
    #[cfg_attr(test, schema(maximum = 15))]
    #[serde(deserialize_with = "fields::whole")]
    pub question: usize,
    /// The number of the option, from 0.
    #[cfg_attr(test, schema(maximum = 63))]
    #[serde(deserialize_with = "fields::whole")]
    pub option: usize,
}

/// Where the preview is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct PreviewPlace {
    /// The path for a frame. It works once.
    pub path: String,
}

/// One event of the stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
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

/// The order of changes was broken off. A reader lists the asks again, and goes on from this cursor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ResetEvent {
    /// `reset`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The place in the order of changes from which the stream goes on.
    pub cursor: String,
}

/// Questions of a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(examples(json!({
    "questions": [{"question": "Deploy to production?", "options": [{"label": "Yes"}, {"label": "No"}]}],
    "project": "/home/me/shop",
    "asked_by": "deploy.sh",
    "timeout_seconds": 600
}))))]
pub struct AskRequest {
    /// The questions. Each must have a text of its own.
    #[serde(deserialize_with = "fields::questions")]
    #[cfg_attr(test, schema(min_items = 1, max_items = 16))]
    pub questions: Vec<Question>,
    /// The directory that the questions are about. At most 4 KiB in UTF-8.
    #[cfg_attr(test, schema(max_length = 4096))]
    pub project: Option<String>,
    /// The name of the program that asks. People see it beside the questions, on one line, without control characters. At most 256 bytes in
    /// UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(max_length = 256))]
    pub asked_by: Option<String>,
    /// The ask expires after this many seconds. Without it, there is no deadline.
    #[cfg_attr(test, schema(format = Int64, maximum = 4294967295_u32))]
    #[serde(default, deserialize_with = "fields::whole_or_null")]
    pub timeout_seconds: Option<u32>,
}

/// An empty object.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Nothing {}

/// The version of the daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Version {
    pub version: String,
    /// The version of the API. It changes only if older clients would misunderstand the new one.
    pub protocol: u32,
    /// The process id of the daemon.
    pub pid: u32,
    /// The hub, if this daemon is an edge. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubLink>,
}

/// The hub of a daemon that is an edge.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct HubLink {
    /// Where questions are answered.
    pub url: String,
    /// The name under which this daemon asks there.
    pub host: String,
    /// Whether there is a link now. Without one, questions are left to the terminal.
    pub linked: bool,
    /// Why there is none. Absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A one-time code that signs a page in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Launch {
    /// Valid for one sign-in.
    pub code: String,
    /// How long the code is valid.
    pub expires_in_seconds: u64,
}

/// Signs a page in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct SessionRequest {
    /// From `POST /v1/launch`.
    pub code: String,
    /// A name for this browser. Without it, the name comes from the `User-Agent`.
    #[serde(default)]
    pub name: Option<String>,
}

/// The token of a page or a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Session {
    /// Send it as `Authorization: Bearer TOKEN`.
    pub token: String,
}

/// The body of every error.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Problem {
    /// The kind of error. Programs can rely on it, because it does not change.
    #[serde(rename = "type")]
    #[cfg_attr(test, schema(pattern = "^urn:answerback:problem:[a-z-]+$"))]
    pub kind: String,
    /// The HTTP status.
    #[cfg_attr(test, schema(minimum = 400, maximum = 599))]
    pub status: u16,
    /// What happened, as a sentence for people.
    pub title: String,
    /// What to do about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How many seconds to wait before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// What is wrong with each question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<QuestionFault>,
    /// The ask as it is now, if it was settled before this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<AskView>>,
}
