//! Our input, and the moment at which it ends.
//!
//! The library first gives all calls five seconds to finish. Ours wait for a person, so they must learn it at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// An input that tells everybody about its end.
pub(super) struct Input<R> {
    input: R,
    ended: watch::Sender<bool>,
}

impl<R> Input<R> {
    pub(super) fn new(input: R, ended: watch::Sender<bool>) -> Self {
        Self { input, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.ended.send_replace(true);
        }
        Poll::Ready(read)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn the_end_is_told_and_not_before() {
        let (ended, end) = watch::channel(false);
        let mut input = Input::new(&b"ab"[..], ended);
        let mut byte = [0];
        for expected in *b"ab" {
            input.read_exact(&mut byte).await.unwrap();
            assert_eq!((byte[0], *end.borrow()), (expected, false));
        }
        assert_eq!(input.read(&mut byte).await.unwrap(), 0);
        assert!(*end.borrow());
    }
}
