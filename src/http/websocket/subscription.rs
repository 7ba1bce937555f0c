//! What one connection wants to see, and what it has seen.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::access::Rights;
use crate::api::{AskUserQuestion, AskUserSettled, AskUserTimeout, Reset, ServerFrame, SessionState, SessionStatus};
use crate::ask::{Ask, AskId, Change, ChangeKind, Cursor, Origin, OutcomeKind};
use crate::registry::{Feed, Next};
use crate::store::{Role, StoreError};

use crate::http::App;
use crate::http::sessions::SessionFeed;

/// How many sessions a connection may take by name. Without a name, it gets all.
pub(super) const MAX_SESSIONS: usize = 256;

/// Something to send. A question is kept as the ask that everybody shares, because there may be thousands, and each becomes a frame only
/// when it is sent.
#[derive(Debug)]
pub(super) enum Pending {
    Frame(ServerFrame),
    Question(Arc<Ask>, Cursor),
}

impl Pending {
    pub(super) fn into_frame(self, now: Timestamp) -> ServerFrame {
        match self {
            Self::Frame(frame) => frame,
            Self::Question(ask, cursor) => {
                ServerFrame::AskUserQuestion(Box::new(AskUserQuestion::new(&ask, cursor, now)))
            }
        }
    }
}

impl From<ServerFrame> for Pending {
    fn from(frame: ServerFrame) -> Self {
        Self::Frame(frame)
    }
}

/// The subscriptions of one connection.
#[derive(Debug)]
pub(super) struct Subscription {
    /// Whether it wants all sessions.
    all: bool,
    sessions: HashSet<String>,
    /// What the companion may see.
    rights: Rights,
    feed: Feed,
    session_feed: SessionFeed,
    /// The open asks that were sent.
    shown: HashSet<AskId>,
    /// Up to this change, everything that was settled is told, because the companion may have seen it open before.
    replay: Cursor,
    /// The status that was sent last for each session.
    statuses: HashMap<String, SessionStatus>,
}

impl Subscription {
    /// Begins with the changes after a cursor. Without one, it begins now.
    pub(super) fn new(app: &App, rights: Rights, since: Option<Cursor>) -> Self {
        let now = app.inbox.cursor();
        Self {
            all: false,
            sessions: HashSet::new(),
            feed: app.registry.feed(Some(since.unwrap_or(now))),
            session_feed: SessionFeed::new(app.inbox.clone(), rights.clone()),
            rights,
            shown: HashSet::new(),
            replay: since.map_or(Cursor(0), |_| now),
            statuses: HashMap::new(),
        }
    }

    /// Reads on from a cursor that the companion names in a later subscription. What was not sent yet is not skipped.
    pub(super) fn rewind(&mut self, app: &App, since: Cursor) {
        self.replay = app.inbox.cursor();
        self.feed = app.registry.feed(Some(since.min(self.feed.position())));
    }

    /// Up to here, everything was sent. It goes along with every frame, so that a companion that comes back misses nothing.
    pub(super) fn position(&self) -> Cursor {
        self.feed.position()
    }

    /// Adds a session, or all. Returns what to send at once: the open asks, and what the sessions do.
    pub(super) fn add(&mut self, app: &App, session: Option<&str>) -> Vec<Pending> {
        match session {
            Some(session) => drop(self.sessions.insert(session.to_owned())),
            None => self.all = true,
        }
        let (cursor, open) = (self.feed.position(), app.inbox.open_asks(session, Role::View, &self.rights));
        let mut pending: Vec<_> = open.iter().filter_map(|ask| self.question(ask, cursor)).collect();
        // They are sent although they may be known: whoever subscribes wants to know.
        let statuses = match session {
            Some(session) => vec![self.session_feed.view(session)],
            None => app.inbox.sessions(&self.rights).into_iter().map(Into::into).collect(),
        };
        for status in statuses {
            let status = SessionStatus::from(status);
            if status.state != SessionState::Ended {
                self.statuses.insert(status.session_id.clone(), status.clone());
            }
            pending.push(ServerFrame::SessionStatus(status).into());
        }
        pending
    }

    /// Whether one more session can be named.
    pub(super) fn has_room_for(&self, session: &str) -> bool {
        self.sessions.len() < MAX_SESSIONS || self.sessions.contains(session)
    }

    /// What to send next. An empty list is possible. `None` if there will be nothing more. Safe to cancel.
    pub(super) async fn next(&mut self, app: &App) -> Result<Option<Vec<Pending>>, StoreError> {
        tokio::select! {
            // A question comes before the status that names it.
            biased;
            () = self.rights.changed() => Ok(Some(self.begin_again(app, self.feed.position()))),
            next = self.feed.next() => Ok(next?.map(|next| match next {
                Next::Change(change) => self.frames(&change),
                Next::Reset(cursor) => self.begin_again(app, cursor),
            })),
            session = self.session_feed.next() => Ok(session.map(|session| {
                let status = SessionStatus::from(session);
                let is_news = self.statuses.get(&status.session_id) != Some(&status);
                if !self.wants(&status.session_id) || !is_news {
                    return Vec::new();
                }
                // Every question of a program is a session of its own, so what has ended is not kept.
                if status.state == SessionState::Ended {
                    self.statuses.remove(&status.session_id);
                } else {
                    self.statuses.insert(status.session_id.clone(), status.clone());
                }
                vec![ServerFrame::SessionStatus(status).into()]
            })),
        }
    }

    /// What was sent may be undone, or may not be seen any more. So the open asks are sent again.
    fn begin_again(&mut self, app: &App, cursor: Cursor) -> Vec<Pending> {
        self.shown.clear();
        self.session_feed.note_seen();
        self.replay = cursor;
        let reset = ServerFrame::Reset(Reset { cursor: cursor.0.to_string() });
        let mut pending = vec![Pending::from(reset)];
        for ask in app.inbox.open_asks(None, Role::View, &self.rights) {
            if self.wants(ask.key.session()) {
                pending.extend(self.question(&ask, cursor));
            }
        }
        pending
    }

    /// The companion knows how this ask ended, so the event about it says nothing new.
    pub(super) fn knows_end(&mut self, id: AskId) {
        self.shown.remove(&id);
    }

    fn wants(&self, session: &str) -> bool {
        self.all || self.sessions.contains(session)
    }

    fn frames(&mut self, change: &Arc<Change>) -> Vec<Pending> {
        let Change { ask, cursor, kind, .. } = &**change;
        if !self.wants(ask.key.session()) || !self.rights.cover(Role::View, ask) {
            return Vec::new();
        }
        match kind {
            ChangeKind::Opened => self.question(ask, *cursor).into_iter().collect(),
            ChangeKind::Settled if self.shown.remove(&ask.id) || *cursor <= self.replay => settled(ask, Some(*cursor)),
            ChangeKind::Settled | ChangeKind::Deferred | ChangeKind::Resumed | ChangeKind::Received => Vec::new(),
        }
    }

    /// An ask that is open and was not sent. A change that is read from the store may be about one that was settled since.
    fn question(&mut self, ask: &Arc<Ask>, cursor: Cursor) -> Option<Pending> {
        let is_new = ask.is_open() && ask.origin != Origin::Probe && self.shown.insert(ask.id);
        is_new.then(|| Pending::Question(Arc::clone(ask), cursor))
    }
}

/// What is told about an ask that has ended. The reply to an answer has no cursor, because it overtakes other events.
pub(super) fn settled(ask: &Ask, cursor: Option<Cursor>) -> Vec<Pending> {
    let Some(frame) = AskUserSettled::new(ask, cursor) else { return Vec::new() };
    let timeout = (frame.outcome.kind == OutcomeKind::Expired).then(|| {
        let (question_id, session_id) = (frame.question_id.clone(), frame.session_id.clone());
        ServerFrame::AskUserTimeout(AskUserTimeout {
            question_id,
            session_id,
            error: "Nobody answered in time.".into(),
        })
    });
    timeout.into_iter().chain([ServerFrame::AskUserSettled(Box::new(frame))]).map(Pending::from).collect()
}
