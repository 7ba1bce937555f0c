//! A hub behind a TLS proxy with a certificate of a private authority, and edges that have joined it. The proxy finds the hub anew for each
//! connection, so it leads to the next daemon of the hub, too.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::certificate::{certificate_for, own_name};
use crate::phone::admin;
use crate::world::{ANSWERBACK, World, until};

/// What the proxy does with connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    /// No connection is made.
    Closed,
    /// Connections stay open, and nothing gets through.
    Silent,
    /// So many bytes per second get to the hub, and so many back.
    Slow(u32, u32),
}

/// How much goes over a slow way at once.
const PIECE: usize = 4096;
/// More than any way needs.
pub(crate) const FAST: u32 = 1_000_000_000;

/// A hub, and the way to it.
pub(crate) struct Fleet {
    pub(crate) hub: World,
    pub(crate) url: String,
    pub(crate) ca: PathBuf,
    /// The number grows whenever the connections of that moment are cut.
    way: watch::Sender<(Way, u64)>,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        Self::with_config("")
    }

    /// The hub has these settings, too.
    pub(crate) fn with_config(config: &str) -> Self {
        let name = own_name();
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let url = format!("https://{name}:{}", listener.local_addr().unwrap().port());
        let mut hub = World::with_config(&format!("public_url = \"{url}\"\nhost_name = \"hub\"\n{config}"));
        drop(hub.daemon());
        let ca = hub.home().join("ca.pem");
        let (way, ways) = watch::channel((Way::Open, 0));
        let acceptor = acceptor(&name, &ca);
        let daemon_json = hub.state("daemon.json");
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(proxy(listener, acceptor, &daemon_json, ways));
        });
        Self { hub, url, ca, way }
    }

    /// Makes a host token with the command.
    pub(crate) fn token(&self, name: &str) -> String {
        let new: Value = serde_json::from_slice(&self.run(&["host", "add", name, "--json"]).stdout).unwrap();
        assert_eq!((&new["url"], &new["fingerprint"]), (&json!(self.url), &Value::Null), "{new}");
        new["token"].as_str().unwrap().to_owned()
    }

    /// Runs a command at the hub that must succeed.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let output = self.hub.command(ANSWERBACK).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    }

    /// A machine that has joined. Its daemon is not started.
    pub(crate) fn edge(&self, name: &str) -> World {
        self.edge_with(&self.token(name))
    }

    pub(crate) fn edge_with(&self, token: &str) -> World {
        let edge = World::new();
        self.join(&edge, token);
        edge
    }

    /// Makes an edge of a machine.
    pub(crate) fn join(&self, edge: &World, token: &str) {
        let output = join(edge, &[&self.url, "--ca", self.ca.to_str().unwrap()], token);
        assert!(output.status.success(), "{output:?}");
    }

    /// A machine that has joined and is linked.
    pub(crate) fn linked_edge(&self, name: &str) -> World {
        let mut edge = self.edge(name);
        drop(edge.daemon());
        self.until_linked(name);
        edge
    }

    pub(crate) fn hosts(&self) -> Value {
        admin(&self.hub, "GET /v1/hosts", &json!({})).expect(200).json()["hosts"].take()
    }

    pub(crate) fn until_linked(&self, name: &str) {
        let is_linked = |host: &Value| host["name"] == name && host["linked"] == true;
        until("the link", || self.hosts().as_array().unwrap().iter().any(is_linked).then_some(()));
    }

    pub(crate) fn until_not_linked(&self, name: &str) {
        let is_linked = |host: &Value| host["name"] == name && host["linked"] == true;
        until("the end of the link", || (!self.hosts().as_array().unwrap().iter().any(is_linked)).then_some(()));
    }

    fn set(&self, way: Way, cuts: u64) {
        self.way.send_modify(|now| *now = (way, now.1 + cuts));
    }

    /// Cuts every connection. New ones can be made.
    pub(crate) fn cut(&self) {
        self.set(Way::Open, 1);
    }

    /// Cuts every connection, and lets none be made.
    pub(crate) fn close(&self) {
        self.set(Way::Closed, 1);
    }

    /// Lets nothing through, and cuts nothing.
    pub(crate) fn silence(&self) {
        self.set(Way::Silent, 0);
    }

    /// Lets only so many bytes per second through: to the hub, and back.
    pub(crate) fn slow(&self, up: u32, down: u32) {
        self.set(Way::Slow(up, down), 0);
    }

    pub(crate) fn reopen(&self) {
        self.set(Way::Open, 0);
    }
}

/// Runs `answerback join` with a token on its stdin.
pub(crate) fn join(edge: &World, args: &[&str], token: &str) -> Output {
    let mut child = edge.command(ANSWERBACK).arg("join").args(args).spawn().unwrap();
    // A command that refuses its arguments does not read the token.
    drop(child.stdin.take().unwrap().write_all(format!("{token}\n").as_bytes()));
    child.wait_with_output().unwrap()
}

/// A certificate for a name, signed by an authority that is written to a file.
fn acceptor(name: &str, ca: &Path) -> TlsAcceptor {
    let made = certificate_for(name);
    fs::write(ca, made.authority).unwrap();
    let certificate = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn proxy(listener: TcpListener, acceptor: TlsAcceptor, hub: &Path, ways: watch::Receiver<(Way, u64)>) {
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, hub, mut ways) = (acceptor.clone(), hub.to_path_buf(), ways.clone());
        let pace = ways.clone();
        let (way, cuts) = *ways.borrow();
        if way == Way::Closed {
            continue;
        }
        tokio::spawn(async move {
            let pass = async {
                let edge = acceptor.accept(stream).await.ok()?;
                let json: Value = serde_json::from_slice(&fs::read(hub).ok()?).ok()?;
                let address = json["url"].as_str()?.strip_prefix("http://")?.to_owned();
                let hub = TcpStream::connect(address).await.ok()?;
                let ((from_edge, to_edge), (from_hub, to_hub)) = (tokio::io::split(edge), tokio::io::split(hub));
                let rate = |way: Way| if let Way::Slow(up, down) = way { (up, down) } else { (FAST, FAST) };
                let up = copy(from_edge, to_hub, || rate(pace.borrow().0).0);
                let down = copy(from_hub, to_edge, || rate(pace.borrow().0).1);
                tokio::try_join!(up, down).ok()
            };
            let mut pass = Box::pin(pass);
            loop {
                tokio::select! {
                    _ = &mut pass => return,
                    changed = ways.wait_for(|(way, now)| *now > cuts || *way == Way::Silent) => match changed {
                        Ok(now) if now.1 > cuts => return,
                        Ok(_) => {}
                        Err(_) => return,
                    },
                }
                // Nothing gets through until it is open again.
                match ways.wait_for(|(way, now)| *now > cuts || *way != Way::Silent).await {
                    Ok(now) if now.1 == cuts => {}
                    _ => return,
                }
            }
        });
    }
}

/// Passes on what comes, at so many bytes per second.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    rate: impl Fn() -> u32,
) -> std::io::Result<()> {
    let mut buffer = [0; PIECE];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
        let rate = rate();
        if rate < FAST {
            tokio::time::sleep(Duration::from_secs_f64(count as f64 / f64::from(rate))).await;
        }
    }
}
