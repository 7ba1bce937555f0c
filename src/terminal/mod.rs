//! What people see in a terminal: text that cannot do anything to it, colours, widths.

mod text;

pub use text::{fit, one_line, sanitise, wrap};

use std::io::IsTerminal;

/// The widest text that is pleasant to read.
const COMFORTABLE: usize = 100;
/// When nothing tells how wide it is.
const USUAL: usize = 80;

/// How many columns to use: those of the terminal, within reason.
pub fn width() -> usize {
    let columns = std::io::stdout().is_terminal().then(crossterm::terminal::size).and_then(Result::ok);
    columns.map_or(USUAL, |(columns, _)| usize::from(columns)).clamp(20, COMFORTABLE)
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
