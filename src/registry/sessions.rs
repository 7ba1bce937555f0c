//! The sessions of agents, as far as their hooks tell. No agent has to announce itself: whatever its hooks report shows that it is there
//! and whether it works. Only memory knows this, so after a restart of the daemon a session appears with its next call.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::broadcast;

/// Limits that ordinary use never reaches. The process that was seen least recently is forgotten first.
const MAX_PROCESSES: usize = 1024;
/// How long a process is listed after its end.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);
/// A process that calls no more is taken for gone after this, because not every end is reported.
const SILENT: SignedDuration = SignedDuration::from_hours(24);
/// How far a reader may fall behind.
const MAX_CHANGES: usize = 256;

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It works on a prompt.
    Working,
    /// Its turn is over.
    Idle,
    /// Its process has ended.
    Ended,
}

/// One process of a session. Several processes can share a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProcess {
    pub session: String,
    /// The id of the process, if it is known.
    pub asker: Option<String>,
    /// The directory that it works in.
    pub project: Option<String>,
    /// The program and its version.
    pub agent: Option<String>,
    /// The file in which the agent records the session.
    pub records: Option<PathBuf>,
    pub activity: Activity,
    pub seen_at: Timestamp,
}

/// All sessions that were seen.
#[derive(Debug)]
pub(super) struct Sessions {
    processes: Mutex<HashMap<(String, Option<String>), AgentProcess>>,
    changed: broadcast::Sender<Arc<str>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self { processes: Mutex::default(), changed: broadcast::channel(MAX_CHANGES).0 }
    }

    /// A hook of this process has called.
    pub(super) fn saw(&self, mut process: AgentProcess) {
        let key = (process.session.clone(), process.asker.clone());
        let session = process.session.clone();
        let is_news = {
            let mut processes = self.processes();
            let before = processes.remove(&key);
            if let Some(before) = &before {
                // Not every call says everything.
                process.project = process.project.take().or_else(|| before.project.clone());
                process.agent = process.agent.take().or_else(|| before.agent.clone());
                process.records = process.records.take().or_else(|| before.records.clone());
            }
            let is_news = before.is_none_or(|before| AgentProcess { seen_at: process.seen_at, ..before } != process);
            make_room(&mut processes, process.seen_at);
            processes.insert(key, process);
            is_news
        };
        if is_news {
            self.tell(&session);
        }
    }

    /// Something about a session has changed.
    pub(super) fn tell(&self, session: &str) {
        if self.changed.receiver_count() > 0 {
            // It fails if the last reader has just gone, which is fine.
            drop(self.changed.send(Arc::from(session)));
        }
    }

    /// The processes of one session, or all.
    pub(super) fn seen(&self, session: Option<&str>) -> Vec<AgentProcess> {
        let is_wanted = |process: &&AgentProcess| session.is_none_or(|session| process.session == session);
        self.processes().values().filter(is_wanted).cloned().collect()
    }

    pub(super) fn follow(&self) -> broadcast::Receiver<Arc<str>> {
        self.changed.subscribe()
    }

    fn processes(&self) -> MutexGuard<'_, HashMap<(String, Option<String>), AgentProcess>> {
        // No code that holds this lock can panic.
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room(processes: &mut HashMap<(String, Option<String>), AgentProcess>, now: Timestamp) {
    processes.retain(|_, process| {
        let limit = if process.activity == Activity::Ended { REMEMBERED } else { SILENT };
        now.duration_since(process.seen_at) < limit
    });
    if processes.len() >= MAX_PROCESSES
        && let Some(oldest) = processes.iter().min_by_key(|(_, process)| process.seen_at).map(|(key, _)| key.clone())
    {
        processes.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(session: &str, asker: &str, activity: Activity, second: i64) -> AgentProcess {
        AgentProcess {
            session: session.into(),
            asker: Some(asker.into()),
            project: None,
            agent: None,
            records: None,
            activity,
            seen_at: Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn only_news_are_told_and_nothing_is_forgotten_with_the_next_call() {
        let sessions = Sessions::new();
        let mut changes = sessions.follow();
        let first = AgentProcess { project: Some("/shop".into()), ..process("s", "7", Activity::Working, 1) };
        sessions.saw(first.clone());
        sessions.saw(process("s", "7", Activity::Working, 2));
        assert_eq!(&*changes.try_recv().unwrap(), "s");
        assert!(changes.try_recv().is_err(), "the same again is no news");
        let seen_at = Timestamp::from_second(2).unwrap();
        assert_eq!(sessions.seen(Some("s")), [AgentProcess { seen_at, ..first }]);
        sessions.saw(process("s", "7", Activity::Idle, 3));
        sessions.saw(process("s", "8", Activity::Working, 3));
        assert_eq!((sessions.seen(Some("s")).len(), sessions.seen(Some("other")).len()), (2, 0));
        assert!(changes.try_recv().is_ok() && changes.try_recv().is_ok());
    }

    #[test]
    fn the_memory_is_bounded_and_what_has_ended_is_forgotten() {
        let sessions = Sessions::new();
        sessions.saw(process("old", "1", Activity::Ended, 0));
        for n in 0..MAX_PROCESSES + 5 {
            sessions.saw(process(&format!("s{n}"), "7", Activity::Working, 4000 + i64::try_from(n).unwrap()));
        }
        assert_eq!(sessions.seen(None).len(), MAX_PROCESSES);
        let is_known = |session| !sessions.seen(Some(session)).is_empty();
        assert_eq!(["old", "s4", "s5"].map(is_known), [false, false, true]);
    }
}
