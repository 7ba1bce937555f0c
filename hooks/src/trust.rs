//! Whether what is on disk and at the other end of the socket is our own user's.
//!
//! The files of an instance lead to the daemon, and the daemon decides what the agent is told. A directory or a socket of another user
//! must not be taken for ours.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::hint::Hint;

/// Why a file or a directory is not trusted.
#[derive(Debug)]
pub enum TrustError {
    /// It is a link, and may lead anywhere.
    Link(PathBuf),
    /// It belongs to another user.
    Foreign(PathBuf),
    /// Other users can use it.
    Shared {
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It cannot be looked at.
    Io(PathBuf, io::Error),
}

impl TrustError {
    /// Whether it is not there at all.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io(_, error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(path) => write!(f, "{} is a symbolic link", path.display()),
            Self::Foreign(path) => write!(f, "{} belongs to another user", path.display()),
            Self::Shared { path, mode } => {
                write!(f, "{} can be used by other users (mode {mode:o})", path.display())
            }
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for TrustError {}

impl Hint for TrustError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Link(path) => format!("Put a real file or directory in place of the link {}.", path.display()),
            Self::Foreign(path) => format!("Remove {}, or change its owner with chown.", path.display()),
            Self::Shared { path, .. } => format!("Run: chmod go-rwx {}", path.display()),
            Self::Io(..) => "Look at the owner and the mode of it and of its directory.".to_owned(),
        })
    }
}

/// Refuses a file or a directory that belongs to another user, that others can use, or that is a link to somewhere else.
pub fn check_private(path: &Path) -> Result<(), TrustError> {
    let metadata = fs::symlink_metadata(path).map_err(|error| TrustError::Io(path.to_path_buf(), error))?;
    if metadata.file_type().is_symlink() {
        return Err(TrustError::Link(path.to_path_buf()));
    }
    if metadata.uid() != own_uid() {
        return Err(TrustError::Foreign(path.to_path_buf()));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(TrustError::Shared { path: path.to_path_buf(), mode: metadata.mode() & 0o777 });
    }
    Ok(())
}

/// Whether the process at the other end runs as our own user. The kernel knows who it was that began to listen.
pub(crate) fn is_own_user(stream: &UnixStream) -> io::Result<bool> {
    Ok(peer(stream)?.uid == own_uid())
}

/// The process at the other end: the one that began to listen. `None` where the kernel does not tell.
pub fn peer_pid(stream: &UnixStream) -> io::Result<Option<i32>> {
    Ok(peer(stream)?.pid)
}

/// What the kernel knows of the other end.
struct Peer {
    uid: u32,
    pid: Option<i32>,
}

#[allow(unsafe_code)]
fn own_uid() -> u32 {
    // SAFETY: takes nothing, changes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(unsafe_code)]
fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the buffer is as long as `length` says and lives for the whole call.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(Peer { uid: peer.uid, pid: Some(peer.pid) }) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[allow(unsafe_code)]
fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let (mut uid, mut gid) = (u32::MAX, u32::MAX);
    // SAFETY: both are valid to be written to for the whole call.
    let result = unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut uid, &raw mut gid) };
    if result == 0 { Ok(Peer { uid, pid: listening_pid(stream)? }) } else { Err(io::Error::last_os_error()) }
}

#[cfg(target_vendor = "apple")]
#[allow(unsafe_code)]
fn listening_pid(stream: &UnixStream) -> io::Result<Option<i32>> {
    let mut pid: libc::pid_t = 0;
    let mut length = size_of::<libc::pid_t>() as libc::socklen_t;
    // SAFETY: the buffer is as long as `length` says and lives for the whole call.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_LOCAL,
            libc::LOCAL_PEERPID,
            (&raw mut pid).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(Some(pid)) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn listening_pid(_: &UnixStream) -> io::Result<Option<i32>> {
    Ok(None)
}
