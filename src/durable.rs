//! Files that a loss of power cannot halve or take back. A reader finds the old file or the new one, whole, and what is there when a
//! function returns is there after a crash.
//!
//! A name is part of its directory, not of its file. So a file that is renamed into place, or a directory that was made, is on disk only
//! once the directory above it is, too.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Puts a file with these bytes in the place of whatever was there, for its owner alone, whatever the umask.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_dir(dir)
}

/// Brings the names in a directory to the disk.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems cannot sync a directory. There is nothing more to be done then.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// Makes a directory with `make`, which also makes what is missing above it, and brings all their names to the disk.
pub fn create_dirs(dir: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
    make(dir)?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_dir)
}

/// Brings the name of a directory to the disk, and the names of those above it as far as we may open them. For a directory that
/// somebody made who could not wait for the disk.
pub fn sync_above(dir: &Path) {
    for above in dir.ancestors().skip(1) {
        if sync_dir(above).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "a longer text than the next").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        // What cannot be replaced stays, and nothing is left beside it.
        fs::create_dir(dir.path().join("dir")).unwrap();
        assert!(write(&dir.path().join("dir"), b"new").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn directories_are_made_where_they_are_missing() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        create_dirs(&deep, |dir| fs::create_dir_all(dir)).unwrap();
        create_dirs(&deep, |dir| fs::create_dir_all(dir)).unwrap();
        assert!(deep.is_dir());
        sync_above(&deep);
    }
}
