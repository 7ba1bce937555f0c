//! A QR code in the terminal.

use anstyle::{Ansi256Color, Style};
use qrcode::render::unicode::Dense1x2;
use qrcode::types::QrError;
use qrcode::{EcLevel, QrCode};
use unicode_width::UnicodeWidthStr;

/// True white on true black, whatever the theme makes of the sixteen colours. What is light is drawn, so that it is readable
/// on a dark terminal without colours as well.
const STYLE: Style = Style::new()
    .fg_color(Some(anstyle::Color::Ansi256(Ansi256Color(231))))
    .bg_color(Some(anstyle::Color::Ansi256(Ansi256Color(16))));

/// The lines to print, each with its colours, or nothing if they are wider than the terminal.
pub(super) fn lines(text: &str, columns: usize) -> Result<Option<Vec<String>>, QrError> {
    // A screen does not get dirty, so the lowest error correction is enough.
    let code = QrCode::with_error_correction_level(text, EcLevel::L)?;
    // The crate draws dark modules. Here the light ones are drawn, so swap the two.
    let drawn = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    if drawn.lines().any(|line| line.width() > columns) {
        return Ok(None);
    }
    Ok(Some(drawn.lines().map(|line| format!("{STYLE}{line}{STYLE:#}")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pairing_fits_into_the_usual_terminal() {
        let url = "https://192.168.100.100:27564/#pair=0123456789abcdef0123456789abcdef";
        let lines_of = |columns| lines(url, columns).unwrap();
        let drawn = lines_of(80).unwrap();
        assert!(drawn.len() <= 22, "{}", drawn.len());
        // Without a light border no camera finds it.
        assert!(drawn[0].contains(&"█".repeat(20)), "{}", drawn[0]);
        assert_eq!(lines_of(30), None);
    }
}
