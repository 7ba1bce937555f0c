//! Costs that must not grow unnoticed: instructions, allocations, bytes and sizes. None of them is a time, so a busy machine does not
//! change them. `tests/costs/run.sh` compares them with the recorded ones.

mod measure;
mod record;
mod valgrind;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::lab::Lab;
use crate::progress;

use record::{Platform, Record, Verdict};

pub use measure::Cost;

/// The record is the middle of so many runs.
const RECORDED_OF: usize = 5;

/// The instructions of the static hook for one question, from the recorded costs.
pub fn recorded_hook(file: &Path) -> Option<f64> {
    let record = Record::parse(&fs::read_to_string(file).ok()?).ok()?;
    record.value(measure::HOOK_QUESTION)
}

/// What to do with the costs.
#[derive(Debug)]
pub enum Task {
    /// Compare them with the record.
    Check,
    /// Write a new record.
    Record,
    /// The same, and show that the check would notice a growth. The path is a hook that does needless work.
    SelfTest(PathBuf),
    /// Measure several times, and show how much the numbers differ.
    Repeat(usize),
}

/// Measures the costs and does the task with the recorded ones in a file.
pub fn main(lab: &Lab, task: &Task, file: &Path) -> Result<ExitCode, String> {
    valgrind::check_that_it_works(lab)?;
    let platform = Platform::of_this_machine();
    if let Task::Repeat(times) = task {
        repeat(lab, *times);
        return Ok(ExitCode::SUCCESS);
    }
    if let Task::Record = task {
        let old = fs::read_to_string(file).ok().and_then(|text| Record::parse(&text).ok());
        let record = Record::new(platform, &medians(&measured(lab, RECORDED_OF)), old.as_ref());
        fs::write(file, record.render()).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        eprintln!("wrote {}", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    let costs = measure::all(lab);
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let record = Record::parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let comparable = record.platform == platform;
    let verdicts = record.compare(&costs);
    for verdict in &verdicts {
        println!("{verdict}");
    }
    let mut is_fine = true;
    if comparable {
        is_fine = conclude(&verdicts);
    } else {
        println!("\nreported only: the record is from {}, and this is {platform}", record.platform);
    }
    if let Task::SelfTest(planted) = task {
        is_fine &= self_test(lab, &record, &costs, planted);
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what is wrong, and what to do. Returns whether nothing is.
fn conclude(verdicts: &[Verdict]) -> bool {
    let (grown, shrunk) = (Verdict::grown(verdicts), Verdict::shrunk(verdicts));
    if grown + shrunk == 0 {
        println!("\nall {} costs are within their margins", verdicts.len());
        return true;
    }
    if grown > 0 {
        eprintln!("\nerror: {grown} of {} costs have grown by more than their margin", verdicts.len());
        eprintln!(
            "hint: look for the cause with `valgrind --tool=callgrind` or `--tool=dhat`. If the growth is worth it, run"
        );
        eprintln!("hint: `tests/costs/run.sh --record` and say in the commit why");
    }
    if shrunk > 0 {
        eprintln!(
            "\nerror: {shrunk} of {} costs are far below the recorded ones, so a growth would not be noticed",
            verdicts.len()
        );
        eprintln!("hint: run `tests/costs/run.sh --record` and commit the file");
    }
    false
}

/// Every cost, inflated just beyond its margin, must be noticed, and so must a hook that really does more.
fn self_test(lab: &Lab, record: &Record, costs: &[Cost], planted: &Path) -> bool {
    let mut missed = 0;
    let mut check = |name: &str, is_noticed: bool| {
        println!("{:<12} {name}", if is_noticed { "noticed" } else { "NOT NOTICED" });
        missed += usize::from(!is_noticed);
    };
    println!();
    // The record of what was just measured. It must hold for these very values.
    let record = Record::new(record.platform.clone(), costs, Some(record));
    check("that nothing has changed", Verdict::grown(&record.compare(costs)) == 0);
    for (index, cost) in costs.iter().enumerate() {
        for (factor, what) in [(1.0, "grown"), (-1.0, "shrunk")] {
            let mut changed = costs.to_vec();
            changed[index].value *= 1.0 + factor * (record.margin(&cost.name, factor) + 0.5) / 100.0;
            let verdicts = record.compare(&changed);
            let noticed = if factor > 0.0 { Verdict::grown(&verdicts) } else { Verdict::shrunk(&verdicts) };
            check(&format!("{}: {what} just beyond its margin", cost.name), noticed == 1);
        }
    }
    progress::note("a hook that does needless work");
    let planted = measure::hook(lab, planted);
    let grown = record.compare(&planted).iter().filter(|verdict| verdict.is_grown()).count();
    for verdict in record.compare(&planted) {
        println!("{verdict}");
    }
    check("a hook that connects twice and formats 20 kB", grown == planted.len());
    if missed == 0 {
        println!("\nthe check notices everything that was planted");
    } else {
        eprintln!("\nerror: the check does not notice {missed} of the planted changes");
    }
    missed == 0
}

fn measured(lab: &Lab, times: usize) -> Vec<Vec<Cost>> {
    (0..times).map(|_| measure::all(lab)).collect()
}

/// What is recorded: the middle of several runs. A record at one end of what is measured would leave a part of the margin unused.
fn medians(runs: &[Vec<Cost>]) -> Vec<Cost> {
    let median = |index: usize| {
        let mut costs: Vec<&Cost> = runs.iter().map(|run| &run[index]).collect();
        costs.sort_by(|a, b| a.value.total_cmp(&b.value));
        costs[costs.len() / 2].clone()
    };
    (0..runs[0].len()).map(median).collect()
}

/// How far the numbers are apart from run to run, for choosing the margins.
fn repeat(lab: &Lab, times: usize) {
    let runs = measured(lab, times);
    println!("{:<34} {:>14} {:>14} {:>9}", "cost", "least", "most", "spread");
    for (index, cost) in runs[0].iter().enumerate() {
        let values = || runs.iter().map(|run| run[index].value);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let spread = 100.0 * (most - least) / least;
        println!("{:<34} {least:>14.1} {most:>14.1} {spread:>7.2} %", cost.name);
    }
}
