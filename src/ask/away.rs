//! The words that a person leaves behind for what is asked while they are away.
//!
//! They are the person's own words and nothing else: never a default, and never an approval. Free text denies a permission and sends a
//! plan back. If the words happen to be the label of an option that approves, they are no answer at all.

use std::path::Path;

use indexmap::IndexMap;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Answer, Ask, Kind, MAX_TEXT, Origin, Source, one_name, permission, plan};

/// The longest time that somebody can be away. Words that nobody remembers must not go on answering.
const MAX_TIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The longest path of a project, in bytes.
const MAX_PROJECT: usize = 4096;

/// What a person says to everything that is asked while they are away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    /// The directory whose asks it is for, and those of the directories below. `None` for every ask.
    pub project: Option<String>,
    /// The person's own words.
    pub words: String,
    /// The kinds of asks that get the words.
    pub kinds: Vec<Kind>,
    /// The time at which it began. Asks from before are left alone.
    pub since: Timestamp,
    /// The time at which it is over.
    pub until: Timestamp,
    /// Who set it, as far as that is known.
    pub by: Option<Source>,
}

/// What somebody who leaves says. [`NewAway::begin`] checks it.
#[derive(Debug, Clone)]
pub struct NewAway {
    /// See [`Away::project`].
    pub project: Option<String>,
    /// See [`Away::words`].
    pub words: String,
    /// See [`Away::kinds`].
    pub kinds: Vec<Kind>,
    /// How long it lasts.
    pub time: SignedDuration,
}

/// Why somebody cannot be away like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AwayError {
    /// Nothing to say.
    #[error("the words are empty")]
    NoWords,
    /// Too much to say.
    #[error("the words are over {} KiB", MAX_TEXT / 1024)]
    LongWords,
    /// The words would approve.
    #[error("`{0}` is the label of an option that approves, and nothing is approved while you are away")]
    Approval(String),
    /// It would be for nothing.
    #[error("no kind is named")]
    NoKinds,
    /// A form wants values, and words are none.
    #[error("a form cannot be answered while you are away")]
    Form,
    /// No time at all, or too long.
    #[error("the time is from 1 second to {} days", MAX_TIME.as_hours() / 24)]
    Time,
    /// Not the path of a directory.
    #[error("the project is an absolute path of at most {} KiB", MAX_PROJECT / 1024)]
    Project,
}

impl NewAway {
    /// Checks everything, and begins now.
    pub fn begin(self, by: Option<Source>, now: Timestamp) -> Result<Away, AwayError> {
        let words = self.words.trim();
        if words.is_empty() {
            return Err(AwayError::NoWords);
        }
        if words.len() > MAX_TEXT {
            return Err(AwayError::LongWords);
        }
        if [permission::ALLOW_ONCE, plan::ACCEPT_EDITS, plan::ASK_BEFORE_EDITS].contains(&words) {
            return Err(AwayError::Approval(words.to_owned()));
        }
        // In the order of all kinds, each once.
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| self.kinds.contains(kind)).collect();
        if kinds.is_empty() {
            return Err(AwayError::NoKinds);
        }
        if kinds.contains(&Kind::Form) {
            return Err(AwayError::Form);
        }
        if !(SignedDuration::from_secs(1)..=MAX_TIME).contains(&self.time) {
            return Err(AwayError::Time);
        }
        let until = now.checked_add(self.time).map_err(|_| AwayError::Time)?;
        let project = self.project.as_deref().map(directory).transpose()?;
        Ok(Away { project, words: words.to_owned(), kinds, since: now, until, by })
    }
}

/// A directory under one name, so that setting it again replaces what was set.
pub fn directory(path: &str) -> Result<String, AwayError> {
    if path.len() > MAX_PROJECT || !path.starts_with('/') {
        return Err(AwayError::Project);
    }
    Ok(one_name(path))
}

impl Away {
    /// Whether it is on at this time. A time before it began means that the clock was set back, and then nobody knows.
    pub fn is_on(&self, now: Timestamp) -> bool {
        (self.since..self.until).contains(&now)
    }

    /// Whether the words are for what is asked in this directory.
    pub fn is_said_in(&self, project: Option<&str>) -> bool {
        match (&self.project, project) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(asked)) => Path::new(&one_name(asked)).starts_with(mine),
        }
    }

    /// Whether the words are for this ask. The doctor's own questions are not for people at all.
    fn is_for(&self, ask: &Ask) -> bool {
        let is_here = self.is_said_in(ask.project.as_deref());
        is_here && self.kinds.contains(&ask.kind) && ask.origin != Origin::Probe && self.is_on(ask.opened_at)
    }

    /// The words as the answer to an ask. `None` if they cannot be one: a question takes only its options, or the words would approve.
    fn answer(&self, ask: &Ask) -> Option<Answer> {
        if !ask.questions.iter().all(|question| question.free_text) {
            return None;
        }
        let words = |text: &str| (text.to_owned(), Value::String(self.words.clone()));
        let answers = ask.questions.iter().map(|question| words(&question.question)).collect();
        let answer = Answer::new(&ask.questions, &answers, &IndexMap::new(), false).ok()?;
        ask.check(&answer).ok()?;
        let questions = ask.questions.as_slice();
        let approves = match ask.kind {
            Kind::Question => false,
            Kind::Permission => matches!(permission::ruling(questions, &answer), permission::Ruling::Allow(_)),
            Kind::Plan => matches!(plan::ruling(questions, &answer), plan::Ruling::Approve { .. }),
            Kind::Form => true,
        };
        (!approves).then_some(answer)
    }
}

/// What a person who is away says to an ask, and the note that it comes from. Of several notes, the one for the nearest directory counts.
/// `None` if the ask is to be left open.
pub fn answer_of<'a>(notes: &'a [Away], ask: &Ask, now: Timestamp) -> Option<(&'a Away, Answer)> {
    let fitting = notes.iter().filter(|note| note.is_on(now) && note.is_for(ask));
    // Each of these directories holds the next one, so the longest name is the nearest.
    let nearest = fitting.max_by_key(|note| note.project.as_ref().map_or(0, String::len))?;
    nearest.answer(ask).map(|answer| (nearest, answer))
}

#[cfg(test)]
mod tests;
