//! What PostgreSQL says, in the store's words.

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

use crate::store::StoreError;

/// What the functions raise if another daemon has taken the name of this one.
const NAME_TAKEN: &str = "AB001";

/// Why a call to the engine failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// The engine refused. It did nothing.
    Refused(StoreError),
    /// Another daemon has taken the name of this one. The engine did nothing.
    NameTaken,
    /// The connection was lost, or the engine was too late. It may have done it.
    Lost(String),
}

impl CallError {
    /// For a call that changes nothing, or whose effect does not matter.
    pub(super) fn as_unreachable(&self) -> StoreError {
        match self {
            Self::Refused(error) => error.clone(),
            Self::NameTaken => StoreError::Closed,
            Self::Lost(said) => StoreError::Unreachable(said.clone()),
        }
    }

    /// For a call that may have changed something.
    pub(super) fn as_unknown(&self) -> StoreError {
        match self {
            Self::Lost(said) => StoreError::Unknown(said.clone()),
            other => other.as_unreachable(),
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let said = say(&error);
        let Some(refusal) = error.as_db_error() else { return Self::Lost(said) };
        let code = refusal.code();
        // The engine ends the connection, whatever it was doing: it goes down, or somebody ended this session. A standby cannot write,
        // and another connection may lead to the engine that can.
        let is_end = !matches!(refusal.parsed_severity(), Some(Severity::Error))
            || ["57P", "08"].iter().any(|class| code.code().starts_with(class))
            || *code == SqlState::READ_ONLY_SQL_TRANSACTION;
        if is_end {
            return Self::Lost(said);
        }
        if code.code() == NAME_TAKEN {
            return Self::NameTaken;
        }
        Self::Refused(match code {
            _ if [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED, SqlState::T_R_DEADLOCK_DETECTED]
                .contains(code) =>
            {
                StoreError::Busy(said)
            }
            _ if *code == SqlState::DISK_FULL => StoreError::Full(said),
            _ if code.code().starts_with("XX") => StoreError::Damaged(said),
            _ => StoreError::Failed(said),
        })
    }
}

/// The whole chain of causes. The driver's own message is often only "db error".
pub(super) fn say(error: &Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        let hint = refusal.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return format!("PostgreSQL: {}{hint}", refusal.message());
    }
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let said = error.to_string();
    if cause.is_empty() || said.contains(cause.trim_start_matches(": ")) {
        return format!("PostgreSQL: {said}");
    }
    format!("PostgreSQL: {said}{cause}")
}
