//! What edges cost: memory of the hub, connections at the engine, and time.

use std::thread;
use std::time::Duration;

use crate::calls::Template;
use crate::fleet::{Fleet, Store};
use crate::lab::Lab;
use crate::markdown::{Table, bytes, count, or_not, ratio, time};
use crate::process::{self, Memory};
use crate::progress::note;
use crate::report::{Facts, Section};
use crate::stats::Samples;
use crate::svg::{Plot, Scale, Series};

use super::lists;
use super::wakes::Way;

/// How many hubs a fleet with PostgreSQL has. All edges are linked with the last one, and people answer at the first one.
const HUBS: usize = 2;
/// Long enough for a hub to have put away what a new link needed only once.
const SETTLING: Duration = Duration::from_secs(6);
/// After this time without work, every process of the engine has told what it has done.
const TELLING: Duration = Duration::from_secs(11);
/// Several times the pause between two beats of a link.
const WATCHED: Duration = Duration::from_secs(30);

/// What a fleet was seen to need with a number of edges.
struct Seen {
    store: Store,
    edges: usize,
    memory: Memory,
    connections: Option<f64>,
    woken: Option<f64>,
}

pub fn measure(lab: &Lab, facts: &mut Facts, section: &mut Section) {
    let levels = lab.pick(vec![0, 1, 10, 50, 100], vec![0, 1, 10]);
    let template = Template::capture(lab);
    let mut fleets = [Fleet::start(lab, Store::Sqlite, 1), Fleet::start(lab, Store::Postgres, HUBS)];
    let mut seen: Vec<Seen> = Vec::new();
    for (step, level) in levels.iter().copied().enumerate() {
        note(&format!("{level} edges"));
        for fleet in &mut fleets {
            let last = fleet.hubs.len() - 1;
            while fleet.edges.len() < level {
                fleet.add_edge(lab, last);
            }
        }
        thread::sleep(SETTLING);
        let look = |fleet: &Fleet| {
            let memory = process::memory(last_hub(fleet));
            Seen { store: fleet.store, edges: level, memory, connections: fleet.connections(), woken: None }
        };
        let mut now: Vec<Seen> = fleets.iter().map(look).collect();
        if level > 0 {
            for (seen, woken) in now.iter_mut().zip(wakes(lab, &template, &fleets, step)) {
                seen.woken = woken;
            }
        }
        seen.extend(now);
    }
    section.text(
        "Real daemons as edges, all of them linked with the same hub. With PostgreSQL, there is a second hub, at which people answer. \
         The memory is that of the hub with the links (private dirty), and the time is until a hook at one of the edges has its \
         answer. Connections are those of both hubs at the engine.",
    );
    section.table(table(&seen, facts));
    watch(lab, &fleets, facts, section);
    plots(&seen, section);
    lists::measure(lab, &fleets, facts, section);
}

/// The process of the hub that all edges are linked with.
fn last_hub(fleet: &Fleet) -> u32 {
    fleet.hubs[fleet.hubs.len() - 1].pid()
}

/// The median times until a hook has its answer, at edges that take turns.
fn wakes(lab: &Lab, template: &Template, fleets: &[Fleet], step: usize) -> Vec<Option<f64>> {
    let rounds = lab.pick(200, 10);
    let mut ways: Vec<Vec<Way<'_>>> = fleets
        .iter()
        .map(|fleet| {
            let edges = fleet.edges.iter().take(rounds).enumerate();
            edges.map(|(number, edge)| Way::new(step * 100 + number, edge, &fleet.hubs[0])).collect()
        })
        .collect();
    for ways in &mut ways {
        let edges = ways.len();
        (0..rounds).for_each(|round| ways[round % edges].park(template));
    }
    for round in 0..rounds {
        for ways in &mut ways {
            let edges = ways.len();
            ways[round % edges].answer(round / edges);
        }
    }
    let median = |ways: &Vec<Way<'_>>| {
        let mut all = Samples::default();
        ways.iter().for_each(|way| all.append(&way.woken));
        all.median()
    };
    ways.iter().map(median).collect()
}

fn table(seen: &[Seen], facts: &mut Facts) -> Table {
    let mut table =
        Table::new(["store", "edges", "memory", "each edge", "connections", "hook has its answer", "x SQLite"]);
    for Seen { store, edges, memory, connections, woken } in seen {
        let idle = seen.iter().find(|idle| idle.store == *store && idle.edges == 0);
        let each = idle.filter(|_| *edges > 0);
        let each = each.map(|idle| (memory.private_dirty - idle.memory.private_dirty) / *edges as f64);
        let base = seen.iter().find(|base| base.store == Store::Sqlite && base.edges == *edges);
        facts.set(format!("fleet.memory.{}.{edges}", store.word()), Some(memory.private_dirty));
        facts.set(format!("fleet.connections.{}.{edges}", store.word()), *connections);
        table.row([
            store.name().to_owned(),
            edges.to_string(),
            bytes(memory.private_dirty),
            each.map_or(String::new(), |each| bytes(each.max(0.0))),
            connections.map_or(String::new(), count),
            woken.map_or(String::new(), time),
            base.and_then(|base| Some(ratio((*woken)? / base.woken?))).unwrap_or_default(),
        ]);
    }
    table
}

/// What all of the edges cost while nothing happens.
fn watch(lab: &Lab, fleets: &[Fleet], facts: &mut Facts, section: &mut Section) {
    let watched = lab.pick(WATCHED, Duration::from_secs(2));
    note("all edges, while nothing happens");
    thread::sleep(lab.pick(TELLING, Duration::ZERO));
    let look = |fleet: &Fleet| (process::cpu(last_hub(fleet)), fleet.commits());
    let before: Vec<_> = fleets.iter().map(look).collect();
    thread::sleep(watched);
    let mut table = Table::new(["store", "CPU time of the hub", "of one processor", "commits/s", "memory of an edge"]);
    for (fleet, (cpu, commits)) in fleets.iter().zip(before) {
        let (cpu_now, commits_now) = look(fleet);
        let used = cpu_now - cpu;
        let share = used / watched.as_secs_f64();
        let rate = commits_now.zip(commits).map(|(now, before)| (now - before) / watched.as_secs_f64());
        facts.set(format!("fleet.idle.{}.cpu", fleet.store.word()), Some(share));
        let edges: Samples = fleet.edges.iter().map(|edge| process::memory(edge.pid()).private_dirty).collect();
        table.row([
            fleet.store.name().to_owned(),
            time(used),
            format!("{:.2} %", 100.0 * share),
            rate.map_or(String::new(), |rate| format!("{rate:.1}")),
            or_not(edges.median(), bytes),
        ]);
    }
    section.text(format!(
        "{} seconds with all {} edges, in which nothing was asked. Each link sends a sign of life every few seconds, and a hub keeps \
         the names of its edges in the store.",
        watched.as_secs(),
        fleets[0].edges.len()
    ));
    section.table(table);
}

fn plots(seen: &[Seen], section: &mut Section) {
    let series = |value: fn(&Seen) -> Option<f64>| {
        let of = |store: Store| Series {
            name: store.name().to_owned(),
            points: seen
                .iter()
                .filter(|seen| seen.store == store)
                .filter_map(|seen| Some((seen.edges as f64, value(seen)?)))
                .collect(),
        };
        vec![of(Store::Sqlite), of(Store::Postgres)]
    };
    let plot = |title: &str, y: &str, series| Plot {
        title: title.to_owned(),
        x: "edges".to_owned(),
        y: y.to_owned(),
        scale: Scale::Linear,
        series,
    };
    section.plot(
        "performance-fleet-edges.svg",
        plot(
            "An answer reaches the hook at an edge",
            "milliseconds",
            series(|seen| seen.woken.map(|seconds| seconds * 1e3)),
        ),
    );
    section.plot(
        "performance-fleet-memory.svg",
        plot(
            "Memory of a hub with its edges",
            "megabytes, private dirty",
            series(|seen| Some(seen.memory.private_dirty / 1_048_576.0)),
        ),
    );
}
