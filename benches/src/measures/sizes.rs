//! The programs at rest: the sizes of their files, and the memory of daemons that have nothing to do.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::lab::{Lab, Place};
use crate::markdown::{NOT_MEASURED, Table, bytes, ratio};
use crate::process;
use crate::report::{Facts, Section};
use crate::servers::{ALL, Server};

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let mut files = Table::new(["program", "size"]);
    let mut file = |name: &str, path: &std::path::Path| {
        files.row([
            name.to_owned(),
            fs::metadata(path).map_or(NOT_MEASURED.to_owned(), |file| bytes(file.len() as f64)),
        ]);
    };
    file("`answerback`, the commands and the daemon", &lab.answerback);
    if lab.has_static_hook {
        file("`answerback-hook`, static", &lab.hook);
    }
    file("`answerback-hook`, dynamic", &lab.dynamic_hook);

    let servers = Server::start_all(lab, Place::Disk);
    thread::sleep(Duration::from_secs(1));
    let mut memory = Table::new(["daemon", "resident", "private dirty", "x Answerback"]);
    for server in &servers {
        let seen = process::memory(server.pid());
        facts.set(format!("idle.{}", server.kind.word()), Some(seen.private_dirty));
    }
    for kind in ALL {
        let Some(server) = servers.iter().find(|server| server.kind == kind) else {
            memory.not_measured(kind.name());
            continue;
        };
        let seen = process::memory(server.pid());
        let ours = facts.get("idle.product").unwrap_or(f64::NAN);
        memory.row([
            kind.name().to_owned(),
            bytes(seen.resident),
            bytes(seen.private_dirty),
            ratio(seen.private_dirty / ours),
        ]);
    }
    let mut section = Section::new("The programs at rest");
    section.table(files);
    section.text(
        "The memory of a daemon without questions. Most of the resident memory is the program's file, which the system can drop at \
         any time. Private dirty memory cannot be dropped.",
    );
    section.table(memory);
    section
}
