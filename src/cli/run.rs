//! `answerback run`: Claude Code without a terminal, and able to ask.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use answerback_hook::hook::WAITS;

use crate::claude_code::{TOOL_WAITS, permission_tool};
use crate::doctor::{self, Finding, Level};

use super::exit::Exit;
use super::explain::hinted;
use super::programs::hook_path;

/// Run Claude Code headless so that it can ask you
///
/// A one-shot run (claude -p) has nobody to ask. This gives it a tool that asks you through Answerback: its questions and plans wait for
/// you, and its permissions too, if they come to Answerback in this project (install --permissions). This checks that the hook is
/// installed, and passes everything else through: arguments, input, output, signals and the exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback run -- claude -p 'Set up the project; ask me what you need to know'\n  \
    answerback run -- claude -p --output-format json 'Which licence? Ask me.'")]
pub(super) struct Args {
    /// The command line, after --
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (command, asks_tool) = able_to_ask(&args.command, &std::env::current_exe()?);
    let brings_settings = command.iter().any(|argument| is_option(argument, "--settings"));
    if !brings_settings {
        check_hook()?;
    }
    let [program, arguments @ ..] = command.as_slice() else { return Ok(Exit::Failure) };
    let mut claude = Command::new(program);
    claude.args(arguments);
    if asks_tool {
        claude.env(WAITS, TOOL_WAITS);
    }
    let error = claude.exec();
    Err(hinted(format!("cannot run {}: {error}", program.display()), "Is Claude Code installed, and in the PATH?"))
}

/// Refuses to run without a working hook: a question that nobody can answer is worse than no question.
fn check_hook() -> anyhow::Result<()> {
    let directory = std::env::current_dir()?;
    let findings = doctor::examine_settings(&hook_path()?, &directory);
    let loses_questions = |finding: &Finding| {
        // A headless run needs nothing in the terminal.
        (finding.level == Level::Error && finding.check != doctor::TERMINAL) || finding.check == doctor::MODE
    };
    match findings.into_iter().find(loses_questions) {
        Some(finding) => Err(hinted(finding.message, finding.fix.unwrap_or_default())),
        None => Ok(()),
    }
}

/// Adds the options that a one-shot run needs, right after the word that names Claude Code. Returns also whether they were added. They
/// are not if the command brings a tool of its own, or is no one-shot run. `this` is this program.
fn able_to_ask(command: &[OsString], this: &Path) -> (Vec<OsString>, bool) {
    let mut command = command.to_vec();
    let Some(claude) = command.iter().position(|word| word.to_string_lossy().contains("claude")) else {
        return (command, false);
    };
    let arguments = &command[claude + 1..];
    let is_one_shot = arguments.iter().any(|argument| is_option(argument, "--print") || is_short(argument, 'p'));
    let is_able = arguments.iter().any(|argument| is_option(argument, permission_tool::OPTION));
    let needs_tool = is_one_shot && !is_able;
    if needs_tool {
        command.splice(claude + 1..claude + 1, permission_tool::options(this).map(OsString::from));
    }
    (command, needs_tool)
}

/// `-p`, or with others as in `-cp`.
fn is_short(argument: &OsString, flag: char) -> bool {
    let flags = argument.to_str().and_then(|argument| argument.strip_prefix('-'));
    flags.is_some_and(|flags| flags.chars().all(|c| c.is_ascii_alphabetic()) && flags.contains(flag))
}

/// `--name` or `--name=value`.
fn is_option(argument: &OsString, name: &str) -> bool {
    let rest = argument.to_str().and_then(|argument| argument.strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_one_shot_run_is_made_able_to_ask_and_nothing_else_changes() {
        let words = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        let this = Path::new("/bin/answerback");
        let added = permission_tool::options(this).join(" ");
        for (given, expected) in [
            ("claude -p hello", format!("claude {added} -p hello")),
            ("claude --print hello", format!("claude {added} --print hello")),
            ("claude -cp hello", format!("claude {added} -cp hello")),
            ("env A=1 timeout 9 claude -p x", format!("env A=1 timeout 9 claude {added} -p x")),
            ("npx @anthropic-ai/claude-code -p x", format!("npx @anthropic-ai/claude-code {added} -p x")),
        ] {
            assert_eq!(able_to_ask(&words(given), this), (words(&expected), true));
        }
        for given in [
            "claude --permission-prompt-tool mcp__x -p hello",
            "claude --permission-prompt-tool=stdio -p hello",
            "claude hello",
            "claude --printer",
            "mkdir -p x",
        ] {
            assert_eq!(able_to_ask(&words(given), this), (words(given), false));
        }
    }
}
