//! The event stream. It sends every change once, in the order of commits, from the place where the reader left off.
//!
//! A reader that takes nothing is cut after a while (`write_timeout`). It loses nothing, because it comes back with the id of its last event
//! and reads on from there (`registry/feed.rs`).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream;
use serde::Deserialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::access::{Caller, Rights};
use crate::api::{EventView, Problem, ResetEvent, SessionEvent, SessionView};
use crate::ask::{Change, Cursor, Origin};
use crate::registry::{Feed, Next};
use crate::store::Role;

use super::App;
use super::extract::Params;
use super::query::Heartbeat;
use super::sessions::SessionFeed;

/// How often a stream sends a comment if the reader does not say.
const HEARTBEAT: u64 = 10;
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
/// How many events are kept as they are sent. All readers that are up to date get an event at almost the same moment.
const MAX_FRAMES: usize = 16;
/// A longer event is not kept. It comes from the store, to each reader at its own time.
const MAX_FRAME: usize = 16 * 1024;

/// Which events to send.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(super) struct EventParams {
    /// Also send events of the questions that `answerback doctor` asks itself.
    probes: bool,
    /// Also send `session.changed` when a session has changed.
    sessions: bool,
    /// After how many seconds the stream sends a comment, again and again, whatever else it sends. A reader that gets nothing for longer
    /// knows that the connection is dead. The default is 10.
    #[cfg_attr(test, param(inline))]
    heartbeat: Option<Heartbeat>,
}

/// Streams changes as server-sent events: `ask.opened`, `ask.settled`, `ask.deferred`, `ask.resumed`, `ask.receipt`. With `sessions`, also
/// `session.changed`.
///
/// The id of an event is a cursor. `Last-Event-ID` replays every event after that cursor. Without it, the stream begins now. The event
/// `session.changed` has no id, its data is a `SessionEvent`, and it is never replayed.
/// The event `reset` says that what was sent before may not hold any more. A reader lists the asks again. It comes from daemons that share
/// a store, when some changes are lost, and to a person whose role has changed. Its data is a `ResetEvent`.
/// The stream begins with a comment, so that a reader knows at once that it is connected.
#[cfg_attr(test, utoipa::path(get, path = "/v1/events", operation_id = "streamEvents", tag = "asks",
    params(EventParams, ("last-event-id" = Option<String>, Header, nullable = false, description = "The id of the last event that the reader got", pattern = "^[0-9]+$")),
    responses(
        (status = 200, content((EventView = "text/event-stream"), (SessionEvent = "text/event-stream"), (ResetEvent = "text/event-stream")), description = "An endless stream. Each `data` is one `EventView`, a `SessionEvent` or a `ResetEvent`."),
        (status = 400, description = "`Last-Event-ID` is not a cursor (`bad-request`)."))))]
pub(super) async fn events(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = match headers.get("last-event-id") {
        None => None,
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.parse().ok()).filter(|id| *id >= 0);
            let not_a_cursor = || Problem::bad_request("Last-Event-ID is not a cursor of this daemon.");
            Some(Cursor(id.ok_or_else(not_a_cursor)?))
        }
    };
    let feed = app.registry.feed(after);
    let pause = Duration::from_secs(params.heartbeat.map_or(HEARTBEAT, Heartbeat::get));
    let mut heartbeat = interval_at(Instant::now() + pause, pause);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let rights = caller.rights().clone();
    let sessions = params.sessions.then(|| SessionFeed::new(app.inbox.clone(), rights.clone()));
    let reader = Reader { feed, sessions, app: app.clone(), rights, heartbeat, probes: params.probes };
    let events = stream::once(ready(COMMENT))
        .chain(stream::unfold(reader, |mut reader| async { reader.next().await.map(|frame| (frame, reader)) }));
    // The reader comes back with the id of its last event.
    let until_closing = events.map(Ok::<_, Infallible>).take_until(Box::pin(async move { app.closing().await }));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(until_closing)).into_response())
}

struct Reader {
    feed: Feed,
    /// `None` if the reader does not want to know about sessions.
    sessions: Option<SessionFeed>,
    app: App,
    /// What the reader may see.
    rights: Rights,
    heartbeat: Interval,
    /// Whether the reader wants the questions that Answerback asks itself.
    probes: bool,
}

impl Reader {
    /// What is sent next. `None` ends the stream, and the reader comes back with the id of its last event.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let next = tokio::select! {
                // However many events there are, the comment comes in time.
                biased;
                _ = self.heartbeat.tick() => return Some(COMMENT),
                () = self.rights.changed() => {
                    self.sessions.iter_mut().for_each(SessionFeed::note_seen);
                    return reset_frame(self.feed.position());
                }
                next = self.feed.next() => next.ok()??,
                Some(session) = next_session(self.sessions.as_mut()) => return session_frame(session),
            };
            match next {
                Next::Change(change) if self.shows(&change) => return self.app.frames.of(&change),
                Next::Change(_) => {}
                Next::Reset(cursor) => return reset_frame(cursor),
            }
        }
    }

    fn shows(&self, change: &Change) -> bool {
        (self.probes || change.ask.origin != Origin::Probe) && self.rights.cover(Role::View, &change.ask)
    }
}

/// The next session that has changed, for a reader that wants to know.
async fn next_session(sessions: Option<&mut SessionFeed>) -> Option<SessionView> {
    match sessions {
        Some(sessions) => sessions.next().await,
        None => pending().await,
    }
}

/// It has no id: a reader that comes back says which asks it has seen, and gets the sessions as they are.
fn session_frame(session: SessionView) -> Option<Bytes> {
    const KIND: &str = "session.changed";
    let data = serde_json::to_string(&SessionEvent { kind: KIND.to_owned(), session }).ok()?;
    Some(format!("event: {KIND}\ndata: {data}\n\n").into())
}

fn reset_frame(cursor: Cursor) -> Option<Bytes> {
    const KIND: &str = "reset";
    let data = serde_json::to_string(&ResetEvent { kind: KIND.to_owned(), cursor: cursor.0.to_string() }).ok()?;
    Some(format!("id: {}\nevent: {KIND}\ndata: {data}\n\n", cursor.0).into())
}

/// The newest events, as they are sent. So an event is written once, however many readers there are.
#[derive(Debug, Default)]
pub(super) struct Frames(Mutex<VecDeque<(Arc<Change>, Bytes)>>);

impl Frames {
    /// A change as an event. A change that was read from the store is another one than the live change with its cursor, because it has the
    /// ask as it is now.
    fn of(&self, change: &Arc<Change>) -> Option<Bytes> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frame)) = kept.iter().rev().find(|(other, _)| Arc::ptr_eq(other, change)) {
            return Some(frame.clone());
        }
        let frame = frame(change)?;
        if frame.len() > MAX_FRAME {
            return Some(frame);
        }
        if kept.len() == MAX_FRAMES {
            kept.pop_front();
        }
        kept.push_back((Arc::clone(change), frame.clone()));
        Some(frame)
    }
}

fn frame(change: &Change) -> Option<Bytes> {
    // JSON has no line breaks, so it is one line of data.
    let data = serde_json::to_string(&EventView::from(change)).ok()?;
    Some(format!("id: {}\nevent: {}\ndata: {data}\n\n", change.cursor.0, change.kind.name()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::ChangeKind;
    use crate::ask::samples::ask;

    fn change(cursor: i64) -> Arc<Change> {
        let ask = Arc::new(ask(cursor, "s__t", "shop", 1));
        Arc::new(Change { cursor: Cursor(cursor), kind: ChangeKind::Opened, ask, detail: None })
    }

    #[test]
    fn an_event_is_written_once_for_all_readers() {
        let (frames, first) = (Frames::default(), change(1));
        let [one, other] = [0; 2].map(|_| frames.of(&first).unwrap());
        assert_eq!(one.as_ptr(), other.as_ptr());
        let text = String::from_utf8(one.to_vec()).unwrap();
        assert!(
            text.starts_with("id: 1\nevent: ask.opened\ndata: {\"type\":\"ask.opened\",") && text.ends_with("}\n\n")
        );
        assert_eq!(text.lines().count(), 4);
        // The same cursor, read from the store, may have a newer ask.
        assert_ne!(frames.of(&change(1)).unwrap().as_ptr(), one.as_ptr());
    }

    #[test]
    fn few_events_are_kept() {
        let frames = Frames::default();
        for cursor in 0..100 {
            frames.of(&change(cursor)).unwrap();
        }
        assert_eq!(frames.0.lock().unwrap().len(), MAX_FRAMES);
    }
}
