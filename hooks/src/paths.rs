//! Where one instance keeps its files.
//!
//! An instance is a state directory: `HOME` and the XDG variables choose it, so a scratch `HOME` is a scratch instance.
//! The socket is kept there and not in the runtime directory, because a hook may be started with an environment that
//! lacks the runtime directory's variable and must still find the same socket.

use std::path::{Path, PathBuf};

/// The files of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    config_dir: PathBuf,
    state_dir: PathBuf,
}

impl Paths {
    /// The instance of the current environment, or `None` where not even the password database knows a home directory.
    pub fn from_env() -> Option<Self> {
        let dirs = directories::ProjectDirs::from("", "", "answerback")?;
        Some(Self {
            config_dir: dirs.config_dir().to_path_buf(),
            // macOS has no state directory: local data is the closest thing to it.
            state_dir: dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_path_buf(),
        })
    }

    /// An instance in two directories of the caller's choice.
    pub fn new(config_dir: impl Into<PathBuf>, state_dir: impl Into<PathBuf>) -> Self {
        Self { config_dir: config_dir.into(), state_dir: state_dir.into() }
    }

    /// The directory of everything but the configuration; 0700.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// The user's configuration; may be absent.
    pub fn config_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }

    /// The unix socket of hooks and commands.
    pub fn socket(&self) -> PathBuf {
        self.state_dir.join("daemon.sock")
    }

    /// Where companion programs find the daemon: address and token.
    pub fn daemon_json(&self) -> PathBuf {
        self.state_dir.join("daemon.json")
    }

    /// The tokens, kept across restarts so that companion programs need not sign in again.
    pub fn tokens(&self) -> PathBuf {
        self.state_dir.join("tokens.json")
    }

    /// The key and the certificate for the local network, kept so that devices know the daemon again.
    pub fn tls(&self) -> PathBuf {
        self.state_dir.join("tls.json")
    }

    /// Held by the daemon for as long as it lives.
    pub fn instance_lock(&self) -> PathBuf {
        self.state_dir.join("daemon.lock")
    }

    /// Held by whoever starts a daemon, so that many hooks start one.
    pub fn start_lock(&self) -> PathBuf {
        self.state_dir.join("start.lock")
    }

    /// The SQLite database.
    pub fn store(&self) -> PathBuf {
        self.state_dir.join("asks.db")
    }

    /// The log of a daemon that was started by a hook.
    pub fn log(&self) -> PathBuf {
        self.state_dir.join("daemon.log")
    }
}
