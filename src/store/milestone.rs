//! What has happened at least once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that a newcomer does once. The store knows it for good, also after the asks are forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone {
    /// The hook of an agent has called.
    HookCall,
    /// A person has answered.
    Answer,
}

impl Milestone {
    /// Its name in stores.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HookCall => "hook-call",
            Self::Answer => "answer",
        }
    }
}

/// What is known to be saved. It is kept in memory, so that only the first time costs anything.
#[derive(Debug, Clone, Default)]
pub(super) struct Milestones(Arc<Saved>);

#[derive(Debug, Default)]
struct Saved {
    hook_call: AtomicBool,
    answer: AtomicBool,
}

impl Milestones {
    fn is_saved(&self, milestone: Milestone) -> &AtomicBool {
        match milestone {
            Milestone::HookCall => &self.0.hook_call,
            Milestone::Answer => &self.0.answer,
        }
    }

    /// Whether a milestone is known to be saved. If not, it may be saved all the same.
    pub(super) fn has(&self, milestone: Milestone) -> bool {
        self.is_saved(milestone).load(Ordering::Relaxed)
    }

    /// Must be called after the commit.
    pub(super) fn add(&self, milestone: Milestone) {
        self.is_saved(milestone).store(true, Ordering::Relaxed);
    }
}
