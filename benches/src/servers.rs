//! The daemons that are measured: ours, the lower limit, and the peers. All of them speak on a unix socket.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::Conn;
use crate::lab::{Home, Lab, Place};

/// Longer than any daemon takes to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answerback.
    Answerback,
    /// The C server of `limits/`.
    Epoll,
    /// The Node.js server of `peers/`.
    Node,
    /// The Python server of `peers/`.
    Aiohttp,
}

/// All of them, in the order of the tables.
pub const ALL: [Kind; 4] = [Kind::Epoll, Kind::Answerback, Kind::Node, Kind::Aiohttp];

impl Kind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answerback => "Answerback",
            Self::Epoll => "bare epoll server in C (the limit)",
            Self::Node => "Node.js daemon",
            Self::Aiohttp => "Python daemon (aiohttp)",
        }
    }

    /// Its name in the names of facts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Answerback => "product",
            Self::Epoll => "epoll",
            Self::Node => "node",
            Self::Aiohttp => "aiohttp",
        }
    }

    /// How it is started, or `None` if it is not installed here.
    fn command(self, lab: &Lab, home: &Home) -> Option<Command> {
        let with_socket = |mut command: Command, script: Option<&str>| {
            command.args(script.map(|script| lab.peers.join(script))).arg(home.socket());
            command
        };
        match self {
            Self::Answerback => {
                let mut command = home.command(&lab.answerback);
                command.args(["daemon", "--background"]);
                Some(command)
            }
            Self::Epoll => Some(with_socket(home.command(lab.limit("epoll")?), None)),
            Self::Node => Some(with_socket(home.command(lab.node.as_ref()?), Some("daemon.mjs"))),
            Self::Aiohttp => Some(with_socket(home.command(lab.python.as_ref()?), Some("daemon.py"))),
        }
    }
}

/// A running daemon. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// What it is.
    pub kind: Kind,
    /// Where its files are.
    pub home: Home,
    child: Child,
}

impl Server {
    /// Starts a daemon, and waits until it serves. `None` if it is not installed here.
    pub fn start(lab: &Lab, kind: Kind, place: Place) -> Option<Self> {
        Self::start_in(lab, kind, lab.home(place))
    }

    /// The same with a `HOME` that the caller has prepared.
    pub fn start_in(lab: &Lab, kind: Kind, home: Home) -> Option<Self> {
        let command = kind.command(lab, &home)?;
        Some(Self::run(command, kind, home))
    }

    /// Runs any command that becomes such a daemon.
    pub fn run(mut command: Command, kind: Kind, home: Home) -> Self {
        let is_ours = kind == Kind::Answerback;
        command.stdin(Stdio::null()).stdout(if is_ours { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().unwrap();
        if is_ours {
            let mut said = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
            assert_eq!(said, "ready\n", "the daemon did not start in {}", home.path().display());
        }
        let server = Self { kind, home, child };
        drop(until_served(&server.socket()));
        server
    }

    /// All daemons that are installed here.
    pub fn start_all(lab: &Lab, place: Place) -> Vec<Self> {
        ALL.into_iter().filter_map(|kind| Self::start(lab, kind, place)).collect()
    }

    /// The names of the daemons that are not among these.
    pub fn missing(servers: &[Self]) -> impl Iterator<Item = &'static str> {
        ALL.into_iter().filter(|kind| servers.iter().all(|server| server.kind != *kind)).map(Kind::name)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.home.socket()
    }

    /// A new connection to it.
    pub fn connect(&self) -> Conn {
        Conn::open(&self.socket()).unwrap()
    }

    /// A reader of its events, which has got the head of the reply.
    pub fn events(&self) -> Conn {
        let mut conn = self.connect();
        conn.call("GET", "/v1/events", "").unwrap().expect(200);
        conn
    }

    /// Ends it as its user would, and waits for its end. Returns its files.
    pub fn stop(mut self) -> Home {
        use rustix::process::{Pid, Signal, kill_process};
        if let Some(pid) = Pid::from_raw(self.pid().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        self.child.wait().unwrap();
        self.home.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until a daemon replies to a list. Only for daemons that do not say when they are ready.
pub fn until_served(socket: &Path) -> Conn {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(mut conn) = Conn::open(socket)
            && conn.get("/v1/asks").is_ok_and(|reply| reply.status == 200)
        {
            return conn;
        }
        assert!(Instant::now() < deadline, "waited in vain for {}", socket.display());
        thread::sleep(Duration::from_micros(200));
    }
}
