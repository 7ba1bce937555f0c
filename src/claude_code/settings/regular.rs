//! Reading what must be a regular file of a sensible size.
//!
//! A repository can have anything under the name of a settings file: a link to a device that never ends, a pipe that nobody
//! writes to, a file that fills the memory. None of them may be waited for or read.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use answerback_hook::hint::Hint;

/// Settings are a few kilobytes. Whatever is larger than this was not written by a person.
pub(super) const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How long a file is waited for that another program has a lease on. The kernel takes a lease away after 45 seconds.
const PATIENCE: Duration = Duration::from_secs(50);
const TRY_AGAIN: Duration = Duration::from_millis(1);

/// A regular file that was read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Metadata,
    /// Still open, for what belongs to it besides its text.
    pub(super) file: File,
}

/// Why a file is not read.
#[derive(Debug)]
pub(super) struct Unfit {
    /// Where the file is, if the name that was asked for leads somewhere else.
    leads_to: Option<PathBuf>,
    problem: Problem,
}

#[derive(Debug, Clone, Copy)]
enum Problem {
    /// What it is instead of a regular file.
    Kind(&'static str),
    TooLarge,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.leads_to {
            Some(path) => write!(f, "it leads to {}, which", path.display())?,
            None => f.write_str("it")?,
        }
        match self.problem {
            Problem::Kind(kind) => write!(f, " is {kind}, not a regular file"),
            Problem::TooLarge => write!(f, " is larger than {} MiB, the limit for a settings file", MAX_BYTES >> 20),
        }
    }
}

impl std::error::Error for Unfit {}

impl Hint for Unfit {
    fn hint(&self) -> Option<String> {
        let hint = match self.problem {
            Problem::Kind(_) => "Remove it, or put a regular file in its place.",
            Problem::TooLarge => "Find out what filled it, and make it smaller.",
        };
        Some(hint.to_owned())
    }
}

fn unfit(problem: Problem) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Unfit { leads_to: None, problem })
}

/// The error for a file that is too large.
pub(super) fn too_large() -> io::Error {
    unfit(Problem::TooLarge)
}

/// Adds to an error where the link leads.
pub(super) fn found_at(path: &Path, error: io::Error) -> io::Error {
    match problem_of(&error) {
        Some(problem) => {
            io::Error::new(io::ErrorKind::InvalidData, Unfit { leads_to: Some(path.to_path_buf()), problem })
        }
        None => error,
    }
}

fn problem_of(error: &io::Error) -> Option<Problem> {
    Some(error.get_ref()?.downcast_ref::<Unfit>()?.problem)
}

/// Whether the file itself is the problem, and not the permission to read it.
pub(super) fn is_unfit(error: &io::Error) -> bool {
    problem_of(error).is_some()
}

/// Reads a regular file. A link is not followed.
pub(super) fn read(path: &Path) -> io::Result<Found> {
    // Opening a device can have an effect of its own, so look first.
    check(fs::symlink_metadata(path)?.file_type())?;
    let file = open(path, OpenOptions::new().read(true))?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    // The size may be wrong by now, so the reading has a limit of its own.
    (&file).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if metadata.len() > MAX_BYTES || bytes.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    Ok(Found { bytes, metadata, file })
}

/// Opens a regular file. A link is not followed, and nothing is waited for but the end of a lease.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match options.open(path) {
            // Another program has a lease on it, as we do for a moment when we replace it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                thread::sleep(TRY_AGAIN);
            }
            Err(error) => {
                // Opening a link or a pipe without a reader fails with a less helpful error, so check the kind first.
                check(fs::symlink_metadata(path)?.file_type())?;
                return Err(error);
            }
            Ok(file) => {
                // Check the file that was opened. It may not be the one that was there a moment ago.
                check(file.metadata()?.file_type())?;
                return Ok(file);
            }
        }
    }
}

fn check(kind: FileType) -> io::Result<()> {
    let name = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_block_device() => "a block device",
        _ => "something else",
    };
    Err(unfit(Problem::Kind(name)))
}
