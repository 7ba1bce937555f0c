//! `answerback status`: is it there, and what waits?

use serde_json::{Value, json};

use crate::api::Version;
use crate::client::{Client, ClientError};
use crate::terminal::{sanitise, style};

use super::exit::Exit;
use super::{paths, print_json};

/// Show whether the daemon runs, where it listens, and how many questions are open
///
/// Exits with 6 if it does not run, which is no error: the next question starts it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback status\n  \
    answerback status --json | jq -r .url")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = Client::only_running(paths()?);
    let version: Version = match client.get("/v1/version") {
        Ok(version) => version,
        Err(ClientError::NotRunning) => {
            if args.json {
                print_json(&json!({"running": false, "state_dir": client.paths().state_dir()}))?;
            } else {
                outln!("The daemon is not running. The next question starts it.");
            }
            return Ok(Exit::NotRunning);
        }
        Err(error) => return Err(error.into()),
    };
    let open = client.open_asks()?.asks.len();
    let published: Value = serde_json::from_slice(&std::fs::read(client.paths().daemon_json())?)?;
    if args.json {
        print_json(&json!({
            "running": true,
            "version": version.version,
            "protocol": version.protocol,
            "pid": published["pid"],
            "url": published["url"],
            "lan_url": published["lan_url"],
            "socket": published["socket"],
            "open": open,
            "state_dir": client.paths().state_dir(),
            "config_file": client.paths().config_file(),
        }))?;
        return Ok(Exit::Success);
    }
    let (good, strong) = (style::GOOD, style::STRONG);
    outln!("{good}running{good:#}    version {}, process {}", version.version, published["pid"]);
    outln!("questions  {strong}{open}{strong:#} open");
    outln!("address    {}", sanitise(published["url"].as_str().unwrap_or_default()));
    if let Some(url) = published["lan_url"].as_str() {
        outln!("network    {}", sanitise(url));
    }
    outln!("state      {}", sanitise(&client.paths().state_dir().to_string_lossy()));
    outln!("config     {}", sanitise(&client.paths().config_file().to_string_lossy()));
    Ok(Exit::Success)
}
