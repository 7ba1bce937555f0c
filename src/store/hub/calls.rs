//! The commands that wait for their replies.
//!
//! A command that was never sent can be given up: nothing has happened. One that was sent may have been carried out. So it is kept until
//! there is a reply, however often the link is lost, and is sent again over the next one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::ask::{Ask, Change, ChangeKind};
use crate::store::StoreError;

use super::wire::{Command, EdgeFrame, Fault, MAX_FRAME, MAX_MESSAGE, Reply, WireAsk, sent_before};

/// How long commands wait for a link that was lost. The hook gives up half a second later. Without a link for longer than this, they do not
/// wait at all, because an agent runs a hook with each of its calls.
const PATIENCE: Duration = Duration::from_millis(1500);
/// The most commands that wait at the same time.
const MAX_PENDING: usize = 10_000;
/// The most that a command grows by when it is sent again.
const SENT_BEFORE: usize = 64;

/// Whether there is a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Status {
    Up,
    /// It is tried again and again.
    Down(String),
    /// There is no use in waiting for it.
    Refused(String),
    /// The daemon ends.
    Closed,
}

#[derive(Debug)]
pub(super) struct Calls {
    next: AtomicU64,
    pending: Mutex<Pending>,
    unsent: Notify,
    status: watch::Sender<Status>,
}

#[derive(Debug)]
struct Pending {
    by_id: BTreeMap<u64, Call>,
    /// When the link was lost, or almost made again, if there is none.
    lost_at: Instant,
}

#[derive(Debug)]
struct Call {
    /// The frame.
    text: String,
    /// The key and the digest of the ask that it opens.
    opens: Option<(String, Option<String>)>,
    reply: oneshot::Sender<Result<Done, StoreError>>,
    is_sent: bool,
    /// It was sent over an earlier link.
    is_again: bool,
    first_sent_at: Option<Instant>,
    /// The ask that it has opened, as the changes since tell.
    opened: Option<Arc<Ask>>,
}

/// The reply to a command.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) reply: Reply,
    /// An earlier sending of the same command may have been carried out.
    pub(super) is_again: bool,
}

impl Calls {
    pub(super) fn new(status: Status) -> Self {
        let pending = Pending { by_id: BTreeMap::new(), lost_at: Instant::now() };
        Self {
            next: AtomicU64::new(0),
            pending: Mutex::new(pending),
            unsent: Notify::new(),
            status: watch::channel(status).0,
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // No code that holds this lock can panic.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Has a command carried out. It fails soon if there is no link.
    pub(super) async fn call(&self, command: Command) -> Result<Done, StoreError> {
        let (reply, mut replied) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let opens = if let Command::Open { new, .. } = &command { Some(new.name()) } else { None };
        let text = serde_json::to_string(&EdgeFrame::Call { id, command: Box::new(command), sent_before: None }).ok();
        let text = text.filter(|text| text.len() <= MAX_FRAME - SENT_BEFORE);
        let text = text.ok_or_else(|| StoreError::Failed("this is too large for the link".to_owned()))?;
        let deadline = {
            let mut pending = self.pending();
            let now = Instant::now();
            let deadline = match &*self.status.borrow() {
                Status::Up => now + PATIENCE,
                Status::Down(why) if pending.lost_at + PATIENCE <= now => return Err(unreachable(why)),
                Status::Down(_) => pending.lost_at + PATIENCE,
                status @ (Status::Refused(_) | Status::Closed) => {
                    return Err(no_use(status).unwrap_or(StoreError::Closed));
                }
            };
            if pending.by_id.len() >= MAX_PENDING {
                return Err(StoreError::Busy("too much is to be said to the hub".to_owned()));
            }
            let call = Call { text, opens, reply, is_sent: false, is_again: false, first_sent_at: None, opened: None };
            pending.by_id.insert(id, call);
            deadline
        };
        self.unsent.notify_one();
        tokio::select! {
            replied = &mut replied => return replied.unwrap_or(Err(StoreError::Closed)),
            () = sleep_until(deadline) => {}
        }
        if self.take_back(id) {
            return Err(match &*self.status.borrow() {
                Status::Down(why) => unreachable(why),
                _ => unreachable("it takes too long"),
            });
        }
        replied.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Gives a command up, unless it was sent.
    fn take_back(&self, id: u64) -> bool {
        let mut pending = self.pending();
        let is_untouched = pending.by_id.get(&id).is_some_and(|call| !call.is_sent && !call.is_again);
        if is_untouched {
            pending.by_id.remove(&id);
        }
        is_untouched
    }

    /// Returns when there may be something to send. Safe to cancel.
    pub(super) async fn until_unsent(&self) {
        self.unsent.notified().await;
    }

    /// The next command to send, as a frame. The oldest comes first. `may_be_long`: whether there is room for one that goes in pieces.
    pub(super) fn next_unsent(&self, may_be_long: bool) -> Option<String> {
        let mut pending = self.pending();
        let fits = |call: &Call| !call.is_sent && (may_be_long || call.text.len() <= MAX_MESSAGE);
        let call = pending.by_id.values_mut().find(|call| fits(call))?;
        call.is_sent = true;
        let first_sent_at = *call.first_sent_at.get_or_insert_with(Instant::now);
        Some(if call.is_again { sent_before(&call.text, first_sent_at.elapsed()) } else { call.text.clone() })
    }

    /// A reply has come.
    pub(super) fn done(&self, id: u64, result: Result<Reply, Fault>) {
        let Some(call) = self.pending().by_id.remove(&id) else { return };
        let is_again = call.is_again;
        drop(call.reply.send(result.map(|reply| Done { reply, is_again }).map_err(Into::into)));
    }

    /// A change has come. If it is what a command did that was sent over an earlier link, the command is done.
    pub(super) fn saw(&self, change: &Change) {
        for call in self.pending().by_id.values_mut().filter(|call| call.is_again) {
            let Some((key, digest)) = &call.opens else { continue };
            let is_next = call.opened.as_ref().is_some_and(|opened| opened.id == change.ask.id);
            if is_next
                || (change.kind == ChangeKind::Opened && change.ask.key.as_str() == key && change.ask.digest == *digest)
            {
                call.opened = Some(Arc::clone(&change.ask));
            }
        }
    }

    /// The hub can be reached again, so commands wait for the link.
    pub(super) fn link_is_near(&self) {
        self.pending().lost_at = Instant::now();
    }

    /// There is a link, and everything that happened meanwhile is known.
    pub(super) fn link_is_up(&self) {
        let mut pending = self.pending();
        let opened: Vec<u64> =
            pending.by_id.iter().filter(|(_, call)| call.opened.is_some()).map(|(id, _)| *id).collect();
        for id in opened {
            let Some(Call { reply, opened: Some(ask), .. }) = pending.by_id.remove(&id) else { continue };
            let done = Done { reply: Reply::New { ask: Box::new(WireAsk::new(&ask)) }, is_again: true };
            drop(reply.send(Ok(done)));
        }
        self.set(Status::Up);
        self.unsent.notify_one();
    }

    /// A store that was closed stays closed, whatever its last link still says.
    fn set(&self, status: Status) {
        self.status.send_if_modified(|now| {
            let is_open = *now != Status::Closed;
            if is_open {
                *now = status;
            }
            is_open
        });
    }

    /// There is no link. What was sent is sent again over the next one.
    pub(super) fn link_is_down(&self, status: Status) {
        let mut pending = self.pending();
        if let Some(error) = no_use(&status) {
            // What was never sent was not carried out, and there is no reason to wait.
            let unsent: Vec<u64> = pending
                .by_id
                .iter()
                .filter(|(_, call)| status == Status::Closed || (!call.is_sent && !call.is_again))
                .map(|(id, _)| *id)
                .collect();
            for call in unsent.into_iter().filter_map(|id| pending.by_id.remove(&id)) {
                drop(call.reply.send(Err(error.clone())));
            }
        }
        for call in pending.by_id.values_mut().filter(|call| call.is_sent) {
            call.is_sent = false;
            call.is_again = true;
        }
        if *self.status.borrow() == Status::Up {
            pending.lost_at = Instant::now();
        }
        self.set(status);
    }
}

fn unreachable(why: &str) -> StoreError {
    StoreError::Unreachable(format!("the hub cannot be reached: {why}"))
}

fn no_use(status: &Status) -> Option<StoreError> {
    match status {
        Status::Up | Status::Down(_) => None,
        Status::Refused(why) => Some(StoreError::Unreachable(format!("the hub cannot be used: {why}"))),
        Status::Closed => Some(StoreError::Closed),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::wire::WireNew;
    use super::*;
    use crate::ask::samples::{ask, new_ask};
    use crate::ask::{AskId, Cursor};

    fn up() -> Arc<Calls> {
        Arc::new(Calls::new(Status::Up))
    }

    fn begin(calls: &Arc<Calls>, command: Command) -> tokio::task::JoinHandle<Result<Done, StoreError>> {
        let calls = Arc::clone(calls);
        tokio::spawn(async move { calls.call(command).await })
    }

    async fn sent(calls: &Calls) -> String {
        loop {
            if let Some(text) = calls.next_unsent(true) {
                return text;
            }
            calls.until_unsent().await;
        }
    }

    fn open(key: &str) -> Command {
        Command::Open { new: Box::new(WireNew::new(&new_ask(key), Timestamp::now())), per_session: 64 }
    }

    #[tokio::test]
    async fn without_a_link_a_command_fails_before_the_hook_gives_up() {
        let calls = Calls::new(Status::Down("no route".into()));
        let begun = Instant::now();
        let error = calls.call(Command::Detail { ask: AskId(1) }).await.unwrap_err();
        assert!(matches!(&error, StoreError::Unreachable(why) if why.contains("no route")), "{error:?}");
        assert!(begun.elapsed() < Duration::from_millis(1900));
        assert!(calls.next_unsent(true).is_none(), "it was given up");
        // The next one does not wait.
        let begun = Instant::now();
        calls.call(Command::Detail { ask: AskId(1) }).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_millis(500));
        // If there is no use, it does not wait at all.
        calls.link_is_down(Status::Refused("revoked".into()));
        let begun = Instant::now();
        calls.call(Command::Detail { ask: AskId(1) }).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_millis(500));
    }

    #[tokio::test]
    async fn a_closed_store_stays_closed() {
        let calls = up();
        calls.link_is_down(Status::Closed);
        calls.link_is_up();
        calls.link_is_down(Status::Down("cut".into()));
        assert_eq!(*calls.status().borrow(), Status::Closed);
        let error = calls.call(Command::Detail { ask: AskId(1) }).await.unwrap_err();
        assert!(matches!(error, StoreError::Closed), "{error:?}");
    }

    #[tokio::test]
    async fn a_command_that_was_sent_waits_for_the_next_link_and_is_sent_again() {
        let calls = up();
        let call = begin(&calls, Command::Defer { ask: AskId(7) });
        let first = sent(&calls).await;
        calls.link_is_down(Status::Down("cut".into()));
        tokio::time::sleep(PATIENCE + Duration::from_millis(100)).await;
        assert!(!call.is_finished());
        calls.link_is_up();
        let again = sent(&calls).await;
        assert!(again.contains("sent_before") && again.ends_with(&first[1..]), "{again}");
        calls.done(0, Ok(Reply::Ask { ask: None }));
        assert!(call.await.unwrap().unwrap().is_again);
    }

    #[tokio::test]
    async fn an_ask_that_was_opened_before_the_link_was_lost_is_found_again_with_what_happened_to_it() {
        let calls = up();
        let call = begin(&calls, open("s__t"));
        sent(&calls).await;
        calls.link_is_down(Status::Down("cut".into()));
        let mut ask = ask(3, "s__t", "shop", 1);
        ask.digest = new_ask("s__t").digest;
        for (cursor, kind) in [(1, ChangeKind::Opened), (2, ChangeKind::Deferred)] {
            ask.deferred = kind == ChangeKind::Deferred;
            calls.saw(&Change { cursor: Cursor(cursor), kind, ask: Arc::new(ask.clone()), detail: None });
        }
        calls.link_is_up();
        let Reply::New { ask: found } = call.await.unwrap().unwrap().reply else { panic!() };
        assert_eq!(found.read().unwrap(), ask);
        assert!(calls.next_unsent(true).is_none());
    }
}
