//! Reaching the daemon, and starting it when there is none.
//!
//! Before a byte is sent, the state directory and the process at the other end of the socket must be our own user's: see
//! [`crate::trust`].
//!
//! Fifty hooks may find no daemon at the same moment. Whoever gets the start lock looks once more, starts one daemon and
//! waits until it says `ready`; the rest find it running when the lock is theirs.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::hint::Hint;
use crate::paths::Paths;
use crate::trust::{self, TrustError};

const RETRY: Duration = Duration::from_millis(5);

/// The first word a started daemon writes: it can be reached now.
pub const READY: &str = "ready";

/// What a daemon started by a hook may know of the hook's environment: enough to find its files and to notify the user.
/// Everything else stays behind, secrets of the asking session above all.
const DAEMON_ENVIRONMENT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Why the daemon cannot be reached.
#[derive(Debug)]
pub enum StartError {
    /// The socket is there but cannot be used.
    Connect(PathBuf, io::Error),
    /// The state directory cannot be trusted.
    Untrusted(TrustError),
    /// Another user listens on the socket.
    Stranger(PathBuf),
    /// The state directory or its lock cannot be made.
    State(PathBuf, io::Error),
    /// The daemon's program cannot be run.
    Spawn(PathBuf, io::Error),
    /// The daemon ran and said why it could not start.
    Refused {
        /// What keeps it from starting.
        reason: String,
        /// What to do about it, if the daemon said so.
        hint: Option<String>,
    },
    /// The daemon ended before it could say anything: it was killed, or it crashed.
    Died,
    /// Nobody answered in time.
    Timeout,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(path, error) => write!(f, "cannot connect to {}: {error}", path.display()),
            Self::Untrusted(error) => write!(f, "{error}"),
            Self::Stranger(path) => {
                write!(f, "another user listens on {}", path.display())
            }
            Self::State(path, error) => write!(f, "cannot use {}: {error}", path.display()),
            Self::Spawn(path, error) => write!(f, "cannot start {}: {error}", path.display()),
            Self::Refused { reason, .. } => write!(f, "the daemon did not start: {reason}"),
            Self::Died => write!(f, "the daemon did not start: it ended without a word"),
            Self::Timeout => write!(f, "the daemon did not answer in time"),
        }
    }
}

impl std::error::Error for StartError {}

impl Hint for StartError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Untrusted(error) => error.hint(),
            Self::Stranger(_) => Some("Remove it, and look who can write to its directory.".to_owned()),
            Self::Refused { hint, .. } => hint.clone(),
            Self::State(..) => Some("Run: answerback doctor".to_owned()),
            Self::Connect(..) | Self::Spawn(..) | Self::Died | Self::Timeout => None,
        }
    }
}

/// The line in which a daemon says why it does not start, for [`StartError::Refused`].
pub fn refusal(reason: &str, hint: Option<&str>) -> String {
    let plain = |text: &str| text.replace(['\n', '\t'], " ");
    match hint {
        Some(hint) => format!("{}\t{}", plain(reason), plain(hint)),
        None => plain(reason),
    }
}

fn refused(line: &str) -> StartError {
    let (reason, hint) = match line.split_once('\t') {
        Some((reason, hint)) => (reason, Some(hint.to_owned())),
        None => (line, None),
    };
    StartError::Refused { reason: reason.to_owned(), hint }
}

/// A connection to the daemon of this instance, which is started if need be.
pub fn connect_or_start(paths: &Paths, deadline: Instant) -> Result<UnixStream, StartError> {
    match connect(paths, deadline)? {
        Some(stream) => Ok(stream),
        None => StartLock::take(paths, deadline)?.connect_or_start(paths, deadline),
    }
}

/// The right to start a daemon. While somebody has it, no hook and no command starts one: they wait, and then find the one that was
/// started. Whoever replaces a daemon has it for that time.
#[derive(Debug)]
pub struct StartLock {
    _file: File,
}

impl StartLock {
    /// Waits for it until the deadline.
    pub fn take(paths: &Paths, deadline: Instant) -> Result<Self, StartError> {
        let path = paths.start_lock();
        let failed = |error| StartError::State(path.clone(), error);
        create_state_dir(paths.state_dir()).map_err(failed)?;
        trust::check_private(paths.state_dir()).map_err(StartError::Untrusted)?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => pause(deadline)?,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// A connection to the daemon of this instance, which is started if need be.
    pub fn connect_or_start(&self, paths: &Paths, deadline: Instant) -> Result<UnixStream, StartError> {
        if let Some(stream) = connect(paths, deadline)? {
            return Ok(stream);
        }
        let mut has_died = false;
        loop {
            match start(deadline) {
                // Somebody killed it while it started. That is no reason to give up; a daemon that always dies is.
                Err(StartError::Died) if !has_died => {
                    has_died = true;
                    continue;
                }
                started => started?,
            }
            // The program we started may have found another daemon that was just about to end: then it is started again.
            for _ in 0..10 {
                if let Some(stream) = connect(paths, deadline)? {
                    return Ok(stream);
                }
                pause(deadline)?;
            }
        }
    }
}

/// `None` when nobody listens. A full backlog is somebody: it is tried again until the deadline. The stream is non-blocking.
pub fn connect(paths: &Paths, deadline: Instant) -> Result<Option<UnixStream>, StartError> {
    match trust::check_private(paths.state_dir()) {
        Err(error) if error.is_not_found() => return Ok(None),
        checked => checked.map_err(StartError::Untrusted)?,
    }
    let path = paths.socket();
    loop {
        match connect_now(&path) {
            Ok(stream) => match trust::is_own_user(&stream) {
                Ok(true) => return Ok(Some(stream)),
                Ok(false) => return Err(StartError::Stranger(path)),
                Err(error) => return Err(StartError::Connect(path, error)),
            },
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => return Ok(None),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => pause(deadline)?,
                _ => return Err(StartError::Connect(path, error)),
            },
        }
    }
}

/// Connects or says at once why not. A blocking connect would wait in the kernel for a place in a full backlog, for as long
/// as it takes. The stream stays non-blocking, which is what [`crate::client`] needs.
pub fn connect_now(path: &Path) -> io::Result<UnixStream> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let socket = {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket
    };
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(OwnedFd::from(socket).into())
}

fn pause(deadline: Instant) -> Result<(), StartError> {
    if Instant::now() + RETRY >= deadline {
        return Err(StartError::Timeout);
    }
    thread::sleep(RETRY);
    Ok(())
}

/// The state directory, made for its owner alone if it is not there, with whatever is missing above it. Whatever the umask says,
/// nobody else may put a directory of theirs in the place of one of these.
pub fn create_state_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Starts the daemon that lies beside this program and waits until it is ready.
fn start(deadline: Instant) -> Result<(), StartError> {
    let program = daemon_program();
    let spawn_failed = |error| StartError::Spawn(program.clone(), error);
    // A socket pair rather than a pipe: it has a read timeout.
    let (ours, theirs) = UnixStream::pair().map_err(spawn_failed)?;
    let mut command = Command::new(&program);
    command
        .args(["daemon", "--background"])
        .current_dir("/")
        .env_clear()
        .envs(DAEMON_ENVIRONMENT.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))))
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::null());
    detach(&mut command);
    let mut child = command.spawn().map_err(spawn_failed)?;
    // Our copy of the child's end must go, or a daemon that dies is not seen as the end of the stream.
    drop(command);
    // This reaps the first of the two processes, which ends at once: see `detach`.
    child.wait().map_err(spawn_failed)?;
    let left = deadline.saturating_duration_since(Instant::now());
    ours.set_read_timeout(Some(left.max(Duration::from_millis(1)))).map_err(spawn_failed)?;
    let mut said = String::new();
    match BufReader::new(ours).read_line(&mut said) {
        Ok(_) if said.trim_end() == READY => Ok(()),
        Ok(0) => Err(StartError::Died),
        Ok(_) => Err(refused(said.trim_end())),
        Err(_) => Err(StartError::Timeout),
    }
}

fn daemon_program() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|hook| hook.parent().map(|dir| dir.join("answerback")));
    beside.unwrap_or_else(|| PathBuf::from("answerback"))
}

/// Makes the daemon nobody's child in a session of its own: whoever ends the hook and its descendants, or the terminal's
/// process group, must not end it, and what Claude Code left open must not be held open by it.
#[allow(unsafe_code)]
fn detach(command: &mut Command) {
    // SAFETY: runs between fork and exec of a single-threaded program and calls only async-signal-safe functions.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            match libc::fork() {
                -1 => return Err(io::Error::last_os_error()),
                0 => {}
                _ => libc::_exit(0),
            }
            #[cfg(target_os = "linux")]
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_says_arrives_as_reason_and_hint() {
        for (reason, hint) in [("tokens.json is damaged", Some("Remove it.")), ("no room", None)] {
            let error = refused(&refusal(reason, hint));
            assert_eq!(error.to_string(), format!("the daemon did not start: {reason}"));
            assert_eq!(error.hint().as_deref(), hint);
        }
        assert_eq!(refusal("line 1\nline\t2", Some("a\nb")), "line 1 line 2\ta b");
    }
}
