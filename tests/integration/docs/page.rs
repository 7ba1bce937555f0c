//! A page: its prose and its examples.
//!
//! All examples of a page are one script, in the order of the page. `sh` blocks are run as they are. `console` blocks that show
//! output are run too, and must print that output. In it, `…` stands for anything on its line. `console` blocks without output are not run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use regex_lite::Regex;

use crate::world::{ANSWERBACK, World};

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Comes before and after a command of a `console` block.
const MARK: char = '\u{1e}';

/// A page of the documentation, by its path in the repository.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A code block.
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) text: String,
}

/// A command of a `console` block, and what it prints.
struct Step {
    command: String,
    output: String,
}

impl Page {
    pub(crate) fn read(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_path_buf();
        let text =
            fs::read_to_string(Path::new(ROOT).join(&path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { path, text }
    }

    /// Every page for people.
    pub(crate) fn all() -> Vec<Self> {
        let docs = fs::read_dir(Path::new(ROOT).join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
        let docs =
            docs.map(|name| Path::new("docs").join(name)).filter(|path| path.extension().is_some_and(|e| e == "md"));
        ["README.md", "CONTRIBUTING.md"].into_iter().map(PathBuf::from).chain(docs).map(Self::read).collect()
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut inside = false;
        for line in self.text.lines() {
            match line.strip_prefix("```") {
                Some(_) if inside => inside = false,
                Some(language) => {
                    blocks.push(Block { language: language.to_owned(), text: String::new() });
                    inside = true;
                }
                None if inside => blocks.last_mut().unwrap().text.extend([line, "\n"]),
                None => {}
            }
        }
        assert!(!inside, "{}: a block has no end", self.name());
        blocks
    }

    /// The lines outside of code blocks, with their numbers.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let mut prose = Vec::new();
        for (number, line) in (1..).zip(self.text.lines()) {
            if line.starts_with("```") {
                inside = !inside;
            } else if !inside {
                prose.push((number, line));
            }
        }
        prose
    }

    /// The names under which GitHub links to its headings.
    pub(crate) fn anchors(&self) -> BTreeSet<String> {
        let headings = self.prose().into_iter().filter_map(|(_, line)| line.strip_prefix('#'));
        let is_kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        let anchor =
            |heading: &str| heading.trim_start_matches('#').trim().to_lowercase().chars().filter(is_kept).collect();
        headings.map(anchor).map(|anchor: String| anchor.replace(' ', "-")).collect()
    }

    /// The command lines of our program: in the prose between backticks, and in code blocks.
    pub(crate) fn command_lines(&self) -> Vec<String> {
        let text: String = self.prose().into_iter().flat_map(|(_, line)| [line, " "]).collect();
        let spans =
            text.split('`').skip(1).step_by(2).map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
        let blocks = self.blocks();
        let lines = blocks.iter().filter(|block| ["sh", "console"].contains(&block.language.as_str()));
        let lines = lines.flat_map(|block| block.text.lines());
        let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line).trim_start().to_owned());
        spans.chain(lines).filter(|line| line.starts_with("answerback ")).collect()
    }

    /// Runs the examples in a directory called `shop`, and checks what they print.
    #[track_caller]
    pub(crate) fn run(&self, world: &World) -> String {
        let mut script = String::from("set -euo pipefail\nmkdir -p shop && cd shop\n");
        let mut steps = Vec::new();
        for block in self.blocks() {
            match block.language.as_str() {
                "sh" => script.push_str(&block.text),
                "console" => {
                    let session = session(&block.text);
                    if session.iter().all(|step| step.output.is_empty()) {
                        continue;
                    }
                    for step in session {
                        script.push_str(&format!("printf '{MARK}'\n{{ {}\n}} 2>&1\nprintf '{MARK}'\n", step.command));
                        steps.push(step);
                    }
                }
                _ => {}
            }
        }
        let mut bash = world.command("bash");
        let output = bash.args(["-c", &script]).env("PATH", path(world)).current_dir(world.home()).output().unwrap();
        let stdout = succeeds(&output);
        let printed: Vec<&str> = stdout.split(MARK).skip(1).step_by(2).collect();
        assert_eq!(printed.len(), steps.len(), "{}: {stdout}", self.name());
        for (step, printed) in steps.iter().zip(printed) {
            let (shown, printed) = (steady(&step.output, world), steady(printed, world));
            assert!(
                is_like(&printed, &shown),
                "{}: $ {}\n{printed}\nbut the page shows\n{shown}",
                self.name(),
                step.command
            );
        }
        stdout
    }
}

fn session(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: String::new() }),
            (None, Some(step)) => step.output.extend([line, "\n"]),
            (None, None) => panic!("a console block begins with a command: {line}"),
        }
    }
    steps
}

/// A text without the parts that differ from run to run.
fn steady(text: &str, world: &World) -> String {
    let mut text = text.replace(&*world.home().to_string_lossy(), "/home/me");
    for (pattern, name) in [
        (r"toolu_[0-9a-f]+", "CALL"),
        (r"\b[0-9a-f]{6}\b", "KEY"),
        (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}\b", "TIME"),
        (r"\b[0-9]+ (s|min)\b", "AGE"),
        (r"[ \t]+", " "),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, name).into_owned();
    }
    text.trim().to_owned()
}

/// Whether a text is what is shown, where `…` stands for anything on its line.
fn is_like(text: &str, shown: &str) -> bool {
    let parts: Vec<_> = shown.split('…').map(regex_lite::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).unwrap().is_match(text)
}

/// Our programs first, then what a test has put into this world.
pub(crate) fn path(world: &World) -> OsString {
    let mut path = OsString::from(Path::new(ANSWERBACK).parent().unwrap());
    path.push(":");
    path.push(world.home().join("bin"));
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    path
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stderr}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout.clone()).unwrap()
}
