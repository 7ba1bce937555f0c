//! `answerback run`: Claude Code without a terminal, and able to ask.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::doctor::{self, Finding, Level};

use super::exit::Exit;
use super::explain::hinted;
use super::programs::hook_path;

/// Run Claude Code headless with the tool it asks questions with
///
/// Since 2.1.187, one-shot runs (claude -p) have no tool to ask questions with unless somebody could be asked for permission. This
/// adds what is needed, checks that the hook is installed, and passes everything else through: arguments, input, output, signals
/// and the exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback run -- claude -p 'Set up the project; ask me what you need to know'\n  \
    answerback run -- claude -p --model opus --output-format json 'Which licence shall we use? Ask me.'")]
pub(super) struct Args {
    /// The command line, after --
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let command = able_to_ask(&args.command);
    let brings_settings = command.iter().any(|argument| is_option(argument, "--settings"));
    if !brings_settings {
        check_hook()?;
    }
    let [program, arguments @ ..] = command.as_slice() else { return Ok(Exit::Failure) };
    let error = Command::new(program).args(arguments).exec();
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

/// Adds the option that a one-shot run needs, right after the word that names Claude Code. Its value is never used, because the hook
/// answers first.
fn able_to_ask(command: &[OsString]) -> Vec<OsString> {
    let mut command = command.to_vec();
    let Some(claude) = command.iter().position(|word| word.to_string_lossy().contains("claude")) else {
        return command;
    };
    let arguments = &command[claude + 1..];
    let is_one_shot = arguments.iter().any(|argument| is_option(argument, "--print") || is_short(argument, 'p'));
    let is_able = arguments.iter().any(|argument| is_option(argument, "--permission-prompt-tool"));
    if is_one_shot && !is_able {
        command.splice(claude + 1..claude + 1, ["--permission-prompt-tool".into(), "stdio".into()]);
    }
    command
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
        let command = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (given, expected) in [
            ("claude -p hello", "claude --permission-prompt-tool stdio -p hello"),
            ("claude --print hello", "claude --permission-prompt-tool stdio --print hello"),
            ("claude --permission-prompt-tool mcp__x -p hello", "claude --permission-prompt-tool mcp__x -p hello"),
            ("claude --permission-prompt-tool=stdio -p hello", "claude --permission-prompt-tool=stdio -p hello"),
            ("claude hello", "claude hello"),
            ("claude --printer", "claude --printer"),
            ("claude -cp hello", "claude --permission-prompt-tool stdio -cp hello"),
            ("env A=1 timeout 9 claude -p x", "env A=1 timeout 9 claude --permission-prompt-tool stdio -p x"),
            ("npx @anthropic-ai/claude-code -p x", "npx @anthropic-ai/claude-code --permission-prompt-tool stdio -p x"),
            ("mkdir -p x", "mkdir -p x"),
        ] {
            assert_eq!(able_to_ask(&command(given)), command(expected));
        }
    }
}
