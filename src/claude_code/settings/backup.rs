//! Copies of settings files from before our edits. They are kept in the state directory, so nothing of ours is left in a project.
//!
//! Each settings file has a directory here with a lock, a record and copies. Copies are named by what is in them and are
//! on disk before the record that names them, and the record before the file changes: whatever moment the power fails in,
//! the record tells the truth about the file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use answerback_hook::paths::Paths;
use answerback_hook::start::create_state_dir;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::durable;

use super::regular;

/// Remembered states of a file; older ones are forgotten.
const MAX_WRITTEN: usize = 16;

/// The prefix of copies that no record refers to.
const FOUND: &str = "found-";

/// What we did to a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Which file.
    path: String,
    /// The copy of what was there before us; none where there was no file.
    original: Option<String>,
    /// The hashes of the texts that we alone made from the original. Only from these may `uninstall` go back to it.
    written: Vec<String>,
    /// How many directories above the file were made by us.
    created_dirs: usize,
}

/// A file's content before an edit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether an entry of ours is in it already.
    pub(super) has_ours: bool,
}

/// What is kept of one settings file.
#[derive(Debug)]
pub(super) struct Backup {
    dir: PathBuf,
    path: String,
}

/// A backup, locked against other runs of this program.
#[derive(Debug)]
pub(super) struct Locked {
    backup: Backup,
    _lock: File,
}

/// The files with a record, the newest first. In this order a directory that we made is empty by the time it is removed.
pub(super) fn recorded(paths: &Paths) -> Vec<PathBuf> {
    let dirs = fs::read_dir(paths.state_dir().join("backups")).into_iter().flatten().flatten();
    let mut files: Vec<_> = dirs
        .filter_map(|dir| {
            let backup = Backup { dir: dir.path(), path: String::new() };
            let written = fs::metadata(backup.dir.join("record.json")).and_then(|record| record.modified()).ok()?;
            Some((written, PathBuf::from(backup.record()?.path)))
        })
        .collect();
    files.sort();
    files.into_iter().rev().map(|(_, file)| file).collect()
}

impl Backup {
    pub(super) fn of(target: &Path, paths: &Paths) -> Self {
        let name = &hash(target.as_os_str().as_encoded_bytes())[..32];
        Self { dir: paths.state_dir().join("backups").join(name), path: target.display().to_string() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The record, if there is one that can be read.
    pub(super) fn record(&self) -> Option<Record> {
        serde_json::from_slice(&regular::read(&self.dir.join("record.json")).ok()?.bytes).ok()
    }

    /// The original that these bytes were made from by us alone: its bytes, or `None` if there was no file.
    pub(super) fn original_of(&self, bytes: &[u8]) -> Option<(Option<Vec<u8>>, usize)> {
        let record = self.record().filter(|record| record.written.contains(&hash(bytes)))?;
        let original = match record.original {
            None => None,
            // A copy that was damaged or changed must not be restored.
            Some(name) => {
                let copy = regular::read(&self.dir.join(&name)).ok()?.bytes;
                if copy_name(&copy) != name {
                    return None;
                }
                Some(copy)
            }
        };
        Some((original, record.created_dirs))
    }

    /// Waits until no other run of this program works on this file.
    pub(super) fn lock(self) -> io::Result<Locked> {
        durable::create_dirs(&self.dir, create_state_dir)?;
        let mut options = OpenOptions::new();
        let lock = regular::open(&self.lock_file(), options.write(true).create(true).truncate(false).mode(0o600))?;
        lock.lock()?;
        Ok(Locked { backup: self, _lock: lock })
    }
}

impl std::ops::Deref for Locked {
    type Target = Backup;

    fn deref(&self) -> &Backup {
        &self.backup
    }
}

impl Locked {
    /// Notes that `old` is about to become `new`, and tells where the copy of `old` is.
    pub(super) fn note(&self, old: Option<Old<'_>>, new: &[u8], missing_dirs: usize) -> io::Result<Option<PathBuf>> {
        let copy = old.as_ref().map(|old| self.keep(old.bytes)).transpose()?;
        let known = self.record();
        let mut record = match (known, &old) {
            (Some(record), Some(Old { has_ours: true, .. })) => record,
            (known, _) => {
                // A run that was killed may have made the directories already.
                let made_before = known.filter(|_| old.is_none()).map_or(0, |record| record.created_dirs);
                let original = old.as_ref().map(|old| copy_name(old.bytes));
                let created_dirs = missing_dirs.max(made_before);
                Record { path: self.path.clone(), original, written: Vec::new(), created_dirs }
            }
        };
        match old {
            // Somebody else's change, or an entry we do not remember: giving back the original would undo it.
            Some(Old { bytes, has_ours: true }) if !record.written.contains(&hash(bytes)) => record.written.clear(),
            _ => record.written.push(hash(new)),
        }
        let surplus = record.written.len().saturating_sub(MAX_WRITTEN);
        record.written.drain(..surplus);
        self.write("record.json", serde_json::to_string_pretty(&record)?.as_bytes())?;
        let original = record.original.map(|name| self.dir.join(name));
        self.forget_all_but(&[&copy, &original])?;
        Ok(copy)
    }

    /// Keeps what a killed run left beside the file: it may be somebody's edit, and is nowhere else.
    pub(super) fn keep_found(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(&format!("{FOUND}{}", copy_name(bytes)), bytes)
    }

    /// Makes a copy of these bytes.
    pub(super) fn keep(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let name = copy_name(bytes);
        self.write(&name, bytes)?;
        Ok(self.dir.join(name))
    }

    /// Makes a copy of these bytes, and removes the earlier copies that no record needs.
    pub(super) fn keep_latest(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let copy = self.keep(bytes)?;
        let original = self.record().and_then(|record| record.original).map(|name| self.dir.join(name));
        self.forget_all_but(&[&Some(copy.clone()), &original])?;
        Ok(copy)
    }

    /// Removes the record and all copies but this one.
    pub(super) fn close(&self, copy: &Option<PathBuf>) -> io::Result<()> {
        match fs::remove_file(self.dir.join("record.json")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.forget_all_but(&[copy])
    }

    fn forget_all_but(&self, kept: &[&Option<PathBuf>]) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), Some(entry.path()));
            let is_found = name.as_encoded_bytes().starts_with(FOUND.as_bytes());
            if name != "lock" && name != "record.json" && !is_found && !kept.contains(&&path) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        durable::write(&self.dir.join(name), bytes)
    }
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn copy_name(bytes: &[u8]) -> String {
    format!("{}.json", &hash(bytes)[..16])
}
