//! Why the inbox does not do what it is asked to.

use std::sync::Arc;

use crate::ask::{AnswerError, Ask, KeyError, QuestionFault, QuestionsError};
use crate::registry::{OpenError, SettleError};
use crate::store::StoreError;

/// Why something is not done. If it is refused, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No ask has this key.
    #[error("there is no question with this key")]
    Unknown,
    /// The ticket is for an earlier life of the ask.
    #[error("this question was asked again after this notification")]
    AskedAgain,
    /// A ticket was to carry more than one of the options.
    #[error("a notification answers with one of the options, and nothing else")]
    OptionsOnly,
    /// The answer does not fit the questions.
    #[error("the answer does not fit the questions")]
    Answer(Vec<QuestionFault>),
    /// These questions cannot be asked.
    #[error(transparent)]
    Questions(#[from] QuestionsError),
    /// A text is too long, and which.
    #[error("{0}")]
    TooLong(&'static str),
    /// Only the agent can take its question back.
    #[error("only the agent can take its question back")]
    NotYours,
    /// Too many questions are open.
    #[error("too many questions are open")]
    Full,
    /// Somebody answered first, and differently.
    #[error("somebody else has answered")]
    Conflict(Arc<Ask>),
    /// The ask ended without an answer.
    #[error("the question is closed")]
    Gone(Arc<Ask>),
    /// The daemon cannot make a key.
    #[error("{0}")]
    NoKey(String),
    /// The store failed. It may not be known whether something was saved.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AnswerError> for Refusal {
    fn from(error: AnswerError) -> Self {
        Self::Answer(error.faults)
    }
}

impl From<SettleError> for Refusal {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Conflict(ask) => Self::Conflict(ask),
            SettleError::Gone(ask) => Self::Gone(ask),
            SettleError::Store(error) => Self::Store(error),
        }
    }
}

impl From<OpenError> for Refusal {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Full => Self::Full,
            // A program's key is new, so nobody else has asked under it.
            OpenError::OtherQuestions | OpenError::OtherAsker => Self::NoKey(error.to_string()),
            OpenError::Store(error) => Self::Store(error),
        }
    }
}

impl From<KeyError> for Refusal {
    fn from(error: KeyError) -> Self {
        Self::NoKey(error.to_string())
    }
}

impl From<getrandom::Error> for Refusal {
    fn from(error: getrandom::Error) -> Self {
        Self::NoKey(error.to_string())
    }
}
