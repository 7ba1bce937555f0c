//! The daemon's log: to stderr in the foreground, to a file of bounded size in the background.
//!
//! Keys and outcomes are logged, never tokens, and questions or answers not above debug level.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::config::LogLevel;

/// When the file is as long as this, it becomes `daemon.log.1` and a new one begins.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Where the log goes.
#[derive(Debug)]
pub enum Destination<'a> {
    /// A person reads it.
    Stderr,
    /// Nobody reads it, for now.
    File(&'a Path),
}

/// Starts logging, panics included.
pub fn start(level: LogLevel, destination: Destination<'_>) -> io::Result<()> {
    let (writer, ansi) = match destination {
        Destination::Stderr => (BoxMakeWriter::new(io::stderr), io::IsTerminal::is_terminal(&io::stderr())),
        Destination::File(path) => (BoxMakeWriter::new(Mutex::new(CappedFile::open(path, MAX_FILE)?)), false),
    };
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_ansi(ansi).with_target(false).with_writer(writer).init();
    std::panic::set_hook(Box::new(|panic| tracing::error!(?panic, "a bug: please report it")));
    Ok(())
}

/// A file that starts again when it is full; the one before is kept.
struct CappedFile {
    path: PathBuf,
    file: File,
    length: u64,
    cap: u64,
}

impl CappedFile {
    fn open(path: &Path, cap: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_path_buf(), file, length, cap })
    }
}

impl Write for CappedFile {
    /// Called once for each line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.length + line.len() as u64 > self.cap && self.length > 0 {
            // Nothing is synced: a log may lose its end to a crash.
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
            *self = Self::open(&self.path, self.cap)?;
        }
        let written = self.file.write(line)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_two_files_of_bounded_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        for start in 0..2 {
            let mut log = CappedFile::open(&path, 100).unwrap();
            for line in 0..50 {
                writeln!(log, "start {start} line {line:02}").unwrap();
            }
        }
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["daemon.log", "daemon.log.1"]);
        for name in names {
            assert!(fs::metadata(dir.path().join(name)).unwrap().len() <= 100);
        }
        assert!(fs::read_to_string(&path).unwrap().ends_with("start 1 line 49\n"));
    }
}
