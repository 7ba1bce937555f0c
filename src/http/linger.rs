//! Lingering: after the last reply on a connection, the rest of what the peer sends is read and thrown away.
//!
//! A socket that is closed with unread bytes resets the connection, and the peer may lose the reply that was already on its way.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a peer that stops sending is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How much is read at most.
const MAX_BYTES: usize = 1024 * 1024;

/// How far the lingering on one connection has come.
#[derive(Debug, Default)]
pub(super) struct Linger {
    read: usize,
    patience: Option<Pin<Box<Sleep>>>,
}

impl Linger {
    /// Ready when the peer has closed its end, or has sent too much, or took too long.
    pub(super) fn poll(&mut self, mut stream: impl AsyncRead + Unpin, cx: &mut Context<'_>) -> Poll<()> {
        let mut rest = [0; 4096];
        while self.read < MAX_BYTES {
            let mut rest = ReadBuf::new(&mut rest);
            match Pin::new(&mut stream).poll_read(cx, &mut rest) {
                Poll::Ready(Ok(())) if !rest.filled().is_empty() => self.read += rest.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    return self.patience.get_or_insert_with(|| Box::pin(sleep(PATIENCE))).as_mut().poll(cx);
                }
            }
        }
        Poll::Ready(())
    }
}

/// Lingers on a connection whose sending side is shut down.
pub(super) async fn linger(mut stream: impl AsyncRead + Unpin) {
    let mut linger = Linger::default();
    poll_fn(|cx| linger.poll(&mut stream, cx)).await;
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn everything_is_read_until_the_peer_closes() {
        let (mut peer, stream) = duplex(64);
        let sending = tokio::spawn(async move { peer.write_all(&[0; 10_000]).await });
        linger(stream).await;
        assert!(sending.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_silent_peer_is_waited_for_but_not_for_ever() {
        let (_peer, stream) = duplex(64);
        let begin = Instant::now();
        linger(stream).await;
        assert!(begin.elapsed() >= PATIENCE);
    }

    #[tokio::test]
    async fn an_endless_peer_is_cut() {
        linger(tokio::io::repeat(0)).await;
    }
}
