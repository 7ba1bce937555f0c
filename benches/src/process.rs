//! What the kernel knows about a process.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The length of a tick in `/proc`, in seconds. It is this long on every Linux.
const TICK: f64 = 0.01;

/// Memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// What is in memory, with pages of program files that other processes may share.
    pub resident: f64,
    /// What only this process has, and has written to.
    pub private_dirty: f64,
}

fn field(text: &str, name: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.trim_start_matches(':').split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// The memory of a process.
pub fn memory(pid: u32) -> Memory {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    Memory { resident: field(&rollup, "Rss") * 1024.0, private_dirty: field(&rollup, "Private_Dirty") * 1024.0 }
}

/// The CPU time that a process has used, in seconds.
pub fn cpu(pid: u32) -> f64 {
    cpu_if_alive(pid).unwrap()
}

/// The same for a process that may have ended.
pub fn cpu_if_alive(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    Some(fields[11..13].iter().filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK)
}

/// The processes that a process has started and that still run.
pub fn children(pid: u32) -> Vec<u32> {
    let lists = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists = lists.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// How often the threads of a process began to run.
pub fn switches(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let count = |path: &Path| {
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        field(&status, "voluntary_ctxt_switches") + field(&status, "nonvoluntary_ctxt_switches")
    };
    tasks.map(|task| count(&task.path())).sum()
}

/// How many bytes a process has sent to the disk.
pub fn written(pid: u32) -> f64 {
    field(&fs::read_to_string(format!("/proc/{pid}/io")).unwrap(), "write_bytes")
}

/// Waits until a process has used no CPU time for a while. Returns how long that took, without that while. `None` if it took too long.
pub fn until_idle(pid: u32, at_most: Duration) -> Option<Duration> {
    const QUIET: Duration = Duration::from_millis(700);
    let started = Instant::now();
    let (mut used, mut since) = (cpu(pid), started);
    while since.elapsed() < QUIET {
        if started.elapsed() > at_most {
            return None;
        }
        thread::sleep(Duration::from_millis(50));
        let now = cpu(pid);
        if now - used > TICK / 2.0 {
            (used, since) = (now, Instant::now());
        }
    }
    Some(since - started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_this_process() {
        let own = std::process::id();
        let memory = memory(own);
        assert!(memory.resident > memory.private_dirty && memory.private_dirty > 0.0, "{memory:?}");
        assert!(switches(own) > 0.0);
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        assert_eq!(field("Rss:                1234 kB\nPss: 1 kB", "Rss"), 1234.0);
        assert_eq!(field("write_bytes: 4096", "write_bytes"), 4096.0);
        assert_eq!(field("", "Rss"), 0.0);
    }
}
