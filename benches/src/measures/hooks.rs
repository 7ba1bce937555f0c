//! What a hook's process costs, from spawn to exit, if the daemon replies at once. Claude Code pays this for every hook call.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::calls::{Hook, STOP};
use crate::lab::{Home, Lab, Place};
use crate::markdown::{Table, or_not, ratio, ratio_of, time};
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};
use crate::stats::Samples;

/// A program that is started again and again.
struct Program {
    name: &'static str,
    /// Its name in the names of facts.
    word: &'static str,
    command: Vec<String>,
    home: Home,
    /// Slow programs take part in every tenth round.
    every: usize,
}

/// Programs that may not be installed here, by their names in the names of facts.
const PEERS: [(&str, &str); 5] = [
    ("c.bare", "C hook, static"),
    ("static.daemon", "**answerback-hook, static**"),
    ("shell", "shell script with curl and jq"),
    ("python", "Python hook (urllib)"),
    ("node", "Node.js hook (node:http)"),
];

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let daemon = Server::start(lab, Kind::Answerback, Place::Disk).unwrap();
    let bare = Server::start(lab, Kind::Epoll, Place::Disk);
    let programs = programs(lab, &daemon, bare.as_ref());
    let rounds = lab.pick(400, 20);
    let direct = spawn(&programs, rounds, false);
    let through_shell = spawn(&programs, lab.pick(200, 10), true);
    let from_node = lab.node.as_ref().map(|_| spawn_from_node(lab, &programs, lab.pick(200, 10)));

    let find = |word: &str| programs.iter().position(|program| program.word == word);
    let base = |word: &str| find(word).and_then(|index| direct[index].median());
    let (nothing, limit) = (base("true"), base("c.bare"));
    let mut costs = Table::new(["program", "median", "p99", "x `/bin/true`", "x C hook"]);
    let mut forms = Table::new(["program", "started directly", "with `sh -c`", "by Node.js"]);
    for (index, program) in programs.iter().enumerate() {
        let median = direct[index].median();
        facts.set(format!("hook.{}", program.word), median);
        costs.row([
            program.name.to_owned(),
            or_not(median, time),
            or_not(direct[index].p99(), time),
            ratio_of(median, nothing),
            ratio_of(median, limit),
        ]);
        forms.row([
            program.name.to_owned(),
            or_not(median, time),
            or_not(through_shell[index].median(), time),
            or_not(from_node.as_ref().and_then(|times| times[index].median()), time),
        ]);
    }
    for (word, name) in PEERS {
        if find(word).is_none() {
            costs.not_measured(name);
            forms.not_measured(name);
        }
    }
    let mut section = Section::new("One hook call");
    section.text(
        "Each program reads an event from its standard input, sends it to the daemon and prints the reply. The daemon replies at \
         once. The time is from spawn to exit. `/bin/true` does nothing, but it loads the C library. The C hook does the least \
         that a hook can do: it has no deadline and makes no checks. \"Bare\" is a server in C that checks and stores nothing.",
    );
    section.table(costs);
    let ours = facts.ratio("hook.static.daemon", "hook.true");
    let python = facts.ratio("hook.python", "hook.static.daemon");
    if let Some((ours, python)) = ours.zip(python) {
        section.text(format!(
            "A small program spends most of its time loading the C library. The static hook does not load it. So it takes {} times as \
             long as `/bin/true`, although it does more. A hook in Python takes {} times as long as the static hook.",
            ratio(ours),
            ratio(python)
        ));
    }
    section.text(
        "Claude Code is a Node.js program. It starts a hook directly if the settings give arguments, and with a shell if they do \
         not. So this is what each way costs:",
    );
    section.table(forms);
    section
}

fn programs(lab: &Lab, daemon: &Server, bare: Option<&Server>) -> Vec<Program> {
    let mut programs = Vec::new();
    let mut add = |name, word, command: Vec<String>, server: &Server, every| {
        programs.push(Program { name, word, command, home: server.home.clone(), every });
    };
    let path = |path: &std::path::Path| vec![path.display().to_string()];
    add("`/bin/true`", "true", vec!["/bin/true".to_owned()], daemon, 1);
    if let Some(bare) = bare {
        let (empty, c_hook) = (lab.limit("empty").unwrap_or_default(), lab.limit("hook").unwrap_or_default());
        add("empty program in C, static", "empty", path(&empty), daemon, 1);
        add("C hook, static, bare server", "c.bare", path(&c_hook), bare, 1);
        add("C hook, static", "c.daemon", path(&c_hook), daemon, 1);
        if lab.has_static_hook {
            add("**answerback-hook, static**, bare server", "static.bare", path(&lab.hook), bare, 1);
        }
        add("answerback-hook, dynamic, bare server", "dynamic.bare", path(&lab.dynamic_hook), bare, 1);
    }
    if lab.has_static_hook {
        add("**answerback-hook, static**", "static.daemon", path(&lab.hook), daemon, 1);
    }
    add("answerback-hook, dynamic", "dynamic.daemon", path(&lab.dynamic_hook), daemon, 1);
    let peer = |name: &str| lab.peers.join(name).display().to_string();
    if is_installed("curl") && is_installed("jq") {
        add("shell script with curl and jq", "shell", vec![peer("hook.sh")], daemon, 10);
    }
    if let Some(python) = &lab.python {
        add("Python hook (urllib)", "python", vec![python.display().to_string(), peer("hook.py")], daemon, 10);
    }
    if let Some(node) = &lab.node {
        add("Node.js hook (node:http)", "node", vec![node.display().to_string(), peer("hook.mjs")], daemon, 10);
    }
    programs
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The programs take turns, so that a slow moment of the machine affects all of them.
fn spawn(programs: &[Program], rounds: usize, through_shell: bool) -> Vec<Samples> {
    let mut times = vec![Samples::default(); programs.len()];
    for round in 0..rounds {
        for (program, times) in programs.iter().zip(&mut times) {
            if !round.is_multiple_of(program.every) {
                continue;
            }
            let mut command = if through_shell {
                let mut shell = program.home.command("/bin/sh");
                shell.args(["-c", &program.command.join(" ")]);
                shell
            } else {
                let mut command = program.home.command(&program.command[0]);
                command.args(&program.command[1..]);
                command
            };
            let started = Instant::now();
            Hook::start(&mut command, STOP).wait();
            times.push_since(started);
        }
    }
    times
}

fn spawn_from_node(lab: &Lab, programs: &[Program], rounds: usize) -> Vec<Samples> {
    let entry = |program: &Program| {
        let environment: serde_json::Map<_, _> =
            program.home.environment().into_iter().map(|(name, value)| (name, value.into())).collect();
        json!({"command": program.command, "env": environment, "every": program.every})
    };
    let plan = json!({"input": STOP, "rounds": rounds, "programs": programs.iter().map(entry).collect::<Vec<_>>()});
    let mut node = Command::new(lab.node.as_ref().unwrap());
    node.arg(lab.peers.join("spawn.mjs")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let printed = Hook::start(&mut node, &plan.to_string()).output();
    let times: Vec<Vec<f64>> = serde_json::from_str(&printed).unwrap();
    times.into_iter().map(|times| times.into_iter().map(|millis| millis / 1e3).collect()).collect()
}
