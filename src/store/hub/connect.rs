//! The way to a hub: TCP, TLS with a certificate that is verified, and the request for the link.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, Error as TlsError, RootCertStore};
use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::ask::Host;
use crate::pinned::{Pinned, is_another};

use super::follow::{Event, Follower};
use super::wire::{self, EdgeFrame, Line, LineError};

/// How long a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(10);
/// A link is silent most of the time, so its buffers are small.
const BUFFER: usize = 4 * 1024;
/// How much the kernel may keep of what was sent. The kernel doubles this number. What is in there goes before everything that is said
/// later, and on a slow way that takes long.
const SEND_BUFFER: usize = 32 * 1024;

/// Where a hub is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubAddress {
    /// Scheme, host and port, as people read them.
    pub origin: String,
    /// A name, or an IP address without brackets.
    pub host: String,
    pub port: u16,
    /// Only a hub on this machine needs no TLS.
    pub is_https: bool,
}

/// How the certificate of a hub is verified.
#[derive(Clone, PartialEq, Eq)]
pub enum Certificate {
    /// By the authorities that this system trusts.
    System,
    /// By these authorities: a file of PEM, or one certificate as DER.
    Authorities(Vec<u8>),
    /// It is the one with this SHA-256.
    Fingerprint([u8; 32]),
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Authorities(_) => "Authorities",
            Self::Fingerprint(_) => "Fingerprint",
        })
    }
}

/// What is needed to reach a hub. Its `Debug` does not show the token.
#[derive(Clone)]
pub struct HubOptions {
    pub address: HubAddress,
    pub certificate: Certificate,
    /// The host token.
    pub token: String,
    /// The name that the token was made for.
    pub host: Host,
}

impl fmt::Debug for HubOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubOptions").field("address", &self.address).field("host", &self.host).finish_non_exhaustive()
    }
}

/// Why there is no link.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HubError {
    /// Nothing answers, or the connection was lost.
    #[error("{0}")]
    Unreachable(String),
    /// The certificate is not good. There may be somebody between this machine and the hub.
    #[error("its certificate cannot be trusted: {0}")]
    Certificate(String),
    /// The hub does not let this machine in.
    #[error("it refuses the link: {0}")]
    Refused(String),
    /// Another daemon has taken the place of this one.
    #[error("another daemon uses the same host token")]
    Replaced,
}

impl From<LineError> for HubError {
    fn from(error: LineError) -> Self {
        Self::Unreachable(error.to_string())
    }
}

/// What a hub says about itself.
#[derive(Debug)]
pub struct Greeting {
    /// The name under which this machine asks.
    pub host: Host,
    /// How far the clock of this machine is ahead of the hub's, in milliseconds.
    pub clock_ahead: i64,
    /// The version of the hub.
    pub software: String,
    /// The certificate that it showed.
    pub certificate: Option<Vec<u8>>,
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) type Socket = WebSocketStream<Box<dyn Stream>>;

/// Makes connections. What takes long is done once.
#[derive(Clone)]
pub(super) struct Connector {
    options: HubOptions,
    tls: Option<TlsConnector>,
}

impl Connector {
    pub(super) fn new(options: HubOptions) -> Result<Self, HubError> {
        let is_https = options.address.is_https;
        let tls = is_https.then(|| tls(&options.certificate)).transpose()?.map(|tls| TlsConnector::from(Arc::new(tls)));
        Ok(Self { options, tls })
    }

    pub(super) fn options(&self) -> &HubOptions {
        &self.options
    }

    /// Opens a link. Returns the certificate of the hub, too.
    pub(super) async fn connect(&self) -> Result<(Socket, Option<Vec<u8>>), HubError> {
        match timeout(PATIENCE, self.try_connect()).await {
            Ok(connected) => connected,
            Err(_) => Err(HubError::Unreachable("it does not answer".to_owned())),
        }
    }

    async fn try_connect(&self) -> Result<(Socket, Option<Vec<u8>>), HubError> {
        let HubAddress { origin, host, port, .. } = &self.options.address;
        let unreachable = |error: std::io::Error| HubError::Unreachable(error.to_string());
        let tcp = TcpStream::connect((host.as_str(), *port)).await.map_err(unreachable)?;
        drop(tcp.set_nodelay(true));
        // Without it, a small question may wait for a large one.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&tcp, SEND_BUFFER);
        let (stream, certificate): (Box<dyn Stream>, _) = match &self.tls {
            None => (Box::new(tcp), None),
            Some(tls) => {
                let name = ServerName::try_from(host.clone())
                    .map_err(|_| HubError::Unreachable(format!("{host} is not a name")))?;
                let stream = tls.connect(name, tcp).await.map_err(|error| tls_failed(&error))?;
                let certificate =
                    stream.get_ref().1.peer_certificates().and_then(<[_]>::first).map(|found| found.to_vec());
                (Box::new(stream), certificate)
            }
        };
        let web_socket = origin.replacen("http", "ws", 1);
        let mut request = format!("{web_socket}{}", wire::PATH)
            .into_client_request()
            .map_err(|error| HubError::Unreachable(error.to_string()))?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.options.token));
        let mut bearer = bearer.map_err(|_| HubError::Refused("the host token is not a token".to_owned()))?;
        bearer.set_sensitive(true);
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        let agent = concat!("answerback/", env!("CARGO_PKG_VERSION"));
        request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(agent));
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(0)
            .max_write_buffer_size(4 * wire::MAX_MESSAGE)
            .max_message_size(Some(wire::MAX_MESSAGE))
            .max_frame_size(Some(wire::MAX_MESSAGE));
        let (socket, _) =
            client_async_with_config(request, stream, Some(config)).await.map_err(|error| refusal(&error))?;
        Ok((socket, certificate))
    }
}

fn tls(certificate: &Certificate) -> Result<ClientConfig, HubError> {
    let wrong = |error: &dyn fmt::Display| HubError::Certificate(error.to_string());
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?;
    Ok(match certificate {
        Certificate::System => builder.with_platform_verifier().map_err(|error| wrong(&error))?.with_no_client_auth(),
        Certificate::Authorities(file) => {
            let mut roots = RootCertStore::empty();
            // DER begins with the tag of a sequence, which no text begins with.
            if file.first() == Some(&0x30) {
                roots.add(CertificateDer::from_slice(file)).map_err(|error| wrong(&error))?;
            }
            for authority in CertificateDer::pem_slice_iter(file) {
                roots.add(authority.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"the file of hub_ca holds no certificate"));
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Certificate::Fingerprint(sha256) => {
            let verifier = Pinned::new(*sha256, provider);
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
    })
}

fn tls_failed(error: &std::io::Error) -> HubError {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
    match cause {
        Some(cause) if is_another(cause) => HubError::Certificate("it is another one than the token says".to_owned()),
        Some(TlsError::InvalidCertificate(cause)) => HubError::Certificate(cause.to_string()),
        _ => HubError::Unreachable(error.to_string()),
    }
}

/// What an error of the WebSocket means. The hub explains a refusal in the body of its reply.
fn refusal(error: &SocketError) -> HubError {
    #[derive(serde::Deserialize)]
    struct Problem {
        title: String,
    }
    let SocketError::Http(response) = error else { return HubError::Unreachable(error.to_string()) };
    let body = response.body().as_deref().unwrap_or_default();
    let title = serde_json::from_slice::<Problem>(body).map(|problem| problem.title);
    let said = title.unwrap_or_else(|_| format!("status {}", response.status()));
    match response.status().as_u16() {
        401 => HubError::Refused("it does not know the host token".to_owned()),
        // A proxy without its hub, or a hub that has too much to do.
        408 | 429 | 500.. => HubError::Unreachable(said),
        404 => HubError::Refused("there is no hub at this address, or it is too old".to_owned()),
        _ => HubError::Refused(said),
    }
}

/// Knocks at a hub without becoming its edge, and without disturbing the daemon that is.
pub async fn greet(options: HubOptions) -> Result<Greeting, HubError> {
    let connector = Connector::new(options)?;
    let (socket, certificate) = connector.connect().await?;
    let hello = EdgeFrame::Hello {
        version: wire::VERSION,
        software: env!("CARGO_PKG_VERSION").to_owned(),
        cursor: None,
        only_greets: true,
    };
    let hello = serde_json::to_string(&hello).map_err(|error| HubError::Unreachable(error.to_string()))?;
    let sent_at = Instant::now();
    let greeting = async {
        let (mut line, mut follower) = (Line::new(socket), Follower::default());
        line.queue(hello);
        loop {
            let event = follower.take(line.next(true).await?)?;
            if let Event::Welcome { host, now, software } = event {
                let way = i64::try_from(sent_at.elapsed().as_millis() / 2).unwrap_or(i64::MAX);
                let clock_ahead = crate::store::wall_clock().as_millisecond() - way - now.as_millisecond();
                return Ok(Greeting { host: Host::new(&host), clock_ahead, software, certificate });
            }
        }
    };
    match timeout(PATIENCE, greeting).await {
        Ok(greeting) => greeting,
        Err(_) => Err(HubError::Unreachable("it does not answer".to_owned())),
    }
}
