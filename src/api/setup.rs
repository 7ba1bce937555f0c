//! How far a newcomer has come.

use serde::{Deserialize, Serialize};

/// What is set up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct Setup {
    /// Whether the hook of an agent has ever called. The questions of `answerback demo` and `answerback doctor` do not count.
    pub hook: bool,
    /// Whether a person has ever answered a question with Answerback. It stays true if the question is deleted. The questions of
    /// `answerback demo` count.
    pub answered: bool,
    /// The ways in which this daemon notifies people and programs: `desktop`, `ntfy`, `webhook`.
    pub notify: Vec<String>,
    /// Whether this daemon can be reached from the local network.
    pub lan: bool,
}
