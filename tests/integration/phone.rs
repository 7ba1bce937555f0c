//! A phone: a TLS client that knows the daemon by the fingerprint a person compared, and nothing else.

use std::io::BufReader;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};

use crate::http::{Reply, Request};
use crate::world::World;

pub(crate) const LAN: &str = "lan_address = \"0.0.0.0:0\"\n";
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: CryptoProvider,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let bytes: Vec<_> = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02X}")).collect();
        if bytes.join(":") == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("another certificate".into()))
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("an old version of TLS".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The person does this over the socket.
pub(crate) fn admin(world: &World, line: &str, body: &Value) -> Reply {
    Reply::read(&mut admin_begins(world, line, body)).unwrap()
}

/// The same, with the reply left to be read later.
pub(crate) fn admin_begins(world: &World, line: &str, body: &Value) -> BufReader<UnixStream> {
    let headers = [("host", "localhost"), ("content-type", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let body = body.to_string();
    let request = Request { line, headers, body: body.as_bytes() };
    request.begin_over_socket(&world.state("daemon.sock")).unwrap()
}

/// A phone in the same network, which here is the same machine.
pub(crate) struct Phone {
    /// `127.0.0.1:PORT`: the address that is reached.
    pub(crate) address: String,
    pub(crate) fingerprint: String,
    pub(crate) token: Option<String>,
}

impl Phone {
    /// One that has scanned a pairing's code.
    pub(crate) fn new(pairing: &Value) -> Self {
        let url = pairing["url"].as_str().unwrap();
        let port = url.split('/').nth(2).unwrap().rsplit(':').next().unwrap();
        let fingerprint = pairing["fingerprint"].as_str().unwrap().to_owned();
        Self { address: format!("127.0.0.1:{port}"), fingerprint, token: None }
    }

    /// One that was let in.
    pub(crate) fn paired(world: &World, name: &str) -> Self {
        Self::paired_for(world, name, None)
    }

    /// One that was let in, and belongs to a person.
    pub(crate) fn paired_for(world: &World, name: &str, person: Option<i64>) -> Self {
        let pairing = admin(world, "POST /v1/pairing", &json!({"person": person})).expect(201).json();
        let mut phone = Self::new(&pairing);
        let claim = json!({"code": pairing["code"], "name": name});
        let claimed = phone.send("POST /v1/pairing/claim", &claim).expect(200).json();
        let id = pairing["id"].as_str().unwrap();
        admin(world, &format!("POST /v1/pairing/{id}/confirm"), &json!({"check": claimed["check"]})).expect(200);
        let token = phone.send("POST /v1/pairing/token", &json!({"claim": claimed["claim"]})).expect(200).json();
        phone.token = Some(token["token"].as_str().unwrap().to_owned());
        phone
    }

    pub(crate) fn connect(&self) -> TlsStream {
        let provider = ring::default_provider();
        let verifier = Pinned { fingerprint: self.fingerprint.clone(), provider: provider.clone() };
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1").unwrap()).unwrap();
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        StreamOwned::new(connection, stream)
    }

    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![
            ("host".to_owned(), self.address.clone()),
            ("origin".to_owned(), format!("https://{}", self.address)),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        headers.extend(self.token.iter().map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        headers
    }

    pub(crate) fn send(&self, line: &str, body: &Value) -> Reply {
        Reply::read(&mut self.begin(line, body)).unwrap()
    }

    /// The same, with the reply left to be read later.
    pub(crate) fn begin(&self, line: &str, body: &Value) -> BufReader<TlsStream> {
        let body = body.to_string();
        Request { line, headers: self.headers(), body: body.as_bytes() }.begin(self.connect())
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        Request { line: &format!("GET {path}"), headers: self.headers(), body: b"" }.over(self.connect()).unwrap()
    }

    /// The event stream.
    pub(crate) fn events(&self) -> BufReader<TlsStream> {
        let request = Request { line: "GET /v1/events", headers: self.headers(), body: b"" };
        let (reply, reader) = request.stream_over(self.connect()).unwrap();
        assert_eq!(reply.status, 200);
        reader
    }
}
