//! One link, from its first frame to its last.
//!
//! Changes and replies go through one queue, in the order of cursors: a reply is sent when every change up to its cursor was sent. One frame
//! is sent at a time, and the next change is read after that. So an edge that reads slowly costs no memory, and one that does not read at
//! all is cut. What the edge says is heard meanwhile.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::ask::{Ask, AskId, Change, ChangeKind, Cursor, Host};
use crate::http::App;
use crate::http::connections::Tether;
use crate::registry::{Feed, MAX_CALLS, Next, Share};
use crate::store::wire::{
    self, BEAT, Command, EdgeFrame, Event, Fault, FaultKind, HubFrame, Line, LineError, MAX_FRAME, Millis, SILENCE,
    VERSION, WireAsk, WireChange, close,
};

/// How many changes an edge may have missed. One that missed more gets its open asks instead, which is less work.
const MAX_REPLAY: i64 = 10_000;
/// How exact "last seen" is.
const SEEN: Duration = Duration::from_secs(300);
/// How many commands in a row may be refused. An edge is hardly ever refused anything.
const MAX_REFUSED: u32 = 100;
/// How long the connection waits for the other side to close, so that the reason for it can be read.
const GOODBYE: Duration = Duration::from_secs(1);

/// Why a link ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The edge has closed it, or cannot be reached any more.
    Gone,
    /// We close it, with this code and reason.
    Close(u16, &'static str),
}

const STOPPING: End = End::Close(1001, "the hub stops");
const GREETED: End = End::Close(1000, "");
const NONSENSE: End = End::Close(1008, "a frame does not have the right shape");
const STORE_FAILED: End = End::Close(1011, "the hub cannot read its store");
const REVOKED: End = End::Close(close::REVOKED, "the host token was taken back");
const REPLACED: End = End::Close(close::REPLACED, "another daemon uses the same host token");
const REFUSED: End = End::Close(1008, "too many commands were refused");
const OTHER_VERSION: End = End::Close(close::VERSION, "the hub speaks another version of the link");

impl wire::Message for Message {
    fn of(text: String) -> Self {
        Self::Text(text.into())
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.as_str()) } else { None }
    }
}

pub(super) struct Conversation {
    app: App,
    id: i64,
    host: Host,
    share: Arc<Share>,
    tether: Tether,
    line: Line<WebSocket>,
    /// When it was last written down that this machine is there.
    noted_at: Option<Instant>,
}

/// A command that is being carried out.
type Call = BoxFuture<'static, (Cursor, HubFrame)>;

/// Ends a task when it is dropped.
struct Ending(AbortHandle);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What this edge is sent.
struct Following {
    feed: Feed,
    /// Frames of the greeting that were not sent yet.
    greeting: VecDeque<HubFrame>,
    /// Open asks of the greeting that were not sent yet.
    open: VecDeque<Arc<Ask>>,
    /// The edge is ready when it has got every change up to this. `None` after that.
    ready_at: Option<Cursor>,
    /// Open asks that are sent although the change that opened them may still come, up to the cursor.
    shown: (HashSet<AskId>, Cursor),
    /// The edge has got every change up to this.
    sent: Cursor,
    calls: FuturesUnordered<Call>,
    /// Replies that wait until the changes before them were sent.
    replies: VecDeque<(Cursor, HubFrame)>,
}

impl Conversation {
    pub(super) fn new(app: App, id: i64, host: Host, tether: Tether, socket: WebSocket) -> Self {
        let share = app.registry.share(&host);
        Self { app, id, host, share, tether, line: Line::new(socket), noted_at: None }
    }

    pub(super) async fn run(mut self) {
        let end = self.talk().await.err().unwrap_or(End::Gone);
        if let Some(left_out) = self.share.line() {
            tracing::info!(host = self.host.as_str(), ?end, left_out, "the link with a machine has ended");
        }
        if let End::Close(code, reason) = end {
            say_goodbye(self.line.into_socket(), code, reason).await;
        }
    }

    /// Talks until something ends it, which is the only result.
    async fn talk(&mut self) -> Result<(), End> {
        let app = self.app.clone();
        let mut revoked = Box::pin(app.access.revoked(self.id));
        let mut closing = pin!(app.closing());
        let cursor = tokio::select! {
            hello = timeout(SILENCE, self.hear_hello()) => match hello.map_err(|_| End::Gone)?? {
                EdgeFrame::Hello { version: VERSION, only_greets: true, .. } => return self.only_greet().await,
                EdgeFrame::Hello { version: VERSION, cursor, .. } => cursor.map(Cursor),
                EdgeFrame::Hello { .. } => return Err(OTHER_VERSION),
                _ => return Err(NONSENSE),
            },
            () = &mut revoked => return Err(REVOKED),
            () = &mut closing => return Err(STOPPING),
        };
        let link = app.registry.link(&self.host);
        self.note_seen();
        if let Some(left_out) = self.share.line() {
            tracing::info!(host = self.host.as_str(), ?cursor, left_out, "a machine is linked");
        }
        let mut following = self.greet(cursor);
        let mut beat = interval_at(Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tether = self.tether.clone();
        let mut replaced = pin!(link.replaced());
        let share = Arc::clone(&self.share);
        // The right to carry out the next command.
        let (mut turn, mut refused) = (None, 0);
        loop {
            if self.line.is_idle() {
                following.sent = following.feed.position();
                if let Some(frame) = following.next_frame() {
                    self.say(&frame);
                }
            }
            let hears = turn.is_some() && following.calls.len() + following.replies.len() < MAX_CALLS;
            tokio::select! {
                biased;
                () = &mut closing => return Err(STOPPING),
                () = &mut revoked => return Err(REVOKED),
                () = &mut replaced => return Err(REPLACED),
                () = tether.cut() => return Err(End::Gone),
                _ = beat.tick() => {
                    if self.line.is_silent() {
                        return Err(End::Gone);
                    }
                    self.note_seen();
                    // It may go between the pieces of a change, which the edge has not got yet.
                    self.say(&HubFrame::Beat { cursor: following.sent.0, now: app.registry.now() });
                }
                Some(reply) = following.calls.next() => {
                    let is_refused = reply.1.is_refusal();
                    refused = if is_refused { refused + 1 } else { 0 };
                    if refused > MAX_REFUSED {
                        return Err(REFUSED);
                    }
                    following.replies.push_back(reply);
                }
                permit = share.call(), if turn.is_none() => turn = permit,
                next = following.feed.next(), if self.line.is_idle() => match next {
                    Ok(Some(Next::Change(change))) => {
                        if change.ask.host == self.host && !following.was_shown(&change) {
                            let is_live = following.ready_at.is_none();
                            let detail = match change.kind {
                                ChangeKind::Settled if is_live => app.inbox.detail_for_edge(&change.ask).await,
                                _ => None,
                            };
                            self.say_change(&change, detail);
                        }
                    }
                    Ok(Some(Next::Reset(_))) => {
                        let Following { calls, replies, .. } = following;
                        following = Following { calls, replies, ..self.greet(None) };
                    }
                    Ok(None) => return Err(STOPPING),
                    Err(_) => return Err(STORE_FAILED),
                },
                event = self.line.next(hears) => match self.hear(event)? {
                    Some(EdgeFrame::Call { id, command, sent_before }) => {
                        following.calls.push(self.carry_out(id, *command, sent_before, turn.take()));
                    }
                    Some(EdgeFrame::Unreadable { id }) => {
                        let message = "the hub cannot read this: one of the two may be older".to_owned();
                        let result = Err(Fault { kind: FaultKind::Refused, message });
                        let done = HubFrame::Done { id, cursor: 0, result };
                        following.calls.push(Box::pin(std::future::ready((Cursor(0), done))));
                    }
                    Some(EdgeFrame::Hello { .. }) => return Err(NONSENSE),
                    Some(EdgeFrame::Beat | EdgeFrame::Unknown) | None => {}
                },
            }
        }
    }

    /// Carries out a command. One that changes something goes on if the link ends meanwhile.
    fn carry_out(
        &self,
        id: u64,
        command: Command,
        sent_before: Option<Millis>,
        turn: Option<OwnedSemaphorePermit>,
    ) -> Call {
        let (app, host, only_reads) = (self.app.clone(), self.host.clone(), command.only_reads());
        let call = tokio::spawn(async move {
            let _turn = turn;
            let result = app.inbox.serve_edge(&host, command, sent_before).await;
            let cursor = app.inbox.cursor();
            (cursor, HubFrame::Done { id, cursor: cursor.0, result })
        });
        let ending = only_reads.then(|| Ending(call.abort_handle()));
        Box::pin(async move {
            let _ending = ending;
            match call.await {
                Ok(done) => done,
                // The runtime ends.
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn note_seen(&mut self) {
        if self.noted_at.is_none_or(|noted_at| noted_at.elapsed() > SEEN) {
            self.noted_at = Some(Instant::now());
            self.app.access.host_is_here(self.id);
        }
    }

    fn welcome(&self, resumes: bool) -> HubFrame {
        HubFrame::Welcome {
            version: VERSION,
            software: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.host.as_str().to_owned(),
            now: self.app.registry.now(),
            resumes,
        }
    }

    async fn only_greet(&mut self) -> Result<(), End> {
        self.say(&self.welcome(false));
        let said = async {
            while !self.line.is_idle() {
                let event = self.line.next(true).await;
                self.hear(event)?;
            }
            Ok(())
        };
        timeout(SILENCE, said).await.map_err(|_| End::Gone)??;
        Err(GREETED)
    }

    /// Brings the edge up to now: by the changes that it missed, or by its open asks.
    fn greet(&self, cursor: Option<Cursor>) -> Following {
        let newest = self.app.inbox.cursor();
        // An edge can send any number.
        let is_near = |cursor: &Cursor| (0..=MAX_REPLAY).contains(&newest.0.saturating_sub(cursor.0));
        let missed = cursor.filter(|cursor| cursor.0 >= 0 && is_near(cursor));
        let feed = self.app.registry.feed(missed);
        let mut open = Vec::new();
        if missed.is_none() {
            open = self.app.registry.open_asks(None);
            open.retain(|ask| ask.host == self.host);
        }
        let shown = (open.iter().map(|ask| ask.id).collect(), self.app.inbox.cursor());
        let ready_at = if missed.is_some() { newest } else { feed.position() };
        Following {
            sent: feed.position(),
            feed,
            greeting: [self.welcome(missed.is_some())].into(),
            open: open.into(),
            ready_at: Some(ready_at),
            shown,
            calls: FuturesUnordered::new(),
            replies: VecDeque::new(),
        }
    }

    /// The next frame of the edge.
    async fn hear_hello(&mut self) -> Result<EdgeFrame, End> {
        loop {
            let event = self.line.next(true).await;
            if let Some(frame) = self.hear(event)? {
                return Ok(frame);
            }
        }
    }

    /// The frame of the edge that came, if one did.
    fn hear(&self, event: Result<Event<Message>, LineError>) -> Result<Option<EdgeFrame>, End> {
        match event {
            Ok(Event::Frame(text)) => EdgeFrame::read(&text).map(Some).ok_or(NONSENSE),
            Ok(Event::Other(Message::Binary(_))) | Err(LineError::TooLong) => Err(NONSENSE),
            Ok(Event::Other(Message::Close(_))) | Err(LineError::Ended | LineError::Failed(_)) => Err(End::Gone),
            // The library replies to pings.
            Ok(Event::Other(_) | Event::Sent) => Ok(None),
        }
    }

    fn say(&mut self, frame: &HubFrame) {
        if let Ok(text) = serde_json::to_string(frame) {
            self.line.queue(text);
        }
    }

    fn say_change(&mut self, change: &Change, detail: Option<String>) {
        let frame = |detail| serde_json::to_string(&HubFrame::Change(Box::new(WireChange::new(change, detail))));
        let text = frame(detail).ok().filter(|text| text.len() <= MAX_FRAME);
        // An edge that does not get the detail asks for it.
        if let Some(text) = text.or_else(|| frame(None).ok()) {
            self.line.queue(text);
        }
    }
}

/// Tells the edge why, and gives it a moment to read that.
async fn say_goodbye(mut socket: WebSocket, code: u16, reason: &'static str) {
    let goodbye = async {
        let close = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        if socket.send(Message::Close(Some(close))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    drop(timeout(GOODBYE, goodbye).await);
}

impl Following {
    /// The next frame that does not wait for a change: of the greeting, or a reply whose changes were all sent.
    fn next_frame(&mut self) -> Option<HubFrame> {
        if let Some(frame) = self.greeting.pop_front() {
            return Some(frame);
        }
        if let Some(ask) = self.open.pop_front() {
            return Some(HubFrame::Open { ask: Box::new(WireAsk::new(&ask)) });
        }
        if let Some(ready_at) = self.ready_at {
            let is_ready = self.sent >= ready_at;
            self.ready_at = (!is_ready).then_some(ready_at);
            return is_ready.then_some(HubFrame::Ready { cursor: self.sent.0 });
        }
        let is_due = self.replies.front().is_some_and(|(cursor, _)| *cursor <= self.sent);
        if is_due { self.replies.pop_front().map(|(_, reply)| reply) } else { None }
    }

    /// Whether the edge gets the ask of this change as one that is open.
    fn was_shown(&mut self, change: &Change) -> bool {
        let (ids, until) = &mut self.shown;
        if change.cursor > *until {
            ids.clear();
        }
        change.kind == ChangeKind::Opened && ids.remove(&change.ask.id)
    }
}
