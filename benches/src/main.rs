//! Measures time and memory of the real programs, beside lower limits and comparable programs, all in one run. `benches/run.sh` builds
//! everything and starts it. It drives the programs by their paths, and uses nothing of their source.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot go on stops")]

mod calls;
mod costs;
mod disk;
mod fleet;
mod http;
mod lab;
mod machine;
mod markdown;
mod measures;
mod options;
mod page;
mod park;
#[path = "../../tests/lib/postgres.rs"]
#[allow(dead_code, clippy::expect_used, reason = "the tests use the rest")]
mod postgres;
mod process;
mod progress;
mod report;
mod seed;
mod servers;
mod stats;
mod svg;
mod swarm;
mod targets;
mod words;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use lab::{Lab, Length};
use machine::Machine;
use options::{Command, Options};
use progress::Progress;
use report::{Facts, Section};

fn main() -> ExitCode {
    // Every waiting question needs a descriptor, here and in the daemons.
    let limit = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Command::parse(&arguments) {
        Ok(Command::Park { socket, first }) => match park::main(&socket, &first) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: cannot park calls: {error}");
                ExitCode::FAILURE
            }
        },
        Ok(Command::Measure(options)) => measure(options),
        Ok(Command::Costs { programs, task, file }) => {
            let lab = Lab::new(programs, Length::Real).unwrap();
            costs::main(&lab, &task, &file).unwrap_or_else(|error| {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            })
        }
        Err(error) => {
            eprintln!("error: {error}");
            eprintln!("hint: run benches/run.sh, which starts this program");
            ExitCode::from(2)
        }
    }
}

fn measure(options: Options) -> ExitCode {
    let machine = Machine::look(&options.programs.scratch);
    let lab = Lab::new(options.programs, options.length).unwrap();
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let measures: Vec<_> = measures::ALL.into_iter().filter(|(name, ..)| wanted(name)).collect();
    let progress = Progress::new(measures.iter().map(|(name, ..)| *name).collect());
    let mut facts = Facts::default();
    let mut sections: Vec<Section> = Vec::new();
    for (index, (_, what, run)) in measures.into_iter().enumerate() {
        progress.begin(index, what);
        let section = run(&lab, &mut facts);
        if options.out.is_none() {
            println!("{}", section.render());
        }
        sections.push(section);
    }
    progress.end();
    // This one is not measured here, but the page tells all targets.
    facts.set("hook.instructions", costs::recorded_hook(&lab.peers.join("../../tests/costs/recorded.json")));
    if let Some(out) = &options.out {
        let notes = fs::read_to_string(lab.peers.join("../notes.md")).unwrap_or_default();
        write(out, &page::render(&machine, &sections, &facts, &notes), &sections);
        eprintln!("wrote {}", out.display());
    } else {
        println!("{}", targets::measured(&facts).render());
    }
    ExitCode::SUCCESS
}

fn write(out: &Path, page: &str, sections: &[Section]) {
    fs::write(out, page).unwrap();
    let images = out.parent().unwrap_or(Path::new(".")).join("images");
    fs::create_dir_all(&images).unwrap();
    for (file, plot) in sections.iter().flat_map(Section::plots) {
        fs::write(images.join(file), plot.render()).unwrap();
    }
}
