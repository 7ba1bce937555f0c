//! A connection that hyper serves, with a second handle for handlers.
//!
//! A parked call needs two things that hyper cannot do. hyper cannot send an interim reply when a handler wants one, and it no longer
//! notices that the other end hangs up as soon as that end has sent anything more. So the handler uses the connection itself.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// The interim reply that tells a hook that its question is stored and its call is parked. The key of the ask follows.
const PARKED: &str = "HTTP/1.1 102 Processing\r\nx-answerback-ask: ";

/// A connection without TLS. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum PlainStream {
    /// On the unix socket.
    Socket(Arc<UnixStream>),
    /// On loopback.
    Tcp(Arc<TcpStream>),
}

impl From<Arc<UnixStream>> for PlainStream {
    fn from(stream: Arc<UnixStream>) -> Self {
        Self::Socket(stream)
    }
}

impl From<TcpStream> for PlainStream {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(Arc::new(stream))
    }
}

/// Calls the same methods on either kind of stream. The two have no trait in common.
macro_rules! with {
    ($plain:expr, $stream:ident => $what:expr) => {
        match $plain {
            PlainStream::Socket($stream) => $what,
            PlainStream::Tcp($stream) => $what,
        }
    };
}

impl PlainStream {
    /// Tells a hook on the socket that its question is stored and that the reply may take long. This is safe only during the first request
    /// of a connection, before its reply. At that time hyper writes nothing, so the two cannot mix their bytes. A hook makes only one
    /// request on a connection.
    pub(super) async fn say_parked(&self, key: &str) {
        // Clients on TCP use HTTP libraries. These have time limits of their own and may not expect an interim reply.
        let Self::Socket(stream) = self else { return };
        let reply = format!("{PARKED}{key}\r\n\r\n");
        // If this fails, the hook is gone. `closed` notices that.
        drop(write_all(stream, reply.as_bytes()).await);
    }

    /// Returns when the other end has closed the connection, even if it has sent more before that. This throws those bytes away. So it may
    /// be used only while a request is handled whose reply closes the connection.
    pub(super) async fn closed(&self) {
        loop {
            let readable = with!(self, stream => stream.readable().await);
            // Declared after the wait, so that a parked call does not keep this buffer for hours.
            let mut surplus = [0; 512];
            let read = readable.and_then(|()| with!(self, stream => stream.try_read(&mut surplus)));
            match read {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

/// Returns when the other end has sent something: `false` if it has closed the connection instead.
pub(super) async fn is_heard(stream: &UnixStream) -> bool {
    loop {
        if stream.readable().await.is_err() {
            return false;
        }
        match stream.try_read(&mut [0]) {
            Ok(count) => return count > 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
}

/// Writes everything.
pub(super) async fn write_all(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl AsyncRead for PlainStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let read = with!(&*self, stream => {
                ready!(stream.poll_read_ready(cx))?;
                // This does not fill the buffer with zeros first. A parked connection keeps its buffer, and pages that were never written
                // cost no memory.
                stream.try_read_buf(buffer)
            });
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl AsyncWrite for PlainStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let written = with!(&*self, stream => {
                ready!(stream.poll_write_ready(cx))?;
                stream.try_write_vectored(bytes)
            });
            match written {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = with!(&*self, stream => rustix::net::shutdown(stream, rustix::net::Shutdown::Write));
        Poll::Ready(shut.map_err(Into::into))
    }
}
