//! The HTTP side: connections, the guard, the API. Only this room uses hyper and axum.
//!
//! Every request passes the guard, then the check of its route's scope, and then reaches its handler. `routes` puts each route into the
//! group of its scope, so no route can go without that check.

mod ask_list;
mod asks;
mod away;
mod connections;
mod context;
mod daemon;
mod description;
mod descriptors;
mod devices;
mod entrance;
mod events;
mod extract;
mod guard;
mod hook;
mod hook_connection;
mod hosts;
mod lan;
mod linger;
mod link;
mod page;
mod pairing;
mod people;
mod places;
mod plain_stream;
mod previews;
mod problem;
mod query;
mod reach;
mod refusals;
mod room;
mod routes;
mod sessions;
mod setup;
mod sign_in;
mod strict_json;
mod websocket;
mod write_timeout;

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::access::Access;
use crate::claude_code::Bridge;
use crate::inbox::Inbox;
use crate::registry::Registry;

use ask_list::ListWriter;
pub(crate) use connections::{Listeners, bound_send_buffer, serve};
pub(crate) use descriptors::Shares;
use entrance::Names;
use events::Frames;
pub(crate) use lan::Lan;
use previews::Previews;
pub(crate) use reach::{LanReach, Reach};
use websocket::Holders;

/// The state that all handlers share. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    registry: Registry,
    access: Access,
    names: Names,
    reach: Reach,
    previews: Previews,
    frames: Frames,
    list_writer: ListWriter,
    holders: Arc<Holders>,
    bridge: Bridge,
    inbox: Inbox,
    ways: Vec<&'static str>,
    shares: Shares,
    closing: watch::Receiver<bool>,
    stop: Arc<Notify>,
}

/// What the handlers translate requests for.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) registry: Registry,
    pub(crate) inbox: Inbox,
    pub(crate) bridge: Bridge,
    pub(crate) access: Access,
    /// The names of the ways in which somebody is notified.
    pub(crate) ways: Vec<&'static str>,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl App {
    /// `port` is the port of the API on 127.0.0.1. `reach` says where else it can be reached. Long requests end when `closing` is true.
    pub(crate) fn new(
        services: Services,
        shares: Shares,
        port: u16,
        reach: Reach,
        closing: watch::Receiver<bool>,
    ) -> Self {
        let Services { registry, inbox, bridge, access, ways } = services;
        Self(Arc::new(Shared {
            bridge,
            inbox,
            registry,
            access,
            names: Names::new(port, &reach),
            reach,
            previews: Previews::default(),
            frames: Frames::default(),
            list_writer: ListWriter::default(),
            holders: Arc::default(),
            ways,
            shares,
            closing,
            stop: Arc::default(),
        }))
    }

    /// Notified when an authorized caller asks the daemon to stop.
    pub(crate) fn stop(&self) -> Arc<Notify> {
        Arc::clone(&self.stop)
    }

    /// Returns when the daemon stops.
    async fn closing(&self) {
        let mut closing = self.closing.clone();
        // An error means that the daemon is gone already.
        drop(closing.wait_for(|closing| *closing).await);
    }

    /// Waits for `event`, but not longer than `patience`, and not after the daemon stops.
    async fn wait_at_most<T>(&self, patience: Duration, event: impl Future<Output = T>) {
        tokio::select! {
            _ = event => {}
            () = tokio::time::sleep(patience) => {}
            () = self.closing() => {}
        }
    }
}
