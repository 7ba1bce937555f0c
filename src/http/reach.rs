//! How devices reach this daemon, if they do.

use std::net::SocketAddr;

use axum::http::StatusCode;

use crate::address::{self, PageOrigin, PublicUrl};
use crate::api::Problem;

/// The ways that are configured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reach {
    /// Through a proxy.
    pub(crate) public: Option<PublicUrl>,
    /// From the local network.
    pub(crate) lan: LanReach,
    /// For pages of these origins, which may open the WebSocket.
    pub(crate) websocket_origins: Vec<PageOrigin>,
}

/// Whether the local network can reach this daemon.
#[derive(Debug, Clone, Default)]
pub(crate) enum LanReach {
    /// It is not configured.
    #[default]
    Off,
    /// It is configured, and this is the reason why it does not work.
    Failed(String),
    /// It works.
    On { listener: SocketAddr, fingerprint: String },
}

const HOW: &str = "Put one of these into config.toml, then run `answerback restart`:\n  \
    lan_address = \"0.0.0.0:27564\"                # your own network, with TLS\n  \
    public_url = \"https://answers.example.org\"   # a tunnel or a reverse proxy to the port on 127.0.0.1";

impl Reach {
    /// The origin of the page for devices, and the fingerprint of the certificate they will see there.
    pub(super) fn for_devices(&self) -> Result<(String, Option<String>), Problem> {
        if let Some(public) = &self.public {
            return Ok((public.to_string(), None));
        }
        let refused = |title: String| Problem::new(StatusCode::CONFLICT, "not-reachable", title);
        match &self.lan {
            LanReach::Off => {
                Err(refused("Other devices cannot reach this daemon: it listens on 127.0.0.1 only.".into()).hint(HOW))
            }
            LanReach::Failed(reason) => Err(refused(format!("The local network cannot be served: {reason}."))
                .hint("Correct lan_address in config.toml, then run `answerback restart`.")),
            LanReach::On { fingerprint, .. } => match self.lan_url() {
                Some(url) => Ok((url, Some(fingerprint.clone()))),
                None => Err(refused("This machine is in no network.".into()).hint("Connect it to one, and try again.")),
            },
        }
    }

    /// The address for the local network. It is found anew each time, because it may change while the daemon runs.
    pub(crate) fn lan_url(&self) -> Option<String> {
        let LanReach::On { listener, .. } = &self.lan else { return None };
        let ip = address::own_ip(listener.ip()).map(address::ip_host);
        let host = ip.or_else(|| address::host_names().pop())?;
        Some(format!("https://{}", address::authority(&host, listener.port())))
    }
}
