//! The settings file itself: found behind its links, replaced whole or not at all, and never over somebody's edit.
//!
//! Others write this file too, Claude Code among them, and know nothing of our lock. So a replacement *exchanges* the new
//! file with what is there and then looks at what it got: if that is not what the edit was made from, both go back to
//! where they were and the edit is made again.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile, TempPath};

use crate::durable;

use super::SettingsError;
use super::attributes;
use super::lease::Lease;
use super::regular::{self, Found};

/// As many as the operating system follows.
const MAX_LINKS: usize = 40;

/// A settings file, whether it is there yet or not.
#[derive(Debug)]
pub(super) struct Target {
    /// The name that the caller gave.
    name: PathBuf,
    path: PathBuf,
}

impl Target {
    /// The file a path leads to through however many links. The links stay what they are.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        let name = std::path::absolute(path)?;
        let mut path = name.clone();
        for _ in 0..MAX_LINKS {
            match fs::read_link(&path) {
                Ok(link) => path = path.parent().unwrap_or(&path).join(link),
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                    return Ok(Self { path: real_path(&path)?, name });
                }
                Err(error) => return Err(error),
            }
        }
        Err(Errno::LOOP.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name that the caller gave, which may be a link.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(super) fn read(&self) -> io::Result<Option<Found>> {
        match regular::read(&self.path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if self.name == self.path => Err(error),
            Err(error) => Err(regular::found_at(&self.path, error)),
        }
    }

    /// How many of the directories above the file are not there.
    pub(super) fn missing_dirs(&self) -> usize {
        self.path.ancestors().skip(1).take_while(|dir| !dir.exists()).count()
    }

    pub(super) fn create_dirs(&self) -> io::Result<()> {
        durable::create_dirs(self.dir(), |dir| fs::create_dir_all(dir))
    }

    /// Removes as many directories above the file, as far as they are empty.
    pub(super) fn remove_dirs(&self, count: usize) {
        for dir in self.path.ancestors().skip(1).take(count) {
            if fs::remove_dir(dir).is_err() {
                break;
            }
        }
    }

    /// Removes what a killed replacement left behind. Only with the lock. It may be a stranger's edit that was to be put back, so
    /// `keep` gets to see it first.
    ///
    /// Our temporary files are small regular files. Anything else of that name is neither read nor removed: it may have come
    /// with a repository and lead anywhere, or it may be what a stranger put in the place of the settings just before we were
    /// killed, and then it is nowhere else. Only a person can tell, so a person is told.
    pub(super) fn tidy(&self, keep: impl Fn(&[u8]) -> io::Result<()>) -> Result<(), SettingsError> {
        let failed = |path: &Path, error| SettingsError::Io { doing: "tidy up", path: path.to_path_buf(), error };
        let prefix = self.temporary_prefix();
        let entries = match fs::read_dir(self.dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|error| failed(self.dir(), error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| failed(self.dir(), error))?;
            if !entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                continue;
            }
            let path = entry.path();
            match regular::read(&path) {
                Err(error) if regular::is_unfit(&error) => return Err(SettingsError::Leftover { path, error }),
                found => found.and_then(|found| keep(&found.bytes)).map_err(|error| failed(&path, error))?,
            }
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
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
            take_after(new.as_file(), found)?;
        }
        new.as_file().sync_all()?;
        let done = match found {
            Some(found) => self.holds(found)? && self.exchange(new, found)?,
            None => done(new.persist_noclobber(&self.path).map(drop).map_err(|error| error.error))?,
        };
        self.sync()?;
        Ok(done)
    }

    fn exchange(&self, new: NamedTempFile, found: &Found) -> io::Result<bool> {
        // Nobody may read our file before it is certain that it stays. What they write next would be based on it.
        let lease = Lease::take(new.as_file());
        match exchange(new.path(), &self.path) {
            Ok(()) => {}
            // Not every file system can exchange two files. Then compare once more, and rename at once.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                drop(lease);
                let same = self.read()?.is_some_and(|now| now.bytes == found.bytes);
                return Ok(same && done(new.persist(&self.path).map(drop).map_err(|error| error.error))?);
            }
            Err(error) => return done(Err(error.into())),
        }
        let mut got = inode_at(new.path())?;
        if got == found.metadata.ino() && is_at(new.path(), found) {
            return Ok(true);
        }
        // Somebody wrote in between. Theirs goes back; and should somebody have put another file over ours meanwhile, that
        // is newer still and goes back in its turn.
        let mut put = new.as_file().metadata()?.ino();
        loop {
            done(exchange(new.path(), &self.path).map_err(io::Error::from))?;
            let displaced = inode_at(new.path())?;
            if displaced == put {
                break;
            }
            put = std::mem::replace(&mut got, displaced);
        }
        if lease.is_some()
            && let Some(theirs) = self.read()?
        {
            // A reader that waits for the lease has our file open already, and must not read our text in it.
            new.as_file().set_len(0)?;
            new.as_file().write_all_at(&theirs.bytes, 0)?;
        }
        Ok(false)
    }

    /// Removes the file if it is still what was found.
    pub(super) fn remove(&self, found: &Found) -> io::Result<bool> {
        let aside = Builder::new().prefix(&self.temporary_prefix()).tempfile_in(self.dir())?.into_temp_path();
        Ok(self.holds(found)? && self.set_aside(aside, found)?)
    }

    fn set_aside(&self, aside: TempPath, found: &Found) -> io::Result<bool> {
        if !done(fs::rename(&self.path, &aside))? {
            return Ok(false);
        }
        let removed = is_at(&aside, found);
        if !removed {
            // Somebody wrote in between. Put their file back, unless there is a newer one already.
            done(aside.persist_noclobber(&self.path).map_err(|error| error.error))?;
        }
        self.sync()?;
        Ok(removed)
    }

    /// Whether the file still looks as it did when it was read. This is a quick first check. The bytes are compared after the exchange.
    fn holds(&self, found: &Found) -> io::Result<bool> {
        // The last two also change with the mode, the attributes and the number of names.
        let look = |m: &Metadata| (m.dev(), m.ino(), m.len(), (m.mtime(), m.mtime_nsec()), (m.ctime(), m.ctime_nsec()));
        match fs::symlink_metadata(&self.path) {
            Ok(now) => Ok(look(&now) == look(&found.metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        durable::sync_dir(self.dir())
    }
}

/// False if another writer was in the way, and its file appeared or disappeared.
fn done(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a file with these bytes is there. What cannot be read is another one.
fn is_at(path: &Path, found: &Found) -> bool {
    regular::read(path).is_ok_and(|now| now.bytes == found.bytes)
}

fn inode_at(path: &Path) -> io::Result<u64> {
    Ok(fs::symlink_metadata(path)?.ino())
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

/// The same attributes and mode, and the same owner and group as far as we may.
fn take_after(file: &File, found: &Found) -> io::Result<()> {
    let (ours, theirs) = (file.metadata()?, &found.metadata);
    let mut mode = theirs.mode() & 0o7777;
    if (ours.uid(), ours.gid()) != (theirs.uid(), theirs.gid()) {
        // Only root may give files away. Otherwise the user who runs this becomes the owner.
        let is_given = fchown(file, Some(theirs.uid()), Some(theirs.gid())).is_ok();
        if !is_given && fchown(file, None, Some(theirs.gid())).is_err() {
            // The group could not be kept either. The new group may do no more than everybody.
            mode &= !0o070 | ((mode & 0o007) << 3);
        }
    }
    // With an access control list, the mode has its mask in the place of the group. Without the list it would let the group in,
    // so the list comes first.
    attributes::copy(&found.file, file)?;
    file.set_permissions(fs::Permissions::from_mode(mode))
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
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

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
        let new = NamedTempFile::new_in(dir.path()).unwrap();
        assert!(!target.exchange(new, &found).unwrap());
        let aside = NamedTempFile::new_in(dir.path()).unwrap().into_temp_path();
        assert!(!target.set_aside(aside, &found).unwrap());
        assert_eq!((text(&target).unwrap().as_str(), names(&dir)), ("theirs", vec!["settings.json".into()]));
        fs::remove_file(target.path()).unwrap();
        assert!(!target.replace(Some(&found), b"new").unwrap());
        assert_eq!(text(&target), None);
    }

    /// Otherwise what they write next would be made of ours, and their last edit would be lost.
    #[test]
    fn a_reader_at_that_moment_reads_a_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let target = target(&dir);
        if Lease::take(NamedTempFile::new_in(dir.path()).unwrap().as_file()).is_none() {
            eprintln!("skipped: the file system of {} has no leases", dir.path().display());
            return;
        }
        let found = target.read().unwrap().unwrap();
        fs::write(target.path(), "theirs").unwrap();
        let over = AtomicBool::new(false);
        let reads = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                // As others read it, who wait for the end of the lease and have our file open then; and as we do.
                let reads = std::iter::repeat_with(|| (fs::read_to_string(target.path()).unwrap(), text(&target)));
                let reads = reads.take_while(|_| !over.load(Ordering::Relaxed));
                let theirs = ("theirs".to_owned(), Some("theirs".to_owned()));
                reads.inspect(|texts| assert_eq!(*texts, theirs)).count()
            });
            for _ in 0..500 {
                let mut new = NamedTempFile::new_in(dir.path()).unwrap();
                new.write_all(b"new").unwrap();
                assert!(!target.exchange(new, &found).unwrap());
            }
            over.store(true, Ordering::Relaxed);
            reader.join().unwrap()
        });
        assert!(reads > 10);
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
        let kept = std::cell::RefCell::new(Vec::new());
        let keep = |left: &[u8]| {
            kept.borrow_mut().push(left.to_vec());
            Ok(())
        };
        target.tidy(keep).unwrap();
        assert_eq!(kept.borrow().len(), 1, "what it held was not shown");
        assert_eq!((names(&dir).len(), left.exists()), (4, false));
    }
}
