//! Takes a hook's call as JSON, and returns the JSON that the hook prints.
//!
//! A call that asks a person has three steps: [`Bridge::take`] opens its ask, [`ParkedCall::wait`] waits, [`Bridge::finish`] makes the
//! reply. Only the wait takes long, so only what it needs is kept in memory meanwhile.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ask::{Ask, AskKey, HTTP_ASKER, Kind, NewAsk};
use crate::registry::{Attached, NamedCall, OpenError, Registry, Settled, Wait, WaitEnd};
use crate::store::StoreError;

use super::about::About;
use super::call::{Call, ReadError};
use super::changed_file::{self, CurrentFile};
use super::client::Client;
use super::event::{HookEvent, Rules, Thread, depends_on_version, event, file_to_read};
use super::reply;
use super::sighting::sighting;
use super::transcript::{self, Recorded};
use super::version::Version;

/// Handles the calls of hooks.
#[derive(Debug)]
pub struct Bridge {
    registry: Registry,
    rules: Rules,
    /// How many more calls may be parked. Each of them keeps a connection open.
    places: Arc<Semaphore>,
    /// Whether people answer on another machine, which cannot read the records of sessions here.
    is_edge: bool,
    /// Directories whose files are never shown to anybody.
    private: Arc<[PathBuf]>,
}

/// The reply to a call.
#[derive(Debug)]
pub struct Reply {
    /// The JSON for the hook to print. `None` means that there is no decision and the hook prints nothing.
    pub output: Option<Value>,
    /// Whether the call had to wait.
    pub was_parked: bool,
}

/// Why a call gets no reply.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The body is not a call of a hook.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The situation in which an ask came up.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// What the transcript of its session says.
    pub recorded: Recorded,
    /// Whether a terminal asks at the same time, or can ask instead.
    pub terminal: bool,
    /// The user and the agent, if they are not of this machine.
    pub elsewhere: Option<Elsewhere>,
}

/// Where an ask of another machine comes from.
#[derive(Debug, Default)]
pub struct Elsewhere {
    pub user: Option<String>,
    pub agent: Option<String>,
}

/// The connection of a call.
pub trait Line {
    /// Tells the hook that its question is stored under this key, and that the reply may take long.
    fn say_parked(&self, key: &AskKey) -> impl Future<Output = ()> + Send;

    /// Returns when the hook has heard that: `false` if it has hung up instead.
    fn heard(&self) -> impl Future<Output = bool> + Send;

    /// Returns when the hook has hung up.
    fn closed(&self) -> impl Future<Output = ()> + Send;
}

/// A hook that was parked, lost its daemon, and comes back. It has the key of its ask, unless it is older than that.
#[derive(Debug, Clone)]
pub struct Resumed(pub Option<AskKey>);

/// The hook that asks.
#[derive(Debug, Clone, Copy)]
enum Hook {
    /// `PreToolUse`: the agent waits, and shows no dialog.
    PreToolUse,
    /// `PermissionRequest`: the agent's dialog is open beside it.
    PermissionRequest,
    /// `PermissionPrompt`: the agent waits for the permission tool of `answerback run`.
    PermissionPrompt,
    /// `Elicitation`: a server of the agent waits, and there is no dialog.
    Elicitation,
}

/// What became of a call.
#[derive(Debug)]
pub enum Taken {
    /// It has its reply: the JSON for the hook to print, if there is any.
    Replied(Option<Value>),
    /// It asks a person.
    Parked(ParkedCall),
}

/// A call that waits for a person.
#[derive(Debug)]
pub struct ParkedCall {
    hook: Hook,
    wait: Wait,
    place: OwnedSemaphorePermit,
    /// Whether the hook says that it has heard that it is parked.
    acknowledges: bool,
}

/// A call whose wait is over.
#[derive(Debug)]
pub struct Waited {
    hook: Hook,
    /// `None` if the hook has hung up.
    end: Option<WaitEnd>,
}

impl Waited {
    /// Whether the hook is to ask again, because its ask is gone.
    pub fn is_lost(&self) -> bool {
        matches!(self.end, Some(WaitEnd::Lost))
    }
}

impl ParkedCall {
    /// Tells the hook that it is parked. Then it waits until the ask is settled or the hook hangs up.
    pub async fn wait(self, line: &impl Line) -> Waited {
        let Self { hook, mut wait, place, acknowledges } = self;
        line.say_parked(wait.key()).await;
        // A hook that has given up a moment ago does not. An answer that people give now would reach nobody.
        if acknowledges && !line.heard().await {
            return Waited { hook, end: None };
        }
        wait.confirm();
        let end = tokio::select! {
            end = wait.end() => Some(end),
            () = line.closed() => None,
        };
        drop(place);
        Waited { hook, end }
    }
}

impl Bridge {
    /// At most `places` calls wait at the same time. `is_edge`: what is known about a session is sent along with its asks, because people
    /// answer on another machine. Nobody gets to see what is in `private` directories.
    pub fn new(registry: Registry, rules: Rules, places: usize, is_edge: bool, private: Arc<[PathBuf]>) -> Self {
        Self { registry, rules, places: Arc::new(Semaphore::new(places)), is_edge, private }
    }

    /// Handles a call, and returns the reply. A call that asks a person is parked until its ask is settled or the hook hangs up. `resumed`
    /// is there if the hook was parked before and lost its daemon.
    pub async fn hand_in(
        &self,
        body: impl AsRef<[u8]>,
        client: Client,
        resumed: Option<Resumed>,
        line: impl Line,
    ) -> Result<Reply, CallError> {
        // The steps before and after the wait are boxed, so that a parked call keeps no memory for them or for the body.
        // If the hook hangs up before it is parked, the caller drops this.
        match Box::pin(self.take(body, client, resumed, std::future::pending())).await? {
            Taken::Replied(output) => Ok(Reply { output, was_parked: false }),
            Taken::Parked(parked) => {
                let waited = parked.wait(&line).await;
                Ok(Reply { output: Box::pin(self.finish(waited)).await?, was_parked: true })
            }
        }
    }

    /// Everything after the wait: the JSON for the hook to print, if there is any.
    pub async fn finish(&self, waited: Waited) -> Result<Option<Value>, StoreError> {
        match waited.end {
            Some(WaitEnd::Settled(Settled { ask, detail: Some(detail) })) => {
                Ok(output(&ask, waited.hook, Call::kept(&detail)).await)
            }
            Some(WaitEnd::Settled(Settled { ask, detail: None })) => self.reply(&ask, waited.hook).await,
            Some(WaitEnd::Deferred) => Ok(Some(reply::deferred())),
            // The hook is gone, and nobody reads the reply.
            None => Ok(None),
            // No decision: an asker that cannot ask again shows its own dialog.
            Some(WaitEnd::Lost) => Ok(None),
        }
    }

    /// Everything up to the wait. See [`hand_in`](Self::hand_in). `gone` returns when the hook has hung up. Then nothing is opened for it.
    pub async fn take(
        &self,
        body: impl AsRef<[u8]>,
        client: Client,
        resumed: Option<Resumed>,
        gone: impl Future<Output = ()>,
    ) -> Result<Taken, CallError> {
        let mut call = Call::read(body.as_ref(), client)?;
        if call.is_permission_prompt() {
            match self.announced(&call, resumed.as_ref()).await? {
                Some(announced) => call.complete(announced),
                None => return Ok(Taken::Replied(None)),
            }
        }
        let version = if depends_on_version(&call, self.rules) { version_of(&call).await } else { call.version(None) };
        let file = match file_to_read(&call) {
            Some(path) => changed_file::read(path, call.hook.cwd.clone(), Arc::clone(&self.private)).await,
            None => CurrentFile::Unseen,
        };
        let (now, is_own) = (self.registry.now(), call.is_our_own());
        if let Some(process) = sighting(&call, now) {
            self.registry.saw(process);
        }
        let (mode, acknowledges) = (call.client.mode.clone(), call.client.acknowledges);
        let mut event = event(call, body.as_ref(), version, &file, self.rules, now)?;
        if let Some(new) = event.new_ask().filter(|_| self.is_edge) {
            send_along(new).await;
        }
        drop((body, file));
        // An ask proves it by itself.
        if !is_own && !event.opens_ask() {
            self.registry.hook_has_called().await;
        }
        let (hook, new) = match event {
            HookEvent::Ask(new) if new.topic.kind() == Kind::Form => (Hook::Elicitation, new),
            HookEvent::Ask(new) => (Hook::PreToolUse, new),
            HookEvent::Race(new) => (Hook::PermissionRequest, new),
            HookEvent::Prompt(new) => (Hook::PermissionPrompt, new),
            HookEvent::Announce(new) => {
                return tokio::select! {
                    biased;
                    () = gone => Ok(Taken::Replied(None)),
                    taken = self.announce(*new, mode) => taken,
                };
            }
            HookEvent::Report(report) => {
                let ask = self.registry.report(*report).await?;
                return Ok(Taken::Replied(ask.and_then(|ask| reply::post_tool_use(&ask))));
            }
            HookEvent::Name(call) => {
                self.registry.announce_call(call);
                return Ok(Taken::Replied(None));
            }
            HookEvent::WentOn { thread: Thread { session, asker, subagent }, done } => {
                for report in done {
                    self.registry.report(report).await?;
                }
                self.registry.thread_went_on(&session, asker.as_deref(), subagent.as_deref()).await?;
                return Ok(Taken::Replied(None));
            }
            HookEvent::Prompted(Thread { session, asker, .. }) => {
                self.registry.turn_ended(&session, asker.as_deref()).await?;
                return Ok(Taken::Replied(None));
            }
            HookEvent::Ended(Thread { session, asker, .. }) => {
                self.registry.process_ended(&session, asker.as_deref()).await?;
                return Ok(Taken::Replied(None));
            }
            HookEvent::Other => return Ok(Taken::Replied(None)),
            HookEvent::Unusable(reason) => {
                // The details may quote the question, so they are logged only at the level debug.
                tracing::warn!(%reason, "a question is left to the terminal");
                tracing::debug!(?reason, "why a question is left to the terminal");
                return Ok(Taken::Replied(None));
            }
        };
        tokio::select! {
            biased;
            () = gone => Ok(Taken::Replied(None)),
            taken = self.park(hook, *new, mode, resumed, acknowledges) => taken,
        }
    }

    /// Opens the ask of a call that does not wait.
    async fn announce(&self, new: NewAsk, mode: Option<String>) -> Result<Taken, CallError> {
        match self.registry.announce(new, mode).await {
            // If the ask is settled already, Claude Code makes the same call again. It gets the outcome.
            Ok(ask) if !ask.is_open() => Ok(Taken::Replied(self.reply(&ask, Hook::PreToolUse).await?)),
            Ok(_) => Ok(Taken::Replied(None)),
            Err(error) => leave_to_the_terminal(error),
        }
    }

    /// The call that the permission tool is asked about. The tool knows nothing but its id.
    async fn announced(&self, call: &Call, resumed: Option<&Resumed>) -> Result<Option<NamedCall>, StoreError> {
        let is_over_http = call.client.agent_pid.as_deref() == Some(HTTP_ASKER);
        let found = match resumed.and_then(|resumed| resumed.0.as_ref()) {
            Some(key) if key.tool_use_id() == call.hook.tool_use_id => self.registry.call_behind(key).await?,
            Some(_) => None,
            None => self.registry.announced_call(&call.hook.tool_use_id, is_over_http),
        };
        // An asker with the hook token only must not take over a call of this machine.
        Ok(found.filter(|found| found.is_over_http() == is_over_http))
    }

    /// Whether this very call has opened an ask before, at a daemon that ended before it could tell the hook. Then the hook does not know
    /// that it was parked, and sends the call again under the same name.
    async fn opened_before(&self, new: &NewAsk) -> Result<Option<Resumed>, StoreError> {
        let name = |detail: &str| Call::kept(detail)?.client.call;
        let (Some(own), Some(digest)) = (name(&new.detail), &new.digest) else { return Ok(None) };
        let Some(ask) = self.registry.newest_like(new.key.session(), digest).await? else { return Ok(None) };
        let is_same = ask.asker == new.asker && name(&self.registry.detail(ask.id).await?) == Some(own);
        Ok(is_same.then(|| Resumed(Some(ask.key.clone()))))
    }

    async fn park(
        &self,
        hook: Hook,
        mut new: NewAsk,
        mode: Option<String>,
        resumed: Option<Resumed>,
        acknowledges: bool,
    ) -> Result<Taken, CallError> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::warn!("too few file descriptors for one more waiting hook: its question is left to the terminal");
            return Ok(Taken::Replied(None));
        };
        let resumed = match resumed {
            None if matches!(hook, Hook::PermissionRequest) => self.opened_before(&new).await?,
            resumed => resumed,
        };
        let has_key = resumed.as_ref().is_some_and(|resumed| resumed.0.is_some());
        if let Some(key) = resumed.as_ref().and_then(|resumed| resumed.0.clone())
            && key.session() == new.key.session()
        {
            new.key = key;
        }
        let resumed = resumed.is_some();
        let attached = match hook {
            _ if has_key => self.registry.attach_by_key(new, resumed).await,
            Hook::PreToolUse => self.registry.attach(new, resumed).await,
            Hook::PermissionRequest => self.registry.attach_to_race(new, mode.as_deref(), resumed).await,
            Hook::PermissionPrompt => self.registry.attach_to_call(new, resumed).await,
            Hook::Elicitation => self.registry.attach_unnamed(new, mode.as_deref(), resumed).await,
        };
        match attached {
            Ok(Attached::Waiting(wait)) => Ok(Taken::Parked(ParkedCall { hook, wait, place, acknowledges })),
            Ok(Attached::Settled(ask)) => Ok(Taken::Replied(self.reply(&ask, hook).await?)),
            Ok(Attached::Over) => Ok(Taken::Replied(None)),
            Err(error) => leave_to_the_terminal(error),
        }
    }

    /// The output for an ask that is settled.
    async fn reply(&self, ask: &Ask, hook: Hook) -> Result<Option<Value>, StoreError> {
        let call = Call::kept(&self.registry.detail(ask.id).await?);
        Ok(output(ask, hook, call).await)
    }

    /// What the agent has recorded about a session in this file.
    pub async fn recorded(&self, records: PathBuf, session: &str) -> Recorded {
        transcript::about(records, session, "").await
    }

    /// The situation in which an ask came up.
    pub async fn surroundings(&self, ask: &Ask) -> Result<Surroundings, StoreError> {
        let detail = self.registry.detail(ask.id).await?;
        if ask.host != *self.registry.host() {
            return Ok(surroundings_elsewhere(ask, &detail));
        }
        let Some(call) = Call::kept(&detail) else { return Ok(Surroundings::default()) };
        let recorded = match call.transcript() {
            Some(path) => transcript::about(path, ask.key.session(), ask.key.tool_use_id()).await,
            None => Recorded::default(),
        };
        let terminal = ask.racing || (call.client.is_attended() && !ask.deferred);
        Ok(Surroundings { recorded, terminal, elsewhere: None })
    }
}

/// Adds what is known about the session to an ask.
async fn send_along(new: &mut NewAsk) {
    let Some(call) = Call::kept(&new.detail) else { return };
    let about = About::of(&call, new.key.session(), new.key.tool_use_id()).await;
    if let Some(detail) = Call::keep_with(&new.detail, about) {
        new.detail = detail;
    }
}

/// What came along with an ask of another machine. No file is read: the paths in the call are paths of that machine.
fn surroundings_elsewhere(ask: &Ask, detail: &str) -> Surroundings {
    let About { said, branch, title, attended, user, agent } = Call::kept_about(detail).unwrap_or_default();
    Surroundings {
        recorded: Recorded { said, branch, title },
        terminal: ask.racing || (attended && !ask.deferred),
        elsewhere: Some(Elsewhere { user, agent }),
    }
}

/// The output for an ask that is settled, with the call that opened it.
async fn output(ask: &Ask, hook: Hook, call: Option<Call>) -> Option<Value> {
    match hook {
        Hook::PreToolUse => {
            let version = match &call {
                Some(call) => version_of(call).await,
                None => None,
            };
            reply::pre_tool_use(ask, call.as_ref(), version)
        }
        Hook::PermissionRequest | Hook::PermissionPrompt => reply::permission_request(ask, call.as_ref()),
        Hook::Elicitation => reply::elicitation(ask, call.as_ref()),
    }
}

/// The version of a call's client. Older clients do not send it, but write it into their transcript.
async fn version_of(call: &Call) -> Option<Version> {
    let recorded = match call.transcript_for_version() {
        Some(path) => transcript::recorded_version(path).await,
        None => None,
    };
    call.version(recorded)
}

fn leave_to_the_terminal(error: OpenError) -> Result<Taken, CallError> {
    match error {
        OpenError::Full
        | OpenError::TooMuch(_)
        | OpenError::OtherQuestions
        | OpenError::OtherAsker
        | OpenError::OtherMachine => {
            tracing::warn!(%error, "a question is left to the terminal");
            Ok(Taken::Replied(None))
        }
        OpenError::Store(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
