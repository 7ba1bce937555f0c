//! A certificate of a private authority for this machine, for tests of TLS between machines.

use std::net::UdpSocket;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// As PEM.
pub struct Certificate {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

/// The name under which this machine reaches itself and which is not loopback: programs treat loopback in another way.
pub fn own_name() -> String {
    let ip = || {
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        socket.connect("198.51.100.1:9").ok()?;
        socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
    };
    ip().map_or_else(|| rustix::system::uname().nodename().to_string_lossy().to_lowercase(), |ip| ip.to_string())
}

/// A certificate for a name, signed by an authority of its own.
pub fn certificate_for(name: &str) -> Certificate {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    Certificate { authority: authority.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
}
