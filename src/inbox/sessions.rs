//! The sessions of agents, for people: what each of them does, and what it waits for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use tokio::sync::broadcast;

use crate::access::Rights;
use crate::ask::{Ask, AskKey, HTTP_ASKER, Origin};
use crate::registry::{Activity, AgentProcess, Registry};
use crate::store::Role;

use super::Inbox;

/// How often it is looked whether agents still run, while somebody wants to know.
const LOOK: Duration = Duration::from_secs(5);

/// A process that has called this recently is there, even if this machine does not know its number. It may be in a container.
const JUST_NOW: SignedDuration = SignedDuration::from_secs(10);

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// The agent works.
    Working,
    /// At least one ask is open.
    Waiting,
    /// The turn of the agent is over, and nothing is asked.
    Idle,
    /// Its processes have ended.
    Ended,
}

/// One session of an agent, or of a program that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub project: Option<String>,
    /// The program and its version.
    pub agent: Option<String>,
    /// The file in which the agent records the session.
    pub records: Option<PathBuf>,
    pub state: SessionState,
    /// The keys of its open asks, oldest first.
    pub asks: Vec<AskKey>,
    pub last_activity: Timestamp,
}

/// Whether a task looks for agents that have ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Lookout(Arc<AtomicBool>);

impl Lookout {
    /// Starts the task, unless it runs. It ends when nobody follows the sessions any more.
    fn start(&self, registry: &Registry) {
        if self.0.swap(true, Ordering::SeqCst) {
            return;
        }
        let (is_running, registry) = (self.clone(), registry.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                note_ends(&registry, None);
                if !registry.has_session_followers() {
                    is_running.0.store(false, Ordering::SeqCst);
                    // Somebody may have come in between, and relied on this task.
                    if !registry.has_session_followers() || is_running.0.swap(true, Ordering::SeqCst) {
                        return;
                    }
                }
            }
        });
    }
}

impl Inbox {
    /// The sessions in which something changes from now on. See [`Registry::follow_sessions`].
    pub fn follow_sessions(&self) -> broadcast::Receiver<Arc<str>> {
        let changes = self.registry.follow_sessions();
        self.lookout.start(&self.registry);
        changes
    }

    /// The sessions that are known and that the caller may see, the most active first.
    pub fn sessions(&self, rights: &Rights) -> Vec<Session> {
        note_ends(&self.registry, None);
        let mut known: BTreeMap<String, (Vec<AgentProcess>, Vec<Arc<Ask>>)> = BTreeMap::new();
        for process in self.processes(None, Role::View, rights) {
            known.entry(process.session.clone()).or_default().0.push(process);
        }
        for ask in self.open_asks(None, Role::View, rights) {
            known.entry(ask.key.session().to_owned()).or_default().1.push(ask);
        }
        let mut sessions: Vec<Session> =
            known.into_iter().filter_map(|(id, (processes, asks))| summary(id, processes, &asks)).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_activity));
        sessions
    }

    /// One session, as far as the caller has a role in its project.
    pub fn session(&self, id: &str, role: Role, rights: &Rights) -> Option<Session> {
        note_ends(&self.registry, Some(id));
        let (processes, asks) = (self.processes(Some(id), role, rights), self.open_asks(Some(id), role, rights));
        summary(id.to_owned(), processes, &asks)
    }

    /// The open asks that the caller has a role for, oldest first: those of one session, or all.
    pub fn open_asks(&self, session: Option<&str>, role: Role, rights: &Rights) -> Vec<Arc<Ask>> {
        let mut asks = self.registry.open_asks(session);
        asks.retain(|ask| rights.cover(role, ask));
        asks
    }

    /// The processes in projects that the caller has a role in. All of them run on this machine.
    fn processes(&self, session: Option<&str>, role: Role, rights: &Rights) -> Vec<AgentProcess> {
        let mut processes = self.registry.processes(session);
        processes.retain(|process| rights.allow(role, self.store.host(), process.project.as_deref()));
        processes
    }
}

/// Notes the processes that have ended and did not say so, because they were killed.
fn note_ends(registry: &Registry, session: Option<&str>) {
    let now = registry.now();
    for process in registry.processes(session) {
        if process.activity != Activity::Ended && is_gone(&process, now) {
            registry.process_vanished(&process);
        }
    }
}

fn summary(id: String, mut processes: Vec<AgentProcess>, asks: &[Arc<Ask>]) -> Option<Session> {
    let asks: Vec<&Arc<Ask>> = asks.iter().filter(|ask| ask.origin != Origin::Probe).collect();
    // Whoever has only the hook token says nothing about a session of the socket.
    let is_over_http = |process: &AgentProcess| process.asker.as_deref() == Some(HTTP_ASKER);
    if !processes.iter().all(is_over_http) {
        processes.retain(|process| !is_over_http(process));
    }
    processes.sort_by_key(|process| process.seen_at);
    let last_activity =
        processes.iter().map(|process| process.seen_at).chain(asks.iter().map(|ask| ask.opened_at)).max()?;
    let does = |activity| processes.iter().any(|process| process.activity == activity);
    let state = if !asks.is_empty() {
        SessionState::Waiting
    } else if does(Activity::Working) {
        SessionState::Working
    } else if does(Activity::Idle) {
        SessionState::Idle
    } else {
        SessionState::Ended
    };
    let newest = processes.pop();
    let project = newest.as_ref().and_then(|process| process.project.clone());
    Some(Session {
        id,
        project: project.or_else(|| asks.last().and_then(|ask| ask.project.clone())),
        agent: newest.as_ref().and_then(|process| process.agent.clone()),
        records: newest.and_then(|process| process.records),
        state,
        asks: asks.iter().map(|ask| ask.key.clone()).collect(),
        last_activity,
    })
}

/// Whether there is no process with this number any more. Without a number, nobody can tell.
fn is_gone(process: &AgentProcess, now: Timestamp) -> bool {
    let id = process.asker.as_deref().and_then(|asker| asker.parse().ok()).filter(|id| *id > 0).and_then(Pid::from_raw);
    now.duration_since(process.seen_at) > JUST_NOW && id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    fn process(asker: &str, activity: Activity, second: i64) -> AgentProcess {
        AgentProcess {
            session: "s".into(),
            asker: Some(asker.into()),
            project: Some(format!("/{asker}")),
            agent: None,
            records: None,
            activity,
            seen_at: at(second),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Nobody has a process with this number.
    const GONE: &str = "2147483647";

    #[test]
    fn a_session_does_what_its_liveliest_process_does() {
        let state = |processes: &[AgentProcess]| summary("s".into(), processes.to_vec(), &[]).map(|s| s.state);
        let [working, idle, ended] = [Activity::Working, Activity::Idle, Activity::Ended].map(|a| process("7", a, 50));
        assert_eq!(state(&[]), None);
        assert_eq!(state(std::slice::from_ref(&ended)), Some(SessionState::Ended));
        assert_eq!(state(&[ended.clone(), idle.clone()]), Some(SessionState::Idle));
        assert_eq!(state(&[idle.clone(), working.clone(), ended.clone()]), Some(SessionState::Working));
        // The hook token alone says something, but not about what came in over the socket.
        let forged = process(HTTP_ASKER, Activity::Working, 60);
        assert_eq!(state(std::slice::from_ref(&forged)), Some(SessionState::Working));
        let session = summary("s".into(), vec![forged, ended], &[]).unwrap();
        assert_eq!((session.state, session.project.as_deref()), (SessionState::Ended, Some("/7")));
    }

    #[test]
    fn a_process_is_gone_if_this_machine_does_not_know_it() {
        let own = std::process::id().to_string();
        let is_gone = |asker: &str, second| is_gone(&process(asker, Activity::Working, second), at(100));
        assert!(is_gone(GONE, 50));
        assert!(!is_gone(GONE, 95), "it has just called");
        for asker in [own.as_str(), HTTP_ASKER, "-5", "0", "what", ""] {
            assert!(!is_gone(asker, 50), "{asker}");
        }
    }

    #[test]
    fn an_open_ask_makes_a_session_wait_and_a_probe_makes_none() {
        let asks = [Arc::new(ask(3, "s__a", "shop", 1)), Arc::new(ask(4, "s__b", "shop", 1))];
        let session = summary("s".into(), vec![process(GONE, Activity::Ended, 1)], &asks).unwrap();
        assert_eq!(session.state, SessionState::Waiting);
        assert_eq!(session.asks.iter().map(AskKey::as_str).collect::<Vec<_>>(), ["s__a", "s__b"]);
        assert_eq!(session.project.as_deref(), Some("/2147483647"));
        // A session that never announced itself.
        let session = summary("s".into(), Vec::new(), &asks).unwrap();
        assert_eq!((session.project.as_deref(), session.last_activity), (Some("/home/me/shop"), asks[1].opened_at));
        let probe = Arc::new(Ask { origin: Origin::Probe, ..ask(3, "s__a", "shop", 1) });
        assert_eq!(summary("s".into(), Vec::new(), &[probe]), None);
    }
}
