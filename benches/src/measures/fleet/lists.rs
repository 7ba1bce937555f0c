//! The list of many open questions.

use std::time::Instant;

use crate::calls;
use crate::fleet::{Fleet, Store};
use crate::http::request;
use crate::lab::Lab;
use crate::markdown::{Table, count, or_not, ratio_of, time};
use crate::progress::note;
use crate::report::{Facts, Section};
use crate::servers::Server;
use crate::stats::Samples;
use crate::swarm::Swarm;

/// In PostgreSQL, a host may have 1,000 open questions, and 900 of these may be of programs.
const HOSTS: usize = 10;
const EACH: usize = 900;

pub fn measure(lab: &Lab, fleets: &[Fleet], facts: &mut Facts, section: &mut Section) {
    let each = lab.pick(EACH, 50);
    let open = HOSTS * each;
    note("the list of many open questions");
    for fleet in fleets {
        let requests = vec![request("POST", "/v1/asks", calls::ASK); each];
        for edge in &fleet.edges[..HOSTS] {
            Swarm::new(&edge.socket(), 16).run(requests.clone(), 201);
        }
        fleet.until_open(open);
    }
    let hubs: Vec<(Store, &Server)> = fleets.iter().map(|fleet| (fleet.store, &fleet.hubs[0])).collect();
    let mut times: Vec<Samples> = vec![Samples::default(); hubs.len()];
    let mut sizes = vec![0; hubs.len()];
    for _ in 0..lab.pick(60, 3) {
        for (((_, hub), times), size) in hubs.iter().zip(&mut times).zip(&mut sizes) {
            let mut conn = hub.connect();
            let started = Instant::now();
            *size = conn.open_asks().unwrap().into_iter().map(|page| page.expect(200).body.len()).sum();
            times.push_since(started);
        }
    }
    let mut table = Table::new(["store", "median", "p99", "x SQLite", "bytes"]);
    for (((store, _), samples), size) in hubs.iter().zip(&times).zip(&sizes) {
        facts.set(format!("fleet.list.{}", store.word()), samples.median());
        table.row([
            store.name().to_owned(),
            or_not(samples.median(), time),
            or_not(samples.p99(), time),
            ratio_of(samples.median(), times[0].median()),
            count(*size as f64),
        ]);
    }
    section.text(format!(
        "The time to list {} open questions of {HOSTS} edges. In PostgreSQL, none of these edges is linked with the hub that lists \
         them.",
        count(open as f64)
    ));
    section.table(table);
}
