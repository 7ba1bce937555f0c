//! The targets, and whether this run met them. They are ratios within one run, because times differ from machine to machine.

use crate::markdown::{NOT_MEASURED, Table, bytes, count, ratio, time};
use crate::report::Facts;

/// A target.
struct Target {
    what: &'static str,
    target: &'static str,
    measured: Option<String>,
    is_met: Option<bool>,
}

impl Target {
    /// Smaller is better.
    fn at_most(
        what: &'static str,
        target: &'static str,
        limit: f64,
        value: Option<f64>,
        show: fn(f64) -> String,
    ) -> Self {
        Self { what, target, measured: value.map(show), is_met: value.map(|value| value <= limit) }
    }

    /// Larger is better.
    fn at_least(
        what: &'static str,
        target: &'static str,
        limit: f64,
        value: Option<f64>,
        show: fn(f64) -> String,
    ) -> Self {
        Self { what, target, measured: value.map(show), is_met: value.map(|value| value >= limit) }
    }
}

fn times(value: f64) -> String {
    format!("{} x", ratio(value))
}

fn exponent(value: f64) -> String {
    format!("{value:.2}")
}

fn least(values: [Option<f64>; 2]) -> Option<f64> {
    values.into_iter().flatten().reduce(f64::min)
}

fn most(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    values.into_iter().flatten().reduce(f64::max)
}

/// The table, and whether all targets that were measured are met.
pub fn table(facts: &Facts) -> (Table, bool) {
    render(targets(facts))
}

/// The table of the targets that were measured.
pub fn measured(facts: &Facts) -> Table {
    let mut targets = targets(facts);
    targets.retain(|target| target.measured.is_some());
    render(targets).0
}

fn render(targets: Vec<Target>) -> (Table, bool) {
    let mut table = Table::new(["measure", "target", "measured", ""]);
    let mut all_met = true;
    for target in targets {
        let verdict = match target.is_met {
            None => "",
            Some(true) => "met",
            Some(false) => "**missed**",
        };
        all_met &= target.is_met != Some(false);
        let measured = target.measured.unwrap_or_else(|| NOT_MEASURED.to_owned());
        table.row([target.what.to_owned(), target.target.to_owned(), measured, verdict.to_owned()]);
    }
    (table, all_met)
}

fn targets(facts: &Facts) -> Vec<Target> {
    let ratio = |name: &str, base: &str| facts.ratio(name, base);
    let search = ["page", "deep", "often", "once", "never"];
    let search = most(search.map(|word| facts.get(&format!("history.{word}.100000"))));
    let flat = ["page", "open", "answer", "list", "once", "never"];
    let flat = most(flat.map(|word| facts.get(&format!("growth.history.{word}.exponent"))));
    let peers = least([facts.get("wait.node"), facts.get("wait.aiohttp")]);
    let peers = peers.zip(facts.get("wait.product")).map(|(peer, ours)| peer / ours);
    let hooks = least([ratio("hook.python", "hook.static.daemon"), ratio("hook.node", "hook.static.daemon")]);
    let throughput = facts.get("throughput.64");
    let share = ratio("throughput.64", "throughput.64.raw");
    vec![
        Target::at_most(
            "static hook, / `/bin/true`",
            "<= 0.60 x",
            0.60,
            ratio("hook.static.daemon", "hook.true"),
            times,
        ),
        Target::at_most("the same, bare server", "<= 0.47 x", 0.47, ratio("hook.static.bare", "hook.true"), times),
        Target::at_most("the same, / the C hook", "<= 1.25 x", 1.25, ratio("hook.static.bare", "hook.c.bare"), times),
        Target::at_least("Python and Node.js hooks, / ours", ">= 100 x", 100.0, hooks, times),
        Target::at_most(
            "instructions of the hook for a question (`tests/costs/`)",
            "<= 30,000",
            30_000.0,
            facts.get("hook.instructions"),
            count,
        ),
        Target::at_most(
            "answer until the hook has ended, / (sync + hook's end)",
            "<= 2 x",
            2.0,
            ratio("answer.busy.ended", "answer.busy.floor"),
            times,
        ),
        Target::at_most(
            "the same after the machine was idle",
            "<= 2 x",
            2.0,
            ratio("answer.idle.ended", "answer.idle.floor"),
            times,
        ),
        Target::at_most(
            "question until a reader sees it, / (sync + hook's start)",
            "<= 2 x",
            2.0,
            ratio("seen.sse", "seen.floor"),
            times,
        ),
        Target::at_most(
            "exchange without a disk, / bare server",
            "<= 1.5 x",
            1.5,
            ratio("exchange.product", "exchange.epoll"),
            times,
        ),
        Target::at_least("Node.js, / ours", ">= 5 x", 5.0, ratio("exchange.node", "exchange.product"), times),
        Target::at_least("aiohttp, / ours", ">= 10 x", 10.0, ratio("exchange.aiohttp", "exchange.product"), times),
        Target::at_most("memory of a waiting question", "<= 4.5 KB", 4.5 * 1024.0, facts.get("wait.product"), bytes),
        Target::at_least("the smallest peer, / ours", ">= 3 x", 3.0, peers, times),
        Target::at_most(
            "idle daemon, private dirty memory",
            "<= 1.5 MB",
            1.5 * 1024.0 * 1024.0,
            facts.get("idle.product"),
            bytes,
        ),
        Target::at_most("cold start until the question is listed", "<= 4 ms", 0.004, facts.get("cold.fresh"), time),
        Target::at_least(
            "start of the Node.js daemon, / ours",
            ">= 20 x",
            20.0,
            ratio("cold.node", "cold.fresh"),
            times,
        ),
        Target::at_least(
            "Node.js lists 10,000 open questions, / ours",
            ">= 8 x",
            8.0,
            ratio("list.node", "list.product"),
            times,
        ),
        Target::at_most(
            "last of 1,000 readers, / bare server",
            "<= 2 x",
            2.0,
            ratio("fanout.product", "fanout.epoll"),
            times,
        ),
        Target {
            what: "durable answers per second, 64 at a time",
            target: ">= 10,000, or half of the disk",
            measured: throughput.map(count),
            is_met: throughput.map(|rate| rate >= 10_000.0 || share.is_some_and(|share| share >= 0.5)),
        },
        Target::at_most("slowest page or search, 100,000 settled", "<= 10 ms", 0.010, search, time),
        Target::at_most(
            "open a question while others search, / idle",
            "<= 2 x",
            2.0,
            ratio("searching.busy", "searching.idle"),
            times,
        ),
        Target::at_most("growth with the history, exponent", "flat, <= 0.15", 0.15, flat, exponent),
        Target::at_most(
            "growth of lists, exponent",
            "linear, <= 1.25",
            1.25,
            facts.get("growth.list.exponent"),
            exponent,
        ),
        Target::at_most(
            "growth with readers, exponent",
            "linear, <= 1.25",
            1.25,
            facts.get("growth.fanout.exponent"),
            exponent,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_or_missed_or_not_measured() {
        let mut facts = Facts::default();
        facts.set("cold.fresh", Some(0.005));
        facts.set("wait.product", Some(4.0 * 1024.0));
        let (table, all_met) = table(&facts);
        let text = table.render();
        assert!(!all_met && text.contains("| 5.00 ms | **missed** |") && text.contains("| 4.0 KB | met |"), "{text}");
        assert!(text.contains("| not measured |  |"), "{text}");
    }

    #[test]
    fn the_disk_may_be_the_reason_for_few_answers() {
        let verdict = |rate, raw| {
            let mut facts = Facts::default();
            facts.set("throughput.64", Some(rate));
            facts.set("throughput.64.raw", Some(raw));
            table(&facts).1
        };
        assert!(verdict(12_000.0, 90_000.0) && verdict(4000.0, 7000.0) && !verdict(4000.0, 90_000.0));
    }

    #[test]
    fn rows_fit_into_a_line() {
        let (table, _) = table(&Facts::default());
        assert!(table.render().lines().all(|line| line.chars().count() <= 100), "{}", table.render());
    }
}
