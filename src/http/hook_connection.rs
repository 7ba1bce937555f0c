//! A connection on the socket, which is usually a hook's.
//!
//! A hook may wait for hours, and hyper keeps four times as much memory for a connection as everything else about a wait needs. So what a
//! hook sends (`answerback_hook::wire`) is read here. The request then goes to the router like every other one, so the guard, the limits
//! and the problems are the same. When its call is parked, all of that is dropped, and only the wait is left.
//!
//! Everything else goes to hyper. The first bytes are only looked at, so hyper finds all of them in place.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use answerback_hook::wire;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::server::graceful::Watcher;
use rustix::net::{RecvFlags, recv};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::RwLock;

use crate::api::Problem;
use crate::claude_code::ParkedCall;

use super::connections::{HEADER_TIMEOUT, Server};
use super::entrance::Peer;
use super::extract::{self, BODY_TIMEOUT};
use super::hook::{self, HookLine};
use super::plain_stream::{PlainStream, write_all};
use super::{App, guard};

/// More than the head of a hook's call ever has.
const LONGEST_HEAD: usize = 4 * 1024;

/// What all connections on the socket share.
pub(super) struct SocketServer {
    pub(super) app: App,
    pub(super) server: Server,
    /// Held for reading while the reply to a settled ask is made and sent. The daemon does not end before.
    pub(super) finishing: RwLock<()>,
}

/// Takes the parked call of a request over from its handler. The handler returns at once, and the connection waits in its place.
#[derive(Debug, Clone)]
pub(super) struct Handover {
    parked: Arc<Mutex<Option<ParkedCall>>>,
    stream: Arc<UnixStream>,
}

impl Handover {
    fn new(stream: &Arc<UnixStream>) -> Self {
        Self { parked: Arc::default(), stream: Arc::clone(stream) }
    }

    pub(super) fn give(&self, parked: ParkedCall) {
        *self.parked.lock().unwrap_or_else(PoisonError::into_inner) = Some(parked);
    }

    fn take(&self) -> Option<ParkedCall> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns when the hook has hung up. One that has sent more than its call is still there.
    pub(super) async fn hung_up(&self) {
        if matches!(peek(&self.stream, &mut [0]).await, Ok(1..)) {
            pending::<()>().await;
        }
    }
}

/// What a connection wants.
enum Wanted {
    /// Its call waits for a person.
    Parked(ParkedCall),
    /// It is not a hook, or not one of this version.
    Other,
    /// It is over.
    Nothing,
}

impl SocketServer {
    /// Serves a connection until its end. `watcher` makes the daemon wait a moment for it when it stops, unless its call is parked.
    pub(super) async fn serve(self: Arc<Self>, watcher: Watcher, peer: Peer, stream: UnixStream) {
        let stream = Arc::new(stream);
        // What runs before and after the wait is boxed, so that a parked call keeps no memory for it.
        match Box::pin(self.take(peer, &stream)).await {
            Ok(Wanted::Parked(parked)) => {
                drop(watcher);
                let waited = parked.wait(&HookLine::from(PlainStream::from(Arc::clone(&stream)))).await;
                if waited.is_lost() {
                    // A hook whose connection is lost makes the same call again.
                    return;
                }
                let finish = async {
                    let _finishing = self.finishing.read().await;
                    let finished = self.app.bridge.finish(waited).await;
                    let response = finished.map_or_else(|error| Problem::from(error).into_response(), hook::parked);
                    send(&stream, guard::complete(response)).await
                };
                drop(Box::pin(finish).await);
            }
            Ok(Wanted::Other) => {
                let plain = PlainStream::from(stream);
                Box::pin(self.server.connection(watcher, peer, Some(plain.clone()), plain)).await;
            }
            Ok(Wanted::Nothing) => {}
            Err(error) => tracing::debug!(%error, "a connection ended early"),
        }
    }

    /// Replies to calls until one is parked. A hook makes only one.
    async fn take(&self, peer: Peer, stream: &Arc<UnixStream>) -> io::Result<Wanted> {
        loop {
            let mut seen = [0; LONGEST_HEAD];
            let looked = tokio::select! {
                looked = tokio::time::timeout(HEADER_TIMEOUT, peek(stream, &mut seen)) => looked,
                () = self.app.closing() => return Ok(Wanted::Nothing),
            };
            let count = match looked {
                Ok(Ok(0)) | Err(_) => return Ok(Wanted::Nothing),
                Ok(looked) => looked?,
            };
            let Some(head) = wire::read_head(&seen[..count]) else { return Ok(Wanted::Other) };
            let Ok(body) = tokio::time::timeout(BODY_TIMEOUT, read_body(stream, &head)).await else {
                send(stream, guard::complete(extract::too_slow().into_response())).await?;
                return Ok(Wanted::Nothing);
            };
            let handover = Handover::new(stream);
            let mut request = request(&head, body?);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(handover.clone());
            let response = match self.server.router().call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            match handover.take() {
                Some(parked) => return Ok(Wanted::Parked(parked)),
                None => send(stream, response).await?,
            }
        }
    }
}

fn request(head: &wire::Head<'_>, body: Vec<u8>) -> axum::extract::Request {
    let mut request = axum::extract::Request::new(Body::from(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = axum::http::Uri::from_static(wire::PATH);
    let headers = request.headers_mut();
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_LENGTH, head.body.into());
    for (name, value) in &head.headers {
        // It is plain text, so it is a header value.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    request
}

/// The first bytes that have come, which stay where they are. None if the other end has closed.
async fn peek(stream: &UnixStream, buffer: &mut [u8]) -> io::Result<usize> {
    let look = || recv(stream, &mut *buffer, RecvFlags::PEEK).map(|(count, _)| count).map_err(io::Error::from);
    stream.async_io(Interest::READABLE, look).await
}

/// Takes the head, which is known, and the body.
async fn read_body(stream: &UnixStream, head: &wire::Head<'_>) -> io::Result<Vec<u8>> {
    let length = head.length + head.body;
    let mut bytes = vec![0; length];
    let mut count = 0;
    while count < length {
        stream.readable().await?;
        match stream.try_read(&mut bytes[count..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    bytes.drain(..head.length);
    Ok(bytes)
}

/// Sends a reply, as hyper would.
async fn send(stream: &UnixStream, response: Response) -> io::Result<()> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    let mut reply = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in parts.headers.iter().filter(|(name, _)| *name != header::CONTENT_LENGTH) {
        for bytes in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            reply.extend_from_slice(bytes);
        }
    }
    reply.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    reply.extend_from_slice(&body);
    write_all(stream, &reply).await
}
