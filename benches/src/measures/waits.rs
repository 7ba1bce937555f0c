//! Waiting questions: their memory, their CPU time, and the time to list them.

use std::thread;
use std::time::{Duration, Instant};

use crate::calls::Template;
use crate::lab::{Lab, Place};
use crate::markdown::{Table, bytes, count, or_not, ratio_of, time};
use crate::park::Parker;
use crate::process::{self, Memory};
use crate::report::{Facts, Section};
use crate::servers::{ALL, Kind, Server};
use crate::stats::Samples;
use crate::svg::{Plot, Scale, Series};

use super::growth;

/// How long idle daemons are watched.
const WATCHED: Duration = Duration::from_secs(4);
/// Curves are fitted from this many waits on.
const FROM: f64 = 100.0;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let template = Template::capture(lab);
    let mut section = Section::new("Waiting questions");
    memory(lab, &template, facts, &mut section);
    lists(lab, &template, facts, &mut section);
    section
}

/// What one daemon was seen to need.
struct Seen {
    kind: Kind,
    idle: Memory,
    levels: Vec<Memory>,
    cpu: f64,
    switches: f64,
}

fn memory(lab: &Lab, template: &Template, facts: &mut Facts, section: &mut Section) {
    let levels = lab.pick(vec![1, 100, 300, 1000, 3000, 10_000], vec![1, 100, 1000]);
    let servers = Server::start_all(lab, Place::Disk);
    let mut seen: Vec<Seen> = servers
        .iter()
        .map(|server| {
            let idle = process::memory(server.pid());
            Seen { kind: server.kind, idle, levels: Vec::new(), cpu: 0.0, switches: 0.0 }
        })
        .collect();
    let mut parkers: Vec<Parker> = servers.iter().map(|server| Parker::start(&server.socket(), template, 0)).collect();
    for level in &levels {
        for parker in &mut parkers {
            parker.park(*level);
        }
        for server in &servers {
            process::until_idle(server.pid(), Duration::from_secs(10));
        }
        for (server, seen) in servers.iter().zip(&mut seen) {
            seen.levels.push(process::memory(server.pid()));
        }
    }
    for (server, seen) in servers.iter().zip(&mut seen) {
        (seen.cpu, seen.switches) = (process::cpu(server.pid()), process::switches(server.pid()));
    }
    thread::sleep(WATCHED);
    for (server, seen) in servers.iter().zip(&mut seen) {
        seen.cpu = process::cpu(server.pid()) - seen.cpu;
        seen.switches = process::switches(server.pid()) - seen.switches;
    }
    drop(parkers);

    let most = levels[levels.len() - 1];
    let middle = levels.iter().position(|level| *level == 1000).unwrap_or(0);
    let mut sizes = Table::new(["daemon", "idle", "100 waits", "1,000 waits", "10,000 waits", "each wait"]);
    let mut rest = Table::new(["daemon", "resident", "each wait", "CPU time", "wake-ups"]);
    let mut series = Vec::new();
    for kind in ALL {
        let Some(seen) = seen.iter().find(|seen| seen.kind == kind) else {
            sizes.not_measured(kind.name());
            rest.not_measured(kind.name());
            continue;
        };
        let last = seen.levels[seen.levels.len() - 1];
        let each = (last.private_dirty - seen.idle.private_dirty) / most as f64;
        facts.set(format!("wait.{}", kind.word()), Some(each));
        let at = |index: usize| seen.levels.get(index).map(|memory| memory.private_dirty);
        sizes.row([
            kind.name().to_owned(),
            bytes(seen.idle.private_dirty),
            or_not(at(1), bytes),
            or_not(at(middle), bytes),
            or_not(at(levels.len() - 1), bytes),
            bytes(each),
        ]);
        rest.row([
            kind.name().to_owned(),
            bytes(last.resident),
            bytes((last.resident - seen.idle.resident) / most as f64),
            time(seen.cpu),
            count(seen.switches),
        ]);
        let points = levels.iter().zip(&seen.levels);
        let points = points.map(|(level, memory)| (*level as f64, memory.private_dirty - seen.idle.private_dirty));
        series.push(Series { name: kind.name().to_owned(), points: points.collect() });
    }
    facts.set("idle.cpu", seen.iter().find(|seen| seen.kind == Kind::Answerback).map(|seen| seen.cpu));
    section.text(
        "A waiting hook keeps one connection open. The table shows memory that only this process has and has written to (\"private \
         dirty\" in Linux). The hooks send exactly what the real hook sends.",
    );
    section.table(sizes);
    section.text(format!(
        "The same with {} waits: all resident memory, and the CPU time and the wake-ups of {} seconds in which nothing happened.",
        count(most as f64),
        WATCHED.as_secs()
    ));
    section.table(rest);
    if let Some(each) = facts.get("wait.product") {
        section.text(format!(
            "A waiting question costs no CPU time. A hundred of them take about {}. The exponent says how the memory grows: 1 means \
             that twice as many waits take twice as much. R² is near 1 if the points lie on a line.",
            bytes(100.0 * each)
        ));
    }
    let plot = Plot {
        title: "Memory of waiting questions".to_owned(),
        x: "waiting questions".to_owned(),
        y: "bytes above an idle daemon, private dirty".to_owned(),
        scale: Scale::Log,
        series,
    };
    section.table(growth::fits(&plot, FROM, 1.0, "bytes", bytes));
    if let Some(ours) = plot.series.iter().find(|series| series.name == Kind::Answerback.name()) {
        growth::keep("memory", ours, FROM, facts);
    }
    section.plot("performance-memory.svg", plot);
}

fn lists(lab: &Lab, template: &Template, facts: &mut Facts, section: &mut Section) {
    let levels = lab.pick(vec![1, 10, 100, 1000, 10_000], vec![1, 100, 1000]);
    let servers = Server::start_all(lab, Place::Disk);
    let mut parkers: Vec<Parker> = servers.iter().map(|server| Parker::start(&server.socket(), template, 0)).collect();
    let mut times: Vec<Vec<Samples>> = vec![Vec::new(); servers.len()];
    for level in &levels {
        for parker in &mut parkers {
            parker.park(*level);
        }
        // What the daemons still do for the calls is not a part of listing them.
        for server in &servers {
            process::until_idle(server.pid(), Duration::from_secs(10));
        }
        for times in &mut times {
            times.push(Samples::default());
        }
        let rounds = lab.pick((40_000 / (level + 200)).clamp(25, 200), 3);
        for _ in 0..rounds {
            for (server, times) in servers.iter().zip(&mut times) {
                let mut conn = server.connect();
                let started = Instant::now();
                let pages = conn.open_asks().unwrap();
                if let Some(last) = times.last_mut() {
                    last.push_since(started);
                }
                let listed: usize = pages.into_iter().map(|page| page.expect(200).body.len()).sum();
                assert!(listed > level * 300, "{} does not list all", server.kind.name());
            }
        }
    }
    let head: Vec<String> = levels.iter().map(|level| format!("{} open", count(*level as f64))).collect();
    let shown = [0, levels.len() / 2, levels.len() - 2, levels.len() - 1];
    let mut table = Table::new([
        "daemon",
        &head[shown[0]],
        &head[shown[1]],
        &head[shown[2]],
        &head[shown[3]],
        "the last, x Answerback",
    ]);
    let last = |times: &[Samples]| times.last().and_then(Samples::median);
    let ours = servers.iter().zip(&times).find(|(server, _)| server.kind == Kind::Answerback);
    let ours = ours.and_then(|(_, times)| last(times));
    let mut series = Vec::new();
    for (server, times) in servers.iter().zip(&times) {
        let median = |index: usize| or_not(times[index].median(), time);
        facts.set(format!("list.{}", server.kind.word()), last(times));
        table.row([
            server.kind.name().to_owned(),
            median(shown[0]),
            median(shown[1]),
            median(shown[2]),
            median(shown[3]),
            ratio_of(last(times), ours),
        ]);
        let points = levels.iter().zip(times).filter_map(|(level, times)| Some((*level as f64, times.median()? * 1e3)));
        series.push(Series { name: server.kind.name().to_owned(), points: points.collect() });
    }
    Server::missing(&servers).for_each(|name| table.not_measured(name));
    section.text("The time to list all open questions, on a connection that is open already:");
    section.table(table);
    let plot = Plot {
        title: "Listing open questions".to_owned(),
        x: "open questions".to_owned(),
        y: "milliseconds".to_owned(),
        scale: Scale::Log,
        series,
    };
    section.table(growth::fits(&plot, FROM, 1000.0, "time", |millis| time(millis / 1e3)));
    if let Some(ours) = plot.series.iter().find(|series| series.name == Kind::Answerback.name()) {
        growth::keep("list", ours, FROM, facts);
    }
    section.plot("performance-list.svg", plot);
}
