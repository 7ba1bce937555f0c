//! `answerback man`: the manual.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
            write_pages(dir).with_context(|| format!("cannot write to {}", dir.display()))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            io::stdout().write_all(with_examples(&String::from_utf8_lossy(&page)).as_bytes())?;
        }
    }
    Ok(Exit::Success)
}

/// Writes a page for each command.
fn write_pages(dir: &Path) -> io::Result<()> {
    // The pages are changed before anybody sees them.
    let made = tempfile::tempdir()?;
    clap_mangen::generate_to(Cli::command(), made.path())?;
    for page in fs::read_dir(made.path())? {
        let page = page?;
        fs::write(dir.join(page.file_name()), with_examples(&fs::read_to_string(page.path())?))?;
    }
    Ok(())
}

/// Gives the examples of a page a section of their own, in which lines stay as they are. `clap_mangen` calls the section "extra", and a
/// command that is too long for a line would be taken apart.
fn with_examples(page: &str) -> String {
    let Some((before, rest)) = page.split_once(".SH EXTRA\nExamples:\n") else { return page.to_owned() };
    let (examples, after) = rest.split_at(rest.find("\n.SH ").map_or(rest.len(), |end| end + 1));
    format!("{before}.SH EXAMPLES\n.nf\n{examples}.fi\n{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_have_a_section_of_their_own() {
        let page = ".SH NAME\na\n.SH EXTRA\nExamples:\n  a b\n  a c\n.SH VERSION\n1\n";
        assert_eq!(with_examples(page), ".SH NAME\na\n.SH EXAMPLES\n.nf\n  a b\n  a c\n.fi\n.SH VERSION\n1\n");
        assert_eq!(with_examples(".SH NAME\na\n"), ".SH NAME\na\n");
    }
}
