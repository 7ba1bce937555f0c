//! What the threads of a process are doing, as the kernel tells it. A test that must know that a daemon has taken a request, or that it
//! does nothing at all, looks here instead of sleeping and hoping.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::world::until;

/// A thread that sleeps in the kernel.
#[derive(Debug, PartialEq, Eq)]
struct Sleeper {
    id: String,
    /// How often it has been taken off a processor. The same number twice means that it has slept all the time in between.
    switches: u64,
    alarm: Alarm,
}

/// When a sleeping thread wakes if nothing happens.
#[derive(Debug, PartialEq, Eq)]
enum Alarm {
    Never,
    /// After this time, counted from when it fell asleep.
    After(Duration),
    /// It sleeps in a way that is not known here, and may wake at any time.
    Unknown,
}

/// Waits until all threads of a process sleep at the same moment. Then it has taken everything that was sent to it, and has done with it
/// what it could.
#[track_caller]
pub(crate) fn until_asleep(pid: u32) {
    until("the process to have nothing to do", || {
        // Equal looks: each thread slept from its first look to its second, so all of them slept between the two rounds.
        let first = look(pid)?;
        (look(pid)? == first).then_some(())
    });
}

/// Waits until a process does nothing and is not going to: no thread has an alarm that is due soon, and none wakes for other reasons.
///
/// A timer that ticks always has an alarm that is due soon, so no load of the machine lets it slip through. Load cannot fail the test
/// either: work that is left over is waited for, and a process that waits for nothing is not woken.
#[track_caller]
pub(crate) fn until_quiet(pid: u32) {
    const SOON: Duration = Duration::from_secs(20);
    const WATCHED: Duration = Duration::from_secs(2);
    const PATIENCE: Duration = Duration::from_secs(120);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let first = look(pid);
        let is_quiet = |sleeper: &Sleeper| match sleeper.alarm {
            Alarm::Never => true,
            Alarm::After(time) => time > SOON,
            Alarm::Unknown => false,
        };
        let mut pause = Duration::from_millis(50);
        if first.as_ref().is_some_and(|first| first.iter().all(is_quiet)) {
            // The time is what is tested here: something else than a timer may wake it.
            pause = WATCHED;
        }
        thread::sleep(pause);
        if pause == WATCHED && look(pid) == first {
            return;
        }
        assert!(Instant::now() < deadline, "it goes on waking: {first:?}");
    }
}

/// Every thread of a process; `None` if one of them is awake.
fn look(pid: u32) -> Option<Vec<Sleeper>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|thread| thread.unwrap());
    threads.map(|thread| sleeper(&thread.path(), thread.file_name().into_string().unwrap())).collect()
}

fn sleeper(thread: &Path, id: String) -> Option<Sleeper> {
    // A thread that has just ended has no files any more: it was awake.
    let call = fs::read_to_string(thread.join("syscall")).ok()?;
    let status = fs::read_to_string(thread.join("status")).ok()?;
    let count =
        |name: &str| -> Option<u64> { status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok() };
    let switches = count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?;
    (call.trim() != "running").then(|| Sleeper { id, switches, alarm: alarm(&call) })
}

/// From the call that it sleeps in: its number, then its arguments.
fn alarm(call: &str) -> Alarm {
    let mut fields = call.split_ascii_whitespace();
    let number = fields.next().and_then(|number| number.parse::<i64>().ok());
    let timeout = fields.nth(3).and_then(|timeout| u64::from_str_radix(timeout.strip_prefix("0x")?, 16).ok());
    let (Some(number), Some(timeout)) = (number, timeout) else { return Alarm::Unknown };
    #[cfg(target_arch = "x86_64")]
    let is_epoll = number == libc::SYS_epoll_wait || number == libc::SYS_epoll_pwait;
    #[cfg(not(target_arch = "x86_64"))]
    let is_epoll = number == libc::SYS_epoll_pwait;
    // Milliseconds in a C int, where a negative number is for ever; for a futex, a pointer to a time.
    match u32::try_from(timeout & u64::from(u32::MAX)).map(u32::cast_signed) {
        Ok(milliseconds) if is_epoll => match u64::try_from(milliseconds) {
            Ok(milliseconds) => Alarm::After(Duration::from_millis(milliseconds)),
            Err(_) => Alarm::Never,
        },
        _ if number == libc::SYS_futex && timeout == 0 => Alarm::Never,
        _ => Alarm::Unknown,
    }
}
