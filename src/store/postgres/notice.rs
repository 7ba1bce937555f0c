//! What a daemon tells the others about its changes.

use serde::{Deserialize, Serialize};

use super::command::{Command, MAX_NOTICE};
use super::follow::{OwnBatch, Verdict};

/// The newest change, and as many as fit of the changes that lead there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Notice {
    pub(super) head: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) host: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Told>,
}

/// A change in a notice.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) cursor: i64,
    pub(super) ask: i64,
    pub(super) command: Command,
}

impl Notice {
    /// The notice of a batch; `None` if nothing was changed. If the changes do not fit, the others read them.
    pub(super) fn of(batch: &OwnBatch, host: &str) -> Option<String> {
        let done = |verdict: &Verdict| match *verdict {
            Verdict::Done { ask, cursor, .. } => Some((ask, cursor)),
            _ => None,
        };
        if !batch.results.iter().any(|result| done(&result.verdict).is_some()) {
            return None;
        }
        let changes: Option<Vec<Told>> = batch
            .results
            .iter()
            .filter_map(|result| done(&result.verdict).map(|done| (result, done)))
            .map(|(result, (ask, cursor))| Some(Told { cursor, ask, command: result.command.told()? }))
            .collect();
        let written = |changes| {
            let host = host.to_owned();
            serde_json::to_string(&Self { head: batch.head, host, changes }).ok()
        };
        written(changes.unwrap_or_default()).filter(|text| text.len() <= MAX_NOTICE).or_else(|| written(Vec::new()))
    }
}
