//! `answerback phone`: from a phone to this machine, step by step.
//!
//! It looks, checks and says what to do. It changes nothing.

mod probe;
mod tools;
mod ways;

use std::io::{self, IsTerminal};

use anstream::eprintln;
use answerback_hook::paths::Paths;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::access::Token;
use crate::client::Client;
use crate::config::{Config, DEFAULT_PORT};
use crate::instance::{self, Published};
use crate::text::{sanitise, style};

use super::exit::Exit;
use super::explain::hinted;
use super::{client, pair, print_json, refuse_on_edge};

use ways::{State, Step, Way};

/// Find a way from a phone to this machine, and let the phone in
///
/// Looks for the ways from a phone to this machine (your own network, Tailscale Serve, cloudflared, ssh -R), and says what to run and
/// what to put into config.toml. It sets nothing up by itself. If a way is set up, it is tried as a phone would try it: does it lead to the
/// daemon, with the right certificate, and does the daemon accept the address? If all is well, the QR code of `answerback pair` follows.
///
/// Exits with 1 if no way is ready. If stdin is no terminal, and with --json, it asks nothing and shows no QR code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback phone\n  \
    answerback phone < /dev/null          # only look and check\n  \
    answerback phone --json | jq -r '.ways[] | select(.state == \"ready\") | .url'")]
pub(super) struct Args {
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// What there is on this machine.
#[derive(Debug)]
struct Machine {
    paths: Paths,
    config: Config,
    published: Published,
    /// The daemon's port on 127.0.0.1.
    port: u16,
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Report {
    /// Where a phone is sent to by `answerback pair`, if that works.
    url: Option<String>,
    config_file: String,
    /// The daemon's port on 127.0.0.1.
    port: u16,
    /// What should be set in any case.
    steps: Vec<Step>,
    ways: Vec<Way>,
    notifications: Notifications,
}

/// How the phone is told about a question.
#[derive(Debug, Serialize)]
struct Notifications {
    ntfy: bool,
    /// What to add at the end of config.toml.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_on_edge("phones are let in")?;
    let client = client()?;
    let report = report(&client)?;
    let is_ready = report.url.is_some();
    if args.json {
        print_json(&report)?;
    } else {
        show(&report)?;
        if is_ready && io::stdin().is_terminal() {
            outln!("");
            return pair::let_a_phone_in(&client);
        }
        if is_ready {
            eprintln!("To let a phone in, run in a terminal: answerback pair");
        }
    }
    Ok(if is_ready { Exit::Success } else { Exit::Failure })
}

fn report(client: &Client) -> anyhow::Result<Report> {
    // There must be a daemon to be checked.
    client.version()?;
    let paths = client.paths().clone();
    let published = Published::read(&paths)
        .map_err(|error| hinted(format!("daemon.json cannot be used: {error}"), "Run: answerback restart"))?;
    let config = Config::load(&paths.config_file())?;
    let port = ways::port_of(&published.url).unwrap_or(config.port);
    let machine = Machine { paths, config, published, port };
    let ways = ways::all(&machine);
    // `answerback pair` sends phones to public_url if there is one.
    let wanted = machine.config.public_url.as_ref().map(|url| url.as_str());
    let is_used = |way: &&Way| way.state == State::Ready && (wanted.is_none() || way.url.as_deref() == wanted);
    let url = ways.iter().find(is_used).and_then(|way| way.url.clone());
    let has_fixed_port = machine.config.port == port;
    let steps = if has_fixed_port { Vec::new() } else { vec![Step::Set(format!("port = {}", spare_port(&machine)))] };
    Ok(Report {
        url,
        config_file: machine.paths.config_file().to_string_lossy().into_owned(),
        port,
        steps,
        ways,
        notifications: notifications(&machine)?,
    })
}

/// The daemon may have another port the next time, and a tunnel would not find it.
fn spare_port(machine: &Machine) -> u16 {
    if machine.config.port == 0 { DEFAULT_PORT } else { machine.port }
}

fn notifications(machine: &Machine) -> anyhow::Result<Notifications> {
    if machine.config.notify.ntfy.is_some() {
        return Ok(Notifications { ntfy: true, config: Vec::new() });
    }
    // Whoever knows the topic can read along, so nobody must be able to guess it. It comes from a secret that stays, so that it is the same
    // when the person runs this again.
    let secret = match instance::check_tokens(&machine.paths)? {
        Some(tokens) => tokens.hook,
        None => Token::generate()?,
    };
    let topic = Sha256::new().chain_update("ntfy topic ").chain_update(secret.reveal()).finalize();
    let url = format!("url = \"https://ntfy.sh/answerback-{}\"", hex::encode(&topic[..8]));
    Ok(Notifications { ntfy: false, config: vec!["[notify.ntfy]".to_owned(), url] })
}

fn show(report: &Report) -> anyhow::Result<()> {
    let is_ready = report.url.is_some();
    outln!("The daemon listens on 127.0.0.1:{}. A phone can reach it in one of these ways:\n", report.port);
    for way in &report.ways {
        show_way(way, report, is_ready)?;
    }
    if !report.steps.is_empty() && !is_ready {
        outln!("\nThe daemon may get another port at its next start. For a tunnel, keep it the same:");
        show_steps(&report.steps, report)?;
    }
    outln!("");
    show_notifications(report)?;
    if !is_ready {
        let faint = style::FAINT;
        outln!("\nChoose one way, follow its steps, and run this again: {faint}answerback phone{faint:#}");
    }
    Ok(())
}

/// The steps of other ways are left out once one is ready.
fn show_way(way: &Way, report: &Report, is_ready: bool) -> anyhow::Result<()> {
    let strong = style::STRONG;
    let place = way.url.as_ref().map_or_else(|| way.about.clone(), |url| format!("{url}, {}", way.about));
    outln!(
        "{} {strong}{}{strong:#}: {}",
        sign(way.state == State::Ready, way.state == State::Broken),
        way.title,
        sanitise(&place)
    );
    for check in &way.checks {
        outln!("    {} {}", sign(check.ok, !check.ok), sanitise(&check.message));
        if let Some(hint) = &check.hint {
            outln!("      {}", sanitise(hint));
        }
    }
    if !is_ready || way.state == State::Broken || (way.state == State::Ready && way.url == report.url) {
        show_steps(&way.steps, report)?;
    }
    Ok(())
}

fn show_steps(steps: &[Step], report: &Report) -> anyhow::Result<()> {
    let choice = style::CHOICE;
    for step in steps {
        match step {
            Step::Run(command) => outln!("    Run: {choice}{}{choice:#}", sanitise(command)),
            Step::Set(line) => {
                outln!("    Put this at the top of {}:", sanitise(&report.config_file));
                outln!("      {choice}{}{choice:#}", sanitise(line));
            }
            Step::Do(text) => outln!("    {}", sanitise(text)),
        }
    }
    Ok(())
}

fn show_notifications(report: &Report) -> anyhow::Result<()> {
    let (strong, choice) = (style::STRONG, style::CHOICE);
    if report.notifications.ntfy {
        outln!(
            "{} {strong}Notifications{strong:#}: ntfy is set up; to try it, run: answerback notify test",
            sign(true, false)
        );
        return Ok(());
    }
    outln!(
        "{} {strong}Notifications{strong:#}: ntfy is not set up, so a phone is told only while it shows the page",
        sign(false, false)
    );
    outln!("    Install the ntfy app, and subscribe to the topic that stands behind ntfy.sh/ here.");
    outln!("    Put this at the end of {}:", sanitise(&report.config_file));
    for line in &report.notifications.config {
        outln!("      {choice}{line}{choice:#}");
    }
    outln!("    Run: {choice}answerback restart{choice:#}");
    Ok(())
}

/// A sign for good, for bad, and for neither.
fn sign(is_good: bool, is_bad: bool) -> String {
    let (style, sign) = match (is_good, is_bad) {
        (true, _) => (style::GOOD, "✓"),
        (_, true) => (style::BAD, "✗"),
        _ => (style::FAINT, "·"),
    };
    format!("{style}{sign}{style:#}")
}
