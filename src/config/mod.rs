//! The user's configuration: one file, every key optional, unknown keys refused.
//!
//! Nothing is read from the current directory, a project or the environment: a repository must not be able to redirect or
//! disarm the bridge.

mod edit;
mod notify;
mod store;

use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use answerback_hook::hint::Hint;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::ask::{Host, HostNameError, Kind, OnTimeout};

use crate::address::{HubUrl, LanAddress, PageOrigin, PublicUrl};
pub use edit::set_hub;
pub use notify::{Desktop, Notify, Ntfy, NtfyUrl, Priority, Secret, Webhook};
pub use store::StoreAddress;

/// "ASKME" on the keys of a phone.
pub const DEFAULT_PORT: u16 = 27563;

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// How long a question waits for an answer; 0 is as long as it takes.
    pub timeout_seconds: u32,
    /// What happens to a question when its time is up.
    pub on_timeout: OnTimeout,
    /// How long settled questions are kept; at least a day.
    pub retention_days: NonZeroU32,
    /// How much settled and open questions may take in the store, in MiB. Beyond it, the oldest settled ones go.
    pub history_mib: NonZeroU32,
    /// How much each person, device and machine may ask in a day, in MiB.
    pub asker_mib_per_day: NonZeroU32,
    /// How much is logged.
    pub log_level: LogLevel,
    /// Where a reverse proxy or a tunnel makes the page and the API reachable.
    pub public_url: Option<PublicUrl>,
    /// Where to listen for the local network; always with TLS.
    pub lan_address: Option<LanAddress>,
    /// The certificate for the network, with its chain, as PEM. Without it, the daemon signs its own.
    pub tls_certificate: Option<PathBuf>,
    /// The key of that certificate, as PEM.
    pub tls_key: Option<PathBuf>,
    /// Pages of other origins that may open the WebSocket, with a token.
    pub websocket_origins: Vec<PageOrigin>,
    /// The name of this daemon, if it is not the name of the machine.
    pub host_name: Option<HostName>,
    /// The daemon that has the questions of this machine. `answerback join` writes it.
    pub hub: Option<HubUrl>,
    /// A file with the authorities that may have signed the certificate of the hub, if not those that the system trusts.
    pub hub_ca: Option<PathBuf>,
    /// The store that this daemon shares with others. Without it, the daemon has a file of its own.
    pub store: Option<StoreAddress>,
    /// How people and programs are told that a question waits.
    pub notify: Notify,
    /// Who decides about plans and permissions.
    pub approve_from: ApproveFrom,
    /// What happens to permission requests.
    pub permissions: Permissions,
}

/// The name of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HostName(pub Host);

impl TryFrom<String> for HostName {
    type Error = HostNameError;

    fn try_from(name: String) -> Result<Self, HostNameError> {
        Host::named(&name).map(Self)
    }
}

/// The table `[permissions]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Permissions {
    /// What happens if nobody is at a terminal, as in `claude -p`.
    pub unattended: Unattended,
}

/// What happens to a permission request of a session without a person at a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unattended {
    /// The run waits until somebody decides in Answerback.
    Wait,
    /// Claude Code decides as without Answerback: it refuses, or asks its host.
    #[default]
    Native,
}

/// From where plans and permissions can be decided, beside the terminal of the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApproveFrom {
    /// From everywhere: commands, programs with a token, and every browser and device that is signed in.
    #[default]
    Anywhere,
    /// From paired devices only.
    Devices,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            port: DEFAULT_PORT,
            timeout_seconds: 0,
            on_timeout: OnTimeout::Native,
            retention_days: const { NonZeroU32::new(90).unwrap() },
            history_mib: const { NonZeroU32::new(4096).unwrap() },
            asker_mib_per_day: const { NonZeroU32::new(256).unwrap() },
            log_level: LogLevel::Info,
            public_url: None,
            lan_address: None,
            tls_certificate: None,
            tls_key: None,
            websocket_origins: Vec::new(),
            host_name: None,
            hub: None,
            hub_ca: None,
            store: None,
            notify: Notify::default(),
            approve_from: ApproveFrom::default(),
            permissions: Permissions::default(),
        }
    }
}

/// Why the configuration cannot be used.
#[derive(Debug)]
pub enum ConfigError {
    /// It cannot be read.
    Read(PathBuf, io::Error),
    /// It cannot be written.
    Write(PathBuf, io::Error),
    /// Other users can write to it.
    Foreign(PathBuf),
    /// It cannot be understood. The line itself is not shown: it may hold a secret.
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Self::Foreign(path) => write!(f, "other users can write to {}", path.display()),
            Self::Invalid { path, line, problem } => write!(f, "{}: line {line}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for ConfigError {}

/// The words of the parser for people who do not write Rust.
fn plain(problem: &str) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("expected u16", "expected a number from 0 to 65535"),
        ("expected a nonzero u32", "expected a number that is at least 1"),
        ("expected u32", "expected a number that is not negative"),
        ("unknown field", "there is no setting"),
        ("unknown variant", "there is no value"),
    ];
    WORDS.iter().fold(problem.to_owned(), |problem, (rust, plain)| problem.replace(rust, plain))
}

impl Hint for ConfigError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read(path, _) | Self::Write(path, _) => {
                format!("Look at the owner and the mode of {}.", path.display())
            }
            Self::Foreign(path) => format!("Make it yours alone, with `chmod go-w {}`.", path.display()),
            Self::Invalid { path, .. } => format!("Correct {}.", path.display()),
        })
    }
}

impl Config {
    /// Reads the file; without one, everything has its default.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        // Opening anything but a file, such as a pipe, might never end.
        let is_special = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        if is_special {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a file");
            return Err(ConfigError::Read(path.to_path_buf(), error));
        }
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ConfigError::Read(path.to_path_buf(), error)),
        };
        // It says which commands are run, so nobody else may have written it.
        let metadata = std::fs::metadata(path).map_err(|error| ConfigError::Read(path.to_path_buf(), error))?;
        let is_own = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
        if !is_own || metadata.mode() & 0o022 != 0 {
            return Err(ConfigError::Foreign(path.to_path_buf()));
        }
        Self::read(path, &text)
    }

    /// Reads the text of the file.
    fn read(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let invalid = |at: usize, problem: &str| {
            let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
            ConfigError::Invalid { path: path.to_path_buf(), line, problem: problem.to_owned() }
        };
        let config: Self = toml::from_str(text)
            .map_err(|error| invalid(error.span().map_or(0, |span| span.start), &plain(error.message())))?;
        let lan_port = config.lan_address.map(|address| address.socket().port());
        if config.port != 0 && lan_port == Some(config.port) {
            let at = text.find("lan_address").unwrap_or(0);
            return Err(invalid(at, "lan_address needs a port of its own, other than the one on 127.0.0.1"));
        }
        if config.hub.is_some() && config.store.is_some() {
            let at = text.find("hub").unwrap_or(0);
            return Err(invalid(at, "hub and store exclude each other: an edge leaves its questions to its hub"));
        }
        if config.hub_ca.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err(invalid(text.find("hub_ca").unwrap_or(0), "hub_ca is the path of a file, and begins with /"));
        }
        if let Some(problem) = config.tls_problem() {
            let at = ["tls_certificate", "tls_key"].into_iter().find_map(|key| text.find(key)).unwrap_or(0);
            return Err(invalid(at, problem));
        }
        let approves_by_button = [Kind::Plan, Kind::Permission].into_iter().any(|kind| config.notify.has_buttons(kind));
        if config.approve_from == ApproveFrom::Devices && approves_by_button {
            let problem = "with approve_from = \"devices\", buttons cannot decide about a plan or a permission";
            return Err(invalid(text.find("approve_from").unwrap_or(0), problem));
        }
        config.notify.check(config.public_url.is_some()).map_err(|(at, problem)| invalid(at, problem))?;
        Ok(config)
    }

    fn tls_problem(&self) -> Option<&'static str> {
        match (&self.tls_certificate, &self.tls_key) {
            (None, None) => None,
            (Some(_), Some(_)) if self.lan_address.is_none() => {
                Some("a certificate needs lan_address: where to listen")
            }
            (Some(certificate), Some(key)) if certificate.is_relative() || key.is_relative() => {
                Some("tls_certificate and tls_key need absolute paths")
            }
            (Some(_), Some(_)) => None,
            _ => Some("tls_certificate and tls_key belong together"),
        }
    }

    /// The certificate for the network, if the daemon is not to sign its own.
    pub fn certificate_files(&self) -> Option<(&Path, &Path)> {
        self.tls_certificate.as_deref().zip(self.tls_key.as_deref())
    }

    /// Whether the file holds secrets that other users of the machine can read.
    pub fn is_exposed(&self, path: &Path) -> bool {
        let holds_secrets =
            self.notify.holds_secrets() || self.store.as_ref().is_some_and(StoreAddress::holds_password);
        holds_secrets && std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o077 != 0)
    }

    /// How long a question waits; `None` is as long as it takes.
    pub fn timeout(&self) -> Option<SignedDuration> {
        (self.timeout_seconds > 0).then(|| SignedDuration::from_secs(self.timeout_seconds.into()))
    }

    /// How long settled questions are kept.
    pub fn retention(&self) -> SignedDuration {
        SignedDuration::from_hours(24 * i64::from(self.retention_days.get()))
    }

    /// How many bytes the store may take.
    pub fn history_bytes(&self) -> u64 {
        u64::from(self.history_mib.get()) << 20
    }

    /// How many bytes each asker may ask in a day.
    pub fn asker_bytes_per_day(&self) -> u64 {
        u64::from(self.asker_mib_per_day.get()) << 20
    }
}

#[cfg(test)]
mod tests;
