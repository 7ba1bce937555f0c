//! `answerback join`: makes this machine an edge, whose questions are answered at a hub.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anstream::eprintln;
use answerback_hook::paths::Paths;
use anyhow::Context;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::access::Token;
use crate::address::HubUrl;
use crate::ask::Host;
use crate::client::Client;
use crate::config::{self, Config};
use crate::instance;
use crate::store::{self, Certificate, HubError};
use crate::text::{one_line, style};

use super::exit::Exit;
use super::explain::hinted;
use super::paths;
use super::settle::refuse_inside_agent;

/// Let the questions of this machine be answered at a hub
///
/// Reads the host token that `answerback host add` has shown from stdin, or asks for it in a terminal without showing it. A token on the
/// command line would stay in the history of the shell and be seen in the list of processes, so there is no option for it.
///
/// It tries the connection first. Only if the hub answers, it writes `hub` into config.toml and the token into the state directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback join https://answers.example.org\n  \
    answerback join https://answers.example.org < token.txt\n  \
    answerback join https://answers.example.org --ca /etc/ssl/our-ca.pem")]
pub(super) struct Args {
    /// The address of the hub
    #[arg(value_name = "URL")]
    hub: String,
    /// A file with the authorities that have signed the certificate of the hub, as PEM [default: those that this system trusts]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// What a person pastes: the token, and the fingerprint of a certificate that no authority has signed.
struct Code {
    token: Token,
    fingerprint: Option<[u8; 32]>,
}

impl Code {
    fn parse(text: &str) -> Option<Self> {
        let (token, fingerprint) = match text.trim().split_once('.') {
            Some((token, fingerprint)) => (token, Some(fingerprint)),
            None => (text.trim(), None),
        };
        let mut sha256 = [0; 32];
        if let Some(fingerprint) = fingerprint {
            hex::decode_to_slice(fingerprint, &mut sha256).ok()?;
        }
        Some(Self { token: Token::parse(token)?, fingerprint: fingerprint.map(|_| sha256) })
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    let paths = paths()?;
    let hub =
        HubUrl::try_from(args.hub.clone()).map_err(|error| hinted(error, "Copy it from `answerback host add`."))?;
    // A mistake in the file is told before anything is asked.
    Config::load(&paths.config_file())?;
    let ca = args.ca.as_deref().map(std::path::absolute).transpose()?;
    let code = read_code()?;
    let certificate = match (&ca, code.fingerprint) {
        (Some(ca), _) => {
            let pem = std::fs::read(ca).with_context(|| format!("cannot read {}", ca.display()))?;
            Certificate::Authorities(pem)
        }
        (None, Some(sha256)) => Certificate::Fingerprint(sha256),
        (None, None) => Certificate::System,
    };
    let options = instance::options(&hub, certificate, &code.token, Host::new(""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let greeting = runtime.block_on(store::greet(options)).map_err(|error| explained(&hub, &error))?;
    // A certificate that no authority has signed is its own authority from now on.
    let own = code.fingerprint.filter(|_| ca.is_none()).and(greeting.certificate.as_deref());
    let ca = ca.or_else(|| own.map(|_| paths.hub_certificate()));
    // The configuration comes first: it may not be writable, or what it says may not go together with a hub.
    config::set_hub(&paths.config_file(), &hub, ca.as_deref())?;
    instance::join(&paths, &greeting.host, &code.token, own)?;
    tell(&paths, &hub, &greeting.host);
    Ok(Exit::Success)
}

fn tell(paths: &Paths, hub: &HubUrl, host: &Host) {
    let (good, strong) = (style::GOOD, style::STRONG);
    eprintln!("{good}Joined.{good:#} This machine is {strong}{}{strong:#} at {hub}.", one_line(host.as_str()));
    eprintln!("What is asked here is listed and answered there.");
    eprintln!("If the hub cannot be reached, Claude Code asks in the terminal.");
    if Client::only_running(paths.clone()).version().is_ok() {
        eprintln!("A daemon runs, and does not know it yet. Run: answerback restart");
    }
    eprintln!("Check it with: answerback doctor");
}

fn explained(hub: &HubUrl, error: &HubError) -> anyhow::Error {
    let hint = match error {
        HubError::Unreachable(_) => "Check the address, and that the hub runs. Nothing was changed.",
        HubError::Certificate(_) => {
            "Give the authority that has signed it with --ca FILE, or make a new token with `answerback host add`. Nothing was changed."
        }
        HubError::Refused(_) | HubError::Replaced => {
            "Make a new token at the hub with `answerback host add`. Nothing was changed."
        }
    };
    hinted(format!("cannot join {hub}: {error}"), hint)
}

/// Reads one line from stdin. A terminal does not show what is typed.
fn read_code() -> anyhow::Result<Code> {
    let stdin = io::stdin();
    let mut line = String::new();
    if stdin.is_terminal() {
        let mut stderr = anstream::stderr();
        stderr.write_all(b"The host token (it is not shown): ")?;
        stderr.flush()?;
        let before = tcgetattr(&stdin)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
        let read = stdin.lock().read_line(&mut line);
        tcsetattr(&stdin, OptionalActions::Now, &before)?;
        eprintln!();
        read?;
    } else {
        stdin.lock().read_line(&mut line)?;
    }
    Code::parse(&line)
        .ok_or_else(|| hinted("this is not a host token", "`answerback host add NAME` at the hub shows one."))
}
