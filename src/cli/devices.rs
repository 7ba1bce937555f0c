//! `answerback devices`: which devices are signed in, and signing them out.

use anstream::eprintln;
use anstyle::Style;
use jiff::Timestamp;

use crate::api::DeviceView;
use crate::client::Client;
use crate::store::DeviceKind;
use crate::text::{one_line, style};

use super::exit::Exit;
use super::explain::hinted;
use super::{client, print_json, refuse_on_edge, table, time};

/// List the browsers and phones that are signed in, or sign them out
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    answerback devices\n  \
    answerback devices revoke 3\n  \
    answerback devices revoke 'Safari on iPhone'\n  \
    answerback devices revoke --all"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON, as `GET /v1/devices` gives it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Sign devices out: from now on the daemon refuses their tokens, and their pages stop updating
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback devices revoke 3\n  \
    answerback devices revoke 'Safari on iPhone'\n  \
    answerback devices revoke --all")]
struct RevokeArgs {
    /// Numbers or names, as `answerback devices` lists them
    #[arg(value_name = "ID|NAME", required_unless_present = "all", conflicts_with = "all")]
    devices: Vec<String>,
    /// All of them
    #[arg(long)]
    all: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_on_edge("devices are let in")?;
    let client = client()?;
    let list = client.devices()?;
    match &args.command {
        Some(Command::Revoke(args)) => revoke(&client, &list.devices, args)?,
        None if args.json => print_json(&list)?,
        None => show(&list.devices)?,
    }
    Ok(Exit::Success)
}

fn show(devices: &[DeviceView]) -> anyhow::Result<()> {
    if devices.is_empty() {
        outln!("No device is signed in. Let one in with: answerback pair");
    }
    let now = time::now();
    let digits = devices.iter().map(|device| device.id.to_string().len()).max().unwrap_or(0);
    let rows: Vec<[String; 4]> = devices.iter().map(|device| row(device, digits, now)).collect();
    table::print(&rows, [style::CHOICE, style::STRONG, Style::new(), style::FAINT])
}

fn row(device: &DeviceView, digits: usize, now: Timestamp) -> [String; 4] {
    let kind = match device.kind {
        DeviceKind::Page => "this machine",
        DeviceKind::Paired => "paired",
        // The list has none of them.
        DeviceKind::Host => "machine",
    };
    let owner = device.person.as_deref().map_or_else(String::new, |person| format!(", of {}", one_line(person)));
    let ago = |then| time::age(then, now);
    let seen = format!("since {}, last seen {} ago", time::local(device.created_at), ago(device.last_seen_at));
    [format!("{:>digits$}", device.id), one_line(&device.name), format!("{kind}{owner}"), seen]
}

/// Signs out all the named devices, or none if one of the names is wrong.
fn revoke(client: &Client, devices: &[DeviceView], args: &RevokeArgs) -> anyhow::Result<()> {
    let chosen: Vec<&DeviceView> = if args.all {
        devices.iter().collect()
    } else {
        args.devices.iter().map(|text| find(devices, text)).collect::<anyhow::Result<_>>()?
    };
    for device in chosen {
        client.revoke_device(device.id)?;
        eprintln!("Signed out: {}.", one_line(&device.name));
    }
    Ok(())
}

fn find<'a>(devices: &'a [DeviceView], text: &str) -> anyhow::Result<&'a DeviceView> {
    if let Some(device) = devices.iter().find(|device| device.id.to_string() == text) {
        return Ok(device);
    }
    let named: Vec<_> = devices.iter().filter(|device| one_line(&device.name) == one_line(text)).collect();
    match named.as_slice() {
        [device] => Ok(device),
        [] => Err(hinted(format!("there is no device {text}"), "answerback devices lists them.")),
        several => {
            let ids: Vec<_> = several.iter().map(|device| device.id.to_string()).collect();
            Err(hinted(
                format!("{} devices are called {text}", several.len()),
                format!("Name them by their numbers: {}.", ids.join(", ")),
            ))
        }
    }
}
