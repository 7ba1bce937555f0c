//! Waiting for the daemon: until a deadline, or for as long as anybody reads what the hook prints.
//!
//! An agent that ends a hook sends it a signal. An agent that was killed cannot, but the kernel closes its end of our standard output.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The daemon can be read from or written to, or is gone.
    Daemon,
    /// Nobody reads our standard output any more.
    NobodyReads,
    /// The deadline has passed.
    TimedOut,
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// `None`: as long as it takes, but only while somebody reads our standard output.
    deadline: Option<Instant>,
}

impl Wait {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline) }
    }

    pub(crate) fn while_somebody_reads_stdout() -> Self {
        Self { deadline: None }
    }

    /// Waits until there is something to read.
    pub(crate) fn readable(&self, daemon: &UnixStream) -> io::Result<Ready> {
        self.poll(daemon, libc::POLLIN)
    }

    /// Waits until there is room to write.
    pub(crate) fn writable(&self, daemon: &UnixStream) -> io::Result<Ready> {
        self.poll(daemon, libc::POLLOUT)
    }

    fn poll(&self, daemon: &UnixStream, events: libc::c_short) -> io::Result<Ready> {
        let mut stdout = self.deadline.is_none().then(|| io::stdout().as_raw_fd());
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = match left {
                // On a busy machine, this process may not have run since the daemon has replied. So it looks once more.
                Some(Duration::ZERO) => 0,
                // Rounded up: a wait of less than a millisecond must not become a busy loop.
                Some(left) => i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX),
                None => -1,
            };
            let [daemon_events, stdout_events] = poll([(Some(daemon.as_raw_fd()), events), (stdout, 0)], timeout)?;
            if stdout_events & (libc::POLLERR | libc::POLLHUP) != 0 {
                return Ok(Ready::NobodyReads);
            }
            if daemon_events != 0 {
                return Ok(Ready::Daemon);
            }
            if timeout == 0 {
                return Ok(Ready::TimedOut);
            }
            // Some systems cannot poll every kind of file. Then only the daemon is waited for.
            if stdout_events & libc::POLLNVAL != 0 {
                stdout = None;
            }
        }
    }
}

/// Whether anybody reads our standard output now. If that cannot be known, somebody does.
pub(crate) fn is_stdout_read() -> bool {
    let stdout = (Some(io::stdout().as_raw_fd()), 0);
    poll([stdout, (None, 0)], 0).map_or(true, |[stdout, _]| stdout & (libc::POLLERR | libc::POLLHUP) == 0)
}

/// What happened to each of two descriptors. `None` is passed over.
#[allow(unsafe_code)]
fn poll(descriptors: [(Option<RawFd>, libc::c_short); 2], timeout: i32) -> io::Result<[libc::c_short; 2]> {
    // The kernel ignores a negative descriptor.
    let mut polled = descriptors.map(|(fd, events)| libc::pollfd { fd: fd.unwrap_or(-1), events, revents: 0 });
    // SAFETY: the array is valid for its own length for the whole call, and the call keeps no reference to it.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
    if ready >= 0 {
        return Ok(polled.map(|polled| polled.revents));
    }
    let error = io::Error::last_os_error();
    // An interrupted wait is a wait that ended early: the caller looks again.
    if error.kind() == io::ErrorKind::Interrupted { Ok([0, 0]) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_came_before_the_deadline_counts_after_it() {
        let (ours, mut daemon) = UnixStream::pair().unwrap();
        let wait = Wait::until(Instant::now());
        assert_eq!(wait.readable(&ours).unwrap(), Ready::TimedOut);
        daemon.write_all(b"x").unwrap();
        assert_eq!(wait.readable(&ours).unwrap(), Ready::Daemon);
    }
}
