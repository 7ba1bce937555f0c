//! TLS for the local network. There is no other way to listen on anything but loopback.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use super::connections::bound_send_buffer;
use super::linger::linger;
use super::refusals::reply;
use super::write_timeout::WriteTimeout;

/// From the first byte to the last of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of every TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;
/// For people who type http instead of https.
const PLAIN: &str = "This port speaks https: begin with https://.\n";

/// A listener that speaks TLS and nothing else.
pub(crate) struct Lan {
    listener: TcpListener,
    /// The newest certificate.
    tls: watch::Receiver<Arc<ServerConfig>>,
}

impl std::fmt::Debug for Lan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lan").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl Lan {
    pub(crate) fn new(listener: TcpListener, tls: watch::Receiver<Arc<ServerConfig>>) -> Self {
        bound_send_buffer(&listener);
        Self { listener, tls }
    }

    /// The next connection, which has said nothing yet.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr, TlsAcceptor)> {
        let (stream, remote) = self.listener.accept().await?;
        let tls = Arc::clone(&self.tls.borrow());
        Ok((stream, remote, tls.into()))
    }
}

/// Speaks TLS with whoever is there, or not at all.
pub(super) async fn handshake(
    mut stream: TcpStream,
    acceptor: TlsAcceptor,
) -> io::Result<TlsStream<WriteTimeout<TcpStream>>> {
    let shaken = async {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first[0] != TLS_HANDSHAKE {
            let head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n".to_owned();
            stream.write_all(&reply(head, "text/plain", PLAIN)).await?;
            // If the other end is gone already, there is nothing to linger for.
            drop(stream.shutdown().await);
            linger(stream).await;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no TLS"));
        }
        acceptor.accept(WriteTimeout::new(stream)).await
    };
    tokio::time::timeout(HANDSHAKE_TIMEOUT, shaken).await?
}
