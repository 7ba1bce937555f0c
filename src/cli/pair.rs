//! `answerback pair`: let a phone in.

use std::io::{self, BufRead, Write};

use anstream::eprintln;
use serde_json::json;

use crate::api::{Pairing, PairingRequest, PairingState};
use crate::client::{Client, ClientError};
use crate::text::{self, harmless_json, one_line, sanitise, style, wrap};

use super::exit::Exit;
use super::explain::hinted;
use super::settle::refuse_inside_agent;
use super::{client, qr, refuse_on_edge};

const DIGITS: usize = 6;
/// Half of a fingerprint: sixteen bytes, each with its colon.
const HALF: usize = 16 * 3;
const WARNING: &str = "The phone will warn that it does not know the certificate: nobody vouches for it but you. If you do not \
    trust this network, compare the SHA-256 of the certificate that the phone shows:";

/// Let a phone, or any other browser, answer questions
///
/// Shows a QR code. Scan it with the phone, and type the six digits that the phone shows: so nobody else gets in, even if
/// they saw the code. It needs `lan_address` or `public_url` in config.toml.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback pair\n  \
    answerback pair --name 'Work phone'\n  \
    answerback devices                    # which devices are signed in")]
pub(super) struct Args {
    /// The name of the device [default: the name it gives itself]
    #[arg(long)]
    name: Option<String>,
    /// Print one line of JSON for each step; the digits are still read from stdin
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let request = PairingRequest { name: args.name.clone(), person: None };
    let_in(&client()?, &request, args.json, &Words::default())
}

/// Does the same without options.
pub(super) fn let_a_phone_in(client: &Client) -> anyhow::Result<Exit> {
    let_in(client, &PairingRequest::default(), false, &Words::default())
}

/// What is said to the person at the end.
pub(super) struct Words {
    /// Follows the name of the device that was let in.
    pub(super) done: String,
    /// The command that tries it again.
    pub(super) again: String,
}

impl Default for Words {
    fn default() -> Self {
        Self { done: "can see and answer questions now".to_owned(), again: "answerback pair".to_owned() }
    }
}

/// Lets one device in. `json`: with a line for each step.
pub(super) fn let_in(client: &Client, request: &PairingRequest, json: bool, words: &Words) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("devices are let in")?;
    let pairing = client.begin_pairing(request)?;
    if json {
        print_line(&pairing)?;
    } else {
        show(&pairing)?;
    }
    let Some(name) = until_claimed(client, &pairing.id)? else { return over(words) };
    if json {
        print_line(&json!({"state": PairingState::Claimed, "name": name}))?;
    }
    let name = one_line(&name);
    let strong = style::STRONG;
    eprintln!("{strong}{name}{strong:#} wants to be let in, and shows six digits.");
    if !confirm(client, &pairing.id)? {
        return over(words);
    }
    if json {
        print_line(&json!({"state": PairingState::Confirmed, "name": name}))?;
    }
    let good = style::GOOD;
    eprintln!("{good}Paired.{good:#} {name} {}.", words.done);
    Ok(Exit::Success)
}

fn over(words: &Words) -> anyhow::Result<Exit> {
    Err(hinted("nobody was let in", format!("Run {} again.", words.again)))
}

fn print_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    outln!("{}", harmless_json(&serde_json::to_string(value)?));
    Ok(())
}

fn show(pairing: &Pairing) -> anyhow::Result<()> {
    match qr::lines(&pairing.url, text::width())? {
        Some(lines) => {
            for line in lines {
                outln!("{line}");
            }
        }
        None => eprintln!("This terminal is too narrow for the QR code."),
    }
    let (strong, faint) = (style::STRONG, style::FAINT);
    outln!("{strong}{}{strong:#}", sanitise(&pairing.url));
    let minutes = pairing.expires_in_seconds / 60;
    eprintln!("Scan it with the phone, or open the address there, within {minutes} minutes.");
    if let Some(fingerprint) = &pairing.fingerprint {
        for line in wrap(WARNING, text::width()) {
            eprintln!("{line}");
        }
        let (first, second) = fingerprint.split_at_checked(HALF).unwrap_or((fingerprint, ""));
        outln!("{faint}{}{faint:#}", sanitise(first));
        outln!("{faint}{}{faint:#}", sanitise(second));
    }
    Ok(())
}

/// The name of the device that has shown the code, or `None` if the pairing ended.
fn until_claimed(client: &Client, id: &str) -> Result<Option<String>, ClientError> {
    loop {
        let pairing = client.poll_pairing(id)?;
        match pairing.state {
            PairingState::Waiting => {}
            PairingState::Claimed => return Ok(Some(pairing.name.unwrap_or_default())),
            PairingState::Confirmed | PairingState::Refused | PairingState::Expired => return Ok(None),
        }
    }
}

/// Whether the person typed the digits that the device shows.
fn confirm(client: &Client, id: &str) -> anyhow::Result<bool> {
    let mut lines = io::stdin().lock().lines();
    loop {
        eprint_prompt("Type them here (or nothing, to refuse): ")?;
        let typed = lines.next().transpose()?.unwrap_or_default();
        let typed: String = typed.split_whitespace().collect();
        if typed.is_empty() {
            client.refuse_pairing(id)?;
            return Ok(false);
        }
        if typed.len() != DIGITS || !typed.bytes().all(|byte| byte.is_ascii_digit()) {
            eprintln!("These are not six digits.");
            continue;
        }
        match client.confirm_pairing(id, &typed) {
            Ok(()) => return Ok(true),
            Err(ClientError::Refused(problem)) if problem.status == 422 => {
                eprintln!("{} {}", sanitise(&problem.title), sanitise(problem.hint.as_deref().unwrap_or_default()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn eprint_prompt(prompt: &str) -> io::Result<()> {
    let mut stderr = anstream::stderr();
    stderr.write_all(prompt.as_bytes())?;
    stderr.flush()
}
