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

    /// A program that is about to be started notes its syncs in this file: see [`syncs`].
    pub(crate) fn note_syncs(program: &mut Command, file: &Path) {
        program.env("LD_PRELOAD", library()).env("ANSWERBACK_TEST_SYNCS", file);
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

    /// The next sync of the store takes this long.
    pub(crate) fn delay_one_sync(&self, milliseconds: u32) {
        self.say(&format!("sync 0 {milliseconds} once\n"));
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

/// One sync of a program, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    File(PathBuf),
    /// And the names that were in the directory.
    Dir(PathBuf, Vec<String>),
}

/// What [`Faults::note_syncs`] has noted.
pub(crate) fn syncs(file: &Path) -> Vec<Sync> {
    let noted = fs::read_to_string(file).unwrap_or_default();
    let parse = |line: &str| {
        let mut words = line.split(' ').map(ToOwned::to_owned);
        match (words.next().as_deref(), words.next()) {
            (Some("file"), Some(path)) => Sync::File(path.into()),
            (Some("dir"), Some(path)) => Sync::Dir(path.into(), words.collect()),
            _ => panic!("{line}"),
        }
    };
    noted.lines().map(parse).collect()
}
