//! A durable answer: until the person knows that it counts, and until the hook has ended.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{self, Hook, OUTPUT, StandIn, question, start_hook};
use crate::disk::Log;
use crate::http::Conn;
use crate::lab::{Lab, Place};
use crate::markdown::{Table, bytes, or_not, ratio_of, time};
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};
use crate::stats::Samples;

use super::seen::bytes_of_an_answer;

/// Long enough for the machine to become idle.
const PAUSE: Duration = Duration::from_millis(20);

/// The times of one daemon.
#[derive(Default)]
struct Times {
    posted: Samples,
    ended: Samples,
}

/// What was measured with one pause.
struct Run {
    syncs: Samples,
    exits: Samples,
    servers: Vec<Times>,
}

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let probe = Server::start(lab, Kind::Answerback, Place::Disk).unwrap();
    let record = bytes_of_an_answer(lab, &probe);
    drop(probe);
    facts.set("answer.bytes", Some(record as f64));
    let mut section = Section::new("One durable answer");
    section.text(
        "A person answers a question that a real hook waits for. The daemon writes the answer to the disk before it replies. The \
         limit is one sync of as many bytes as the daemon writes, plus the time that a hook needs to print a reply and to end. \
         Only Answerback writes answers to the disk. The other daemons keep them in memory.",
    );
    for (pause, word, words) in [
        (PAUSE, "idle", "The machine was idle before each answer. So each step also pays for waking up a CPU:"),
        (Duration::ZERO, "busy", "The same with one answer right after the other:"),
    ] {
        let servers = Server::start_all(lab, Place::Disk);
        let run = measure(lab, &servers, record, pause);
        section.text(words);
        section.table(table(&run, &servers, record, word, facts));
    }
    let (sync, answer) = (facts.get("answer.busy.sync"), facts.get("answer.busy.posted"));
    if let Some((sync, answer)) = sync.zip(answer) {
        section.text(format!(
            "One after the other, the sync alone is {:.0} % of the time between the person's request and its reply.",
            100.0 * sync / answer
        ));
    }
    section
}

fn measure(lab: &Lab, servers: &[Server], record: usize, pause: Duration) -> Run {
    let rounds = lab.pick(80, 10);
    let mut log = Log::new(lab, record);
    let stand_in = StandIn::new(lab);
    let mut run = Run {
        syncs: Samples::default(),
        exits: Samples::default(),
        servers: servers.iter().map(|_| Times::default()).collect(),
    };
    let mut bare: Vec<(Hook, UnixStream)> = (0..rounds)
        .map(|_| {
            let hook = stand_in.start_hook(&lab.hook, &question(0));
            let (mut stream, _) = stand_in.accept();
            StandIn::say_parked(&mut stream);
            (hook, stream)
        })
        .collect();
    let mut waiting: Vec<(Conn, Vec<Hook>)> =
        servers.iter().map(|server| (server.connect(), wait_with_hooks(lab, server, rounds))).collect();
    for number in 0..rounds {
        thread::sleep(pause);
        run.syncs.push(Duration::from_secs_f64(log.append(1)));
        thread::sleep(pause);
        let (hook, stream) = &mut bare[number];
        let started = Instant::now();
        calls::reply(stream, OUTPUT).unwrap();
        hook.wait();
        run.exits.push_since(started);
        for ((conn, hooks), times) in waiting.iter_mut().zip(&mut run.servers) {
            thread::sleep(pause);
            let started = Instant::now();
            conn.call("POST", &calls::answer_path(number), calls::ANSWER).unwrap().expect(200);
            times.posted.push_since(started);
            hooks[number].wait();
            times.ended.push_since(started);
        }
    }
    run
}

/// Starts hooks, and waits until all of them are parked.
fn wait_with_hooks(lab: &Lab, server: &Server, count: usize) -> Vec<Hook> {
    let mut events = server.events();
    let start = |number| {
        let hook = start_hook(&server.home, &lab.hook, &question(number));
        events.wait_for(&calls::key(number)).unwrap();
        hook
    };
    let hooks = (0..count).map(start).collect();
    // The last hook learns that it is parked a little later than the reader of the events.
    thread::sleep(Duration::from_millis(50));
    hooks
}

fn table(run: &Run, servers: &[Server], record: usize, word: &str, facts: &mut Facts) -> Table {
    let floor = run.syncs.median().zip(run.exits.median()).map(|(sync, exit)| sync + exit);
    facts.set(format!("answer.{word}.sync"), run.syncs.median());
    facts.set(format!("answer.{word}.floor"), floor);
    let mut table = Table::new(["step", "median", "p99", "x limit"]);
    let mut row = |name: String, median: Option<f64>, p99: Option<f64>| {
        table.row([name, or_not(median, time), p99.map_or(String::new(), time), ratio_of(median, floor)]);
    };
    row(format!("one append of {}, fdatasync", bytes(record as f64)), run.syncs.median(), run.syncs.p99());
    row("a hook gets its reply and ends".to_owned(), run.exits.median(), run.exits.p99());
    row("both, which is the limit".to_owned(), floor, None);
    for (server, times) in servers.iter().zip(&run.servers) {
        let (posted, ended) = (times.posted.median(), times.ended.median());
        if server.kind == Kind::Answerback {
            facts.set(format!("answer.{word}.posted"), posted);
            facts.set(format!("answer.{word}.ended"), ended);
            row("**Answerback**: the person has the reply, durable".to_owned(), posted, times.posted.p99());
            row("**Answerback**: the hook has ended, durable".to_owned(), ended, times.ended.p99());
        } else {
            row(format!("{}: the hook has ended, not durable", server.kind.name()), ended, times.ended.p99());
        }
    }
    Server::missing(servers).for_each(|name| table.not_measured(name));
    table
}
