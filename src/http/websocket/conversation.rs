//! One connection, from its first frame to its last.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::access::{Caller, Entrance, Scope};
use crate::api::{AskUserResponse, ClientFrame, Problem, Response, ServerFrame, SessionTaken, Subscribe, Subscribed};
use crate::ask::AskId;
use crate::http::App;
use crate::http::connections::Tether;
use crate::http::guard;
use crate::http::places::PlaceHandle;
use crate::inbox::Words;
use crate::store::Role;

use super::bucket::Bucket;
use super::frames::{BINARY, Refused, error, named, read, wanted};
use super::holders::Holder;
use super::subscription::{MAX_SESSIONS, Pending, Subscription, settled};
use super::{AUTHENTICATION, identify};

/// How often a silent companion is asked whether it is there.
const PING: Duration = Duration::from_secs(20);
/// A companion that has given no sign for this long is gone: it has not replied to two pings.
const SILENCE: Duration = Duration::from_secs(50);
/// How long a companion may take to read a frame.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the connection waits for the other side to close, so that the reason for it can be read.
const GOODBYE: Duration = Duration::from_secs(1);
/// How many frames in a row may make no sense.
const MAX_NONSENSE: u32 = 20;

/// Who is at the other end.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) entrance: Entrance,
    /// The client's name for itself.
    pub(super) agent: Option<String>,
    /// `None` on the unix socket.
    pub(super) place: Option<PlaceHandle>,
    pub(super) tether: Tether,
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The companion has closed it, or cannot be reached any more.
    Gone,
    /// We close it, with this code and reason.
    Close(u16, &'static str),
}

const STOPPING: End = End::Close(1001, "the daemon stops");
const TOO_LARGE: End = End::Close(1009, "a frame is over 1 MiB");
const NOT_UTF8: End = End::Close(1007, "a text frame is not UTF-8");
const TOO_MANY: End = End::Close(1008, "too many frames");
const NONSENSE: End = End::Close(1008, "too many frames that make no sense");
const STORE_FAILED: End = End::Close(1011, "the store failed");
const UNAUTHORIZED: End = End::Close(4401, "this needs a valid token");
const FORBIDDEN: End = End::Close(4403, "this token is not for that");
const TOO_LATE: End = End::Close(4408, "no token came within 5 seconds");
const SIGNED_OUT: End = End::Close(4401, "this device was signed out");

/// One connection.
pub(super) struct Conversation {
    app: App,
    peer: Peer,
    socket: WebSocket,
    holder: Holder,
    bucket: Bucket,
    nonsense: u32,
    heard_at: Instant,
    /// Boxed, because a connection may wait for a long time without one.
    subscription: Option<Box<Subscription>>,
    /// What is to be sent next. One frame is sent at a time, and in between the connection may have to end.
    outbox: VecDeque<Pending>,
    /// The revision of the rights under which sessions were taken.
    revision: Option<i64>,
}

impl Conversation {
    pub(super) fn new(app: App, peer: Peer, socket: WebSocket) -> Self {
        let (holder, now) = (Holder::new(Arc::clone(&app.holders)), Instant::now());
        Self {
            app,
            peer,
            socket,
            holder,
            bucket: Bucket::new(now),
            nonsense: 0,
            heard_at: now,
            subscription: None,
            outbox: VecDeque::new(),
            revision: None,
        }
    }

    /// Talks with the companion until one side ends it. Without a caller, the token has to come first.
    pub(super) async fn run(mut self, caller: Option<Caller>) {
        let identified = match caller {
            Some(caller) => Ok(caller),
            None => self.authenticate().await,
        };
        let ended = match identified {
            Ok(caller) => {
                self.peer.tether.trust();
                let end = self.talk(&caller).await;
                if let End::Close(code, reason) = end {
                    tracing::info!(code, reason, "a companion's connection is closed");
                }
                end
            }
            // Anybody can come without a token, as often as they like. That is not worth a line each.
            Err(end) => end,
        };
        if let End::Close(code, reason) = ended {
            self.say_goodbye(code, reason).await;
        }
    }

    async fn authenticate(&mut self) -> Result<Caller, End> {
        let first = tokio::select! {
            first = timeout(AUTHENTICATION, hear(&mut self.socket, &mut self.heard_at)) => first.map_err(|_| TOO_LATE)??,
            () = self.peer.tether.cut() => return Err(End::Gone),
            () = self.app.closing() => return Err(STOPPING),
        };
        let Ok(ClientFrame::Authenticate(frame)) = read(first.as_bytes()) else { return Err(UNAUTHORIZED) };
        let identified = identify(&self.app, &self.peer, frame.token.as_bytes()).await;
        let caller = identified.map_err(|problem| if problem.status == 403 { FORBIDDEN } else { UNAUTHORIZED })?;
        self.say(&ServerFrame::Authenticated).await?;
        Ok(caller)
    }

    async fn talk(&mut self, caller: &Caller) -> End {
        let app = self.app.clone();
        let mut closing = Box::pin(async { app.closing().await });
        let mut revoked = Box::pin(async {
            match caller.device() {
                Some(device) => app.access.revoked(device).await,
                None => pending().await,
            }
        });
        let mut ping = interval_at(Instant::now() + PING, PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut tether = self.peer.tether.clone();
        loop {
            if let Some(frame) = self.outbox.pop_front() {
                let frame = frame.into_frame(app.registry.now());
                let sent = tokio::select! {
                    biased;
                    () = &mut closing => return STOPPING,
                    () = &mut revoked => return SIGNED_OUT,
                    () = tether.cut() => return End::Gone,
                    sent = self.say(&frame) => sent,
                };
                if let Err(end) = sent {
                    return end;
                }
                // A companion that reads for a long time is there. Its own frames wait, so that the outbox does not grow meanwhile.
                self.heard_at = Instant::now();
                continue;
            }
            let step = tokio::select! {
                biased;
                () = &mut closing => return STOPPING,
                () = &mut revoked => return SIGNED_OUT,
                () = tether.cut() => return End::Gone,
                _ = ping.tick() => {
                    if self.heard_at.elapsed() > SILENCE {
                        return End::Gone;
                    }
                    self.send(Message::Ping(Vec::new().into())).await
                }
                session_id = self.holder.lost() => {
                    self.outbox.push_back(Pending::from(ServerFrame::SessionTaken(SessionTaken { session_id, question_id: None })));
                    Ok(())
                }
                heard = hear(&mut self.socket, &mut self.heard_at) => match heard {
                    Ok(text) => self.take(caller, &text).await,
                    Err(end) => Err(end),
                },
                frames = next(&app, self.subscription.as_mut()) => match frames {
                    Ok(Some(frames)) => {
                        self.give_back(caller);
                        self.outbox.extend(frames);
                        Ok(())
                    }
                    Ok(None) => return STOPPING,
                    Err(_) => return STORE_FAILED,
                },
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    /// Takes a frame of the companion.
    async fn take(&mut self, caller: &Caller, text: &Utf8Bytes) -> Result<(), End> {
        if !self.bucket.take(Instant::now()) {
            return Err(TOO_MANY);
        }
        let refused = match read(text.as_bytes()) {
            Ok(frame) => {
                self.nonsense = 0;
                // The connection may be older than what another daemon of the store has changed since. A request is looked up, too.
                match self.app.access.is_signed_in(caller).await {
                    Ok(true) => self.obey(caller, frame).await,
                    Ok(false) => return Err(SIGNED_OUT),
                    Err(error) => Err(Refused::new(error, None)),
                }
            }
            Err(problem) => {
                self.nonsense += 1;
                if self.nonsense > MAX_NONSENSE {
                    return Err(NONSENSE);
                }
                Err(Refused::new(problem, None))
            }
        };
        if let Err(Refused { problem, about }) = refused {
            self.outbox.push_back(Pending::from(error(*problem, about)));
        }
        Ok(())
    }

    /// Does what a companion wants that is signed in.
    async fn obey(&mut self, caller: &Caller, frame: ClientFrame) -> Result<(), Refused> {
        match frame {
            // It is signed in already, and who it is does not change.
            ClientFrame::Authenticate(_) => {
                self.outbox.push_back(Pending::from(ServerFrame::Authenticated));
                Ok(())
            }
            ClientFrame::Subscribe(frame) => self.subscribe(caller, frame),
            ClientFrame::AskUserResponse(frame) => self.respond(caller, *frame).await,
        }
    }

    /// Begins to show a session, or all.
    fn subscribe(&mut self, caller: &Caller, frame: Subscribe) -> Result<(), Refused> {
        let (session, since) = wanted(frame).map_err(|problem| Refused::new(problem, None))?;
        if let (Some(session), Some(subscription)) = (&session, &self.subscription)
            && !subscription.has_room_for(session)
        {
            let problem = Problem::invalid(format!("A connection can take {MAX_SESSIONS} sessions."), Vec::new());
            return Err(Refused::new(problem.hint("Subscribe without session_id to see all sessions."), None));
        }
        let app = self.app.clone();
        let mut subscription = match (self.subscription.take(), since) {
            (Some(mut subscription), Some(since)) => {
                subscription.rewind(&app, since);
                subscription
            }
            (Some(subscription), None) => subscription,
            (None, since) => Box::new(Subscription::new(&app, caller.rights().clone(), since)),
        };
        self.revision = self.revision.or_else(|| caller.rights().revision());
        let may_hold = |session: &str| may_hold(&app, caller, session);
        let took_over = session.as_deref().is_some_and(|session| may_hold(session) && self.holder.take(session));
        let cursor = subscription.position().0.to_string();
        let frames = subscription.add(&app, session.as_deref());
        self.subscription = Some(subscription);
        self.outbox.push_back(Pending::from(ServerFrame::Subscribed(Subscribed {
            session_id: session,
            took_over,
            cursor,
        })));
        self.outbox.extend(frames);
        Ok(())
    }

    /// Gives back the sessions that other rights do not allow to have.
    fn give_back(&mut self, caller: &Caller) {
        let revision = caller.rights().revision();
        if revision != self.revision {
            self.revision = revision;
            self.holder.keep(|session| may_hold(&self.app, caller, session));
        }
    }

    /// Hands an answer or a dismissal to the inbox.
    async fn respond(&mut self, caller: &Caller, frame: AskUserResponse) -> Result<(), Refused> {
        let response = frame.data.unwrap_or(frame.flat);
        let key = named(&response).map_err(|problem| Refused::new(problem, response.question_id.clone()))?;
        // Who has the session is said only to those who may know that it exists.
        let seen = self.app.inbox.get(&key, caller.rights()).await;
        seen.map_err(|refusal| Refused::new(refusal, Some(key.to_string())))?;
        if !self.holder.may_answer(key.session()) {
            let (session_id, question_id) = (key.session().to_owned(), Some(key.to_string()));
            self.outbox.push_back(Pending::from(ServerFrame::SessionTaken(SessionTaken { session_id, question_id })));
            return Ok(());
        }
        let scope = if response.cancelled { Scope::Close } else { Scope::Answer };
        if !caller.may(scope, Some(&key)) {
            let problem = if caller.person().is_some() { Problem::role() } else { super::not_for_this() };
            return Err(Refused::new(problem, Some(key.to_string())));
        }
        let people = guard::only_people(&self.app, super::PATH, self.peer.entrance, caller, Some(&key)).await;
        people.map_err(|problem| Refused::new(problem, Some(key.to_string())))?;
        let id = response.id.map(AskId);
        let done = if response.cancelled {
            self.app.inbox.dismiss(&key, id, response.reason, caller).await
        } else {
            let Response { answers, notes, partial, edited, .. } = response;
            self.app.inbox.answer(&key, &Words { answers, notes, partial, edited, id }, caller).await
        };
        let ask = done.map_err(|refusal| Refused::new(refusal, Some(key.to_string())))?;
        if let Some(subscription) = &mut self.subscription {
            subscription.knows_end(ask.id);
        }
        self.outbox.extend(settled(&ask, None));
        Ok(())
    }

    async fn say(&mut self, frame: &ServerFrame) -> Result<(), End> {
        let Ok(text) = serde_json::to_string(frame) else { return Ok(()) };
        self.send(Message::Text(text.into())).await
    }

    /// Sends one message. A companion that does not read is cut, so that nothing piles up for it.
    async fn send(&mut self, message: Message) -> Result<(), End> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => {
                tracing::info!("a companion that does not read is disconnected");
                Err(End::Gone)
            }
        }
    }

    /// Tells the companion why, and gives it a moment to read that.
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

/// Whether a connection may have a session for itself. Somebody who cannot answer there must not keep others from it.
fn may_hold(app: &App, caller: &Caller, session: &str) -> bool {
    let rights = caller.rights();
    rights.allow_everywhere(Role::Answer) || app.inbox.session(session, Role::Answer, rights).is_some()
}

/// The next text of the companion. Safe to cancel.
async fn hear(socket: &mut WebSocket, heard_at: &mut Instant) -> Result<Utf8Bytes, End> {
    loop {
        let message = socket.recv().await;
        *heard_at = Instant::now();
        match message {
            Some(Ok(Message::Text(text))) => return Ok(text),
            // It becomes an error of its own, because no JSON object begins like this.
            Some(Ok(Message::Binary(_))) => return Ok(Utf8Bytes::from_static(BINARY)),
            // The library replies to pings.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Close(_))) | None => return Err(End::Gone),
            Some(Err(error)) => return Err(end_of(&error)),
        }
    }
}

/// Why the connection cannot go on.
fn end_of(error: &axum::Error) -> End {
    use std::error::Error as _;
    // The library's own type is not part of what axum offers, but its texts are stable enough for a choice of codes.
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    if said.contains("too long") || said.contains("too big") {
        TOO_LARGE
    } else if said.contains("UTF-8") {
        NOT_UTF8
    } else {
        End::Gone
    }
}

async fn next(
    app: &App,
    subscription: Option<&mut Box<Subscription>>,
) -> Result<Option<Vec<Pending>>, crate::store::StoreError> {
    match subscription {
        Some(subscription) => subscription.next(app).await,
        None => pending().await,
    }
}
