//! The machine that the numbers come from, in general terms.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

/// What matters about a machine.
#[derive(Debug)]
pub struct Machine {
    /// How many cores it has.
    pub cores: usize,
    /// The version of the kernel, without what a distributor adds.
    pub kernel: String,
    /// The filesystem that the daemons wrote to.
    pub filesystem: String,
    /// The day.
    pub date: String,
}

impl Machine {
    /// Looks at this one. `scratch` is where the daemons keep their files.
    pub fn look(scratch: &Path) -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let kernel = kernel.split(['-', '\n']).next().unwrap_or_default().to_owned();
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let scratch = fs::canonicalize(scratch).unwrap_or_else(|_| scratch.to_path_buf());
        let date = Command::new("date").args(["-u", "+%-d %B %Y"]).output();
        Self {
            cores: thread::available_parallelism().map_or(1, Into::into),
            kernel,
            filesystem: filesystem(&mounts, &scratch).unwrap_or("unknown").to_owned(),
            date: date.map_or_else(|_| String::new(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned()),
        }
    }
}

/// The type of the filesystem of a path: that of the longest mount point above it, and of the last one there.
fn filesystem<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let entries = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    entries.filter(|(at, _)| path.starts_with(at)).max_by_key(|(at, _)| at.len()).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_point_counts() {
        let mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/vdb /tmp/disk xfs rw 0 0\n";
        let of = |path: &str| filesystem(mounts, Path::new(path));
        assert_eq!((of("/var/tmp"), of("/tmp/a"), of("/tmp/disk/a")), (Some("ext4"), Some("tmpfs"), Some("xfs")));
        assert_eq!(of("/tmpx"), Some("ext4"));
    }
}
