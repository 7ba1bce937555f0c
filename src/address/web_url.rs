//! Addresses of the web: checked when they are read, and shown without their secret parts.

use std::fmt;

use serde::Deserialize;
use url::{Host, Position, Url};

/// An `http` or `https` address. It is used exactly as it was written. Its path and query may be secrets (a topic, a hook's token), so
/// its `Debug` shows the host alone.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebUrl {
    text: String,
    /// Where the host and the port end.
    origin: usize,
    /// The same as a browser writes it.
    normal: Url,
}

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
        &self.text
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.text[..self.origin]
    }

    /// Host and port. A log may show them.
    pub fn host(&self) -> &str {
        self.origin().split_once("://").map_or("", |(_, host)| host)
    }

    /// Path, query and fragment.
    pub fn rest(&self) -> &str {
        &self.text[self.origin..]
    }

    /// Scheme, host and port as browsers write them: in lower case, and without the usual port of the scheme.
    pub(super) fn normal_origin(&self) -> &str {
        &self.normal[..Position::BeforePath]
    }

    /// Host and port as browsers write them.
    pub(super) fn normal_host(&self) -> &str {
        &self.normal[Position::BeforeHost..Position::AfterPort]
    }

    /// A name or an IP address without brackets, and the port.
    pub(super) fn endpoint(&self) -> (String, u16) {
        let host = match self.normal.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(ip)) => ip.to_string(),
            Some(Host::Ipv6(ip)) => ip.to_string(),
            None => String::new(),
        };
        (host, self.normal.port_or_known_default().unwrap_or_default())
    }

    pub(super) fn is_https(&self) -> bool {
        self.normal.scheme() == "https"
    }

    /// Whether it leads to the machine that uses it.
    pub(super) fn is_loopback(&self) -> bool {
        match self.normal.host() {
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
        let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme));
        let host = scheme.ok_or(UrlError::Scheme)?.len();
        let origin = text[host..].find(['/', '?', '#']).map_or(text.len(), |end| host + end);
        let normal = Url::parse(&text).map_err(|_| UrlError::Host)?;
        check_authority(&text[host..origin], &normal)?;
        Ok(Self { text, origin, normal })
    }
}

/// The parser repairs slips silently, as browsers do: `https:///host`, `https://host:/`, `https://h%6fst`, `https://1.2.3`. An address in a
/// configuration must be written as it is meant.
fn check_authority(authority: &str, normal: &Url) -> Result<(), UrlError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    let written = match normal.host() {
        Some(Host::Ipv4(ip)) => ip.to_string(),
        _ => String::new(),
    };
    let is_sound = !authority.is_empty() && !authority.ends_with(':') && authority.bytes().all(is_plain);
    if is_sound && authority.starts_with(&written) && normal.port() != Some(0) { Ok(()) } else { Err(UrlError::Host) }
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
        for (text, host, rest) in [
            ("https://ntfy.sh/topic", "ntfy.sh", "/topic"),
            ("https://ntfy.sh/a%20b?c=%C3%A9&d", "ntfy.sh", "/a%20b?c=%C3%A9&d"),
            ("https://ntfy.sh/a/../b", "ntfy.sh", "/a/../b"),
            ("https://my_box.Example.org:443/", "my_box.Example.org:443", "/"),
            ("http://127.0.0.1:8080?a=b", "127.0.0.1:8080", "?a=b"),
            ("http://[::1]:80/", "[::1]:80", "/"),
        ] {
            let url = WebUrl::try_from(text.to_owned()).unwrap();
            assert_eq!((url.host(), url.rest(), url.as_str()), (host, rest, text));
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
            ("https://a'b;c.example/", UrlError::Host),
            ("https://a\"b.example/", UrlError::Host),
            ("https://a*b.example/", UrlError::Host),
            ("https://a,b.example/", UrlError::Host),
            ("https://1.2.3/", UrlError::Host),
            ("https://0x7f.1/", UrlError::Host),
            ("https://a b/", UrlError::Character),
            ("https://host/a b", UrlError::Character),
            ("https://host/\r\nx: y", UrlError::Character),
            ("https://höst/", UrlError::Character),
        ] {
            assert_eq!(WebUrl::try_from(text.to_owned()), Err(error), "{text}");
        }
    }

    #[test]
    fn a_browser_leaves_out_the_usual_port_and_writes_hosts_in_lower_case() {
        let normal = |text: &str| {
            let url = WebUrl::try_from(text.to_owned()).unwrap();
            (url.normal_origin().to_owned(), url.normal_host().to_owned())
        };
        assert_eq!(
            normal("https://my_box.Example.org:443/"),
            ("https://my_box.example.org".into(), "my_box.example.org".into())
        );
        assert_eq!(normal("http://[::1]:80"), ("http://[::1]".into(), "[::1]".into()));
        assert_eq!(normal("https://box:444/x"), ("https://box:444".into(), "box:444".into()));
    }
}
