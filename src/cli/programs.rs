//! Finding programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::Context;

use crate::claude_code::settings::entry;

use super::explain::hinted;

/// Where the hook belongs: beside this program, after following links.
pub(super) fn hook_path() -> anyhow::Result<PathBuf> {
    let this = env::current_exe().and_then(fs::canonicalize).context("cannot find out where this program is")?;
    Ok(this.with_file_name(entry::PROGRAM))
}

/// The hook, if it can be run.
pub(super) fn hook_program() -> anyhow::Result<PathBuf> {
    let hook = hook_path()?;
    if !is_executable(&hook) {
        return Err(hinted(
            format!("there is no program {}", hook.display()),
            format!(
                "answerback and {} belong into the same directory: install/install.sh puts them there.",
                entry::PROGRAM
            ),
        ));
    }
    Ok(hook)
}

/// A program in the PATH. An entry that is not absolute does not count: it would lead into whatever directory we are in.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
