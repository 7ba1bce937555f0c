//! The people who use a hub together, and what they may do. One machine alone has none.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What somebody may do. Each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See asks and their answers.
    View,
    /// Answer, dismiss and release asks, and open asks of programs.
    Answer,
    /// Manage people, hosts and devices. Only for all projects.
    Admin,
}

/// A role in some projects, or in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Grant {
    /// The role.
    pub role: Role,
    /// Which projects: `path`, or `host:path`. `*` stands for any text. Without it: all projects of all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(min_length = 1, max_length = 4096))]
    pub project: Option<String>,
}

/// Somebody who has devices of their own, and may do what they are granted and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Names the person. No other person ever gets this number.
    pub id: i64,
    /// What others call them. No two people have the same name.
    pub name: String,
    /// What they may do. Nothing if it is empty.
    pub grants: Vec<Grant>,
    /// Larger after every change of the grants. So a reader can tell which grants are newer.
    pub revision: i64,
    /// The time at which they were added.
    pub created_at: Timestamp,
}
