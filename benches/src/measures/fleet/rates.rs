//! Answers per second from 64 clients, with one hub and with more.

use crate::calls;
use crate::fleet::{Fleet, Store};
use crate::http::request;
use crate::lab::Lab;
use crate::markdown::{Table, count, or_not, ratio, time};
use crate::progress::note;
use crate::report::{Facts, Section};
use crate::stats::Samples;
use crate::svg::{Plot, Scale, Series};
use crate::swarm::{self, Swarm};

/// How many answers are on their way at a time.
const CLIENTS: usize = 64;
/// How many questions are opened and then answered. A host may have 1,000 open ones in PostgreSQL.
const BATCH: usize = 896;

/// What some hubs of a fleet were seen to do.
struct Seen<'a> {
    fleet: &'a Fleet,
    hubs: usize,
    seconds: f64,
    answers: usize,
    latencies: Samples,
    /// The CPU time of the hubs, and of the engines.
    cpu: (f64, f64),
}

impl Seen<'_> {
    fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }

    /// Opens questions at all of the hubs, and answers them at all of the hubs.
    fn run_batch(&mut self) {
        let sockets: Vec<_> = self.fleet.hubs[..self.hubs].iter().map(|hub| hub.socket()).collect();
        let open = vec![request("POST", "/v1/asks", calls::ASK); BATCH];
        let opened = Swarm::across(&sockets, CLIENTS).run(open, 201);
        self.fleet.until_open(BATCH);
        let requests = opened.bodies.iter().map(|body| {
            let key = swarm::text_field(body, "key").unwrap();
            request("POST", &format!("/v1/asks/{key}/answer"), calls::ANSWER)
        });
        let requests: Vec<_> = requests.collect();
        let before = self.fleet.cpu();
        let answered = Swarm::across(&sockets, CLIENTS).run(requests, 200);
        let after = self.fleet.cpu();
        self.fleet.until_open(0);
        self.seconds += answered.seconds;
        self.answers += BATCH;
        self.cpu = (self.cpu.0 + after.0 - before.0, self.cpu.1 + after.1 - before.1);
        self.latencies.append(&answered.latencies);
    }
}

pub fn measure(lab: &Lab, fleets: &[Fleet], facts: &mut Facts, section: &mut Section) {
    note("answers per second, with one hub and with more");
    let mut seen: Vec<Seen<'_>> = Vec::new();
    for fleet in fleets {
        for hubs in 1..=fleet.hubs.len() {
            seen.push(Seen { fleet, hubs, seconds: 0.0, answers: 0, latencies: Samples::default(), cpu: (0.0, 0.0) });
        }
    }
    for _ in 0..lab.pick(12, 1) {
        for seen in &mut seen {
            seen.run_batch();
        }
    }
    let base = seen[0].rate();
    let mut table = Table::new(["store", "hubs", "answers/s", "x SQLite", "median", "p99", "CPU, hubs", "CPU, engine"]);
    let mut series: Vec<Series> = Vec::new();
    for seen in &seen {
        let (store, rate) = (seen.fleet.store, seen.rate());
        facts.set(format!("fleet.rate.{}.{}", store.word(), seen.hubs), Some(rate));
        table.row([
            store.name().to_owned(),
            seen.hubs.to_string(),
            count(rate),
            ratio(rate / base),
            or_not(seen.latencies.median(), time),
            or_not(seen.latencies.p99(), time),
            time(seen.cpu.0 / seen.answers as f64),
            if store == Store::Sqlite { String::new() } else { time(seen.cpu.1 / seen.answers as f64) },
        ]);
        if seen.hubs == 1 {
            series.push(Series { name: store.name().to_owned(), points: Vec::new() });
        }
        if let Some(series) = series.last_mut() {
            series.points.push((seen.hubs as f64, rate));
        }
    }
    if let Some(sqlite) = series.iter_mut().find(|series| series.name == Store::Sqlite.name()) {
        sqlite.name = format!("{}, one daemon", sqlite.name);
    }
    section.text(format!(
        "{CLIENTS} clients answer, each of them one question after the other. They are spread over the hubs, and a question is mostly \
         answered at another hub than the one that opened it. The CPU time is that of one answer: of all hubs, and of all processes of \
         the engines."
    ));
    section.table(table);
    section.plot(
        "performance-fleet-hubs.svg",
        Plot {
            title: "Answers per second with more hubs".to_owned(),
            x: "hubs".to_owned(),
            y: "answers per second".to_owned(),
            scale: Scale::Linear,
            series,
        },
    );
}
