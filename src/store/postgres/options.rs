//! How the engine is reached: the address in the configuration, the password, and what is encrypted.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::tls::{Roots, Tls};
use super::{password, times::Times};

const DEFAULT_NAMESPACE: &str = "main";
const MAX_NAMESPACE: usize = 63;

/// Why an address of an engine cannot be used. It never says the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Not an address of PostgreSQL at all.
    #[error("the address of the store must begin with postgres:// and name a host and a database")]
    Address,
    /// The address says something that makes no sense, or that is not supported.
    #[error("the address of the store: {0}")]
    Part(String),
    /// A file that it names cannot be used.
    #[error("{path}: {problem}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        problem: String,
    },
}

/// How to reach an engine. Neither its `Debug` nor its `Display` shows the password.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) namespace: String,
    pub(super) times: Times,
}

impl PostgresOptions {
    /// Reads an address: `postgres://user@host:port/database?namespace=team&sslmode=verify-full&sslrootcert=/etc/ca.pem`. The password is in
    /// the address, in `PGPASSWORD`, or in the password file (`PGPASSFILE`, or `~/.pgpass`).
    pub fn parse(address: &str) -> Result<Self, OptionsError> {
        let (base, query) = address.split_once('?').unwrap_or((address, ""));
        if !(base.starts_with("postgres://") || base.starts_with("postgresql://")) {
            return Err(OptionsError::Address);
        }
        // What the driver says may quote the address, with the password in it.
        let mut config: Config = base.parse().map_err(|_| OptionsError::Address)?;
        let (mut namespace, mut ssl_mode, mut root_file) = (DEFAULT_NAMESPACE.to_owned(), None, None);
        for (name, value) in query.split('&').filter(|part| !part.is_empty()).map(parameter) {
            match name.as_str() {
                "namespace" => namespace = value,
                "sslmode" => ssl_mode = Some(value),
                "sslrootcert" => root_file = Some(PathBuf::from(value)),
                "host" => value.split(',').for_each(|host| {
                    config.host(host);
                }),
                "port" => {
                    let port = value.parse().map_err(|_| OptionsError::Part("the port is not a number".to_owned()))?;
                    config.port(port);
                }
                "user" => drop(config.user(value)),
                "dbname" => drop(config.dbname(value)),
                other => return Err(OptionsError::Part(format!("there is no option called {other}"))),
            }
        }
        if config.get_hosts().is_empty() || config.get_dbname().is_none() {
            return Err(OptionsError::Address);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if namespace.is_empty() || namespace.len() > MAX_NAMESPACE || !namespace.chars().all(is_name) {
            let rule = "a namespace has 1 to 63 letters, digits and . _ -";
            return Err(OptionsError::Part(rule.to_owned()));
        }
        let tls = encryption(&config, ssl_mode.as_deref(), root_file.as_deref())?;
        config.ssl_mode(if tls.is_on() { SslMode::Require } else { SslMode::Disable });
        if config.get_password().is_none()
            && let Some(found) = password::find(&config)?
        {
            config.password(found);
        }
        // With several hosts, the one that takes writes is meant.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite).application_name("answerback");
        Ok(Self { config, tls, namespace, times: Times::default() })
    }
}

impl fmt::Display for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://")?;
        let ports = self.config.get_ports();
        for (n, host) in self.config.get_hosts().iter().enumerate() {
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432);
            let comma = if n > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                Host::Unix(dir) => write!(f, "{comma}{}:{port}", dir.display())?,
            }
        }
        write!(f, "/{} (namespace {})", self.config.get_dbname().unwrap_or_default(), self.namespace)
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn parameter(part: &str) -> (String, String) {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    (decoded(name), decoded(value))
}

/// Whether everything stays on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let bare = name.trim_start_matches('[').trim_end_matches(']');
            name == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// A connection that leaves the machine is encrypted, unless the address says otherwise. The certificate is always verified.
fn encryption(config: &Config, mode: Option<&str>, root_file: Option<&Path>) -> Result<Tls, OptionsError> {
    let is_on = match mode {
        None => !config.get_hosts().iter().all(is_local),
        Some("disable") => false,
        Some("require" | "verify-ca" | "verify-full") => true,
        Some(other) => {
            return Err(OptionsError::Part(format!(
                "sslmode={other} is not supported: use verify-full, or disable for a network that you trust"
            )));
        }
    };
    match (is_on, root_file) {
        (false, _) => Ok(Tls::off()),
        (true, None) => Tls::new(Roots::System),
        (true, Some(file)) => Tls::new(Roots::File(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(address: &str) -> Result<PostgresOptions, OptionsError> {
        PostgresOptions::parse(address)
    }

    #[test]
    fn an_address_names_engine_database_and_namespace() {
        let options = parse("postgres://me:secret@db.example:5433/asks?namespace=team&sslmode=verify-full").unwrap();
        assert_eq!(options.to_string(), "postgres://db.example:5433/asks (namespace team)");
        assert_eq!(options.config.get_user(), Some("me"));
        let two = parse("postgres://me@one,two/asks?sslmode=disable").unwrap();
        assert_eq!(two.to_string(), "postgres://one:5432,two:5432/asks (namespace main)");
        let socket = parse("postgres://me@%2Frun%2Fpg/asks").unwrap();
        assert_eq!(socket.to_string(), "postgres:///run/pg:5432/asks (namespace main)");
    }

    #[test]
    fn nothing_shows_the_password() {
        let options = parse("postgres://me:hunter2@localhost/asks").unwrap();
        assert_eq!(options.config.get_password(), Some(&b"hunter2"[..]));
        assert!(!format!("{options} {options:?}").contains("hunter2"));
        for wrong in ["postgres://me:hunter2@:x/asks", "mysql://me:hunter2@h/a", "postgres://me:hunter2@h:99999999/a"] {
            let error = parse(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{wrong}");
        }
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_the_address_says_otherwise() {
        for (address, is_on) in [
            ("postgres://me@%2Frun/asks", false),
            ("postgres://me@localhost/asks", false),
            ("postgres://me@127.0.0.1/asks", false),
            ("postgres://me@db.example/asks", true),
            ("postgres://me@localhost,db.example/asks", true),
            ("postgres://me@db.example/asks?sslmode=disable", false),
            ("postgres://me@localhost/asks?sslmode=require", true),
        ] {
            let options = parse(address).unwrap();
            assert_eq!(options.tls.is_on(), is_on, "{address}");
            assert_eq!(options.config.get_ssl_mode() == SslMode::Require, is_on, "{address}");
        }
        assert!(parse("postgres://me@h/asks?sslmode=prefer").unwrap_err().to_string().contains("verify-full"));
        let missing = parse("postgres://me@h/asks?sslrootcert=/nowhere/ca.pem").unwrap_err();
        assert!(missing.to_string().contains("/nowhere/ca.pem"), "{missing}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in ["", "postgres://", "postgres://me@host", "http://host/asks"] {
            assert_eq!(parse(wrong).unwrap_err(), OptionsError::Address, "{wrong}");
        }
        for wrong in ["namespace=", "namespace=a%20b", "namespac=a", "port=many"] {
            assert!(matches!(parse(&format!("postgres://h/a?{wrong}")), Err(OptionsError::Part(_))), "{wrong}");
        }
    }
}
