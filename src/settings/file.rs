//! The settings file itself: found behind its links, replaced whole or not at all, and never over somebody's edit.
//!
//! Others write this file too, Claude Code among them, and know nothing of our lock. So a replacement *exchanges* the new
//! file with what is there and then looks at what it got: if that is not what the edit was made from, both go back to
//! where they were and the edit is made again.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

/// As many as the operating system follows.
const MAX_LINKS: usize = 40;

/// A settings file, whether it is there yet or not.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
}

/// What is in the file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    metadata: Metadata,
}

impl Target {
    /// The file a path leads to through however many links. The links stay what they are.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        let mut path = std::path::absolute(path)?;
        for _ in 0..MAX_LINKS {
            match fs::read_link(&path) {
                Ok(link) => path = path.parent().unwrap_or(&path).join(link),
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                    return Ok(Self { path: real_path(&path)? });
                }
                Err(error) => return Err(error),
            }
        }
        Err(Errno::LOOP.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(super) fn read(&self) -> io::Result<Option<Found>> {
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata?,
        };
        // Anything else might never end, or never begin.
        if !metadata.is_file() {
            return Err(io::Error::other("this is not a file"));
        }
        match fs::read(&self.path) {
            Ok(bytes) => Ok(Some(Found { bytes, metadata })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How many of the directories above the file are not there.
    pub(super) fn missing_dirs(&self) -> usize {
        self.path.ancestors().skip(1).take_while(|dir| !dir.exists()).count()
    }

    pub(super) fn create_dirs(&self) -> io::Result<()> {
        fs::create_dir_all(self.dir())
    }

    /// Removes as many directories above the file, as far as they are empty.
    pub(super) fn remove_dirs(&self, count: usize) {
        for dir in self.path.ancestors().skip(1).take(count) {
            if fs::remove_dir(dir).is_err() {
                break;
            }
        }
    }

    /// Removes what a killed replacement left behind. Only with the lock.
    pub(super) fn tidy(&self) -> io::Result<()> {
        let prefix = self.temporary_prefix();
        let entries = match fs::read_dir(self.dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn temporary_prefix(&self) -> std::ffi::OsString {
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(self.path.file_name().unwrap_or_default());
        prefix.push(".answerback-");
        prefix
    }

    /// Puts these bytes in the place of what was found; false if something else is there by now, which then stays.
    pub(super) fn replace(&self, found: Option<&Found>, bytes: &[u8]) -> io::Result<bool> {
        let prefix = self.temporary_prefix();
        let mut builder = Builder::new();
        builder.prefix(&prefix);
        if found.is_none() {
            // Like any new file: what the umask leaves of this.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut new = builder.tempfile_in(self.dir())?;
        new.write_all(bytes)?;
        if let Some(found) = found {
            take_after(new.as_file(), &found.metadata)?;
        }
        new.as_file().sync_all()?;
        let done = match found {
            Some(found) => self.holds(found)? && self.exchange(new, bytes, found)?,
            None => done(new.persist_noclobber(&self.path).map(drop).map_err(|error| error.error))?,
        };
        self.sync()?;
        Ok(done)
    }

    fn exchange(&self, new: NamedTempFile, bytes: &[u8], found: &Found) -> io::Result<bool> {
        match exchange(new.path(), &self.path) {
            Ok(()) => {}
            // Not every file system can. What is left of the danger is the moment since `holds`.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return done(new.persist(&self.path).map(drop).map_err(|error| error.error));
            }
            Err(error) => return done(Err(error.into())),
        }
        // Whoever replaces a file leaves another inode, which shows without reading it; the sooner theirs is back, the
        // less anybody sees of this.
        let same_file = fs::symlink_metadata(new.path())?.ino() == found.metadata.ino();
        if same_file && fs::read(new.path())? == found.bytes {
            return Ok(true);
        }
        let mut put = bytes.to_vec();
        loop {
            let mut theirs = File::open(new.path())?;
            done(exchange(new.path(), &self.path).map_err(io::Error::from))?;
            if fs::read(new.path())? == put {
                return Ok(false);
            }
            // Somebody has written over what we had put there. That is newer still, and goes back in its turn.
            put.clear();
            theirs.read_to_end(&mut put)?;
        }
    }

    /// Removes the file if it is still what was found.
    pub(super) fn remove(&self, found: &Found) -> io::Result<bool> {
        if !self.holds(found)? {
            return Ok(false);
        }
        self.set_aside(found)
    }

    fn set_aside(&self, found: &Found) -> io::Result<bool> {
        let aside = Builder::new().prefix(&self.temporary_prefix()).tempfile_in(self.dir())?.into_temp_path();
        if !done(fs::rename(&self.path, &aside))? {
            return Ok(false);
        }
        let removed = fs::read(&aside)? == found.bytes;
        if !removed {
            // Somebody wrote in between: back with it, unless there is something newer already.
            done(aside.persist_noclobber(&self.path).map_err(|error| error.error))?;
        }
        self.sync()?;
        Ok(removed)
    }

    fn holds(&self, found: &Found) -> io::Result<bool> {
        Ok(self.read()?.is_some_and(|now| now.bytes == found.bytes))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.dir())?.sync_all()
    }
}

/// Whether it was done, or another writer was in the way, whose file came or went.
fn done(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The path without links, of which the end need not be there.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match (fs::canonicalize(path), path.parent(), path.file_name()) {
        (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(real_path(parent)?.join(name))
        }
        (real, ..) => real,
    }
}

/// The same owner and mode, as far as we may.
fn take_after(file: &File, metadata: &Metadata) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (metadata.uid(), metadata.gid()) {
        // Only root may give files away; whoever may not, becomes the owner.
        let _ = fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> Result<(), Errno> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(dir: &tempfile::TempDir) -> Target {
        let target = Target::find(&dir.path().join("settings.json")).unwrap();
        fs::write(target.path(), "old").unwrap();
        target
    }

    fn names(dir: &tempfile::TempDir) -> Vec<std::ffi::OsString> {
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    fn text(target: &Target) -> Option<String> {
        target.read().unwrap().map(|found| String::from_utf8(found.bytes).unwrap())
    }

    #[test]
    fn what_was_found_is_replaced_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let target = target(&dir);
        assert!(target.replace(target.read().unwrap().as_ref(), b"new").unwrap());
        assert_eq!(text(&target).unwrap(), "new");
        assert!(target.remove(&target.read().unwrap().unwrap()).unwrap());
        assert!(target.replace(None, b"again").unwrap());
        assert_eq!((text(&target).unwrap().as_str(), names(&dir)), ("again", vec!["settings.json".into()]));
    }

    #[test]
    fn what_somebody_wrote_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let target = target(&dir);
        let found = target.read().unwrap().unwrap();
        fs::write(target.path(), "theirs").unwrap();
        assert!(!target.replace(Some(&found), b"new").unwrap());
        assert!(!target.replace(None, b"new").unwrap());
        assert!(!target.remove(&found).unwrap());
        // In the moment after we looked.
        let mut new = NamedTempFile::new_in(dir.path()).unwrap();
        new.write_all(b"new").unwrap();
        assert!(!target.exchange(new, b"new", &found).unwrap());
        assert!(!target.set_aside(&found).unwrap());
        assert_eq!((text(&target).unwrap().as_str(), names(&dir)), ("theirs", vec!["settings.json".into()]));
        fs::remove_file(target.path()).unwrap();
        assert!(!target.replace(Some(&found), b"new").unwrap());
        assert_eq!(text(&target), None);
    }

    #[test]
    fn what_a_killed_run_left_is_tidied_up_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let target = target(&dir);
        let (_, left) =
            Builder::new().prefix(&target.temporary_prefix()).tempfile_in(dir.path()).unwrap().keep().unwrap();
        for name in [".settings.json.swp", "settings.json.answerback-1", ".settings.local.json.answerback-1"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        target.tidy().unwrap();
        assert_eq!((names(&dir).len(), left.exists()), (4, false));
    }
}
