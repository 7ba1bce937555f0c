//! When the search index is brought up to date: in small steps, while the owner has nothing else to do. So a question that comes in
//! waits for one step at most.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::StoreError;

use super::texts;

/// The work begins when this many texts wait. A search reads waiting texts one by one, and fewer than this cost it next to nothing.
const WORTH_IT: usize = 64;
/// When this many texts wait, the work begins even if the store is never quiet.
const TOO_MANY: usize = 2048;
/// How long nothing must have been written before the work begins, so that a burst of answers has the disk to itself.
const QUIET: Duration = Duration::from_millis(500);
/// The most asks in one step.
const ASKS_A_STEP: usize = 16;
/// A step ends after the ask that takes it past this many groups of letters.
const GROUPS_A_STEP: usize = 2_000;
/// The most pages of the index that one step merges.
const PAGES_A_STEP: i64 = 16;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Puts some texts into the index, as a new part of it.
    Index,
    /// Takes asks out of the index that were deleted.
    Remove,
    /// Merges parts of the index.
    Merge,
    /// Makes an empty index in the place of a damaged one.
    Rebuild,
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
    /// The last step made a new part of the index, or merged some. A search has to look into every part, so they are merged before
    /// another one is made.
    may_merge: bool,
    health: Health,
}

/// Whether the index can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    /// It is to be built anew.
    Damaged,
    /// It was built anew, once. If it is damaged again, the file is at fault, and nothing that is done to it helps.
    Rebuilt,
    /// It could not be built anew. Searches read all texts.
    Lost,
}

impl Indexing {
    /// An earlier daemon may have left something to do.
    pub(super) fn new() -> Self {
        Self { state: State::Due(Instant::now() + QUIET), settled: 0, may_merge: false, health: Health::Sound }
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
        let step = match self.health {
            Health::Lost => None,
            Health::Damaged => Some(Step::Rebuild),
            Health::Sound | Health::Rebuilt if self.may_merge => Some(Step::Merge),
            Health::Sound | Health::Rebuilt => {
                let has = |found: rusqlite::Result<bool>| found.unwrap_or_default();
                let remove = has(texts::are_gone(connection)).then_some(Step::Remove);
                remove.or_else(|| has(texts::are_waiting(connection, enough)).then_some(Step::Index))
            }
        };
        self.state = if step.is_some() { State::Working } else { State::Idle };
        self.settled = 0;
        step
    }

    /// Notes what came of a step: whether there was something to do.
    pub(super) fn done(&mut self, step: Step, result: Result<bool, StoreError>) {
        match result {
            Ok(_) if step == Step::Rebuild => (self.health, self.may_merge) = (Health::Rebuilt, false),
            Ok(did_something) => self.may_merge = did_something,
            // The index, or what it is made of, makes no sense.
            Err(error @ (StoreError::Damaged(_) | StoreError::DamagedAsk(_) | StoreError::Failed(_))) => {
                tracing::warn!(%error, ?step, "the search index could not be brought up to date");
                match step {
                    Step::Rebuild => self.lose(),
                    Step::Index | Step::Remove | Step::Merge => self.is_damaged(),
                }
            }
            Err(error) => {
                tracing::warn!(%error, ?step, "the search index could not be brought up to date: searches take longer");
                self.give_up();
            }
        }
    }

    /// A search has found the index damaged. It may have read it before it was built anew, so this counts only once. If the new index is
    /// damaged, too, the next step finds out.
    pub(super) fn was_found_damaged(&mut self) {
        if self.health == Health::Sound {
            self.is_damaged();
        }
    }

    /// The index is damaged. It is built anew when there is time, but only once.
    fn is_damaged(&mut self) {
        match self.health {
            Health::Sound => (self.health, self.state) = (Health::Damaged, State::Working),
            Health::Rebuilt => self.lose(),
            Health::Damaged | Health::Lost => {}
        }
    }

    fn lose(&mut self) {
        tracing::error!("the search index cannot be repaired, because the store is damaged: searches read all texts");
        self.health = Health::Lost;
        self.give_up();
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
        match self {
            Self::Index => texts::index(connection, ASKS_A_STEP, GROUPS_A_STEP).map(|count| count > 0),
            Self::Remove => texts::remove(connection, ASKS_A_STEP).map(|count| count > 0),
            Self::Merge => texts::merge(connection, PAGES_A_STEP),
            Self::Rebuild => texts::begin_anew(connection).map(|()| true),
        }
    }
}
