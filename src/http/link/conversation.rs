//! One link, from its first frame to its last.
//!
//! Changes and replies go through one queue, in the order of cursors: a reply is sent when every change up to its cursor was sent. One frame
//! is sent at a time, and the next change is read after that. So an edge that reads slowly costs no memory, and one that does not read at
//! all is cut.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::ask::{AskId, Change, ChangeKind, Cursor, Host};
use crate::http::App;
use crate::http::connections::Tether;
use crate::registry::{Feed, Next};
use crate::store::wire::{
    BEAT, EdgeFrame, Fault, FaultKind, HubFrame, MAX_CALLS, SILENCE, VERSION, WireAsk, WireChange, close,
};

/// How many changes an edge may have missed. One that missed more gets its open asks instead, which is less work.
const MAX_REPLAY: i64 = 10_000;
/// How exact "last seen" is.
const SEEN: Duration = Duration::from_secs(300);
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
const OTHER_VERSION: End = End::Close(close::VERSION, "the hub speaks another version of the link");

pub(super) struct Conversation {
    app: App,
    id: i64,
    host: Host,
    tether: Tether,
    socket: WebSocket,
    heard_at: Instant,
    /// When it was last written down that this machine is there.
    noted_at: Option<Instant>,
}

/// A command that is being carried out.
type Call = BoxFuture<'static, (Cursor, HubFrame)>;

/// What this edge is sent.
struct Following {
    feed: Feed,
    /// Open asks that were sent although the change that opened them may still come, up to the cursor.
    shown: (HashSet<AskId>, Cursor),
    calls: FuturesUnordered<Call>,
    /// Replies that wait until the changes before them were sent.
    replies: VecDeque<(Cursor, HubFrame)>,
}

impl Conversation {
    pub(super) fn new(app: App, id: i64, host: Host, tether: Tether, socket: WebSocket) -> Self {
        Self { app, id, host, tether, socket, heard_at: Instant::now(), noted_at: None }
    }

    pub(super) async fn run(mut self) {
        let name = self.host.as_str().to_owned();
        let end = self.talk().await.err().unwrap_or(End::Gone);
        tracing::info!(host = name, ?end, "the link with a machine has ended");
        if let End::Close(code, reason) = end {
            self.say_goodbye(code, reason).await;
        }
    }

    /// Talks until something ends it, which is the only result.
    async fn talk(&mut self) -> Result<(), End> {
        let app = self.app.clone();
        let mut revoked = Box::pin(app.access.revoked(self.id));
        let mut closing = pin!(app.closing());
        let cursor = tokio::select! {
            hello = timeout(SILENCE, self.hear()) => match hello.map_err(|_| End::Gone)?? {
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
        tracing::info!(host = self.host.as_str(), ?cursor, "a machine is linked");
        let mut following = self.greet(cursor).await?;
        let mut beat = interval_at(Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tether = self.tether.clone();
        let mut replaced = pin!(link.replaced());
        loop {
            while let Some(reply) = following.next_reply() {
                self.say(&reply).await?;
            }
            tokio::select! {
                biased;
                () = &mut closing => return Err(STOPPING),
                () = &mut revoked => return Err(REVOKED),
                () = &mut replaced => return Err(REPLACED),
                () = tether.cut() => return Err(End::Gone),
                _ = beat.tick() => {
                    if self.heard_at.elapsed() > SILENCE {
                        return Err(End::Gone);
                    }
                    self.note_seen();
                    self.say(&HubFrame::Beat { cursor: following.feed.position().0, now: app.registry.now() }).await?;
                }
                Some(reply) = following.calls.next() => following.replies.push_back(reply),
                next = following.feed.next() => match next {
                    Ok(Some(Next::Change(change))) => {
                        if change.ask.host == self.host && !following.was_shown(&change) {
                            let detail = match change.kind {
                                ChangeKind::Settled => app.inbox.detail_for_edge(&change.ask).await,
                                _ => None,
                            };
                            self.say(&HubFrame::Change(Box::new(WireChange::new(&change, detail)))).await?;
                        }
                    }
                    Ok(Some(Next::Reset(_))) => {
                        let Following { calls, replies, .. } = following;
                        following = Following { calls, replies, ..self.greet(None).await? };
                    }
                    Ok(None) => return Err(STOPPING),
                    Err(_) => return Err(STORE_FAILED),
                },
                heard = self.hear(), if following.calls.len() + following.replies.len() < MAX_CALLS => match heard? {
                    EdgeFrame::Call { id, command } => {
                        let (app, host) = (app.clone(), self.host.clone());
                        // It goes on if the link ends meanwhile, like every command that has come in.
                        let call = tokio::spawn(async move {
                            let result = app.inbox.serve_edge(&host, command).await;
                            let cursor = app.inbox.cursor();
                            (cursor, HubFrame::Done { id, cursor: cursor.0, result })
                        });
                        following.calls.push(Box::pin(async move {
                            match call.await {
                                Ok(done) => done,
                                // The runtime ends.
                                Err(_) => std::future::pending().await,
                            }
                        }));
                    }
                    EdgeFrame::Unreadable { id } => {
                        let message = "the hub cannot read this: one of the two may be older".to_owned();
                        let result = Err(Fault { kind: FaultKind::Refused, message });
                        self.say(&HubFrame::Done { id, cursor: 0, result }).await?;
                    }
                    EdgeFrame::Hello { .. } => return Err(NONSENSE),
                    EdgeFrame::Beat | EdgeFrame::Unknown => {}
                },
            }
        }
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
        self.say(&self.welcome(false)).await?;
        Err(GREETED)
    }

    /// Brings the edge up to now: by the changes that it missed, or by its open asks.
    async fn greet(&mut self, cursor: Option<Cursor>) -> Result<Following, End> {
        let (app, host) = (self.app.clone(), self.host.clone());
        let newest = app.inbox.cursor();
        let missed = cursor.filter(|cursor| *cursor <= newest && newest.0 - cursor.0 <= MAX_REPLAY);
        self.say(&self.welcome(missed.is_some())).await?;
        let mut feed = app.registry.feed(missed);
        let mut shown = HashSet::new();
        if missed.is_some() {
            while feed.position() < newest {
                match feed.next().await {
                    Ok(Some(Next::Change(change))) if change.ask.host == host => {
                        self.say(&HubFrame::Change(Box::new(WireChange::new(&change, None)))).await?;
                    }
                    Ok(Some(Next::Change(_))) => {}
                    Ok(Some(Next::Reset(_))) => return Box::pin(self.greet(None)).await,
                    Ok(None) => return Err(STOPPING),
                    Err(_) => return Err(STORE_FAILED),
                }
            }
        } else {
            let mut open = app.registry.open_asks(None);
            open.retain(|ask| ask.host == host);
            for ask in &open {
                shown.insert(ask.id);
                self.say(&HubFrame::Open { ask: Box::new(WireAsk::new(ask)) }).await?;
            }
        }
        self.say(&HubFrame::Ready { cursor: feed.position().0 }).await?;
        let shown = (shown, app.inbox.cursor());
        Ok(Following { feed, shown, calls: FuturesUnordered::new(), replies: VecDeque::new() })
    }

    /// The next frame of the edge. Safe to cancel.
    async fn hear(&mut self) -> Result<EdgeFrame, End> {
        loop {
            let message = self.socket.recv().await;
            self.heard_at = Instant::now();
            match message {
                Some(Ok(Message::Text(text))) => return EdgeFrame::read(&text).ok_or(NONSENSE),
                Some(Ok(Message::Binary(_))) => return Err(NONSENSE),
                // The library replies to pings.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(End::Gone),
            }
        }
    }

    /// Sends one frame. An edge that does not read is cut.
    async fn say(&mut self, frame: &HubFrame) -> Result<(), End> {
        let Ok(text) = serde_json::to_string(frame) else { return Ok(()) };
        match timeout(SILENCE, self.socket.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    /// Tells the edge why, and gives it a moment to read that.
    async fn say_goodbye(mut self, code: u16, reason: &'static str) {
        let goodbye = async {
            let close = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
            if self.socket.send(Message::Close(Some(close))).await.is_ok() {
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        drop(timeout(GOODBYE, goodbye).await);
    }
}

impl Following {
    /// The next reply whose changes were all sent.
    fn next_reply(&mut self) -> Option<HubFrame> {
        let is_due = self.replies.front().is_some_and(|(cursor, _)| *cursor <= self.feed.position());
        if is_due { self.replies.pop_front().map(|(_, reply)| reply) } else { None }
    }

    /// Whether the edge has got the ask of this change as one that is open.
    fn was_shown(&mut self, change: &Change) -> bool {
        let (ids, until) = &mut self.shown;
        if change.cursor > *until {
            ids.clear();
        }
        change.kind == ChangeKind::Opened && ids.remove(&change.ask.id)
    }
}
