//! Many connections of one process: clients that send one request after the other, and readers of events.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::http::{Conn, find};
use crate::stats::Samples;

const EVENTS: usize = 256;

fn poller() -> OwnedFd {
    epoll::create(epoll::CreateFlags::CLOEXEC).unwrap()
}

fn watch(poller: &OwnedFd, conn: &Conn, index: usize) {
    conn.stream().set_nonblocking(true).unwrap();
    epoll::add(poller, conn.stream(), EventData::new_u64(index as u64), EventFlags::IN).unwrap();
}

/// The connections that have something to read.
fn ready(poller: &OwnedFd) -> Vec<usize> {
    let mut events = Vec::with_capacity(EVENTS);
    while let Err(error) = epoll::wait(poller, spare_capacity(&mut events), None) {
        assert_eq!(error, rustix::io::Errno::INTR);
    }
    events.iter().map(|event| event.data.u64() as usize).collect()
}

/// Appends everything that has arrived.
fn read_all(conn: &Conn, buffer: &mut Vec<u8>) {
    let mut chunk = [0; 16 * 1024];
    loop {
        match conn.stream().read(&mut chunk) {
            Ok(0) => panic!("a connection was closed"),
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Clients. Each sends its next request when it has the reply to the last one.
#[derive(Debug)]
pub struct Swarm {
    poller: OwnedFd,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    conn: Conn,
    buffer: Vec<u8>,
    sent: Instant,
}

/// What the clients got.
#[derive(Debug)]
pub struct Outcome {
    /// How long all of it took.
    pub seconds: f64,
    /// The time of each request.
    pub latencies: Samples,
    /// The bodies of the replies, in the order of their arrival.
    pub bodies: Vec<Vec<u8>>,
}

impl Swarm {
    /// Connects this many clients.
    pub fn new(socket: &Path, clients: usize) -> Self {
        Self::across(&[socket], clients)
    }

    /// Connects this many clients to several daemons, as many to each of them.
    pub fn across<P: AsRef<Path>>(sockets: &[P], clients: usize) -> Self {
        let poller = poller();
        let client = |index: usize| {
            let conn = Conn::open(sockets[index % sockets.len()].as_ref()).unwrap();
            watch(&poller, &conn, index);
            Client { conn, buffer: Vec::new(), sent: Instant::now() }
        };
        let clients = (0..clients).map(client).collect();
        Self { poller, clients }
    }

    /// Sends all requests. Each reply must have this status.
    pub fn run(mut self, requests: Vec<Vec<u8>>, status: u16) -> Outcome {
        let total = requests.len();
        let mut requests = requests.into_iter();
        let mut outcome = Outcome { seconds: 0.0, latencies: Samples::default(), bodies: Vec::with_capacity(total) };
        let started = Instant::now();
        for client in &mut self.clients {
            client.send_next(&mut requests);
        }
        while outcome.bodies.len() < total {
            for index in ready(&self.poller) {
                let client = &mut self.clients[index];
                read_all(&client.conn, &mut client.buffer);
                if let Some(body) = client.take_reply(status) {
                    outcome.latencies.push_since(client.sent);
                    outcome.bodies.push(body);
                    client.send_next(&mut requests);
                }
            }
        }
        outcome.seconds = started.elapsed().as_secs_f64();
        outcome
    }
}

impl Client {
    fn send_next(&mut self, requests: &mut impl Iterator<Item = Vec<u8>>) {
        if let Some(request) = requests.next() {
            self.sent = Instant::now();
            self.conn.stream().write_all(&request).unwrap();
        }
    }

    fn take_reply(&mut self, status: u16) -> Option<Vec<u8>> {
        let head = find(&self.buffer, b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&self.buffer[..head]).to_ascii_lowercase();
        assert!(text.starts_with(&format!("http/1.1 {status}")), "{}", String::from_utf8_lossy(&self.buffer));
        let length = text.split("\r\n").find_map(|line| line.strip_prefix("content-length:"))?;
        let end = head + length.trim().parse::<usize>().ok()?;
        if self.buffer.len() < end {
            return None;
        }
        let rest = self.buffer.split_off(end);
        let mut reply = std::mem::replace(&mut self.buffer, rest);
        Some(reply.split_off(head))
    }
}

/// The value of a text field in JSON without escapes.
pub fn text_field(json: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(json);
    let (_, rest) = text.split_once(&format!("\"{name}\":\""))?;
    Some(rest.split('"').next()?.to_owned())
}

/// Readers of events.
#[derive(Debug)]
pub struct Readers {
    poller: OwnedFd,
    readers: Vec<(Conn, Vec<u8>)>,
}

impl Default for Readers {
    fn default() -> Self {
        Self { poller: poller(), readers: Vec::new() }
    }
}

impl Readers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.readers.len()
    }

    /// Adds one that has got the head of the reply.
    pub fn add(&mut self, conn: Conn) {
        watch(&self.poller, &conn, self.readers.len());
        self.readers.push((conn, Vec::new()));
    }

    /// Waits until every reader has one more whole event with this line.
    pub fn until_all_have(&mut self, line: &str) {
        let mut has_it = vec![false; self.readers.len()];
        let mut left = self.readers.len();
        while left > 0 {
            for index in ready(&self.poller) {
                let (conn, buffer) = &mut self.readers[index];
                read_all(conn, buffer);
                if !has_it[index] && is_whole(buffer, line) {
                    buffer.clear();
                    has_it[index] = true;
                    left -= 1;
                }
            }
        }
    }
}

/// Whether an event with this line has arrived, with its end.
fn is_whole(bytes: &[u8], line: &str) -> bool {
    find(bytes, line.as_bytes()).is_some_and(|start| find(&bytes[start..], b"\n\n").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_whole_with_its_end() {
        assert!(is_whole(b"id: 1\nevent: ask.opened\ndata: {}\n\n", "event: ask.opened"));
        assert!(!is_whole(b"id: 1\nevent: ask.opened\ndata: {}\n", "event: ask.opened"));
        assert!(!is_whole(b":\n\n", "event: ask.opened"));
    }

    #[test]
    fn a_text_field_is_found() {
        assert_eq!(text_field(br#"{"id":1,"key":"a__b","x":""}"#, "key").as_deref(), Some("a__b"));
        assert_eq!(text_field(b"{}", "key"), None);
    }
}
