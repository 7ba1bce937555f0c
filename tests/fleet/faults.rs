//! What is broken, and the table of what was lost.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::fleet::Fleet;
use crate::waits::{Losses, WAITS, trial};
use crate::world::signal;

type Break = fn(&mut Fleet);

/// Each is tried on the same fleet, one after the other. The last ones leave it changed.
const FAULTS: &[(&str, Break)] = &[
    ("nothing", |_| {}),
    ("a hub is killed", |fleet| fleet.kill_hub(0)),
    ("an edge is killed", |fleet| fleet.kill_edge(0)),
    ("all ways to the hubs are cut", |fleet| fleet.way.cut()),
    ("all connections to the engine are cut", |fleet| fleet.engines.way.cut()),
    ("replies to commits are lost", |fleet| fleet.engines.way.lose_commits(5)),
    ("the engine is restarted", |fleet| {
        fleet.engines.primary.crash();
        fleet.engines.primary.start();
    }),
    ("the standby is cut off for 5 s", |fleet| {
        let pid = fleet.engines.standby.as_ref().unwrap().pid();
        freeze(pid, Duration::from_secs(5));
    }),
    ("the primary is frozen for 5 s", |fleet| {
        let pid = fleet.engines.primary.pid();
        freeze(pid, Duration::from_secs(5));
    }),
    ("a hub comes back with a clock that is two hours behind", |fleet| {
        fleet.kill_hub(1);
        fleet.start_hub(1, |command| {
            // The time since the machine was started stays right, as on a machine whose clock was set.
            command.env("LD_PRELOAD", faketime()).env("FAKETIME", "-2h").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        });
    }),
    ("a newer version writes what this one does not know", |fleet| {
        fleet.engines.primary.sql(
            "fleet",
            "UPDATE answerback.meta SET schema = schema + 1;
             WITH head AS (UPDATE answerback.heads SET cursor = cursor + 1, tag = 7 RETURNING namespace, cursor)
             INSERT INTO answerback.events (namespace, cursor, day, ask, kind, at, tag)
             SELECT namespace, cursor, (clock_timestamp() AT TIME ZONE 'UTC')::date, 1, 'ask.later', 0, 7 FROM head",
        );
    }),
    ("the primary is killed, and the standby is promoted", |fleet| fleet.engines.fail_over()),
];

/// The library of the program `faketime`.
fn faketime() -> PathBuf {
    let found = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .map(|dir| Path::new(dir).join("faketime/libfaketime.so.1"))
        .into_iter()
        .find(|path| path.exists());
    found.expect("faketime is not installed: run `apt-get install faketime`, or tests/run.sh")
}

/// Stops an engine and all its processes for a while.
fn freeze(postmaster: u32, pause: Duration) {
    let all = with_children(postmaster);
    all.iter().for_each(|pid| signal(*pid, Signal::STOP));
    thread::sleep(pause);
    all.iter().for_each(|pid| signal(*pid, Signal::CONT));
}

fn with_children(parent: u32) -> Vec<u32> {
    let file = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(file).unwrap_or_default();
    std::iter::once(parent).chain(children.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
}

#[test]
fn whatever_breaks_nothing_is_lost() {
    let mut fleet = Fleet::new();
    let mut failed = Vec::new();
    println!("\n{WAITS} waits each, two rivals for each answer\n");
    println!("{:56} {:>5} {:>6} {:>7} {:>9} {:>9}", "fault", "lost", "wrong", "asleep", "resumed", "slowest");
    for (n, (fault, break_it)) in FAULTS.iter().enumerate() {
        let report = trial(&mut fleet, &format!("trial{n}"), break_it);
        let Losses { lost, wrong, asleep } = report.losses;
        let resumed = report.resumed.map_or_else(|| "-".to_owned(), |time| format!("{:.2} s", time.as_secs_f64()));
        let slowest = format!("{:.2} s", report.slowest.as_secs_f64());
        println!("{fault:56} {lost:5} {wrong:6} {asleep:7} {resumed:>9} {slowest:>9}");
        if report.losses != Losses::default() {
            failed.push(format!("{fault}: {:#?}", report.remarks));
        }
        fleet.mend();
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
