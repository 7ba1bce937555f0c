//! Which version of Claude Code is installed, and how it takes answers.

use crate::claude_code::Version;

use super::Finding;

const CHECK: &str = "claude_code";

/// The first version that takes answers before it has opened its dialog.
const CARRIES_ANSWERS: Version = Version(2, 1, 85);
/// The first version whose one-shot runs lack the tool that asks.
const ONE_SHOT_WITHOUT_TOOL: Version = Version(2, 1, 187);

pub(super) fn examine(version: Option<Version>) -> Vec<Finding> {
    let Some(version) = version else {
        return vec![Finding::warning(
            CHECK,
            "`claude` is not in the PATH, or does not tell its version",
            "Install Claude Code; `answerback demo` works without it.",
        )];
    };
    let Version(major, minor, patch) = version;
    let name = format!("Claude Code {major}.{minor}.{patch}");
    let mut findings = Vec::new();
    if version < CARRIES_ANSWERS {
        let Version(major, minor, patch) = CARRIES_ANSWERS;
        findings.push(Finding::warning(
            CHECK,
            format!("{name} takes answers as its own only beside its dialog; without a terminal they reach the model as a hint"),
            format!("Update Claude Code to {major}.{minor}.{patch} or later."),
        ));
    } else {
        findings.push(Finding::ok(CHECK, format!("{name} takes answers from the hook")));
    }
    if version >= ONE_SHOT_WITHOUT_TOOL {
        findings.push(Finding::note(
            "headless",
            format!("in {name}, one-shot runs (claude -p) cannot ask questions by themselves"),
            "Start them with: answerback run -- claude -p ...",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn versions_and_what_they_carry() {
        for (version, level, findings) in [
            (None, Level::Warning, 1),
            (Some(Version(2, 0, 76)), Level::Warning, 1),
            (Some(Version(2, 1, 84)), Level::Warning, 1),
            (Some(Version(2, 1, 85)), Level::Ok, 1),
            (Some(Version(2, 1, 186)), Level::Ok, 1),
            (Some(Version(2, 1, 325)), Level::Ok, 2),
        ] {
            let found = examine(version);
            assert_eq!((found[0].level, found.len()), (level, findings), "{version:?}");
        }
    }
}
