//! Reads a file that a call would change, so that a person can see the difference.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A larger file is not compared. The call itself is shown all the same.
const MAX_FILE: u64 = 1024 * 1024;

/// The text of a file. `None` if there is none, or if it cannot be shown as text.
pub(super) async fn read(path: PathBuf) -> Option<String> {
    tokio::task::spawn_blocking(move || read_text(&path)).await.ok()?.ok()
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
