//! The processes of agents, as their hooks tell, and what these have started.
//!
//! An agent must not decide for a person. The kernel says which process connects, and which process started that one, up to the agent if
//! it was an agent. A process that outlives its parent gets another one. It is still known by its control group, if the agent has one of
//! its own. This is a speed bump and not a wall: docs/security.md says what gets around it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::durable;

use super::process::{INIT, Process, ancestors, cgroup};

/// A limit that ordinary use never reaches. The agent that was looked at least recently is forgotten first.
const MAX_AGENTS: usize = 1024;
/// How long it is taken for granted that a number still belongs to the same agent. So hardly any call of a hook reads `/proc`.
const FRESH: Duration = Duration::from_secs(60);
/// The control group of a manager of services ends like this. It adopts processes, so its children may be in a group of others.
const MANAGER: &str = "/init.scope";

/// Why a caller is not taken for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Suspect {
    /// This agent has started it.
    #[error("the agent with the process {0} has started it")]
    StartedBy(i32),
    /// It is in the control group of this agent.
    #[error("it is in the control group of the agent with the process {0}")]
    InGroupOf(i32),
    /// It has ended, so nobody can tell who has started it.
    #[error("it has ended, so its agent is not known")]
    Gone,
}

#[derive(Debug, Serialize, Deserialize)]
struct Agent {
    started: u64,
    /// Its control group, if that is its own.
    cgroup: Option<String>,
    #[serde(skip, default = "Instant::now")]
    looked_at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Agents {
    known: Mutex<HashMap<i32, Agent>>,
    /// Where they are kept for the next daemon.
    file: OnceLock<PathBuf>,
    /// Held while the file is written.
    saving: Mutex<()>,
}

impl Agents {
    /// Recalls the agents that an earlier daemon knew, and keeps them in this file from now on.
    pub(super) fn keep_in(&self, file: PathBuf) {
        // A file that is missing or damaged holds nobody. Their next calls tell.
        let kept: HashMap<i32, Agent> =
            std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let is_there = |(id, agent): &(i32, Agent)| {
            agent.cgroup.is_some() || Process::read(*id).is_some_and(|process| process.started == agent.started)
        };
        self.agents().extend(kept.into_iter().filter(is_there));
        drop(self.file.set(file));
    }

    /// Saves them. It takes as long as the disk does.
    pub(super) fn save(&self) {
        let Some(file) = self.file.get() else { return };
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let text = serde_json::to_vec(&*self.agents());
        if let Err(error) = text.map_err(Into::into).and_then(|text| durable::write(file, &text)) {
            tracing::warn!(%error, "an agent will be taken for a person after a restart, until its next call");
        }
    }

    /// A hook says which process is its agent. That is believed if the agent has started the hook: a number of another container must not
    /// stand for a process of this machine. Returns whether it was not known.
    pub(super) fn meet(&self, hook: i32, agent: i32, now: Instant) -> bool {
        let is_fresh = |known: &Agent| now.saturating_duration_since(known.looked_at) < FRESH;
        if agent <= INIT || self.agents().get(&agent).is_some_and(is_fresh) {
            return false;
        }
        let Some(process) = Process::read(agent).filter(|process| ancestors(hook).any(|above| above == *process))
        else {
            return false;
        };
        let mut agents = self.agents();
        if let Some(known) = agents.get_mut(&agent).filter(|known| known.started == process.started) {
            known.looked_at = now;
            return false;
        }
        if agents.len() >= MAX_AGENTS {
            let oldest = agents.iter().min_by_key(|(_, known)| known.looked_at).map(|(id, _)| *id);
            oldest.and_then(|oldest| agents.remove(&oldest));
        }
        agents.insert(agent, Agent { started: process.started, cgroup: own_group(&process), looked_at: now });
        true
    }

    /// Whether a process is anything but a person's.
    pub(super) fn suspect(&self, process: i32) -> Option<Suspect> {
        // The number is of another container, or of init.
        if process <= INIT || self.is_empty() {
            return None;
        }
        let mut above = ancestors(process).peekable();
        if above.peek().is_none() {
            return Some(Suspect::Gone);
        }
        let is_agent =
            |above: &Process| self.agents().get(&above.id).is_some_and(|known| known.started == above.started);
        above.find(is_agent).map(|agent| Suspect::StartedBy(agent.id)).or_else(|| self.group_of(process))
    }

    fn group_of(&self, process: i32) -> Option<Suspect> {
        let agents = self.agents();
        let mut groups = agents.iter().filter_map(|(id, agent)| Some((*id, agent.cgroup.as_deref()?))).peekable();
        groups.peek()?;
        let Some(group) = cgroup(process) else { return Some(Suspect::Gone) };
        groups.find(|(_, own)| is_within(&group, own)).map(|(id, _)| Suspect::InGroupOf(id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.agents().is_empty()
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<i32, Agent>> {
        // No code that holds this lock can panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The control group of an agent, if whoever has started the agent is not in it. A shell and its agent usually share one, and then it says
/// nothing: nobody may lock themselves out.
fn own_group(agent: &Process) -> Option<String> {
    let (own, above) = (cgroup(agent.id)?, cgroup(agent.parent)?);
    let is_adopted = agent.parent <= INIT || above.ends_with(MANAGER);
    (!is_adopted && own != "/" && !is_within(&above, &own)).then_some(own)
}

/// Whether a control group is this one, or below it.
fn is_within(group: &str, outer: &str) -> bool {
    group.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that starts another one, and both wait for the end of their input. Their processes.
    fn shells() -> (Child, i32, i32) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'echo $$; read x'; true"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let id = i32::try_from(shell.id()).unwrap();
        (shell, id, line.trim().parse().unwrap())
    }

    #[test]
    fn what_an_agent_has_started_is_suspect_and_what_is_above_it_is_not() {
        let (agents, now) = (Agents::default(), Instant::now());
        let this = i32::try_from(std::process::id()).unwrap();
        let (mut shell, agent, hook) = shells();
        assert_eq!(agents.suspect(hook), None, "no agent is known");
        agents.meet(hook, agent, now);
        assert_eq!(agents.suspect(hook), Some(Suspect::StartedBy(agent)));
        assert_eq!(agents.suspect(agent), Some(Suspect::StartedBy(agent)));
        assert_eq!((agents.suspect(this), agents.suspect(INIT), agents.suspect(0)), (None, None, None));
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(agents.suspect(hook), Some(Suspect::Gone));
        // Another process with the number of the agent is not the agent.
        agents.agents().insert(this, Agent { started: 0, cgroup: None, looked_at: now });
        assert_eq!(agents.suspect(this), None);
        agents.meet(this, this, now);
        assert_eq!(agents.suspect(this), None, "it was looked at a moment ago");
        agents.meet(this, this, now + FRESH);
        assert_eq!(agents.suspect(this), Some(Suspect::StartedBy(this)));
    }

    #[test]
    fn a_hook_speaks_for_its_own_agent_only() {
        let (agents, now) = (Agents::default(), Instant::now());
        let this = i32::try_from(std::process::id()).unwrap();
        let (mut shell, id, below) = shells();
        for claimed in [id, below, INIT, 0, -1, i32::MAX] {
            agents.meet(this, claimed, now);
        }
        assert!(agents.is_empty());
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn a_group_is_below_another_or_not() {
        assert!(is_within("/a/b", "/a/b") && is_within("/a/b/c", "/a/b"));
        assert!(!is_within("/a/bc", "/a/b") && !is_within("/a", "/a/b"));
    }
}
