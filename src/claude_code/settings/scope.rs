//! Which settings files there are, and which of them one session reads.

use std::env;
use std::path::{Path, PathBuf};

use super::entry;

/// Who a settings file applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A person's, for all projects.
    User,
    /// A project's, shared through its repository.
    Project(PathBuf),
    /// A person's for one project.
    Local(PathBuf),
}

impl Scope {
    /// The settings file of this scope.
    pub fn file(&self, claude_dir: &Path) -> PathBuf {
        match self {
            Self::User => claude_dir.join("settings.json"),
            Self::Project(dir) => dir.join(".claude/settings.json"),
            Self::Local(dir) => dir.join(".claude/settings.local.json"),
        }
    }

    /// The options that name this scope on a command line.
    pub fn options(&self) -> String {
        let word = |dir: &Path| entry::shell_word(&dir.to_string_lossy());
        match self {
            Self::User => "--user".to_owned(),
            Self::Project(dir) => format!("--project {}", word(dir)),
            Self::Local(dir) => format!("--local {}", word(dir)),
        }
    }

    /// All files that a session reads together with this one. Later files override earlier ones.
    pub fn session_files(&self, claude_dir: &Path) -> Vec<PathBuf> {
        match self {
            Self::User => vec![self.file(claude_dir)],
            Self::Project(dir) | Self::Local(dir) => [Self::User, Self::Project(dir.clone()), Self::Local(dir.clone())]
                .map(|scope| scope.file(claude_dir))
                .to_vec(),
        }
    }
}

/// Where Claude Code keeps a person's settings; `None` where there is no home directory.
pub fn claude_dir() -> Option<PathBuf> {
    match env::var_os("CLAUDE_CONFIG_DIR") {
        Some(dir) if !dir.is_empty() => Some(dir.into()),
        _ => Some(env::home_dir()?.join(".claude")),
    }
}
