//! What changed between two texts, as a person reads it.

use anstyle::Style;
use similar::{ChangeTag, TextDiff};

use crate::text::{sanitise, style};

/// Unchanged lines around a change, to see where it is.
const CONTEXT: usize = 2;

/// The changed lines as a unified diff, with colours or without.
pub(super) fn unified(name: &str, before: &str, after: &str, colour: bool) -> String {
    let mut lines: Vec<(Style, String)> =
        vec![(style::STRONG, format!("--- {name}")), (style::STRONG, format!("+++ {name}"))];
    let diff = TextDiff::from_lines(before, after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        lines.push((style::FAINT, hunk.header().to_string()));
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', style::BAD),
                ChangeTag::Insert => ('+', style::GOOD),
                ChangeTag::Equal => (' ', Style::new()),
            };
            lines.push((style, format!("{sign}{}", change.value().trim_end_matches(['\n', '\r']))));
            if change.missing_newline() {
                lines.push((Style::new(), "\\ No newline at end of file".to_owned()));
            }
        }
    }
    let shown = lines.into_iter().map(|(style, line)| match colour {
        true => format!("{style}{}{style:#}\n", sanitise(&line)),
        false => format!("{}\n", sanitise(&line)),
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_and_a_little_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9";
        let after = "1\n2\n3\n4\nnew\n5\n6\n7\n8\nlast";
        assert_eq!(
            unified("f", before, after, false),
            "--- f\n+++ f\n@@ -3,7 +3,8 @@\n 3\n 4\n+new\n 5\n 6\n 7\n 8\n-9\n\\ No newline at end of file\n+last\n\
             \\ No newline at end of file\n"
        );
    }

    #[test]
    fn colour_only_when_asked_for_and_no_commands_for_the_terminal() {
        assert!(!unified("f", "a\r\n", "b\r\n", false).contains(['\x1b', '\r']));
        let coloured = unified("f", "a\n", "\u{9b}31m\u{7f}\n", true);
        assert!(coloured.contains("\x1b[32m+\u{fffd}31m\u{fffd}\x1b[0m\n"), "{coloured:?}");
    }
}
