//! Addresses of the web: checked when they are read, and shown without their secret parts.

use std::fmt;

use serde::Deserialize;
use url::{Host, Position, Url};

/// An `http` or `https` address, as a browser writes it. Its path and query may be secrets (a topic, a hook's token), so its `Debug`
/// shows the host alone.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebUrl(Url);

/// Why a text is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("it does not begin with https:// or http://")]
    Scheme,
    /// No host, a host or a port that cannot be, or a user.
    #[error("it has no host, a host or a port that cannot be, or a user name")]
    Host,
    /// Spaces, control characters, or letters that must be encoded.
    #[error("it is not plain ASCII: write international names as xn--, and anything else with %")]
    Character,
}

impl WebUrl {
    /// The whole address.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Scheme, host and port. The usual port of the scheme is left out, as browsers do.
    pub fn origin(&self) -> &str {
        &self.0[..Position::BeforePath]
    }

    /// Host and port. A log may show them.
    pub fn host(&self) -> &str {
        &self.0[Position::BeforeHost..Position::AfterPort]
    }

    /// Path, query and fragment.
    pub fn rest(&self) -> &str {
        &self.0[Position::BeforePath..]
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it leads to the machine that uses it.
    pub(super) fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
            None => false,
        }
    }
}

impl TryFrom<String> for WebUrl {
    type Error = UrlError;

    fn try_from(text: String) -> Result<Self, UrlError> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Character);
        }
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).ok_or(UrlError::Scheme)?;
        // Browsers repair a slip silently, and so does the parser: `https:///host`, `https://host:/`, `https://h%6fst`.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() || authority.ends_with(':') || authority.contains(['@', '\\', '%']) {
            return Err(UrlError::Host);
        }
        let url = Url::parse(&text).map_err(|_| UrlError::Host)?;
        if url.port() == Some(0) { Err(UrlError::Host) } else { Ok(Self(url)) }
    }
}

impl fmt::Debug for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/..", self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_address() {
        for (text, host, rest, whole) in [
            ("https://ntfy.sh/topic", "ntfy.sh", "/topic", "https://ntfy.sh/topic"),
            ("https://ntfy.sh/a%20b?c=%C3%A9&d", "ntfy.sh", "/a%20b?c=%C3%A9&d", "https://ntfy.sh/a%20b?c=%C3%A9&d"),
            ("https://my_box.Example.org:443/", "my_box.example.org", "/", "https://my_box.example.org/"),
            ("http://127.0.0.1:8080?a=b", "127.0.0.1:8080", "/?a=b", "http://127.0.0.1:8080/?a=b"),
            ("http://[::1]:81/", "[::1]:81", "/", "http://[::1]:81/"),
            ("http://[::1]:80/", "[::1]", "/", "http://[::1]/"),
        ] {
            let url = WebUrl::try_from(text.to_owned()).unwrap();
            assert_eq!((url.host(), url.rest(), url.as_str()), (host, rest, whole));
            assert!(!format!("{url:?}").contains("topic"));
        }
        for (text, error) in [
            ("", UrlError::Scheme),
            ("ntfy.sh/topic", UrlError::Scheme),
            ("ftp://x", UrlError::Scheme),
            ("https://", UrlError::Host),
            ("https:///path", UrlError::Host),
            ("https://me:secret@host/", UrlError::Host),
            ("https://host:port/", UrlError::Host),
            ("https://host:/", UrlError::Host),
            ("https://host:0/", UrlError::Host),
            ("https://host:65536/", UrlError::Host),
            ("https://[::1/", UrlError::Host),
            ("https://[::1]x/", UrlError::Host),
            ("https://h\\x/", UrlError::Host),
            ("https://a%2eb/", UrlError::Host),
            ("https://a b/", UrlError::Character),
            ("https://host/a b", UrlError::Character),
            ("https://host/\r\nx: y", UrlError::Character),
            ("https://höst/", UrlError::Character),
        ] {
            assert_eq!(WebUrl::try_from(text.to_owned()), Err(error), "{text}");
        }
    }
}
