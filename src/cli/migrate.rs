//! `answerback migrate`: takes the store of this machine over into PostgreSQL.

use std::io::IsTerminal;

use anstream::{eprint, eprintln};

use crate::instance::{Instance, InstanceError};
use crate::store::{self, PostgresOptions};

use crate::text::one_line;

use super::exit::Exit;
use super::explain::hinted;
use super::{paths, print_json};

/// Copy the store of this machine to PostgreSQL
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Copy the store of this machine to PostgreSQL.\n\n\
    Questions, answers, people and devices are copied in one transaction, and compared by number and checksum before they count. \
    The file of this machine is not changed. The database must be empty, and the daemon must not run. The changes themselves are not copied: programs that follow them list the \
    questions again.",
    after_help = "Examples:\n  \
    answerback stop\n  \
    answerback migrate --to postgres://answerback@db.example.org/answerback\n\n\
    The password is read from the file that PGPASSFILE names, from ~/.pgpass, or from PGPASSWORD. It does not belong on the command line, \
    where other users can see it."
)]
pub(super) struct Args {
    /// The address of the database, as in `store` of config.toml
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let authority = args.to.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
    if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
        return Err(hinted(
            "a password does not belong on the command line, where other users can see it",
            "Leave it out, and put it into ~/.pgpass or PGPASSWORD.",
        ));
    }
    let options = PostgresOptions::parse(&args.to)?;
    let paths = paths()?;
    let file = paths.store();
    if !file.exists() {
        return Err(hinted(
            format!("there is nothing to take over: {} does not exist", file.display()),
            "Set `store` in config.toml, and start the daemon.",
        ));
    }
    // Nobody else may write to the file meanwhile.
    let instance = match Instance::claim(paths) {
        Err(InstanceError::Running) => {
            return Err(hinted("the daemon runs, and uses the store", "Run: answerback stop"));
        }
        claimed => claimed?,
    };
    let is_shown = !args.json && std::io::stderr().is_terminal();
    let migration = store::migrate(&file, &options, |done, total| {
        if is_shown {
            eprint!("\r{done} of {total} questions");
        }
    })?;
    if is_shown {
        eprintln!();
    }
    drop(instance);
    if args.json {
        print_json(&serde_json::json!({
            "questions": migration.asks,
            "damaged": migration.damaged,
            "people": migration.people,
            "devices": migration.devices,
            "checksum": migration.checksum,
        }))?;
        return Ok(Exit::Success);
    }
    outln!("questions  {}", migration.asks);
    outln!("people     {}", migration.people);
    outln!("devices    {}", migration.devices);
    outln!("checksum   {}, the same in both", migration.checksum);
    if migration.damaged > 0 {
        eprintln!("{} damaged questions were left behind. `answerback doctor` names them.", migration.damaged);
    }
    eprintln!("Everything is in {options}, and {} is as it was.", file.display());
    eprintln!("Next: set `store` in config.toml to {}, and start the daemon.", one_line(&args.to));
    Ok(Exit::Success)
}
