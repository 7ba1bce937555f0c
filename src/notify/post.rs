//! Posts a little JSON to a server. It follows no redirect, uses no proxy, and reads only the status of the reply.

use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig};

use super::Failure;

const PATIENCE: Duration = Duration::from_secs(10);

/// Posts `body`, and returns when the server has accepted it. The agent is not kept for the next time, because notifications are rare and
/// the machine's certificates take a lot of memory.
pub(super) fn post(url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<(), Failure> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        // A redirect could send the token to another server.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(0)
        .user_agent(concat!("answerback/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build();
    let mut request = ureq::Agent::new_with_config(config).post(url).content_type("application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    match request.send(body) {
        Ok(response) => judge(response.status().as_u16()),
        Err(error) => Err(Failure {
            reason: reason(&error),
            hint: "Check the address, and whether this machine can reach it.",
            again: true,
        }),
    }
}

fn judge(status: u16) -> Result<(), Failure> {
    let (hint, again) = match status {
        200..=299 => return Ok(()),
        300..=399 => ("The server redirects to another address. Configure that address.", false),
        401 | 403 => ("The server refuses access. Check the token.", false),
        404 | 405 | 410 => ("The server does not know this address. Check it.", false),
        429 => ("The server limits the number of notifications. Try again later.", true),
        500..=599 => ("The server has a problem of its own. Try again later.", true),
        _ => ("The server does not accept the request. Check the address.", false),
    };
    Err(Failure { reason: format!("the server replied with {status}"), hint, again })
}

/// What went wrong, without the address. The address may be a secret.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "the address cannot be used".to_owned(),
        ureq::Error::Timeout(_) => format!("no reply within {} s", PATIENCE.as_secs()),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_statuses_are_worth_another_attempt() {
        for (status, again) in [(301, false), (401, false), (404, false), (413, false), (429, true), (503, true)] {
            assert_eq!(judge(status).unwrap_err().again, again, "{status}");
        }
        assert!(judge(200).is_ok() && judge(204).is_ok());
    }
}
