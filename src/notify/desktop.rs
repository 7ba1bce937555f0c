//! The desktop: a command that shows a notification. It runs without a shell, and the text goes into its arguments. So no text can become
//! a command.

use std::ffi::OsString;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::config;

use super::wording::{Message, Wording};
use super::{Failure, Notice};

const PATIENCE: Duration = Duration::from_secs(10);

/// The command to run. Its arguments may have placeholders.
#[derive(Debug)]
pub struct Desktop {
    program: String,
    arguments: Vec<String>,
    wording: Arc<Wording>,
}

impl Desktop {
    /// `None` if the desktop is switched off, or if no command is configured and this machine has no display or no `notify-send`.
    pub(super) fn new(config: &config::Desktop, wording: &Arc<Wording>) -> Option<Self> {
        let wording = Arc::clone(wording);
        match (config.enabled, &config.command) {
            (Some(false), _) => None,
            (_, Some(command)) => {
                let (program, arguments) = (command.program().to_owned(), command.arguments().to_vec());
                Some(Self { program, arguments, wording })
            }
            (None, None) if !is_default_usable(|name| std::env::var_os(name)) => None,
            (_, None) => {
                let (program, arguments) = default_command();
                let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
                Some(Self { program: program.to_owned(), arguments, wording })
            }
        }
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    pub(super) fn deliver(&self, notice: &Notice) -> Result<(), Failure> {
        let message = match notice {
            Notice::Asked(asks) => self.wording.message(asks),
            Notice::Test => self.wording.test(),
            Notice::Opened(_) | Notice::Settled(_) => return Ok(()),
        };
        let mut command = Command::new(&self.program);
        command.args(self.arguments.iter().map(|argument| fill(argument, &message)));
        // An entry of the PATH that is not absolute must not lead into the directory we are in.
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        // A command may repeat the text on stderr, and the text must not get into the log. In a test, the person wants to see it.
        if !matches!(notice, Notice::Test) {
            command.stderr(Stdio::null());
        }
        let failed = |reason| Failure { reason, hint: "Run the command by hand, or configure another.", again: false };
        let mut child = command.spawn().map_err(|error| failed(format!("cannot run {}: {error}", self.program)))?;
        match wait(&mut child) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(failed(format!("{} failed: {status}", self.program))),
            Ok(None) => Err(failed(format!("{} did not end within {} s", self.program, PATIENCE.as_secs()))),
            Err(error) => Err(failed(format!("{}: {error}", self.program))),
        }
    }
}

/// `None` if the command took too long. Then it was killed.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let status = child.wait_timeout(PATIENCE)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status)
}

/// One argument with its placeholders replaced. A replacement that looks like a placeholder stays as it is.
fn fill(template: &str, message: &Message) -> String {
    let html = message.body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut filled = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        let known = [
            ("{title}", message.title.as_str()),
            ("{body}", message.body.as_str()),
            ("{body_html}", html.as_str()),
            ("{url}", message.url.as_deref().unwrap_or_default()),
        ];
        let (text, length) = match known.iter().find(|(name, _)| from.starts_with(name)) {
            Some((name, text)) => (*text, name.len()),
            None => ("{", 1),
        };
        filled.push_str(before);
        // A text at the start of an argument must not look like an option.
        if filled.is_empty() && text.starts_with('-') {
            filled.push(' ');
        }
        filled.push_str(text);
        rest = &from[length..];
    }
    filled + rest
}

/// The command if none is configured.
fn default_command() -> (&'static str, &'static [&'static str]) {
    if cfg!(target_os = "macos") {
        const SHOW: &str = "display notification (item 2 of argv) with title (item 1 of argv)";
        ("/usr/bin/osascript", &["-e", "on run argv", "-e", SHOW, "-e", "end run", "--", "{title}", "{body}"])
    } else {
        // Linux desktops read the body as markup. Without escaping, a question could show its own links and pictures.
        ("notify-send", &["--app-name=Answerback", "--", "{title}", "{body_html}"])
    }
}

/// Whether this machine has a display and the program of the default command.
fn is_default_usable(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return true;
    }
    let has_screen = is_set("WAYLAND_DISPLAY") || is_set("DISPLAY");
    let has_bus = is_set("DBUS_SESSION_BUS_ADDRESS") || is_set("XDG_RUNTIME_DIR");
    let path = variable("PATH").unwrap_or_default();
    has_screen && has_bus && std::env::split_paths(&path).any(|dir| dir.join(default_command().0).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(title: &str, body: &str) -> Message {
        Message { title: title.into(), body: body.into(), url: None }
    }

    #[test]
    fn placeholders_are_replaced_once_and_text_never_becomes_an_option() {
        let message = message("{body} --x", "$(touch x) <a href='x'>&");
        for (template, filled) in [
            ("{title}", "{body} --x"),
            ("{body}", "$(touch x) <a href='x'>&"),
            ("{body_html}", "$(touch x) &lt;a href='x'&gt;&amp;"),
            ("a{title}b{body}", "a{body} --xb$(touch x) <a href='x'>&"),
            ("{url}", ""),
            ("{other} {", "{other} {"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(fill(template, &message), filled, "{template}");
        }
        let option = self::message("-e has a question", "--help");
        assert_eq!(
            (fill("{title}", &option), fill("{body}", &option)),
            (" -e has a question".into(), " --help".into())
        );
        assert_eq!(fill("--text={body}", &option), "--text=--help");
    }

    #[test]
    #[cfg(not(target_os = "macos"))]
    fn the_desktop_needs_a_display_a_bus_and_notify_send() {
        let dir = tempfile::tempdir().unwrap();
        let there = |variables: &[(&str, &str)]| {
            is_default_usable(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.into())
            })
        };
        let path = dir.path().to_str().unwrap();
        let all = [("PATH", path), ("DISPLAY", ":0"), ("XDG_RUNTIME_DIR", "/run/user/1")];
        assert!(!there(&all), "there is no program");
        std::fs::write(dir.path().join("notify-send"), "").unwrap();
        assert!(there(&all));
        assert!(!there(&all[..2]) && !there(&all[1..]) && !there(&[all[0], all[2]]));
    }
}
