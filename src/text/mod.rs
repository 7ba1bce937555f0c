//! What people see in a terminal: text that cannot do anything to it, colours, widths.

mod fit;

pub use fit::{boundaries, fit, harmless_json, one_line, sanitise, wrap};

use rustix::termios::tcgetwinsize;

/// The widest text that is pleasant to read.
const COMFORTABLE: usize = 100;
/// When a terminal does not know how wide it is.
const USUAL: usize = 80;
/// A program reads whole lines.
const ENDLESS: usize = 100_000;

/// How many columns to use: those of the terminal, within reason. What is piped is neither cut nor wrapped.
pub fn width() -> usize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).clamp(20, COMFORTABLE),
        Ok(_) => USUAL,
        Err(_) => ENDLESS,
    }
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
