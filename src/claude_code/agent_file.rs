//! Reads files that an agent names. Such a path can lead anywhere: to a pipe, to a device, to a file system that never answers.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use tokio::sync::Semaphore;

/// How long a file may take. A hook waits for it, and gives up after two seconds.
const PATIENCE: Duration = Duration::from_millis(500);

/// A thread whose file system never answers is lost. So there are never more of these threads than this.
static THREADS: Semaphore = Semaphore::const_new(16);

/// Runs this in a thread. `None` if it takes too long: then it is left behind.
pub(super) async fn in_time<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let reading = async {
        let thread = THREADS.acquire().await.ok()?;
        let read = move || {
            let _thread = thread;
            read()
        };
        tokio::task::spawn_blocking(read).await.ok()
    };
    tokio::time::timeout(PATIENCE, reading).await.ok().flatten()
}

/// Opens a regular file, and nothing else.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Opening a device can have an effect of its own, so look first. The opened file may be another one.
    check(&fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
