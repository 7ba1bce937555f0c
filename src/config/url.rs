//! Addresses of the web, as far as they are used here: checked when they are read, shown without what may be secret.

use std::fmt;

use serde::Deserialize;

/// An `http` or `https` address. Its path and query may be secrets (a topic, a hook's token): its `Debug` shows the host.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebUrl {
    text: String,
    /// Where the host and port end.
    origin: usize,
}

/// Why a text is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("an address begins with https:// or http://")]
    Scheme,
    /// No host, or a strange one; a password.
    #[error("an address has a host, perhaps a port, and no user or password")]
    Host,
    /// Spaces, controls, letters that must be encoded.
    #[error("an address is plain ASCII; anything else is written with %")]
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

    /// Host and port: what may be logged.
    pub fn host(&self) -> &str {
        self.origin().split_once("://").map_or("", |(_, host)| host)
    }

    /// What follows the host.
    pub fn rest(&self) -> &str {
        &self.text[self.origin..]
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
        check_host(&text[host..origin])?;
        Ok(Self { text, origin })
    }
}

fn check_host(authority: &str) -> Result<(), UrlError> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let plain = address.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            (if plain { address } else { "" }, rest.strip_prefix(':').or(rest.is_empty().then_some("80")))
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
            let plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
            (if plain { host } else { "" }, Some(port))
        }
    };
    let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit())).and_then(|port| port.parse().ok());
    if host.is_empty() || port.is_none_or(|port: u16| port == 0) { Err(UrlError::Host) } else { Ok(()) }
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
            ("https://host/a b", UrlError::Character),
            ("https://host/\r\nx: y", UrlError::Character),
            ("https://höst/", UrlError::Character),
        ] {
            assert_eq!(WebUrl::try_from(text.to_owned()), Err(error), "{text}");
        }
    }
}
