//! What people see in a terminal: text that cannot do anything to it, colours, widths.

mod text;

pub use text::{boundaries, fit, one_line, sanitise, wrap};

use rustix::termios::tcgetwinsize;

/// The widest text that is pleasant to read.
const COMFORTABLE: usize = 100;
/// When nothing tells how wide it is.
const USUAL: usize = 80;

/// How many columns to use: those of the terminal, within reason.
pub fn width() -> usize {
    // Some terminals do not know, and say 0.
    let columns =
        tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(USUAL).clamp(20, COMFORTABLE)
}

/// The few styles there are.
pub mod style {
    use anstyle::{AnsiColor, Style};

    /// What matters.
    pub const STRONG: Style = Style::new().bold();
    /// What may be passed over.
    pub const FAINT: Style = Style::new().dimmed();
    /// What is well.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// What wants a look.
    pub const WARNING: Style = AnsiColor::Yellow.on_default();
    /// What is wrong.
    pub const BAD: Style = AnsiColor::Red.on_default().bold();
    /// What can be chosen.
    pub const CHOICE: Style = AnsiColor::Cyan.on_default();
}
