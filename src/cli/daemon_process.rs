//! The daemon's process: finding it for certain, and ending it. That loses nothing: every confirmed answer is on disk.

use std::time::{Duration, Instant};

use answerback_hook::paths::Paths;
use answerback_hook::start::{self, StartError, StartLock};
use answerback_hook::trust;
use rustix::process::{Pid, Signal};

use crate::instance::Published;

use super::explain::hinted;
use super::manager::Manager;

/// How long the socket may take to accept a connection.
const FIND: Duration = Duration::from_secs(2);
/// How long it may take to end when it is asked to: longer than the store may take to finish.
const ASKED: Duration = Duration::from_secs(6);
/// How long a daemon that hangs may take to end when it is asked to.
const HUNG: Duration = Duration::from_secs(2);
/// How long the kernel may take to end a killed process.
const KILLED: Duration = Duration::from_secs(5);
/// How long another program may take to start or to replace a daemon.
const REPLACED: Duration = Duration::from_secs(30);
/// How long the daemon of a service manager may take until it listens.
const STARTED: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Keeps everybody else from starting, stopping or replacing the daemon.
pub(super) fn lock(paths: &Paths) -> anyhow::Result<StartLock> {
    StartLock::take(paths, Instant::now() + REPLACED).map_err(|error| match error {
        StartError::Timeout => {
            hinted("another program is starting or stopping the daemon", "Wait a moment, then run this again.")
        }
        error => error.into(),
    })
}

/// The daemon's process.
pub(super) struct DaemonProcess {
    pid: Pid,
    process: Process,
}

impl DaemonProcess {
    /// The process that listens on the socket, as the kernel knows it; `None` if nobody does. `daemon.json` names a process, too: if
    /// that is another one, it is an error.
    pub(super) fn find(paths: &Paths) -> anyhow::Result<Option<Self>> {
        let Some(pid) = listener(paths)? else { return Ok(None) };
        let published = Published::read(paths).ok();
        if published.is_some_and(|published| Pid::from_raw(published.pid.cast_signed()) != Some(pid)) {
            return Err(hinted("the process on the socket is not the one that daemon.json names", by_hand(pid)));
        }
        let process = Process::open(pid)?;
        // The number may have been reused before the process was opened. If it still has the socket, it was not.
        Ok((listener(paths)? == Some(pid)).then_some(Self { pid, process }))
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The service manager that runs it. `order` is what the manager would be told.
    pub(super) fn manager(&self, order: &str) -> anyhow::Result<Option<Manager>> {
        Manager::of(self.pid(), order)
    }

    /// Waits until another daemon listens in place of this one, which a service manager has replaced.
    pub(super) fn until_replaced(&self, paths: &Paths, manager: &Manager) -> anyhow::Result<()> {
        let deadline = Instant::now() + STARTED;
        while Instant::now() < deadline {
            if listener(paths)?.is_some_and(|pid| pid != self.pid) {
                return Ok(());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Err(hinted(
            "the service manager was asked for another daemon, and none answers",
            format!("Look: {}", manager.log_command()),
        ))
    }

    /// Ends a daemon that does not answer, and waits until it is gone.
    pub(super) fn end(&self) -> anyhow::Result<()> {
        // A signal fails only if the process has just ended by itself. The same holds in `kill`.
        let _ = self.process.signal(Signal::TERM);
        if self.process.ends_within(HUNG)? { Ok(()) } else { self.kill() }
    }

    /// Waits for the end of a daemon that was asked to stop. Kills it if it takes too long.
    pub(super) fn until_ended(&self) -> anyhow::Result<()> {
        if self.process.ends_within(ASKED)? { Ok(()) } else { self.kill() }
    }

    fn kill(&self) -> anyhow::Result<()> {
        let _ = self.process.signal(Signal::KILL);
        if self.process.ends_within(KILLED)? {
            return Ok(());
        }
        Err(hinted("the daemon does not end", by_hand(self.pid)))
    }
}

fn by_hand(pid: Pid) -> String {
    format!("Look at process {0}, then end it yourself: kill -9 {0}", pid.as_raw_nonzero())
}

fn listener(paths: &Paths) -> anyhow::Result<Option<Pid>> {
    let stream = match start::connect(paths, Instant::now() + FIND) {
        Ok(Some(stream)) => stream,
        Ok(None) => return Ok(None),
        // The socket's queue is full of callers that the daemon never accepted.
        Err(StartError::Timeout) => return holder_of_lock(paths).map(Some),
        Err(error) => return Err(error.into()),
    };
    match trust::peer_pid(&stream)?.and_then(Pid::from_raw) {
        Some(pid) => Ok(Some(pid)),
        None => Err(hinted("the operating system does not tell which process the daemon is", "End it yourself.")),
    }
}

/// The process that `daemon.json` names, if it has the lock file of the instance open.
fn holder_of_lock(paths: &Paths) -> anyhow::Result<Pid> {
    use std::os::unix::fs::MetadataExt;
    let published = Published::read(paths)?;
    let lock = std::fs::metadata(paths.instance_lock())?;
    let open = std::fs::read_dir(format!("/proc/{}/fd", published.pid)).into_iter().flatten().flatten();
    let mut files = open.filter_map(|entry| std::fs::metadata(entry.path()).ok());
    let has_lock = files.any(|file| (file.dev(), file.ino()) == (lock.dev(), lock.ino()));
    match Pid::from_raw(published.pid.cast_signed()).filter(|_| has_lock) {
        Some(pid) => Ok(pid),
        None => Err(hinted(
            "the daemon does not answer, and it is not certain which process it is",
            format!("daemon.json names process {0}. If that is the daemon, end it: kill -9 {0}", published.pid),
        )),
    }
}

/// A process that cannot be mistaken for a later one with the same number.
#[cfg(target_os = "linux")]
struct Process(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Process {
    fn open(pid: Pid) -> std::io::Result<Self> {
        Ok(Self(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?))
    }

    fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        rustix::process::pidfd_send_signal(&self.0, signal)
    }

    /// Whether it ends within this time.
    fn ends_within(&self, patience: Duration) -> std::io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let timeout = Timespec { tv_sec: patience.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: 0 };
        Ok(poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout))? > 0)
    }
}

#[cfg(not(target_os = "linux"))]
struct Process(Pid);

#[cfg(not(target_os = "linux"))]
impl Process {
    fn open(pid: Pid) -> std::io::Result<Self> {
        Ok(Self(pid))
    }

    fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        rustix::process::kill_process(self.0, signal)
    }

    /// Whether it ends within this time.
    fn ends_within(&self, patience: Duration) -> std::io::Result<bool> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if rustix::process::test_kill_process(self.0).is_err() {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(false)
    }
}
