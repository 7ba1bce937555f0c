//! `answerback uninstall`: the hook out of Claude Code's settings.

use crate::settings::{Outcome, Settings, installed_files};

use super::exit::Exit;
use super::paths;
use super::settings::{Options, print, print_diff, report};

/// Take the hook out of Claude Code's settings
///
/// Gives back the file that was there before `answerback install`, byte by byte. If something else has changed in it since
/// then, only the hook is taken out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback uninstall                    # for the project in the current directory\n  \
    answerback uninstall --project ~/shop   # for another one\n  \
    answerback uninstall --everywhere       # wherever it was installed\n  \
    answerback uninstall --user --dry-run   # show what would change")]
pub(super) struct Args {
    #[command(flatten)]
    options: Options,
    /// In every settings file it was installed into
    #[arg(long, conflicts_with_all = ["project", "local", "user"])]
    everywhere: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let paths = paths()?;
    let files = if args.everywhere { installed_files(&paths) } else { vec![args.options.place()?.file] };
    for file in &files {
        uninstall(&Settings::at(file, &paths)?, &args.options)?;
    }
    if files.is_empty() {
        eprintln!("The hook is not installed anywhere.");
    }
    Ok(Exit::Success)
}

fn uninstall(settings: &Settings<'_>, options: &Options) -> anyhow::Result<()> {
    let Options { dry_run, json, .. } = *options;
    let change = if dry_run { settings.preview_uninstall()? } else { settings.uninstall()? };
    if json {
        print(&format!("{}\n", report(&change, settings.path(), dry_run)));
        return Ok(());
    }
    print_diff(&change, settings.path());
    let file = settings.path().display();
    match (change.outcome, dry_run) {
        (Outcome::NotInstalled, _) => eprintln!("There is no hook of Answerback in {file}."),
        (_, true) => eprintln!("This would change in {file}. Nothing was changed."),
        (Outcome::Restored, false) => eprintln!("{file} is what it was before the hook was installed."),
        (Outcome::FileRemoved, false) => eprintln!("{file} was not there before the hook was installed, and is gone."),
        (_, false) => eprintln!("The hook is no longer in {file}. What else has changed there since then stays."),
    }
    if let Some(backup) = &change.backup {
        eprintln!("What was there before is kept in {}.", backup.display());
    }
    Ok(())
}
