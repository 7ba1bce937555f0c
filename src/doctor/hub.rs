//! The store that a hub shares with others.

use jiff::SignedDuration;

use crate::config::StoreAddress;
use crate::store::{self, Examination, PostgresOptions};

use super::Finding;

/// A clock that differs by less is right enough for people. Daemons go by the engine's clock.
const SMALL_SKEW: SignedDuration = SignedDuration::from_secs(5);

pub(super) fn examine(address: &StoreAddress) -> Vec<Finding> {
    let options = match PostgresOptions::parse(address.reveal()) {
        Ok(options) => options,
        Err(error) => {
            return vec![Finding::error("store", error.to_string(), "Correct `store` in the configuration.")];
        }
    };
    match store::examine(&options) {
        Ok(examination) => findings(&options, &examination),
        Err(error) => vec![Finding::error(
            "store",
            format!("{options} cannot be used: {error}"),
            "Look whether PostgreSQL runs, and whether this machine, the role and the password are let in.",
        )],
    }
}

fn findings(options: &PostgresOptions, engine: &Examination) -> Vec<Finding> {
    let schema = engine.schema.map_or("no tables yet".to_owned(), |schema| format!("schema {schema}"));
    let mut findings =
        vec![Finding::ok("store", format!("{options} runs PostgreSQL {}, with {schema}", engine.version))];
    findings.push(if engine.has_notices {
        Finding::ok("store-notices", "daemons hear of each other's changes at once")
    } else {
        Finding::error(
            "store-notices",
            "notices do not arrive: a pooler like PgBouncer is on the way, in transaction mode",
            "Let `store` lead to PostgreSQL itself, or set the pool mode to session.",
        )
    });
    findings.push(if !engine.is_durable {
        Finding::error(
            "store-durable",
            "PostgreSQL confirms what is not on its disk: fsync or synchronous_commit is off",
            "Set both to on: an answer that was confirmed must not be lost.",
        )
    } else if engine.standbys.is_empty() {
        Finding::warning(
            "store-standby",
            "there is no synchronous standby: if the machine of PostgreSQL is lost, so are its newest answers",
            "Add a standby, and name it in synchronous_standby_names.",
        )
    } else {
        Finding::ok("store-standby", format!("every answer is on a standby, too ({})", engine.standbys))
    });
    let skew = engine.skew.abs();
    findings.push(if skew > SMALL_SKEW {
        let direction = if engine.skew.is_negative() { "behind" } else { "ahead of" };
        Finding::warning(
            "clock",
            format!("the clock of this machine is {} s {direction} that of PostgreSQL", skew.as_secs()),
            "Set the clock, for example with NTP. Deadlines are right all the same: they go by the clock of PostgreSQL.",
        )
    } else {
        Finding::ok("clock", "this machine and PostgreSQL agree on the time")
    });
    let (alive, gone): (Vec<_>, Vec<_>) = engine.daemons.iter().partition(|daemon| daemon.is_alive);
    let names = |daemons: &[&store::LeasedDaemon]| {
        let names: Vec<String> = daemons.iter().map(|daemon| format!("{} ({})", daemon.host, daemon.version)).collect();
        names.join(", ")
    };
    if !alive.is_empty() {
        findings.push(Finding::ok("lease", format!("these daemons are there: {}", names(&alive))));
    }
    if !gone.is_empty() {
        findings.push(Finding::note(
            "lease",
            format!("nothing was heard lately of: {}", names(&gone)),
            "If they are meant to run, look at them. Otherwise nothing needs to be done.",
        ));
    }
    findings
}
