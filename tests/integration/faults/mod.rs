//! A disk that fails on demand, for the daemon of a test. A small preloaded library replaces the system calls that write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::io::Errno;
use tempfile::TempDir;

/// The faults of one daemon's disk. Dropping this value does not end them. [`Faults::heal`] does.
pub(crate) struct Faults {
    control: PathBuf,
}

/// The library, built once for all tests of this run.
fn library() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("faults.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/faults/faults.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).args([source, "-ldl"]);
        assert!(cc.status().unwrap().success(), "cc cannot build {source}");
        (dir, library)
    });
    library
}

impl Faults {
    /// Needs a daemon that is started with [`Faults::prepare`]. The disk has no faults at first.
    pub(crate) fn new(home: &Path) -> Self {
        let faults = Self { control: home.join("faults") };
        faults.heal();
        faults
    }

    /// Sets the wall clock of a daemon ahead by this many seconds. Must be called before the daemon is started.
    pub(crate) fn set_clock(daemon: &mut Command, seconds_ahead: i64) {
        daemon.env("LD_PRELOAD", library()).env("ANSWERBACK_TEST_CLOCK", seconds_ahead.to_string());
    }

    /// Preloads the library into a daemon. Must be called before the daemon is started.
    pub(crate) fn prepare(&self, daemon: &mut Command) {
        daemon.env("LD_PRELOAD", library()).env("ANSWERBACK_TEST_FAULTS", &self.control);
    }

    /// From now on, every sync of the store takes this long and then fails.
    pub(crate) fn fail_syncs(&self, error: Errno, after_milliseconds: u32) {
        self.say(&format!("sync {} {after_milliseconds} always\n", error.raw_os_error()));
    }

    /// The next sync of the store fails.
    pub(crate) fn fail_one_sync(&self, error: Errno) {
        self.say(&format!("sync {} 0 once\n", error.raw_os_error()));
    }

    /// Whether a fault that happens once has happened.
    pub(crate) fn has_happened(&self) -> bool {
        !self.control.exists()
    }

    /// Every write to the store fails.
    pub(crate) fn fail_writes(&self, error: Errno) {
        self.say(&format!("write {} 0 always\n", error.raw_os_error()));
    }

    /// The disk works again.
    pub(crate) fn heal(&self) {
        self.say("");
    }

    /// The file is renamed into place, so that a call at the same time reads either the old word or the new one.
    fn say(&self, word: &str) {
        let new = self.control.with_extension("new");
        fs::write(&new, word).unwrap();
        fs::rename(&new, &self.control).unwrap();
    }
}
