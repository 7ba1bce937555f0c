//! The text of notifications. It says as little as possible unless details are configured, and it is always safe to show.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::address::PublicUrl;
use crate::ask::{Ask, Origin, Question};
use crate::config::Config;
use crate::text::{boundaries, one_line};

// In bytes. ntfy brings at most 4 KB to a phone, and the buttons are part of that.
const MAX_NAME: usize = 60;
const MAX_HEADER: usize = 40;
const MAX_QUESTION: usize = 400;
const MAX_LINE: usize = 100;
const MAX_LINES: usize = 6;

/// What notifications may say.
#[derive(Debug)]
pub(super) struct Wording {
    details: bool,
    public_url: Option<PublicUrl>,
}

/// The notification that a person reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) title: String,
    pub(super) body: String,
    /// Where to answer.
    pub(super) url: Option<String>,
}

impl Wording {
    pub(super) fn new(config: &Config) -> Self {
        Self { details: config.notify.details, public_url: config.public_url.clone() }
    }

    /// Whether the text of a question may leave this daemon.
    pub(super) fn includes_details(&self) -> bool {
        self.details
    }

    pub(super) fn public_url(&self) -> Option<&PublicUrl> {
        self.public_url.as_ref()
    }

    /// Where to answer one ask.
    pub(super) fn link(&self, ask: &Ask) -> Option<String> {
        self.public_url.as_ref().map(|url| format!("{}/#ask={}", url.as_str(), ask.key))
    }

    /// One message for all of these asks.
    pub(super) fn message(&self, asks: &[Arc<Ask>]) -> Message {
        let url = match asks {
            [ask] => self.link(ask),
            _ => self.public_url.as_ref().map(|url| format!("{}/", url.as_str())),
        };
        let mut names: Vec<String> = asks.iter().map(|ask| asker(ask)).collect();
        names.sort();
        names.dedup();
        let questions: Vec<Cow<'_, str>> = asks.iter().flat_map(|ask| ask.lines()).collect();
        let about = asks.first().filter(|_| self.details).map(|ask| ask.title()).unwrap_or_default();
        let title = match (names.as_slice(), questions.as_slice()) {
            ([name], [_]) if !about.trim().is_empty() => {
                format!("{name} has a question: {}", bounded(&about, MAX_HEADER))
            }
            ([name], [_]) => format!("{name} has a question"),
            ([name], several) => format!("{name} has {} questions", several.len()),
            (names, several) => format!("{} questions wait in {} projects", several.len(), names.len()),
        };
        let body = match (names.as_slice(), questions.as_slice()) {
            (_, [only]) if self.details => {
                let question = bounded(only, MAX_QUESTION);
                let options: Vec<_> = asks.iter().flat_map(|ask| &ask.questions).flat_map(labels).collect();
                let options = lines(options.into_iter());
                if options.is_empty() { question } else { format!("{question}\n{options}") }
            }
            (_, several) if self.details => lines(several.iter().map(|question| &**question)),
            ([_], [_]) => "It waits for your answer.".to_owned(),
            ([_], _) => "They wait for your answers.".to_owned(),
            (names, _) => lines(names.iter().map(String::as_str)),
        };
        Message { title, body, url }
    }

    /// The message of `answerback notify test`.
    pub(super) fn test(&self) -> Message {
        let url = self.public_url.as_ref().map(|url| format!("{}/", url.as_str()));
        Message {
            title: "Answerback: a test".into(),
            body: "Notifications about questions look like this.".into(),
            url,
        }
    }
}

fn labels(question: &Question) -> impl Iterator<Item = &str> {
    question.options.iter().map(|option| option.label.as_str())
}

/// The name of the asker for people: the name of its directory.
pub(super) fn asker(ask: &Ask) -> String {
    let unnamed = match ask.origin {
        Origin::ClaudeCode => "Claude Code",
        Origin::Program => "A program",
        Origin::Probe => "Answerback",
    };
    let dir = ask.project.as_deref().and_then(|project| Path::new(project).file_name()?.to_str());
    let name = bounded(dir.unwrap_or_default(), MAX_NAME);
    if name.is_empty() { unnamed.to_owned() } else { name }
}

/// The texts as a list, with a limit on the number of lines and on each line.
fn lines<'a>(texts: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = texts.len().saturating_sub(MAX_LINES);
    let mut lines: Vec<_> = texts.take(MAX_LINES).map(|text| format!("• {}", bounded(text, MAX_LINE))).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// The text on one line, in at most `bytes` bytes, with an ellipsis if it was cut.
pub(super) fn bounded(text: &str, bytes: usize) -> String {
    let line = one_line(text);
    if line.len() <= bytes {
        return line;
    }
    let room = bytes.saturating_sub('…'.len_utf8());
    let end = boundaries(&line).take_while(|end| *end <= room).last().unwrap_or(0);
    format!("{}…", line[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ask::samples::ask;

    fn wording(details: bool) -> Wording {
        let public_url = Some(PublicUrl::try_from("https://a.example".to_owned()).unwrap());
        Wording { details, public_url }
    }

    fn message(details: bool, asks: Vec<Ask>) -> (String, String) {
        let asks: Vec<_> = asks.into_iter().map(Arc::new).collect();
        let message = wording(details).message(&asks);
        (message.title, message.body)
    }

    fn says(title: &str, body: &str) -> (String, String) {
        (title.to_owned(), body.to_owned())
    }

    #[test]
    fn a_message_has_details_only_if_they_are_configured() {
        let (one, three) = (ask(1, "s__t", "shop", 1), ask(2, "s__u", "shop", 3));
        let site = ask(3, "p__t", "site", 1);
        assert_eq!(message(false, vec![one.clone()]), says("shop has a question", "It waits for your answer."));
        assert_eq!(
            message(false, vec![one.clone(), three.clone()]),
            says("shop has 4 questions", "They wait for your answers.")
        );
        assert_eq!(
            message(false, vec![one.clone(), site.clone()]),
            says("2 questions wait in 2 projects", "• shop\n• site")
        );
        assert_eq!(
            message(true, vec![one.clone()]),
            says("shop has a question: Database", "Which database, 0?\n• SQLite\n• PostgreSQL")
        );
        assert_eq!(
            message(true, vec![three.clone()]),
            says("shop has 3 questions", "• Which database, 0?\n• Which database, 1?\n• Which database, 2?")
        );
        let (_, body) = message(true, vec![three.clone(), three.clone(), three]);
        assert!(body.ends_with("and 3 more"), "{body}");
        let (title, _) = message(false, vec![ask(1, "s__t", "", 1)]);
        assert_eq!(title, "Claude Code has a question");
    }

    #[test]
    fn a_message_links_to_its_only_ask_or_to_the_page() {
        let asks = [Arc::new(ask(1, "s__t", "shop", 1)), Arc::new(ask(2, "s__u", "shop", 1))];
        let wording = wording(false);
        assert_eq!(wording.message(&asks[..1]).url.unwrap(), "https://a.example/#ask=s__t");
        assert_eq!(wording.message(&asks).url.unwrap(), "https://a.example/");
    }

    proptest! {
        #[test]
        fn every_message_is_short_and_has_no_control_characters(text in ".{1,900}", name in ".{1,200}") {
            let mut ask = ask(1, "s__t", "shop", 1);
            ask.project = Some(format!("/{name}"));
            let mut questions: Vec<Question> = ask.questions.into();
            questions[0].question = format!("Q{text}");
            questions[0].header = text.clone();
            questions[0].options[0].label = format!("L{text}");
            ask.questions = crate::ask::Questions::new(questions).unwrap();
            let (title, body) = message(true, vec![ask]);
            let harmless = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control());
            prop_assert!(harmless(&title) && !title.contains('\n') && title.len() <= 150, "{title}");
            prop_assert!(harmless(&body) && body.len() <= 1200, "{body}");
        }
    }
}
