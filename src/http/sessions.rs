//! The sessions of agents over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::api::{Problem, SessionList, SessionState, SessionView};
use crate::inbox::{self, Inbox};
use crate::registry::Registry;

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
}

impl SessionFeed {
    pub(super) fn new(registry: &Registry, inbox: Inbox) -> Self {
        Self { inbox, changes: registry.follow_sessions(), behind: VecDeque::new() }
    }

    /// The next session that has changed; `None` if there will be no more. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<SessionView> {
        loop {
            if let Some(id) = self.behind.pop_front() {
                return Some(self.view(&id));
            }
            match self.changes.recv().await {
                Ok(id) => return Some(self.view(&id)),
                Err(RecvError::Lagged(_)) => {
                    self.behind = self.inbox.sessions().into_iter().map(|session| session.id).collect();
                }
                Err(RecvError::Closed) => return None,
            }
        }
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
