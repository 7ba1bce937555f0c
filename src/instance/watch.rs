//! Notices that somebody removes the files of an instance. The kernel reports it, so nothing is polled.

#[cfg(target_os = "linux")]
use std::io;
use std::path::Path;
use std::time::Duration;

/// A removal is often the first of several (`rm -rf`). Wait for the rest before making anything again.
const SETTLE: Duration = Duration::from_millis(250);
/// How often to look anyway. The kernel does not report everything, such as a renamed directory further up.
const SLOW_LOOK: Duration = Duration::from_secs(60);

/// A watch on the directory of an instance.
#[derive(Debug)]
pub struct Watch {
    /// The reports of the kernel; `None` if it does not watch.
    #[cfg(target_os = "linux")]
    events: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

impl Watch {
    /// Begins to watch. Must be called in a runtime.
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    pub fn begin(dir: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let begin = || -> io::Result<_> {
            let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
            add_watch(&events, dir, flags | WatchFlags::ONLYDIR)?;
            // SAFETY: an `OwnedFd` has the same descriptor for its whole life, and keeps it open until the registration is gone.
            Ok(unsafe { tokio::io::unix::AsyncFd::register(events) }?)
        };
        let events = begin();
        if let Err(error) = &events {
            tracing::warn!(%error, "the kernel does not watch the state directory: it is looked at once a minute");
        }
        Self { events: events.ok() }
    }

    /// Elsewhere there is only the slow look.
    #[cfg(not(target_os = "linux"))]
    pub fn begin(_: &Path) -> Self {
        Self {}
    }

    /// Returns when it is time to look at the files again.
    pub async fn changed(&self) {
        tokio::select! {
            () = self.told() => tokio::time::sleep(SETTLE).await,
            () = tokio::time::sleep(SLOW_LOOK) => {}
        }
    }

    #[cfg(target_os = "linux")]
    async fn told(&self) {
        let Some(watched) = &self.events else { return std::future::pending().await };
        let mut events = [0; 4096];
        loop {
            let Ok(mut ready) = watched.readable().await else { return std::future::pending().await };
            // What happened is seen on the files themselves.
            match ready.try_io(|fd| Ok(rustix::io::read(fd, &mut events)?)) {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the state directory cannot be watched");
                    return std::future::pending().await;
                }
                Err(_would_block) => {}
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    async fn told(&self) {
        std::future::pending().await
    }
}
