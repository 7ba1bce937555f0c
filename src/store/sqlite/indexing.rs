//! When the search index is brought up to date: in small steps, while the owner has nothing else to do. So a question that comes in
//! waits for one step at most.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::StoreError;

use super::texts;

/// So many texts are worth the work. A search reads those that wait by itself, and so many take it no time.
const WORTH_IT: usize = 64;
/// With so many, the work begins even if there is always something else to do soon.
const TOO_MANY: usize = 2048;
/// How long nothing must have been written before the work begins. In a burst of answers, the disk is for the answers.
const QUIET: Duration = Duration::from_millis(500);
/// The most asks in one step.
const ASKS_A_STEP: usize = 16;
/// A step ends with the ask that brings it over so many groups of letters.
const GROUPS_A_STEP: usize = 2_000;
/// The most pages of the index that one step merges.
const PAGES_A_STEP: i64 = 16;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Puts some texts into the index, as a new part of it.
    Index,
    /// Merges parts of the index.
    Merge,
}

/// How far the work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has been written since there was nothing to do, or since a step failed.
    Idle,
    /// Something was written, so there may be something to do. It begins at this time, unless something is written before.
    Due(Instant),
    /// Enough texts were waiting to begin, and not all of them are in the index yet.
    Working,
}

/// What is to be done for the index.
#[derive(Debug)]
pub(super) struct Indexing {
    state: State,
    /// How many asks were settled since the work was last done.
    settled: usize,
    /// The last step made a new part, or merged some. As many parts as there are, so many places a search must look in. So all are
    /// merged before another one is made.
    may_merge: bool,
}

impl Indexing {
    /// An earlier daemon may have left something to do.
    pub(super) fn new() -> Self {
        Self { state: State::Due(Instant::now() + QUIET), settled: 0, may_merge: false }
    }

    /// How long the owner waits for a job before it does the next step. `None`: there is nothing to do.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self.state {
            State::Idle => None,
            State::Due(begin) if self.settled < TOO_MANY => Some(begin.saturating_duration_since(Instant::now())),
            State::Due(_) | State::Working => Some(Duration::ZERO),
        }
    }

    /// The next step, if there is one.
    pub(super) fn next(&mut self, connection: &Connection) -> Option<Step> {
        let enough = if self.state == State::Working { 1 } else { WORTH_IT };
        let step = if self.may_merge {
            Some(Step::Merge)
        } else {
            texts::are_waiting(connection, enough).unwrap_or_default().then_some(Step::Index)
        };
        self.state = if step.is_some() { State::Working } else { State::Idle };
        self.settled = 0;
        step
    }

    /// Notes what came of a step: whether there was something to do.
    pub(super) fn done(&mut self, step: Step, result: Result<bool, StoreError>) {
        match result {
            Ok(did_something) => self.may_merge = did_something,
            Err(error) => {
                tracing::warn!(%error, ?step, "the search index could not be brought up to date: searches take longer");
                self.give_up();
            }
        }
    }

    /// Leaves it until something is written.
    pub(super) fn give_up(&mut self) {
        self.state = State::Idle;
    }

    /// Something was written, and so many asks were settled by it.
    pub(super) fn written(&mut self, settled: usize) {
        self.settled += settled;
        if self.state != State::Working {
            self.state = State::Due(Instant::now() + QUIET);
        }
    }
}

impl Step {
    /// Does the step. `false` if there was nothing to do.
    pub(super) fn run(self, connection: &Connection) -> rusqlite::Result<bool> {
        let done = texts::with_index(connection, || match self {
            Self::Index => texts::index(connection, ASKS_A_STEP, GROUPS_A_STEP).map(|count| count > 0),
            Self::Merge => texts::merge(connection, PAGES_A_STEP),
        });
        done.map(|done| done.unwrap_or(true))
    }
}
