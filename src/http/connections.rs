//! Accepts connections on the unix socket, on loopback TCP and, with TLS, from the network. One loop and one router serve all of them, with
//! the same limits.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{RwLock, mpsc, watch};
use tokio_rustls::TlsAcceptor;

use super::App;
use super::entrance::Peer;
use super::hook_connection::SocketServer;
use super::lan::{Lan, handshake};
use super::places::{Place, PlaceHandle, Places};
use super::plain_stream::PlainStream;
use super::refusals::{Exchange, Refusals};
use super::routes::router;
use super::write_timeout::WriteTimeout;

/// How long the head of a request may take to arrive. After that, the connection is cut.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const MAX_HEADERS: usize = 64;
/// The maximum length of a request line and its headers. A connection can make us hold this much before it has shown a token.
pub(super) const MAX_HEAD: usize = 32 * 1024;
/// How long running requests may take when the daemon stops. Parked calls take longer. They are cut, and their hooks come back.
const DRAIN: Duration = Duration::from_millis(300);
/// How long the replies to settled asks may take when the daemon goes down.
const FINISH: Duration = Duration::from_secs(2);
/// The pause after a failed accept. Usually there are no file descriptors left, and some become free during the pause.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How much the kernel may buffer for a peer that does not read. The kernel doubles this number. Without it, each such peer could cost
/// megabytes.
const SEND_BUFFER: usize = 128 * 1024;

/// One address of the network gets at most a quarter of the places for strangers. On loopback, all strangers have the same address.
const PART_OF_ONE: usize = 4;

/// Where requests come from.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// For hooks and commands.
    pub(crate) socket: UnixListener,
    /// Replaces `socket` after its file was removed and created again.
    pub(crate) new_sockets: mpsc::Receiver<UnixListener>,
    /// For the page and for programs on this machine.
    pub(crate) tcp: TcpListener,
    /// For the local network, if it is configured.
    pub(crate) lan: Option<Lan>,
}

/// Serves until the daemon goes down. Then it gives running requests a moment to finish.
pub(crate) async fn serve(mut listeners: Listeners, app: App) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    // `max_buf_size` alone lets a longer head pass if hyper reads its end together with its beginning.
    http.max_header_size(MAX_HEAD).max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS);
    let (shares, mut closing) = (app.shares, app.closing.clone());
    let server = Server { http, router: router(app.clone()), place_handle: None, closing: closing.clone() };
    let socket_server = Arc::new(SocketServer { app, server: server.clone(), finishing: RwLock::default() });
    let graceful = GracefulShutdown::new();
    // Each listener has its own places, so that a crowd on the network cannot shut out programs on this machine.
    let tcp_places = Places::new("loopback", shares.tcp, 1);
    let lan_places = Places::new("network", shares.lan, PART_OF_ONE);
    loop {
        let accepted = tokio::select! {
            accepted = listeners.socket.accept() => accepted.map(|(stream, _)| {
                if let Some(peer) = own_program(&stream) {
                    tokio::spawn(Arc::clone(&socket_server).serve(graceful.watcher(), peer, stream));
                }
            }),
            accepted = accept_tcp(&listeners.tcp) => accepted.map(|(stream, local, remote)| {
                let place = tcp_places.enter(remote.ip());
                let (peer, plain) = (Peer::Tcp { local, remote }, PlainStream::from(stream));
                let stream = WriteTimeout::new(plain.clone());
                let connection = server.at(&place).connection(graceful.watcher(), peer, Some(plain), stream);
                tokio::spawn(in_place(place, connection));
            }),
            accepted = accept_lan(listeners.lan.as_ref()) => accepted.map(|(stream, remote, tls)| {
                let place = lan_places.enter(remote.ip());
                let connection = server.at(&place).tls_connection(graceful.watcher(), stream, remote, tls);
                tokio::spawn(in_place(place, connection));
            }),
            Some(socket) = listeners.new_sockets.recv() => {
                listeners.socket = socket;
                continue;
            }
            _ = closing.wait_for(|closing| *closing) => break,
        };
        if let Err(error) = accepted {
            tracing::warn!(%error, "a connection was not accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
    drop(listeners);
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
    // A hook that does not get its outcome starts another daemon to ask for it.
    drop(tokio::time::timeout(FINISH, socket_server.finishing.write()).await);
}

async fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr, SocketAddr)> {
    let (stream, remote) = listener.accept().await?;
    send_at_once(&stream);
    Ok((stream, listener.local_addr()?, remote))
}

async fn accept_lan(lan: Option<&Lan>) -> io::Result<(TcpStream, SocketAddr, TlsAcceptor)> {
    let Some(lan) = lan else { return std::future::pending().await };
    let (stream, remote, acceptor) = lan.accept().await?;
    send_at_once(&stream);
    Ok((stream, remote, acceptor))
}

/// Limits the send buffer of every later connection to this listener. Must be called before anybody knows the port, because it does not
/// change existing connections.
pub(crate) fn bound_send_buffer(listener: &TcpListener) {
    if let Err(error) = rustix::net::sockopt::set_socket_send_buffer_size(listener, SEND_BUFFER) {
        tracing::warn!(%error, "the send buffers of connections have no limit");
    }
}

/// Turns off Nagle's algorithm, because replies are small and somebody waits for them.
fn send_at_once(stream: &TcpStream) {
    drop(stream.set_nodelay(true));
}

/// Runs a connection until another one needs its place.
async fn in_place(mut place: Place, connection: impl Future<Output = ()>) {
    tokio::select! {
        () = connection => {}
        () = place.lost() => {}
    }
}

/// Ties what goes on after an upgrade to its connection. The connection keeps its place until the last tether is dropped, and when it
/// loses its place, the tether is cut.
#[derive(Debug, Clone)]
pub(super) struct Tether {
    held: watch::Receiver<()>,
    exchange: Exchange,
}

impl Tether {
    /// Returns when the connection has lost its place. Safe to cancel.
    pub(super) async fn cut(&mut self) {
        while self.held.changed().await.is_ok() {}
    }

    /// The other end is known, so it may send as much as it likes.
    pub(super) fn trust(&self) {
        self.exchange.trust();
    }
}

/// Serves one connection. All connections are served alike.
#[derive(Clone)]
pub(super) struct Server {
    http: http1::Builder,
    router: Router,
    /// `None` on the unix socket, which has no places.
    place_handle: Option<PlaceHandle>,
    /// A connection that is idle ends when this is true, and any other with its reply.
    closing: watch::Receiver<bool>,
}

impl Server {
    fn at(&self, place: &Place) -> Self {
        Self { place_handle: Some(place.place_handle()), ..self.clone() }
    }

    /// The routes.
    pub(super) fn router(&self) -> TowerToHyperService<Router> {
        TowerToHyperService::new(self.router.clone())
    }

    /// `plain` is a second handle to the stream, for handlers. There is none with TLS. `watcher` makes the daemon wait a moment for the
    /// connection when it stops.
    pub(super) fn connection<S>(
        &self,
        watcher: Watcher,
        peer: Peer,
        plain: Option<PlainStream>,
        stream: S,
    ) -> impl Future<Output = ()> + use<S>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router();
        let place_handle = self.place_handle.clone();
        let exchange = Exchange::default();
        let refusals = Refusals::new(stream, exchange.clone());
        let (hold, held) = watch::channel(());
        let tether = Tether { held, exchange: exchange.clone() };
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let answering = exchange.begin();
            request.extensions_mut().insert(peer);
            if let Some(plain) = plain.clone() {
                request.extensions_mut().insert(plain);
            }
            if let Some(place_handle) = place_handle.clone() {
                request.extensions_mut().insert(place_handle);
            }
            if request.headers().contains_key(header::UPGRADE) {
                request.extensions_mut().insert(tether.clone());
            }
            let (reply, exchange) = (router.call(request), exchange.clone());
            async move {
                let reply = reply.await?;
                if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
                    exchange.upgrade();
                }
                Ok::<_, Infallible>(reply.map(|body| answering.until_sent(body)))
            }
        });
        let connection = self.http.serve_connection(TokioIo::new(refusals), service).with_upgrades();
        let mut closing = self.closing.clone();
        async move {
            // The block drops the connection, and with it the tether that its service has.
            let ended = {
                let mut connection = pin!(connection);
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = async { drop(closing.wait_for(|closing| *closing).await) } => {
                        connection.as_mut().graceful_shutdown();
                        connection.as_mut().await
                    }
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
            hold.closed().await;
            drop(watcher);
        }
    }

    async fn tls_connection(self, watcher: Watcher, stream: TcpStream, remote: SocketAddr, tls: TlsAcceptor) {
        let shaken = match stream.local_addr() {
            Ok(local) => handshake(stream, tls).await.map(|stream| (local, stream)),
            Err(error) => Err(error),
        };
        match shaken {
            Ok((local, stream)) => self.connection(watcher, Peer::Lan { local, remote }, None, stream).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        }
    }
}

/// Asks the kernel who is at the other end. `None` if it is another user.
fn own_program(stream: &UnixStream) -> Option<Peer> {
    let own = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own => Some(Peer::Socket { process: peer.pid() }),
        peer => {
            tracing::warn!(?peer, "another user was turned away from the socket");
            None
        }
    }
}
