//! `answerback completions`: for the shell.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::exit::Exit;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback completions bash > ~/.local/share/bash-completion/completions/answerback\n  \
    answerback completions fish > ~/.config/fish/completions/answerback.fish")]
pub(super) struct Args {
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "answerback", &mut script);
    io::Write::write_all(&mut io::stdout(), &script)?;
    Ok(Exit::Success)
}
