//! The processes of a fleet.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::certificate::{certificate_for, own_name};
use crate::http::Request;
use crate::postgres::Engine;
use crate::proxy::{Proxy, Target};
use crate::world::{ANSWERBACK, World, signal, until};

pub(crate) const HUBS: usize = 3;
pub(crate) const EDGES: usize = 10;

/// The way to a hub for people.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    address: String,
    headers: Vec<(String, String)>,
}

impl Door {
    /// The status of the reply; `None` if there was none.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Option<u16> {
        let (line, body) = (format!("POST {path}"), body.to_string());
        let request = Request { line: &line, headers: self.headers.clone(), body: body.as_bytes() };
        request.over_tcp(&self.address).ok().map(|reply| reply.status)
    }
}

/// A primary with a synchronous standby, and the address that leads to whichever is the primary.
pub(crate) struct Engines {
    pub(crate) primary: Engine,
    pub(crate) standby: Option<Engine>,
    pub(crate) way: Proxy,
}

impl Engines {
    fn new() -> Self {
        let primary = Engine::new("wal_level = replica\nmax_wal_senders = 4\nsynchronous_commit = on\n");
        let standby = primary.standby();
        primary.sql("postgres", "CREATE DATABASE fleet");
        primary.set("synchronous_standby_names", "'*'");
        let way = Proxy::new(vec![Target::Socket(primary.socket())]);
        Self { primary, standby: Some(standby), way }
    }

    /// Kills the primary. The standby takes its place.
    pub(crate) fn fail_over(&mut self) {
        self.way.lead_to(vec![Target::Nowhere]);
        self.primary.crash();
        self.way.cut();
        let standby = self.standby.take().unwrap();
        standby.promote();
        // There is no other standby to wait for.
        standby.set("synchronous_standby_names", "''");
        self.way.lead_to(vec![Target::Socket(standby.socket())]);
        self.primary = standby;
    }

    fn address(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/fleet", self.way.port())
    }
}

pub(crate) struct Fleet {
    pub(crate) engines: Engines,
    url: String,
    /// The certificate of the hubs and its authority.
    certificate: TempDir,
    pub(crate) hubs: Vec<World>,
    daemons: Vec<Child>,
    pub(crate) edges: Vec<World>,
    edge_daemons: Vec<Child>,
    /// The address of the hubs, for edges.
    pub(crate) way: Proxy,
    doors: Arc<Mutex<Vec<Door>>>,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let engines = Engines::new();
        let address = engines.address();
        let (way, name) = (Proxy::new(Vec::new()), own_name());
        let certificate = tempfile::tempdir().unwrap();
        make_certificate(certificate.path(), &name);
        let mut fleet = Self {
            engines,
            url: format!("https://{name}:{}", way.port()),
            certificate,
            hubs: Vec::new(),
            daemons: Vec::new(),
            edges: Vec::new(),
            edge_daemons: Vec::new(),
            way,
            doors: Arc::default(),
        };
        for n in 0..HUBS {
            let (url, at) = (&fleet.url, fleet.certificate.path().display());
            let config = format!(
                "store = \"{address}\"\nhost_name = \"hub{n}\"\npublic_url = \"{url}\"\nlan_address = \"0.0.0.0:0\"\n\
                 tls_certificate = \"{at}/certificate.pem\"\ntls_key = \"{at}/key.pem\"\n"
            );
            let mut hub = World::with_config(&config);
            let daemon = hub.daemon();
            fleet.hubs.push(hub);
            fleet.daemons.push(daemon);
        }
        fleet.look_for_hubs();
        for n in 0..EDGES {
            fleet.add_edge(&format!("edge{n}"));
        }
        fleet
    }

    /// Adds a machine, as its user would.
    fn add_edge(&mut self, name: &str) {
        let hub = &self.hubs[self.edges.len() % HUBS];
        let token = host_token(hub, name);
        let mut edge = World::with_config("");
        join(&edge, &self.url, &self.certificate.path().join("ca.pem"), &token);
        let daemon = edge.daemon();
        self.edges.push(edge);
        self.edge_daemons.push(daemon);
    }

    /// Starts what a fault has ended.
    pub(crate) fn mend(&mut self) {
        for n in 0..HUBS {
            if self.daemons[n].try_wait().unwrap().is_some() {
                self.start_hub(n, |_| ());
            }
        }
    }

    /// The hubs may have got other addresses.
    pub(crate) fn look_for_hubs(&self) {
        let doors: Vec<Door> =
            self.hubs.iter().map(|hub| Door { address: hub.address(), headers: hub.headers() }).collect();
        let lan = |hub: &World| {
            let url = hub.daemon_json().unwrap()["lan_url"].as_str().unwrap().to_owned();
            Target::Tcp(format!("127.0.0.1:{}", url.rsplit(':').next().unwrap()).parse().unwrap())
        };
        self.way.lead_to(self.hubs.iter().map(lan).collect());
        *self.doors.lock().unwrap() = doors;
    }

    pub(crate) fn doors(&self) -> Arc<Mutex<Vec<Door>>> {
        Arc::clone(&self.doors)
    }

    pub(crate) fn kill_hub(&mut self, n: usize) {
        signal(self.daemons[n].id(), Signal::KILL);
        self.daemons[n].wait().unwrap();
    }

    /// Starts a hub again, perhaps in another way.
    pub(crate) fn start_hub(&mut self, n: usize, prepare: impl FnOnce(&mut Command)) {
        self.daemons[n] = self.hubs[n].daemon_with(prepare);
        self.look_for_hubs();
    }

    /// Kills the daemon of an edge. The hooks that wait there start another one.
    pub(crate) fn kill_edge(&mut self, n: usize) {
        signal(self.edge_daemons[n].id(), Signal::KILL);
        self.edge_daemons[n].wait().unwrap();
    }

    /// Waits until every hub shows all of these as open.
    pub(crate) fn until_all_open(&self, keys: &[String]) {
        for hub in &self.hubs {
            until("all questions at a hub", || {
                let list = hub.try_get("/v1/asks?limit=1000").ok().filter(|reply| reply.status == 200)?.json();
                let open: Vec<&str> = list["asks"].as_array()?.iter().filter_map(|ask| ask["key"].as_str()).collect();
                keys.iter().all(|key| open.contains(&key.as_str())).then_some(())
            });
        }
    }

    /// An ask, as any hub has it once it is settled.
    pub(crate) fn ask(&self, key: &str) -> Value {
        until(&format!("the outcome of {key}"), || {
            self.hubs.iter().find_map(|hub| {
                let reply = hub.try_get(&format!("/v1/asks/{key}")).ok().filter(|reply| reply.status == 200)?;
                Some(reply.json()).filter(|ask| ask["state"] == "settled")
            })
        })
    }
}

/// Lets a machine in at a hub, as a person does: its token.
fn host_token(hub: &World, name: &str) -> String {
    let output = hub.command(ANSWERBACK).args(["host", "add", name]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a machine an edge, as a person does.
fn join(edge: &World, hub: &str, ca: &Path, token: &str) {
    let mut child = edge.command(ANSWERBACK).args(["join", hub, "--ca"]).arg(ca).spawn().unwrap();
    child.stdin.take().unwrap().write_all(token.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Writes a certificate for a name, its key, and the authority that has signed it.
pub(crate) fn make_certificate(dir: &Path, name: &str) {
    let made = certificate_for(name);
    for (file, content) in [("ca.pem", made.authority), ("certificate.pem", made.certificate), ("key.pem", made.key)] {
        fs::write(dir.join(file), content).unwrap();
    }
}
