//! What is open, as words for a command line.

use std::time::Duration;

use crate::api::{AskView, State};
use crate::ask::Question;
use crate::client::Client;
use crate::text::{fit, reveal};

use super::super::{answer, draft, machine, options, paths, which};
use super::place::Place;

/// A person has pressed a key and waits.
const DEADLINE: Duration = Duration::from_millis(500);
/// The columns of a description.
const ABOUT: usize = 60;
/// A label is offered up to this length, in characters. Instead of a longer one, its number is.
const LABEL: usize = 80;

/// A word that may stand at the cursor. There is nothing in it that a terminal would act on, and no line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) word: String,
    /// A few words about it, also harmless. It may be empty.
    pub(super) about: String,
}

/// The words for a place. None of them if nothing is open or the daemon cannot be reached; `None` if no open question belongs there.
pub(super) fn candidates(place: &Place) -> Option<Vec<Candidate>> {
    let is_first = place.words.is_empty();
    match (place.command.as_str(), place.field.as_deref()) {
        ("show" | "dismiss" | "release", None) if is_first => Some(keys(&open_asks(), &place.begun)),
        ("resume", None) if is_first => Some(keys(&resumable_asks(), &place.begun)),
        ("answer", None) => Some(words(&open_asks(), place)),
        ("answer", Some(field @ ("answers" | "texts" | "notes"))) => Some(values(&open_asks(), place, field)),
        _ => None,
    }
}

/// It never starts a daemon.
fn client() -> Option<Client> {
    Some(Client::in_a_hurry(paths().ok()?, DEADLINE))
}

/// The longest waiting first.
fn open_asks() -> Vec<AskView> {
    let list = client().and_then(|client| client.open_asks().ok());
    list.map(|list| list.asks.into_iter().rev().collect()).unwrap_or_default()
}

fn resumable_asks() -> Vec<AskView> {
    let list = client().and_then(|client| client.newest_asks().ok());
    let is_resumable = |ask: &AskView| ask.deferred && ask.receipt.is_none() && ask.state == State::Settled;
    list.map(|list| list.asks.into_iter().filter(is_resumable).collect()).unwrap_or_default()
}

/// The short keys, or the whole ones for somebody who has begun a whole one.
fn keys(asks: &[AskView], begun: &str) -> Vec<Candidate> {
    let keys = asks.iter().zip(which::short_keys(asks));
    let with_host = machine::are_several(asks);
    let candidate = |ask: &AskView, key: &str| Candidate { word: key.to_owned(), about: about(ask, with_host) };
    if keys.clone().any(|(_, short)| short.starts_with(begun)) {
        return keys.map(|(ask, short)| candidate(ask, short)).collect();
    }
    asks.iter().filter(|ask| ask.key.starts_with(begun)).map(|ask| candidate(ask, &ask.key)).collect()
}

fn about(ask: &AskView, with_host: bool) -> String {
    let project = machine::short_name(ask, with_host);
    let summary = ask.summary();
    let line = summary.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if project.is_empty() { fit(line, ABOUT) } else { fit(&format!("{project}: {line}"), ABOUT) }
}

/// A key, and then labels. The key is not needed when one question is open.
fn words(open: &[AskView], place: &Place) -> Vec<Candidate> {
    let mut candidates = if place.words.is_empty() { keys(open, &place.begun) } else { Vec::new() };
    if place.words.is_empty() && open.len() != 1 {
        return candidates;
    }
    let Ok((ask, labels)) = answer::meant(open, &place.words, |_| Ok(None)) else { return candidates };
    let question = match ask.questions.as_slice() {
        [only] => Some(only).filter(|only| only.multi_select || labels.is_empty()),
        several => several.get(labels.len()),
    };
    let has_key = labels.len() < place.words.len();
    candidates.extend(question.into_iter().flat_map(|question| options_of(ask, question, has_key, labels)));
    candidates
}

/// `QUESTION=LABEL`, or `QUESTION=` where words of one's own follow.
fn values(open: &[AskView], place: &Place, field: &str) -> Vec<Candidate> {
    let Ok((ask, labels)) = answer::meant(open, &place.words, |_| Ok(None)) else { return Vec::new() };
    let has_key = labels.len() < place.words.len();
    let questions = ask.questions.as_slice();
    // A question is answered in one way or the other. A note stands beside either.
    let is_said = |name: &str| (name == "notes") == (field == "notes") && ["answers", "texts", "notes"].contains(&name);
    let said: Vec<_> = place.given.iter().filter(|(name, _)| is_said(name)).map(|(_, value)| value).collect();
    let mut candidates = Vec::new();
    for question in questions {
        let Some(name) = name(questions, question) else { continue };
        let said = said.iter().filter_map(|said| draft::split(questions, said, "").ok());
        let said = said.filter(|(named, _)| std::ptr::eq(*named, question)).map(|(_, rest)| rest.to_owned());
        let said: Vec<String> = said.collect();
        let takes_more = said.is_empty() || question.multi_select;
        let takes_words = match field {
            "answers" => question.options.is_empty(),
            // Words for the only question need no name.
            "texts" => question.free_text && questions.len() > 1,
            _ => questions.len() > 1,
        };
        if takes_more && takes_words {
            candidates.push(Candidate { word: format!("{name}="), about: fit(&question.question, ABOUT) });
        } else if takes_more && field == "answers" {
            let options = options_of(ask, question, has_key, &said);
            candidates.extend(options.map(|option| Candidate { word: format!("{name}={}", option.word), ..option }));
        }
    }
    candidates
}

/// The options that have not been said, by their labels or their numbers. Without a key, nothing is approved.
fn options_of<'a>(
    ask: &'a AskView,
    question: &'a Question,
    has_key: bool,
    said: &'a [String],
) -> impl Iterator<Item = Candidate> + 'a {
    question.options.iter().zip(1..).filter_map(move |(option, number)| {
        let label = &option.label;
        let may_be_said = has_key || !ask.kind.is_approval(label);
        let means_it = |word: &String| options::find_all(question, word).is_ok_and(|found| found == [label]);
        if !may_be_said || said.iter().any(means_it) {
            return None;
        }
        // A label with a dash before it would be taken for an option of the command.
        let whole = Some(label).filter(|label| is_plain(label) && !label.starts_with('-') && means_it(label));
        match whole {
            Some(label) => Some(Candidate { word: label.clone(), about: fit(&option.description, ABOUT) }),
            None => Some(number.to_string())
                .filter(means_it)
                .map(|number| Candidate { word: number, about: fit(label, ABOUT) }),
        }
    })
}

/// What the command line may call a question: its header, or its number.
fn name(questions: &[Question], question: &Question) -> Option<String> {
    let number = questions.iter().position(|other| std::ptr::eq(other, question))? + 1;
    let header = Some(question.header.clone()).filter(|header| is_plain(header));
    header.into_iter().chain([number.to_string()]).find(|name| {
        let pair = format!("{name}=");
        draft::split(questions, &pair, "").is_ok_and(|(named, rest)| std::ptr::eq(named, question) && rest.is_empty())
    })
}

/// Whether a text can stand in a line as it is, and a person sees all of it.
fn is_plain(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= LABEL && !text.contains('\n') && reveal(text) == text
}
