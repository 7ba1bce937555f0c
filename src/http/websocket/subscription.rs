//! What one connection wants to see, and what it has seen.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::api::{AskUserQuestion, AskUserSettled, AskUserTimeout, ServerFrame, SessionStatus};
use crate::ask::{Ask, AskId, Change, ChangeKind, Cursor, Origin, OutcomeKind};
use crate::registry::Feed;
use crate::store::StoreError;

use crate::http::App;
use crate::http::sessions::SessionFeed;

/// The subscriptions of one connection.
#[derive(Debug)]
pub(super) struct Subscription {
    /// Whether it wants all sessions.
    all: bool,
    sessions: HashSet<String>,
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
    pub(super) fn new(app: &App, since: Option<Cursor>) -> Self {
        let now = app.inbox.cursor();
        Self {
            all: false,
            sessions: HashSet::new(),
            feed: app.registry.feed(Some(since.unwrap_or(now))),
            session_feed: SessionFeed::new(&app.registry, app.inbox.clone()),
            shown: HashSet::new(),
            replay: since.map_or(Cursor(0), |_| now),
            statuses: HashMap::new(),
        }
    }

    /// Reads on from a cursor that the companion names in a later subscription.
    pub(super) fn rewind(&mut self, app: &App, since: Cursor) {
        self.replay = app.inbox.cursor();
        self.feed = app.registry.feed(Some(since));
    }

    /// Adds a session, or all. Returns what to send at once: the open asks, and what the sessions do.
    pub(super) fn add(&mut self, app: &App, session: Option<&str>) -> Vec<ServerFrame> {
        match session {
            Some(session) => drop(self.sessions.insert(session.to_owned())),
            None => self.all = true,
        }
        let (cursor, now) = (app.inbox.cursor(), Timestamp::now());
        let open = app.registry.open_asks(session);
        let mut frames: Vec<_> = open.iter().filter_map(|ask| self.question(ask, cursor, now)).collect();
        // They are sent although they may be known: whoever subscribes wants to know.
        let statuses = match session {
            Some(session) => vec![self.session_feed.view(session)],
            None => app.inbox.sessions().into_iter().map(Into::into).collect(),
        };
        for status in statuses {
            let status = SessionStatus::from(status);
            self.statuses.insert(status.session_id.clone(), status.clone());
            frames.push(ServerFrame::SessionStatus(status));
        }
        frames
    }

    /// How many sessions were named.
    pub(super) fn named(&self) -> usize {
        self.sessions.len()
    }

    /// What to send next. An empty list is possible. `None` if there will be nothing more. Safe to cancel.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<ServerFrame>>, StoreError> {
        tokio::select! {
            change = self.feed.next() => Ok(change?.map(|change| self.frames(&change))),
            session = self.session_feed.next() => Ok(session.map(|session| {
                let status = SessionStatus::from(session);
                let is_news = self.statuses.get(&status.session_id) != Some(&status);
                if !self.wants(&status.session_id) || !is_news {
                    return Vec::new();
                }
                self.statuses.insert(status.session_id.clone(), status.clone());
                vec![ServerFrame::SessionStatus(status)]
            })),
        }
    }

    /// The companion knows how this ask ended, so the event about it says nothing new.
    pub(super) fn knows_end(&mut self, id: AskId) {
        self.shown.remove(&id);
    }

    fn wants(&self, session: &str) -> bool {
        self.all || self.sessions.contains(session)
    }

    fn frames(&mut self, change: &Arc<Change>) -> Vec<ServerFrame> {
        let Change { ask, cursor, kind, .. } = &**change;
        if !self.wants(ask.key.session()) {
            return Vec::new();
        }
        match kind {
            ChangeKind::Opened => self.question(ask, *cursor, Timestamp::now()).into_iter().collect(),
            ChangeKind::Settled if self.shown.remove(&ask.id) || *cursor <= self.replay => settled(ask, *cursor),
            ChangeKind::Settled | ChangeKind::Deferred | ChangeKind::Resumed | ChangeKind::Received => Vec::new(),
        }
    }

    /// An ask that is open and was not sent. A change that is read from the store may be about one that was settled since.
    fn question(&mut self, ask: &Ask, cursor: Cursor, now: Timestamp) -> Option<ServerFrame> {
        let is_new = ask.is_open() && ask.origin != Origin::Probe && self.shown.insert(ask.id);
        is_new.then(|| ServerFrame::AskUserQuestion(Box::new(AskUserQuestion::new(ask, cursor, now))))
    }
}

/// What is told about an ask that has ended.
pub(super) fn settled(ask: &Ask, cursor: Cursor) -> Vec<ServerFrame> {
    let Some(frame) = AskUserSettled::new(ask, cursor) else { return Vec::new() };
    let timeout = (frame.outcome.kind == OutcomeKind::Expired).then(|| {
        let (question_id, session_id) = (frame.question_id.clone(), frame.session_id.clone());
        ServerFrame::AskUserTimeout(AskUserTimeout {
            question_id,
            session_id,
            error: "Nobody answered in time.".into(),
        })
    });
    timeout.into_iter().chain([ServerFrame::AskUserSettled(Box::new(frame))]).collect()
}
