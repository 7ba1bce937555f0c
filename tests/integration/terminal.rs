//! A real terminal, which is tmux.

use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::world::{World, until};

/// A terminal in which a shell has started something.
pub(crate) struct Terminal<'a> {
    pub(crate) world: &'a World,
    socket: String,
}

/// A server that is told to end takes a moment, and its socket with it.
static TERMINALS: AtomicU32 = AtomicU32::new(0);

impl<'a> Terminal<'a> {
    /// Runs a script in a terminal of this size.
    pub(crate) fn run(world: &'a World, columns: u16, rows: u16, script: &str) -> Self {
        let terminal = Self { world, socket: TERMINALS.fetch_add(1, Ordering::Relaxed).to_string() };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, script]);
        terminal
    }

    fn try_tmux(&self, args: &[&str]) -> Output {
        let mut command = self.world.command("tmux");
        command.env("TMUX_TMPDIR", self.world.home()).env("TERM", "xterm-256color");
        command.args(["-u", "-L", &self.socket]).args(args).output().unwrap()
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let output = self.try_tmux(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The screen, once it has this text.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        let mut last = String::new();
        until(&format!("{text:?} in\n{}", self.screen()), || {
            last = self.screen();
            last.contains(text).then(|| last.clone())
        })
    }

    /// Keys by tmux's names.
    pub(crate) fn press(&self, keys: &[&str]) -> &Self {
        self.tmux(&[&["send-keys"], keys].concat());
        self
    }

    pub(crate) fn type_text(&self, text: &str) -> &Self {
        self.tmux(&["send-keys", "-l", "--", text]);
        self
    }

    pub(crate) fn paste(&self, text: &str) -> &Self {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p", "-d"]);
        self
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the screen:\n{}", String::from_utf8_lossy(&self.try_tmux(&["capture-pane", "-p"]).stdout));
        }
        // The test may have ended it.
        self.try_tmux(&["kill-server"]);
    }
}
