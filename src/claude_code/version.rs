//! Versions of Claude Code, and how each can receive an answer.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// How an answer reaches the model before a dialog is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// In the tool's input, and so in the tool's result. The context explains it.
    Input,
    /// In the context beside an error. These versions ignore the answers in the input, and the tool fails.
    Context,
    /// In the reason of a refusal. These versions give the model nothing else.
    Refusal,
}

impl Version {
    /// Reads the output of `claude --version`.
    pub fn parse(said: &str) -> Option<Self> {
        let mut numbers = said.split_whitespace().next()?.splitn(3, '.');
        let mut next = || {
            let part = numbers.next()?;
            let digits = part.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        Some(Self(next()?, next()?, next()?))
    }

    /// Whether a run ends when a hook replies with `defer`. Older versions go on without an answer.
    pub(super) fn can_defer(self) -> bool {
        self >= Self(2, 1, 89)
    }

    /// Reads the variable `AI_AGENT` of a hook, such as `claude-code_2-1-325_harness`.
    pub(super) fn from_agent(agent: &str) -> Option<Self> {
        let version = agent.strip_prefix("claude-code_")?.split('_').next()?;
        Self::parse(&version.replace('-', "."))
    }
}

impl Carrier {
    /// The carrier of a version. An unknown version is taken for a new one.
    pub(super) fn of(version: Option<Version>) -> Self {
        match version {
            Some(version) if version < Version(2, 1, 9) => Self::Refusal,
            Some(version) if version < Version(2, 1, 85) => Self::Context,
            _ => Self::Input,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_output_of_claude() {
        for (said, version) in [
            ("2.1.325 (Claude Code)\n", Some(Version(2, 1, 325))),
            ("2.1.0-beta.3", Some(Version(2, 1, 0))),
            ("10.20.30", Some(Version(10, 20, 30))),
            ("", None),
            ("claude: not found", None),
            ("2.1", None),
        ] {
            assert_eq!(Version::parse(said), version, "{said}");
        }
    }

    #[test]
    fn the_version_is_read_from_the_variable_of_a_hook() {
        assert_eq!(Version::from_agent("claude-code_2-1-325_harness"), Some(Version(2, 1, 325)));
        for agent in ["", "claude-code", "claude-code_x_harness", "other_2-1-3_harness"] {
            assert_eq!(Version::from_agent(agent), None, "{agent}");
        }
    }

    #[test]
    fn each_version_has_its_carrier() {
        for (version, carrier) in [
            (None, Carrier::Input),
            (Some(Version(2, 0, 76)), Carrier::Refusal),
            (Some(Version(2, 1, 8)), Carrier::Refusal),
            (Some(Version(2, 1, 9)), Carrier::Context),
            (Some(Version(2, 1, 84)), Carrier::Context),
            (Some(Version(2, 1, 85)), Carrier::Input),
        ] {
            assert_eq!(Carrier::of(version), carrier, "{version:?}");
        }
    }
}
