//! The text of notifications. It says as little as possible unless details are configured, and it is always safe to show.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::address::PublicUrl;
use crate::ask::{Ask, Kind, Origin, Question};
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
    /// The kinds of asks whose text may leave this daemon.
    shown: Vec<Kind>,
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
        let shown = Kind::ALL.into_iter().filter(|kind| config.notify.shows(*kind)).collect();
        Self { shown, public_url: config.public_url.clone() }
    }

    /// Whether the text of an ask may leave this daemon.
    pub(super) fn shows(&self, ask: &Ask) -> bool {
        self.shown.contains(&ask.kind)
    }

    /// Whether a notification says everything that an ask is about, so that nothing of it is hidden.
    pub(super) fn shows_all(&self, ask: &Ask) -> bool {
        let is_whole = |line: &Cow<'_, str>| bounded(line, MAX_QUESTION) == **line;
        self.shows(ask) && ask.is_told_by_summary() && ask.lines().iter().all(is_whole)
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
        let count: usize = asks.iter().map(|ask| ask.questions.as_slice().len()).sum();
        let shown: Vec<Cow<'_, str>> = asks.iter().filter(|ask| self.shows(ask)).flat_map(|ask| ask.lines()).collect();
        let about = asks.first().filter(|ask| self.shows(ask)).map(|ask| ask.title()).unwrap_or_default();
        let noun = noun(asks);
        let title = match (names.as_slice(), count) {
            ([name], 1) if !about.trim().is_empty() => format!("{name} has a {noun}: {}", bounded(&about, MAX_HEADER)),
            ([name], 1) => format!("{name} has a {noun}"),
            ([name], several) => format!("{name} has {several} {noun}s"),
            (names, several) => format!("{several} {noun}s wait in {} projects", names.len()),
        };
        let body = match (names.as_slice(), shown.as_slice()) {
            ([_], []) if count == 1 => "It waits for your answer.".to_owned(),
            ([_], []) => "They wait for your answers.".to_owned(),
            (names, []) => lines(names.iter().map(String::as_str), 0),
            (_, [only]) if count == 1 => {
                let question = bounded(only, MAX_QUESTION);
                let options: Vec<_> = asks.iter().flat_map(|ask| &ask.questions).flat_map(labels).collect();
                let options = lines(options.into_iter(), 0);
                if options.is_empty() { question } else { format!("{question}\n{options}") }
            }
            (_, several) => lines(several.iter().map(|question| &**question), count - several.len()),
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

/// What these asks are called together.
fn noun(asks: &[Arc<Ask>]) -> &'static str {
    match asks {
        [first, others @ ..] if others.iter().all(|other| other.kind == first.kind) => first.kind.noun(),
        _ => "request",
    }
}

fn labels(question: &Question) -> impl Iterator<Item = &str> {
    question.options.iter().map(|option| option.label.as_str())
}

/// The name of the asker for people: the name of its directory.
pub(super) fn asker(ask: &Ask) -> String {
    let unnamed = match ask.origin {
        Origin::ClaudeCode => "Claude Code",
        Origin::Program => ask.asked_by.as_deref().unwrap_or("A program"),
        Origin::Probe => "Answerback",
    };
    let dir = ask.project.as_deref().and_then(|project| Path::new(project).file_name()?.to_str());
    let name = bounded(dir.unwrap_or_default(), MAX_NAME);
    if name.is_empty() { bounded(unnamed, MAX_NAME) } else { name }
}

/// The texts as a list, with a limit on the number of lines and on each line. `hidden` are not in the list, but count.
fn lines<'a>(texts: impl ExactSizeIterator<Item = &'a str>, hidden: usize) -> String {
    let more = texts.len().saturating_sub(MAX_LINES) + hidden;
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
    use crate::ask::samples::{self, ask};

    fn wording(details: bool) -> Wording {
        let public_url = Some(PublicUrl::try_from("https://a.example".to_owned()).unwrap());
        let shown = if details { Kind::ALL.to_vec() } else { Vec::new() };
        Wording { shown, public_url }
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
    fn a_message_names_the_kind_and_shows_only_the_kinds_that_may_be_shown() {
        let (question, permission) = (ask(1, "s__t", "shop", 1), samples::permission());
        let says_without = |asks: Vec<Ask>| message(false, asks).0;
        assert_eq!(says_without(vec![permission.clone()]), "shop has a permission request");
        assert_eq!(says_without(vec![permission.clone(), permission.clone()]), "shop has 2 permission requests");
        assert_eq!(says_without(vec![question.clone(), permission.clone()]), "shop has 2 requests");
        let (title, body) = message(true, vec![permission.clone()]);
        assert_eq!(title, "shop has a permission request: Bash");
        assert!(body.starts_with("Allow Bash: npm test\n• Allow once"), "{body}");
        let wording = Wording { shown: vec![Kind::Question], public_url: None };
        let asks = [Arc::new(question), Arc::new(permission.clone())];
        assert_eq!(wording.message(&asks).body, "• Which database, 0?\nand 1 more");
        assert_eq!(wording.message(&asks[1..]).body, "It waits for your answer.");
        assert!(!wording.shows_all(&permission));
    }

    #[test]
    fn only_a_short_plain_command_is_shown_whole() {
        let wording = wording(true);
        let of = |subject: serde_json::Value| Ask {
            subject: Some(serde_json::from_value(subject).unwrap()),
            ..samples::permission()
        };
        let with = |command: &str| {
            let input = serde_json::json!({"command": command, "description": "Tests it"});
            of(serde_json::json!({"tool": "Bash", "command": command, "input": input}))
        };
        assert!(wording.shows_all(&with("npm test")));
        for command in ["a\nb", "a\u{1b}[31mb", "a\u{202e}b", "a\u{200b}b", "аpt", &"x".repeat(MAX_QUESTION)] {
            assert!(!wording.shows_all(&with(command)), "{command}");
        }
        for subject in [
            serde_json::json!({"tool": "Bash", "command": "ls", "input": {"command": "ls", "dangerouslyDisableSandbox": true}}),
            serde_json::json!({"tool": "Write", "path": "/a", "input": {"file_path": "/a", "content": "x"}}),
            serde_json::json!({"tool": "WebFetch", "url": "https://a", "input": {"url": "https://a", "prompt": "x"}}),
            serde_json::json!({"tool": "mcp__bank__pay", "server": "bank", "input": {"amount": 1}}),
        ] {
            assert!(!wording.shows_all(&of(subject.clone())), "{subject}");
        }
        assert!(!wording.shows_all(&samples::plan()));
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
