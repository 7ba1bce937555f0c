//! A cold start: there is no daemon, a hook starts it, and its question can be seen.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::calls::{key, question, start_hook};
use crate::http::{Conn, find};
use crate::lab::{Home, Lab, Place};
use crate::markdown::{Table, or_not, ratio_of, time};
use crate::process;
use crate::report::{Facts, Section};
use crate::seed;
use crate::servers::{Kind, Server};
use crate::stats::Samples;

/// How many settled asks an existing store has.
const SETTLED: u64 = 10_000;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let existing = existing_state(lab);
    let (mut fresh, mut used) = (Samples::default(), Samples::default());
    let mut peers = [(Kind::Node, Samples::default()), (Kind::Aiohttp, Samples::default())];
    for round in 0..lab.pick(25, 3) {
        fresh.push(start_with_hook(lab, lab.home(Place::Disk)));
        let home = lab.home(Place::Disk);
        for entry in fs::read_dir(existing.state("")).unwrap().flatten() {
            fs::copy(entry.path(), home.state("").join(entry.file_name())).unwrap();
        }
        used.push(start_with_hook(lab, home));
        // They take long, and one start is much like the other.
        for (kind, times) in peers.iter_mut().filter(|_| round % 3 == 0) {
            let started = Instant::now();
            if let Some(server) = Server::start(lab, *kind, Place::Disk) {
                times.push_since(started);
                drop(server);
            }
        }
    }
    facts.set("cold.fresh", fresh.median());
    facts.set("cold.used", used.median());
    let mut table = Table::new(["start", "median", "p99", "x Answerback"]);
    let mut row = |name: &str, samples: &Samples| {
        let median = samples.median();
        table.row([
            name.to_owned(),
            or_not(median, time),
            samples.p99().map_or(String::new(), time),
            ratio_of(median, fresh.median()),
        ]);
    };
    row("**Answerback**, by a hook, without any files", &fresh);
    row("**Answerback**, by a hook, with 10,000 settled questions", &used);
    for (kind, samples) in &peers {
        facts.set(format!("cold.{}", kind.word()), samples.median());
        row(&format!("{}, until it serves", kind.name()), samples);
    }
    let mut section = Section::new("A cold start");
    section.text(
        "There is no daemon. A hook starts one and hands in its question. The time is from the start of the hook until the question \
         is in the list, on disk. For the other daemons, it is only the time from their start until they reply to the first request.",
    );
    section.table(table);
    section
}

/// The files of a daemon that has a history and was stopped.
fn existing_state(lab: &Lab) -> Home {
    let home = lab.home(Place::Disk);
    seed::store(&home.state("asks.db"), SETTLED).unwrap();
    let server = Server::start_in(lab, Kind::Answerback, home).unwrap();
    process::until_idle(server.pid(), Duration::from_secs(20));
    let home = server.stop();
    for left_behind in ["daemon.sock", "daemon.json", "daemon.lock", "start.lock"] {
        // Some of them may not be there.
        let _ = fs::remove_file(home.state(left_behind));
    }
    home
}

fn start_with_hook(lab: &Lab, home: Home) -> Duration {
    let started = Instant::now();
    let hook = start_hook(&home, &lab.hook, &question(0));
    until_listed(&home, &key(0));
    let time = started.elapsed();
    // The hook first, because it would start another daemon.
    drop(hook);
    kill_daemon(&home);
    time
}

fn until_listed(home: &Home, key: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut conn: Option<Conn> = None;
    loop {
        conn = conn.or_else(|| Conn::open(&home.socket()).ok());
        let list = conn.as_mut().and_then(|conn| conn.get("/v1/asks").ok());
        if list.is_some_and(|list| find(&list.body, key.as_bytes()).is_some()) {
            return;
        }
        assert!(Instant::now() < deadline, "the question was not listed in {}", home.path().display());
        thread::sleep(Duration::from_micros(100));
    }
}

/// Kills the daemon that a hook has started, and waits for its end.
fn kill_daemon(home: &Home) {
    let pid = fs::read_to_string(home.state("daemon.json")).ok();
    let pid = pid.and_then(|json| serde_json::from_str::<Value>(&json).ok()?["pid"].as_i64());
    let Some(pid) = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) else { return };
    let _ = kill_process(pid, Signal::KILL);
    let deadline = Instant::now() + Duration::from_secs(10);
    while test_kill_process(pid).is_ok() && !is_zombie(pid) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A daemon whose hook is gone belongs to init, or to nobody who would look after it.
fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}
