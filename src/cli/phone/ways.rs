//! The ways from a phone to this machine: what is there, what was checked, and what is left to do.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

use crate::address::{self, PublicUrl};
use crate::config::DEFAULT_PORT;
use crate::instance;

use super::super::programs;
use super::Machine;
use super::probe::{self, Check};
use super::tools::Tailscale;

/// The port that the documentation uses for the network.
const LAN_PORT: u16 = DEFAULT_PORT + 1;
/// A name that stands for one of the person's own.
const EXAMPLE: &str = "answers.example.org";

/// How far a way has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// A phone can use it.
    Ready,
    /// It is configured, and something is wrong.
    Broken,
    /// It is not configured.
    Off,
    /// The program for it is not installed.
    Missing,
}

/// One way.
#[derive(Debug, Serialize)]
pub(super) struct Way {
    /// For programs.
    pub(super) name: &'static str,
    /// For people.
    #[serde(skip)]
    pub(super) title: &'static str,
    pub(super) state: State,
    /// Where the phone finds the page.
    pub(super) url: Option<String>,
    /// What to know about it, in one sentence.
    pub(super) about: String,
    pub(super) checks: Vec<Check>,
    /// What to do, in this order.
    pub(super) steps: Vec<Step>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Run this.
    Run(String),
    /// Put this line into config.toml, above the first table.
    Set(String),
    /// Something else.
    Do(String),
}

impl Way {
    fn new(name: &'static str, title: &'static str, state: State, about: impl Into<String>) -> Self {
        Self { name, title, state, url: None, about: about.into(), checks: Vec::new(), steps: Vec::new() }
    }

    /// The same after these checks.
    fn checked(self, url: &str, checks: Vec<Check>) -> Self {
        let state = if checks.iter().all(|check| check.ok) { State::Ready } else { State::Broken };
        Self { state, url: Some(url.to_owned()), checks, ..self }
    }
}

/// All ways, those that need least first.
pub(super) fn all(machine: &Machine) -> Vec<Way> {
    let tailscale = programs::find("tailscale");
    let mut ways = vec![own_network(machine), tailscale_serve(machine, tailscale)];
    let public = machine.config.public_url.as_ref().filter(|url| !is_tailscale(url));
    ways.extend(public.map(|url| proxy(machine, url)));
    ways.extend([cloudflared(machine), ssh(machine)]);
    ways
}

fn own_network(machine: &Machine) -> Way {
    let (name, title) = ("own-network", "Your own network");
    let Some(configured) = machine.config.lan_address else {
        let about = match address::own_ip((std::net::Ipv4Addr::UNSPECIFIED).into()) {
            Some(ip) => format!("off; this machine is {} there", address::ip_host(ip)),
            None => "off; this machine is in no network".to_owned(),
        };
        let mut way = Way::new(name, title, State::Off, about);
        way.steps = vec![Step::Set(format!("lan_address = \"0.0.0.0:{LAN_PORT}\"")), restart()];
        way.steps.extend(firewall(LAN_PORT));
        return way;
    };
    let way = Way::new(name, title, State::Broken, "configured with lan_address");
    let Some(published) = &machine.published.lan_url else {
        let message = format!("the daemon does not listen on {}", configured.socket());
        let hint = "Run: answerback restart. If that does not help, run: answerback pair, which says why.";
        return Way { checks: vec![Check::bad(message, hint)], ..way };
    };
    let port = port_of(published).unwrap_or(configured.socket().port());
    let Some(ip) = address::own_ip(configured.socket().ip()) else {
        let check = Check::bad("this machine is in no network", "Connect it to one, and try again.");
        return Way { checks: vec![check], ..way };
    };
    let host = address::authority(&address::ip_host(ip), port);
    let mut checks =
        vec![Check::good(format!("the daemon listens on {}:{port}", address::ip_host(configured.socket().ip())))];
    checks.extend(match instance::fingerprint(&machine.paths) {
        Some(fingerprint) => probe::network(SocketAddr::new(ip, port), &host, &fingerprint),
        None => vec![Check::bad("the certificate of this daemon cannot be read", "Run: answerback restart")],
    });
    let mut way = way.checked(&format!("https://{host}"), checks);
    way.steps.extend(firewall(port));
    way
}

/// A firewall cannot be seen from the machine that it protects.
fn firewall(port: u16) -> Option<Step> {
    let command = [
        ("ufw", format!("sudo ufw allow {port}/tcp")),
        ("firewall-cmd", format!("sudo firewall-cmd --add-port={port}/tcp")),
    ]
    .into_iter()
    .find_map(|(program, command)| programs::find(program).map(|_| command))?;
    Some(Step::Do(format!("If the phone cannot connect, a firewall may be in the way: {command}")))
}

fn tailscale_serve(machine: &Machine, program: Option<PathBuf>) -> Way {
    let (name, title, port) = ("tailscale", "Tailscale Serve", machine.port);
    let configured = machine.config.public_url.as_ref().filter(|url| is_tailscale(url));
    let Some(program) = program else {
        let way = Way::new(name, title, State::Missing, "tailscale is not installed");
        return match configured {
            Some(url) => way.checked(url.as_str(), public_checks(machine, url)),
            None => way,
        };
    };
    let said = Tailscale::ask(&program, port);
    let about = match (&said.name, &said.served) {
        _ if !said.is_up => "installed, not connected".to_owned(),
        (_, Some(served)) => format!("serves this daemon at {served}"),
        (Some(name), None) => format!("connected as {name}; Serve does not lead to this daemon"),
        (None, None) => "connected, without a name for this machine".to_owned(),
    };
    let mut way = Way::new(name, title, State::Off, about);
    if !said.is_up {
        way.steps.push(Step::Run("sudo tailscale up".to_owned()));
    }
    if said.served.is_none() {
        way.steps.push(Step::Run(format!("tailscale serve --bg {port}")));
    }
    let url = said.served.or_else(|| said.name.map(|name| format!("https://{name}")));
    if configured.map(PublicUrl::as_str) != url.as_deref() || url.is_none() {
        let url = url.as_deref().unwrap_or("https://THE-NAME-IT-SHOWS");
        way.steps.extend([Step::Set(format!("public_url = \"{url}\"")), restart()]);
    }
    match configured {
        Some(url) => way.checked(url.as_str(), public_checks(machine, url)),
        None => way,
    }
}

fn proxy(machine: &Machine, url: &PublicUrl) -> Way {
    let way = Way::new("public-url", "Tunnel or proxy", State::Broken, "configured with public_url");
    way.checked(url.as_str(), public_checks(machine, url))
}

fn cloudflared(machine: &Machine) -> Way {
    let (name, title, port) = ("cloudflared", "cloudflared", machine.port);
    if programs::find(name).is_none() {
        return Way::new(name, title, State::Missing, "not installed");
    }
    let mut way = Way::new(name, title, State::Off, "installed; the address is public, and only paired devices get in");
    way.steps = vec![
        Step::Run("cloudflared tunnel login".to_owned()),
        Step::Run("cloudflared tunnel create answerback".to_owned()),
        Step::Run(format!("cloudflared tunnel route dns answerback {EXAMPLE}")),
        Step::Run(format!("cloudflared tunnel run --url http://127.0.0.1:{port} answerback")),
        Step::Set(format!("public_url = \"https://{EXAMPLE}\"")),
        restart(),
        Step::Do(format!(
            "To try it without a name of your own, run cloudflared tunnel --url http://127.0.0.1:{port}, and use the address that \
             it prints as public_url. It is another one each time."
        )),
    ];
    way
}

fn ssh(machine: &Machine) -> Way {
    let (name, title, port) = ("ssh", "ssh -R", machine.port);
    if programs::find(name).is_none() {
        return Way::new(name, title, State::Missing, "ssh is not installed");
    }
    let mut way = Way::new(name, title, State::Off, "installed; you need a server with a name of its own");
    way.steps = vec![
        Step::Run(format!("ssh -N -R 127.0.0.1:{DEFAULT_PORT}:127.0.0.1:{port} you@{EXAMPLE}")),
        Step::Do(format!("On that server, run: caddy reverse-proxy --from {EXAMPLE} --to 127.0.0.1:{DEFAULT_PORT}")),
        Step::Set(format!("public_url = \"https://{EXAMPLE}\"")),
        restart(),
    ];
    way
}

fn public_checks(machine: &Machine, url: &PublicUrl) -> Vec<Check> {
    let accepts = probe::accepts(([127, 0, 0, 1], machine.port).into(), url.host());
    // As long as the daemon refuses the name, nothing can be learned about the way.
    if !accepts.ok {
        return vec![accepts];
    }
    vec![accepts, probe::public(url.as_str(), machine.port)]
}

fn restart() -> Step {
    Step::Run("answerback restart".to_owned())
}

fn is_tailscale(url: &PublicUrl) -> bool {
    let name = url.host().split(':').next().unwrap_or_default();
    name.ends_with(".ts.net")
}

/// The port of an address that the daemon has published.
pub(super) fn port_of(url: &str) -> Option<u16> {
    let (_, port) = url.rsplit_once(':')?;
    port.trim_end_matches('/').parse().ok()
}
