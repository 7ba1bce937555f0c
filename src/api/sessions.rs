//! The sessions of agents.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A session of an agent, or of a program that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct SessionView {
    /// The id of the session. It is the first part of the keys of its asks.
    pub session: String,
    pub state: SessionState,
    /// The directory that the agent works in. Null if it is unknown.
    #[cfg_attr(test, schema(required = true))]
    pub project: Option<String>,
    /// The git branch that the agent works on. Null if it is unknown, and in events.
    #[cfg_attr(test, schema(required = true))]
    pub branch: Option<String>,
    /// The title of the session: the one that a person gave it, an automatic one, or the first line of the first prompt. Null if it is
    /// unknown, and in events.
    #[cfg_attr(test, schema(required = true))]
    pub title: Option<String>,
    /// The agent and its version, for example `claude-code 2.1.325`. Null if it is unknown, as for a program.
    #[cfg_attr(test, schema(required = true))]
    pub agent: Option<String>,
    /// The keys of the open asks, oldest first.
    pub asks: Vec<String>,
    /// When the session last gave a sign: a call of a hook, or an ask.
    #[serde(serialize_with = "super::times::time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub last_activity_at: Timestamp,
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The agent works.
    Working,
    /// At least one ask waits for a person.
    Waiting,
    /// The turn of the agent is over, and nothing is asked.
    Idle,
    /// The agent has ended.
    Ended,
}

/// The sessions that are known, the most active first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct SessionList {
    pub sessions: Vec<SessionView>,
}

/// A session has changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct SessionEvent {
    /// `session.changed`.
    #[serde(rename = "type")]
    pub kind: String,
    pub session: SessionView,
}
