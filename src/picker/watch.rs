//! Notices that a question was settled elsewhere, on a thread of its own, so that the keyboard never waits.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// The pause between two calls without news.
const PAUSE: Duration = Duration::from_secs(1);

/// A thread that asks, until this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    messages: Receiver<String>,
    /// Nothing is sent. When it is dropped, the thread ends.
    _open: Sender<()>,
}

/// Asks on a thread of its own, and writes to the waker when there is a message.
pub(super) fn start(
    mut settled: impl FnMut() -> Option<String> + Send + 'static,
    mut waker: UnixStream,
) -> io::Result<Watch> {
    let (message, messages) = mpsc::channel();
    let (open, is_over) = mpsc::channel();
    thread::Builder::new().name("settled".into()).spawn(move || {
        loop {
            if let Some(text) = settled() {
                // The picker may be gone.
                drop(message.send(text));
                drop(waker.write(&[0]));
                return;
            }
            if is_over.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    })?;
    Ok(Watch { messages, _open: open })
}

impl Watch {
    /// The message, if there is one.
    pub(super) fn message(&self) -> Option<String> {
        self.messages.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_message_wakes() {
        let (mut woken, waker) = UnixStream::pair().unwrap();
        let watch = start(|| Some("answered on the page".into()), waker).unwrap();
        woken.read_exact(&mut [0]).unwrap();
        assert_eq!(watch.message().as_deref(), Some("answered on the page"));
        assert_eq!(watch.message(), None);
    }

    #[test]
    fn it_ends_with_the_picker() {
        let (mut woken, waker) = UnixStream::pair().unwrap();
        let (called, calls) = mpsc::channel();
        let watch = start(move || called.send(()).ok().and(None), waker).unwrap();
        calls.recv().unwrap();
        drop(watch);
        // The other end closes when the thread is over.
        assert_eq!(woken.read(&mut [0]).unwrap(), 0);
    }
}
