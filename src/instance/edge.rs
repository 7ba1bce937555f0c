//! What an edge needs to reach its hub: the host token and the certificate, in files of its own.

use std::fs;
use std::path::Path;

use answerback_hook::paths::Paths;
use answerback_hook::start::create_state_dir;
use answerback_hook::trust::check_private;
use serde::{Deserialize, Serialize};

use crate::access::Token;
use crate::address::HubUrl;
use crate::ask::Host;
use crate::durable;
use crate::store::{Certificate, HubAddress, HubOptions};

use super::{InstanceError, write_json};

/// `host.json`.
#[derive(Serialize, Deserialize)]
struct HostFile {
    /// The name of this machine at the hub.
    host: String,
    token: String,
}

/// What is needed to reach the hub. `ca` is a file with the authorities that may have signed its certificate.
pub fn hub_options(paths: &Paths, hub: &HubUrl, ca: Option<&Path>) -> Result<HubOptions, InstanceError> {
    let path = paths.host_token();
    match check_private(&path) {
        Err(error) if error.is_not_found() => return Err(InstanceError::NotJoined(hub.to_string())),
        checked => checked?,
    }
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| InstanceError::Io(path, error)
    };
    let text = fs::read_to_string(&path).map_err(failed(&path))?;
    let damaged = || InstanceError::Damaged { path: path.clone(), then: "Then run `answerback join` again." };
    let HostFile { host, token } = serde_json::from_str(&text).map_err(|_| damaged())?;
    let token = Token::parse(&token).ok_or_else(damaged)?;
    let certificate = match ca {
        Some(ca) => Certificate::Authorities(fs::read(ca).map_err(failed(ca))?),
        None => Certificate::System,
    };
    Ok(options(hub, certificate, &token, Host::named(&host).map_err(|_| damaged())?))
}

/// The same with a token that is not in a file yet.
pub fn options(hub: &HubUrl, certificate: Certificate, token: &Token, host: Host) -> HubOptions {
    let (name, port) = hub.endpoint();
    let address = HubAddress { origin: hub.to_string(), host: name, port, is_https: hub.is_https() };
    HubOptions { address, certificate, token: token.reveal().to_owned(), host }
}

/// Keeps the host token for the daemon, and the certificate of the hub if there is one to keep.
pub fn join(paths: &Paths, host: &Host, token: &Token, certificate: Option<&[u8]>) -> Result<(), InstanceError> {
    let dir = paths.state_dir();
    create_state_dir(dir).map_err(|error| InstanceError::Io(dir.to_path_buf(), error))?;
    check_private(dir)?;
    if let Some(certificate) = certificate {
        let path = paths.hub_certificate();
        durable::write(&path, certificate).map_err(|error| InstanceError::Io(path, error))?;
    }
    let file = HostFile { host: host.as_str().to_owned(), token: token.reveal().to_owned() };
    let path = paths.host_token();
    write_json(&path, &file).map_err(|error| InstanceError::Io(path, error))
}
