//! What is asked of a store, and what comes back.

use std::sync::Arc;

use jiff::Timestamp;

use crate::ask::{Ask, AskId, Change, Cursor, Host, Kind, Origin, OutcomeKind};

/// The open asks, and the newest change of that moment. Every change up to the cursor is in these asks, and no later one is.
#[derive(Debug)]
pub struct Snapshot {
    /// The asks that want an answer, in no particular order.
    pub open: Vec<Ask>,
    /// The newest change that is in them.
    pub cursor: Cursor,
}

/// What came of opening an ask.
#[derive(Debug)]
pub enum Opened {
    /// A new life of its key.
    New(Arc<Ask>),
    /// The life of the key that stands: it is open, or its outcome is the reply.
    Known(Arc<Ask>),
    /// Nothing was opened, because too many asks of the session are open.
    Full,
}

/// What came of settling an ask.
#[derive(Debug)]
pub enum Settling {
    /// This settlement was the first. The ask has it.
    Won(Arc<Ask>),
    /// Another settlement came first. The ask has that one.
    Lost(Arc<Ask>),
}

/// A page of changes, oldest first, each with the ask as it is now. A page may be empty and not the last: a newer version may have made
/// changes that this one does not know.
#[derive(Debug)]
pub struct Changes {
    /// The changes that this version knows.
    pub changes: Vec<Arc<Change>>,
    /// How far the page goes. The next page begins after this.
    pub through: Cursor,
    /// Whether there was nothing after this page when it was read.
    pub is_end: bool,
    /// Some changes after the cursor are gone. Whoever reads them has to list the asks again, and can go on from [`through`](Self::through).
    pub is_broken_off: bool,
}

/// Which states a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// Asks that want an answer.
    Open,
    /// Asks that have an outcome.
    Settled,
    /// Both.
    All,
}

/// Which asks a list shows. An ask must fit every field that is given.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Open asks, settled ones, or both.
    pub state: StateFilter,
    /// Asks of this session.
    pub session: Option<String>,
    /// Asks of this project.
    pub project: Option<String>,
    /// Asks of this machine.
    pub host: Option<String>,
    /// Asks of this kind.
    pub kind: Option<Kind>,
    /// Asks with this outcome.
    pub outcome: Option<OutcomeKind>,
    /// Asks with this text in a question, an answer, a note or a reason. Upper and lower case are the same.
    pub text: Option<String>,
    /// Asks that were opened at this time or later.
    pub opened_since: Option<Timestamp>,
    /// Asks that are older than this one.
    pub before: Option<AskId>,
    /// Asks whose key ends with this.
    pub key_end: Option<String>,
    /// Whether questions that Answerback asked itself are shown, too.
    pub probes: bool,
    /// The most asks on a page.
    pub limit: usize,
}

impl Filter {
    /// Whether only a store can say what it shows. Otherwise, the open asks in memory can.
    pub fn needs_store(&self) -> bool {
        let is_search = self.text.is_some() || self.opened_since.is_some() || self.outcome.is_some();
        self.state != StateFilter::Open || is_search
    }

    /// Whether it shows an open ask, unless it is a search.
    pub fn shows(&self, ask: &Ask) -> bool {
        self.session.as_deref().is_none_or(|session| ask.key.session() == session)
            && self.project.as_ref().is_none_or(|project| ask.project.as_ref() == Some(project))
            && self.host.as_ref().is_none_or(|host| ask.host.as_str() == host)
            && self.kind.is_none_or(|kind| ask.kind == kind)
            && self.before.is_none_or(|before| ask.id < before)
            && (self.probes || ask.origin != Origin::Probe)
            && self.key_end.as_ref().is_none_or(|end| ask.key.as_str().ends_with(end.as_str()))
    }

    /// All asks of a state, at most so many.
    pub fn all(state: StateFilter, limit: usize) -> Self {
        let (session, project, host, kind, outcome, text) = Default::default();
        let (opened_since, before, key_end, probes) = Default::default();
        Self { state, session, project, host, kind, outcome, text, opened_since, before, key_end, probes, limit }
    }
}

/// A page of a list of asks, newest first.
#[derive(Debug, Default)]
pub struct AskPage {
    /// The asks that can be read.
    pub asks: Vec<Arc<Ask>>,
    /// How many are left out because they are damaged.
    pub damaged: usize,
    /// If there are more asks: where the next page begins, for [`Filter::before`]. Even an empty page may have one.
    pub next: Option<AskId>,
}

/// A machine that has asks, and the projects on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProjects {
    /// The machine.
    pub host: Host,
    /// The directories of its projects, in alphabetical order.
    pub projects: Vec<String>,
    /// Whether there are asks of no project.
    pub has_others: bool,
}

impl HostProjects {
    /// Puts rows together: a machine and a project, or an empty text for none, in the order of both.
    pub(super) fn from_rows(rows: impl IntoIterator<Item = (String, String)>) -> Vec<Self> {
        let mut hosts: Vec<Self> = Vec::new();
        for (host, project) in rows {
            if hosts.last().is_none_or(|last| last.host.as_str() != host) {
                hosts.push(Self { host: Host::new(&host), projects: Vec::new(), has_others: false });
            }
            match hosts.last_mut() {
                Some(last) if project.is_empty() => last.has_others = true,
                Some(last) => last.projects.push(project),
                None => {}
            }
        }
        hosts
    }
}
