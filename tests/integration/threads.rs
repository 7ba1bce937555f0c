//! What the threads of a process are doing, as the kernel tells it. A test that must know that a daemon has taken a request, or that it
//! does nothing at all, looks here instead of sleeping and hoping.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::world::until;

/// A thread that waits for something to happen. A thread that waits for its disk is not one: it goes on by itself.
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
    /// After a time that cannot be seen from outside.
    Unknown,
}

/// Waits until all threads of a process wait at the same moment. Then it has taken everything that was sent to it, and has done with it
/// what it could. The process must be a child of the test, because some kernels show the threads of children only.
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
    let read = |name: &str| match fs::read_to_string(thread.join(name)) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => panic!("{}/{name}: {error}", thread.display()),
        // A thread that has just ended has no files any more: it was awake.
        text => text.ok(),
    };
    let (call, status) = (read("syscall")?, read("status")?);
    let count =
        |name: &str| -> Option<u64> { status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok() };
    let switches = count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?;
    Some(Sleeper { id, switches, alarm: alarm(&call)? })
}

/// From the call that it sleeps in: its number, then its arguments. `None` if it waits for nobody.
fn alarm(call: &str) -> Option<Alarm> {
    let mut fields = call.split_ascii_whitespace();
    let number = fields.next()?.parse::<i64>().ok()?;
    let timeout = u64::from_str_radix(fields.nth(3)?.strip_prefix("0x")?, 16).ok()?;
    #[cfg(target_arch = "x86_64")]
    let is_epoll = number == libc::SYS_epoll_wait || number == libc::SYS_epoll_pwait;
    #[cfg(not(target_arch = "x86_64"))]
    let is_epoll = number == libc::SYS_epoll_pwait;
    // Milliseconds in a C int, where a negative number is for ever; for a futex, a pointer to a time.
    match u32::try_from(timeout & u64::from(u32::MAX)).map(u32::cast_signed) {
        Ok(milliseconds) if is_epoll => Some(match u64::try_from(milliseconds) {
            Ok(milliseconds) => Alarm::After(Duration::from_millis(milliseconds)),
            Err(_) => Alarm::Never,
        }),
        _ if number == libc::SYS_futex => Some(if timeout == 0 { Alarm::Never } else { Alarm::Unknown }),
        _ => None,
    }
}
