//! What an event of a session without an open question costs the daemon, without the hook's process.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use crate::calls::STOP;
use crate::http::{Conn, request};
use crate::lab::{Lab, Place};
use crate::markdown::{Table, or_not, ratio_of, time};
use crate::report::{Facts, Section};
use crate::servers::Server;
use crate::stats::Samples;

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let servers = Server::start_all(lab, Place::Disk);
    let request = request("POST", "/v1/hooks/claude-code", STOP);
    let mut echo = echo();
    let mut connections: Vec<Conn> = servers.iter().map(Server::connect).collect();
    let mut times = vec![Samples::default(); servers.len()];
    let mut limit = Samples::default();
    let mut reply = vec![0; request.len()];
    for _ in 0..lab.pick(2000, 100) {
        let started = Instant::now();
        echo.write_all(&request).unwrap();
        echo.read_exact(&mut reply).unwrap();
        limit.push_since(started);
        for (conn, times) in connections.iter_mut().zip(&mut times) {
            let started = Instant::now();
            conn.send(&request).unwrap();
            conn.read().unwrap().expect(200);
            times.push_since(started);
        }
    }
    let mut table = Table::new(["", "median", "p99", "x echo"]);
    let mut row = |name: &str, samples: &Samples| {
        let median = samples.median();
        table.row([
            name.to_owned(),
            or_not(median, time),
            or_not(samples.p99(), time),
            ratio_of(median, limit.median()),
        ]);
    };
    row("a thread that echoes the same bytes", &limit);
    for (server, samples) in servers.iter().zip(&times) {
        row(server.kind.name(), samples);
        facts.set(format!("event.{}", server.kind.word()), samples.median());
    }
    Server::missing(&servers).for_each(|name| table.not_measured(name));
    let mut section = Section::new("An event without an open question");
    section.text(
        "In every turn of a session, Claude Code runs the hook for events such as the end of the turn. This is what such an event \
         costs the daemon if the session has no open question. The hook's process is not part of it, and the connection is kept.",
    );
    section.table(table);
    section
}

fn echo() -> UnixStream {
    let (near, mut far) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = far.read(&mut buffer) {
            if far.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    });
    near
}
