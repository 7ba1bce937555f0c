//! One event to many readers of the event stream.

use std::time::Instant;

use crate::calls::{self, Template};
use crate::lab::{Lab, Place};
use crate::markdown::{Table, count, or_not, ratio_of, time};
use crate::park::park_one;
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};
use crate::stats::Samples;
use crate::svg::{Plot, Scale, Series};
use crate::swarm::Readers;

use super::growth;

/// Curves are fitted from this many readers on.
const FROM: f64 = 100.0;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let template = Template::capture(lab);
    let levels = lab.pick(vec![1, 10, 100, 300, 1000], vec![1, 10, 100]);
    let servers = Server::start_all(lab, Place::Disk);
    let mut readers: Vec<Readers> = servers.iter().map(|_| Readers::default()).collect();
    let mut times: Vec<Vec<Samples>> = vec![vec![Samples::default(); levels.len()]; servers.len()];
    let mut number = 0;
    for (index, level) in levels.iter().enumerate() {
        for (server, readers) in servers.iter().zip(&mut readers) {
            while readers.len() < *level {
                readers.add(server.events());
            }
        }
        for _ in 0..lab.pick(40, 5) {
            number += 1;
            for ((server, readers), times) in servers.iter().zip(&mut readers).zip(&mut times) {
                let mut conn = server.connect();
                let started = Instant::now();
                let hook = park_one(&server.socket(), &template, number);
                readers.until_all_have("event: ask.opened");
                times[index].push_since(started);
                conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
                readers.until_all_have("event: ask.settled");
                drop(hook);
            }
        }
    }
    let last = levels.len() - 1;
    let of = |kind: Kind| servers.iter().position(|server| server.kind == kind);
    let limit = of(Kind::Epoll).and_then(|index| times[index][last].median());
    let ours = of(Kind::Answerback).and_then(|index| times[index][last].median());
    let most = format!("{} readers", count(levels[last] as f64));
    let mut table = Table::new(["daemon", "1 reader", &most, "p99", "x limit", "x Answerback"]);
    let mut series = Vec::new();
    for (server, times) in servers.iter().zip(&times) {
        let median = times[last].median();
        facts.set(format!("fanout.{}", server.kind.word()), median);
        table.row([
            server.kind.name().to_owned(),
            or_not(times[0].median(), time),
            or_not(median, time),
            or_not(times[last].p99(), time),
            ratio_of(median, limit),
            ratio_of(median, ours),
        ]);
        let points = levels.iter().zip(times).filter_map(|(level, times)| Some((*level as f64, times.median()? * 1e3)));
        let series_of = Series { name: server.kind.name().to_owned(), points: points.collect() };
        if server.kind == Kind::Answerback {
            growth::keep("fanout", &series_of, FROM, facts);
        }
        series.push(series_of);
    }
    Server::missing(&servers).for_each(|name| table.not_measured(name));
    let plot = Plot {
        title: "One event to many readers".to_owned(),
        x: "readers of the event stream".to_owned(),
        y: "milliseconds until the last reader has it".to_owned(),
        scale: Scale::Log,
        series,
    };
    let mut section = Section::new("One event to many readers");
    section.text(
        "The page and other companions follow the event stream. A hook opens a question, and the time is until the last reader has \
         the event. Answerback writes the question to the disk first. The others do not. One program reads all streams.",
    );
    section.table(table);
    section.table(growth::fits(&plot, FROM, 100.0, "time", |millis| time(millis / 1e3)));
    section.plot("performance-fanout.svg", plot);
    section
}
