//! Trying an address as a phone would: does something answer there, is it this daemon, and does it accept the address?

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde::Serialize;
use ureq::tls::{RootCerts, TlsConfig};

use crate::pinned::{Pinned, is_another};

/// How long any single step may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The daemon says this to everybody who may talk to it.
const HEALTH: &str = "/healthz";
const HEALTHY: &[u8] = b"ok\n";
/// More than the head of any reply.
const REPLY: u64 = 16 * 1024;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) ok: bool,
    /// What holds, or what is wrong.
    pub(super) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Check {
    pub(super) fn good(message: impl Into<String>) -> Self {
        Self { ok: true, message: message.into(), hint: None }
    }

    pub(super) fn bad(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { ok: false, message: message.into(), hint: Some(hint.into()) }
    }
}

/// Whether TLS answers at an address of the network with the certificate that this daemon has, and whether the daemon accepts the address.
pub(super) fn network(address: SocketAddr, host: &str, fingerprint: &str) -> Vec<Check> {
    let stream = match TcpStream::connect_timeout(&address, PATIENCE) {
        Ok(stream) => stream,
        Err(error) => {
            let hint = "Run: answerback restart. If that does not help, daemon.log in the state directory says why.";
            return vec![Check::bad(format!("nothing answers at {address}: {error}"), hint)];
        }
    };
    let status = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| get(encrypted(stream, fingerprint)?, host));
    let status = status.map_err(|error| match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(cause) if is_another(cause) => io::Error::other("it has another certificate"),
        _ => error,
    });
    match status {
        Ok(status) => {
            let certificate = Check::good(format!("TLS answers at {address} with the certificate of this daemon"));
            vec![certificate, accepted(status, host)]
        }
        Err(error) => {
            let hint =
                "Another program may use this port. Choose another port for lan_address, and run: answerback restart";
            vec![Check::bad(format!("at {address}, there is no TLS of this daemon: {error}"), hint)]
        }
    }
}

/// Whether the daemon accepts a name, asked without the way that leads from there to it.
pub(super) fn accepts(daemon: SocketAddr, host: &str) -> Check {
    let asked = TcpStream::connect_timeout(&daemon, PATIENCE).and_then(|stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        get(stream, host)
    });
    match asked {
        Ok(status) => accepted(status, host),
        Err(error) => Check::bad(format!("the daemon does not answer at {daemon}: {error}"), "Run: answerback restart"),
    }
}

fn accepted(status: u16, host: &str) -> Check {
    match status {
        200 => Check::good(format!("the daemon accepts {host} as its address")),
        _ => Check::bad(
            format!("the daemon does not accept {host} as its address ({status})"),
            "It may have been started before config.toml was changed. Run: answerback restart",
        ),
    }
}

/// Whether the daemon is what answers at its public address.
pub(super) fn public(origin: &str, port: u16) -> Check {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .tls_config(tls)
        .build();
    let reply = ureq::Agent::new_with_config(config).get(format!("{origin}{HEALTH}")).call();
    let mut reply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            let hint = "Start the tunnel or the proxy, and check the name.";
            return Check::bad(format!("{origin} cannot be reached from here: {error}"), hint);
        }
    };
    let status = reply.status().as_u16();
    let body = reply.body_mut().with_config().limit(REPLY).read_to_vec().unwrap_or_default();
    match status {
        200 if body == HEALTHY => Check::good(format!("{origin} leads to a daemon")),
        400 | 403 => Check::bad(
            format!("{origin} leads to something that refuses the request ({status})"),
            "The tunnel or the proxy must pass on the Host header that it received.",
        ),
        502..=504 => Check::bad(
            format!("{origin} does not lead to the daemon ({status})"),
            format!("Point the tunnel or the proxy to http://127.0.0.1:{port}."),
        ),
        _ => Check::bad(
            format!("something else answers at {origin} ({status})"),
            format!("Point it to http://127.0.0.1:{port}, without a sign-in of its own."),
        ),
    }
}

/// The status of the daemon's health.
fn get(mut stream: impl Read + Write, host: &str) -> io::Result<u16> {
    write!(stream, "GET {HEALTH} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
    stream.flush()?;
    let mut reply = Vec::new();
    // The other end may close without a farewell.
    let read = stream.take(REPLY).read_to_end(&mut reply);
    let text = String::from_utf8_lossy(&reply);
    let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|status| status.parse().ok());
    status.ok_or_else(|| read.err().unwrap_or_else(|| io::Error::other("the reply makes no sense")))
}

fn encrypted(stream: TcpStream, fingerprint: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let mut sha256 = [0; 32];
    hex::decode_to_slice(fingerprint.replace(':', ""), &mut sha256).map_err(io::Error::other)?;
    let pinned = Pinned::new(sha256, Arc::clone(&provider));
    let name = ServerName::IpAddress(stream.peer_addr()?.ip().into());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}
