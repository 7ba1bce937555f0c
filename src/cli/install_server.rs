//! `answerback install --mcp`: the MCP server into the `.mcp.json` of a project.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anstream::eprintln;
use anyhow::Context;

use crate::claude_code::settings::entry::shell_word;
use crate::claude_code::settings::scope::Scope;
use crate::claude_code::settings::server::{self, Server};
use crate::claude_code::settings::{Change, Outcome, Settings, git};

use super::exit::Exit;
use super::explain::hinted;
use super::settings::{Options, print_diff, report, shown};
use super::{paths, print_json};

/// The name of the tool, as Claude Code's permission rules have it.
const TOOL: &str = "mcp__answerback__ask_human";

/// The file with the servers of a project. A person's own servers are in a file that Claude Code itself writes all the time.
pub(super) fn file_of(scope: &Scope) -> Option<PathBuf> {
    match scope {
        Scope::Project(dir) => Some(dir.join(server::FILE)),
        Scope::User | Scope::Local(_) => None,
    }
}

pub(super) fn run(options: &Options, shared: bool) -> anyhow::Result<Exit> {
    let Options { dry_run, json, .. } = *options;
    let program = this_program()?;
    let place = options.place()?;
    let Some(file) = file_of(&place.scope) else { return Err(not_a_project(&place.scope, &program)) };
    let server = if shared { Server::Shared } else { Server::At(program) };
    let paths = paths()?;
    let settings = Settings::at(&file, &paths)?;
    let preview = settings.preview_install(&server)?;
    refuse_own_path(&preview, settings.path(), &place.scope)?;
    let change = if dry_run { preview } else { settings.install(&server)? };
    if json {
        let mut report = report(&change, settings.path(), dry_run);
        report["command"] = server.command().into();
        print_json(&report)?;
        return Ok(Exit::Success);
    }
    print_diff(&change, settings.path())?;
    let file = shown(settings.path());
    match (change.outcome, dry_run) {
        (Outcome::AlreadyInstalled, _) => eprintln!("The MCP server is already installed in {file}."),
        (_, true) => eprintln!("This would change in {file}. Nothing was changed."),
        (Outcome::Updated, false) => eprintln!("The MCP server in {file} is up to date now."),
        (_, false) => eprintln!("The MCP server is installed in {file}."),
    }
    if let Some(backup) = &change.backup {
        eprintln!("What was there before is kept in {}.", shown(backup));
    }
    if change.is_change() && !dry_run {
        eprintln!("Next: start Claude Code there. It asks once whether to use the server, and before the first call.");
        eprintln!("To allow all calls, add {TOOL:?} to permissions.allow in its settings.");
    }
    Ok(Exit::Success)
}

/// The path of this program as text, because JSON is text.
fn this_program() -> anyhow::Result<String> {
    let this = env::current_exe().and_then(fs::canonicalize).context("cannot find out where this program is")?;
    this.into_os_string().into_string().map_err(|path| {
        hinted(format!("{} is not UTF-8, as JSON must be", path.display()), "Put the programs elsewhere.")
    })
}

fn not_a_project(scope: &Scope, program: &str) -> anyhow::Error {
    let (option, name) = match scope {
        Scope::User => ("--user", "user"),
        Scope::Project(_) | Scope::Local(_) => ("--local", "local"),
    };
    hinted(
        format!(
            "--mcp does not go with {option}: Claude Code keeps such servers in a file that only Claude Code itself may write"
        ),
        format!("Run: claude mcp add --scope {name} answerback -- {} mcp", shell_word(program)),
    )
}

/// Refuses to write the path of this machine's program into a file that other people get. A file that has this path already stays possible.
fn refuse_own_path(change: &Change, file: &Path, scope: &Scope) -> anyhow::Result<()> {
    let path = |bytes: &Option<Vec<u8>>| bytes.as_deref().and_then(server::own_path);
    let (before, after) = (path(&change.before), path(&change.after));
    let Some(program) = after.filter(|after| before.as_ref() != Some(after) && git::is_tracked(file)) else {
        return Ok(());
    };
    Err(hinted(
        format!(
            "{} is tracked by git, and everybody who uses the repository would get the path of your program, {program}",
            file.display()
        ),
        format!(
            "For everybody who has answerback in the PATH, run `answerback install --mcp {} --shared`. For you alone, run \
             `claude mcp add answerback -- {} mcp`.",
            scope.options(),
            shell_word(&program),
        ),
    ))
}
