//! What people have said and what hooks were told, and what must never be true of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use crate::chance::Chance;

/// How a call ended for its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The hook printed this answer.
    Answered(String),
    /// The hook printed nothing, so the terminal asks.
    LeftToTerminal,
    /// The hook beside a dialog was killed, or found no daemon. The person decides in the dialog.
    Unreached,
    /// The agent ended the hook, and asks nothing any more.
    GivenUp,
    /// The hook waited although nobody had anything to wait for.
    Hung,
}

/// What is known about one call.
#[derive(Debug, Default)]
struct Call {
    /// What anybody has tried to answer, acknowledged or not.
    said: BTreeSet<String>,
    /// What was acknowledged, by the life of the ask.
    acknowledged: BTreeMap<i64, BTreeSet<String>>,
}

#[derive(Default)]
struct State {
    /// The call that each session makes now, or has made last, and how many daemons had ended before it.
    current: HashMap<String, (String, usize)>,
    /// How many daemons have ended.
    ended_daemons: usize,
    /// The processes of the hooks that run.
    hooks: Vec<u32>,
    calls: HashMap<String, Call>,
    counts: BTreeMap<&'static str, usize>,
    wrongs: Vec<String>,
}

/// The record of a run. Threads share it.
pub(crate) struct Model {
    state: Mutex<State>,
    ends: Instant,
    may_go: AtomicBool,
}

impl Model {
    pub(crate) fn new(ends: Instant) -> Self {
        Self { state: Mutex::default(), ends, may_go: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Whether new calls are made and faults are injected.
    pub(crate) fn goes_on(&self) -> bool {
        Instant::now() < self.ends
    }

    /// Whether people still answer.
    pub(crate) fn is_needed(&self) -> bool {
        !self.may_go.load(Ordering::Relaxed)
    }

    pub(crate) fn everybody_may_go(&self) {
        self.may_go.store(true, Ordering::Relaxed);
    }

    pub(crate) fn ends(&self) -> Instant {
        self.ends
    }

    /// A session begins a call.
    pub(crate) fn begins(&self, session: &str, key: &str) {
        let mut state = self.state();
        let before = state.ended_daemons;
        state.current.insert(session.to_owned(), (key.to_owned(), before));
    }

    /// A daemon is about to end, or has ended.
    pub(crate) fn daemon_ends(&self) {
        self.state().ended_daemons += 1;
    }

    /// The call that an ask is about. A hook that could not find out which call it belongs to opens an ask with a key of its own.
    pub(crate) fn call_of(&self, key: &str) -> String {
        let current = key
            .split_once("__unnamed-")
            .and_then(|(session, _)| self.state().current.get(session).map(|(call, _)| call.clone()));
        current.unwrap_or_else(|| key.to_owned())
    }

    pub(crate) fn is_there(&self, hook: u32) {
        self.state().hooks.push(hook);
    }

    /// Whether a hook has ended. `take_status` takes its status, and then another process may get its number.
    pub(crate) fn has_ended(&self, hook: u32, take_status: impl FnOnce() -> bool) -> bool {
        let mut state = self.state();
        let has_ended = take_status();
        if has_ended {
            state.hooks.retain(|pid| *pid != hook);
        }
        has_ended
    }

    /// Does something to a hook that runs. Its process cannot be another one by then: its status is taken under the same lock.
    pub(crate) fn hit_a_hook(&self, chance: &Chance, hit: impl FnOnce(u32)) -> bool {
        let state = self.state();
        if state.hooks.is_empty() {
            return false;
        }
        hit(state.hooks[chance.below(state.hooks.len())]);
        true
    }

    /// Counts something that was done or seen.
    pub(crate) fn count(&self, what: &'static str) {
        *self.state().counts.entry(what).or_default() += 1;
    }

    /// Somebody is about to give this answer.
    pub(crate) fn says(&self, key: &str, answer: &str) {
        self.state().calls.entry(key.to_owned()).or_default().said.insert(answer.to_owned());
    }

    /// The answer was acknowledged.
    pub(crate) fn acknowledged(&self, key: &str, life: i64, answer: &str) {
        let mut state = self.state();
        let call = state.calls.entry(key.to_owned()).or_default();
        call.acknowledged.entry(life).or_default().insert(answer.to_owned());
        let answers = call.acknowledged[&life].clone();
        if answers.len() > 1 {
            state.wrongs.push(format!("doubled: {key}, life {life}: {answers:?} were all acknowledged"));
        }
    }

    /// A call has ended in this way.
    pub(crate) fn ended(&self, key: &str, end: &End, said: &str) {
        self.count(match end {
            End::Answered(_) => "calls answered",
            End::LeftToTerminal => "calls left to the terminal",
            End::Unreached => "dialogs that lost their hook",
            End::GivenUp => "calls given up by the agent",
            End::Hung => "calls that hung",
        });
        let mut state = self.state();
        let of_session = key.split("__").next().and_then(|session| state.current.get(session));
        let lost_daemon = of_session.is_some_and(|(_, before)| state.ended_daemons > *before);
        let call = state.calls.entry(key.to_owned()).or_default();
        let wrong = match end {
            End::Answered(answer) if !call.said.contains(answer) => {
                Some(format!("invented or given to another call: {key} got {answer:?}, and was told {:?}", call.said))
            }
            End::Answered(answer) => {
                // An answer whose acknowledgement was lost with the daemon counts, unless the last life has another one.
                let last = call.acknowledged.values().next_back();
                last.filter(|answers| !answers.contains(answer)).map(|answers| {
                    format!("wrong: {key} got {answer:?}, and {answers:?} was acknowledged, said: {:?}", call.said)
                })
            }
            // A daemon that ended between storing a question and telling the hook so leaves it open for the next one, which cannot know that
            // the hook has given up. For ten seconds, an answer reaches nobody.
            End::LeftToTerminal if !call.acknowledged.is_empty() && lost_daemon && !said.is_empty() => {
                *state.counts.entry("answers to hooks that had given up while their daemon ended").or_default() += 1;
                None
            }
            End::LeftToTerminal if !call.acknowledged.is_empty() => {
                Some(format!("lost: {key} got nothing ({said:?}), and {:?} was acknowledged", call.acknowledged))
            }
            End::Hung => Some(format!("hung: {key}, acknowledged: {:?}", call.acknowledged)),
            End::LeftToTerminal | End::Unreached | End::GivenUp => None,
        };
        state.wrongs.extend(wrong);
    }

    /// A hook that comes after the end of its call may be told what its call was told, and nothing else.
    pub(crate) fn told_late(&self, key: &str, answer: Option<&str>) {
        self.count("hooks that came late");
        let mut state = self.state();
        let call = state.calls.entry(key.to_owned()).or_default();
        if let Some(answer) = answer.filter(|answer| !call.said.contains(*answer)) {
            let wrong = format!("invented or given to another call: {key}, late, got {answer:?}, told {:?}", call.said);
            state.wrongs.push(wrong);
        }
    }

    /// What went wrong. Where next to nothing was answered or hit, nothing could.
    pub(crate) fn wrongs(&self) -> Vec<String> {
        let state = self.state();
        let happened = |what: &str| state.counts.get(what).copied().unwrap_or_default();
        let too_few =
            [("calls answered", 100), ("daemons killed", 2), ("hooks killed", 5), ("hooks that came late", 1)]
                .into_iter()
                .filter(|(what, least)| happened(what) < *least)
                .map(|(what, least)| {
                    format!("too few {what} to say anything: {}, and {least} are expected", happened(what))
                });
        state.wrongs.iter().cloned().chain(too_few).collect()
    }

    pub(crate) fn report(&self) -> String {
        let state = self.state();
        let mut text = String::new();
        for (what, count) in &state.counts {
            writeln!(text, "{count:>7}  {what}").unwrap();
        }
        for kind in ["lost", "doubled", "invented or given to another call", "wrong", "hung"] {
            let count = state.wrongs.iter().filter(|wrong| wrong.starts_with(kind)).count();
            writeln!(text, "{count:>7}  {kind}").unwrap();
        }
        text
    }
}
