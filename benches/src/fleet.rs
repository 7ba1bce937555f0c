//! Fleets: hubs that share a store, and the edges that are linked with them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::{CLAUDE, Home, Lab, Place};
use crate::postgres::Engine;
use crate::process;
use crate::servers::{Kind, Server};

/// Longer than anything takes. A measurement that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the engines of the tests turn off is on here, as after a usual installation.
const SETTINGS: &str = "fsync = on\nsynchronous_commit = on\nshared_buffers = 128MB\nwal_level = replica\n";

/// The name of the database.
const DATABASE: &str = "fleet";

/// Where hubs keep their questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// In a file. There can be only one hub.
    Sqlite,
    /// In PostgreSQL.
    Postgres,
    /// In PostgreSQL, and every commit waits for a standby.
    Replicated,
}

/// All of them, in the order of the tables.
pub const STORES: [Store; 3] = [Store::Sqlite, Store::Postgres, Store::Replicated];

impl Store {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Replicated => "PostgreSQL, standby",
        }
    }

    /// Its name in the names of facts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Replicated => "replicated",
        }
    }
}

/// A fleet. All of its processes are ended when this is dropped, the engines at last.
#[derive(Debug)]
pub struct Fleet {
    /// Where the questions are.
    pub store: Store,
    /// The edges, in the order in which they were added.
    pub edges: Vec<Server>,
    /// The hubs. All of them are equal.
    pub hubs: Vec<Server>,
    standby: Option<Engine>,
    engine: Option<Engine>,
}

impl Fleet {
    /// Starts hubs, and the engines that they need.
    pub fn start(lab: &Lab, store: Store, hubs: usize) -> Self {
        let engine = (store != Store::Sqlite).then(|| engine(lab));
        let standby = engine.as_ref().filter(|_| store == Store::Replicated).map(with_standby);
        let mut fleet = Self { store, edges: Vec::new(), hubs: Vec::new(), standby, engine };
        for number in 0..hubs {
            let home = lab.home(Place::Disk);
            let address = fleet.engine.as_ref().map(|engine| engine.address(DATABASE));
            let store = address.map_or(String::new(), |address| format!("store = \"{address}\"\n"));
            home.configure(&format!("{store}host_name = \"hub{number}\"\nlan_address = \"0.0.0.0:0\"\n"));
            fleet.hubs.push(Server::start_in(lab, Kind::Answerback, home).unwrap());
        }
        fleet
    }

    /// Adds a machine at one of the hubs, with the commands that its user would run.
    pub fn add_edge(&mut self, lab: &Lab, hub: usize) {
        let (name, hub) = (format!("edge{}", self.edges.len()), &self.hubs[hub]);
        let token = run(user(&hub.home, &lab.answerback).args(["host", "add", &name]), b"").stdout;
        let published = fs::read(hub.home.state("daemon.json")).unwrap();
        let published: Value = serde_json::from_slice(&published).unwrap();
        let home = lab.home(Place::Disk);
        run(user(&home, &lab.answerback).args(["join", published["lan_url"].as_str().unwrap()]), &token);
        self.edges.push(Server::start_in(lab, Kind::Answerback, home).unwrap());
    }

    /// Waits until every hub lists this many questions.
    pub fn until_open(&self, count: usize) {
        for hub in &self.hubs {
            let mut conn = hub.connect();
            until("the questions at every hub", || {
                let key = b"\"key\":";
                let keys =
                    |page: crate::http::Reply| page.body.windows(key.len()).filter(|window| window == key).count();
                conn.open_asks().unwrap().into_iter().map(|page| keys(page.expect(200))).sum::<usize>() == count
            });
        }
    }

    /// The CPU time that all hubs, and all processes of the engines, have used so far.
    pub fn cpu(&self) -> (f64, f64) {
        let engines = [&self.engine, &self.standby].into_iter().flatten();
        let processes = engines.flat_map(|engine| process::children(engine.pid()));
        // A process that cleans up may end meanwhile.
        let engines = processes.filter_map(process::cpu_if_alive).sum();
        (self.hubs.iter().map(|hub| process::cpu(hub.pid())).sum(), engines)
    }

    /// How many connections the hubs have at the engine. `None` without one.
    pub fn connections(&self) -> Option<f64> {
        self.query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
    }

    /// How many transactions the engine has committed. `None` without one.
    pub fn commits(&self) -> Option<f64> {
        self.query("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
    }

    fn query(&self, statement: &str) -> Option<f64> {
        self.engine.as_ref().map(|engine| engine.sql(DATABASE, statement).parse().unwrap())
    }
}

/// A primary on the disk that all daemons write to.
fn engine(lab: &Lab) -> Engine {
    // The user of the engine may not enter the directory of the lab.
    let disk = lab.directory(Place::Disk).parent().unwrap().to_path_buf();
    // It is the same directory in each run of this program, so it does not matter who sets it first.
    let _ = tempfile::env::override_temp_dir(Box::leak(disk.into_boxed_path()));
    let engine = Engine::new(SETTINGS);
    engine.sql("postgres", &format!("CREATE DATABASE {DATABASE}"));
    engine
}

/// A standby that every commit of this engine waits for from now on.
fn with_standby(engine: &Engine) -> Engine {
    let standby = engine.standby();
    engine.set("synchronous_standby_names", "'*'");
    let is_synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    until("the standby", || engine.sql("postgres", is_synchronous) == "1");
    standby
}

/// A command of a person, who is not inside of Claude Code.
fn user(home: &Home, program: &Path) -> Command {
    let mut command = home.command(program);
    for (name, _) in CLAUDE {
        command.env_remove(name);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Polls until a condition holds.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
