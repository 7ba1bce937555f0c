//! Addresses: the configured ones under which other machines reach the daemon, and those that it posts to.

mod web_url;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use serde::Deserialize;

pub use web_url::{UrlError, WebUrl};

/// The port a browser leaves out of an `https` address.
const HTTPS: u16 = 443;

/// Where a reverse proxy or a tunnel makes the daemon reachable: `https://answers.example.org`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PublicUrl(WebUrl);

impl PublicUrl {
    /// The origin as browsers send it: without a slash at its end, and without the usual port.
    pub fn as_str(&self) -> &str {
        self.0.normal_origin()
    }

    /// The `Host` that browsers send.
    pub fn host(&self) -> &str {
        self.0.normal_host()
    }

    /// Whether the way to the proxy is encrypted.
    pub fn is_https(&self) -> bool {
        self.0.is_https()
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{text}` {what}: public_url is like \"https://answers.example.org\"");
        let url = WebUrl::try_from(text.clone()).map_err(|error| wrong(&format!("cannot be used ({error})")))?;
        if !matches!(url.rest(), "" | "/") {
            return Err(wrong("has more than a host in it, and is written without a path"));
        }
        if url.is_loopback() {
            return Err(wrong("is this machine alone, which needs no public_url"));
        }
        Ok(Self(url))
    }
}

/// Where the hub of an edge is: `https://answers.example.org`. Questions and answers go there, so it is encrypted unless it is this machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct HubUrl(WebUrl);

impl HubUrl {
    /// The origin as browsers send it.
    pub fn as_str(&self) -> &str {
        self.0.normal_origin()
    }

    /// A name or an IP address without brackets, and the port.
    pub fn endpoint(&self) -> (String, u16) {
        self.0.endpoint()
    }

    /// Whether the way to the hub is encrypted.
    pub fn is_https(&self) -> bool {
        self.0.is_https()
    }
}

impl fmt::Display for HubUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for HubUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{text}` {what}: a hub is like \"https://answers.example.org\"");
        let url = WebUrl::try_from(text.clone()).map_err(|error| wrong(&format!("cannot be used ({error})")))?;
        if !matches!(url.rest(), "" | "/") {
            return Err(wrong("has more than a host in it, and is written without a path"));
        }
        if !url.is_https() && !url.is_loopback() {
            return Err(wrong("is not encrypted, which is for this machine alone"));
        }
        Ok(Self(url))
    }
}

/// The origin of a page, as browsers send it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PageOrigin(WebUrl);

impl PageOrigin {
    /// Without a slash at its end, and without the usual port.
    pub fn as_str(&self) -> &str {
        self.0.normal_origin()
    }
}

impl TryFrom<String> for PageOrigin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{text}` {what}: an origin is like \"http://localhost:3000\"");
        let url = WebUrl::try_from(text.clone()).map_err(|error| wrong(&format!("cannot be used ({error})")))?;
        match url.rest() {
            "" | "/" => Ok(Self(url)),
            _ => Err(wrong("has more than a host in it, and is written without a path")),
        }
    }
}

/// Where the daemon listens for the local network, with TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct LanAddress(SocketAddr);

impl LanAddress {
    /// The address to listen on.
    pub fn socket(self) -> SocketAddr {
        self.0
    }
}

impl TryFrom<String> for LanAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let address: SocketAddr = text
            .parse()
            .map_err(|_| format!("`{text}` is not an IP address with a port: lan_address is like \"0.0.0.0:27564\""))?;
        if address.ip().to_canonical().is_loopback() {
            return Err(format!(
                "`{text}` is this machine alone, which is served anyway: lan_address is an address of the network, or \
                 \"0.0.0.0:{}\" for all of them",
                address.port()
            ));
        }
        Ok(Self(address))
    }
}

/// An address as a browser writes it into `Host` when it speaks https.
pub fn authority(host: &str, port: u16) -> String {
    if port == HTTPS { host.to_owned() } else { format!("{host}:{port}") }
}

/// An IP address as a host in a URL.
pub fn ip_host(ip: IpAddr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// What this machine calls itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase()
}

/// The names that other machines may use for this one: its host name, and its name in mDNS.
pub fn host_names() -> Vec<String> {
    let name = host_name();
    let is_name = !name.is_empty()
        && name != "localhost"
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    if !is_name {
        return Vec::new();
    }
    let short = name.split('.').next().unwrap_or(&name);
    let local = format!("{short}.local");
    if name == local { vec![name] } else { vec![name, local] }
}

/// The address that this machine has in its network: the one it would send from. Nothing is sent.
pub fn own_ip(listener: IpAddr) -> Option<IpAddr> {
    if !listener.is_unspecified() {
        return Some(listener);
    }
    // Addresses reserved for documentation. Only the route matters, and it leads out of this machine.
    let v4 = || source((Ipv4Addr::UNSPECIFIED, 0).into(), (Ipv4Addr::new(198, 51, 100, 1), 9).into());
    let v6 = || {
        source((Ipv6Addr::UNSPECIFIED, 0).into(), (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9).into())
            .filter(|_| listener.is_ipv6())
    };
    v4().or_else(v6)
}

fn source(from: SocketAddr, to: SocketAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(to).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_an_origin() {
        for (text, origin, host) in [
            ("https://answers.example.org", "https://answers.example.org", "answers.example.org"),
            ("https://Answers.Example.org:443/", "https://answers.example.org", "answers.example.org"),
            ("http://box:8080", "http://box:8080", "box:8080"),
            ("https://[fd00::2]:8443", "https://[fd00::2]:8443", "[fd00::2]:8443"),
            ("https://[fd00::2]", "https://[fd00::2]", "[fd00::2]"),
            ("https://[FD00:0::2]/", "https://[fd00::2]", "[fd00::2]"),
        ] {
            let url = PublicUrl::try_from(text.to_owned()).unwrap();
            assert_eq!((url.to_string().as_str(), url.host()), (origin, host));
        }
        for text in [
            "",
            "answers.example.org",
            "ftp://a.b",
            "https://",
            "https://a/b",
            "https://a?b",
            "https://a#b",
            "https://me@a",
            "https://a:0",
            "https://a:b",
            "https://a:",
            "https://a b",
            "https://a\\b",
            "https://bücher.example",
            "https://[::1",
            "https://[::1]",
            "http://localhost:27563",
            "http://127.0.0.1:27563",
            "http://127.1:27563",
            "http://page.localhost.:27563",
            "http://[::ffff:127.0.0.1]:27563",
        ] {
            let error = PublicUrl::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains("answers.example.org"), "{error}");
        }
    }

    #[test]
    fn the_way_to_a_hub_is_encrypted_unless_it_is_this_machine() {
        for (text, origin, host, port) in [
            ("https://Answers.example.org/", "https://answers.example.org", "answers.example.org", 443),
            ("https://[fd00::2]:8443", "https://[fd00::2]:8443", "fd00::2", 8443),
            ("http://127.0.0.1:27563", "http://127.0.0.1:27563", "127.0.0.1", 27563),
        ] {
            let url = HubUrl::try_from(text.to_owned()).unwrap();
            assert_eq!((url.as_str(), url.endpoint()), (origin, (host.to_owned(), port)));
        }
        for text in ["http://answers.example.org", "https://a/b", "answers.example.org", "wss://a"] {
            let error = HubUrl::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains("https://answers.example.org"), "{error}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for (text, origin) in [
            ("http://localhost:3000", "http://localhost:3000"),
            ("https://chat.example.org/", "https://chat.example.org"),
            ("https://Chat.example.org:443", "https://chat.example.org"),
        ] {
            assert_eq!(PageOrigin::try_from(text.to_owned()).unwrap().as_str(), origin);
        }
        for text in
            ["", "*", "null", "localhost:3000", "http://localhost:3000/chat", "https://*.example.org", "file://"]
        {
            let error = PageOrigin::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains("http://localhost:3000"), "{error}");
        }
    }

    #[test]
    fn a_lan_address_is_not_this_machine_alone() {
        for text in ["0.0.0.0:27564", "192.168.1.5:1", "[::]:27564"] {
            LanAddress::try_from(text.to_owned()).unwrap();
        }
        for text in ["127.0.0.1:27564", "127.1.2.3:1", "[::1]:27564", "[::ffff:127.0.0.1]:27564"] {
            assert!(LanAddress::try_from(text.to_owned()).unwrap_err().contains("this machine alone"), "{text}");
        }
        for text in ["", "0.0.0.0", "27564", "box:27564", "0.0.0.0:99999"] {
            assert!(LanAddress::try_from(text.to_owned()).unwrap_err().contains("is not an IP"), "{text}");
        }
    }

    #[test]
    fn addresses_are_written_as_browsers_write_them() {
        assert_eq!(authority("box.local", 27564), "box.local:27564");
        assert_eq!(authority("box.local", 443), "box.local");
        assert_eq!(ip_host("::ffff:192.168.1.5".parse().unwrap()), "192.168.1.5");
        assert_eq!(ip_host("fd00::2".parse().unwrap()), "[fd00::2]");
    }
}
