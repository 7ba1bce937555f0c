//! Where one instance keeps its files.
//!
//! An instance is a state directory: `HOME` and the XDG variables choose it, so a scratch `HOME` is a scratch instance.
//! The socket is kept there and not in the runtime directory, because a hook may be started with an environment that
//! lacks the runtime directory's variable and must still find the same socket.

#[cfg(target_os = "linux")]
use std::env;
use std::path::{Path, PathBuf};

/// What our directories are called.
const NAME: &str = "answerback";

/// The files of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    config_dir: PathBuf,
    state_dir: PathBuf,
}

impl Paths {
    /// The instance of the current environment, or `None` where not even the password database knows a home directory.
    pub fn from_env() -> Option<Self> {
        Self::from_variables().or_else(Self::from_directories)
    }

    /// What [`from_directories`](Self::from_directories) finds in the usual case, for a third of what the hook costs otherwise: the crate
    /// looks for many more directories, each of which takes a walk through the whole environment.
    #[cfg(target_os = "linux")]
    fn from_variables() -> Option<Self> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME")?;
        let dir = |name, usual| absolute(name).unwrap_or_else(|| home.join(usual)).join(NAME);
        Some(Self::new(dir("XDG_CONFIG_HOME", ".config"), dir("XDG_STATE_HOME", ".local/state")))
    }

    /// Other systems have rules of their own.
    #[cfg(not(target_os = "linux"))]
    fn from_variables() -> Option<Self> {
        None
    }

    fn from_directories() -> Option<Self> {
        let dirs = directories::ProjectDirs::from("", "", NAME)?;
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

    /// The processes of agents, kept across restarts so that an agent is not taken for a person after one.
    pub fn agents(&self) -> PathBuf {
        self.state_dir.join("agents.json")
    }

    /// The key and the certificate for the local network, kept so that devices know the daemon again.
    pub fn tls(&self) -> PathBuf {
        self.state_dir.join("tls.json")
    }

    /// The host token of an edge.
    pub fn host_token(&self) -> PathBuf {
        self.state_dir.join("host.json")
    }

    /// The certificate of the hub of an edge, if no authority has signed it.
    pub fn hub_certificate(&self) -> PathBuf {
        self.state_dir.join("hub.der")
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

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;

    /// This test runs once as it is, and then as a child with other environments: see below.
    #[test]
    fn both_ways_find_the_same() {
        if let Some(found) = Paths::from_variables() {
            assert_eq!(Some(found), Paths::from_directories());
        } else {
            assert!(env::var_os("EXPECT_SHORT_WAY").is_none(), "the short way found nothing");
        }
    }

    #[test]
    fn both_ways_find_the_same_in_every_environment() {
        let environments: [(bool, &[(&str, &str)]); 7] = [
            (true, &[("HOME", "/home/me")]),
            (true, &[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "/etc/me"), ("XDG_STATE_HOME", "/var/me/")]),
            (true, &[("HOME", "/home/me/"), ("XDG_CONFIG_HOME", "relative"), ("XDG_STATE_HOME", "")]),
            (true, &[("HOME", "/"), ("XDG_DATA_HOME", "/data")]),
            // In these, the rules of the crate decide.
            (false, &[("HOME", "")]),
            (false, &[("HOME", "relative")]),
            (false, &[]),
        ];
        for (is_usual, environment) in environments {
            let expected = (is_usual && cfg!(target_os = "linux")).then_some(("EXPECT_SHORT_WAY", "1"));
            let output = Command::new(env::current_exe().unwrap())
                .args(["--exact", "paths::tests::both_ways_find_the_same"])
                .env_clear()
                .envs(environment.iter().copied().chain(expected))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{environment:?}: {said}");
        }
    }
}
