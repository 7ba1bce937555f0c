//! A daemon that hangs: who it is for certain, and how it is ended. Nothing is lost by that: what was said to be saved is on disk.

use std::time::{Duration, Instant};

use answerback_hook::paths::Paths;
use answerback_hook::start;
use answerback_hook::trust;
use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::exit::hinted;

/// How long it may take to end when it is asked to.
const ASKED: Duration = Duration::from_secs(2);
/// How long it takes the kernel to end it.
const KILLED: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

/// The process that listens on the socket, as the kernel knows it; `None` if nobody does.
pub(super) fn listener(paths: &Paths) -> anyhow::Result<Option<Pid>> {
    let Some(stream) = start::connect(paths, Instant::now() + ASKED)? else { return Ok(None) };
    match trust::peer_pid(&stream)?.and_then(Pid::from_raw) {
        Some(pid) => Ok(Some(pid)),
        None => Err(hinted("the operating system does not tell which process the daemon is", "End it yourself.")),
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
}

/// Ends the daemon that does not answer, and waits until it is gone. `daemon.json` names a process too; if that is another one than the
/// kernel names, nobody is signalled.
pub(super) fn end(paths: &Paths) -> anyhow::Result<()> {
    let Some(pid) = listener(paths)? else { return Ok(()) };
    let by_hand = || format!("Look at process {0}, then end it yourself: kill -9 {0}", pid.as_raw_nonzero());
    let published =
        std::fs::read(paths.daemon_json()).ok().and_then(|json| serde_json::from_slice::<Value>(&json).ok());
    if published.is_some_and(|json| json["pid"].as_i64() != Some(pid.as_raw_nonzero().get().into())) {
        return Err(hinted("the process on the socket is not the one that daemon.json names", by_hand()));
    }
    let process = Process::open(pid)?;
    for (signal, patience) in [(Signal::TERM, ASKED), (Signal::KILL, KILLED)] {
        if listener(paths)? != Some(pid) {
            return Ok(());
        }
        // It may end in this moment, which is what is wanted.
        let _ = process.signal(signal);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if listener(paths)? != Some(pid) {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }
    Err(hinted("the daemon does not end", by_hand()))
}
