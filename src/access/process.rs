//! What the kernel tells about processes. Linux only: elsewhere nothing is known.

use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Nobody works in a chain of processes as long as this, and a chain that changes while it is read must come to an end.
const MAX_ANCESTORS: usize = 1024;
/// It becomes the parent of every process that has lost its own, so being its descendant means nothing.
pub(super) const INIT: i32 = 1;

/// A process that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    /// The time of its start. The number of a process is used again, and this tells one from the next.
    pub(super) started: u64,
}

impl Process {
    /// Linux tells it in a line of the form `12 (name) S 7 …`. The name may contain anything.
    pub(super) fn read(id: i32) -> Option<Self> {
        let line = read(id, "stat")?;
        let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace().skip(1);
        Some(Self { id, parent: fields.next()?.parse().ok()?, started: fields.nth(17)?.parse().ok()? })
    }
}

/// The time of the start of a process, if it is known.
pub fn started_at(id: i32) -> Option<u64> {
    Process::read(id).map(|process| process.started)
}

/// A process, the one that has started it, and so on.
pub(super) fn ancestors(id: i32) -> impl Iterator<Item = Process> {
    let next = |process: &Process| Process::read(process.parent).filter(|parent| parent.id > INIT);
    std::iter::successors(Process::read(id).filter(|process| process.id > INIT), next).take(MAX_ANCESTORS)
}

/// The control group of a process, as a path.
pub(super) fn cgroup(id: i32) -> Option<String> {
    read(id, "cgroup")?.lines().find_map(|line| line.strip_prefix("0::")).map(ToOwned::to_owned)
}

fn read(id: i32, file: &str) -> Option<String> {
    // A process can give itself a name that is not UTF-8.
    fs::read(format!("/proc/{id}/{file}")).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A process that has this socket open. `None` if it belongs to somebody else, or hides what it has open, as some browsers do.
pub(super) fn with_socket(inode: u64) -> Option<i32> {
    let socket = format!("socket:[{inode}]");
    let has_it = |id: &i32| {
        let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|link| link.as_os_str().as_bytes() == socket.as_bytes())
    };
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(has_it)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn this() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn a_process_has_its_ancestors_and_nobody_else() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let above: Vec<_> = ancestors(id).collect();
        assert_eq!((above[0].id, above[0].parent, above[1].id), (id, this(), this()));
        assert!(above[0].started >= above[1].started && above.iter().all(|process| process.id > INIT));
        assert!(ancestors(this()).all(|process| process.id != id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            (ancestors(id).count(), ancestors(INIT).count(), ancestors(0).count()),
            (0, 0, 0),
            "nobody is there"
        );
    }

    #[test]
    fn a_socket_belongs_to_who_has_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("s")).unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        let inode = link.to_str().unwrap().trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        assert_eq!(with_socket(inode), Some(this()));
        drop(listener);
        assert_eq!(with_socket(inode), None);
    }
}
