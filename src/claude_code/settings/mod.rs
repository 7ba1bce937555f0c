//! Claude Code's settings files: our entries in and out, and every other byte as it was.
//!
//! - [`edit`] decides what changes; it is pure. [`entry`] is what goes in, [`json`] and `layout` are its reading and writing.
//! - [`coverage`] says which waits the entries bring to Answerback; [`wanted`] has the entries for them.
//! - `file` changes the file and `backup` remembers what there was. [`Settings`] is the two together.
//! - `regular` reads regular files and refuses everything else; `attributes` copies what a file has besides its text.
//! - [`rules`] finds a permission rule and takes it out; [`server`] does the same with our MCP server in `.mcp.json`. Both are pure, too.
//! - `installable` is what goes into a file: the entries, or the server.
//! - [`scope`] knows which files there are, and [`session`] reads those of one session; [`plugin`] finds the same hooks in a plugin.
//!   [`git`] knows whether other people get a file.
//!
//! At any moment, also before a `kill -9`, the file is whole, it is the old one or the new one, and nobody's edit is lost. A file that
//! Claude Code could not read is refused, not repaired.

mod attributes;
mod backup;
pub mod claude_version;
pub mod coverage;
pub mod edit;
pub mod entry;
mod file;
pub mod git;
mod installable;
pub mod json;
mod layout;
mod lease;
pub mod look;
pub mod plugin;
mod regular;
pub mod rules;
pub mod scope;
pub mod server;
pub mod session;
pub mod wanted;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use answerback_hook::hint::Hint;
use answerback_hook::paths::Paths;

use attributes::NotKept;
use backup::{Backup, Locked, Old};
use file::Target;
use installable::{Installable, NotInstallable};
use json::Refusal;
use regular::{Found, Unfit};
use rules::Rule;
use wanted::NoForms;

/// Said where a person might think that half of an edit was made.
const UNCHANGED: &str = "Nothing was changed.";

/// For how long an edit is made again because somebody else keeps changing the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It is not what Claude Code reads.
    #[error("{} cannot be edited: {refusal}", .path.display())]
    Refused { path: PathBuf, refusal: Refusal },
    /// It cannot be read or written.
    #[error("cannot {doing} {}: {error}", .path.display())]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
    /// Something has the name of a file that an interrupted run leaves, and is not one.
    #[error("cannot tidy up {}: {error}", .path.display())]
    Leftover { path: PathBuf, error: io::Error },
    /// It has other names, which would keep the old text: a replacement has one name only, and writing into the file itself could leave
    /// half of the text behind.
    #[error("{} has {links} names (hard links), and only this one would be changed", .path.display())]
    HardLinks { path: PathBuf, links: u64 },
    /// Somebody else changes it all the time.
    #[error("{} keeps changing", .0.display())]
    Busy(PathBuf),
    /// Claude Code is too old for what is wanted.
    #[error("{0}")]
    TooOld(NoForms),
}

impl Hint for SettingsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { refusal, .. } => refusal.hint().map(|hint| format!("{hint} {UNCHANGED}")),
            Self::Io { error, .. } => Some(io_hint(error)),
            Self::Leftover { .. } => Some(format!(
                "Answerback leaves only small regular files of this name. Look at it, remove it, and try again. {UNCHANGED}"
            )),
            Self::HardLinks { path, .. } => Some(format!(
                "To make it a file of its own, run `{}`; or use symbolic links, which are followed. {UNCHANGED}",
                file_of_its_own(path)
            )),
            Self::Busy(_) => Some("Find out what writes to it, then try again.".to_owned()),
            Self::TooOld(_) => Some(format!("Update Claude Code, or use --no-forms. {UNCHANGED}")),
        }
    }
}

/// What an edit came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Our entries were added.
    Installed,
    /// Our entries were corrected.
    Updated,
    /// Our entries were there.
    AlreadyInstalled,
    /// The file is again, byte by byte, what it was before us.
    Restored,
    /// The file is gone, as it was before us.
    FileRemoved,
    /// Our entries are gone, and what others changed meanwhile stays.
    EntriesRemoved,
    /// Nothing of ours was there.
    NotInstalled,
    /// A permission rule is gone.
    RuleRemoved,
    /// The permission rule was not there.
    NoSuchRule,
}

/// An edit: what was there, and what is there now, or would be. `None` is no file.
#[derive(Debug)]
pub struct Change {
    /// What kind of change it was.
    pub outcome: Outcome,
    /// The file before.
    pub before: Option<Vec<u8>>,
    /// The file after.
    pub after: Option<Vec<u8>>,
    /// Where a copy of the file before is kept.
    pub backup: Option<PathBuf>,
}

impl Change {
    /// Whether anything is different.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }
}

/// Every file that our entries were put into and not taken out of again, according to the records.
pub fn installed_files(paths: &Paths) -> Vec<PathBuf> {
    backup::recorded(paths)
}

/// One settings file.
#[derive(Debug)]
pub struct Settings<'a> {
    paths: &'a Paths,
    target: Target,
}

impl<'a> Settings<'a> {
    /// The file at this path, or where links from this path lead; it need not be there.
    pub fn at(path: &Path, paths: &'a Paths) -> Result<Self, SettingsError> {
        match Target::find(path) {
            Ok(target) => Ok(Self { paths, target }),
            Err(error) => Err(SettingsError::Io { doing: "find", path: path.to_path_buf(), error }),
        }
    }

    /// Where the file itself is.
    pub fn path(&self) -> &Path {
        self.target.path()
    }

    /// Whether it is a file for MCP servers, and not for hooks.
    pub fn is_for_servers(&self) -> bool {
        [self.target.name(), self.path()].iter().any(|path| path.file_name().is_some_and(|name| name == server::FILE))
    }

    /// Whether something of ours is in the text.
    fn is_installed(&self, text: &str) -> Result<bool, Refusal> {
        if self.is_for_servers() { server::is_installed(text) } else { edit::is_installed(text) }
    }

    /// Makes what is wanted, and nothing else of ours, part of the file. What is not said about the waits stays as it was chosen before.
    pub fn install(&self, wanted: &impl Installable) -> Result<Change, SettingsError> {
        let backup = self.lock()?;
        self.retry(|found| {
            let mut change = self.plan_install(found, wanted)?;
            let Some(after) = change.after.as_deref().filter(|_| change.is_change()) else { return Ok(Some(change)) };
            let has_ours = change.outcome == Outcome::Updated;
            let old = found.map(|found| Old { bytes: &found.bytes, has_ours });
            let copy = backup.note(old, after, self.target.missing_dirs());
            change.backup = copy.map_err(|error| io_error("back up in", backup.dir(), error))?;
            self.target.create_dirs().map_err(self.failed("make the directory of"))?;
            let replaced = self.target.replace(found, after).map_err(self.failed("write"))?;
            Ok(replaced.then_some(change))
        })
    }

    /// Gives back the file there was before us, or if others changed it since then, takes our entries out of it.
    pub fn uninstall(&self) -> Result<Change, SettingsError> {
        if !Backup::of(self.path(), self.paths).dir().exists() {
            // There is no record of this file. If there is nothing to do either, leave nothing behind.
            let change = self.preview_uninstall()?;
            if !change.is_change() {
                return Ok(change);
            }
        }
        let backup = self.lock()?;
        self.retry(|found| {
            let (mut change, created_dirs) = self.plan_uninstall(found, &backup)?;
            let (true, Some(found)) = (change.is_change(), found) else { return Ok(Some(change)) };
            let failed = |error| io_error("back up in", backup.dir(), error);
            if change.outcome == Outcome::EntriesRemoved {
                change.backup = Some(backup.keep(&found.bytes).map_err(failed)?);
            }
            let done = match &change.after {
                Some(after) => self.target.replace(Some(found), after).map_err(self.failed("write"))?,
                None => self.target.remove(found).map_err(self.failed("remove"))?,
            };
            if !done {
                return Ok(None);
            }
            self.target.remove_dirs(created_dirs);
            backup.close(&change.backup).map_err(failed)?;
            Ok(Some(change))
        })
    }

    /// The line that a permission rule stands in. `None` if it is not there.
    pub fn line_of(&self, rule: &Rule<'_>) -> Result<Option<usize>, SettingsError> {
        let found = self.read()?;
        rule.line(self.text(found.as_ref())?).map_err(|refusal| self.refused(refusal))
    }

    /// Takes a permission rule out of the file.
    pub fn revoke(&self, rule: &Rule<'_>) -> Result<Change, SettingsError> {
        let backup = self.lock()?;
        self.retry(|found| {
            let text = self.text(found)?;
            let after = rule.removed(text).map_err(|refusal| self.refused(refusal))?;
            let outcome = if after == text { Outcome::NoSuchRule } else { Outcome::RuleRemoved };
            let (before, after) = (found.map(|found| found.bytes.clone()), found.map(|_| after.into_bytes()));
            let mut change = Change { outcome, before, after, backup: None };
            self.check_links(found, &change)?;
            let (true, Some(found), Some(after)) = (change.is_change(), found, change.after.as_deref()) else {
                return Ok(Some(change));
            };
            let copy = backup.keep_latest(&found.bytes).map_err(|error| io_error("back up in", backup.dir(), error))?;
            let replaced = self.target.replace(Some(found), after).map_err(self.failed("write"))?;
            change.backup = Some(copy);
            Ok(replaced.then_some(change))
        })
    }

    /// What [`install`](Self::install) would do now.
    pub fn preview_install(&self, wanted: &impl Installable) -> Result<Change, SettingsError> {
        self.plan_install(self.read()?.as_ref(), wanted)
    }

    /// What [`uninstall`](Self::uninstall) would do now.
    pub fn preview_uninstall(&self) -> Result<Change, SettingsError> {
        let backup = Backup::of(self.path(), self.paths);
        Ok(self.plan_uninstall(self.read()?.as_ref(), &backup)?.0)
    }

    fn plan_install(&self, found: Option<&Found>, wanted: &impl Installable) -> Result<Change, SettingsError> {
        let text = self.text(found)?;
        let after = wanted.install_into(text).map_err(|error| match error {
            NotInstallable::Refused(refusal) => self.refused(refusal),
            NotInstallable::TooOld(version) => SettingsError::TooOld(version),
        })?;
        if after.len() as u64 > regular::MAX_BYTES {
            // The next run would refuse to read it.
            return Err(io_error("write", self.path(), regular::too_large()));
        }
        let outcome = if found.is_some() && after == text {
            Outcome::AlreadyInstalled
        } else if self.is_installed(text).map_err(|refusal| self.refused(refusal))? {
            Outcome::Updated
        } else {
            Outcome::Installed
        };
        let before = found.map(|found| found.bytes.clone());
        let change = Change { outcome, before, after: Some(after.into_bytes()), backup: None };
        self.check_links(found, &change)?;
        Ok(change)
    }

    /// Also returns how many directories above the file are ours.
    fn plan_uninstall(&self, found: Option<&Found>, backup: &Backup) -> Result<(Change, usize), SettingsError> {
        let (change, created_dirs) = self.undo(found, backup)?;
        self.check_links(found, &change)?;
        Ok((change, created_dirs))
    }

    fn undo(&self, found: Option<&Found>, backup: &Backup) -> Result<(Change, usize), SettingsError> {
        let before = found.map(|found| found.bytes.clone());
        let change = |outcome, after| Change { outcome, before: before.clone(), after, backup: None };
        let Some(found) = found else { return Ok((change(Outcome::NotInstalled, None), 0)) };
        match backup.original_of(&found.bytes) {
            Some((Some(original), _)) => return Ok((change(Outcome::Restored, Some(original)), 0)),
            Some((None, created_dirs)) => return Ok((change(Outcome::FileRemoved, None), created_dirs)),
            None => {}
        }
        let text = self.text(Some(found))?;
        let uninstall = if self.is_for_servers() { server::uninstall } else { edit::uninstall };
        let after = uninstall(text).map_err(|refusal| self.refused(refusal))?;
        let outcome = if after == text { Outcome::NotInstalled } else { Outcome::EntriesRemoved };
        Ok((change(outcome, Some(after.into_bytes())), 0))
    }

    fn check_links(&self, found: Option<&Found>, change: &Change) -> Result<(), SettingsError> {
        match found.map(|found| found.metadata.nlink()) {
            Some(links) if links > 1 && change.is_change() => {
                Err(SettingsError::HardLinks { path: self.path().to_path_buf(), links })
            }
            _ => Ok(()),
        }
    }

    fn text<'f>(&self, found: Option<&'f Found>) -> Result<&'f str, SettingsError> {
        let Some(found) = found else { return Ok("") };
        json::decode(&found.bytes).map_err(|refusal| self.refused(refusal))
    }

    fn read(&self) -> Result<Option<Found>, SettingsError> {
        self.target.read().map_err(|error| io_error("read", self.target.name(), error))
    }

    fn lock(&self) -> Result<Locked, SettingsError> {
        let backup = Backup::of(self.path(), self.paths);
        let lock = backup.lock_file();
        let locked = backup.lock().map_err(|error| io_error("use", &lock, error))?;
        self.target.tidy(|left| locked.keep_found(left))?;
        Ok(locked)
    }

    /// Reads and edits until no other writer gets in between.
    fn retry(
        &self,
        mut attempt: impl FnMut(Option<&Found>) -> Result<Option<Change>, SettingsError>,
    ) -> Result<Change, SettingsError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(change) = attempt(self.read()?.as_ref())? {
                return Ok(change);
            }
            if Instant::now() >= deadline {
                return Err(SettingsError::Busy(self.path().to_path_buf()));
            }
        }
    }

    fn refused(&self, refusal: Refusal) -> SettingsError {
        SettingsError::Refused { path: self.path().to_path_buf(), refusal }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> SettingsError {
        move |error| io_error(doing, self.path(), error)
    }
}

/// What to do about a file that could not be read or written.
pub fn io_hint(error: &io::Error) -> String {
    let hint = hint_within::<Unfit>(error).or_else(|| hint_within::<NotKept>(error));
    hint.unwrap_or_else(|| "Look at the owner and the mode of it and of its directory.".to_owned())
}

/// What the error of ours inside an error of the system says to do.
fn hint_within<E: Hint + 'static>(error: &io::Error) -> Option<String> {
    error.get_ref()?.downcast_ref::<E>()?.hint()
}

/// The command that gives a file one name.
fn file_of_its_own(path: &Path) -> String {
    let [old, new] =
        [path.display().to_string(), format!("{}.new", path.display())].map(|path| entry::shell_word(&path));
    format!("cp -a {old} {new} && mv {new} {old}")
}

fn io_error(doing: &'static str, path: &Path, error: io::Error) -> SettingsError {
    SettingsError::Io { doing, path: path.to_path_buf(), error }
}

#[cfg(test)]
mod tests;
