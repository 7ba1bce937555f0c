//! Who gets how many of the file descriptors there are. Each connection is one, and a hook keeps its own for as long as its
//! question waits. Without a share for everybody else, waiting hooks would keep out the people who could answer them.

use rustix::process::{Resource, getrlimit};
use tokio::sync::Semaphore;

/// What the daemon needs for itself: 18 for the store, its listeners and its log, and a few for what it reads and sends now and then.
const OWN: usize = 24;
const MAX_TCP: usize = 2048;
/// Fewer from the network: a TLS connection needs more memory, and nobody has so many phones.
const MAX_LAN: usize = 512;
/// Commands use the socket, as hooks do.
const MAX_COMMANDS: usize = 64;

/// How many connections of each kind there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) tcp: usize,
    pub(super) lan: usize,
    /// Hooks that wait.
    pub(super) hooks: usize,
}

impl Shares {
    /// As the limit of this process is now.
    pub(super) fn of_this_process() -> Self {
        let files = getrlimit(Resource::Nofile).current;
        Self::of(files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX)))
    }

    fn of(files: usize) -> Self {
        let files = files.saturating_sub(OWN);
        let tcp = (files / 4).clamp(1, MAX_TCP);
        let lan = (files / 6).clamp(1, MAX_LAN);
        let commands = (files / 8).clamp(1, MAX_COMMANDS);
        let hooks = files.saturating_sub(tcp + lan + commands).max(1);
        Self { tcp, lan, hooks: hooks.min(Semaphore::MAX_PERMITS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_for_everybody() {
        assert_eq!(Shares::of(64), Shares { tcp: 10, lan: 6, hooks: 19 });
        assert_eq!(Shares::of(1024), Shares { tcp: 250, lan: 166, hooks: 520 });
        assert_eq!(Shares::of(20_000), Shares { tcp: 2048, lan: 512, hooks: 17_352 });
        for files in [0, 1, 20, 24, 32, 48] {
            let Shares { tcp, lan, hooks } = Shares::of(files);
            assert!(tcp > 0 && lan > 0 && hooks > 0, "{files}");
        }
        let unlimited = Shares::of(usize::MAX);
        assert_eq!((unlimited.tcp, unlimited.lan), (MAX_TCP, MAX_LAN));
    }

    #[test]
    fn the_shares_fit_into_the_limit() {
        for files in 32..5000 {
            let Shares { tcp, lan, hooks } = Shares::of(files);
            assert!(OWN + tcp + lan + hooks < files, "{files}");
        }
    }
}
