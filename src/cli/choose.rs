//! The picker of `answerback answer`, and sending the choice.

use std::io;
use std::path::Path;

use anstream::eprintln;

use crate::api::{AnswerRequest, AskView, DismissRequest};
use crate::ask::{Kind, form};
use crate::client::{Client, ClientError};
use crate::picker::{self, Draft, Matter, Picked, Title};
use crate::text::StyledLine;

use super::exit::Exit;
use super::explain::hinted;
use super::subject::revealed;
use super::unsent::{self, Drafts};
use super::{answer, ended, settle, subject, time, tree};

/// A label of so many characters fits on one row of the list in most terminals.
const ROW: usize = 60;
/// How much of a session's id is shown.
const SESSION: usize = 8;

/// Lets a person choose, and sends the choice. What they enter and do not send is kept until the ask is settled.
/// `with_host`: its project is named with its host.
pub(super) fn run(client: &Client, ask: &AskView, with_host: bool) -> anyhow::Result<Exit> {
    let (watching, key) = (client.clone(), ask.key.clone());
    // A daemon that cannot be reached has no news. The picker asks again.
    let settled =
        move || watching.until_settled(&key).ok().map(|ask| format!("This {} meanwhile.", ended::ended(&ask)));
    // The picker stays open if the daemon refuses the values, so that the person can correct them.
    let mut sent = None;
    let send = |picked: &Picked| {
        let Picked::Answer { answers, notes } = picked else { return Vec::new() };
        let request = AnswerRequest {
            answers: answers.clone(),
            notes: notes.clone(),
            id: Some(ask.id),
            ..AnswerRequest::default()
        };
        let result = client.answer(&ask.key, &request);
        let faults = match &result {
            Err(ClientError::Refused(problem)) => problem.errors.clone(),
            _ => Vec::new(),
        };
        sent = Some((request, result));
        faults
    };
    let drafts = Drafts::of(client.paths());
    let before = drafts.load(ask);
    let (mut entered, mut kept) = (before.clone(), Ok(()));
    let keep = |draft: &Draft| {
        kept = drafts.keep(ask, draft);
        entered.clone_from(draft);
    };
    let picked = picker::pick(&title(ask, with_host), &matter(ask), &ask.questions, &before, settled, send, keep);
    let picked = picked.map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => hinted(error.to_string(), "Give the answer on the command line."),
        _ => error.into(),
    })?;
    let (result, request) = match &picked {
        Picked::Answer { .. } => {
            let Some((request, result)) = sent else { return Ok(Exit::Failure) };
            (result, Some(request))
        }
        Picked::Dismiss { reason } => {
            (client.dismiss(&ask.key, &DismissRequest { reason: reason.clone(), id: Some(ask.id) }), None)
        }
        Picked::Release => (client.release(&ask.key, Some(ask.id)), None),
        Picked::Quit => {
            eprintln!("Nothing was sent; the question stays open.");
            match kept {
                Ok(()) if entered.is_empty() => {}
                Ok(()) => eprintln!("What you entered is kept for the next time."),
                Err(error) => {
                    eprintln!("What you entered could not be kept: {error}");
                    unsent::tell(&entered);
                }
            }
            return Ok(Exit::Interrupted);
        }
        Picked::Gone(how) => {
            eprintln!("{how}");
            unsent::tell(&entered);
            drafts.forget(ask);
            return Ok(Exit::Closed);
        }
    };
    let was_overtaken = matches!(&result, Err(ClientError::Refused(problem)) if problem.ask.is_some());
    if result.is_ok() || was_overtaken {
        drafts.forget(ask);
    }
    let settled = ended::settled(result).inspect_err(|_| match &request {
        Some(request) => unsent::tell_answer(request),
        None => unsent::tell(&entered),
    })?;
    match picked {
        Picked::Dismiss { .. } => settle::tell("Dismissed", &settled),
        Picked::Release => {
            settle::tell("Released to the terminal", &settled);
            unsent::tell(&entered);
        }
        _ => answer::tell(&settled),
    }
    Ok(Exit::Success)
}

/// Everything that a person must see before they decide. A question is shown by its own text.
fn matter(ask: &AskView) -> Matter {
    let texts = |lines: Vec<StyledLine>| lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n");
    let headings = match (ask.kind, ask.questions.as_slice()) {
        (Kind::Question, _) => Vec::new(),
        (_, [only]) if form::fields(ask.subject.as_ref()).is_empty() => {
            let question = revealed(&only.question).into_iter().next().unwrap_or_default();
            let mut heading = format!("{question}\n\n{}", texts(subject::lines(ask)));
            // The list of options may cut a long rule, and a character that cannot be seen has no name there.
            let labels = only.options.iter().map(|option| (tree::single(&option.label), &option.label));
            for (shown, _) in labels.filter(|(shown, label)| shown != *label || shown.chars().count() > ROW) {
                heading.push_str(&format!("\n\nOption:\n  {shown}"));
            }
            vec![heading]
        }
        _ => {
            let fields = form::fields(ask.subject.as_ref());
            let message = revealed(&ask.summary()).join("\n");
            let heading = |field: &form::Field| {
                format!("{message}\n\n{}\n{}", tree::single(&field.question), subject::rules(field).join("\n"))
            };
            fields.iter().map(heading).collect()
        }
    };
    Matter { kind: ask.kind, headings }
}

fn title(ask: &AskView, with_host: bool) -> Title {
    let project = ask.project.as_deref().map(Path::new).and_then(Path::file_name);
    let project = project.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let named = if project.is_empty() { ask.host.clone() } else { format!("{}:{project}", ask.host) };
    let session: String = ask.session.chars().take(SESSION).collect();
    Title {
        project: if with_host { named } else { project },
        session: format!("session {session}"),
        age: format!("asked {} ago", time::age(ask.opened_at, time::now())),
    }
}
