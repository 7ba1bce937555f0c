//! TLS to the engine. The certificate of the engine is always verified, with its name.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::options::OptionsError;

/// Who vouches for the certificate of the engine.
pub(super) enum Roots<'a> {
    /// Whoever the operating system trusts.
    System,
    /// The certificates in this file, and nobody else.
    File(&'a Path),
}

/// Makes TLS connections, or none if it is off.
#[derive(Clone)]
pub(super) struct Tls(Option<Arc<ClientConfig>>);

impl Tls {
    pub(super) fn off() -> Self {
        Self(None)
    }

    pub(super) fn new(roots: Roots<'_>) -> Result<Self, OptionsError> {
        let unusable = |error: String| OptionsError::Part(format!("TLS: {error}"));
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(error.to_string()))?;
        let config = match roots {
            Roots::System => builder.with_platform_verifier().map_err(|error| unusable(error.to_string()))?,
            Roots::File(file) => builder.with_root_certificates(read(file)?),
        };
        Ok(Self(Some(Arc::new(config.with_no_client_auth()))))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

fn read(file: &Path) -> Result<RootCertStore, OptionsError> {
    let refuse = |problem: String| OptionsError::File { path: file.to_path_buf(), problem };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| refuse(error.to_string()))? {
        let certificate = certificate.map_err(|error| refuse(error.to_string()))?;
        roots.add(certificate).map_err(|error| refuse(error.to_string()))?;
    }
    if roots.is_empty() { Err(refuse("there is no certificate in it".to_owned())) } else { Ok(roots) }
}

type Handshake = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        // The driver asks for this before it looks whether TLS is wanted.
        let Some(config) = &self.0 else { return Ok(Connect(None)) };
        let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
        Ok(Connect(Some((TlsConnector::from(Arc::clone(config)), name))))
    }
}

pub(super) struct Connect(Option<(TlsConnector, ServerName<'static>)>);

impl TlsConnect<Socket> for Connect {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Handshake;

    fn connect(self, socket: Socket) -> Handshake {
        Box::pin(async move {
            let Some((connector, name)) = self.0 else { return Err(io::Error::other("TLS is off")) };
            connector.connect(name, socket).await.map(|stream| Encrypted(Box::new(stream)))
        })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Encrypted {
    /// The verified certificate is what ties the password to this engine.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
