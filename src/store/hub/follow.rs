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
            Ok(frame) => self.read(frame),
            Err(error) => {
                tracing::warn!(%error, "a frame of the hub is not understood: the hub may be newer");
                if is_change(&text) {
                    return Err(self.start_again());
                }
                // Whoever waits for this reply must not wait for ever.
                let message = "the reply of the hub cannot be read: one of the two may be older".to_owned();
                let fault = || Fault { kind: FaultKind::Unknown, message };
                Ok(number_of(&text, "done").map_or(Event::Nothing, |id| Event::Done { id, result: Err(fault()) }))
            }
        }
    }

    /// A change cannot be read, and somebody may wait for it. The next link begins with a list of the open asks, so whoever waits for one
    /// that is not there any more asks again.
    fn start_again(&mut self) -> HubError {
        self.cursor = None;
        HubError::Unreachable("a change at the hub cannot be read: one of the two may be older".to_owned())
    }

    fn read(&mut self, frame: HubFrame) -> Result<Event, HubError> {
        Ok(match frame {
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
                    return Err(self.start_again());
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
        })
    }
}

/// Whether a frame is a change, whatever is in it.
fn is_change(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<Typed>(text).is_ok_and(|typed| typed.kind == "change")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(follower: &mut Follower, text: &str) -> Result<Event, HubError> {
        follower.take(wire::Event::Frame(text.to_owned()))
    }

    #[test]
    fn after_a_change_that_cannot_be_read_the_open_asks_are_listed_again() {
        let change = r#"{"type":"change","cursor":8,"kind":"ask.settled","ask":{"id":1,"key":"s__t","new":true}}"#;
        let mut follower = Follower { cursor: Some(Cursor(7)), ..Follower::default() };
        assert!(matches!(take(&mut follower, change), Err(HubError::Unreachable(_))));
        assert_eq!(follower.cursor, None);
    }

    #[test]
    fn a_reply_that_cannot_be_read_is_a_reply() {
        let mut follower = Follower { cursor: Some(Cursor(7)), ..Follower::default() };
        let event = take(&mut follower, r#"{"type":"done","id":3,"cursor":9,"result":{"Ok":{"is":"new"}}}"#);
        assert!(matches!(event, Ok(Event::Done { id: 3, result: Err(_) })), "{event:?}");
        assert!(matches!(take(&mut follower, r#"{"type":"news"}"#), Ok(Event::Nothing)));
        assert_eq!(follower.cursor, Some(Cursor(7)));
    }
}
