//! The client behind a hook, and the mode that the hook was installed with.

use serde::{Deserialize, Serialize};

use super::version::Version;

/// How the bridge treats a question. The mode is written into the settings with the hook, so each project can have its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Like `Race` if a person is at the terminal, and like `Hold` if nobody is.
    #[default]
    Auto,
    /// The question waits in the inbox. The terminal shows only that the agent waits.
    Hold,
    /// The question waits in the inbox and in the terminal's own dialog. The first answer wins.
    Race,
    /// An unattended one-shot run ends, and can be resumed when its question is answered. In any other run, this is like `Auto`.
    Defer,
    /// The bridge does nothing, and Claude Code asks in its own dialog.
    Native,
}

impl Mode {
    pub const ALL: [Self; 5] = [Self::Auto, Self::Hold, Self::Race, Self::Defer, Self::Native];

    /// The name in settings and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hold => "hold",
            Self::Race => "race",
            Self::Defer => "defer",
            Self::Native => "native",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The value of [`Client::waits`] in a run that has the permission tool of `answerback run`.
pub const TOOL_WAITS: &str = "tool";

/// The value of [`Client::entrypoint`] in the calls of a host: the program that runs Claude Code hands them in itself.
const HOST: &str = "host";

/// What the hook says about the client, in addition to the client's own JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// `1` if a person is at the terminal, `0` if nobody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attended: Option<String>,
    /// How Claude Code was started: `cli`, `sdk-cli`, `sdk-ts`, `sdk-py`; or `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// The program and its version, as in `AI_AGENT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The id of the client's process, or [`HTTP_ASKER`](crate::ask::HTTP_ASKER).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_pid: Option<String>,
    /// The mode that the hook was installed with. An unknown mode, as from a newer version, is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The hook's own name for its call. It is the same if the call is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Present if somebody started an unattended run so that it waits for permissions: [`TOOL_WAITS`] if the run has our permission tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// Whether it says that it has heard that its call is parked.
    #[serde(skip)]
    pub acknowledges: bool,
}

impl Client {
    /// The version, if the client sends it.
    pub(super) fn version(&self) -> Option<Version> {
        self.agent.as_deref().and_then(Version::from_agent)
    }

    /// The mode that applies to this client. `version` is the version of the client. The result is never [`Mode::Auto`].
    pub(super) fn mode(&self, version: Option<Version>) -> Mode {
        let attended = self.is_attended();
        match self.mode.as_deref().and_then(Mode::from_name).unwrap_or_default() {
            Mode::Defer if self.can_be_resumed(version) => Mode::Defer,
            // There is no dialog to race with.
            Mode::Race if self.has_permission_tool() => Mode::Hold,
            Mode::Auto | Mode::Defer if attended => Mode::Race,
            Mode::Auto | Mode::Defer => Mode::Hold,
            mode => mode,
        }
    }

    /// Whether a person is at the terminal.
    pub(super) fn is_attended(&self) -> bool {
        match (self.attended.as_deref(), self.entrypoint.as_deref()) {
            (Some(attended), _) => attended == "1",
            // Older versions do not send `attended`, but they say how they were started.
            (None, entrypoint) => entrypoint == Some("cli"),
        }
    }

    /// Whether this is an unattended run of `claude -p`.
    pub(super) fn is_one_shot(&self) -> bool {
        self.attended.as_deref() != Some("1") && self.entrypoint.as_deref() == Some("sdk-cli")
    }

    /// Whether a host sends the call, and no hook.
    pub(super) fn is_host(&self) -> bool {
        self.entrypoint.as_deref() == Some(HOST)
    }

    /// Whether this run asks the permission tool of `answerback run`.
    pub(super) fn has_permission_tool(&self) -> bool {
        self.waits.as_deref() == Some(TOOL_WAITS)
    }

    /// Whether this run can end and be resumed.
    pub(super) fn can_be_resumed(&self, version: Option<Version>) -> bool {
        self.is_one_shot() && version.is_none_or(Version::can_defer)
    }

    /// Whether the call comes from Claude Code. Other agents read the same settings file and run the same hooks, but they do not
    /// understand the replies. Every version of Claude Code tells its hooks how it was started.
    pub(super) fn is_claude_code(&self) -> bool {
        self.entrypoint.is_some() || self.agent.as_deref().is_some_and(|agent| agent.starts_with("claude-code"))
    }
}
