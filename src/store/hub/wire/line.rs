//! One end of a link. It sends and hears at the same time, and sends a long frame in pieces.
//!
//! A frame can be large and the way slow. If it went as one message, nothing else could be said or heard for as long as it takes, and the
//! other end would take that for silence. So each message is short, and each is a sign of life. A short frame goes between the pieces of
//! a long one. Whoever needs an order waits until the line is idle before the next frame.

use std::collections::VecDeque;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Sink, Stream};
use tokio::time::Instant;

use super::{MAX_FRAME, SILENCE};

/// The longest message. Even a way of two kilobytes per second takes one in much less time than a link may be silent.
pub const MAX_MESSAGE: usize = 16 * 1024;
/// The first byte of a piece: the last one, or one that others follow. A whole frame begins with a brace.
const LAST: char = '.';
const MORE: char = '+';

/// A message of a WebSocket, whichever library it is of.
pub trait Message {
    fn of(text: String) -> Self;
    fn text(&self) -> Option<&str>;
}

/// What has happened on a line.
#[derive(Debug)]
pub enum Event<M> {
    /// A whole frame was heard.
    Frame(String),
    /// A message was heard that is no text.
    Other(M),
    /// There is room for another frame.
    Sent,
}

/// Why a line is of no use any more.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("it has hung up")]
    Ended,
    #[error("{0}")]
    Failed(String),
    #[error("a frame is too long")]
    TooLong,
}

#[derive(Debug)]
pub struct Line<S> {
    socket: S,
    outgoing: Outgoing,
    /// Whether something was sent that may still be in a buffer.
    is_unflushed: bool,
    /// The pieces of a long frame that have come.
    incoming: String,
    heard_at: Instant,
    /// When the other end last took something, or when there was something to take.
    moved_at: Instant,
}

impl<S> Line<S> {
    pub fn new(socket: S) -> Self {
        let now = Instant::now();
        let outgoing = Outgoing::default();
        Self { socket, outgoing, is_unflushed: false, incoming: String::new(), heard_at: now, moved_at: now }
    }

    pub fn into_socket(self) -> S {
        self.socket
    }

    /// Sends a frame as soon as possible.
    pub fn queue(&mut self, frame: String) {
        if self.is_idle() {
            self.moved_at = Instant::now();
        }
        self.outgoing.push(frame);
    }

    /// Whether everything was sent.
    pub fn is_idle(&self) -> bool {
        self.outgoing.is_empty() && !self.is_unflushed
    }

    /// Whether a short frame would be the next one to be sent.
    pub fn has_room(&self) -> bool {
        self.outgoing.short.is_empty()
    }

    /// Whether a long frame is being sent. Another one would have to wait.
    pub fn is_at_long_frame(&self) -> bool {
        !self.outgoing.long.is_empty()
    }

    /// Whether the other end has given no sign, or taken nothing, for too long.
    pub fn is_silent(&self) -> bool {
        self.heard_at.elapsed() > SILENCE || (!self.is_idle() && self.moved_at.elapsed() > SILENCE)
    }

    /// Sends and hears until something has happened. `hears`: whether to hear at all. Safe to cancel.
    pub async fn next<M, E>(&mut self, hears: bool) -> Result<Event<M>, LineError>
    where
        S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
        M: Message,
        E: Display,
    {
        poll_fn(|cx| self.poll_next(cx, hears)).await
    }

    fn poll_next<M, E>(&mut self, cx: &mut Context<'_>, hears: bool) -> Poll<Result<Event<M>, LineError>>
    where
        S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
        M: Message,
        E: Display,
    {
        let failed = |error: E| LineError::Failed(error.to_string());
        if !hears {
            // Whoever is not listened to is not silent.
            self.heard_at = Instant::now();
        }
        loop {
            let mut has_moved = false;
            if !self.outgoing.is_empty() {
                if Pin::new(&mut self.socket).poll_ready(cx).map_err(failed)?.is_ready()
                    && let Some(message) = self.outgoing.pop()
                {
                    Pin::new(&mut self.socket).start_send(M::of(message)).map_err(failed)?;
                    (has_moved, self.is_unflushed, self.moved_at) = (true, true, Instant::now());
                    if self.has_room() && !self.outgoing.is_at_piece {
                        return Poll::Ready(Ok(Event::Sent));
                    }
                }
            } else if self.is_unflushed && Pin::new(&mut self.socket).poll_flush(cx).map_err(failed)?.is_ready() {
                (self.is_unflushed, self.moved_at) = (false, Instant::now());
                return Poll::Ready(Ok(Event::Sent));
            }
            if hears && let Poll::Ready(heard) = Pin::new(&mut self.socket).poll_next(cx) {
                let message = heard.ok_or(LineError::Ended)?.map_err(failed)?;
                self.heard_at = Instant::now();
                let Some(text) = message.text() else { return Poll::Ready(Ok(Event::Other(message))) };
                if let Some(frame) = join(&mut self.incoming, text)? {
                    return Poll::Ready(Ok(Event::Frame(frame)));
                }
                has_moved = true;
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
    }
}

/// The whole frame, if this message completes one.
fn join(incoming: &mut String, message: &str) -> Result<Option<String>, LineError> {
    let (piece, is_last) = match (message.strip_prefix(LAST), message.strip_prefix(MORE)) {
        (Some(piece), _) => (piece, true),
        (None, Some(piece)) => (piece, false),
        (None, None) => return Ok(Some(message.to_owned())),
    };
    if incoming.len() + piece.len() > MAX_FRAME {
        return Err(LineError::TooLong);
    }
    incoming.push_str(piece);
    Ok(is_last.then(|| std::mem::take(incoming)))
}

/// What is to be sent. Short frames and the pieces of long ones take turns.
#[derive(Debug, Default)]
struct Outgoing {
    short: VecDeque<String>,
    long: VecDeque<String>,
    /// How much of the first long frame was sent.
    sent: usize,
    /// Whether the last message was a piece, and not the last one of its frame.
    is_at_piece: bool,
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }

    fn push(&mut self, frame: String) {
        if frame.len() <= MAX_MESSAGE { self.short.push_back(frame) } else { self.long.push_back(frame) }
    }

    fn pop(&mut self) -> Option<String> {
        if (self.is_at_piece || self.long.is_empty())
            && let Some(frame) = self.short.pop_front()
        {
            self.is_at_piece = false;
            return Some(frame);
        }
        let frame = self.long.front()?;
        let end = frame.floor_char_boundary(self.sent + MAX_MESSAGE - MORE.len_utf8());
        self.is_at_piece = end < frame.len();
        let mut message = String::with_capacity(MAX_MESSAGE);
        message.push(if self.is_at_piece { MORE } else { LAST });
        message.push_str(&frame[self.sent..end]);
        if self.is_at_piece {
            self.sent = end;
        } else {
            self.long.pop_front();
            self.sent = 0;
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests;
