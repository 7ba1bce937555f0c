//! The daemon's log: to stderr in the foreground, to a file of bounded size in the background.
//!
//! Keys and outcomes are logged. Tokens never are, and questions and answers only at the levels debug and trace.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::config::LogLevel;

/// A file that would get longer than this becomes `daemon.log.1`, and a new one begins.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Where the log goes.
#[derive(Debug)]
pub enum Destination<'a> {
    /// For a daemon in the foreground.
    Stderr,
    /// For a daemon in the background.
    File(&'a Path),
}

/// Starts logging. Panics are logged too.
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

/// A log file with a maximum length. When it is full, it is renamed and a new one begins, so there are at most two files.
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
    /// The subscriber calls this once for each line, so no line is split between two files.
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
