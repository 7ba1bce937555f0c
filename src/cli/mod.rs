//! The commands, one file each.

mod claude_version;
mod daemon;
mod diff;
mod install;
mod settings;
mod uninstall;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Answer your coding agent's questions from anywhere, and never lose one.
#[derive(Debug, Parser)]
#[command(name = "answerback", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Daemon(daemon::Args),
    Install(install::Args),
    Uninstall(uninstall::Args),
}

/// Runs the command of the command line.
pub fn run() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Daemon(args) => daemon::run(&args),
        Command::Install(args) => install::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
