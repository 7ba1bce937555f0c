//! The hub of an edge: can it be reached, is it the right one, does it let this machine in?

use answerback_hook::hint::Hint;
use answerback_hook::paths::Paths;

use crate::config::Config;
use crate::instance;
use crate::store::{self, Greeting, HubError};

use super::Finding;

/// Clocks that differ by less need no attention. The deadlines of questions do not depend on it.
const CLOCKS_DIFFER: i64 = 30_000;

/// `None` if this machine has no hub.
pub(super) fn examine(paths: &Paths) -> Option<Vec<Finding>> {
    // A configuration that cannot be read has a finding of its own.
    let config = Config::load(&paths.config_file()).ok()?;
    let hub = config.hub?;
    let options = match instance::hub_options(paths, &hub, config.hub_ca.as_deref()) {
        Ok(options) => options,
        Err(error) => {
            let fix = error.hint().unwrap_or_else(|| format!("Run: answerback join {hub}"));
            return Some(vec![Finding::error("hub", error.to_string(), fix)]);
        }
    };
    let expected = options.host.clone();
    let greeted = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(store::greet(options)),
        Err(error) => Err(HubError::Unreachable(error.to_string())),
    };
    Some(match greeted {
        Ok(greeting) if greeting.host != expected => vec![Finding::error(
            "hub",
            format!("the host token is that of {}, and this machine is {}", greeting.host.as_str(), expected.as_str()),
            format!("Run: answerback join {hub}"),
        )],
        Ok(greeting) => {
            let said = format!("the hub {hub} knows this machine as {}", greeting.host.as_str());
            let mut findings = vec![Finding::ok("hub", said)];
            findings.extend(clock(&greeting));
            findings.push(version(&greeting));
            findings
        }
        Err(error) => vec![Finding::error("hub", format!("the hub {hub} cannot be used: {error}"), fix(&error))],
    })
}

fn fix(error: &HubError) -> &'static str {
    match error {
        HubError::Unreachable(_) => {
            "Check that the hub runs, and that this machine reaches it. Until then, Claude Code asks in the terminal."
        }
        HubError::Certificate(_) => {
            "Somebody may be between this machine and the hub. If the hub has a new certificate, join again, or name its authority in \
             hub_ca of config.toml."
        }
        HubError::Refused(_) | HubError::Replaced => {
            "Make a new token at the hub with `answerback host add`, and run `answerback join` here."
        }
    }
}

fn clock(greeting: &Greeting) -> Option<Finding> {
    let ahead = greeting.clock_ahead;
    (ahead.abs() > CLOCKS_DIFFER).then(|| {
        let (seconds, way) = (ahead.abs() / 1000, if ahead > 0 { "ahead of" } else { "behind" });
        Finding::warning(
            "clock",
            format!("the clock of this machine is {seconds} s {way} the hub's"),
            "Set both clocks by the network. The times in the history are the hub's.",
        )
    })
}

fn version(greeting: &Greeting) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    if greeting.software == own {
        return Finding::ok("hub_version", format!("the hub has the same version, {own}"));
    }
    Finding::note(
        "hub_version",
        format!("the hub has version {}, and this is {own}", greeting.software),
        "They understand each other. Update the older one when it suits you.",
    )
}
