//! Why the inbox does not do what it is asked to. Whoever shows a refusal to a person finds the words for it.

use std::sync::Arc;
use std::time::Duration;

use crate::ask::{AnswerError, Ask, AwayError, KeyError, Kind, QuestionFault, QuestionsError};
use crate::registry::{OpenError, SettleError};
use crate::store::StoreError;

/// Why something is not done. If it is refused, nothing was changed.
#[derive(Debug)]
pub enum Refusal {
    /// No ask has this key.
    Unknown,
    /// The answer is for an earlier life of the ask.
    AskedAgain,
    /// Buttons of notifications do not answer this kind of ask.
    NoButtons(Kind),
    /// Only a paired device decides about this kind of ask, or a person in the terminal.
    DevicesOnly(Kind),
    /// A paired device has to agree first. This asks it.
    NeedsConsent(Arc<Ask>),
    /// A paired device was asked, and did not agree.
    NoConsent,
    /// A ticket was to carry more than one of the options.
    OptionsOnly,
    /// The answer does not fit the questions.
    Answer(Vec<QuestionFault>),
    /// These questions cannot be asked.
    Questions(QuestionsError),
    /// Nobody can be away like this.
    Away(AwayError),
    /// A text is longer than so many bytes.
    TooLong { what: &'static str, limit: usize },
    /// A program may not call itself this.
    ReservedName,
    /// The caller's role does not allow it in this project.
    Role,
    /// Only the agent can take its question back.
    NotYours,
    /// Too many questions are open.
    Full,
    /// This person or device has so many questions open.
    FullForOne(usize),
    /// The asker has asked too much, and may ask again after this time.
    TooMuch(Duration),
    /// Nobody knows yet whether the asker is there.
    Unconfirmed,
    /// Somebody answered first, and differently.
    Conflict(Arc<Ask>),
    /// The ask ended without an answer.
    Gone(Arc<Ask>),
    /// The daemon cannot make a key.
    NoKey(String),
    /// The store failed. It may not be known whether something was saved.
    Store(StoreError),
}

impl From<QuestionsError> for Refusal {
    fn from(error: QuestionsError) -> Self {
        Self::Questions(error)
    }
}

impl From<AwayError> for Refusal {
    fn from(error: AwayError) -> Self {
        Self::Away(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
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
            OpenError::TooMuch(wait) => Self::TooMuch(wait),
            // A program's key is new, so nobody else has asked under it.
            OpenError::OtherQuestions | OpenError::OtherAsker | OpenError::OtherMachine => {
                Self::NoKey(error.to_string())
            }
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
