//! What to do about an error. An error's message says what happened. Its hint is apart from that, because a terminal shows it on a line
//! of its own, and a log does not.

use std::error::Error;
use std::fmt;

/// An error that may say what to do about it.
pub trait Hint: Error {
    /// What to do, in whole sentences.
    fn hint(&self) -> Option<String>;
}

/// The message and the hint in one line: for the hook, which says one line, and for logs.
pub fn one_line(error: &(impl Hint + ?Sized)) -> String {
    join(&error.to_string(), error.hint().as_deref())
}

/// `What happened. What to do.`
pub fn join(message: &str, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message}. {hint}"),
        None => message.to_owned(),
    }
}

/// An error that is only a message and a hint.
#[derive(Debug)]
pub struct Hinted {
    message: String,
    hint: String,
}

impl Hinted {
    /// What happened, and what to do about it.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Hinted {}

impl Hint for Hinted {
    fn hint(&self) -> Option<String> {
        Some(self.hint.clone())
    }
}
