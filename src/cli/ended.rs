//! How a question ended, for a command that comes too late to settle it.

use crate::api::{AskView, State};
use crate::ask::{AskKey, Channel, OutcomeKind};
use crate::client::{Client, ClientError};
use crate::text::one_line;

use super::explain::hinted;
use super::which;

/// How the question ended, to follow its name in a sentence: "was answered on the page".
pub(super) fn ended(ask: &AskView) -> String {
    let by = ask.outcome.as_ref().and_then(|outcome| outcome.by.as_ref()).map(|by| by.channel);
    let place = match by {
        Some(Channel::Device) => "on the page",
        Some(Channel::Socket) => "by another command",
        Some(Channel::Token) => "by another program",
        Some(Channel::Terminal) => "in the terminal",
        Some(Channel::Notification) => "from a notification",
        Some(Channel::Away) => "with the words of somebody who is away",
        Some(Channel::Hub) | None => "elsewhere",
    };
    match ask.outcome.as_ref().map(|outcome| outcome.kind) {
        Some(OutcomeKind::Answered | OutcomeKind::AnsweredInTerminal) => format!("was answered {place}"),
        Some(OutcomeKind::Dismissed) => format!("was dismissed {place}"),
        Some(OutcomeKind::Released) => format!("was released to the terminal {place}"),
        Some(OutcomeKind::Expired) => "expired".to_owned(),
        Some(OutcomeKind::Withdrawn) | None => "was withdrawn".to_owned(),
    }
}

/// The error for a question that is settled already.
pub(super) fn too_late(ask: &AskView) -> anyhow::Error {
    hinted(
        format!("`{}` {}", one_line(&ask.summary()), ended(ask)),
        "`answerback history` shows the settled questions, `answerback pending` the open ones.",
    )
}

/// The settled question with this key, or the newest whose key ends with this.
pub(super) fn find(client: &Client, word: &str) -> anyhow::Result<Option<AskView>> {
    if word.parse::<AskKey>().is_ok() {
        return Ok(client.find_ask(word)?.filter(|ask| ask.state == State::Settled));
    }
    // No part of a key is longer.
    if !which::may_be_key(word) || word.len() > 128 {
        return Ok(None);
    }
    Ok(client.settled_ask_ending_with(word)?)
}

/// The settled question. If somebody else settled it first, the error says how it ended.
pub(super) fn settled(result: Result<AskView, ClientError>) -> anyhow::Result<AskView> {
    result.map_err(|error| match &error {
        ClientError::Refused(problem) => problem.ask.as_deref().map(too_late).unwrap_or_else(|| error.into()),
        _ => error.into(),
    })
}
