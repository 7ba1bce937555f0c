//! The picker of `answerback answer`, and sending the choice.

use std::io;
use std::path::Path;

use anstream::eprintln;
use jiff::Timestamp;

use crate::api::{AnswerRequest, AskView, DismissRequest};
use crate::client::Client;
use crate::picker::{self, Picked, Title};
use crate::text::{one_line, sanitise};

use super::exit::Exit;
use super::explain::hinted;
use super::{answer, ended, settle, time};

/// How much of a session's id is shown.
const SESSION: usize = 8;

/// Lets a person choose, and sends the choice.
pub(super) fn run(client: &Client, ask: &AskView) -> anyhow::Result<Exit> {
    let (watching, key) = (client.clone(), ask.key.clone());
    // A daemon that cannot be reached has no news. The picker asks again.
    let settled =
        move || watching.until_settled(&key).ok().map(|ask| format!("This {} meanwhile.", ended::ended(&ask)));
    let picked = picker::pick(&title(ask), &ask.questions, settled).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => hinted(error.to_string(), "Give the answer on the command line."),
        _ => error.into(),
    })?;
    match picked {
        Picked::Answer { answers, notes } => {
            let request = AnswerRequest { answers, notes, partial: false, edited: None };
            match ended::settled(client.answer(&ask.key, &request)) {
                Ok(settled) => answer::tell(&settled),
                Err(error) => {
                    keep_words(&request);
                    return Err(error);
                }
            }
        }
        Picked::Dismiss { reason } => {
            let dismissed = client.dismiss(&ask.key, &DismissRequest { reason });
            settle::tell("Dismissed", &ended::settled(dismissed)?);
        }
        Picked::Release => {
            settle::tell("Released to the terminal", &ended::settled(client.release(&ask.key))?);
        }
        Picked::Quit => {
            eprintln!("Nothing was sent; the question stays open.");
            return Ok(Exit::Interrupted);
        }
        Picked::Gone(how) => {
            eprintln!("{how}");
            return Ok(Exit::Closed);
        }
    }
    Ok(Exit::Success)
}

/// Prints the answer that could not be sent, so that the person does not lose what they typed.
fn keep_words(request: &AnswerRequest) {
    eprintln!("This was not sent:");
    for (question, answer) in &request.answers {
        let answer = answer.as_str().map_or_else(|| answer.to_string(), ToOwned::to_owned);
        eprintln!("  {}: {}", one_line(question), sanitise(&answer));
    }
    for (question, note) in &request.notes {
        eprintln!("  {} (note): {}", one_line(question), sanitise(note));
    }
}

fn title(ask: &AskView) -> Title {
    let project = ask.project.as_deref().map(Path::new).and_then(Path::file_name);
    let session: String = ask.session.chars().take(SESSION).collect();
    Title {
        project: project.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        session: format!("session {session}"),
        age: format!("asked {} ago", time::age(ask.opened_at, Timestamp::now())),
    }
}
