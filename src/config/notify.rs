//! Who is told that a question waits, and how much of it.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::address::{UrlError, WebUrl};

/// The table `[notify]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// How long a question that is also in the terminal waits before anybody is told elsewhere.
    delay_seconds: u32,
    /// Whether the question and its options are told as well.
    pub details: bool,
    /// On this machine's screen.
    pub desktop: Desktop,
    /// On a telephone.
    pub ntfy: Option<Ntfy>,
    /// To a program.
    pub webhook: Option<Webhook>,
}

/// The table `[notify.desktop]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Desktop {
    /// If nothing is said: where a command is configured, or the usual one is found.
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
    /// For a server that wants one.
    pub token: Option<Secret>,
    /// How loud.
    #[serde(default)]
    pub priority: Priority,
    /// Whether options become buttons that answer; if nothing is said, where they can.
    buttons: Option<Spanned<bool>>,
}

/// `https://ntfy.sh/my-topic`. Whoever knows the topic can read along.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct NtfyUrl(WebUrl);

/// What ntfy calls priority.
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
    /// Where to.
    pub url: WebUrl,
    /// What the body is signed with.
    pub secret: Option<Secret>,
}

/// Something that goes into one header or one signature, and nowhere else. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret(String);

impl Default for Notify {
    fn default() -> Self {
        Self { delay_seconds: 15, details: false, desktop: Desktop::default(), ntfy: None, webhook: None }
    }
}

impl Notify {
    /// How long a question that is also in the terminal waits before anybody is told elsewhere.
    pub fn delay(&self) -> Duration {
        Duration::from_secs(self.delay_seconds.into())
    }

    /// What does not go together, and where in the file.
    pub(super) fn check(&self, has_public_url: bool) -> Result<(), (usize, &'static str)> {
        let Some(buttons) = self.ntfy.as_ref().and_then(|ntfy| ntfy.buttons.as_ref()) else { return Ok(()) };
        let problem = match (buttons.as_ref(), self.details, has_public_url) {
            (true, false, _) => "buttons show the options: set details = true in [notify], or leave buttons out",
            (true, true, false) => {
                "a button must reach this machine: set public_url, above the tables, or leave buttons out"
            }
            _ => return Ok(()),
        };
        Err((buttons.span().start, problem))
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

    /// What it is called with.
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
    /// Whether buttons are wanted, where they can be.
    pub fn wants_buttons(&self) -> bool {
        self.buttons.as_ref().is_none_or(|buttons| *buttons.as_ref())
    }
}

impl NtfyUrl {
    /// Where JSON is published: the server itself.
    pub fn server(&self) -> &WebUrl {
        &self.0
    }

    /// To whom.
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
    /// For the header or the signature.
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
