//! The ways in, and the headers that a browser must send there: the name it used for us (`Host`) and the page it comes from (`Origin`,
//! `Sec-Fetch-Site`), exactly. So a foreign site can neither read nor act, whatever it knows.

use std::net::SocketAddr;

use axum::http::header::{self, HeaderMap, HeaderName};

use crate::access::Entrance;
use crate::address::{self, PageOrigin, PublicUrl};
use crate::api::Problem;

use super::reach::Reach;

/// The way a connection came in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Peer {
    /// The unix socket. The other end belongs to our user, and is this process if the system tells.
    Socket { process: Option<i32> },
    /// TCP on loopback. The other end may be anybody on this machine, or a proxy.
    Tcp { local: SocketAddr, remote: SocketAddr },
    /// TLS from the network.
    Lan { local: SocketAddr, remote: SocketAddr },
}

/// The names under which we can be reached.
#[derive(Debug)]
pub(super) struct Names {
    loopback: [String; 2],
    public: Option<PublicUrl>,
    machine: Vec<String>,
    /// Pages of these origins may open the WebSocket.
    companions: Vec<PageOrigin>,
}

/// What a request is for, as far as that matters to a browser of another site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A person follows a link to the page, in a notification or a chat. The page holds no secret, and no frame may show it.
    Visit,
    /// A companion opens the WebSocket. It still needs a token.
    WebSocket,
    Other,
}

/// Headers that only proxies send, like all that begin with `x-forwarded-`.
const FORWARDED: [&str; 4] = ["forwarded", "via", "x-real-ip", "cf-connecting-ip"];

fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| FORWARDED.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-"))
}

impl Names {
    /// For the API on this port of 127.0.0.1.
    pub(super) fn new(port: u16, reach: &Reach) -> Self {
        let loopback = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let (public, companions) = (reach.public.clone(), reach.websocket_origins.clone());
        Self { loopback, public, machine: address::host_names(), companions }
    }

    /// Refuses a request that a browser sends on behalf of another site, unless its purpose allows that. Also refuses a request that
    /// comes in by a way that is not configured.
    pub(super) fn enter(&self, peer: Peer, purpose: Purpose, headers: &HeaderMap) -> Result<Entrance, Problem> {
        let Ok(host) = only(headers, header::HOST).map(Option::unwrap_or_default) else { return Err(foreign_host()) };
        let entrance = match peer {
            Peer::Socket { process } => {
                // No browser speaks to a unix socket. This comes through a proxy that must not exist.
                if headers.contains_key(header::ORIGIN) || headers.contains_key(header::REFERER) {
                    return Err(Problem::forbidden("foreign-origin", "The socket is not for browsers."));
                }
                return Ok(Entrance::Socket { process });
            }
            Peer::Tcp { local, remote } if self.loopback.iter().any(|own| own == host) => {
                if is_forwarded(headers) {
                    return Err(Problem::forbidden("foreign-host", "A proxy must pass on the name it was reached by.")
                        .hint(
                            "Let it send the Host header it got, and set public_url in config.toml to that address.",
                        ));
                }
                Entrance::Local { local, remote }
            }
            Peer::Tcp { remote, .. } if self.public.as_ref().is_some_and(|url| url.host() == host) => {
                Entrance::Public(remote.ip())
            }
            Peer::Lan { local, remote } if self.is_own(host, local) => Entrance::Lan(remote.ip()),
            // A balancer that passes TLS on: the name is the public one, and the address is the balancer's.
            Peer::Lan { remote, .. } if self.public.as_ref().is_some_and(|url| url.host() == host) => {
                Entrance::Public(remote.ip())
            }
            Peer::Tcp { .. } | Peer::Lan { .. } => return Err(foreign_host()),
        };
        let is_companion = match only(headers, header::ORIGIN) {
            Ok(None) => false,
            Ok(Some(origin)) if self.is_own_page(entrance, origin, host) => false,
            Ok(Some(origin)) if purpose == Purpose::WebSocket && self.is_companion(origin) => true,
            _ => return Err(foreign_origin()),
        };
        match only(headers, HeaderName::from_static("sec-fetch-site")) {
            Ok(None | Some("same-origin" | "none")) => Ok(entrance),
            Ok(Some("same-site" | "cross-site")) if is_companion || purpose == Purpose::Visit => Ok(entrance),
            _ => Err(foreign_origin()),
        }
    }

    /// On the network: the address that was reached, or a name of this machine.
    fn is_own(&self, host: &str, local: SocketAddr) -> bool {
        let is = |name: &str| address::authority(name, local.port()) == host;
        is(&address::ip_host(local.ip())) || self.machine.iter().any(|name| is(name))
    }

    fn is_companion(&self, origin: &str) -> bool {
        self.companions.iter().any(|companion| companion.as_str() == origin)
    }

    fn is_own_page(&self, entrance: Entrance, origin: &str, host: &str) -> bool {
        match entrance {
            Entrance::Socket { .. } => false,
            Entrance::Local { .. } => self.loopback.iter().any(|own| origin.strip_prefix("http://") == Some(own)),
            Entrance::Public(_) => self.public.as_ref().is_some_and(|url| url.as_str() == origin),
            Entrance::Lan(_) => origin.strip_prefix("https://") == Some(host),
        }
    }
}

fn foreign_host() -> Problem {
    Problem::forbidden("foreign-host", "The Host header is not an address of this daemon.").hint(
        "To reach it under another name, through a proxy or a tunnel, set public_url in config.toml to that address.",
    )
}

fn foreign_origin() -> Problem {
    Problem::forbidden("foreign-origin", "Other sites may not use this daemon.")
}

/// The value of a header that may appear once.
fn only(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        (Some(_), Some(_)) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = "127.0.0.1:27563";
    const REMOTE: &str = "127.0.0.1:50000";

    fn names() -> Names {
        let public = PublicUrl::try_from("https://answers.example.org".to_owned()).unwrap();
        let companion = PageOrigin::try_from("http://localhost:3000".to_owned()).unwrap();
        let reach = Reach { public: Some(public), websocket_origins: vec![companion], ..Reach::default() };
        Names { machine: vec!["box".into(), "box.local".into()], ..Names::new(27563, &reach) }
    }

    fn enter(peer: Peer, headers: &[(&'static str, &str)]) -> Option<Entrance> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        names().enter(peer, Purpose::Other, &map).ok()
    }

    fn tcp() -> Peer {
        Peer::Tcp { local: LOCAL.parse().unwrap(), remote: REMOTE.parse().unwrap() }
    }

    fn local() -> Entrance {
        Entrance::Local { local: LOCAL.parse().unwrap(), remote: REMOTE.parse().unwrap() }
    }

    fn lan(local: &str) -> Peer {
        Peer::Lan { local: local.parse().unwrap(), remote: "192.168.1.9:50000".parse().unwrap() }
    }

    #[test]
    fn hosts() {
        for host in ["127.0.0.1:27563", "localhost:27563"] {
            assert_eq!(enter(tcp(), &[("host", host)]), Some(local()), "{host}");
        }
        let public = enter(tcp(), &[("host", "answers.example.org")]);
        assert_eq!(public, Some(Entrance::Public("127.0.0.1".parse().unwrap())));
        for host in [
            "evil.com",
            "127.0.0.1",
            "localhost",
            "127.0.0.1.nip.io:27563",
            "localhost:1",
            "0.0.0.0:27563",
            "",
            "localhost:27563.evil.com",
            "LOCALHOST:27563 ",
            "localhost:027563",
            "answers.example.org:443",
            "answers.example.org:27563",
            "answers.example.org.evil.com",
            "box:27563",
        ] {
            assert_eq!(enter(tcp(), &[("host", host)]), None, "{host}");
        }
        assert_eq!(enter(tcp(), &[]), None);
        assert_eq!(enter(tcp(), &[("host", "localhost:27563"), ("host", "localhost:27563")]), None);
    }

    #[test]
    fn hosts_on_the_network() {
        let entered = Some(Entrance::Lan("192.168.1.9".parse().unwrap()));
        for (local, host) in [
            ("192.168.1.5:27564", "192.168.1.5:27564"),
            ("192.168.1.5:27564", "box.local:27564"),
            ("192.168.1.5:27564", "box:27564"),
            ("[::ffff:192.168.1.5]:27564", "192.168.1.5:27564"),
            ("[fd00::2]:27564", "[fd00::2]:27564"),
            ("192.168.1.5:443", "192.168.1.5"),
        ] {
            assert_eq!(enter(lan(local), &[("host", host)]), entered, "{host}");
            let origin = format!("https://{host}");
            assert_eq!(enter(lan(local), &[("host", host), ("origin", &origin)]), entered, "{origin}");
            let plain = format!("http://{host}");
            assert_eq!(enter(lan(local), &[("host", host), ("origin", &plain)]), None, "{plain}");
        }
        let public = enter(lan("192.168.1.5:27564"), &[("host", "answers.example.org")]);
        assert_eq!(public, Some(Entrance::Public("192.168.1.9".parse().unwrap())));
        for host in [
            "127.0.0.1:27563",
            "localhost:27563",
            "localhost:27564",
            "192.168.1.6:27564",
            "192.168.1.5:27563",
            "192.168.1.5",
            "evil.com",
            "box.local",
            "box.local.evil.com:27564",
        ] {
            assert_eq!(enter(lan("192.168.1.5:27564"), &[("host", host)]), None, "{host}");
        }
    }

    #[test]
    fn origins_and_fetch_metadata() {
        let with = |name, value| enter(tcp(), &[("host", "localhost:27563"), (name, value)]).is_some();
        assert!(with("origin", "http://localhost:27563") && with("origin", "http://127.0.0.1:27563"));
        for origin in [
            "null",
            "",
            "http://localhost:3000",
            "https://localhost:27563",
            "http://localhost:27563.evil.com",
            "https://answers.example.org",
        ] {
            assert!(!with("origin", origin), "{origin}");
        }
        assert!(with("sec-fetch-site", "same-origin") && with("sec-fetch-site", "none"));
        assert!(!with("sec-fetch-site", "cross-site") && !with("sec-fetch-site", "same-site"));
        let public = |origin| enter(tcp(), &[("host", "answers.example.org"), ("origin", origin)]).is_some();
        assert!(public("https://answers.example.org"));
        for origin in ["http://answers.example.org", "http://localhost:27563", "null", "https://answers.example.org:1"]
        {
            assert!(!public(origin), "{origin}");
        }
    }

    #[test]
    fn a_link_to_the_page_may_be_anywhere() {
        let visit = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "localhost:27563".parse().unwrap());
            headers.insert(name, value.parse().unwrap());
            names().enter(tcp(), Purpose::Visit, &headers).is_ok()
        };
        assert!(visit("sec-fetch-site", "cross-site") && visit("sec-fetch-site", "same-site"));
        assert!(!visit("sec-fetch-site", "strange") && !visit("host", "evil.com") && !visit("origin", "null"));
    }

    #[test]
    fn a_proxy_that_hides_the_name_is_refused() {
        for header in FORWARDED {
            assert_eq!(enter(tcp(), &[("host", "localhost:27563"), (header, "1.2.3.4")]), None, "{header}");
            assert!(enter(tcp(), &[("host", "answers.example.org"), (header, "1.2.3.4")]).is_some(), "{header}");
        }
    }
}
