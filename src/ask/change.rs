//! What happens to asks, in the order in which it is saved.

use std::sync::Arc;

use super::Ask;

/// A place in the order of all changes. Cursors only grow, and none is ever used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor(pub i64);

/// What happened to an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was opened.
    Opened,
    /// It got its outcome.
    Settled,
    /// It stays open although nobody waits for it.
    Deferred,
    /// It was deferred, and an asker waits for it again.
    Resumed,
    /// The agent was seen to have received the answer.
    Received,
}

impl ChangeKind {
    const ALL: [Self; 5] = [Self::Opened, Self::Settled, Self::Deferred, Self::Resumed, Self::Received];

    /// Its name in the event stream and in stores.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opened => "ask.opened",
            Self::Settled => "ask.settled",
            Self::Deferred => "ask.deferred",
            Self::Resumed => "ask.resumed",
            Self::Received => "ask.receipt",
        }
    }

    /// The change with this name; `None` for one that only a newer version knows.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One change, once it is saved.
#[derive(Debug)]
pub struct Change {
    /// Its place in the order of all changes.
    pub cursor: Cursor,
    /// What happened.
    pub kind: ChangeKind,
    /// The ask. A live change has it as it was right after the change; one that is read later may have it as it is now.
    pub ask: Arc<Ask>,
    /// What the asker needs for its reply. Only a settlement that was saved a moment ago has it, and not if it cannot be read.
    pub detail: Option<Arc<str>>,
}
