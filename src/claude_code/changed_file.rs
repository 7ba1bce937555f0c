//! Reads a file that a call would change, so that a person can see the difference.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A larger file is not compared. The call itself is shown all the same.
const MAX_FILE: u64 = 1024 * 1024;

/// A file that a call would change, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CurrentFile {
    /// There is no such file.
    Absent,
    /// This text is in it.
    Text(String),
    /// There may be a file, but what is in it cannot be shown.
    Unseen,
}

/// Reads a file.
pub(super) async fn read(path: PathBuf) -> CurrentFile {
    tokio::task::spawn_blocking(move || look(&path)).await.unwrap_or(CurrentFile::Unseen)
}

fn look(path: &Path) -> CurrentFile {
    match read_text(path) {
        Ok(text) => CurrentFile::Text(text),
        // If the path is not absolute, nobody knows from where it counts.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_absolute() => CurrentFile::Absent,
        Err(_) => CurrentFile::Unseen,
    }
}

/// The path comes from a client, so this reads only a regular file of a limited size.
fn read_text(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_that_is_not_there_is_absent() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        assert_eq!(look(&file("text", b"one\n")), CurrentFile::Text("one\n".to_owned()));
        assert_eq!(look(&dir.path().join("nothing")), CurrentFile::Absent);
        for unseen in [
            file("binary", b"\xff\xfe"),
            file("large", &vec![b'a'; 1024 * 1024 + 1]),
            dir.path().to_owned(),
            file("no-directory", b"").join("below"),
            PathBuf::from("relative"),
        ] {
            assert_eq!(look(&unseen), CurrentFile::Unseen, "{}", unseen.display());
        }
    }
}
