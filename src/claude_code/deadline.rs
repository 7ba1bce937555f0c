//! How long a call may wait.

use jiff::{SignedDuration, Timestamp};

use crate::ask::OnTimeout;

use super::client::{Client, Mode};
use super::version::Version;

/// How long a question waits for its answer, and what happens then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deadline {
    /// `None`: as long as it takes.
    pub after: Option<SignedDuration>,
    /// What the agent is told when the time is up.
    pub then: OnTimeout,
}

impl Deadline {
    /// The deadline of one call, where this is the configured one.
    pub(super) fn of_call(self, client: &Client, mode: Mode, version: Option<Version>) -> Self {
        match self.then {
            _ if mode == Mode::Defer => Self { after: Some(SignedDuration::ZERO), then: OnTimeout::Defer },
            // Only a one-shot run that nobody looks at may be ended. A person gets the dialog instead, and a host is asked.
            OnTimeout::Defer if !client.can_be_resumed(version) => Self { then: OnTimeout::Native, ..self },
            _ => self,
        }
    }

    /// The same for a call that cannot be deferred.
    pub(super) fn without_defer(self) -> Self {
        match self.then {
            OnTimeout::Defer => Self { then: OnTimeout::Native, ..self },
            OnTimeout::Native | OnTimeout::Deny => self,
        }
    }

    /// When it is over, for a call that comes in now.
    pub(super) fn expires_at(self, now: Timestamp) -> Option<Timestamp> {
        self.after.and_then(|after| now.checked_add(after).ok())
    }
}
