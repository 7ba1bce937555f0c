//! One answer: until the person has the reply, and until the hook has it, which may wait at another machine.

use std::time::{Duration, Instant};

use crate::calls::{self, Template};
use crate::disk::Log;
use crate::fleet::{Fleet, Store};
use crate::http::Conn;
use crate::lab::Lab;
use crate::markdown::{Table, or_not, ratio_of, time};
use crate::park::park_one;
use crate::progress::note;
use crate::report::{Facts, Section};
use crate::servers::Server;
use crate::stats::Samples;

/// As many bytes as PostgreSQL writes at least.
const PAGE: usize = 8192;
/// Each way has numbers of its own, because some of them share a store. It is more than a way needs.
const NUMBERS: usize = 1000;

/// Where the hook waits, and where the person answers.
pub struct Way<'a> {
    waits_at: &'a Server,
    conn: Conn,
    parked: Vec<Conn>,
    first: usize,
    /// Until the person has the reply.
    pub posted: Samples,
    /// Until the hook has the reply.
    pub woken: Samples,
}

impl<'a> Way<'a> {
    /// A way with the questions of this number of a way.
    pub fn new(number: usize, waits_at: &'a Server, answered_at: &Server) -> Self {
        let (posted, woken) = (Samples::default(), Samples::default());
        Self { waits_at, conn: answered_at.connect(), parked: Vec::new(), first: number * NUMBERS, posted, woken }
    }

    /// Lets one more hook wait.
    pub fn park(&mut self, template: &Template) {
        let number = self.first + self.parked.len();
        self.parked.push(park_one(&self.waits_at.socket(), template, number));
    }

    /// Answers one of the questions that wait.
    pub fn answer(&mut self, index: usize) {
        let path = calls::answer_path(self.first + index);
        let started = Instant::now();
        self.conn.call("POST", &path, calls::ANSWER).unwrap().expect(200);
        self.posted.push_since(started);
        let reply = self.parked[index].read().unwrap().expect(200);
        self.woken.push_since(started);
        assert!(!reply.body.is_empty(), "a hook got no answer");
    }
}

pub fn measure(lab: &Lab, fleets: &mut [Fleet], facts: &mut Facts, section: &mut Section) {
    note("one answer, at the same hub and at another one");
    for fleet in fleets.iter_mut() {
        fleet.add_edge(lab, 0);
        if fleet.store != Store::Sqlite {
            fleet.add_edge(lab, 1);
        }
    }
    let [sqlite, postgres, replicated] = fleets else { panic!("there are three stores") };
    let places = [
        ("SQLite, one machine", "sqlite", &sqlite.hubs[0], &sqlite.hubs[0]),
        ("SQLite, the hook is at an edge", "sqlite.edge", &sqlite.edges[0], &sqlite.hubs[0]),
        ("PostgreSQL, the hook is at the hub", "postgres", &postgres.hubs[0], &postgres.hubs[0]),
        ("PostgreSQL, at an edge of the same hub", "postgres.edge", &postgres.edges[0], &postgres.hubs[0]),
        ("PostgreSQL, at an edge of another hub", "postgres.other", &postgres.edges[1], &postgres.hubs[0]),
        ("the same, with a standby", "replicated.other", &replicated.edges[1], &replicated.hubs[0]),
    ];
    let template = Template::capture(lab);
    let rounds = lab.pick(300, 10);
    let (mut log, mut syncs) = (Log::new(lab, PAGE), Samples::default());
    let places = places.into_iter().enumerate();
    let mut ways: Vec<(&str, &str, Way<'_>)> =
        places.map(|(number, (name, word, waits, answered))| (name, word, Way::new(number, waits, answered))).collect();
    for (.., way) in &mut ways {
        (0..rounds).for_each(|_| way.park(&template));
    }
    for round in 0..rounds {
        syncs.push(Duration::from_secs_f64(log.append(1)));
        for (.., way) in &mut ways {
            way.answer(round);
        }
    }
    let mut table = Table::new(["where", "person: median", "p99", "ratio", "hook: median", "p99", "ratio"]);
    facts.set("fleet.sync", syncs.median());
    for (name, word, way) in &ways {
        facts.set(format!("fleet.posted.{word}"), way.posted.median());
        facts.set(format!("fleet.posted.{word}.p99"), way.posted.p99());
        facts.set(format!("fleet.woken.{word}"), way.woken.median());
        let base = &ways[0].2;
        table.row([
            (*name).to_owned(),
            or_not(way.posted.median(), time),
            or_not(way.posted.p99(), time),
            ratio_of(way.posted.median(), base.posted.median()),
            or_not(way.woken.median(), time),
            or_not(way.woken.p99(), time),
            ratio_of(way.woken.median(), base.woken.median()),
        ]);
    }
    section.text(format!(
        "A person answers a question that a hook waits for. One answer follows the other. The person has the reply (200) when the \
         answer is on the disk. One append of 8 KB to a file with a sync took {} in the same run.",
        or_not(syncs.median(), time)
    ));
    section.table(table);
}
