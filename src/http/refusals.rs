//! hyper refuses what it cannot parse with a bare reply of its own, and offers no way to change it. Such a reply is noticed here,
//! because no request is being answered when it is written. It is completed with the headers that every reply has, and with a problem as
//! its body. Only a peer that sends requests ahead and does not read the replies may still get the bare one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::api::Problem;

use super::connections::{MAX_HEAD, MAX_HEADERS};
use super::guard::ALWAYS;
use super::linger::Linger;

const IDLE: u8 = 0;
const ANSWERING: u8 = 1;
const ANSWERED: u8 = 2;
/// The connection speaks another protocol now.
const UPGRADED: u8 = 3;

/// Whether a request is being answered: from when it comes in until its reply has been handed on.
#[derive(Debug, Clone, Default)]
pub(super) struct Exchange(Arc<AtomicU8>);

impl Exchange {
    /// A request has come in.
    pub(super) fn begin(&self) -> Answering {
        self.0.store(ANSWERING, Ordering::Relaxed);
        Answering(self.clone())
    }

    /// From now on, nothing that is written is a reply.
    pub(super) fn upgrade(&self) {
        self.0.store(UPGRADED, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == IDLE
    }

    fn flushed(&self) {
        // While it is being answered there is more to come.
        let _ = self.0.compare_exchange(ANSWERED, IDLE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Lives until the last of the reply is written.
#[derive(Debug)]
pub(super) struct Answering(Exchange);

impl Answering {
    /// The body, with this beside it.
    pub(super) fn until_sent(self, body: Body) -> Answer {
        Answer { body, _answering: self }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.0.0.compare_exchange(ANSWERING, ANSWERED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The body of a reply of ours.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _answering: Answering,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The stream of one connection, as hyper gets it.
#[derive(Debug)]
pub(super) struct Refusals<S> {
    stream: S,
    exchange: Exchange,
    refusal: Option<Refusal>,
}

/// What is sent instead of hyper's own reply. It is always the last.
#[derive(Debug)]
struct Refusal {
    unsent: Bytes,
    linger: Linger,
}

impl<S> Refusals<S> {
    pub(super) fn new(stream: S, exchange: Exchange) -> Self {
        Self { stream, exchange, refusal: None }
    }

    /// Whether hyper's own reply begins here, or goes on.
    fn is_refusal(&mut self, bytes: &[IoSlice<'_>]) -> bool {
        if self.refusal.is_none() && self.exchange.is_idle() {
            let bare: Vec<u8> = bytes.iter().flat_map(|bytes| bytes.iter().copied()).collect();
            self.refusal = Some(Refusal { unsent: completed(&bare), linger: Linger::default() });
        }
        self.refusal.is_some()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Refusals<S> {
    fn poll_refuse(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(refusal) = &mut self.refusal else { return Poll::Ready(Ok(())) };
        while !refusal.unsent.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &refusal.unsent))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            drop(refusal.unsent.split_to(written));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.refusal {
            Some(refusal) => refusal.linger.poll(&mut self.stream, cx),
            None => Poll::Ready(()),
        }
    }
}

/// hyper's reply with what it lacks.
fn completed(bare: &[u8]) -> Bytes {
    let bare = String::from_utf8_lossy(bare);
    let status = bare.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(StatusCode::BAD_REQUEST);
    let problem = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Problem::new(
            status,
            "header-too-large",
            format!("The header is over {} KiB, or has more than {MAX_HEADERS} fields.", MAX_HEAD / 1024),
        )
        .hint("Send fewer or shorter header fields."),
        status => Problem::new(status, "bad-request", "This is not a valid HTTP/1.1 request."),
    };
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let head = bare.split("\r\n").filter(|line| !line.is_empty() && !line.starts_with("content-length:"));
    reply(head.flat_map(|line| [line, "\r\n"]).collect(), "application/problem+json", &body)
}

/// A whole reply, for where there is no hyper to write it: what every reply carries is added to these lines.
pub(super) fn reply(head: String, content_type: &str, body: &str) -> Bytes {
    let mut reply = head;
    for (name, value) in ALWAYS {
        reply.extend([name.as_str(), ": ", value, "\r\n"]);
    }
    reply.push_str(&format!("content-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    reply.into()
}

impl<S: AsyncRead + Unpin> AsyncRead for Refusals<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Refusals<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_refusal(&[IoSlice::new(bytes)]) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_refusal(bytes) {
            return Poll::Ready(Ok(bytes.iter().map(|bytes| bytes.len()).sum()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refuse(cx))?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.exchange.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refuse(cx))?;
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        self.poll_linger(cx).map(Ok)
    }
}
