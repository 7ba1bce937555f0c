//! `answerback install`: the hook into Claude Code's settings.

use std::cell::LazyCell;
use std::ffi::OsString;
use std::path::Path;

use anstream::eprintln;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use super::exit::Exit;
use super::explain::hinted;
use super::install_server;
use super::programs::hook_program;
use super::settings::{Options, print_diff, report, shown};
use super::sharing;
use super::{paths, print_json};
use crate::claude_code::Mode;
use crate::claude_code::settings::coverage::{Choice, Coverage, list};
use crate::claude_code::settings::entry::{Invocation, is_plain};
use crate::claude_code::settings::look::Look;
use crate::claude_code::settings::plugin::Plugin;
use crate::claude_code::settings::scope::Scope;
use crate::claude_code::settings::wanted::Wanted;
use crate::claude_code::settings::{Change, Outcome, Settings, claude_version, look, plugin};
use crate::text::one_line;

/// Put the hook into Claude Code's settings
///
/// Adds the hook that hands Claude's questions and plans to Answerback, or corrects the one that is there. Everything else in the
/// file stays byte by byte what it is, and `answerback uninstall` gives back the file that was there before. A file that
/// Claude Code could not read is refused and left alone.
///
/// Questions and plans are always covered: the terminal asks too, and the first answer wins. Permissions and forms are covered only if you
/// say so. Your choices, and the mode, stay until you make other ones, also if you run this command again without them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback install                      # for the current directory\n  \
    answerback install --project ~/shop     # for another one\n  \
    answerback install --local              # for you alone in this project\n  \
    answerback install --shared             # for all who use the repository\n  \
    answerback install --user               # for you in all projects\n  \
    answerback install --permissions        # permissions, too\n  \
    answerback install --all                # permissions and forms, too\n  \
    answerback install --no-permissions     # permissions stay in the terminal\n  \
    answerback install --mode native        # switch it off in this project\n  \
    answerback install --mcp                # the MCP server, for subagents too\n  \
    answerback install --user --dry-run     # show what would change")]
pub(super) struct Args {
    #[command(flatten)]
    options: Options,
    /// Write the hook so that everybody can use the file: it is found in the PATH or in ~/.local/bin, and where it is not, Claude Code is as
    /// without it
    ///
    /// The file then stays so if you run this command again. To write the path of your own hook again, run `answerback uninstall` first.
    #[arg(long, conflicts_with_all = ["local", "user"])]
    shared: bool,
    #[command(flatten)]
    waits: WaitArgs,
    /// Add the MCP server to the .mcp.json of the project, and leave the hook as it is
    ///
    /// The server gives Claude Code and its subagents the tool `ask_human`. `answerback uninstall` removes it together with the hook. For
    /// other agents, see `answerback mcp --help`.
    #[arg(long, conflicts_with_all = ["permissions", "no_permissions", "forms", "no_forms", "all", "mode"])]
    mcp: bool,
    /// How questions are handled
    ///
    /// `race`: the terminal and Answerback ask at once, and the first answer wins. `hold`: they wait in Answerback, and the terminal shows
    /// that they do. `defer`: a headless one-shot run ends at once and `answerback resume` goes on with the answer. `native`: the terminal alone
    /// asks. `auto`: race where a person is at the terminal, hold where nobody is. Without this option, the mode stays what it is, and is
    /// `auto` at first.
    #[arg(long, value_name = "MODE", value_parser = mode())]
    mode: Option<Mode>,
}

/// Which waits are covered besides questions and plans.
#[derive(Debug, clap::Args)]
struct WaitArgs {
    /// Also cover permissions: whether Claude may run a command, change a file or open a page
    ///
    /// The terminal asks as usual, and the first answer wins. For a background subagent, the terminal shows no dialog while the hook waits.
    /// So if somebody is at the terminal, its requests stay there, unless the mode is `hold`. A plain `claude -p` waits only if `unattended` in config.toml says so. Claude Code
    /// runs the hook for every tool call then, before and after it, which takes about a millisecond each time.
    #[arg(long)]
    permissions: bool,
    /// Leave permissions to the terminal again
    #[arg(long, conflicts_with_all = ["permissions", "all"])]
    no_permissions: bool,
    /// Also cover forms: what an MCP server wants you to fill in
    ///
    /// The terminal shows no dialog for a form while the hook waits. So if somebody is at the terminal, forms stay there, unless the mode is
    /// `hold`. Needs Claude Code 2.1.76 or later.
    #[arg(long)]
    forms: bool,
    /// Leave forms to the terminal again
    #[arg(long, conflicts_with_all = ["forms", "all"])]
    no_forms: bool,
    /// Also cover permissions and forms
    #[arg(long)]
    all: bool,
}

impl WaitArgs {
    fn choice(&self) -> Choice {
        let choice = |yes, no| match (yes, no) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        Choice {
            permissions: choice(self.permissions || self.all, self.no_permissions),
            forms: choice(self.forms || self.all, self.no_forms),
        }
    }
}

fn mode() -> impl TypedValueParser<Value = Mode> {
    let names = Mode::ALL.map(Mode::name);
    PossibleValuesParser::new(names).map(|name| Mode::from_name(&name).unwrap_or_default())
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.mcp {
        return install_server::run(&args.options, args.shared);
    }
    let Options { dry_run, json, .. } = args.options;
    let place = args.options.place()?;
    let hook = hook_text()?;
    // Asking takes a moment, and what is written seldom depends on it.
    let version = LazyCell::new(claude_version::installed);
    let paths = paths()?;
    let settings = Settings::at(&place.file, &paths)?;
    let mode = args.mode.unwrap_or_else(|| mode_now(settings.path()));
    let any_version = is_plain(&hook) && mode == Mode::Auto;
    let invocation = match args.shared {
        true => Invocation::Shared,
        false => Invocation::of(&hook, mode, if any_version { None } else { *version }),
    };

    let bytes = place.session_files.iter().filter_map(|file| look::read(file).ok());
    let looks: Vec<_> = bytes.filter_map(|bytes| Look::at(&bytes).ok()).collect();
    let plugins = plugin::enabled(&looks);
    if !plugins.is_empty() {
        tell_of_plugins(&plugins, settings.path(), &args.options)?;
        return Ok(Exit::Success);
    }

    let wanted = Wanted { invocation, mode, choice: args.waits.choice(), version: &|| *version };
    let preview = settings.preview_install(&wanted)?;
    sharing::refuse_own_path(&preview, settings.path(), &place.scope)?;
    let change = if dry_run { preview } else { settings.install(&wanted)? };
    let after = look_after(&change);
    let coverage = after.as_ref().map_or(Coverage::NONE, Coverage::of);
    let invocation = after.as_ref().map_or(&wanted.invocation, |after| wanted.invocation_for(after));
    if json {
        let mut report = report(&change, settings.path(), dry_run);
        report["command"] = invocation.command().into();
        report["coverage"] = json!(coverage);
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
    if args.mode.is_none() && mode != Mode::Auto {
        eprintln!("The mode stays `{}`. To change it, add for example: --mode auto", mode.name());
    }
    if change.is_change() && !dry_run {
        tell_what_comes(coverage, mode, &place.scope);
    }
    if !dry_run {
        sharing::tell(invocation, settings.path(), &place);
    }
    Ok(Exit::Success)
}

/// The mode in which the file has our hook. It is `auto` if the file does not have it, has it in several modes, or cannot be read.
fn mode_now(file: &Path) -> Mode {
    let own = look::read(file).ok().and_then(|bytes| Look::at(&bytes).ok()).map(|look| look.own()).unwrap_or_default();
    let mut modes = own.into_iter().map(|handler| handler.mode);
    let first = modes.next().unwrap_or_default();
    if modes.all(|mode| mode == first) { first } else { Mode::Auto }
}

/// The file as it is after this change.
fn look_after(change: &Change) -> Option<Look> {
    change.after.as_deref().and_then(|after| Look::at(after).ok())
}

fn tell_what_comes(coverage: Coverage, mode: Mode, scope: &Scope) {
    let here = whereabouts(scope);
    if coverage == Coverage::NONE {
        eprintln!("Next: start Claude Code {here}. Everything it asks stays in the terminal from now on.");
        return;
    }
    eprintln!("Next: start Claude Code {here}. Its {} come to Answerback from now on.", coverage.covered());
    let hidden = coverage.hidden_from_terminal();
    if mode != Mode::Hold && !hidden.is_empty() {
        eprintln!("While you are at the terminal, {hidden} stay there, unless you add: --mode hold");
    }
    if coverage != Coverage::ALL {
        let (rest, options) = (coverage.uncovered(), coverage.options_for_the_rest());
        eprintln!("Its {rest} stay in the terminal. To add them: answerback install {}{options}", scope.options());
    }
}

/// Says that a plugin brings the hook. With both, every question would come twice.
fn tell_of_plugins(plugins: &[Plugin], file: &Path, options: &Options) -> anyhow::Result<()> {
    let names: Vec<_> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    let coverage = plugins.iter().fold(Coverage::NONE, |coverage, plugin| coverage.and(plugin.coverage));
    if options.json {
        let report: Value = json!({
            "path": file.to_string_lossy(),
            "outcome": "plugin_enabled",
            "changed": false,
            "dry_run": options.dry_run,
            "plugin": names.first(),
            "coverage": coverage,
        });
        return print_json(&report);
    }
    let plugins = one_line(&list(&names));
    eprintln!("Nothing was changed: the plugin {plugins} is enabled and brings the hook already.");
    eprintln!("It covers {}.", coverage.covered());
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
