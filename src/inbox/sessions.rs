//! The sessions of agents, for people: what each of them does, and what it waits for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::ask::{Ask, AskKey, Origin};
use crate::registry::{Activity, AgentProcess};

use super::Inbox;

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

impl Inbox {
    /// The sessions that are known, the most active first.
    pub fn sessions(&self) -> Vec<Session> {
        let mut known: BTreeMap<String, (Vec<AgentProcess>, Vec<Arc<Ask>>)> = BTreeMap::new();
        for process in self.registry.processes(None) {
            known.entry(process.session.clone()).or_default().0.push(process);
        }
        for ask in self.registry.open_asks(None) {
            known.entry(ask.key.session().to_owned()).or_default().1.push(ask);
        }
        let now = Timestamp::now();
        let mut sessions: Vec<Session> =
            known.into_iter().filter_map(|(id, (processes, asks))| summary(id, processes, &asks, now)).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_activity));
        sessions
    }

    /// One session, if it is known.
    pub fn session(&self, id: &str) -> Option<Session> {
        let (processes, asks) = (self.registry.processes(Some(id)), self.registry.open_asks(Some(id)));
        summary(id.to_owned(), processes, &asks, Timestamp::now())
    }
}

fn summary(id: String, mut processes: Vec<AgentProcess>, asks: &[Arc<Ask>], now: Timestamp) -> Option<Session> {
    let asks: Vec<&Arc<Ask>> = asks.iter().filter(|ask| ask.origin != Origin::Probe).collect();
    processes.sort_by_key(|process| process.seen_at);
    let last_activity =
        processes.iter().map(|process| process.seen_at).chain(asks.iter().map(|ask| ask.opened_at)).max()?;
    let does = |activity| processes.iter().any(|process| activity_of(process, now) == activity);
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

/// What a process does. If it was killed, nobody has reported its end.
fn activity_of(process: &AgentProcess, now: Timestamp) -> Activity {
    let is_gone = || {
        let id = process.asker.as_deref().and_then(|asker| asker.parse().ok()).and_then(Pid::from_raw);
        id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH))
    };
    if now.duration_since(process.seen_at) > JUST_NOW && is_gone() { Activity::Ended } else { process.activity }
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
        let own = std::process::id().to_string();
        let state = |processes: &[AgentProcess]| summary("s".into(), processes.to_vec(), &[], at(100)).map(|s| s.state);
        let [working, idle, ended] = [Activity::Working, Activity::Idle, Activity::Ended].map(|a| process(&own, a, 50));
        assert_eq!(state(&[]), None);
        assert_eq!(state(std::slice::from_ref(&ended)), Some(SessionState::Ended));
        assert_eq!(state(&[ended.clone(), idle.clone()]), Some(SessionState::Idle));
        assert_eq!(state(&[idle.clone(), working, ended]), Some(SessionState::Working));
        // A process that was killed, one that has just called, and one without a number.
        assert_eq!(state(&[process(GONE, Activity::Working, 50)]), Some(SessionState::Ended));
        assert_eq!(state(&[process(GONE, Activity::Working, 95)]), Some(SessionState::Working));
        assert_eq!(state(&[process("http", Activity::Working, 50), idle]), Some(SessionState::Working));
    }

    #[test]
    fn an_open_ask_makes_a_session_wait_and_a_probe_makes_none() {
        let asks = [Arc::new(ask(3, "s__a", "shop", 1)), Arc::new(ask(4, "s__b", "shop", 1))];
        let session = summary("s".into(), vec![process(GONE, Activity::Ended, 1)], &asks, at(100)).unwrap();
        assert_eq!(session.state, SessionState::Waiting);
        assert_eq!(session.asks.iter().map(AskKey::as_str).collect::<Vec<_>>(), ["s__a", "s__b"]);
        assert_eq!(session.project.as_deref(), Some("/2147483647"));
        // A session that never announced itself.
        let session = summary("s".into(), Vec::new(), &asks, at(100)).unwrap();
        assert_eq!((session.project.as_deref(), session.last_activity), (Some("/home/me/shop"), asks[1].opened_at));
        let probe = Arc::new(Ask { origin: Origin::Probe, ..ask(3, "s__a", "shop", 1) });
        assert_eq!(summary("s".into(), Vec::new(), &[probe], at(100)), None);
    }
}
