//! Connections on the unix socket and on loopback TCP: one loop, one router, the same limits.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::guard::Peer;

/// A request's header is there by then, or the connection is cut.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 64;
/// How long requests under way may take when the daemon goes down. Parked ones take longer by nature: they are cut, and
/// their hooks come back.
const DRAIN: Duration = Duration::from_millis(300);
/// Out of file descriptors: some come back while we wait.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be over TCP, where anybody can make them. Far from the limit of open files, so that a hook
/// always gets through to the socket.
const MAX_TCP: usize = 2048;

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
    let tcp_places = Arc::new(Semaphore::new(tcp_places()));
    loop {
        let accepted = tokio::select! {
            accepted = listeners.socket.accept() => accepted.map(|(stream, _)| {
                if is_own_user(&stream) {
                    connect(&http, &graceful, &router, Peer::Socket, stream, None);
                }
            }),
            accepted = accept_tcp(&listeners.tcp, &tcp_places) => accepted.map(|(stream, place)| {
                // Replies are small and awaited.
                drop(stream.set_nodelay(true));
                connect(&http, &graceful, &router, Peer::Tcp, stream, place);
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

/// Who finds no place waits in the kernel's queue.
async fn accept_tcp(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, Option<OwnedSemaphorePermit>)> {
    let place = Arc::clone(places).acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

fn tcp_places() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    files.map_or(MAX_TCP, |files| MAX_TCP.min(usize::try_from(files / 4).unwrap_or(MAX_TCP)).max(1))
}

fn connect<S>(
    http: &http1::Builder,
    graceful: &GracefulShutdown,
    router: &Router,
    peer: Peer,
    stream: S,
    place: Option<OwnedSemaphorePermit>,
) where
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
        drop(place);
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
