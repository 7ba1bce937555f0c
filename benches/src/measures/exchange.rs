//! One whole exchange without a disk: a call is registered, answered and released.

use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::calls::{self, Template};
use crate::http::Conn;
use crate::lab::{Lab, Place};
use crate::markdown::{Table, or_not, ratio_of, time};
use crate::park::park_one;
use crate::report::{Facts, Section};
use crate::servers::Server;
use crate::stats::Samples;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let template = Template::capture(lab);
    // Processes inherit the choice, so the daemons run there too.
    let all = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap_or(0);
    one.set(first);
    sched_setaffinity(None, &one).unwrap();
    let servers = Server::start_all(lab, Place::Memory);
    let mut connections: Vec<Conn> = servers.iter().map(Server::connect).collect();
    let mut times = vec![Samples::default(); servers.len()];
    let warm_up = 50;
    for number in 0..lab.pick(1500, 60) + warm_up {
        for ((server, conn), times) in servers.iter().zip(&mut connections).zip(&mut times) {
            let started = Instant::now();
            let mut hook = park_one(&server.socket(), &template, number);
            conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
            hook.read().unwrap().expect(200);
            if number >= warm_up {
                times.push_since(started);
            }
        }
    }
    sched_setaffinity(None, &all).unwrap();
    let mut table = Table::new(["daemon", "median", "p99", "x limit", "x Answerback"]);
    for (server, samples) in servers.iter().zip(&times) {
        facts.set(format!("exchange.{}", server.kind.word()), samples.median());
    }
    for (server, samples) in servers.iter().zip(&times) {
        let median = samples.median();
        table.row([
            server.kind.name().to_owned(),
            or_not(median, time),
            or_not(samples.p99(), time),
            ratio_of(median, facts.get("exchange.epoll")),
            ratio_of(median, facts.get("exchange.product")),
        ]);
    }
    Server::missing(&servers).for_each(|name| table.not_measured(name));
    let mut section = Section::new("One exchange without a disk");
    section.text(
        "A hook connects and sends its question, a person answers on a connection that is kept, and the hook gets the answer. The \
         daemon and the program that measures share one core. Answerback has its files in memory, so a sync costs nothing. It still \
         runs every transaction and makes every check.",
    );
    section.table(table);
    section.text(
        "The other daemons only change a table in memory. Answerback runs two transactions in SQLite, on a thread of their own. That \
         is most of the difference.",
    );
    section
}
