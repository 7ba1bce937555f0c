//! The entries that go into settings, and recognising them there.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::claude_code::{Mode, Version};

/// The name of the hook's program.
pub const PROGRAM: &str = "answerback-hook";

/// What comes before the hook in a file that other people use, too. The hook is found wherever each of them has it, and without it Claude
/// Code is told nothing: other ways to name a missing program are reported as an error with every prompt. All versions run it in a shell.
const IF_THERE: &str = r#"PATH="$PATH:$HOME/.local/bin"; ! command -v answerback-hook >/dev/null || "#;

/// The same, with the hook. Its mode follows in every case: that is how the daemon knows it from a hook that a person has installed for
/// themselves beside it.
const SHARED: &str =
    r#"PATH="$PATH:$HOME/.local/bin"; ! command -v answerback-hook >/dev/null || exec answerback-hook"#;

/// The first version of Claude Code that is known to run `command` with `args` without a shell.
const EXEC_FORM: Version = Version(2, 1, 186);

/// Whether every shell takes this path for one word that means itself.
pub fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte))
}

/// A text as one word of a shell command, whatever is in it.
pub fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// The path as a person types it on a command line.
pub fn shell_word(path: &str) -> String {
    if is_plain(path) { path.to_owned() } else { quoted(path) }
}

/// How the program is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// The path and no arguments: run without a shell, or by an old version with one, to which a plain path is the same.
    Exec(String),
    /// One quoted word for a shell.
    Shell(String),
    /// For everybody who uses the file: a shell looks for the program, and does nothing if it is not there.
    Shared,
}

impl Invocation {
    /// The way that works in this version; where it is not known, one that works in all.
    pub fn of(path: &str, mode: Mode, version: Option<Version>) -> Self {
        let needs_no_shell = version.is_some_and(has_exec_form);
        // Versions without the exec form ignore arguments, and with them the mode.
        if needs_no_shell || (is_plain(path) && mode == Mode::Auto) {
            Self::Exec(path.to_owned())
        } else {
            Self::Shell(quoted(path))
        }
    }

    /// What `command` is.
    pub fn command(&self) -> &str {
        match self {
            Self::Exec(command) | Self::Shell(command) => command,
            Self::Shared => SHARED,
        }
    }
}

/// One handler that should be in the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Of which event.
    pub(crate) event: String,
    /// In a group with this matcher.
    pub(crate) matcher: Option<String>,
    /// The handler's fields.
    pub(crate) handler: Map<String, Value>,
}

impl Entry {
    /// A group of its own.
    pub(super) fn group(&self) -> Value {
        let mut group = Map::new();
        if let Some(matcher) = &self.matcher {
            group.insert("matcher".into(), matcher.as_str().into());
        }
        group.insert("hooks".into(), Value::Array(vec![self.handler.clone().into()]));
        group.into()
    }
}

/// Whether this handler runs our program, wherever that is and however it is written.
pub fn is_own(handler: &Value) -> bool {
    let is_program = |path: String| Path::new(&path).file_name().is_some_and(|name| name == PROGRAM);
    program_of(handler).is_some_and(is_program)
}

/// Whether this handler is written for everybody who uses the file.
pub fn is_shared(handler: &Value) -> bool {
    is_own(handler)
        && handler.get("command").and_then(Value::as_str).is_some_and(|command| command.starts_with(IF_THERE))
}

/// The program that a shared entry runs on this machine.
pub fn shared_program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let own = env::home_dir().map(|home| home.join(".local/bin"));
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(&path).chain(own).map(|dir| dir.join(PROGRAM)).find(is_program)
}

/// The program that a handler runs, as it is written there.
pub fn program_of(handler: &Value) -> Option<String> {
    let command = handler.get("command")?.as_str()?;
    // With arguments of its own, the command is a path as it stands.
    let has_args = handler.get("args").is_some_and(Value::is_array);
    if has_args && Path::new(command).file_name().is_some_and(|name| name == PROGRAM) {
        return Some(command.to_owned());
    }
    shell_program(command)
}

/// The mode that a handler of ours runs in. A name that is not known is taken for none, as the daemon does.
pub fn mode_of(handler: &Value) -> Mode {
    let args = handler.get("args").and_then(Value::as_array);
    let name = match args.and_then(|args| args.first()) {
        Some(argument) => argument.as_str().map(ToOwned::to_owned),
        None => handler
            .get("command")
            .and_then(Value::as_str)
            .and_then(|command| shell_command(command)?.into_iter().nth(1)),
    };
    name.and_then(|name| Mode::from_name(&name)).unwrap_or_default()
}

/// Whether only a version with the exec form runs this handler as it is meant: others ignore the arguments, and give the path to
/// a shell.
pub fn needs_exec_form(handler: &Value) -> bool {
    let has_args = handler.get("args").is_some_and(Value::is_array);
    let is_simple = || mode_of(handler) == Mode::Auto && handler["command"].as_str().is_some_and(is_plain);
    has_args && !is_simple()
}

/// Whether this version has it.
pub fn has_exec_form(version: Version) -> bool {
    version >= EXEC_FORM
}

/// The program a shell would run, if the command runs just one: a script that also calls ours is its author's.
fn shell_program(command: &str) -> Option<String> {
    shell_command(command)?.into_iter().next()
}

/// The program and its arguments, without what a shell does before.
fn shell_command(command: &str) -> Option<Vec<String>> {
    let is_assignment = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    let command = command.strip_prefix(IF_THERE).unwrap_or(command);
    Some(shell_words(command)?.into_iter().skip_while(|word| word == "exec" || is_assignment(word)).collect())
}

/// The words of a simple command, without their quotes; `None` for more than a simple command.
fn shell_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.trim().chars();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            // Part of a redirection, as in 2>&1.
            '&' if previous == '>' => word.get_or_insert_default().push(c),
            ';' | '|' | '&' | '\n' | '`' | '(' | ')' => return None,
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(chars.next()?),
                        quoted => word.push(quoted),
                    }
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
        previous = c;
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::coverage::Coverage;
    use super::super::wanted;
    use super::*;

    fn entries(invocation: &Invocation, mode: Mode) -> Vec<Entry> {
        wanted::entries(invocation, mode, Coverage::ALL)
    }

    #[test]
    fn our_program_is_known_wherever_it_is() {
        for command in [
            "answerback-hook",
            "/opt/a b/answerback-hook",
            "'/opt/a b/answerback-hook'",
            "\"/opt/a b/answerback-hook\"",
            "/opt/a\\ b/answerback-hook",
            "exec '/opt/it'\\''s/answerback-hook'",
            "exec ~/.cargo/bin/answerback-hook --flag 2>&1",
            "\"$HOME\"/bin/answerback-hook",
            " RUST_LOG=debug answerback-hook 2>>/tmp/log",
        ] {
            let exec = command == "/opt/a b/answerback-hook";
            let handler = if exec { json!({"command": command, "args": []}) } else { json!({"command": command}) };
            assert!(is_own(&handler), "{command}");
        }
    }

    #[test]
    fn nothing_else_is_taken_for_ours() {
        for command in [
            "",
            "cat /tmp/answerback-hook",
            "echo 'answerback-hook'",
            "answerback-hook-wrapper",
            "answerback-hook.sh",
            "/opt/answerback-hook/run",
            "answerback",
            "answerback-hook; notify-send done",
            "answerback-hook | tee log",
            "answerback-hook && echo",
            "echo `answerback-hook`",
            "'answerback-hook",
            "''",
        ] {
            assert!(!is_own(&json!({"command": command})), "{command}");
        }
        for handler in
            [json!(null), json!("answerback-hook"), json!({"command": 1}), json!({"prompt": "answerback-hook"})]
        {
            assert!(!is_own(&handler), "{handler}");
        }
    }

    #[test]
    fn the_form_fits_the_path_and_the_version() {
        let exec = |path: &str| Invocation::Exec(path.to_owned());
        for version in [None, Some(Version(2, 0, 76)), Some(EXEC_FORM)] {
            assert_eq!(
                Invocation::of("/opt/a-b_c.d/answerback-hook", Mode::Auto, version),
                exec("/opt/a-b_c.d/answerback-hook")
            );
        }
        let path = "/opt/it's here/answerback-hook";
        let shell = Invocation::Shell(r"'/opt/it'\''s here/answerback-hook'".into());
        assert_eq!(Invocation::of(path, Mode::Auto, Some(Version(2, 1, 185))), shell);
        assert_eq!(Invocation::of(path, Mode::Auto, Some(Version(2, 1, 186))), exec(path));
        assert_eq!(Invocation::of(path, Mode::Auto, Some(Version(10, 0, 0))), exec(path));
        assert_eq!(Invocation::of(path, Mode::Auto, None), shell);
        for special in ["/a b", "/a'b", "/a\"b", "/a$b", "/a\\b", "/a*b", "/a;b", "/a&b", "/a~b", "/aéb", "/a\nb"] {
            assert!(!is_plain(special), "{special}");
        }
        for entry in entries(&shell, Mode::Auto) {
            assert!(!entry.handler.contains_key("args") && is_own(&entry.handler.into()));
        }
        assert!(is_own(&json!({"command": path, "args": []})));
    }

    #[test]
    fn a_mode_is_an_argument_in_every_form() {
        let path = "/opt/answerback-hook";
        for (version, command, args) in [
            (Some(Version(2, 1, 90)), "'/opt/answerback-hook' native", None),
            (None, "'/opt/answerback-hook' native", None),
            (Some(EXEC_FORM), path, Some(json!(["native"]))),
        ] {
            let invocation = Invocation::of(path, Mode::Native, version);
            for entry in entries(&invocation, Mode::Native) {
                assert_eq!(entry.handler["command"], command);
                assert_eq!(entry.handler.get("args"), args.as_ref());
                let handler = entry.handler.into();
                assert!(is_own(&handler));
                assert_eq!((mode_of(&handler), program_of(&handler).as_deref()), (Mode::Native, Some(path)));
                assert_eq!(needs_exec_form(&handler), args.is_some());
            }
        }
    }

    #[test]
    fn a_shared_entry_is_known_again_with_its_mode() {
        assert_eq!(SHARED, format!("{IF_THERE}exec {PROGRAM}"));
        for mode in Mode::ALL {
            for entry in entries(&Invocation::Shared, mode) {
                assert!(!entry.handler.contains_key("args"), "an old version would run the path alone");
                let handler = entry.handler.into();
                assert!(is_own(&handler) && is_shared(&handler) && !needs_exec_form(&handler));
                assert_eq!((mode_of(&handler), program_of(&handler).as_deref()), (mode, Some(PROGRAM)));
            }
        }
        for other in
            ["answerback-hook", "/opt/answerback-hook native", "! command -v answerback-hook || exec answerback-hook"]
        {
            assert!(!is_shared(&json!({"command": other})), "{other}");
        }
        let more = format!("{SHARED}; notify-send done");
        assert!(!is_own(&json!({"command": more})) && !is_shared(&json!({"command": more})));
    }

    #[test]
    fn a_mode_is_read_as_the_daemon_reads_it() {
        for (handler, mode) in [
            (json!({"command": "/opt/answerback-hook", "args": []}), Mode::Auto),
            (json!({"command": "/opt/a b/answerback-hook", "args": ["hold"]}), Mode::Hold),
            (json!({"command": "A=1 exec '/opt/a b/answerback-hook' race"}), Mode::Race),
            (json!({"command": "/opt/answerback-hook"}), Mode::Auto),
            (json!({"command": "/opt/answerback-hook sideways"}), Mode::Auto),
            (json!({"command": "/opt/answerback-hook", "args": [1]}), Mode::Auto),
        ] {
            assert_eq!(mode_of(&handler), mode, "{handler}");
        }
        assert!(!needs_exec_form(&json!({"command": "/opt/answerback-hook", "args": []})));
        assert!(needs_exec_form(&json!({"command": "/opt/a b/answerback-hook", "args": []})));
    }
}
