//! A way to the engine or to the hubs that can be switched, frozen and cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Where a proxy leads to.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Socket(PathBuf),
    Tcp(SocketAddr),
    /// Connections are refused.
    Nowhere,
}

/// Takes connections and leads them to a target. With several targets, each connection goes to the next one that can be
/// reached.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    targets: Mutex<Vec<Target>>,
    next: AtomicUsize,
    /// How many replies to a commit are still to be lost, together with their connections.
    lost_commits: AtomicUsize,
    open: Mutex<Vec<Pair>>,
}

#[derive(Debug)]
struct Pair {
    client: TcpStream,
    server: Side,
}

/// A connection to a target.
#[derive(Debug)]
enum Side {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Side {
    fn connect(target: &Target) -> Option<Self> {
        match target {
            Target::Socket(path) => UnixStream::connect(path).ok().map(Self::Unix),
            Target::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, Duration::from_secs(1)).ok()?;
                stream.set_nodelay(true).ok()?;
                Some(Self::Tcp(stream))
            }
            Target::Nowhere => None,
        }
    }

    fn try_clone(&self) -> Option<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().ok().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().ok().map(Self::Tcp),
        }
    }

    fn shutdown(&self) {
        drop(match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        });
    }
}

impl Read for Side {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Side {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Proxy {
    pub(crate) fn new(targets: Vec<Target>) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let shared = Arc::new(Shared {
            targets: Mutex::new(targets),
            next: AtomicUsize::new(0),
            lost_commits: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let proxy = Self { address: listener.local_addr().unwrap(), shared };
        let own = proxy.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                own.lead(client);
            }
        });
        proxy
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// New connections lead there. Those that are open stay as they are.
    pub(crate) fn lead_to(&self, targets: Vec<Target>) {
        *self.shared.targets.lock().unwrap() = targets;
    }

    /// Cuts every open connection.
    pub(crate) fn cut(&self) {
        for pair in self.shared.open.lock().unwrap().drain(..) {
            pair.server.shutdown();
            drop(pair.client.shutdown(Shutdown::Both));
        }
    }

    /// The next replies to a commit are lost, each together with its connection.
    pub(crate) fn lose_commits(&self, count: usize) {
        self.shared.lost_commits.store(count, Ordering::Relaxed);
    }

    fn lead(&self, client: TcpStream) {
        let targets = self.shared.targets.lock().unwrap().clone();
        let first = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let server = (0..targets.len()).find_map(|n| Side::connect(&targets[(first + n) % targets.len()]));
        let Some(server) = server else {
            drop(client.shutdown(Shutdown::Both));
            return;
        };
        drop(client.set_nodelay(true));
        let (Ok(mut from_client), Ok(mut to_client)) = (client.try_clone(), client.try_clone()) else { return };
        let (Some(mut from_server), Some(mut to_server)) = (server.try_clone(), server.try_clone()) else { return };
        self.shared.open.lock().unwrap().push(Pair { client, server });
        thread::spawn(move || {
            pump(&mut from_client, &mut to_server, |_| true);
            to_server.shutdown();
        });
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            pump(&mut from_server, &mut to_client, |bytes| {
                let is_commit = bytes.windows(7).any(|window| window == b"COMMIT\0");
                let left = |count: usize| count.checked_sub(1);
                let is_lost =
                    is_commit && shared.lost_commits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok();
                !is_lost
            });
            from_server.shutdown();
            drop(to_client.shutdown(Shutdown::Both));
        });
    }
}

/// Passes on what it reads, until one side ends or `may_pass` says no.
fn pump(from: &mut impl Read, to: &mut impl Write, may_pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 || !may_pass(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
