//! `answerback status`: whether the daemon runs, how many questions are open, and who is away.

use answerback_hook::paths::Paths;
use serde_json::{Value, json};

use crate::claude_code::settings::coverage::Coverage;
use crate::claude_code::settings::session;
use crate::client::{Client, ClientError};
use crate::daemon;
use crate::instance::{self, Published};
use crate::text::{sanitise, style};

use super::daemon_process::DaemonProcess;
use super::exit::Exit;
use super::explain::{hinted, one_line};
use super::{away, paths, print_json, time};

/// Show the state of the daemon
///
/// Says whether it runs, where it listens, how many questions are open, and whether you are away. Also says which waits come to
/// Answerback if Claude Code is started in the current directory: questions, plans, permissions, forms.
///
/// Exits with 6 if it does not run. That is no error, unless it says that it cannot start: the next question starts it. Exits with 1
/// if it runs and does not answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback status\n  \
    answerback status --json | jq -r .url\n  \
    answerback status --json | jq .coverage   # in the current directory")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reports that no daemon listens, and whether the next question can start one.
fn not_running(args: &Args, paths: &Paths, coverage: Coverage) -> anyhow::Result<Exit> {
    if instance::is_held(paths) {
        if args.json {
            print_json(&silent(None, paths, coverage))?;
        } else {
            outln!("A daemon is starting or stopping, and does not listen. If that goes on, look into daemon.log.");
        }
        return Ok(Exit::Failure);
    }
    let problem = daemon::check(paths).err().map(|error| one_line(&error));
    if args.json {
        print_json(&json!({
            "running": false,
            "start_error": problem,
            "state_dir": paths.state_dir(),
            "coverage": coverage,
        }))?;
        return Ok(Exit::NotRunning);
    }
    match problem {
        Some(problem) => outln!("The daemon is not running, and cannot start: {}", sanitise(&problem)),
        None => outln!("The daemon is not running. The next question starts it."),
    }
    show(coverage)?;
    Ok(Exit::NotRunning)
}

/// The report about a daemon that runs and does not answer.
fn silent(pid: Option<i32>, paths: &Paths, coverage: Coverage) -> Value {
    json!({
        "running": true,
        "answers": false,
        "pid": pid,
        "state_dir": paths.state_dir(),
        "coverage": coverage,
    })
}

/// Says what comes to Answerback from the current directory, and how to add the rest.
fn show(coverage: Coverage) -> anyhow::Result<()> {
    if coverage == Coverage::NONE {
        outln!("here       nothing comes to Answerback: answerback doctor says why");
        return Ok(());
    }
    outln!("here       {} come to Answerback", coverage.covered());
    if coverage != Coverage::ALL {
        outln!("           {} stay in the terminal: answerback doctor says how to add them", coverage.uncovered());
    }
    Ok(())
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    // A directory that is gone has no settings of its own.
    let here = std::env::current_dir().unwrap_or_default();
    let coverage = session::coverage(&session::files(&here));
    let client = Client::only_running(paths()?);
    let version = match client.version() {
        Ok(version) => version,
        Err(ClientError::NotRunning) => {
            return not_running(args, client.paths(), coverage);
        }
        Err(error) if error.is_silence() && args.json => {
            let pid = DaemonProcess::find(client.paths())?.map(|process| process.pid());
            print_json(&silent(pid, client.paths(), coverage))?;
            return Ok(Exit::Failure);
        }
        Err(error) => return Err(error.into()),
    };
    let open = client.open_asks()?.asks.len();
    let notes = client.away()?.away;
    let published = Published::read(client.paths())
        .map_err(|error| hinted(format!("daemon.json cannot be used: {error}"), "Run: answerback restart"))?;
    if args.json {
        print_json(&json!({
            "running": true,
            "answers": true,
            "version": version.version,
            "protocol": version.protocol,
            "pid": published.pid,
            "url": published.url,
            "lan_url": published.lan_url,
            "socket": published.socket,
            "hub": version.hub,
            "open": open,
            "away": notes,
            "state_dir": client.paths().state_dir(),
            "config_file": client.paths().config_file(),
            "coverage": coverage,
        }))?;
        return Ok(Exit::Success);
    }
    let (good, strong) = (style::GOOD, style::STRONG);
    outln!("{good}running{good:#}    version {}, process {}", version.version, published.pid);
    outln!("questions  {strong}{open}{strong:#} open");
    if let Some(hub) = &version.hub {
        outln!("edge       {} at {}", sanitise(&hub.host), sanitise(&hub.url));
        match &hub.problem {
            None => outln!("           linked: questions are answered there"),
            Some(problem) => outln!("           {bad}no link{bad:#}: {}", sanitise(problem), bad = style::BAD),
        }
    }
    for note in &notes {
        outln!("away       {}", away::sentence(note, time::now()));
    }
    outln!("address    {}", sanitise(&published.url));
    if let Some(url) = &published.lan_url {
        outln!("network    {}", sanitise(url));
    }
    outln!("state      {}", sanitise(&client.paths().state_dir().to_string_lossy()));
    outln!("config     {}", sanitise(&client.paths().config_file().to_string_lossy()));
    show(coverage)?;
    Ok(Exit::Success)
}
