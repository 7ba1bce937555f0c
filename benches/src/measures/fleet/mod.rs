//! Many machines: hubs on PostgreSQL, without and with a synchronous standby, beside one daemon on SQLite.

mod edges;
mod lists;
mod rates;
mod wakes;

use crate::fleet::{Fleet, STORES, Store};
use crate::lab::Lab;
use crate::postgres;
use crate::report::{Facts, Section};

/// How many hubs share an engine at most.
const HUBS: usize = 3;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let mut section = Section::new("Many machines");
    if !postgres::is_installed() {
        section.text("This was not measured, because PostgreSQL is not installed.");
        return section;
    }
    section.text(
        "[Hubs](fleet.md) share a PostgreSQL, and edges are linked with them. Here, all of it runs on one machine and one disk: the \
         engine, its standby, the hubs, the edges, and the program that measures. So a network costs nothing, and all of them share \
         the processors. The hubs reach the engine by a unix socket, and the edges reach their hub by TLS. The engine has the \
         settings of a usual installation, with `fsync` on. \"Standby\" means that each commit \
         also waits until a second engine has written it to the disk. The base of each ratio is one daemon with SQLite, in the \
         same run.",
    );
    let mut fleets: Vec<Fleet> = STORES
        .into_iter()
        .map(|store| Fleet::start(lab, store, if store == Store::Sqlite { 1 } else { HUBS }))
        .collect();
    wakes::measure(lab, &mut fleets, facts, &mut section);
    rates::measure(lab, &fleets, facts, &mut section);
    drop(fleets);
    edges::measure(lab, facts, &mut section);
    section
}
