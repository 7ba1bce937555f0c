//! Notifications: which ways are used, and how much of a question they show.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::address::{UrlError, WebUrl};
use crate::ask::Kind;

/// The table `[notify]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// How long a question that is also in the terminal waits before anybody is told elsewhere.
    delay_seconds: u32,
    /// Which asks notifications show with their text and their options.
    details: Kinds,
    /// The kinds of asks whose notifications may have buttons.
    buttons: Option<Spanned<Vec<ButtonKind>>>,
    /// Notifications on this machine's screen.
    pub desktop: Desktop,
    /// Notifications on a phone, through ntfy.
    pub ntfy: Option<Ntfy>,
    /// Events for a program.
    pub webhook: Option<Webhook>,
}

/// Which asks a setting is about: all of them, none, or those of the kinds that are named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Kinds {
    All(bool),
    Named(Vec<Kind>),
}

impl Kinds {
    fn has(&self, kind: Kind) -> bool {
        match self {
            Self::All(all) => *all,
            Self::Named(kinds) => kinds.contains(&kind),
        }
    }

    fn is_empty(&self) -> bool {
        Kind::ALL.iter().all(|kind| !self.has(*kind))
    }
}

/// A kind of ask that a button can answer. A form has none: it needs more than one press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ButtonKind {
    Question,
    Plan,
    Permission,
}

/// The table `[notify.desktop]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Desktop {
    /// By default, on if a command is configured, or if the machine has a display and the usual command.
    pub enabled: Option<bool>,
    /// The program and its arguments, with placeholders.
    pub command: Option<CommandLine>,
}

/// A program and its arguments; at least the program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct CommandLine(Vec<String>);

/// The table `[notify.ntfy]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ntfy {
    /// The server and the topic.
    pub url: NtfyUrl,
    /// The access token, for a server that needs one.
    pub token: Option<Secret>,
    /// How much attention the phone draws to it.
    #[serde(default)]
    pub priority: Priority,
    /// Whether there are buttons at all. By default, on if the other settings allow it.
    buttons: Option<Spanned<bool>>,
}

/// `https://ntfy.sh/my-topic`. Whoever knows the topic can read along.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct NtfyUrl(WebUrl);

/// The priority of a message, as ntfy names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are ntfy's")]
pub enum Priority {
    Min = 1,
    Low = 2,
    #[default]
    Default = 3,
    High = 4,
    Urgent = 5,
}

/// The table `[notify.webhook]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// The address that gets the events.
    pub url: WebUrl,
    /// The key that signs the body.
    pub secret: Option<Secret>,
}

/// A secret that is used in one header or one signature, and nowhere else. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret(String);

impl Default for Notify {
    fn default() -> Self {
        Self {
            delay_seconds: 15,
            details: Kinds::All(false),
            buttons: None,
            desktop: Desktop::default(),
            ntfy: None,
            webhook: None,
        }
    }
}

impl Notify {
    /// How long a question that is also in the terminal waits before anybody is told elsewhere.
    pub fn delay(&self) -> Duration {
        Duration::from_secs(self.delay_seconds.into())
    }

    /// Whether notifications show the text and the options of such asks.
    pub fn shows(&self, kind: Kind) -> bool {
        self.details.has(kind)
    }

    /// Whether such asks may be answered with the button of a notification. Whoever can read the notification can press it, so only
    /// questions have buttons unless other kinds are named. `[notify.ntfy]` can still turn all of them off.
    pub fn has_buttons(&self, kind: Kind) -> bool {
        let Some(kinds) = &self.buttons else { return kind == Kind::Question };
        let kind = match kind {
            Kind::Question => ButtonKind::Question,
            Kind::Plan => ButtonKind::Plan,
            Kind::Permission => ButtonKind::Permission,
            Kind::Form => return false,
        };
        kinds.as_ref().contains(&kind)
    }

    /// Settings that contradict each other: where in the file, and why.
    pub(super) fn check(&self, has_public_url: bool) -> Result<(), (usize, &'static str)> {
        let problem = match (!self.details.is_empty(), has_public_url) {
            (false, _) => "buttons show the options: set details = true in [notify], or leave buttons out",
            (true, false) => "a button must reach this machine: set public_url, above the tables, or leave buttons out",
            (true, true) => return Ok(()),
        };
        let kinds = self.buttons.as_ref().filter(|kinds| !kinds.as_ref().is_empty()).map(|kinds| kinds.span().start);
        let of_ntfy = self.ntfy.as_ref().and_then(|ntfy| ntfy.buttons.as_ref()).filter(|buttons| *buttons.as_ref());
        match kinds.or(of_ntfy.map(|buttons| buttons.span().start)) {
            Some(at) => Err((at, problem)),
            None => Ok(()),
        }
    }

    pub(super) fn holds_secrets(&self) -> bool {
        self.ntfy.is_some() || self.webhook.is_some()
    }
}

impl CommandLine {
    /// The program.
    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[String] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl TryFrom<Vec<String>> for CommandLine {
    type Error = &'static str;

    fn try_from(command: Vec<String>) -> Result<Self, Self::Error> {
        if command.first().is_none_or(String::is_empty) {
            return Err("a command is a list with a program in it: [\"notify-send\", \"{title}\", \"{body}\"]");
        }
        Ok(Self(command))
    }
}

impl Ntfy {
    /// Whether buttons are wanted.
    pub fn wants_buttons(&self) -> bool {
        self.buttons.as_ref().is_none_or(|buttons| *buttons.as_ref())
    }
}

impl NtfyUrl {
    /// The server. Messages as JSON are posted to it, and not to the topic.
    pub fn server(&self) -> &WebUrl {
        &self.0
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.0.rest().trim_start_matches('/')
    }
}

impl TryFrom<String> for NtfyUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let url = Self(WebUrl::try_from(text).map_err(|error: UrlError| error.to_string())?);
        let topic = url.0.rest().strip_prefix('/').unwrap_or_default();
        let plain = topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !plain || !(1..=64).contains(&topic.len()) {
            return Err("an ntfy address is a server and a topic: https://ntfy.sh/my-topic".to_owned());
        }
        Ok(url)
    }
}

impl Secret {
    /// The secret itself, for a header or a signature.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a secret is made of letters, digits and signs, without spaces");
        }
        Ok(Self(text))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
