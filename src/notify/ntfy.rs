//! ntfy: a push notification on a phone, with buttons that answer.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::access::Tickets;
use crate::ask::permission::{ALLOW_ONCE, DENY};
use crate::ask::{Ask, Kind, Question};
use crate::client::answer_path;
use crate::config::{self, NtfyUrl, Priority, Secret};

use super::post::post;
use super::wording::{Message, Wording, bounded};
use super::{Failure, Notice};

/// ntfy shows no more than this.
const MAX_BUTTONS: usize = 3;
const MAX_LABEL: usize = 40;
/// The bytes that the buttons may use of the 4 KB that reach a phone.
const MAX_ACTIONS: usize = 2500;

/// A topic on a server.
#[derive(Debug)]
pub struct Ntfy {
    url: NtfyUrl,
    token: Option<Secret>,
    priority: Priority,
    /// `None` means no buttons.
    tickets: Option<Tickets>,
    /// Which kinds of asks have buttons.
    buttons: Vec<Kind>,
    wording: Arc<Wording>,
}

impl Ntfy {
    pub(super) fn new(
        config: &config::Ntfy,
        buttons: Vec<Kind>,
        wording: &Arc<Wording>,
        tickets: Option<&Tickets>,
    ) -> Self {
        Self {
            url: config.url.clone(),
            token: config.token.clone(),
            priority: config.priority,
            tickets: tickets.filter(|_| config.wants_buttons()).cloned(),
            buttons,
            wording: Arc::clone(wording),
        }
    }

    pub(super) fn host(&self) -> &str {
        self.url.server().host()
    }

    pub(super) fn deliver(&self, notice: &Notice) -> Result<(), Failure> {
        let payload = match notice {
            Notice::Asked(asks) => self.payload(self.wording.message(asks), self.actions(asks)),
            Notice::Test => self.payload(self.wording.test(), None),
            Notice::Opened(_) | Notice::Settled(_) => return Ok(()),
        };
        let authorization = self.token.as_ref().map(|token| format!("Bearer {}", token.reveal()));
        let headers: Vec<_> = authorization.iter().map(|value| ("authorization", value.as_str())).collect();
        // ntfy takes JSON only at the root of the server. A topic's own address takes plain text.
        post(&format!("{}/", self.url.server().origin()), &headers, payload.to_string().as_bytes())
    }

    fn payload(&self, message: Message, actions: Option<Value>) -> Value {
        let mut payload = json!({
            "topic": self.url.topic(), "title": message.title, "message": message.body, "priority": self.priority as u8,
        });
        if let Some(url) = message.url {
            payload["click"] = json!(url);
        }
        if let Some(actions) = actions {
            payload["actions"] = actions;
        }
        payload
    }

    /// A button answers one question with one option. Anything else has to be answered on the page.
    fn actions(&self, asks: &[Arc<Ask>]) -> Option<Value> {
        let (tickets, public_url) = (self.tickets.as_ref()?, self.wording.public_url()?);
        let [ask] = asks else { return None };
        // The label of a button is a detail of the ask.
        if !self.buttons.contains(&ask.kind) || !self.wording.shows(ask) {
            return None;
        }
        let mut questions = ask.questions.iter();
        let question = questions.next().filter(|question| !question.multi_select && !question.options.is_empty())?;
        if questions.next().is_some() {
            return None;
        }
        let url = format!("{}{}", public_url.as_str(), answer_path(ask.key.as_str()));
        let ticket = tickets.issue(ask);
        let view = json!({"action": "view", "label": "Open", "url": self.wording.link(ask)?, "clear": false});
        let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
        let labels = match ask.kind {
            // Nobody may approve what they cannot see.
            Kind::Permission | Kind::Plan if !self.wording.shows_all(ask) => return Some(json!([view])),
            // A rule is granted where there is room to read it.
            Kind::Permission => vec![ALLOW_ONCE, DENY],
            _ => labels,
        };
        let all_fit = labels.len() <= MAX_BUTTONS;
        let shown = if all_fit { MAX_BUTTONS } else { MAX_BUTTONS - 1 };
        let labels = labels.into_iter().take(shown);
        let mut actions: Vec<_> = labels.map(|label| button(&url, &ticket, question, label)).collect();
        if !all_fit {
            actions.push(view.clone());
        }
        let actions = json!(actions);
        Some(if actions.to_string().len() <= MAX_ACTIONS { actions } else { json!([view]) })
    }
}

fn button(url: &str, ticket: &str, question: &Question, label: &str) -> Value {
    let body = json!({"answers": {&question.question: label}});
    json!({
        "action": "http", "label": bounded(label, MAX_LABEL), "method": "POST", "url": url,
        "headers": {"Authorization": format!("Bearer {ticket}"), "Content-Type": "application/json"},
        "body": body.to_string(), "clear": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Token, Tokens};
    use crate::ask::samples::{self, ask};
    use crate::ask::{QuestionOption, Questions};
    use crate::config::Config;

    fn ntfy(notify: &str) -> Ntfy {
        let text = format!(
            "public_url = \"https://a.example\"\nnotify = {{ {notify}, ntfy = {{ url = \"https://n.example/t\" }} }}"
        );
        let config: Config = toml::from_str(&text).unwrap();
        let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        let wording = Arc::new(Wording::new(&config));
        let buttons = Kind::ALL.into_iter().filter(|kind| config.notify.has_buttons(*kind)).collect();
        Ntfy::new(config.notify.ntfy.as_ref().unwrap(), buttons, &wording, Some(&Tickets::new(&tokens)))
    }

    fn with(change: impl FnOnce(&mut Vec<Question>)) -> Option<Vec<(String, String)>> {
        let mut ask = ask(1, "s__t", "shop", 1);
        let mut questions: Vec<Question> = ask.questions.into();
        change(&mut questions);
        ask.questions = Questions::new(questions).unwrap();
        let actions = ntfy("details = true").actions(&[Arc::new(ask)])?;
        let text = |action: &Value, name: &str| action[name].as_str().unwrap().to_owned();
        Some(actions.as_array().unwrap().iter().map(|a| (text(a, "action"), text(a, "label"))).collect())
    }

    fn option(label: &str) -> QuestionOption {
        QuestionOption { label: label.into(), description: String::new(), preview: None }
    }

    #[test]
    fn a_single_choice_gets_buttons_and_anything_else_a_link_or_nothing() {
        let kinds = |actions: Option<Vec<(String, String)>>| {
            actions.map(|actions| actions.iter().map(|(kind, label)| format!("{kind} {label}")).collect::<Vec<_>>())
        };
        let of = |change: fn(&mut Vec<Question>)| kinds(with(change)).unwrap_or_default();
        assert_eq!(of(|_| {}), ["http SQLite", "http PostgreSQL"]);
        assert_eq!(of(|q| q[0].options.push(option("C"))), ["http SQLite", "http PostgreSQL", "http C"]);
        assert_eq!(
            of(|q| q[0].options.extend([option("C"), option("D")])),
            ["http SQLite", "http PostgreSQL", "view Open"]
        );
        assert!(of(|q| q[0].multi_select = true).is_empty());
        assert!(of(|q| q[0].options.clear()).is_empty());
        assert!(of(|q| q.push(Question { question: "Else?".into(), ..q[0].clone() })).is_empty());
        assert_eq!(of(|q| q[0].question = "Q".repeat(2000)), ["view Open"]);
        assert_eq!(ntfy("details = false").actions(&[Arc::new(ask(1, "s__t", "shop", 1))]), None);
        assert_eq!(ntfy("details = true, buttons = []").actions(&[Arc::new(ask(1, "s__t", "shop", 1))]), None);
        let two = [Arc::new(ask(1, "s__t", "shop", 1)), Arc::new(ask(2, "s__u", "shop", 1))];
        assert_eq!(ntfy("details = true").actions(&two), None);
    }

    #[test]
    fn a_permission_has_buttons_only_by_name_and_only_if_all_of_it_is_shown() {
        let labels = |ntfy: &Ntfy, ask: Ask| {
            let actions = ntfy.actions(&[Arc::new(ask)])?;
            Some(
                actions
                    .as_array()?
                    .iter()
                    .map(|action| action["label"].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(labels(&ntfy("details = true"), samples::permission()), None);
        let named = ntfy("details = true, buttons = [\"permission\"]");
        // A rule is not granted from a notification.
        assert_eq!(labels(&named, samples::permission()).unwrap(), ["Allow once", "Deny"]);
        let subject = json!({"tool": "Bash", "command": "npm test\nrm -rf /"});
        let split = Ask { subject: Some(serde_json::from_value(subject).unwrap()), ..samples::permission() };
        assert_eq!(labels(&named, split).unwrap(), ["Open"]);
    }
}
