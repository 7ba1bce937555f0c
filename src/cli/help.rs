//! `answerback --help`: the commands in groups. One list of all of them would be too long to read.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::text::{COMFORTABLE, width, wrap};

use super::Cli;

const GROUPS: [(&str, &[&str]); 5] = [
    ("Answer", &["pending", "show", "answer", "dismiss", "release", "history", "away", "back", "grants", "open"]),
    ("Set up", &["install", "uninstall", "doctor", "demo", "phone", "pair", "notify", "completions", "man"]),
    ("Ask", &["ask", "mcp", "run", "resume"]),
    ("People and machines", &["devices", "people", "host", "hosts", "join", "migrate"]),
    ("The daemon", &["status", "restart", "stop", "daemon"]),
];

/// The command line, with help that has the commands in their groups.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let groups = groups(&command, width().min(COMFORTABLE));
    let heading = command.get_styles().get_header();
    let template = format!(
        "{{about-section}}\n{{usage-heading}} {{usage}}\n{groups}\n`answerback COMMAND --help` explains a command.\n\n{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Each group with a line for each of its commands, or more lines if one is not wide enough.
fn groups(command: &Command, columns: usize) -> String {
    let (heading, name_style) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let name_width = names.map(|name| name.len()).max().unwrap_or_default();
    let before = 2 + name_width + 2;
    let mut text = String::new();
    for (title, names) in GROUPS {
        write!(text, "\n{heading}{title}:{heading:#}\n").ok();
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let lines = wrap(&about.unwrap_or_default(), columns.saturating_sub(before).max(1));
            write!(text, "  {name_style}{name}{name_style:#}{:1$}", "", before - 2 - name.len()).ok();
            writeln!(text, "{}", lines.join(&format!("\n{:before$}", ""))).ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names: Vec<_> = shown.map(Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(grouped, names);
    }

    /// All commands, and those below them.
    fn all(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().flat_map(all);
        std::iter::once(command).chain(below).collect()
    }

    #[test]
    fn an_example_is_one_line_of_a_usual_terminal() {
        let command = Cli::command();
        for command in all(&command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.split("\n\n").next().unwrap_or_default();
            for line in examples.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn a_command_is_explained_in_one_line_of_a_usual_terminal() {
        let command = Cli::command();
        let printed = groups(&command, 80);
        let names = GROUPS.iter().flat_map(|(_, names)| names.iter()).count();
        // Each group has a blank line and a title.
        assert_eq!(printed.lines().count(), names + 2 * GROUPS.len(), "{printed}");
    }
}
