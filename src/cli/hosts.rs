//! `answerback host add` and `answerback hosts`: other machines whose questions are answered here.

use anstream::eprintln;
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::api::{HostView, NewHost};
use crate::text::{counted, one_line, style};

use super::exit::Exit;
use super::settle::refuse_inside_agent;
use super::{client, print_json, refuse_on_edge, time};

/// Let the daemon of another machine ask here
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback host add ci\n  \
    answerback hosts                      # which machines ask here")]
pub(super) struct HostArgs {
    #[command(subcommand)]
    command: HostCommand,
}

#[derive(Debug, clap::Subcommand)]
enum HostCommand {
    Add(AddArgs),
}

/// Make a host token, and say what to run on the other machine
///
/// The token lets that machine ask here, under this name, and read what it has asked. It can answer nothing and sees nothing of others.
/// It is shown once. `answerback join` reads it from its stdin, so that it gets into no shell history and no list of processes. Only the
/// token goes to stdout, so it can be piped. It needs `lan_address` or `public_url` in config.toml.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback host add ci\n  \
    answerback host add ci | ssh ci answerback join https://hub.example.org")]
struct AddArgs {
    /// A name for the machine: people see it beside its questions
    name: String,
    /// Print JSON, as `POST /v1/hosts` gives it
    #[arg(long)]
    json: bool,
}

/// List the machines that ask here, or take their tokens back
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    answerback hosts\n  \
    answerback hosts revoke build-1"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON, as `GET /v1/hosts` gives it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Take host tokens back: their links end at once, and their open questions are withdrawn
    #[command(after_help = "Examples:\n  \
        answerback hosts revoke build-1")]
    Revoke {
        /// Names, as `answerback hosts` lists them
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

pub(super) fn run_host(args: &HostArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("machines are let in")?;
    let HostCommand::Add(args) = &args.command;
    let new = client()?.add_host(&args.name)?;
    if args.json {
        print_json(&new)?;
        return Ok(Exit::Success);
    }
    let (strong, choice) = (style::STRONG, style::CHOICE);
    eprintln!("Run this on {strong}{}{strong:#}, and give it the token on stdin:\n", new.name);
    eprintln!("  {choice}answerback join {}{choice:#}\n", new.url);
    // Only the token is on stdout, so that it can be piped into that command.
    outln!("{}", code(&new));
    Ok(Exit::Success)
}

/// What a person carries to the other machine: the token, and with it what certificate to expect if no authority has signed it.
fn code(new: &NewHost) -> String {
    match &new.fingerprint {
        Some(fingerprint) => format!("{}.{}", new.token, fingerprint.replace(':', "").to_ascii_lowercase()),
        None => new.token.clone(),
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_on_edge("machines are let in")?;
    let client = client()?;
    match &args.command {
        Some(Command::Revoke { names }) => {
            refuse_inside_agent()?;
            for name in names {
                client.revoke_host(name)?;
                eprintln!("Taken back: the token of {}.", one_line(name));
            }
        }
        None => {
            let list = client.hosts()?;
            if args.json { print_json(&list)? } else { show(&list.hosts)? }
        }
    }
    Ok(Exit::Success)
}

fn show(hosts: &[HostView]) -> anyhow::Result<()> {
    if hosts.is_empty() {
        outln!("No other machine asks here. Let one in with: answerback host add NAME");
    }
    let now = time::now();
    let rows: Vec<[String; 3]> = hosts.iter().map(|host| row(host, now)).collect();
    let width = |index: usize| rows.iter().map(|row| row[index].width()).max().unwrap_or(0);
    let (names, seen) = (width(0), width(1));
    let pad = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(text.width()));
    let strong = style::STRONG;
    for [name, last_seen, open] in &rows {
        let (after_name, after_seen) = (pad(name, names), pad(last_seen, seen));
        outln!("{strong}{name}{strong:#}{after_name}  {last_seen}{after_seen}  {open}");
    }
    Ok(())
}

fn row(host: &HostView, now: Timestamp) -> [String; 3] {
    let seen = if host.linked {
        "linked now".to_owned()
    } else if host.last_seen_at == host.created_at {
        format!("never linked, token made {} ago", time::age(host.created_at, now))
    } else {
        format!("last seen {} ago", time::age(host.last_seen_at, now))
    };
    [one_line(&host.name), seen, counted(host.open, "open question", "open questions")]
}
