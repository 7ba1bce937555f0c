//! A stream with a time limit for writing. A peer that takes no bytes for too long is cut, because it occupies a place and memory. While there
//! is nothing to write, the peer may stay quiet for as long as it likes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

const PATIENCE: Duration = Duration::from_secs(10);

/// Wraps the plain stream below TLS, because only there every byte that the peer takes can be seen.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits for the peer.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, patience: PATIENCE, stalled: None }
    }

    /// Passes on the result of a write, or an error if the write has waited for too long.
    fn judge<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not take what it is sent")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // Flush and shutdown do not wait for the peer, so they need no time limit.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::timeout;

    use super::*;

    /// Two ends with a buffer of 16 bytes between them.
    fn pair(patience: Duration) -> (WriteTimeout<DuplexStream>, DuplexStream) {
        let (ours, theirs) = duplex(16);
        (WriteTimeout { patience, ..WriteTimeout::new(ours) }, theirs)
    }

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_cut() {
        let (mut ours, _theirs) = pair(Duration::from_millis(20));
        let error = ours.write_all(&[0; 17]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_peer_that_takes_a_little_now_and_then_is_not_cut() {
        let (mut ours, mut theirs) = pair(Duration::from_secs(2));
        let reader = tokio::spawn(async move {
            // In total this takes longer than the time limit, because the limit is for each pause alone.
            for _ in 0..8 {
                sleep(Duration::from_millis(300)).await;
                theirs.read_u8().await.unwrap();
            }
            theirs
        });
        ours.write_all(&[0; 24]).await.unwrap();
        reader.await.unwrap();
    }

    #[tokio::test]
    async fn a_peer_that_is_sent_nothing_may_stay_quiet() {
        let (mut ours, mut theirs) = pair(Duration::from_millis(10));
        ours.write_all(&[0; 16]).await.unwrap();
        assert!(timeout(Duration::from_millis(100), ours.read_u8()).await.is_err());
        theirs.write_u8(7).await.unwrap();
        assert_eq!(ours.read_u8().await.unwrap(), 7);
    }
}
