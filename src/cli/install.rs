//! `answerback install`: the hook into Claude Code's settings.

use std::ffi::OsString;
use std::path::Path;

use anstream::eprintln;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use super::exit::Exit;
use super::explain::hinted;
use super::programs::hook_program;
use super::settings::{Options, print_diff, report, shown};
use super::{paths, print_json};
use crate::claude_code::Mode;
use crate::claude_code::settings::entry::{self, Invocation, is_plain};
use crate::claude_code::settings::scope::Scope;
use crate::claude_code::settings::{Outcome, Settings, claude_version, look, plugin};
use crate::text::one_line;

/// Put the hook into Claude Code's settings
///
/// Adds the hook that hands Claude's questions to Answerback, or corrects the one that is there. Everything else in the
/// file stays byte by byte what it is, and `answerback uninstall` gives back the file that was there before. A file that
/// Claude Code could not read is refused and left alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback install                      # for the project in the current directory\n  \
    answerback install --project ~/shop     # for another one\n  \
    answerback install --local              # for you alone in this project\n  \
    answerback install --user               # for you in all projects\n  \
    answerback install --mode native        # switch it off in this project\n  \
    answerback install --user --dry-run     # show what would change")]
pub(super) struct Args {
    #[command(flatten)]
    options: Options,
    /// How questions are handled
    ///
    /// `race`: the terminal and Answerback ask at once, and the first answer wins. `hold`: they wait in Answerback, and the terminal shows
    /// that they do. `defer`: a headless one-shot run ends at once and `answerback resume` goes on with the answer. `native`: the terminal alone
    /// asks. `auto`: race where a person is at the terminal, hold where nobody is.
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = mode())]
    mode: Mode,
}

fn mode() -> impl TypedValueParser<Value = Mode> {
    let names = Mode::ALL.map(Mode::name);
    PossibleValuesParser::new(names).map(|name| Mode::from_name(&name).unwrap_or_default())
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Options { dry_run, json, .. } = args.options;
    let place = args.options.place()?;
    let hook = hook_text()?;
    // Ask for the version only if the form of the entry depends on it.
    let any_version = is_plain(&hook) && args.mode == Mode::Auto;
    let version = if any_version { None } else { claude_version::installed() };
    let invocation = Invocation::of(&hook, args.mode, version);

    let paths = paths()?;
    let settings = Settings::at(&place.file, &paths)?;

    let bytes = place.session_files.iter().filter_map(|file| look::read(file).ok());
    let texts: Vec<_> = bytes.filter_map(|bytes| String::from_utf8(bytes).ok()).collect();
    if let Some(plugin) = plugin::enabled(texts.iter().map(String::as_str)) {
        tell_of_plugin(&plugin, settings.path(), &args.options)?;
        return Ok(Exit::Success);
    }

    let entries = entry::entries(&invocation, args.mode);
    let change = if dry_run { settings.preview_install(&entries)? } else { settings.install(&entries)? };
    if json {
        let mut report = report(&change, settings.path(), dry_run);
        report["command"] = invocation.command().into();
        print_json(&report)?;
        return Ok(Exit::Success);
    }
    print_diff(&change, settings.path())?;
    let file = shown(settings.path());
    match (change.outcome, dry_run) {
        (Outcome::AlreadyInstalled, _) => eprintln!("The hook is already installed in {file}."),
        (_, true) => eprintln!("This would change in {file}. Nothing was changed."),
        (Outcome::Updated, false) => eprintln!("The hook in {file} is up to date now."),
        (_, false) => eprintln!("The hook is installed in {file}."),
    }
    if let Some(backup) = &change.backup {
        eprintln!("What was there before is kept in {}.", shown(backup));
    }
    if change.is_change() && !dry_run {
        let questions = match args.mode {
            Mode::Native => "stay in the terminal",
            _ => "come to Answerback",
        };
        eprintln!("Next: start Claude Code {}. Its questions {questions} from now on.", whereabouts(&place.scope));
    }
    Ok(Exit::Success)
}

/// Says that the plugin brings the hook. With both, every question would come twice.
fn tell_of_plugin(plugin: &str, file: &Path, options: &Options) -> anyhow::Result<()> {
    if options.json {
        let path = file.to_string_lossy();
        let report = json!({
            "path": path, "outcome": "plugin_enabled", "changed": false, "dry_run": options.dry_run, "plugin": plugin,
        });
        return print_json(&report);
    }
    let plugin = one_line(plugin);
    eprintln!("Nothing was changed: the plugin {plugin} is enabled and brings the hook already.");
    eprintln!("To have it in {} instead, disable the plugin first.", shown(file));
    Ok(())
}

fn whereabouts(scope: &Scope) -> String {
    match scope {
        Scope::User => "in any project".to_owned(),
        Scope::Project(dir) | Scope::Local(dir) => format!("in {}", shown(dir)),
    }
}

/// The path of the hook as text, because settings are text.
fn hook_text() -> anyhow::Result<String> {
    let not_text = |path: OsString| {
        hinted(format!("{} is not UTF-8, as settings must be", path.display()), "Put the programs elsewhere.")
    };
    hook_program()?.into_os_string().into_string().map_err(not_text)
}
