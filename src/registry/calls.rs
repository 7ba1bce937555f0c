//! The calls that agents are about to make. An agent names a call before it makes it, but not when it asks for permission. So the names
//! are kept here until they are needed.
//!
//! They are kept in memory only. After a restart of the daemon, a call has no name any more, and its ask gets one of its own.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ask::{Ask, AskKey, HTTP_ASKER};

use super::race::Fingerprint;

/// Limits that ordinary use never reaches. The oldest call is forgotten first.
const MAX_COMING: usize = 1024;
const MAX_OVER: usize = 256;

/// A call that an agent has announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCall {
    pub key: AskKey,
    /// The process that makes the call.
    pub asker: Option<String>,
    /// The subagent that makes the call. `None` for the agent itself.
    pub subagent: Option<String>,
    /// The digest of the call's input.
    pub digest: String,
    /// Where the agent works.
    pub project: Option<String>,
}

impl NamedCall {
    /// The call behind an ask.
    pub fn of(ask: &Ask) -> Self {
        Self {
            key: ask.key.clone(),
            asker: ask.asker.clone(),
            subagent: ask.subagent().map(ToOwned::to_owned),
            digest: ask.digest.clone().unwrap_or_default(),
            project: ask.project.clone(),
        }
    }

    /// Whether it came with the hook token.
    pub fn is_over_http(&self) -> bool {
        self.asker.as_deref() == Some(HTTP_ASKER)
    }
}

/// What is known about the call of an asker that does not name it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The key for its ask.
    Named(AskKey),
    /// It is over. The asker was started late, and nobody needs its answer.
    Over,
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Announced, and nobody has asked about it. Oldest first.
    coming: VecDeque<NamedCall>,
    /// Over before anybody asked about it. Oldest first.
    over: VecDeque<NamedCall>,
}

impl Calls {
    /// An agent is about to make a call.
    pub(super) fn announce(&self, call: NamedCall) {
        push(&mut self.state().coming, call, MAX_COMING);
    }

    /// The calls with this id that nobody has asked about. There is more than one if two sessions use the same id.
    pub(super) fn with_id(&self, tool_use_id: &str) -> Vec<NamedCall> {
        let state = self.state();
        state.coming.iter().filter(|call| call.key.tool_use_id() == tool_use_id).cloned().collect()
    }

    /// A call is over, whether or not anybody asked about it.
    pub(super) fn end(&self, key: &AskKey, asker: Option<&str>) {
        let is_over_http = asker == Some(HTTP_ASKER);
        self.end_where(|call| call.key == *key && call.is_over_http() == is_over_http);
    }

    /// A thread of an agent goes on, so all of its calls are over. `None` stands for all threads of the process.
    pub(super) fn end_all(&self, session: &str, asker: Option<&str>, subagent: Option<Option<&str>>) {
        self.end_where(|call| {
            call.key.session() == session
                && call.asker.as_deref() == asker
                && subagent.is_none_or(|subagent| call.subagent.as_deref() == subagent)
        });
    }

    fn end_where(&self, is_over: impl Fn(&NamedCall) -> bool) {
        let mut state = self.state();
        let (over, coming) = std::mem::take(&mut state.coming).into_iter().partition::<VecDeque<_>, _>(is_over);
        state.coming = coming;
        for call in over {
            push(&mut state.over, call, MAX_OVER);
        }
    }

    /// Somebody asks about this very call.
    pub(super) fn take_named(&self, key: &AskKey) {
        self.state().coming.retain(|call| call.key != *key);
    }

    /// Takes the oldest call that fits. Equal calls are taken in the order in which they were announced.
    pub(super) fn take(&self, fingerprint: Fingerprint<'_>) -> Known {
        let mut state = self.state();
        let fits = |call: &NamedCall| {
            call.key.session() == fingerprint.session
                && call.asker.as_deref() == fingerprint.asker
                && call.digest == fingerprint.digest
        };
        if let Some(index) = state.coming.iter().position(fits) {
            return state.coming.remove(index).map_or(Known::Unknown, |call| Known::Named(call.key));
        }
        match state.over.iter().position(fits) {
            Some(index) => {
                state.over.remove(index);
                Known::Over
            }
            None => Known::Unknown,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds this lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push(calls: &mut VecDeque<NamedCall>, call: NamedCall, limit: usize) {
    if calls.len() == limit {
        calls.pop_front();
    }
    calls.push_back(call);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> AskKey {
        AskKey::new("s", id).unwrap()
    }

    fn call(id: &str, digest: &str, subagent: Option<&str>) -> NamedCall {
        NamedCall {
            key: key(id),
            asker: Some("7".into()),
            subagent: subagent.map(Into::into),
            digest: digest.into(),
            project: None,
        }
    }

    fn fingerprint<'a>(asker: &'a str, digest: &'a str) -> Fingerprint<'a> {
        Fingerprint { session: "s", asker: Some(asker), digest }
    }

    #[test]
    fn equal_calls_are_named_in_their_order() {
        let calls = Calls::default();
        for (id, digest) in [("t1", "a"), ("t2", "b"), ("t3", "a")] {
            calls.announce(call(id, digest, None));
        }
        assert_eq!(calls.take(fingerprint("8", "a")), Known::Unknown);
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Named(key("t1")));
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Named(key("t3")));
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Unknown);
    }

    #[test]
    fn a_call_is_found_by_its_id_until_it_is_over() {
        let calls = Calls::default();
        let (first, second) = (call("t1", "a", None), call("t2", "a", Some("sub")));
        calls.announce(first.clone());
        calls.announce(second.clone());
        assert_eq!((calls.with_id("t1"), calls.with_id("t2")), (vec![first], vec![second]));
        calls.end(&key("t1"), Some("7"));
        assert!(calls.with_id("t1").is_empty());
    }

    #[test]
    fn an_asker_that_comes_after_the_end_of_its_call_is_told() {
        let calls = Calls::default();
        calls.announce(call("t1", "a", None));
        calls.end(&key("t1"), Some("7"));
        // The next equal call is another call, and has its own name.
        calls.announce(call("t2", "a", None));
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Named(key("t2")));
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Over);
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Unknown);
    }

    #[test]
    fn a_thread_that_goes_on_ends_its_own_calls() {
        let calls = Calls::default();
        calls.announce(call("t1", "a", None));
        calls.announce(call("t2", "b", Some("sub")));
        calls.end_all("s", Some("7"), Some(None));
        assert_eq!(calls.take(fingerprint("7", "a")), Known::Over);
        assert_eq!(calls.take(fingerprint("7", "b")), Known::Named(key("t2")));
        calls.announce(call("t3", "b", Some("sub")));
        calls.end_all("s", Some("7"), None);
        assert_eq!(calls.take(fingerprint("7", "b")), Known::Over);
    }

    #[test]
    fn the_memory_is_bounded() {
        let calls = Calls::default();
        for n in 0..2 * MAX_COMING {
            calls.announce(call(&format!("t{n}"), "a", None));
        }
        assert_eq!(calls.state().coming.len(), MAX_COMING);
        calls.end_all("s", Some("7"), None);
        let state = calls.state();
        assert_eq!((state.coming.len(), state.over.len()), (0, MAX_OVER));
    }
}
