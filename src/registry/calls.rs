//! The calls that agents are about to make. An agent names a call before it makes it, but not when it asks for permission. So the names
//! are kept here until they are needed.
//!
//! They are kept in memory only. After a restart of the daemon, a call has no name any more, and its ask gets one of its own.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ask::{Ask, AskKey, HTTP_ASKER};

use super::race::Fingerprint;

/// Limits that ordinary use never reaches. The oldest call is forgotten first.
const MAX_COMING: usize = 1024;
const MAX_TAKEN: usize = 1024;
const MAX_OVER: usize = 256;
const MAX_UNNAMED: usize = 256;
/// The hooks of two settings files start at the same moment. On a busy machine, one may be this much later.
const SAME_MOMENT: Duration = Duration::from_secs(10);

/// A call that an agent has announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCall {
    pub key: AskKey,
    /// The process that makes the call.
    pub asker: Option<String>,
    /// The subagent that makes the call. `None` for the agent itself.
    pub subagent: Option<String>,
    /// The mode that its hook was installed with, as it is written there. If two settings files have the hook, each of them starts one
    /// for every call, and this tells them apart.
    pub mode: Option<String>,
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
            mode: None,
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
    /// Somebody has asked about it. Oldest first.
    taken: VecDeque<NamedCall>,
    /// The keys of asks that a hook beside a dialog has waited on, or was told the outcome of. Oldest first.
    served: VecDeque<AskKey>,
    /// Over before anybody asked about it. Oldest first.
    over: VecDeque<NamedCall>,
    /// Calls that nobody names. Oldest first.
    unnamed: VecDeque<UnnamedCall>,
}

/// A call that nobody names. Each hook that is started for it makes up a key, and all of them use the first one.
#[derive(Debug)]
struct UnnamedCall {
    key: AskKey,
    asker: Option<String>,
    digest: String,
    /// The modes of the hooks that have come. A hook with the same mode is for another call.
    modes: Vec<Option<String>>,
    since: Instant,
}

impl Calls {
    /// An agent is about to make a call. A name that the same hook has used before is not a name: it could be another call.
    pub(super) fn announce(&self, call: NamedCall) {
        let mut state = self.state();
        let is_same = |other: &NamedCall| other.key == call.key && other.mode == call.mode && other.asker == call.asker;
        if !state.coming.iter().chain(&state.taken).any(is_same) {
            push(&mut state.coming, call, MAX_COMING);
        }
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

    /// Takes the oldest call that fits and that a hook with this mode has announced. Equal calls are taken in the order in which they were
    /// announced.
    pub(super) fn take(&self, fingerprint: Fingerprint<'_>, mode: Option<&str>) -> Known {
        let mut state = self.state();
        let fits = |call: &NamedCall| {
            call.key.session() == fingerprint.session
                && call.asker.as_deref() == fingerprint.asker
                && call.digest == fingerprint.digest
                && call.mode.as_deref() == mode
        };
        let taken = state.coming.iter().position(fits).and_then(|index| state.coming.remove(index));
        if let Some(call) = taken {
            let key = call.key.clone();
            push(&mut state.taken, call, MAX_TAKEN);
            return Known::Named(key);
        }
        match state.over.iter().position(fits) {
            Some(index) => {
                state.over.remove(index);
                Known::Over
            }
            None => Known::Unknown,
        }
    }

    /// A hook beside the dialog of this call waits on its ask, or was told the outcome.
    pub(super) fn serve(&self, key: AskKey) {
        push(&mut self.state().served, key, MAX_TAKEN);
    }

    /// Whether a hook was served. The hook of another settings file, for the same call, must be told the same.
    pub(super) fn is_served(&self, key: &AskKey) -> bool {
        self.state().served.contains(key)
    }

    /// The key for a call that nobody names: `own`, or that of another hook that was started for the same call.
    pub(super) fn join(&self, fingerprint: Fingerprint<'_>, mode: Option<&str>, own: &AskKey) -> AskKey {
        let mut state = self.state();
        let is_same = |call: &&mut UnnamedCall| {
            call.key.session() == fingerprint.session
                && call.asker.as_deref() == fingerprint.asker
                && call.digest == fingerprint.digest
                && call.since.elapsed() < SAME_MOMENT
                && !call.modes.iter().any(|other| other.as_deref() == mode)
        };
        let mode = mode.map(ToOwned::to_owned);
        if let Some(call) = state.unnamed.iter_mut().find(is_same) {
            call.modes.push(mode);
            return call.key.clone();
        }
        let (asker, digest) = (fingerprint.asker.map(ToOwned::to_owned), fingerprint.digest.to_owned());
        let call = UnnamedCall { key: own.clone(), asker, digest, modes: vec![mode], since: Instant::now() };
        push(&mut state.unnamed, call, MAX_UNNAMED);
        own.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds this lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push<T>(queue: &mut VecDeque<T>, last: T, limit: usize) {
    if queue.len() == limit {
        queue.pop_front();
    }
    queue.push_back(last);
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::ask::Host;

    static HERE: LazyLock<Host> = LazyLock::new(|| Host::new("here"));

    fn key(id: &str) -> AskKey {
        AskKey::new("s", id).unwrap()
    }

    fn call(id: &str, digest: &str, subagent: Option<&str>) -> NamedCall {
        NamedCall {
            key: key(id),
            asker: Some("7".into()),
            subagent: subagent.map(Into::into),
            mode: None,
            digest: digest.into(),
            project: None,
        }
    }

    fn fingerprint<'a>(asker: &'a str, digest: &'a str) -> Fingerprint<'a> {
        Fingerprint { host: &HERE, session: "s", asker: Some(asker), digest }
    }

    #[test]
    fn equal_calls_are_named_in_their_order() {
        let calls = Calls::default();
        for (id, digest) in [("t1", "a"), ("t2", "b"), ("t3", "a")] {
            calls.announce(call(id, digest, None));
        }
        assert_eq!(calls.take(fingerprint("8", "a"), None), Known::Unknown);
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Named(key("t1")));
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Named(key("t3")));
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Unknown);
    }

    #[test]
    fn the_hooks_of_two_settings_files_use_one_key_for_a_call_without_a_name() {
        let calls = Calls::default();
        let join = |mode, own: &str| calls.join(fingerprint("7", "a"), mode, &key(own));
        // Two equal calls at once.
        assert_eq!(join(None, "f1"), key("f1"));
        assert_eq!(join(None, "f2"), key("f2"));
        assert_eq!(join(Some("auto"), "f3"), key("f1"));
        assert_eq!(join(Some("auto"), "f4"), key("f2"));
        assert_eq!(join(Some("auto"), "f5"), key("f5"));
        for other in [fingerprint("8", "a"), fingerprint("7", "b")] {
            assert_eq!(calls.join(other, Some("hold"), &key("f6")), key("f6"));
        }
    }

    #[test]
    fn the_hooks_of_two_settings_files_name_the_same_calls() {
        let calls = Calls::default();
        let by_other = |id: &str| NamedCall { mode: Some("auto".into()), ..call(id, "a", None) };
        // Two equal calls at once, in the worst order.
        for announced in [call("t1", "a", None), call("t2", "a", None), by_other("t1"), by_other("t2")] {
            calls.announce(announced);
        }
        assert_eq!(calls.with_id("t1").len(), 2);
        for mode in [None, Some("auto")] {
            assert_eq!(calls.take(fingerprint("7", "a"), mode), Known::Named(key("t1")));
        }
        for mode in [Some("auto"), None] {
            assert_eq!(calls.take(fingerprint("7", "a"), mode), Known::Named(key("t2")));
            assert_eq!(calls.take(fingerprint("7", "a"), mode), Known::Unknown);
        }
        // The same hook uses a name again. Nobody knows which call that is.
        calls.announce(call("t1", "a", None));
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Unknown);
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
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Named(key("t2")));
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Over);
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Unknown);
    }

    #[test]
    fn a_thread_that_goes_on_ends_its_own_calls() {
        let calls = Calls::default();
        calls.announce(call("t1", "a", None));
        calls.announce(call("t2", "b", Some("sub")));
        calls.end_all("s", Some("7"), Some(None));
        assert_eq!(calls.take(fingerprint("7", "a"), None), Known::Over);
        assert_eq!(calls.take(fingerprint("7", "b"), None), Known::Named(key("t2")));
        calls.announce(call("t3", "b", Some("sub")));
        calls.end_all("s", Some("7"), None);
        assert_eq!(calls.take(fingerprint("7", "b"), None), Known::Over);
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
