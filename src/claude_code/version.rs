//! Versions of Claude Code, and what each can carry.

/// A version of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// How an answer gets to the model before a dialog is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// As the tool's own result, with a context beside it.
    Input,
    /// The answers are ignored and the tool fails; the context beside the error is read.
    Context,
    /// Only the reason of a refusal is read.
    Refusal,
}

impl Version {
    /// From what `claude --version` says.
    pub fn parse(said: &str) -> Option<Self> {
        let mut numbers = said.split_whitespace().next()?.splitn(3, '.');
        let mut next = || {
            let part = numbers.next()?;
            let digits = part.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        };
        Some(Self(next()?, next()?, next()?))
    }

    /// Whether a run of it ends when it is told to, instead of going on without an answer.
    pub(super) fn can_defer(self) -> bool {
        self >= Self(2, 1, 89)
    }

    /// From what hooks are told in `AI_AGENT`: `claude-code_2-1-325_harness`.
    pub(super) fn from_agent(agent: &str) -> Option<Self> {
        let version = agent.strip_prefix("claude-code_")?.split('_').next()?;
        Self::parse(&version.replace('-', "."))
    }
}

impl Carrier {
    /// Of a version; where it is not known, of the newest.
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
    fn the_version_is_read_from_what_claude_says() {
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
    fn the_version_is_read_from_what_hooks_are_told() {
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
