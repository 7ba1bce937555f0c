//! `answerback uninstall`: the hook out of Claude Code's settings.

use std::path::Path;

use anstream::eprintln;
use answerback_hook::paths::Paths;
use serde_json::Value;

use crate::claude_code::settings::scope::claude_dir;
use crate::claude_code::settings::{Outcome, Settings, installed_files};

use super::exit::Exit;
use super::explain::explain;
use super::settings::{Options, print_diff, report, shown};
use super::{install_server, paths, print_json, sharing};

/// Take the hook out of Claude Code's settings
///
/// Takes the MCP server out of a project, too. Gives back each file that was there before `answerback install`, byte by byte. If
/// something else has changed in it since then, only the hook or the server is taken out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback uninstall                    # for the current directory\n  \
    answerback uninstall --project ~/shop   # for another one\n  \
    answerback uninstall --everywhere       # wherever it was installed\n  \
    answerback uninstall --user --dry-run   # show what would change")]
pub(super) struct Args {
    #[command(flatten)]
    options: Options,
    /// In every file that something was installed into; JSON is then an array
    #[arg(long, conflicts_with_all = ["project", "local", "user"])]
    everywhere: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let paths = paths()?;
    if !args.everywhere {
        let place = args.options.place()?;
        let mut report = uninstall(&place.file, &paths, &args.options)?;
        if let Some(file) = install_server::file_of(&place.scope).filter(|file| has_server(file, &paths)) {
            report["mcp"] = uninstall(&file, &paths, &args.options)?;
        }
        if args.options.json {
            print_json(&report)?;
            return Ok(Exit::Success);
        }
        for scope in sharing::others_with_hook(&place.file, &place.scope) {
            let file = shown(&claude_dir().map(|dir| scope.file(&dir)).unwrap_or_default());
            eprintln!("The hook is still in {file}. To remove it there: answerback uninstall {}", scope.options());
        }
        return Ok(Exit::Success);
    }
    let files = installed_files(&paths);
    if files.is_empty() && !args.options.json {
        eprintln!("The hook is not installed anywhere, and neither is the MCP server.");
    }
    let mut reports = Vec::new();
    let mut exit = Exit::Success;
    for file in &files {
        // One file that cannot be edited must not keep the hook in the others.
        match uninstall(file, &paths, &args.options) {
            Ok(report) => reports.push(report),
            Err(error) => {
                explain(&error);
                exit = Exit::Failure;
            }
        }
    }
    if args.options.json {
        print_json(&reports)?;
    }
    Ok(exit)
}

/// Whether there is something to take out of a file for MCP servers. A file that cannot be read may have something.
fn has_server(file: &Path, paths: &Paths) -> bool {
    let change = Settings::at(file, paths).and_then(|settings| settings.preview_uninstall());
    change.map_or(true, |change| change.outcome != Outcome::NotInstalled)
}

/// Takes what is ours out of one file, and tells a person. Returns the report for a program.
fn uninstall(file: &Path, paths: &Paths, options: &Options) -> anyhow::Result<Value> {
    let Options { dry_run, json, .. } = *options;
    let settings = Settings::at(file, paths)?;
    let change = if dry_run { settings.preview_uninstall()? } else { settings.uninstall()? };
    let report = report(&change, settings.path(), dry_run);
    if json {
        return Ok(report);
    }
    print_diff(&change, settings.path())?;
    let what = if settings.is_for_servers() { "MCP server" } else { "hook" };
    let file = shown(settings.path());
    match (change.outcome, dry_run) {
        (Outcome::NotInstalled, _) => eprintln!("There is no {what} of Answerback in {file}."),
        (_, true) => eprintln!("This would change in {file}. Nothing was changed."),
        (Outcome::Restored, false) => eprintln!("{file} is what it was before the {what} was installed."),
        (Outcome::FileRemoved, false) => {
            eprintln!("{file} was not there before the {what} was installed, and is gone.")
        }
        (_, false) => eprintln!("The {what} is no longer in {file}. What else has changed there since then stays."),
    }
    if let Some(backup) = &change.backup {
        eprintln!("What was there before is kept in {}.", shown(backup));
    }
    Ok(report)
}
