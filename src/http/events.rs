//! The event stream: every change once, in the order of commits, from where the reader left off.
//!
//! A reader that falls behind costs nothing but its place: what it missed is read from the store again, a page of bounded size at a
//! time. So a slow reader holds little memory here. One that takes nothing at all is cut after a while (`write_timeout`), and loses
//! nothing: it comes back with the id of the last event it got.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use utoipa::IntoParams;

use crate::api::{EventView, Problem};
use crate::ask::Origin;
use crate::ask::{Change, Cursor};
use crate::registry::Live;

use super::App;
use super::extract::Params;

const REPLAY_PAGE: usize = 256;
/// A reader that hears nothing for longer knows that the connection is dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Which events to send.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParams {
    /// Also about the questions that `answerback doctor` asks itself.
    probes: bool,
}

/// Streams changes as server-sent events: `ask.opened`, `ask.settled`, `ask.deferred`, `ask.resumed`, `ask.receipt`.
///
/// The id of an event is a cursor. `Last-Event-ID` replays everything after it; without, the stream begins now.
#[utoipa::path(get, path = "/v1/events", operation_id = "streamEvents", tag = "asks",
    params(EventParams, ("last-event-id" = Option<String>, Header, nullable = false, description = "The last cursor that was seen", pattern = "^[0-9]+$")),
    responses(
        (status = 200, body = EventView, content_type = "text/event-stream", description = "An endless stream; each `data` is one"),
        (status = 400, description = "`Last-Event-ID` is not a cursor (`bad-request`).")))]
pub(super) async fn events(
    State(app): State<App>,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let live = app.registry.live();
    // After the subscription, so that nothing falls between the two.
    let newest = *app.registry.cursor().borrow();
    let sent = match headers.get("last-event-id") {
        None => newest,
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.parse().ok()).filter(|id| *id >= 0);
            let last = Cursor(id.ok_or_else(|| Problem::bad_request("Last-Event-ID is not a cursor of this daemon."))?);
            // One from the future is of a store that is gone: such a reader has seen nothing of this one.
            if last > newest { Cursor(0) } else { last }
        }
    };
    let reader = Reader { app, live, sent, probes: params.probes, replay: VecDeque::new(), behind: true };
    let events = stream::unfold(reader, |mut reader| async { reader.next().await.map(|event| (Ok(event), reader)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Reader {
    app: App,
    live: Live,
    /// The newest change that was handed out, or passed over.
    sent: Cursor,
    /// Whether questions that Answerback asks itself are handed out.
    probes: bool,
    replay: VecDeque<Arc<Change>>,
    /// Whether the store may hold changes that were not handed out.
    behind: bool,
}

impl Reader {
    /// The next event; `None` ends the stream, and the reader comes back with its last id.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.behind && self.replay.is_empty() {
                let page = self.app.registry.changes_after(self.sent, REPLAY_PAGE).await.ok()?;
                self.behind = !page.is_end;
                if page.changes.is_empty() {
                    self.sent = page.through;
                    continue;
                }
                self.replay = page.changes.into();
            }
            let change = match self.replay.pop_front() {
                Some(change) => change,
                None => tokio::select! {
                    received = self.live.recv() => match received {
                        Ok(change) => change,
                        Err(RecvError::Lagged(_)) => {
                            self.behind = true;
                            continue;
                        }
                        Err(RecvError::Closed) => return None,
                    },
                    () = self.app.closing() => return None,
                },
            };
            // What was replayed may come again live.
            if change.cursor <= self.sent {
                continue;
            }
            self.sent = change.cursor;
            if self.probes || change.ask.origin != Origin::Probe {
                let event = Event::default().id(change.cursor.0.to_string()).event(change.kind.name());
                return event.json_data(EventView::from(&*change)).ok();
            }
        }
    }
}
