//! The programs for tunnels that are installed here, and what they say about themselves.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wait_timeout::ChildExt;

/// How long a program may take to say something about itself.
const PATIENCE: Duration = Duration::from_secs(3);
/// More than any of them says.
const MOST: u64 = 1024 * 1024;

/// What Tailscale says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tailscale {
    /// Whether it is connected.
    pub(super) is_up: bool,
    /// The name of this machine in its network.
    pub(super) name: Option<String>,
    /// Where Tailscale Serve makes the daemon reachable.
    pub(super) served: Option<String>,
}

impl Tailscale {
    /// Asks it. `port` is that of the daemon.
    pub(super) fn ask(program: &Path, port: u16) -> Self {
        // One that does not answer once is not asked again.
        let Some(status) = json(program, &["status", "--json", "--peers=false"]) else { return Self::default() };
        let name = status["Self"]["DNSName"].as_str().map(|name| name.trim_end_matches('.').to_owned());
        let served = json(program, &["serve", "status", "--json"]).and_then(|serve| served(&serve, port));
        Self { is_up: status["BackendState"] == "Running", name: name.filter(|name| !name.is_empty()), served }
    }
}

/// The address at which Tailscale Serve passes everything on to the port.
fn served(serve: &Value, port: u16) -> Option<String> {
    let leads_here = |site: &Value| {
        let proxy = site["Handlers"]["/"]["Proxy"].as_str().unwrap_or_default();
        let target = proxy.trim_end_matches('/');
        [format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}")].iter().any(|own| own == target)
    };
    let (site, _) = serve["Web"].as_object()?.iter().find(|(_, site)| leads_here(site))?;
    // It is a name with a port.
    Some(format!("https://{}", site.strip_suffix(":443").unwrap_or(site)))
}

/// The JSON that a program prints. `None` if it prints none, or takes too long.
fn json(program: &Path, arguments: &[&str]) -> Option<Value> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (send, text) = mpsc::channel();
    // Somebody else may keep its output open, so nobody waits for the end of this thread.
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = stdout.take(MOST).read_to_end(&mut text);
        drop(send.send(read.map(|_| text)));
    });
    let ended = child.wait_timeout(PATIENCE);
    if !matches!(ended, Ok(Some(_))) {
        // It may have ended just now.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let text = text.recv_timeout(PATIENCE).ok()?.ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_leads_to_the_daemon_counts() {
        let serve = json!({"TCP": {"443": {"HTTPS": true}}, "Web": {
            "box.tail1.ts.net:8443": {"Handlers": {"/": {"Proxy": "http://127.0.0.1:3000"}}},
            "box.tail1.ts.net:443": {"Handlers": {"/": {"Proxy": "http://127.0.0.1:27563"}}}}});
        assert_eq!(served(&serve, 27563).as_deref(), Some("https://box.tail1.ts.net"));
        assert_eq!(served(&serve, 3000).as_deref(), Some("https://box.tail1.ts.net:8443"));
        assert_eq!(served(&serve, 2756), None);
        assert_eq!(served(&json!({}), 27563), None);
    }
}
