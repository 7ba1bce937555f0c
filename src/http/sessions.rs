//! The sessions of agents over HTTP.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::access::{Caller, Rights};
use crate::api::{Problem, SessionList, SessionState, SessionView};
use crate::inbox::{self, Inbox};
use crate::store::Role;

use super::App;
use super::room::Room;

/// Lists the sessions of agents: those that work, wait or are idle, and those that have ended within the last hour.
///
/// What their hooks report is all that is known about them. So a session is listed from its first call on, and after a restart of the
/// daemon from its next call on. If the sessions have over 1 MiB of text together, the least active ones are left out.
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions", operation_id = "listSessions", tag = "sessions", responses(
    (status = 200, body = SessionList, description = "The sessions, the most active first"))))]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<SessionList>, Problem> {
    let (mut sessions, mut room) = (Vec::new(), Room::default());
    for session in app.inbox.sessions(caller.rights()) {
        let keys: usize = session.asks.iter().map(|key| key.as_str().len()).sum();
        if !room.takes(session.id.len() + session.project.as_ref().map_or(0, String::len) + keys) {
            break;
        }
        let recorded = match &session.records {
            Some(records) => app.bridge.recorded(records.clone(), &session.id).await,
            None => Default::default(),
        };
        sessions.push(SessionView { title: recorded.title, branch: recorded.branch, ..SessionView::from(session) });
    }
    Ok(Json(SessionList { sessions }))
}

/// Sessions that change and that the reader may see, each as it is when it is handed out.
#[derive(Debug)]
pub(super) struct SessionFeed {
    inbox: Inbox,
    rights: Rights,
    changes: broadcast::Receiver<Arc<str>>,
    /// After a reader was too slow, any session may have changed.
    behind: VecDeque<String>,
    /// What was handed out or could be seen, and had not ended.
    living: HashSet<String>,
}

impl SessionFeed {
    pub(super) fn new(inbox: Inbox, rights: Rights) -> Self {
        let changes = inbox.follow_sessions();
        let mut feed = Self { inbox, rights, changes, behind: VecDeque::new(), living: HashSet::new() };
        feed.note_seen();
        feed
    }

    /// Notes which sessions the reader may see now. When one of them ends, nobody can tell any more whether it could be seen.
    pub(super) fn note_seen(&mut self) {
        if !self.rights.allow_everywhere(Role::View) {
            self.living.extend(self.inbox.sessions(&self.rights).into_iter().map(|session| session.id));
        }
    }

    /// The next session that has changed; `None` if there will be no more. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<SessionView> {
        loop {
            if let Some(id) = self.behind.pop_front() {
                if let Some(session) = self.hand_out(&id) {
                    return Some(session);
                }
                continue;
            }
            match self.changes.recv().await {
                Ok(id) => {
                    if let Some(session) = self.hand_out(&id) {
                        return Some(session);
                    }
                }
                Err(RecvError::Lagged(_)) => {
                    // Some may have ended meanwhile, and nothing is known about them any more.
                    let known = self.inbox.sessions(&self.rights).into_iter().map(|session| session.id);
                    let all: HashSet<String> = known.chain(self.living.drain()).collect();
                    self.behind = all.into_iter().collect();
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The session as it is; `None` if the reader does not learn of it.
    fn hand_out(&mut self, id: &str) -> Option<SessionView> {
        let known = self.inbox.session(id, Role::View, &self.rights);
        let may_be_told = known.is_some() || self.living.contains(id) || self.rights.allow_everywhere(Role::View);
        let session = known.map_or_else(|| ended(id, self.inbox.now()), SessionView::from);
        if session.state == SessionState::Ended {
            self.living.remove(id);
        } else {
            self.living.insert(id.to_owned());
        }
        may_be_told.then_some(session)
    }

    /// A program has no session beyond its question, so it is over when nothing is known about it.
    pub(super) fn view(&self, id: &str) -> SessionView {
        self.inbox.session(id, Role::View, &self.rights).map_or_else(|| ended(id, self.inbox.now()), SessionView::from)
    }
}

fn ended(id: &str, now: Timestamp) -> SessionView {
    SessionView {
        session: id.to_owned(),
        state: SessionState::Ended,
        project: None,
        branch: None,
        title: None,
        agent: None,
        asks: Vec::new(),
        last_activity_at: now,
    }
}

impl From<inbox::Session> for SessionView {
    fn from(session: inbox::Session) -> Self {
        let state = match session.state {
            inbox::SessionState::Working => SessionState::Working,
            inbox::SessionState::Waiting => SessionState::Waiting,
            inbox::SessionState::Idle => SessionState::Idle,
            inbox::SessionState::Ended => SessionState::Ended,
        };
        Self {
            session: session.id,
            state,
            project: session.project,
            branch: None,
            title: None,
            agent: session.agent,
            asks: session.asks.iter().map(ToString::to_string).collect(),
            last_activity_at: session.last_activity,
        }
    }
}
