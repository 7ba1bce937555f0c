//! Who calls: the client behind a hook, and the mode the hook was installed with.

use serde::{Deserialize, Serialize};

use super::version::Version;

/// What the bridge does with a question: written into the settings with the hook, so each project can have its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Race where a person is at the terminal, hold where nobody is.
    #[default]
    Auto,
    /// The question waits here, and the terminal shows that it does.
    Hold,
    /// The terminal asks as ever, the question waits here too, and the first answer wins.
    Race,
    /// A one-shot run nobody looks at ends, and goes on when its question is answered; any other is as with `Auto`.
    Defer,
    /// The bridge stands aside.
    Native,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Hold, Self::Race, Self::Defer, Self::Native];

    /// Its name, in settings and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hold => "hold",
            Self::Race => "race",
            Self::Defer => "defer",
            Self::Native => "native",
        }
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// What the hook program tells about the client, beside the client's own JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// `1`: a person is at the terminal; `0`: nobody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attended: Option<String>,
    /// How Claude Code was started: `cli`, `sdk-cli`, `sdk-ts`, `sdk-py`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// Program and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its process, or [`HTTP_ASKER`](crate::ask::HTTP_ASKER).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_pid: Option<String>,
    /// The mode the hook was installed with. One from the future is taken for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

impl Client {
    /// Its version, if it says.
    pub(super) fn version(&self) -> Option<Version> {
        self.agent.as_deref().and_then(Version::from_agent)
    }

    /// The mode that holds for this client, whose version this is. Never [`Mode::Auto`].
    pub(super) fn mode(&self, version: Option<Version>) -> Mode {
        let attended = match (self.attended.as_deref(), self.entrypoint.as_deref()) {
            (Some(attended), _) => attended == "1",
            // Older versions do not say; they say how they were started.
            (None, entrypoint) => entrypoint == Some("cli"),
        };
        match self.mode.as_deref().and_then(Mode::from_name).unwrap_or_default() {
            Mode::Defer if self.can_be_resumed(version) => Mode::Defer,
            Mode::Auto | Mode::Defer if attended => Mode::Race,
            Mode::Auto | Mode::Defer => Mode::Hold,
            mode => mode,
        }
    }

    /// Whether it is a run of `claude -p` with nobody at a terminal: the only kind that can stop and be resumed.
    pub(super) fn can_be_resumed(&self, version: Option<Version>) -> bool {
        let is_one_shot = self.attended.as_deref() != Some("1") && self.entrypoint.as_deref() == Some("sdk-cli");
        is_one_shot && version.is_none_or(Version::can_defer)
    }
}
