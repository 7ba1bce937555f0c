//! Where a rule stands that Claude Code was told to keep.

use std::fmt;
use std::path::{Path, PathBuf};

use answerback_hook::paths::Paths;

use crate::api::AskView;
use crate::claude_code::settings::Settings;
use crate::claude_code::settings::rules::Rule;

/// What a request calls the settings of a person, and those of a project. A request can say anything, so no other file is ever opened.
const OF_USER: &str = "~/.claude/settings.json";
const OF_PROJECT: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// The place of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere: it ends with its session, which has this id.
    Session(String),
    /// In a settings file. Without a line it is not there: somebody took it out, or the answer came too late.
    File { path: PathBuf, line: Option<usize> },
    /// Perhaps in a settings file, which cannot be read.
    Unreadable { path: PathBuf, why: String },
    /// In the settings of a project that is not known, or in a file that holds no rules of Claude Code.
    Unknown,
    /// On another machine, which alone can read its files. The name of the file is the one that the request gave.
    Elsewhere { host: String, project: Option<String>, file: String },
}

impl Place {
    /// Looks for a rule. `file` is the name that the request gave. `host` is this machine.
    pub(super) fn of(
        rule: &str,
        file: Option<&str>,
        ask: &AskView,
        host: &str,
        claude_dir: &Path,
        paths: &Paths,
    ) -> Self {
        let Some(file) = file else { return Self::Session(ask.session.clone()) };
        if ask.host != host {
            return Self::Elsewhere { host: ask.host.clone(), project: ask.project.clone(), file: file.to_owned() };
        }
        if file == OF_USER {
            return Self::look(rule, claude_dir.join("settings.json"), paths);
        }
        let directory = ask.project.as_deref().map(Path::new).filter(|_| OF_PROJECT.contains(&file));
        let Some(directory) = directory else { return Self::Unknown };
        // The agent may have gone to a directory further in. Its settings are in the one that it was started in. The settings of a
        // person are in a directory of the same name, and are not those of a project.
        let is_project = |dir: &&Path| dir.join(".claude") != claude_dir;
        let candidates =
            directory.ancestors().filter(is_project).map(|dir| dir.join(file)).filter(|path| path.exists());
        let mut places = candidates.map(|path| Self::look(rule, path, paths));
        let nowhere = || Self::File { path: directory.join(file), line: None };
        let first = places.next().unwrap_or_else(nowhere);
        if first.is_granted() { first } else { places.find(Self::is_granted).unwrap_or(first) }
    }

    fn look(rule: &str, path: PathBuf, paths: &Paths) -> Self {
        match Settings::at(&path, paths).and_then(|settings| settings.line_of(&Rule::named(rule))) {
            Ok(line) => Self::File { path, line },
            Err(error) => Self::Unreadable { path, why: error.to_string() },
        }
    }

    /// In one word, for programs.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::File { line: Some(_), .. } => "in_file",
            Self::File { line: None, .. } => "not_in_file",
            Self::Unreadable { .. } => "unreadable",
            Self::Unknown => "unknown",
            Self::Elsewhere { .. } => "elsewhere",
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } | Self::Unreadable { path, .. } => Some(path),
            Self::Session(_) | Self::Unknown | Self::Elsewhere { .. } => None,
        }
    }

    pub(super) fn line(&self) -> Option<usize> {
        match self {
            Self::File { line, .. } => *line,
            _ => None,
        }
    }

    /// Whether it is certainly in its file.
    pub(super) fn is_granted(&self) -> bool {
        self.line().is_some()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => write!(f, "until session {session} ends, in no file"),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "not in the file {}", path.display()),
            Self::Unreadable { why, .. } => f.write_str(why),
            Self::Unknown => f.write_str("in an unknown file"),
            Self::Elsewhere { host, project, file } => {
                write!(f, "on {host}, for {file}")?;
                project.as_ref().map_or(Ok(()), |project| write!(f, " of {project}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::which::tests::ask_with_key;
    use super::*;

    #[test]
    fn only_settings_of_claude_code_are_ever_opened() {
        let home = tempfile::tempdir().unwrap();
        let (shop, claude_dir) = (home.path().join("shop"), home.path().join(".claude"));
        let paths = Paths::new(home.path().join("config"), home.path().join("state"));
        for dir in [&claude_dir, &shop.join(".claude")] {
            std::fs::create_dir_all(dir).unwrap();
            for name in ["settings.json", "settings.local.json", "other.json"] {
                std::fs::write(dir.join(name), r#"{"permissions": {"allow": ["Bash(ls)"]}}"#).unwrap();
            }
        }
        let ask = AskView {
            host: "laptop".to_owned(),
            project: Some(shop.to_str().unwrap().to_owned()),
            ..ask_with_key("s__toolu_1")
        };
        let of = |file: &str, host: &str| Place::of("Bash(ls)", Some(file), &ask, host, &claude_dir, &paths);
        let outside = shop.join(".claude/other.json");
        for (file, state) in [
            (OF_USER, "in_file"),
            (OF_PROJECT[0], "in_file"),
            (OF_PROJECT[1], "in_file"),
            (".claude/other.json", "unknown"),
            ("../.claude/settings.json", "unknown"),
            (".claude/../.claude/settings.json", "unknown"),
            (outside.to_str().unwrap(), "unknown"),
        ] {
            assert_eq!(of(file, "laptop").name(), state, "{file}");
            assert_eq!(of(file, "hub").name(), "elsewhere", "{file}");
        }
    }
}
