//! Which version of Claude Code is installed, and how it takes answers.

use crate::claude_code::Version;
use crate::claude_code::settings::coverage::{Coverage, HAS_BATCHES, HAS_FORMS};

use super::Finding;

const CHECK: &str = "claude_code";

/// The first version that takes answers before it has opened its dialog.
const CARRIES_ANSWERS: Version = Version(2, 1, 85);
/// The first version whose one-shot runs lack the tool that asks.
const ONE_SHOT_WITHOUT_TOOL: Version = Version(2, 1, 187);

/// What this version can do. `coverage` is what comes to Answerback.
pub(super) fn examine(version: Option<Version>, coverage: Coverage) -> Vec<Finding> {
    let Some(version) = version else {
        return vec![Finding::warning(
            CHECK,
            "`claude` is not in the PATH, or does not tell its version",
            "Install Claude Code; `answerback demo` works without it.",
        )];
    };
    let name = format!("Claude Code {version}");
    let update = |first: Version| format!("Update Claude Code to {first} or later.");
    let mut findings = Vec::new();
    if version < CARRIES_ANSWERS {
        findings.push(Finding::warning(
            CHECK,
            format!("{name} takes answers as its own only beside its dialog; without a terminal they reach the model as a hint"),
            update(CARRIES_ANSWERS),
        ));
    } else {
        findings.push(Finding::ok(CHECK, format!("{name} takes answers from the hook")));
    }
    if coverage.forms && version < HAS_FORMS {
        findings.push(Finding::warning(CHECK, format!("{name} has no hooks for forms"), update(HAS_FORMS)));
    }
    if coverage.permissions && version < HAS_BATCHES {
        findings.push(Finding::note(
            CHECK,
            format!(
                "{name} does not say that a permission was refused in the terminal with feedback, so it stays open until Claude stops"
            ),
            update(HAS_BATCHES),
        ));
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
            let found = examine(version, Coverage::DEFAULT);
            assert_eq!((found[0].level, found.len()), (level, findings), "{version:?}");
        }
    }

    #[test]
    fn versions_and_the_waits_that_they_lack() {
        let lacks = |version, coverage| {
            let findings = examine(Some(version), coverage).into_iter().skip(1);
            findings
                .filter(|finding| finding.check == CHECK)
                .map(|finding| (finding.level, finding.fix.unwrap()))
                .collect()
        };
        let update = |version: &str| format!("Update Claude Code to {version} or later.");
        let batches = (Level::Note, update("2.1.118"));
        let forms = (Level::Warning, update("2.1.76"));
        let expect = |version, coverage, expected: &[&(Level, String)]| {
            let found: Vec<(Level, String)> = lacks(version, coverage);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{version}");
        };
        expect(Version(2, 1, 75), Coverage::ALL, &[&forms, &batches]);
        expect(Version(2, 1, 75), Coverage::DEFAULT, &[]);
        expect(Version(2, 1, 117), Coverage::ALL, &[&batches]);
        expect(Version(2, 1, 117), Coverage { forms: true, ..Coverage::DEFAULT }, &[]);
        expect(Version(2, 1, 118), Coverage::ALL, &[]);
    }
}
