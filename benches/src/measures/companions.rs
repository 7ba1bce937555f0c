//! Companions that are connected and have nothing to do: over the WebSocket, and with the event stream.

use std::thread;
use std::time::Duration;

use crate::http::{Conn, request};
use crate::lab::{Lab, Place};
use crate::markdown::{Table, bytes, count, time};
use crate::process;
use crate::report::{Facts, Section};
use crate::servers::{Kind, Server};

/// Longer than the pause between two pings.
const WATCHED: Duration = Duration::from_secs(25);

/// A way to be connected: its name on the page, its name among the facts, and how to connect.
type Way = (&'static str, &'static str, fn(&Server) -> Conn);

const WAYS: [Way; 2] =
    [("WebSocket, subscribed to all sessions", "websocket", websocket), ("event stream", "events", Server::events)];

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let companions = lab.pick(1000, 100);
    let watched = lab.pick(WATCHED, Duration::from_secs(1));
    let mut table = Table::new(["connection", "memory each", "CPU time", "of one processor"]);
    for (name, word, connect) in WAYS {
        let server = Server::start(lab, Kind::Answerback, Place::Disk).unwrap();
        let idle = process::memory(server.pid());
        let connections: Vec<Conn> = (0..companions).map(|_| connect(&server)).collect();
        process::until_idle(server.pid(), Duration::from_secs(10));
        let each = (process::memory(server.pid()).private_dirty - idle.private_dirty) / companions as f64;
        let before = process::cpu(server.pid());
        thread::sleep(watched);
        let cpu = process::cpu(server.pid()) - before;
        let share = cpu / watched.as_secs_f64();
        facts.set(format!("companion.{word}"), Some(each));
        facts.set(format!("companion.{word}.cpu"), Some(share));
        table.row([name.to_owned(), bytes(each), time(cpu), format!("{:.2} %", 100.0 * share)]);
        drop(connections);
    }
    let mut section = Section::new("Companions");
    section.text(format!(
        "{} companions are connected, and nothing happens. The table shows the daemon's private dirty memory for each of them, and \
         its CPU time in {} seconds. In that time, each companion gets a ping, or several comments.",
        count(companions as f64),
        watched.as_secs()
    ));
    section.table(table);
    section
}

/// A companion that has subscribed to everything.
fn websocket(server: &Server) -> Conn {
    let mut conn = server.connect();
    let mut handshake = request("GET", "/v1/ws", "");
    handshake.truncate(handshake.len() - b"\r\n".len());
    handshake.extend_from_slice(
        b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: YW5zd2VyYmFjay1iZW5jaA==\r\n\r\n",
    );
    conn.send(&handshake).unwrap();
    conn.wait_for("101 Switching Protocols").unwrap();
    conn.send(&masked(br#"{"type":"subscribe"}"#)).unwrap();
    conn.wait_for("subscribed").unwrap();
    conn
}

/// A text frame of a client. A mask of zeros changes nothing.
fn masked(text: &[u8]) -> Vec<u8> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 126).unwrap();
    [&[0x81, 0x80 | length, 0, 0, 0, 0], text].concat()
}
