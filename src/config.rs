//! The user's configuration: one file, every key optional, unknown keys refused.
//!
//! Nothing is read from the current directory, a project or the environment: a repository must not be able to redirect or
//! disarm the bridge.

use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use serde::Deserialize;

use crate::address::{LanAddress, PublicUrl};
use crate::ask::OnTimeout;

/// "ASKME" on a telephone's keys.
pub const DEFAULT_PORT: u16 = 27563;

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// How long a question waits for an answer; 0 is as long as it takes.
    pub timeout_seconds: u32,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// How long settled questions are kept; at least a day.
    pub retention_days: NonZeroU32,
    /// How much is logged.
    pub log_level: LogLevel,
    /// Where a reverse proxy or a tunnel makes the page and the API reachable.
    pub public_url: Option<PublicUrl>,
    /// Where to listen for the local network; always with TLS.
    pub lan_address: Option<LanAddress>,
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
            log_level: LogLevel::Info,
            public_url: None,
            lan_address: None,
        }
    }
}

/// Why the configuration cannot be used.
#[derive(Debug)]
pub enum ConfigError {
    /// It cannot be read.
    Read(PathBuf, io::Error),
    /// It cannot be understood; the error names line and column.
    Parse(PathBuf, Box<toml::de::Error>),
    /// Two listeners want the same port.
    SamePort(PathBuf, u16),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Parse(path, error) => write!(f, "{}: {error}", path.display()),
            Self::SamePort(path, port) => {
                let path = path.display();
                write!(f, "{path}: lan_address needs a port of its own: {port} is the one on 127.0.0.1")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads the file; without one, everything has its default.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ConfigError::Read(path.to_path_buf(), error)),
        };
        let config: Self =
            toml::from_str(&text).map_err(|error| ConfigError::Parse(path.to_path_buf(), Box::new(error)))?;
        let lan_port = config.lan_address.map(|address| address.socket().port());
        if config.port != 0 && lan_port == Some(config.port) {
            return Err(ConfigError::SamePort(path.to_path_buf(), config.port));
        }
        Ok(config)
    }

    /// How long a question waits; `None` is as long as it takes.
    pub fn timeout(&self) -> Option<SignedDuration> {
        (self.timeout_seconds > 0).then(|| SignedDuration::from_secs(self.timeout_seconds.into()))
    }

    /// How long settled questions are kept.
    pub fn retention(&self) -> SignedDuration {
        SignedDuration::from_hours(24 * i64::from(self.retention_days.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(&path)
    }

    #[test]
    fn no_file_and_an_empty_file_are_the_defaults() {
        assert_eq!(Config::load(Path::new("/nonexistent/config.toml")).unwrap(), Config::default());
        assert_eq!(load("").unwrap(), Config::default());
    }

    #[test]
    fn every_key_can_be_set() {
        let config =
            load("port = 0\ntimeout_seconds = 60\non_timeout = \"defer\"\nretention_days = 1\nlog_level = \"debug\"\n")
                .unwrap();
        assert_eq!(config.timeout(), Some(SignedDuration::from_mins(1)));
        assert_eq!((config.port, config.on_timeout), (0, OnTimeout::Defer));
        assert_eq!((config.retention(), config.log_level), (SignedDuration::from_hours(24), LogLevel::Debug));
    }

    #[test]
    fn the_network_has_a_port_of_its_own() {
        let error = load("lan_address = \"0.0.0.0:27563\"\n").unwrap_err().to_string();
        assert!(error.contains("a port of its own"), "{error}");
        let config = load("lan_address = \"0.0.0.0:27564\"\npublic_url = \"https://answers.example.org/\"\n").unwrap();
        assert_eq!(config.public_url.unwrap().to_string(), "https://answers.example.org");
    }

    #[test]
    fn an_error_names_the_line_and_the_key() {
        for (text, key) in [
            ("port = 1\nprot = 2\n", "prot"),
            ("\non_timeout = \"never\"\n", "never"),
            ("\nretention_days = 0\n", "nonzero"),
            ("\npublic_url = \"answers.example.org\"\n", "public_url is like"),
            ("\nlan_address = \"127.0.0.1:27564\"\n", "this machine alone"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(key), "{error}");
        }
    }
}
