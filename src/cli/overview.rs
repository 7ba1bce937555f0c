//! `answerback` without a command: what is open, and what to do next.

use crate::claude_code::settings::coverage::Coverage;
use crate::claude_code::settings::session;
use crate::client::Client;
use crate::text::{counted, style};

use super::exit::Exit;
use super::{away, hub, machine, paths, pending};

pub(super) fn run() -> anyhow::Result<Exit> {
    let paths = paths()?;
    let hub = hub();
    // Where nothing was ever asked, no daemon is started only to say so.
    let client = (paths.store().exists() || hub.is_some()).then(|| Client::new(paths));
    let open = client.as_ref().map_or(Ok(Vec::new()), |client| client.open_asks().map(|list| list.asks))?;
    let reminder = client.as_ref().map_or(Ok(String::new()), away::reminder)?;
    if !reminder.is_empty() {
        outln!("{reminder}");
    }
    if open.is_empty() {
        outln!("No question is open.\n");
        what_to_do_next()?;
    } else {
        outln!("{}:\n", counted(open.len(), "question is open", "questions are open"));
        pending::show(&open, machine::are_several(&open))?;
        outln!("");
        match hub {
            None => {
                steps(&[
                    ("answerback answer", "choose with the arrow keys"),
                    ("answerback open", "answer on the page"),
                ])?;
            }
            Some(_) => steps(&[("answerback open", "answer at the hub of this machine")])?,
        }
    }
    outln!("\n`answerback --help` lists all commands.");
    Ok(Exit::Success)
}

fn what_to_do_next() -> anyhow::Result<()> {
    // A directory that is gone has no settings of its own.
    let here = std::env::current_dir().unwrap_or_default();
    let coverage = session::coverage(&session::files(&here));
    if coverage == Coverage::NONE {
        return steps(&[
            ("answerback install", "what Claude Code asks in this directory comes here, too"),
            ("answerback demo", "try it first: a pretend agent asks"),
        ]);
    }
    outln!("If you start Claude Code in this directory, {} come to Answerback.\n", coverage.covered());
    if hub().is_some() {
        return steps(&[("answerback open", "the page of the hub, which shows them")]);
    }
    steps(&[("answerback open", "the page that shows them"), ("answerback history", "what was asked before")])
}

fn steps(steps: &[(&str, &str)]) -> anyhow::Result<()> {
    let (choice, faint) = (style::CHOICE, style::FAINT);
    let longest = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, what) in steps {
        outln!("  {choice}{command}{choice:#}{}   {faint}{what}{faint:#}", " ".repeat(longest - command.len()));
    }
    Ok(())
}
