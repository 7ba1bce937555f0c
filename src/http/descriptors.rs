//! Divides the file descriptors of this process. Each connection needs one, and a hook keeps its connection for as long as its question
//! waits. Without a share for everybody else, waiting hooks would shut out the people who could answer them.

use rustix::process::{Resource, getrlimit};
use tokio::sync::Semaphore;

/// The daemon's own descriptors: 18 for the store, the listeners and the log, and a few for files and requests now and then.
const OWN: usize = 24;
const MAX_TCP: usize = 2048;
/// The network gets fewer, because a TLS connection needs more memory and nobody has this many phones.
const MAX_LAN: usize = 512;
/// Commands use the socket, as hooks do. So hooks must leave some connections to them.
const MAX_COMMANDS: usize = 64;

/// How many connections of each kind there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(super) tcp: usize,
    pub(super) lan: usize,
    /// Parked calls of hooks.
    pub(crate) hooks: usize,
}

impl Shares {
    /// Divides the current limit of this process.
    pub(crate) fn of_this_process() -> Self {
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
    fn everybody_gets_a_share() {
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
