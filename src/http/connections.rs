//! Connections on the unix socket and on loopback TCP: one loop, one router, the same limits.

use std::io;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;

use super::guard::Peer;

/// A request's header is there by then, or the connection is cut.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 64;
/// How long requests under way may take when the daemon goes down. Parked ones take longer by nature: they are cut, and
/// their hooks come back.
const DRAIN: Duration = Duration::from_millis(300);
/// Out of file descriptors: some come back while we wait.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where requests come from.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// For hooks and commands.
    pub(crate) socket: UnixListener,
    /// For everything else.
    pub(crate) tcp: TcpListener,
}

/// Serves until `closing` says true, and lets requests under way finish.
pub(crate) async fn serve(listeners: Listeners, router: Router, mut closing: watch::Receiver<bool>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_headers(MAX_HEADERS);
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listeners.socket.accept() => accepted.map(|(stream, _)| {
                if is_own_user(&stream) {
                    connect(&http, &graceful, &router, Peer::Socket, stream);
                }
            }),
            accepted = listeners.tcp.accept() => accepted.map(|(stream, _)| {
                // Replies are small and awaited.
                drop(stream.set_nodelay(true));
                connect(&http, &graceful, &router, Peer::Tcp, stream);
            }),
            _ = closing.wait_for(|closing| *closing) => break,
        };
        if let Err(error) = accepted {
            tracing::warn!(%error, "a connection was not accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
    drop(listeners);
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
}

fn connect<S>(http: &http1::Builder, graceful: &GracefulShutdown, router: &Router, peer: Peer, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.call(request)
    });
    let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}

/// The kernel says who is at the other end.
fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let peer: io::Result<_> = stream.peer_cred();
    let is_own = peer.as_ref().is_ok_and(|peer| peer.uid() == own);
    if !is_own {
        tracing::warn!(?peer, "another user was turned away from the socket");
    }
    is_own
}
