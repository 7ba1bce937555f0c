//! Making others wait a moment before they open a file.

use std::fs::File;

/// For as long as it lives, whoever opens the file waits. Not every system and file system can do that; without it nobody
/// waits, and nothing else is different.
#[derive(Debug)]
pub(super) struct Lease<'f> {
    file: &'f File,
}

impl<'f> Lease<'f> {
    /// Takes a lease on a file that nobody else has open.
    pub(super) fn take(file: &'f File) -> Option<Self> {
        system::take(file).then_some(Self { file })
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        system::release(self.file);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    pub(super) fn take(file: &File) -> bool {
        // By default the kernel signals us when somebody waits, and that signal would end us. Turn it off.
        fcntl(file, libc::F_SETLEASE, libc::F_WRLCK) && (fcntl(file, libc::F_SETOWN, 0) || !release(file))
    }

    pub(super) fn release(file: &File) -> bool {
        fcntl(file, libc::F_SETLEASE, libc::F_UNLCK)
    }

    #[allow(unsafe_code)]
    fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> bool {
        // SAFETY: the descriptor is open, and neither command takes a pointer.
        unsafe { libc::fcntl(file.as_raw_fd(), command, argument) != -1 }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;

    pub(super) fn take(_: &File) -> bool {
        false
    }

    pub(super) fn release(_: &File) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::OpenOptions;
    use std::io::ErrorKind;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    #[test]
    fn others_would_have_to_wait() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let Some(lease) = Lease::take(file.as_file()) else {
            eprintln!("skipped: the file system of {} has no leases", file.path().display());
            return;
        };
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file.path());
        assert_eq!(open().unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(lease);
        open().unwrap();
    }
}
