//! Types for being away.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ask::{Away, Kind, Source};

use super::fields;
use super::times::time;

/// What to say to everything that is asked while nobody is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(examples(json!({
    "words": "Decide yourself, and list what you decided.",
    "for_seconds": 28800,
    "project": "/home/me/shop"
}))))]
pub struct AwayRequest {
    /// The words. Each question gets them as its answer. At most 16 KiB in UTF-8.
    #[cfg_attr(test, schema(min_length = 1, max_length = 16384, pattern = r"[^\s\u0085]"))]
    pub words: String,
    /// It is over after this many seconds. 30 days at most.
    #[cfg_attr(test, schema(minimum = 1, maximum = 2592000))]
    #[serde(deserialize_with = "fields::whole")]
    pub for_seconds: u32,
    /// Only for asks of this directory and of those below. Without it, for asks of every project. At most 4 KiB in UTF-8.
    #[serde(default)]
    #[cfg_attr(test, schema(max_length = 4096, pattern = "^/"))]
    pub project: Option<String>,
    /// The kinds of asks that get the words.
    #[serde(default = "questions")]
    #[cfg_attr(test, schema(schema_with = super::schema::away_kinds))]
    pub kinds: Vec<Kind>,
}

fn questions() -> Vec<Kind> {
    vec![Kind::Question]
}

/// What somebody who is away says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AwayView {
    /// The directory whose asks get the words, with those below. Null for every ask.
    #[cfg_attr(test, schema(required = true))]
    pub project: Option<String>,
    /// The words.
    pub words: String,
    /// The kinds of asks that get the words.
    pub kinds: Vec<Kind>,
    /// The time at which it began. Asks from before are left alone.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
    /// The time at which it is over.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
    /// Who set it. Null if that is not known.
    #[cfg_attr(test, schema(required = true))]
    pub by: Option<Source>,
}

impl From<Away> for AwayView {
    fn from(note: Away) -> Self {
        let Away { project, words, kinds, since, until, by } = note;
        Self { project, words, kinds, since, until, by }
    }
}

/// What people who are away say: first for every project, then by directory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct AwayList {
    pub away: Vec<AwayView>,
}

impl From<Vec<Away>> for AwayList {
    fn from(notes: Vec<Away>) -> Self {
        Self { away: notes.into_iter().map(AwayView::from).collect() }
    }
}
