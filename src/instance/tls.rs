//! The certificate of the daemon for the network: one that somebody else signed, or its own.
//!
//! The own one is self-signed. A browser keeps the exception that a person made for a certificate, and shows its SHA-256. So the certificate stays the
//! same for as long as it can: it is renewed, with the same key, when it nears its end or when this machine has got an
//! address that it does not name yet. It keeps the old addresses, so a machine that moves between two networks needs one certificate.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, SerialNumber};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::TLS13;

/// Devices of Apple accept no longer lifetime, even for a certificate that a person has trusted.
const LIFE: SignedDuration = SignedDuration::from_hours(820 * 24);
/// How long before its end a certificate is renewed.
const MARGIN: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The certificate is valid from a little earlier, because clocks differ.
const BACKDATED: SignedDuration = SignedDuration::from_hours(24);
/// How many names a certificate keeps. Older ones are of networks that the machine has left.
const MAX_NAMES: usize = 32;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate cannot be made, or the key cannot be read.
    #[error("the certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// What was kept is not a certificate.
    #[error("the certificate: {0}")]
    Pem(#[from] tokio_rustls::rustls::pki_types::pem::Error),
    /// A file of the certificate cannot be used.
    #[error("{0}: {1}")]
    File(PathBuf, tokio_rustls::rustls::pki_types::pem::Error),
    /// The operating system has no randomness.
    #[error("the operating system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// Key and certificate cannot be used.
    #[error("TLS: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

/// A certificate that somebody else signed: files that may change at any time, when it is renewed.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// What the files of a certificate held when they were read.
pub struct Loaded {
    /// For the listener.
    pub server: Arc<ServerConfig>,
    /// SHA-256 of the certificate, as browsers show it.
    pub fingerprint: String,
}

impl CertificateFiles {
    pub fn new(certificate: &Path, key: &Path) -> Self {
        Self { certificate: certificate.to_path_buf(), key: key.to_path_buf() }
    }

    /// Reads the files.
    pub fn load(&self) -> Result<Loaded, TlsError> {
        let chain: Vec<_> = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|error| TlsError::File(self.certificate.clone(), error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| TlsError::File(self.key.clone(), error))?;
        let fingerprint = chain.first().map(fingerprint).unwrap_or_default();
        Ok(Loaded { server: server(chain, key)?, fingerprint })
    }
}

/// Key and certificate, as they are kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    key: String,
    certificate: String,
    names: BTreeSet<String>,
    renewed_at: Timestamp,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Identity {
    /// A new one.
    pub fn generate(names: &[String], now: Timestamp) -> Result<Self, TlsError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        Self::sign(&key, names.iter().cloned().collect(), now)
    }

    /// A new certificate with the same key, if this one is too old or lacks a name.
    pub fn renewed(&self, names: &[String], now: Timestamp) -> Result<Option<Self>, TlsError> {
        let fresh = self.renewed_at.checked_add(LIFE - MARGIN).is_ok_and(|end| now < end);
        if fresh && names.iter().all(|name| self.names.contains(name)) {
            return Ok(None);
        }
        let mut all: BTreeSet<String> = names.iter().cloned().collect();
        all.extend(self.names.iter().take(MAX_NAMES.saturating_sub(all.len())).cloned());
        Self::sign(&KeyPair::from_pem(&self.key)?, all, now).map(Some)
    }

    fn sign(key: &KeyPair, names: BTreeSet<String>, now: Timestamp) -> Result<Self, TlsError> {
        let mut params = CertificateParams::new(names.iter().cloned().collect::<Vec<_>>())?;
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, "Answerback");
        params.distinguished_name = subject;
        let date = |time: Timestamp| {
            let day = time.to_zoned(TimeZone::UTC).date();
            rcgen::date_time_ymd(day.year().into(), day.month().unsigned_abs(), day.day().unsigned_abs())
        };
        // Firefox refuses two certificates of one issuer with the same number.
        let mut serial = [0; 16];
        getrandom::fill(&mut serial)?;
        serial[0] &= 0x7f;
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        params.not_before = date(now.checked_sub(BACKDATED).unwrap_or(now));
        params.not_after = date(now.checked_add(LIFE).unwrap_or(now));
        let certificate = params.self_signed(key)?.pem();
        Ok(Self { key: key.serialize_pem(), certificate, names, renewed_at: now })
    }

    /// SHA-256 of the certificate, as browsers show it.
    pub fn fingerprint(&self) -> Result<String, TlsError> {
        Ok(fingerprint(&CertificateDer::from_pem_slice(self.certificate.as_bytes())?))
    }

    /// For the listener.
    pub fn server(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())?;
        server(vec![certificate], key)
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let bytes: Vec<_> = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

/// TLS 1.3 only: every phone that gets updates speaks it.
fn server(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Certificates for the tests of every room.
#[cfg(test)]
pub(crate) mod samples {
    use std::path::Path;

    /// Writes a certificate that nobody knows, and its key.
    pub(crate) fn write_certificate(certificate: &Path, key: &Path) {
        let new = rcgen::generate_simple_self_signed(["answers.example.org".to_owned()]).unwrap();
        std::fs::write(key, new.signing_key.serialize_pem()).unwrap();
        std::fs::write(certificate, new.cert.pem()).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_certificate_stays_for_as_long_as_it_can() {
        let now = Timestamp::now();
        let home = names(&["box.local", "192.168.1.5"]);
        let first = Identity::generate(&home, now).unwrap();
        first.server().unwrap();
        assert_eq!(first.renewed(&home, now + SignedDuration::from_hours(780 * 24)).unwrap(), None);
        assert_eq!(first.renewed(&home[..1], now).unwrap(), None);

        let work = names(&["box.local", "10.0.0.7"]);
        let second = first.renewed(&work, now).unwrap().unwrap();
        second.server().unwrap();
        assert_eq!(second.key, first.key);
        assert_ne!(second.fingerprint().unwrap(), first.fingerprint().unwrap());
        // Back home, the certificate for both networks still fits.
        assert_eq!(second.renewed(&home, now).unwrap(), None);

        let third = second.renewed(&home, now + SignedDuration::from_hours(800 * 24)).unwrap().unwrap();
        assert_eq!((&third.key, &third.names), (&first.key, &second.names));
    }

    #[test]
    fn a_fingerprint_is_what_browsers_show_and_the_key_is_not_shown() {
        let identity = Identity::generate(&names(&["box.local"]), Timestamp::now()).unwrap();
        let fingerprint = identity.fingerprint().unwrap();
        assert_eq!((fingerprint.len(), fingerprint.split(':').count()), (95, 32));
        assert!(!format!("{identity:?}").contains("PRIVATE"));
    }
}
