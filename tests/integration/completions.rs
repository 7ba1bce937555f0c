//! Completion of what is open, in the real shells.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::terminal::Terminal;
use crate::world::{ANSWERBACK, World, question, signal, until};

/// A label that would do harm if it came into a line as it is.
const HOSTILE: &str = "Use $(touch pwned); `touch pwned` *'\"!~#\\ {a,b}";
const QUESTION: &str = "Which \u{1b}]0;owned\u{7}database?\nThink twice: \"a\" 'b' $(touch pwned)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }

    /// Installs the completions as the help says, and starts the shell.
    fn open(self, world: &World) -> Terminal<'_> {
        let (home, name) = (world.home(), self.name());
        let script = world.command(ANSWERBACK).args(["completions", name]).output().unwrap().stdout;
        let write = |path: &str, content: &[u8]| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let start = match self {
            Self::Bash => {
                write("completions", &script);
                write("rc", b"PS1='> '; . ~/completions");
                "bash --noprofile --rcfile ~/rc -i"
            }
            Self::Zsh => {
                write(".zfunc/_answerback", &script);
                write(".zshrc", b"PS1='> '; fpath=(~/.zfunc $fpath); autoload -U compinit; compinit -u -D");
                "zsh -i"
            }
            Self::Fish => {
                write(".config/fish/completions/answerback.fish", &script);
                write(".config/fish/config.fish", b"set fish_greeting; function fish_prompt; echo -n '> '; end");
                "fish -i"
            }
        };
        let programs = Path::new(ANSWERBACK).parent().unwrap().display();
        let script = format!("cd ~; export PATH={programs}:/usr/bin:/bin LC_ALL=C.UTF-8; exec {start}");
        let terminal = Terminal::run(world, 110, 30, &script);
        terminal.shows(">");
        terminal
    }
}

impl Terminal<'_> {
    /// Types a line and presses Tab until the screen has this text. One press is enough unless the machine is very slow, or the shell
    /// wants a second one to list something.
    #[track_caller]
    fn completes(&self, line: &str, expected: &str) -> String {
        self.type_text(line);
        until(&format!("{expected:?} after {line:?} in\n{}", self.screen()), || {
            self.press(&["Tab"]);
            let deadline = Instant::now() + Duration::from_secs(1);
            loop {
                let screen = self.screen();
                if screen.contains(expected) {
                    return Some(screen);
                }
                if Instant::now() > deadline {
                    return None;
                }
            }
        })
    }

    fn clear_line(&self) {
        self.press(&["C-u"]).press(&["C-l"]);
        until("an empty line", || (self.screen().trim() == ">").then_some(()));
    }
}

/// A test for each shell.
macro_rules! in_every_shell {
    ($name:ident, $check:expr) => {
        mod $name {
            #[test]
            fn bash() {
                ($check)(super::Shell::Bash);
            }

            #[test]
            fn zsh() {
                ($check)(super::Shell::Zsh);
            }

            #[test]
            fn fish() {
                ($check)(super::Shell::Fish);
            }
        }
    };
}

in_every_shell!(keys_and_labels_are_completed, super::keys_and_labels);
in_every_shell!(options_and_commands_are_completed_as_before, super::options_and_commands);
in_every_shell!(several_questions_are_named_and_quotes_are_kept, super::names_and_quotes);

fn hostile() -> serde_json::Value {
    json!({"question": QUESTION, "header": "Data base", "multiSelect": false, "options": [
        {"label": "SQLite", "description": "one\u{1b}[2J file"}, {"label": HOSTILE, "description": ""},
        {"label": "two\nlines", "description": ""}, {"label": "-v", "description": ""}]})
}

fn complete(world: &World, words: &[&str]) -> Output {
    world.command(ANSWERBACK).args([&["completions"], words].concat()).output().unwrap()
}

fn keys_and_labels(shell: Shell) {
    let mut world = World::new();
    let (first, _) = world.ask("s", "toolu_aaa111", &[hostile()]);
    let (second, _) = world.ask("s", "toolu_bbb222", &[question("Which?")]);
    let terminal = shell.open(&world);
    for command in ["show", "dismiss", "answer"] {
        let screen = terminal.completes(&format!("answerback {command} "), "shop: Which?");
        for shown in ["aaa111", "bbb222", "shop: Which \u{fffd}]0;owned\u{fffd}database?"] {
            assert!(screen.contains(shown), "{shell:?}: {screen}");
        }
        assert!(!screen.contains("Think twice"), "{shell:?}: {screen}");
        terminal.clear_line();
    }
    // Two labels stand for themselves. The others would be read as something else, so their numbers stand for them.
    let screen = terminal.completes("answerback answer aaa111 ", "two lines");
    for shown in ["SQLite", "one\u{fffd}[2J file", "3", "4"] {
        assert!(screen.contains(shown), "{shell:?}: {screen}");
    }
    terminal.clear_line();
    terminal.completes("answerback answer bb", "answer bbb222");
    terminal.completes(" -a P", "-a Pick=");
    terminal.type_text("B").press(&["Enter"]).shows("Which? B");
    assert_eq!(second.reply()["updatedInput"]["answers"], json!({"Which?": "B"}));
    terminal.clear_line();
    // Only one is open, so its labels are offered without the key.
    terminal.completes("answerback answer U", "{a,b");
    terminal.press(&["Enter"]).shows("→ Use $(touch pwned)");
    assert_eq!(first.reply()["updatedInput"]["answers"], json!({QUESTION: HOSTILE}), "{shell:?}");
    assert!(!world.home().join("pwned").exists(), "{shell:?}");
}

fn options_and_commands(shell: Shell) {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "toolu_aaa111", &[question("Which?")]);
    let terminal = shell.open(&world);
    terminal.completes("answerback pend", "answerback pending");
    terminal.clear_line();
    terminal.completes("answerback answer aaa111 --part", "aaa111 --partial");
    terminal.clear_line();
    terminal.completes("answerback history --kind perm", "--kind permission");
}

fn names_and_quotes(shell: Shell) {
    let mut two = question("Which two?");
    two["header"] = json!("Data base");
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "toolu_aaa111", &[question("Which?"), two.clone()]);
    let (hook, _) = world.ask("s", "toolu_bbb222", &[hostile()]);
    let terminal = shell.open(&world);
    let screen = terminal.completes("answerback answer aaa111 -a ", "Pick=B");
    assert!(screen.contains("Pick=A") && screen.contains("base=A"), "{shell:?}: {screen}");
    terminal.clear_line();
    // What was answered is not offered again.
    terminal.completes("answerback answer aaa111 --answer Pick=A --text ", "--text Data\\ base=");
    terminal.type_text("x").shows("base=x");
    terminal.clear_line();
    terminal.completes("answerback answer aaa111 --answer=Pick=A --answer=D", "--answer=Data\\ base=");
    terminal.clear_line();
    terminal.completes("answerback answer bbb222 'SQ", "bbb222 'SQLite'");
    terminal.press(&["Enter"]).shows("database? Think twice");
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({QUESTION: "SQLite"}));
}

#[test]
fn nothing_is_started_and_nothing_is_said_without_a_daemon() {
    let world = World::new();
    for words in [
        &["bash", "--", "9", "80", "answerback answer ", ""][..],
        &["zsh", "--", "answerback", "answer", ""],
        &["fish", "--", "answerback", "show", ""],
    ] {
        let output = complete(&world, words);
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0), "{output:?}");
    }
    assert!(!world.state("").exists());
    // No place for a question, and no words at all that make sense.
    for words in [
        &["bash", "--", "9", "80", "answerback pend", "pend"][..],
        &["bash", "--", "9"],
        &["zsh", "--", "answerback"],
        &["fish", "--", "answerback", "history", ""],
        &["elvish", "--", "answerback", "answer", ""],
    ] {
        let output = complete(&world, words);
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(1), 0, 0), "{output:?}");
    }
    let mut homeless = world.command(ANSWERBACK);
    let output = homeless.env_clear().args(["completions", "fish", "--", "answerback", "show", ""]).output().unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{output:?}");
}

#[test]
fn a_daemon_that_hangs_is_not_waited_for() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "toolu_aaa111", &[question("Which?")]);
    signal(world.daemon_pid(), Signal::STOP);
    let started = Instant::now();
    let output = complete(&world, &["zsh", "--", "answerback", "answer", ""]);
    let taken = started.elapsed();
    signal(world.daemon_pid(), Signal::CONT);
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{output:?}");
    assert!(taken < Duration::from_secs(2), "{taken:?}");
}

#[test]
fn a_whole_key_is_completed_too() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s1", "toolu_aaa111", &[question("Which?")]);
    let (_other, _) = world.ask("s2", "toolu_bbb222", &[question("Which?")]);
    let output = complete(&world, &["fish", "--", "answerback", "show", "s1__too"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "s1__toolu_aaa111\tshop: Which?\n");
}

#[test]
fn an_approval_is_offered_only_with_its_key() {
    let mut world = World::new();
    let _hook = crate::kinds::ATTENDED.ask(&mut world, "Bash", &json!({"command": "ls"}), "toolu_aaa111");
    let words = |words: &[&str]| String::from_utf8(complete(&world, words).stdout).unwrap();
    let without = words(&["fish", "--", "answerback", "answer", ""]);
    assert!(without.contains("Deny\t") && !without.contains("Allow once"), "{without}");
    let with = words(&["fish", "--", "answerback", "answer", "aaa111", ""]);
    assert!(with.contains("Deny\t") && with.contains("Allow once\t"), "{with}");
}
