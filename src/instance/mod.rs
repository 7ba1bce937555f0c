//! One instance on disk: the state directory, the lock that makes the daemon the only one, and the files that tell others
//! how to reach it. All of it belongs to its user alone.
//!
//! Somebody may remove these files under a running daemon. As long as the lock file is its own, the daemon makes the others again. If
//! the lock file is not, another daemon may have the directory by now: this one ends, and removes nothing that is not its own.

mod edge;
mod published;
pub mod tls;
mod watch;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use answerback_hook::hint::Hint;
use answerback_hook::paths::Paths;
use answerback_hook::start::create_state_dir;
use answerback_hook::trust::{TrustError, check_private};
use jiff::Timestamp;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use serde::{Deserialize, Serialize};

use crate::PROTOCOL;
use crate::access::{Token, Tokens};
use crate::durable;

pub use edge::{hub_options, join, options};
pub use published::Published;
pub use watch::Watch;

use tls::{Identity, TlsError};

/// The longest path a unix socket can have.
const MAX_SOCKET_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Why the daemon cannot have this instance.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another daemon has it.
    #[error("a daemon is running already")]
    Running,
    /// A file or the directory is not our own, or not ours alone.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A file does not hold what this version writes.
    #[error("{path} is damaged")]
    Damaged {
        /// Which one.
        path: PathBuf,
        /// What happens when it is removed.
        then: &'static str,
    },
    /// The socket's path does not fit into an address.
    #[error("the path of the socket has {length} bytes, and may have {MAX_SOCKET_PATH}: {path}")]
    SocketPath {
        /// How long it is.
        length: usize,
        /// The path.
        path: PathBuf,
    },
    /// The configuration names a hub, and there is no host token for it.
    #[error("this machine has no host token for its hub, {0}")]
    NotJoined(String),
    /// The state directory is not there and cannot be made.
    #[error("{path} cannot be made, because {parent} cannot be written to: {error}")]
    NoPlace {
        /// The state directory.
        path: PathBuf,
        /// The directory above it that is there.
        parent: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file cannot be used.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// The operating system has no randomness.
    #[error("the operating system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// There is no certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Hint for InstanceError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Trust(error) => error.hint(),
            Self::Damaged { then, .. } => Some(format!("Remove it. {then}")),
            Self::NotJoined(hub) => Some(format!("Run: answerback join {hub}")),
            Self::SocketPath { .. } => Some("Set XDG_STATE_HOME to a shorter path.".to_owned()),
            Self::NoPlace { .. } => Some(
                "Correct the owner or the mode of that directory, or set XDG_STATE_HOME to one of your own.".to_owned(),
            ),
            Self::Running | Self::Io(..) | Self::Random(_) | Self::Tls(_) => None,
        }
    }
}

/// Checks that the state directory is ours alone, or can be made.
pub fn check_place(paths: &Paths) -> Result<(), InstanceError> {
    match check_private(paths.state_dir()) {
        Err(error) if error.is_not_found() => {}
        checked => return Ok(checked?),
    }
    let path = paths.state_dir().to_path_buf();
    // A directory that nobody may look into is there, too.
    let is_there = |dir: &&Path| !fs::metadata(dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let Some(parent) = path.ancestors().find(is_there).map(Path::to_path_buf) else { return Ok(()) };
    let may = Access::WRITE_OK | Access::EXEC_OK;
    // As the user whose rights count when a file is made.
    match accessat(CWD, &parent, may, AtFlags::EACCESS) {
        Ok(()) => Ok(()),
        Err(error) => Err(InstanceError::NoPlace { path, parent, error: error.into() }),
    }
}

/// The only daemon of an instance, for as long as this value lives.
#[derive(Debug)]
pub struct Instance {
    paths: Paths,
    lock: File,
    /// The socket that was bound last.
    socket: Mutex<Option<FileId>>,
}

/// Device and inode: they tell a file from another one with the same name.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// What `tokens.json` holds.
#[derive(Serialize, Deserialize)]
struct TokensFile {
    api: String,
    hook: String,
}

impl Instance {
    /// Claims the instance. Fails if another daemon has it.
    pub fn claim(paths: Paths) -> Result<Self, InstanceError> {
        let dir = paths.state_dir();
        create_state_dir(dir).map_err(|error| InstanceError::Io(dir.to_path_buf(), error))?;
        check_private(dir)?;
        let path = paths.instance_lock();
        let failed = |error| InstanceError::Io(path.clone(), error);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { paths, lock, socket: Mutex::default() }),
            Err(TryLockError::WouldBlock) => Err(InstanceError::Running),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Where its files are.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Listens on the instance's socket. The daemon that holds the lock may remove a stale one.
    pub fn bind_socket(&self) -> Result<UnixListener, InstanceError> {
        let path = self.paths.socket();
        let length = path.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(InstanceError::SocketPath { length, path });
        }
        let failed = |error| InstanceError::Io(path.clone(), error);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        // Until then the mode of the directory protects the socket.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = file_id(&path);
        Ok(listener)
    }

    /// Whether the instance is another daemon's, or nobody's: the lock file is not the one that this daemon holds.
    pub fn is_lost(&self) -> bool {
        let Ok(own) = self.lock.metadata() else { return false };
        match fs::symlink_metadata(self.paths.instance_lock()) {
            Ok(there) => (there.dev(), there.ino()) != (own.dev(), own.ino()),
            // If the file cannot be looked at for another reason, assume that it is there.
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }

    /// Whether the socket that was bound last is still there.
    pub fn has_own_socket(&self) -> bool {
        let own = *self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        own.is_some() && file_id(&self.paths.socket()) == own
    }

    /// Whether `daemon.json` leads to this daemon.
    pub fn has_own_daemon_json(&self) -> bool {
        Published::read(&self.paths).is_ok_and(|published| published.pid == std::process::id())
    }

    /// The tokens. They are made on the first start, and kept.
    pub fn tokens(&self) -> Result<Tokens, InstanceError> {
        if let Some(tokens) = check_tokens(&self.paths)? {
            return Ok(tokens);
        }
        let path = self.paths.tokens();
        let tokens = Tokens { api: Token::generate()?, hook: Token::generate()? };
        let file = TokensFile { api: tokens.api.reveal().into(), hook: tokens.hook.reveal().into() };
        write_json(&path, &file).map_err(|error| InstanceError::Io(path, error))?;
        // The first start: a hook may have made the directory, and did not wait for the disk.
        durable::sync_above(self.paths.state_dir());
        Ok(tokens)
    }

    /// Key and certificate for this machine under these names: made once, renewed when need be, kept.
    pub fn identity(&self, names: &[String]) -> Result<Identity, InstanceError> {
        let path = self.paths.tls();
        let failed = |error| InstanceError::Io(path.clone(), error);
        #[expect(clippy::disallowed_methods, reason = "a certificate is valid by the clocks of those who look at it")]
        let now = Timestamp::now();
        let kept: Option<Identity> = match fs::symlink_metadata(&path) {
            Ok(_) => {
                check_private(&path)?;
                let text = fs::read_to_string(&path).map_err(failed)?;
                Some(serde_json::from_str(&text).map_err(|_| InstanceError::Damaged {
                    path: path.clone(),
                    then: "The daemon makes a new certificate, and devices will warn once more.",
                })?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let new = match kept {
            Some(identity) => match identity.renewed(names, now)? {
                None => return Ok(identity),
                Some(renewed) => renewed,
            },
            None => Identity::generate(names, now)?,
        };
        write_json(&path, &new).map_err(failed)?;
        tracing::info!(?names, "there is a new certificate");
        Ok(new)
    }

    /// Tells companion programs where the daemon is.
    pub fn publish(&self, url: &str, lan_url: Option<&str>, tokens: &Tokens) -> Result<(), InstanceError> {
        let published = Published {
            url: url.to_owned(),
            lan_url: lan_url.map(ToOwned::to_owned),
            socket: self.paths.socket(),
            pid: std::process::id(),
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        published.write(&self.paths, tokens).map_err(|error| InstanceError::Io(self.paths.daemon_json(), error))
    }

    /// Removes `daemon.json`. Waiting programs take that for a stop on purpose, and start no other daemon. A killed daemon leaves it.
    pub fn unpublish(&self) {
        if self.has_own_daemon_json() {
            remove(&self.paths.daemon_json());
        }
    }

    /// Removes the files that lead to this daemon, if they are its own. The lock is released last, with this value.
    pub fn retire(self) {
        self.unpublish();
        if self.has_own_socket() {
            remove(&self.paths.socket());
        }
    }
}

/// The tokens, if they were made before. Changes nothing.
pub fn check_tokens(paths: &Paths) -> Result<Option<Tokens>, InstanceError> {
    let path = paths.tokens();
    match check_private(&path) {
        Err(error) if error.is_not_found() => return Ok(None),
        checked => checked?,
    }
    let text = fs::read_to_string(&path).map_err(|error| InstanceError::Io(path.clone(), error))?;
    let damaged = || InstanceError::Damaged { path: path.clone(), then: "The daemon makes new tokens." };
    let file: TokensFile = serde_json::from_str(&text).map_err(|_| damaged())?;
    let parse = |text: &str| Token::parse(text).ok_or_else(damaged);
    Ok(Some(Tokens { api: parse(&file.api)?, hook: parse(&file.hook)? }))
}

/// Whether a daemon holds the instance. It may still be starting, or already ending.
pub fn is_held(paths: &Paths) -> bool {
    let lock = OpenOptions::new().write(true).open(paths.instance_lock());
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// The fingerprint of the certificate that the daemon shows to the local network, if it has one.
pub fn fingerprint(paths: &Paths) -> Option<String> {
    let path = paths.tls();
    check_private(&path).ok()?;
    let identity: Identity = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    identity.fingerprint().ok()
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "could not be removed");
        }
        _ => {}
    }
}

fn write_json(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(content)?;
    bytes.push(b'\n');
    durable::write(path, &bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn scratch() -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path().join("config"), dir.path().join("state"));
        (dir, paths)
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn one_daemon_an_instance() {
        let (_dir, paths) = scratch();
        let first = Instance::claim(paths.clone()).unwrap();
        assert!(matches!(Instance::claim(paths.clone()), Err(InstanceError::Running)));
        drop(first);
        Instance::claim(paths).unwrap();
    }

    #[test]
    fn everything_is_its_owners_alone() {
        let (_dir, paths) = scratch();
        let instance = Instance::claim(paths.clone()).unwrap();
        let tokens = instance.tokens().unwrap();
        instance.publish("http://127.0.0.1:1", None, &tokens).unwrap();
        let _listener = instance.bind_socket().unwrap();
        assert_eq!(mode(paths.state_dir()), 0o700);
        for path in [paths.tokens(), paths.daemon_json(), paths.socket(), paths.instance_lock()] {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
        instance.retire();
        assert!(!paths.daemon_json().exists() && !paths.socket().exists() && paths.tokens().exists());
    }

    #[test]
    fn tokens_are_kept_and_damage_is_told() {
        let (_dir, paths) = scratch();
        let instance = Instance::claim(paths.clone()).unwrap();
        let first = instance.tokens().unwrap();
        assert_eq!(instance.tokens().unwrap().api.reveal(), first.api.reveal());
        assert_ne!(first.api.reveal(), first.hook.reveal());
        fs::write(paths.tokens(), "{}").unwrap();
        assert!(instance.tokens().unwrap_err().to_string().contains("is damaged"));
    }

    #[test]
    fn the_certificate_is_kept_for_its_owner_alone() {
        let (_dir, paths) = scratch();
        let instance = Instance::claim(paths.clone()).unwrap();
        let names = ["box.local".to_owned()];
        let first = instance.identity(&names).unwrap();
        assert_eq!(mode(&paths.tls()), 0o600);
        assert_eq!(instance.identity(&names).unwrap(), first);
        fs::set_permissions(paths.tls(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(instance.identity(&names).unwrap_err().hint().unwrap().contains("chmod"));
        fs::remove_file(paths.tls()).unwrap();
        fs::write(paths.tls(), "{}").unwrap();
        fs::set_permissions(paths.tls(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(instance.identity(&names).unwrap_err().to_string().contains("is damaged"));
    }

    #[test]
    fn a_directory_others_can_use_is_refused() {
        let (_dir, paths) = scratch();
        create_state_dir(paths.state_dir()).unwrap();
        fs::set_permissions(paths.state_dir(), fs::Permissions::from_mode(0o750)).unwrap();
        assert!(Instance::claim(paths).unwrap_err().hint().unwrap().contains("chmod"));
    }

    #[test]
    fn a_link_is_refused() {
        let (dir, paths) = scratch();
        fs::create_dir(dir.path().join("elsewhere")).unwrap();
        symlink(dir.path().join("elsewhere"), paths.state_dir()).unwrap();
        assert!(Instance::claim(paths).unwrap_err().to_string().contains("symbolic link"));
    }

    #[test]
    fn a_socket_path_that_does_not_fit_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(100));
        let instance = Instance::claim(Paths::new(dir.path(), deep)).unwrap();
        assert!(instance.bind_socket().unwrap_err().hint().unwrap().contains("XDG_STATE_HOME"));
    }
}
