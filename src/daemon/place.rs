//! Where the daemon has its asks.

use anyhow::Context;

use crate::address;
use crate::ask::Host;
use crate::config::Config;
use crate::instance::{self, Instance};
use crate::store::{Opening, PostgresOptions, Snapshot};

/// Opens the store of the configuration: its own file, PostgreSQL, or a hub.
pub(super) async fn open(instance: &Instance, config: &Config) -> anyhow::Result<(Opening, Snapshot)> {
    if let Some(hub) = &config.hub {
        let options = instance::hub_options(instance.paths(), hub, config.hub_ca.as_deref())?;
        tracing::info!(%hub, host = options.host.as_str(), "this is an edge");
        return Opening::attach(options).await.with_context(|| format!("cannot use the hub {hub}"));
    }
    let host = config.host_name.as_ref().map_or_else(|| Host::new(&address::host_name()), |name| name.0.clone());
    if let Some(address) = &config.store {
        let options = PostgresOptions::parse(address.reveal())?;
        let place = options.to_string();
        return Opening::connect(options, host).await.with_context(|| format!("cannot use {place}"));
    }
    let file = instance.paths().store();
    // The first start creates the store before the tokens. So if there are no tokens, there was no store.
    let is_first = !instance.paths().tokens().exists();
    Opening::open(&file, is_first, host).with_context(|| format!("cannot use {}", file.display()))
}
