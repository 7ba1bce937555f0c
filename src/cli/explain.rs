//! Telling a person what went wrong, and what to do about it. Every error of every command is printed here.

use anstream::eprintln;
use answerback_hook::hint::{self, Hint, Hinted};
use answerback_hook::start::StartError;
use answerback_hook::trust::TrustError;

use crate::ask::NOT_ANSWERED;
use crate::claude_code::settings::SettingsError;
use crate::client::ClientError;
use crate::config::ConfigError;
use crate::instance::InstanceError;
use crate::text::{sanitise, style};

/// An error of a command, with what to do about it.
pub(super) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Hinted::new(message, hint).into()
}

/// Prints an error and its hint.
pub(super) fn explain(error: &anyhow::Error) {
    let bad = style::BAD;
    eprintln!("{bad}error{bad:#}: {}", sanitise(&format!("{error:#}")));
    if let Some(ClientError::Refused(problem)) = error.downcast_ref() {
        for fault in &problem.errors {
            let question =
                if fault.question.is_empty() { String::new() } else { format!("{}: ", sanitise(&fault.question)) };
            eprintln!("  {question}{}", sanitise(&fault.problem));
        }
    }
    if let Some(hint) = hint_of(error) {
        eprintln!("hint: {}", sanitise(&hint));
    }
}

/// What to do if the daemon misses the answer to a question.
fn how_to_complete(error: &ClientError) -> Option<String> {
    let ClientError::Refused(problem) = error else { return None };
    let is_missing = problem.errors.iter().any(|fault| fault.problem == NOT_ANSWERED);
    is_missing.then(|| "Add -a QUESTION=ANSWER for it, or --partial to leave it out.".to_owned())
}

/// The error and its hint in one line.
pub(super) fn one_line(error: &anyhow::Error) -> String {
    hint::join(&format!("{error:#}"), hint_of(error).as_deref())
}

/// What the outermost error that knows says to do.
pub(super) fn hint_of(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|error| {
        let known: [Option<&dyn Hint>; 7] = [
            error.downcast_ref::<Hinted>().map(|error| error as _),
            error.downcast_ref::<ClientError>().map(|error| error as _),
            error.downcast_ref::<ConfigError>().map(|error| error as _),
            error.downcast_ref::<InstanceError>().map(|error| error as _),
            error.downcast_ref::<SettingsError>().map(|error| error as _),
            error.downcast_ref::<StartError>().map(|error| error as _),
            error.downcast_ref::<TrustError>().map(|error| error as _),
        ];
        let known = known.into_iter().flatten().find_map(Hint::hint);
        known.or_else(|| error.downcast_ref().and_then(how_to_complete))
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_hint_is_found_behind_any_context() {
        let error = Err::<(), _>(hinted("it is broken", "Mend it.")).context("cannot start").unwrap_err();
        assert_eq!(one_line(&error), "cannot start: it is broken. Mend it.");
        assert_eq!(one_line(&anyhow::anyhow!("it is broken")), "it is broken");
        let error = anyhow::Error::from(TrustError::Link("/a".into())).context("cannot start");
        assert!(hint_of(&error).unwrap().contains("in place of the link /a"));
    }
}
