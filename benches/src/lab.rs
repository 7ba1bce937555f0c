//! What the measurements share: the programs, the places for their files, and a scratch `HOME` for each daemon.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

/// What Claude Code tells its hooks about itself. No process has this id, so nobody counts as started by it.
pub const CLAUDE: [(&str, &str); 4] = [
    ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
    ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
    ("AI_AGENT", "claude-code_2-1-325_harness"),
    ("CLAUDE_PID", "4194299"),
];

/// Where a daemon keeps its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a disk, where a sync takes time.
    Disk,
    /// In memory, where a sync costs nothing.
    Memory,
}

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// To see whether everything works. The numbers are worth little.
    Quick,
    /// For the page.
    Real,
}

impl Length {
    /// The length that an option of the command line asks for.
    pub fn of_option(option: &str) -> Option<Self> {
        match option {
            "--quick" => Some(Self::Quick),
            _ => None,
        }
    }
}

/// Everything that a measurement needs.
#[derive(Debug)]
pub struct Lab {
    /// The daemon, beside the static hook.
    pub answerback: PathBuf,
    /// The static hook. The dynamic one stands in if it could not be built.
    pub hook: PathBuf,
    /// Whether `hook` is static.
    pub has_static_hook: bool,
    /// The dynamic hook, beside a daemon of its own.
    pub dynamic_hook: PathBuf,
    /// The C programs, if they could be built.
    pub limits: Option<PathBuf>,
    /// The peers of this repository.
    pub peers: PathBuf,
    /// A Python that has aiohttp.
    pub python: Option<PathBuf>,
    /// Node.js.
    pub node: Option<PathBuf>,
    /// A program that starts valgrind: see `tests/costs/without_auxv.c`.
    pub launcher: Option<PathBuf>,
    /// How thorough the run is.
    pub length: Length,
    scratch: TempDir,
    memory: Option<TempDir>,
}

/// Where the programs are.
#[derive(Debug)]
pub struct Programs {
    /// The directory of `answerback` and the dynamic `answerback-hook`.
    pub dynamic: PathBuf,
    /// The static hook.
    pub static_hook: Option<PathBuf>,
    /// The directory of the C programs.
    pub limits: Option<PathBuf>,
    /// The directory of the peers.
    pub peers: PathBuf,
    /// A Python that has aiohttp.
    pub python: Option<PathBuf>,
    /// Node.js.
    pub node: Option<PathBuf>,
    /// The directory for scratch files. It must be on a disk.
    pub scratch: PathBuf,
    /// A program that starts valgrind.
    pub launcher: Option<PathBuf>,
}

impl Lab {
    /// Copies the programs, because a hook looks for its daemon in its own directory.
    pub fn new(programs: Programs, length: Length) -> io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("ab-").tempdir_in(&programs.scratch)?;
        let memory = Path::new("/dev/shm");
        let memory = memory.is_dir().then(|| tempfile::Builder::new().prefix("ab-").tempdir_in(memory)).transpose()?;
        let put = |from: PathBuf, directory: &str, name: &str| {
            let to = scratch.path().join(directory);
            fs::create_dir_all(&to)?;
            fs::copy(&from, to.join(name)).map_err(|error| io::Error::other(format!("{}: {error}", from.display())))?;
            // As long as a file is not on the disk, its pages count as dirty memory of every process that runs it.
            fs::File::open(to.join(name))?.sync_all()?;
            Ok::<_, io::Error>(to.join(name))
        };
        let dynamic_hook = put(programs.dynamic.join("answerback-hook"), "dynamic", "answerback-hook")?;
        put(programs.dynamic.join("answerback"), "dynamic", "answerback")?;
        let answerback = put(programs.dynamic.join("answerback"), "static", "answerback")?;
        let has_static_hook = programs.static_hook.is_some();
        let hook = programs.static_hook.unwrap_or_else(|| dynamic_hook.clone());
        let hook = put(hook, "static", "answerback-hook")?;
        Ok(Self {
            answerback,
            hook,
            has_static_hook,
            dynamic_hook,
            limits: programs.limits,
            peers: programs.peers,
            python: programs.python,
            node: programs.node,
            launcher: programs.launcher,
            length,
            scratch,
            memory,
        })
    }

    /// One number for the real run, and a smaller one for a short run.
    pub fn pick<T>(&self, real: T, short: T) -> T {
        if self.length == Length::Quick { short } else { real }
    }

    /// A C program of `limits/`.
    pub fn limit(&self, name: &str) -> Option<PathBuf> {
        self.limits.as_ref().map(|directory| directory.join(name))
    }

    /// A directory for scratch files.
    pub fn directory(&self, place: Place) -> &Path {
        match (place, &self.memory) {
            (Place::Memory, Some(memory)) => memory.path(),
            _ => self.scratch.path(),
        }
    }

    /// A new `HOME`.
    pub fn home(&self, place: Place) -> Home {
        let directory = tempfile::Builder::new().prefix("h").tempdir_in(self.directory(place)).unwrap();
        let home = Home { directory: Arc::new(directory) };
        home.configure("");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(home.state("")).unwrap();
        fs::set_permissions(home.state(""), fs::Permissions::from_mode(0o700)).unwrap();
        home
    }
}

/// A scratch `HOME`.
#[derive(Debug, Clone)]
pub struct Home {
    directory: Arc<TempDir>,
}

impl Home {
    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes its `config.toml`, with these settings before those that every daemon has here.
    pub fn configure(&self, settings: &str) {
        let config = self.path().join(".config/answerback");
        fs::create_dir_all(&config).unwrap();
        let common = "port = 0\n[notify.desktop]\nenabled = false\n";
        fs::write(config.join("config.toml"), format!("{settings}{common}")).unwrap();
    }

    /// A file of the state directory.
    pub fn state(&self, name: &str) -> PathBuf {
        self.path().join(".local/state/answerback").join(name)
    }

    /// The socket of the daemon.
    pub fn socket(&self) -> PathBuf {
        self.state("daemon.sock")
    }

    /// A program that knows only this `HOME`, where other programs are, and what Claude Code says about itself.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The same as a list of variables.
    pub fn environment(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let own = [("HOME".to_owned(), self.path().display().to_string()), ("PATH".to_owned(), path)];
        own.into_iter().chain(CLAUDE.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
    }
}
