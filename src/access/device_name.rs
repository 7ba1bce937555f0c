//! The name of a device: the one it gives, made harmless, or one made of the name of its browser.

use crate::ask::harmless_name;

/// The longest name, in characters: enough to tell devices apart.
const MAX: usize = 48;
const NAMELESS: &str = "device";

/// The name that a device gives, or one made of its `agent`, which is the `User-Agent` of a browser.
pub(super) fn device_name(given: Option<&str>, agent: Option<&str>) -> String {
    given.and_then(harmless).or_else(|| agent.and_then(from_agent)).unwrap_or_else(|| NAMELESS.to_owned())
}

/// One short and harmless line, if anything is left.
pub(super) fn harmless(name: &str) -> Option<String> {
    let name: String = harmless_name(name)?.chars().take(MAX).collect();
    Some(name.trim_end().to_owned())
}

/// `Safari on iPhone`. The order matters, because most browsers name others, too.
fn from_agent(agent: &str) -> Option<String> {
    const BROWSERS: [(&str, &str); 9] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("FxiOS/", "Firefox"),
        ("Firefox/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("AppleWebKit/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("CrOS", "ChromeOS"),
        ("Macintosh", "Mac"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    ];
    let find =
        |table: &[(&str, &'static str)]| table.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name);
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => Some(format!("{browser} on {system}")),
        (Some(browser), None) => Some(browser.to_owned()),
        // Not a browser: the name of the program, without its version.
        (None, _) => agent.split(['/', ' ']).next().and_then(harmless),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_called_as_people_call_them() {
        for (agent, name) in [
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 \
                 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 \
                 Safari/537.36 Edg/140.0.0.0",
                "Edge on Windows",
            ),
            ("curl/8.5.0", "curl"),
            ("", NAMELESS),
        ] {
            assert_eq!(device_name(None, Some(agent)), name);
            assert_eq!(device_name(Some("  "), Some(agent)), name);
        }
        assert_eq!(device_name(None, None), NAMELESS);
    }

    #[test]
    fn a_name_is_short_and_harmless() {
        let name = |given: &str| device_name(Some(given), None);
        assert_eq!(name(" Anna's\n phone "), "Anna's phone");
        assert_eq!(name(&"ä".repeat(500)), "ä".repeat(MAX));
        assert_eq!(name("\x1b]52;c;evil\x07phone"), "]52;c;evil phone");
        assert_eq!(name("\u{7}"), NAMELESS);
    }
}
