//! `answerback man`: the manual.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use super::Cli;
use super::exit::Exit;

/// Print the manual page, or write one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback man | man -l -\n  \
    answerback man --dir ~/.local/share/man/man1")]
pub(super) struct Args {
    /// Write answerback.1, answerback-answer.1, ... into this directory
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.dir {
        Some(dir) => {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
            clap_mangen::generate_to(Cli::command(), dir)
                .with_context(|| format!("cannot write to {}", dir.display()))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            io::stdout().write_all(&page)?;
        }
    }
    Ok(Exit::Success)
}
