//! The commands, one file each. Data goes to stdout, talk to stderr.

/// Writes a line to stdout, with colours only in a terminal. Returns an error where `println!` would panic.
macro_rules! outln {
    ($($arg:tt)*) => {
        std::io::Write::write_fmt(&mut anstream::stdout(), format_args!("{}\n", format_args!($($arg)*)))?
    };
}

mod answer;
mod ask;
mod away;
mod choose;
mod completions;
mod daemon;
mod daemon_process;
mod demo;
mod devices;
mod diff;
mod doctor;
mod draft;
mod edits;
mod ended;
mod exit;
mod explain;
mod export;
mod grant;
mod grants;
mod help;
mod history;
mod hosts;
mod install;
mod install_server;
mod join;
mod machine;
mod man;
mod manager;
mod mcp;
mod migrate;
mod notify;
mod open;
mod options;
mod overview;
mod pair;
mod pending;
mod people;
mod permission_tool;
mod phone;
mod programs;
mod qr;
mod restart;
mod resume;
mod run;
mod settings;
mod settle;
mod sharing;
mod show;
mod status;
mod stop;
mod subject;
mod table;
mod time;
mod tree;
mod uninstall;
mod unsent;
mod which;

use std::io::{self, Write};
use std::process::ExitCode;

use answerback_hook::paths::Paths;
use clap::{FromArgMatches, Parser, Subcommand};

use crate::address::HubUrl;
use crate::client::Client;
use crate::config::Config;
use crate::text::harmless_json;

use exit::Exit;
use explain::{explain, hinted};

/// Answer your coding agent's questions from anywhere, and never lose one.
#[derive(Debug, Parser)]
#[command(name = "answerback", version, propagate_version = true, max_term_width = 100)]
#[command(long_about = "Answer your coding agent's questions from anywhere, and never lose one.\n\n\
    Without a command, it shows what is open and what to do next.")]
#[command(after_help = "Examples:\n  \
    answerback                            # what is open, and what to do next\n  \
    answerback demo                       # a pretend agent asks\n  \
    answerback answer                     # choose with the arrow keys\n  \
    answerback pending --watch            # what is open, as it changes\n  \
    answerback ask 'Deploy?' -o Yes -o No # a question of your own")]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Install(install::Args),
    Uninstall(uninstall::Args),
    Doctor(doctor::Args),
    Status(status::Args),
    Pending(pending::Args),
    Show(show::Args),
    Answer(answer::Args),
    Dismiss(settle::DismissArgs),
    Release(settle::ReleaseArgs),
    History(history::Args),
    Away(away::Args),
    Back(away::BackArgs),
    Grants(grants::Args),
    Ask(ask::Args),
    Mcp(mcp::Args),
    Open(open::Args),
    Phone(phone::Args),
    Pair(pair::Args),
    Devices(devices::Args),
    People(people::Args),
    Host(hosts::HostArgs),
    Hosts(hosts::Args),
    Join(join::Args),
    Run(run::Args),
    Resume(resume::Args),
    Demo(demo::Args),
    Notify(notify::Args),
    Migrate(migrate::Args),
    Daemon(daemon::Args),
    Restart(restart::Args),
    Stop(stop::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    PermissionTool(permission_tool::Args),
}

/// Runs the command that the command line names.
pub fn run() -> ExitCode {
    let parsed = Cli::from_arg_matches(&help::command().get_matches()).unwrap_or_else(|error| error.exit());
    let Some(command) = parsed.command else { return finish(overview::run()) };
    finish(match command {
        Command::Install(args) => install::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Pending(args) => pending::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Answer(args) => answer::run(&args),
        Command::Dismiss(args) => settle::dismiss(&args),
        Command::Release(args) => settle::release(&args),
        Command::History(args) => history::run(&args),
        Command::Away(args) => away::leave(&args),
        Command::Back(args) => away::come_back(&args),
        Command::Grants(args) => grants::run(&args),
        Command::Ask(args) => ask::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Open(args) => open::run(&args),
        Command::Phone(args) => phone::run(&args),
        Command::Pair(args) => pair::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::People(args) => people::run(&args),
        Command::Host(args) => hosts::run_host(&args),
        Command::Hosts(args) => hosts::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Notify(args) => notify::run(&args),
        Command::Migrate(args) => migrate::run(&args),
        Command::Daemon(args) => daemon::run(&args),
        Command::Restart(args) => restart::run(&args),
        Command::Stop(args) => stop::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::PermissionTool(args) => permission_tool::run(&args),
    })
}

fn finish(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        // The reader of our output closed it, as `head` does. That is no failure.
        Err(error) if is_broken_pipe(&error) => Exit::Success.into(),
        Err(error) => {
            explain(&error);
            Exit::Failure.into()
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn no_home() -> anyhow::Error {
    hinted("there is no home directory", "Set HOME.")
}

fn paths() -> anyhow::Result<Paths> {
    Paths::from_env().ok_or_else(no_home)
}

/// The hub, if this machine is an edge. A configuration that cannot be read is told elsewhere.
fn hub() -> Option<HubUrl> {
    Config::load(&paths().ok()?.config_file()).ok()?.hub
}

/// Refuses what an edge leaves to its hub.
fn refuse_on_edge(what: &str) -> anyhow::Result<()> {
    match hub() {
        Some(hub) => Err(hinted(format!("this machine is an edge, and {what} at its hub"), format!("Go to {hub}"))),
        None => Ok(()),
    }
}

/// The daemon, started if need be.
fn client() -> anyhow::Result<Client> {
    Ok(Client::new(paths()?))
}

/// One JSON value on stdout.
fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{}", harmless_json(&serde_json::to_string_pretty(value)?))?)
}
