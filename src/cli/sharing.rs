//! A project's settings and who else reads them: other people through git, and the session together with other files.

use std::collections::BTreeSet;
use std::path::Path;

use anstream::eprintln;

use crate::claude_code::settings::Change;
use crate::claude_code::settings::entry::{self, Invocation};
use crate::claude_code::settings::git;
use crate::claude_code::settings::look::{self, Look};
use crate::claude_code::settings::scope::{Scope, claude_dir};

use super::explain::hinted;
use super::programs::hook_path;
use super::settings::{Place, shown};

/// Refuses to write the path of this machine's hook into a file that other people get. A file that has this path already stays possible.
pub(super) fn refuse_own_path(change: &Change, file: &Path, scope: &Scope) -> anyhow::Result<()> {
    let (Scope::Project(dir) | Scope::Local(dir)) = scope else { return Ok(()) };
    let (before, after) = (programs(change.before.as_deref()), programs(change.after.as_deref()));
    let Some(program) = after.difference(&before).next().filter(|_| git::is_tracked(file)) else { return Ok(()) };
    let message = format!(
        "{} is tracked by git, and everybody who uses the repository would get the path of your hook, {program}",
        file.display()
    );
    let local = Scope::Local(dir.clone()).options();
    let shared = Scope::Project(dir.clone()).options();
    Err(match scope {
        Scope::Local(_) => {
            hinted(message, "This file is meant for you alone. Take it out of git with: git rm --cached")
        }
        _ => hinted(
            message,
            format!(
                "For you alone, run `answerback install {local}`. For everybody, run `answerback install {shared} --shared`: \
                where Answerback is not installed, that does nothing."
            ),
        ),
    })
}

/// The programs of our entries, as far as they are written with their path.
fn programs(settings: Option<&[u8]>) -> BTreeSet<String> {
    let look = settings.and_then(|bytes| Look::at(bytes).ok());
    let own = look.map(|look| look.own()).unwrap_or_default().into_iter();
    own.filter(|handler| !handler.is_shared).map(|handler| handler.program).collect()
}

/// Says what a person may not expect of the file that now has the hook.
pub(super) fn tell(invocation: &Invocation, file: &Path, place: &Place) {
    if *invocation == Invocation::Shared && entry::shared_program().is_none() {
        let dir = hook_path().ok().and_then(|hook| hook.parent().map(shown)).unwrap_or_default();
        eprintln!("On this machine, Claude Code does not find the hook yet: add {dir} to your PATH.");
    }
    let has_own_path = *invocation != Invocation::Shared && !matches!(place.scope, Scope::User);
    if has_own_path && git::is_exposed(file) {
        eprintln!("Git does not ignore {}. Whoever gets it from you gets the path of your hook.", shown(file));
        match &place.scope {
            Scope::Local(_) => eprintln!("To keep it out of commits, add it to .gitignore."),
            _ => eprintln!("Before you commit it, run this again with --shared, or with --local for you alone."),
        }
    }
    for scope in others_with_hook(file, &place.scope) {
        let options = scope.options();
        eprintln!("The hook is also in another file that Claude Code reads here. What is asked comes only once,");
        eprintln!("but one of them is enough. To remove the other one: answerback uninstall {options}");
    }
}

/// The other settings of the same session that have the hook.
pub(super) fn others_with_hook(file: &Path, scope: &Scope) -> Vec<Scope> {
    let (Scope::Project(dir) | Scope::Local(dir), Some(claude_dir)) = (scope, claude_dir()) else { return Vec::new() };
    let scopes = [Scope::User, Scope::Project(dir.clone()), Scope::Local(dir.clone())].into_iter();
    let has_hook = |scope: &Scope| {
        let other = scope.file(&claude_dir);
        // In the home directory, the project's settings are the user's. A link can lead to the same file, too.
        let is_same = match (other.canonicalize(), file.canonicalize()) {
            (Ok(other), Ok(file)) => other == file,
            _ => false,
        };
        let look = look::read(&other).ok().and_then(|bytes| Look::at(&bytes).ok());
        !is_same && look.is_some_and(|look| !look.own().is_empty())
    };
    scopes.filter(has_hook).collect()
}
