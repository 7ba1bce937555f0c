//! How many durable answers a second the daemon takes, from one client and from many at a time.

use crate::calls;
use crate::disk::Log;
use crate::http::request;
use crate::lab::{Lab, Place};
use crate::markdown::{Table, bytes, count, or_not, ratio, time};
use crate::process;
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};
use crate::stats::Samples;
use crate::swarm::{self, Swarm};

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let daemon = Server::start(lab, Kind::Answerback, Place::Disk).unwrap();
    let mut table = Table::new(["at a time", "answers/s", "median", "p99", "each on disk", "disk alone", "share"]);
    for (clients, answers) in [(1, lab.pick(600, 60)), (8, lab.pick(3000, 200)), (64, lab.pick(8000, 600))] {
        let open = vec![request("POST", "/v1/asks", calls::ASK); answers];
        let opened = Swarm::new(&daemon.socket(), clients.max(16)).run(open, 201);
        let requests = opened.bodies.iter().map(|body| {
            let key = swarm::text_field(body, "key").unwrap();
            request("POST", &format!("/v1/asks/{key}/answer"), calls::ANSWER)
        });
        let requests: Vec<_> = requests.collect();
        let before = process::written(daemon.pid());
        let answered = Swarm::new(&daemon.socket(), clients).run(requests, 200);
        let each = ((process::written(daemon.pid()) - before) / answers as f64).max(512.0);
        let rate = answers as f64 / answered.seconds;
        let raw = raw_rate(lab, clients, each as usize);
        facts.set(format!("throughput.{clients}"), Some(rate));
        facts.set(format!("throughput.{clients}.raw"), Some(raw));
        table.row([
            clients.to_string(),
            count(rate),
            or_not(answered.latencies.median(), time),
            or_not(answered.latencies.p99(), time),
            bytes(each),
            format!("{}/s", count(raw)),
            ratio(rate / raw),
        ]);
    }
    let mut section = Section::new("Durable answers per second");
    section.text(
        "Each client sends its next answer when it has the reply to the last one. The daemon writes answers that arrive together to \
         the disk together. \"Disk alone\" is a program that appends as many bytes for each answer, for as many answers at a time, \
         with one sync for all of them. It does nothing else.",
    );
    section.table(table);
    section.text("One client waits for a sync with each answer. With many clients, one sync is for many answers.");
    section
}

/// How many records the disk takes, with one sync for as many as there are clients.
fn raw_rate(lab: &Lab, clients: usize, record: usize) -> f64 {
    let mut log = Log::new(lab, record);
    let times: Samples = (0..lab.pick(120, 10)).map(|_| log.append(clients)).collect();
    clients as f64 / times.median().unwrap_or(f64::INFINITY)
}
