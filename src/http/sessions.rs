//! The sessions of agents over HTTP.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::api::{Problem, SessionList, SessionState, SessionView};
use crate::inbox::{self, Inbox};

use super::App;

/// Lists the sessions of agents: those that work, wait or are idle, and those that have ended within the last hour.
///
/// What their hooks report is all that is known about them. So a session is listed from its first call on, and after a restart of the
/// daemon from its next call on.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "listSessions", tag = "sessions", responses(
    (status = 200, body = SessionList, description = "The sessions, the most active first")))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<SessionList>, Problem> {
    let mut sessions = Vec::new();
    for session in app.inbox.sessions() {
        let recorded = match &session.records {
            Some(records) => app.bridge.recorded(records.clone(), &session.id).await,
            None => Default::default(),
        };
        sessions.push(SessionView { title: recorded.title, branch: recorded.branch, ..SessionView::from(session) });
    }
    Ok(Json(SessionList { sessions }))
}

/// Sessions that change, each as it is when it is handed out.
#[derive(Debug)]
pub(super) struct SessionFeed {
    inbox: Inbox,
    changes: broadcast::Receiver<Arc<str>>,
    /// After a reader was too slow, any session may have changed.
    behind: VecDeque<String>,
    /// What was handed out and had not ended.
    living: HashSet<String>,
}

impl SessionFeed {
    pub(super) fn new(inbox: Inbox) -> Self {
        let changes = inbox.follow_sessions();
        Self { inbox, changes, behind: VecDeque::new(), living: HashSet::new() }
    }

    /// The next session that has changed; `None` if there will be no more. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<SessionView> {
        loop {
            if let Some(id) = self.behind.pop_front() {
                return Some(self.hand_out(&id));
            }
            match self.changes.recv().await {
                Ok(id) => return Some(self.hand_out(&id)),
                Err(RecvError::Lagged(_)) => {
                    // Some may have ended meanwhile, and nothing is known about them any more.
                    let known = self.inbox.sessions().into_iter().map(|session| session.id);
                    let all: HashSet<String> = known.chain(self.living.drain()).collect();
                    self.behind = all.into_iter().collect();
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn hand_out(&mut self, id: &str) -> SessionView {
        let session = self.view(id);
        if session.state == SessionState::Ended {
            self.living.remove(id);
        } else {
            self.living.insert(id.to_owned());
        }
        session
    }

    /// A program has no session beyond its question, so it is over when nothing is known about it.
    pub(super) fn view(&self, id: &str) -> SessionView {
        self.inbox.session(id).map_or_else(|| ended(id), SessionView::from)
    }
}

fn ended(id: &str) -> SessionView {
    SessionView {
        session: id.to_owned(),
        state: SessionState::Ended,
        project: None,
        branch: None,
        title: None,
        agent: None,
        asks: Vec::new(),
        last_activity_at: Timestamp::now(),
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
