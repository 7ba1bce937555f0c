//! Parked calls. They are held by a process of their own, because each needs a file descriptor, and 10,000 for each of four daemons are
//! more than one process may have.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::calls::Template;
use crate::http::Conn;

/// How many calls are sent before the first reply is read.
const BATCH: usize = 50;

/// What a hook sends when it has heard that it is parked.
const ACKNOWLEDGED: &[u8] = b"\n";

/// A process that holds parked calls.
#[derive(Debug)]
pub struct Parker {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Parker {
    /// Starts it. The calls are numbered from `first`.
    pub fn start(socket: &Path, template: &Template, first: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("park").arg(socket).arg(first.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let length = u32::try_from(template.bytes().len()).unwrap().to_le_bytes();
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(&length).unwrap();
        stdin.write_all(template.bytes()).unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Parks calls until there are this many, and waits until the daemon has said that all of them are parked.
    pub fn park(&mut self, count: usize) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{count}").unwrap();
        let mut said = String::new();
        self.said.read_line(&mut said).unwrap();
        assert_eq!(said.trim(), count.to_string(), "not all calls could be parked");
    }
}

impl Drop for Parker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parks one call, and waits until the daemon has said so.
pub fn park_one(socket: &Path, template: &Template, number: usize) -> Conn {
    let mut conn = Conn::open(socket).unwrap();
    conn.send(&template.request(number)).unwrap();
    conn.read().unwrap().expect(102);
    conn.send(ACKNOWLEDGED).unwrap();
    conn
}

/// The process: reads the template, then one line for each number of calls.
pub fn main(socket: &str, first: &str) -> io::Result<()> {
    let first: usize = first.parse().map_err(io::Error::other)?;
    let mut stdin = BufReader::new(io::stdin().lock());
    let mut length = [0; 4];
    stdin.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    stdin.read_exact(&mut bytes)?;
    let template = Template::from_bytes(bytes);
    let mut parked: Vec<Conn> = Vec::new();
    for line in stdin.lines() {
        let count: usize = line?.trim().parse().map_err(io::Error::other)?;
        while parked.len() < count {
            let start = parked.len();
            for number in start..count.min(start + BATCH) {
                let mut conn = Conn::open(Path::new(socket))?;
                conn.send(&template.request(first + number))?;
                parked.push(conn);
            }
            for conn in &mut parked[start..] {
                conn.read()?.expect(102);
                conn.send(ACKNOWLEDGED)?;
            }
        }
        println!("{count}");
    }
    Ok(())
}
