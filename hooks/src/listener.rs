//! Whether anybody still waits for what the hook prints.
//!
//! An agent that ends a hook sends it a signal; one that was killed cannot. What is left of it then is the other end of our standard
//! output, and the kernel closes that.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Waits until the daemon speaks or nobody listens any more. Whether somebody does.
pub(crate) fn wait(daemon: &impl AsRawFd) -> io::Result<bool> {
    poll(Some(daemon.as_raw_fd()), -1)
}

/// Whether somebody listens now.
pub(crate) fn is_there() -> bool {
    // If it cannot be known, somebody does.
    poll(None, 0).unwrap_or(true)
}

#[allow(unsafe_code)]
fn poll(daemon: Option<RawFd>, timeout: i32) -> io::Result<bool> {
    let stdout = libc::pollfd { fd: io::stdout().as_raw_fd(), events: 0, revents: 0 };
    // A negative descriptor is passed over.
    let daemon = libc::pollfd { fd: daemon.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
    let mut both = [stdout, daemon];
    loop {
        // SAFETY: the array is valid for its own length for the whole call, and the call keeps no reference to it.
        let ready = unsafe { libc::poll(both.as_mut_ptr(), both.len() as libc::nfds_t, timeout) };
        if ready >= 0 {
            return Ok(both[0].revents & (libc::POLLERR | libc::POLLHUP) == 0);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
