//! How a command ends.

use std::process::ExitCode;

/// What a script can tell from the exit code. clap ends with 2 when the command line is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    Success = 0,
    Failure = 1,
    /// The question was dismissed.
    Dismissed = 3,
    /// Nobody answered in time.
    Expired = 4,
    /// The question was released or withdrawn: nobody will answer it here.
    Closed = 5,
    /// There is no daemon.
    NotRunning = 6,
    /// The terminal was closed: 128 and the number of SIGHUP, as in shells.
    HungUp = 129,
    /// Ctrl-C: 128 and the number of SIGINT.
    Interrupted = 130,
    /// Another program ended the command: 128 and the number of SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
