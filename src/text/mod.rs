//! Text for a terminal: made harmless, cut and wrapped to a width, and coloured.

mod fit;

pub use fit::{boundaries, fit, harmless_json, one_line, reveal, sanitise, wrap};

use anstyle::Style;
use rustix::termios::tcgetwinsize;

/// The widest text that is pleasant to read.
pub const COMFORTABLE: usize = 100;
/// The width of a terminal that does not know its own.
const USUAL: usize = 80;
/// The width for a pipe: programs read whole lines.
const ENDLESS: usize = 100_000;

/// How many columns to use: those of the terminal, within reason. Piped output is neither cut nor wrapped.
pub fn width() -> usize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).clamp(20, COMFORTABLE),
        Ok(_) => USUAL,
        Err(_) => ENDLESS,
    }
}

/// A number with the words that fit it: "1 question", "2 questions".
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A line in one style. Its text is harmless and has no line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledLine {
    pub text: String,
    pub style: Style,
}

/// All styles.
pub mod style {
    use anstyle::{AnsiColor, Style};

    /// Important text.
    pub const STRONG: Style = Style::new().bold();
    /// Text of lesser importance.
    pub const FAINT: Style = Style::new().dimmed();
    /// Good news.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// A warning.
    pub const WARNING: Style = AnsiColor::Yellow.on_default();
    /// An error.
    pub const BAD: Style = AnsiColor::Red.on_default().bold();
    /// Something to choose.
    pub const CHOICE: Style = AnsiColor::Cyan.on_default();
}
