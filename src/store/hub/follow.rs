//! Reads the frames of a hub, and knows how far it has got.

use jiff::Timestamp;
use serde::Deserialize;
use tokio_tungstenite::tungstenite::Message;

use crate::ask::{Ask, Change, Cursor};
use crate::store::Snapshot;

use super::connect::HubError;
use super::wire::{self, Fault, FaultKind, HubFrame, Reply, close, number_of};

impl wire::Message for Message {
    fn of(text: String) -> Self {
        Self::Text(text.into())
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.as_str()) } else { None }
    }
}

/// What a frame means.
#[derive(Debug)]
pub(super) enum Event {
    Nothing,
    /// The hub has let us in.
    Welcome {
        host: String,
        now: Timestamp,
        software: String,
    },
    Change(Change),
    /// Everything up to now is known: by changes, or by this snapshot.
    Ready(Option<Snapshot>),
    Done {
        id: u64,
        result: Result<Reply, Fault>,
    },
    /// The clock of the hub.
    Now(Timestamp),
}

#[derive(Debug, Default)]
pub(super) struct Follower {
    /// The newest change that is known. `None` as long as nothing is known.
    pub(super) cursor: Option<Cursor>,
    /// The open asks that have come, if they come now.
    collected: Option<Vec<Ask>>,
    /// Whether everything up to now is known.
    pub(super) is_ready: bool,
}

impl Follower {
    pub(super) fn take(&mut self, event: wire::Event<Message>) -> Result<Event, HubError> {
        let text = match event {
            wire::Event::Frame(text) => text,
            wire::Event::Other(Message::Close(frame)) => {
                let (code, reason) =
                    frame.as_ref().map_or((0, ""), |frame| (u16::from(frame.code), frame.reason.as_str()));
                return Err(match code {
                    close::REPLACED => HubError::Replaced,
                    close::REVOKED | close::VERSION => HubError::Refused(reason.to_owned()),
                    _ => HubError::Unreachable(format!("it has hung up: {reason}")),
                });
            }
            wire::Event::Other(_) | wire::Event::Sent => return Ok(Event::Nothing),
        };
        match serde_json::from_str(&text) {
            Ok(frame) => Ok(self.read(frame)),
            Err(error) => {
                tracing::warn!(%error, "a frame of the hub is not understood: the hub may be newer");
                self.pass_over(&text);
                // Whoever waits for this reply must not wait for ever.
                let message = "the reply of the hub cannot be read: one of the two may be older".to_owned();
                let fault = || Fault { kind: FaultKind::Unknown, message };
                Ok(number_of(&text, "done").map_or(Event::Nothing, |id| Event::Done { id, result: Err(fault()) }))
            }
        }
    }

    fn read(&mut self, frame: HubFrame) -> Event {
        match frame {
            HubFrame::Welcome { host, now, software, resumes, .. } => {
                self.is_ready = false;
                self.collected = (!resumes).then(Vec::new);
                Event::Welcome { host, now, software }
            }
            HubFrame::Open { ask } => {
                match ask.read() {
                    Ok(ask) => self.collected.get_or_insert_default().push(ask),
                    Err(error) => tracing::warn!(%error, "a question at the hub cannot be read"),
                }
                Event::Nothing
            }
            HubFrame::Ready { cursor } => {
                self.cursor = Some(Cursor(cursor));
                self.is_ready = true;
                Event::Ready(self.collected.take().map(|open| Snapshot { open, cursor: Cursor(cursor) }))
            }
            HubFrame::Change(change) => match change.read() {
                Ok(Some(change)) => {
                    self.cursor = Some(change.cursor);
                    Event::Change(change)
                }
                Ok(None) => Event::Nothing,
                Err(error) => {
                    tracing::warn!(%error, "a change at the hub cannot be read");
                    Event::Nothing
                }
            },
            HubFrame::Done { id, result, .. } => Event::Done { id, result },
            HubFrame::Beat { cursor, now } => {
                if self.is_ready {
                    self.cursor = Some(Cursor(cursor));
                }
                Event::Now(now)
            }
            HubFrame::Unknown => Event::Nothing,
        }
    }

    /// A change that this version cannot read must not come again with every link.
    fn pass_over(&mut self, text: &str) {
        #[derive(Deserialize)]
        struct Passed {
            cursor: i64,
        }
        if let Ok(Passed { cursor }) = serde_json::from_str(text)
            && self.cursor.is_some_and(|known| known.0 < cursor)
        {
            self.cursor = Some(Cursor(cursor));
        }
    }
}
