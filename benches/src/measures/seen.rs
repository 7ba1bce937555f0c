//! How long it takes until a person can see a question: from the start of the hook until a reader has got it.

use std::time::Instant;

use crate::calls::{self, StandIn, Template, key, question, start_hook};
use crate::disk::Log;
use crate::lab::{Lab, Place};
use crate::markdown::{Table, bytes, or_not, ratio_of, time};
use crate::park::park_one;
use crate::process;
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};
use crate::stats::Samples;

/// How many calls tell how many bytes one of them writes.
const PROBES: usize = 40;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let daemon = Server::start(lab, Kind::Answerback, Place::Disk).unwrap();
    let record = bytes_of_an_open(lab, &daemon);
    let mut log = Log::new(lab, record);
    let stand_in = StandIn::new(lab);
    let (mut events, mut conn) = (daemon.events(), daemon.connect());
    let mut poller = daemon.connect();
    let (mut syncs, mut starts, mut streamed, mut polled) =
        (Samples::default(), Samples::default(), Samples::default(), Samples::default());
    for round in 0..lab.pick(200, 20) {
        syncs.push(std::time::Duration::from_secs_f64(log.append(1)));

        let started = Instant::now();
        let mut hook = stand_in.start_hook(&lab.hook, &question(0));
        let (mut stream, _) = stand_in.accept();
        starts.push_since(started);
        calls::reply(&mut stream, "").unwrap();
        hook.wait();

        for (way, samples) in [&mut streamed, &mut polled].into_iter().enumerate() {
            let number = 1000 + 2 * round + way;
            let list = conn.get("/v1/asks").unwrap().json();
            let path = format!("/v1/asks?since={}&wait=20", list["cursor"].as_str().unwrap());
            if way == 1 {
                poller.send(&crate::http::request("GET", &path, "")).unwrap();
            }
            let started = Instant::now();
            let mut hook = start_hook(&daemon.home, &lab.hook, &question(number));
            if way == 0 {
                events.wait_for(&key(number)).unwrap();
            } else {
                let list = poller.read().unwrap().expect(200);
                assert!(crate::http::find(&list.body, key(number).as_bytes()).is_some());
            }
            samples.push_since(started);
            conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
            hook.wait();
            events.wait_for("ask.settled").unwrap();
            events.wait_for("\n\n").unwrap();
        }
    }
    let floor = syncs.median().zip(starts.median()).map(|(sync, start)| sync + start);
    facts.set("seen.floor", floor);
    facts.set("seen.sse", streamed.median());
    facts.set("seen.poll", polled.median());
    let mut table = Table::new(["step", "median", "p99", "x limit"]);
    let mut row = |name: &str, median: Option<f64>, p99: Option<f64>| {
        table.row([name.to_owned(), or_not(median, time), p99.map_or(String::new(), time), ratio_of(median, floor)]);
    };
    row(&format!("one append of {}, fdatasync", bytes(record as f64)), syncs.median(), syncs.p99());
    row("a hook starts and sends its call", starts.median(), starts.p99());
    row("both, which is the limit", floor, None);
    row("a reader of the event stream has the question", streamed.median(), streamed.p99());
    row("a long poll returns with the question", polled.median(), polled.p99());
    let mut section = Section::new("From the question to the person");
    section.text(
        "Claude Code starts the hook. The question is written to the disk, and then it is shown to everybody who watches. The limit \
         is what cannot be avoided: the start of the hook's process, and one sync of as many bytes as the daemon writes.",
    );
    section.table(table);
    if let Some(seen) = streamed.median() {
        section
            .text(format!("So a person can see the question {} after Claude Code has started the hook.", time(seen)));
    }
    section
}

/// How many bytes go to the disk if one question is opened.
pub fn bytes_of_an_open(lab: &Lab, daemon: &Server) -> usize {
    let template = Template::capture(lab);
    let mut conn = daemon.connect();
    let before = process::written(daemon.pid());
    let parked: Vec<_> = (0..PROBES).map(|number| park_one(&daemon.socket(), &template, number)).collect();
    let written = process::written(daemon.pid()) - before;
    for number in 0..PROBES {
        conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
    }
    drop(parked);
    record_size(written)
}

/// How many bytes go to the disk if one question is answered.
pub fn bytes_of_an_answer(lab: &Lab, daemon: &Server) -> usize {
    let template = Template::capture(lab);
    let mut conn = daemon.connect();
    let parked: Vec<_> = (0..PROBES).map(|number| park_one(&daemon.socket(), &template, number)).collect();
    let before = process::written(daemon.pid());
    for number in 0..PROBES {
        conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
    }
    drop(parked);
    record_size(process::written(daemon.pid()) - before)
}

/// The kernel counts no bytes on some filesystems.
fn record_size(written: f64) -> usize {
    ((written / PROBES as f64) as usize).max(512)
}
