//! Other agents that read Claude Code's settings and start the hooks in them.
//!
//! Their calls look like those of Claude Code and mean something else, and some of them refuse a tool if its hook waits or fails. So the
//! hook tells them nothing. `CLAUDE_PROJECT_DIR` proves nothing: all of them set it.

use std::env;
use std::ffi::OsStr;
use std::os::unix::process::parent_id;
use std::process::Command;

/// The variables that tell them apart. Claude Code sets none of these.
const MARKS: [&str; 4] = [
    // Copilot CLI. Seen with 1.0.102.
    "COPILOT_CLI",
    // Cursor. Documented, not tried.
    "CURSOR_VERSION",
    // Gemini CLI. Documented, not tried.
    "GEMINI_SESSION_ID",
    // Qwen Code. Documented, not tried.
    "QWEN_PROJECT_DIR",
];

/// Whether another agent than Claude Code has started this process.
pub(crate) fn has_started_us() -> bool {
    let has_mark = MARKS.iter().any(|mark| env::var_os(mark).is_some());
    has_mark && !is_parent(env::var_os("CLAUDE_PID").as_deref(), parent_id())
}

/// Whether Claude Code has started this process. The agent in whose shell Claude Code runs leaves its mark in the environment, too.
fn is_parent(claude: Option<&OsStr>, parent: u32) -> bool {
    claude.and_then(OsStr::to_str).and_then(|pid| pid.parse().ok()) == Some(parent)
}

/// Lets a program of ours start the hook, whatever agent has started that program.
pub fn hide(command: &mut Command) -> &mut Command {
    MARKS.iter().fold(command, |command, mark| command.env_remove(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_is_known_by_its_process() {
        let is_parent = |claude: Option<&str>| is_parent(claude.map(OsStr::new), 17);
        assert!(is_parent(Some("17")));
        for other in [None, Some(""), Some("18"), Some("x")] {
            assert!(!is_parent(other), "{other:?}");
        }
    }
}
