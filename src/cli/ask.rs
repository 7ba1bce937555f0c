//! `answerback ask`: any script asks a person.

use std::io::Write;
use std::time::Duration;

use anstream::eprintln;
use anyhow::Context;
use jiff::SignedDuration;
use tokio::signal::unix::{SignalKind, signal};

use crate::api::{AskRequest, AskView};
use crate::ask::{OutcomeKind, Question, QuestionOption};
use crate::client::Client;
use crate::text::{one_line, sanitise};

use super::exit::Exit;
use super::explain::hinted;
use super::which;
use super::{client, print_json, time};

/// How much later than its deadline the daemon may report the end of a question.
const SLACK: Duration = Duration::from_secs(5);

/// Ask a person, wait, and print the answer
///
/// Exits with 0 when answered, 3 when dismissed, 4 when nobody answered in time, 5 when it was closed otherwise. Ctrl-C takes the
/// question back.
///
/// The answer is printed as plain text, in a terminal and in a pipe: it keeps its line breaks, a tab becomes four spaces, and every
/// other control character becomes U+FFFD, and so does one that turns the direction of text. With --json it is exactly as given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback ask 'Deploy to production?' -o Yes -o No --timeout 10m\n  \
    answerback ask 'Deploy?' -o Yes -o No --only   # no other answer is taken\n  \
    answerback ask 'Which?' -o 'Tests: run all' -o 'Docs: build them' --multi\n  \
    name=$(answerback ask 'What is it called?')")]
pub(super) struct Args {
    /// What to ask
    question: String,
    /// Something to choose; without any, the answer is free text
    #[arg(short, long = "option", value_name = "LABEL[: DESCRIPTION]", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Allow more than one choice
    #[arg(long)]
    multi: bool,
    /// Accept only the options as answers, and no free text
    #[arg(long)]
    only: bool,
    /// A word or two to show beside it
    #[arg(long, default_value = "")]
    header: String,
    /// Give up after this time: 90s, 10m, 2h
    #[arg(long, value_parser = time::parse_duration)]
    timeout: Option<SignedDuration>,
    /// Print the settled question as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = client()?;
    let request = request(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let end = runtime.block_on(async {
        // Install the handlers before the question is open: from then on, a signal must take it back.
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut hang_up = signal(SignalKind::hangup())?;
        let ask = client.open_ask(&request)?;
        let open = client.open_asks()?.asks;
        eprintln!("Waiting for an answer. Give it with: answerback answer {}", which::short_key(&open, &ask.key));
        let (waiting, key) = (client.clone(), ask.key.clone());
        tokio::select! {
            settled = tokio::task::spawn_blocking(move || waiting.until_settled(&key)) => report(args, &settled??),
            // The daemon ends the question at its deadline, unless the daemon hangs.
            () = give_up(args.timeout) => Err(hinted(
                "the daemon did not say in time how the question ended",
                "Run: answerback status. A daemon that hangs is ended by answerback restart.",
            )),
            _ = interrupt.recv() => take_back(&client, &ask, Exit::Interrupted),
            _ = terminate.recv() => take_back(&client, &ask, Exit::Terminated),
            _ = hang_up.recv() => take_back(&client, &ask, Exit::HungUp),
        }
    });
    // Dropping the runtime would wait for the thread that waits for the answer.
    runtime.shutdown_background();
    end
}

fn request(args: &Args) -> anyhow::Result<AskRequest> {
    if args.multi && args.options.is_empty() {
        return Err(hinted("--multi needs something to choose from", "Add options with -o LABEL."));
    }
    if args.only && args.options.is_empty() {
        return Err(hinted("--only needs something to choose from", "Add options with -o LABEL."));
    }
    let option = |text: &String| {
        let (label, description) = text.split_once(": ").unwrap_or((text, ""));
        QuestionOption { label: label.trim().into(), description: description.trim().into(), preview: None }
    };
    let question = Question {
        question: args.question.clone(),
        header: args.header.clone(),
        options: args.options.iter().map(option).collect(),
        multi_select: args.multi,
        free_text: !args.only,
        optional: false,
    };
    let directory = std::env::current_dir().context("the current directory is gone")?;
    Ok(AskRequest {
        questions: vec![question],
        project: directory.to_str().map(ToOwned::to_owned),
        asked_by: None,
        timeout_seconds: args.timeout.map(|timeout| u32::try_from(timeout.as_secs().max(1)).unwrap_or(u32::MAX)),
    })
}

/// Returns a little after the timeout. Without a timeout it never returns.
async fn give_up(timeout: Option<SignedDuration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout.unsigned_abs() + SLACK).await,
        None => std::future::pending().await,
    }
}

/// The exit code names the signal, whether or not the question could be taken back.
fn take_back(client: &Client, ask: &AskView, exit: Exit) -> anyhow::Result<Exit> {
    // Ignore a failure to write: the terminal may be gone.
    let _ = match client.withdraw(&ask.key) {
        Ok(_) => writeln!(anstream::stderr(), "Taken back."),
        Err(error) => writeln!(anstream::stderr(), "The question could not be taken back: {error}"),
    };
    Ok(exit)
}

fn report(args: &Args, ask: &AskView) -> anyhow::Result<Exit> {
    let Some(outcome) = &ask.outcome else { return Ok(Exit::Failure) };
    if args.json {
        print_json(ask)?;
    }
    match outcome.kind {
        OutcomeKind::Answered | OutcomeKind::AnsweredInTerminal => {
            if !args.json {
                for (_, answer) in outcome.answers.iter().flatten() {
                    outln!("{}", sanitise(answer));
                }
            }
            Ok(Exit::Success)
        }
        OutcomeKind::Dismissed => {
            match &outcome.reason {
                Some(reason) => eprintln!("Dismissed: {}", one_line(reason)),
                None => eprintln!("Dismissed."),
            }
            Ok(Exit::Dismissed)
        }
        OutcomeKind::Expired => {
            eprintln!("Nobody answered in time.");
            Ok(Exit::Expired)
        }
        OutcomeKind::Released | OutcomeKind::Withdrawn => {
            eprintln!("Closed without an answer.");
            Ok(Exit::Closed)
        }
    }
}
