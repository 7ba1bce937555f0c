//! `answerback completions`: for the shell.
//!
//! clap writes the script for the commands and their options. What is open changes from moment to moment, so each script calls this program
//! again with the words of the line, behind `--`, and gets one candidate on each line.
//!
//! clap has a dynamic engine, too, but it does not fit. It is marked as unstable, it does not show a completer the other words of the line,
//! and its script for bash puts a candidate into the line as it is: a label such as `$(…)` would be run.

mod bash;
mod open;
mod place;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::exit::Exit;

use open::Candidate;
use place::Place;

/// Print completions for a shell
///
/// They complete commands and options, and also the keys of the open questions and the labels of their options. For the open questions,
/// the shell runs `answerback` from the PATH; that starts no daemon and takes half a second at most.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback completions bash \\\n    \
      > ~/.local/share/bash-completion/completions/answerback\n  \
    answerback completions zsh > ~/.zfunc/_answerback   # with ~/.zfunc in fpath\n  \
    answerback completions fish > ~/.config/fish/completions/answerback.fish\n\n\
    Make the directory first if it is not there.")]
pub(super) struct Args {
    shell: Shell,
    /// What the script asks about.
    #[arg(last = true, hide = true)]
    line: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.line.is_empty() {
        io::stdout().write_all(script(args.shell).as_bytes())?;
        return Ok(Exit::Success);
    }
    let words: Vec<_> = args.line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // Whatever goes wrong, nothing is said: the person is in the middle of a line.
    let Some(candidates) = candidates(args.shell, &words) else { return Ok(Exit::Failure) };
    let lines: String = candidates.into_iter().map(|candidate| candidate + "\n").collect();
    io::stdout().write_all(lines.as_bytes())?;
    Ok(Exit::Success)
}

/// The commands for people. The scripts would also have those that only programs call.
fn shown_commands() -> clap::Command {
    let all = Cli::command();
    let shown: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    clap::Command::new("answerback").version(env!("CARGO_PKG_VERSION")).propagate_version(true).subcommands(shown)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown_commands(), "answerback", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + include_str!("completions/answerback.bash"),
        Shell::Fish => script + include_str!("completions/answerback.fish"),
        Shell::Zsh => {
            // The file may be loaded as the body of `_answerback`, so ours must be defined before it is called.
            let open = include_str!("completions/answerback.zsh");
            let begin = format!("\n{open}_answerback() {{\n    _answerback_open && return\n");
            // With two colons, no option is completed behind the key.
            script.replacen("\n_answerback() {\n", &begin, 1).replace("'*::words --", "'*:words --")
        }
        _ => script,
    }
}

/// One line for each candidate, as the script of the shell expects it. `None` if no open question belongs there.
fn candidates(shell: Shell, words: &[String]) -> Option<Vec<String>> {
    match (shell, words) {
        (Shell::Bash, [purpose, columns, line, text]) => {
            let line = bash::Line::read(line, text)?;
            let place = Place::of(&Cli::command(), &line.words)?;
            let columns = columns.parse().ok().filter(|_| purpose == bash::LIST);
            Some(line.replies(&place.option, &open::candidates(&place)?, columns))
        }
        (Shell::Zsh, words) => {
            let place = Place::of(&Cli::command(), words)?;
            let described = |candidate: Candidate| {
                let word = format!("{}{}", place.option, candidate.word).replace('\\', "\\\\").replace(':', "\\:");
                format!("{word}:{}", candidate.about.replace('\\', "\\\\"))
            };
            Some(open::candidates(&place)?.into_iter().map(described).collect())
        }
        (Shell::Fish, words) => {
            let place = Place::of(&Cli::command(), words)?;
            let candidates = open::candidates(&place)?.into_iter();
            Some(candidates.map(|candidate| format!("{}\t{}", candidate.word, candidate.about)).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_asks_for_what_is_open() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            assert_eq!(script.matches(&format!("answerback completions {shell} --")).count(), 1, "{shell}");
        }
        assert_eq!(script(Shell::Zsh).matches("_answerback_open && return").count(), 1);
        assert_eq!(script(Shell::Zsh).matches("'*:words --").count(), 1);
    }
}
