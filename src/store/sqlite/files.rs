//! Whether the files on disk are still the ones that SQLite writes to.
//!
//! SQLite keeps its files open and does not look at their names again. If somebody deletes, replaces or truncates them meanwhile,
//! commits go on "succeeding" into files that no later daemon will read. So the files are checked after each commit, before anybody
//! is told that it is done.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::store::StoreError;

/// The length of the header of SQLite's write-ahead log.
const WAL_HEADER: usize = 32;
/// Its first bytes, but for the last bit, which tells the order of bytes.
const WAL_MAGIC: [u8; 3] = [0x37, 0x7f, 0x06];

/// Tells a file from another one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file that has this name now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// One file, as it was when it was last looked at.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    id: FileId,
    length: u64,
}

/// The files of a store that is open.
#[derive(Debug)]
pub(super) struct Files {
    main: Seen,
    log: Seen,
    /// The log, kept open. If there are no file descriptors left, it can still be read.
    log_file: File,
    log_header: [u8; WAL_HEADER],
    /// Changes when another program commits. `None` if it could not be read.
    data_version: Option<i64>,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {what}", .path.display())]
pub(super) struct FileChanged {
    path: PathBuf,
    what: &'static str,
}

impl From<FileChanged> for StoreError {
    fn from(changed: FileChanged) -> Self {
        Self::Changed(changed.to_string())
    }
}

/// What a look at the files before a commit found, to compare with after it.
#[derive(Debug)]
pub(super) struct Before {
    /// Somebody truncated the log. SQLite itself may have done it, for another program.
    pub(super) log_was_truncated: bool,
}

impl Files {
    /// The files of a connection that is open.
    pub(super) fn of(connection: &Connection, path: &Path) -> io::Result<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = PathBuf::from(log);
        let log_file = File::open(&log)?;
        Ok(Self {
            log_header: read_header(&log_file)?,
            log_file,
            main: Seen::look(path)?,
            log: Seen::look(&log)?,
            data_version: data_version(connection),
        })
    }

    /// Which file the store is in.
    pub(super) fn main(&self) -> FileId {
        self.main.id
    }

    /// Looks before a commit.
    pub(super) fn before_commit(&mut self, connection: &Connection) -> Result<Before, FileChanged> {
        let main = self.main.look_again()?;
        let version = data_version(connection);
        // Another program may make it shorter with SQLite's help. Then SQLite knows of its commit. If SQLite cannot even tell, it is damage.
        if main.length < self.main.length && (version.is_none() || version == self.data_version) {
            return Err(self.main.changed("was truncated"));
        }
        self.main = main;
        self.data_version = version;
        let log = self.log.look_again()?;
        Ok(Before { log_was_truncated: log.length < self.log.length })
    }

    /// Looks after something could not be read.
    pub(super) fn check_whole(&mut self, connection: &Connection) -> Result<(), FileChanged> {
        let now = self.before_commit(connection)?;
        if now.log_was_truncated { Err(self.log.changed("was truncated")) } else { Ok(()) }
    }

    /// Looks after a commit.
    pub(super) fn after_commit(&mut self, before: &Before) -> Result<(), FileChanged> {
        self.main = self.main.look_again()?;
        let log = self.log.look_again()?;
        // A commit that changed nothing writes nothing, and the log may have been empty before.
        if log.length == 0 {
            return Ok(());
        }
        let header = read_header(&self.log_file).map_err(|_| self.log.changed("cannot be read"))?;
        // Another program may truncate it with SQLite's help. Then SQLite begins it anew, with another header.
        let begun_anew = header != self.log_header;
        if !header.starts_with(&WAL_MAGIC) || (before.log_was_truncated && !begun_anew) {
            return Err(self.log.changed("was truncated"));
        }
        self.log = log;
        self.log_header = header;
        Ok(())
    }
}

impl Seen {
    fn look(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let id = FileId { device: metadata.dev(), inode: metadata.ino() };
        Ok(Self { path: path.to_path_buf(), id, length: metadata.len() })
    }

    /// The same file, as it is now.
    fn look_again(&self) -> Result<Self, FileChanged> {
        match Self::look(&self.path) {
            Ok(now) if now.id == self.id => Ok(now),
            Ok(_) => Err(self.changed("was replaced")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.changed("was removed")),
            Err(_) => Err(self.changed("cannot be read")),
        }
    }

    fn changed(&self, what: &'static str) -> FileChanged {
        FileChanged { path: self.path.clone(), what }
    }
}

/// The header of the log; zeros if it has none yet.
fn read_header(log: &File) -> io::Result<[u8; WAL_HEADER]> {
    let mut header = [0; WAL_HEADER];
    match log.read_exact_at(&mut header, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok([0; WAL_HEADER]),
        read => read.map(|()| header),
    }
}

fn data_version(connection: &Connection) -> Option<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0)).ok()
}
