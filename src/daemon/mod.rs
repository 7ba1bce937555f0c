//! The composition root: puts the parts together and runs them until it is told to stop.

pub mod logging;
mod retention;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use answerback_hook::hint::{self, Hinted};
use answerback_hook::paths::Paths;
use answerback_hook::trust::check_private;
use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, watch};

use crate::access::{Access, Tickets};
use crate::address::{self, LanAddress};
use crate::ask::Host;
use crate::claude_code::Deadline;
use crate::config::Config;
use crate::http::{self, App, Lan, LanReach, Listeners, Reach};
use crate::inbox::Inbox;
use crate::instance::{self, Instance, InstanceError, Watch};
use crate::notify;
use crate::registry::Registry;
use crate::store::{self, Opening};

/// A daemon does not start with less free space: it could not store a question.
const LEAST_SPACE: u64 = 1024 * 1024;
/// How long a daemon that ends waits for the store to finish its last commit.
const CLOSE: Duration = Duration::from_secs(3);
/// After a file could not be made: the disk may be full, or something is in its place.
const FIRST_MEND: Duration = Duration::from_secs(1);
const LAST_MEND: Duration = Duration::from_secs(30);

/// The address of the page and the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// This one or none.
    Exactly(u16),
    /// This one, or any free one if another program has it: hooks do not need it.
    Preferably(u16),
}

/// Runs the daemon of an instance until `shutdown`. `ready` is called once it can be reached.
///
/// Open asks stay open on disk; those who wait for them come back to the next daemon.
pub async fn run(
    instance: Instance,
    config: &Config,
    port: Port,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    raise_file_limit();
    forbid_core_dumps();
    let file = instance.paths().store();
    // A first start makes the store before the tokens. So without tokens there was no store before.
    let is_first = !instance.paths().tokens().exists();
    let (opening, snapshot) = Opening::open(&file, is_first, Host::new(&address::host_name()))
        .with_context(|| format!("cannot use {}", file.display()))?;
    let open = snapshot.open.len();
    let (registry, store) = Registry::start(opening, snapshot).context("cannot start the store's thread")?;
    let tokens = instance.tokens()?;
    let config_file = instance.paths().config_file();
    if config.is_exposed(&config_file) {
        tracing::warn!(path = %config_file.display(), "holds secrets and can be read by other users: run chmod go-rwx on it");
    }
    let notifier = notify::start(&registry, config, &Tickets::new(&tokens)).await?;
    let tcp = bind_tcp(port).await?;
    http::bound_send_buffer(&tcp);
    let address = tcp.local_addr()?;
    let url = format!("http://{address}");
    let (lan, lan_reach) = listen_on_lan(&instance, config.lan_address).await?;
    let reach = Reach { public: config.public_url.clone(), lan: lan_reach };
    let lan_url = reach.lan_url();
    // Before anything is there to be removed.
    let watch = Watch::begin(instance.paths().state_dir());
    instance.publish(&url, lan_url.as_deref(), &tokens)?;
    // The socket comes last: whoever gets through to it finds everything else in place.
    let socket = bind_socket(&instance)?;
    let (new_socket, new_sockets) = mpsc::channel(1);
    let listeners = Listeners { socket, new_sockets, tcp, lan };

    let (close, closing) = watch::channel(false);
    let deadline = Deadline { after: config.timeout(), then: config.on_timeout };
    let access = Access::new(&tokens, store.clone());
    let inbox = Inbox::new(registry.clone(), store.clone());
    let app = App::new(registry.clone(), inbox, access, address.port(), reach, deadline, closing);
    let asked_to_stop = app.stop();
    let server = http::serve(listeners, app);
    let housekeeping = tokio::spawn(retention::keep(store.clone(), config.retention()));
    tracing::info!(url, lan_url, open, version = env!("CARGO_PKG_VERSION"), "ready");
    ready();

    let publish = || instance.publish(&url, lan_url.as_deref(), &tokens);
    let stop = async {
        let end = tokio::select! {
            () = shutdown => End::Asked,
            () = asked_to_stop.notified() => End::Asked,
            () = store.failed() => End::StoreFailed,
            () = keep_files(&instance, &watch, publish, new_socket) => End::InstanceLost,
        };
        match end {
            End::Asked => {
                tracing::info!("stopping");
                // Before anybody who waits is sent away.
                instance.unpublish();
            }
            // As if it had been killed: whoever waits starts another daemon, which reads what is there.
            End::StoreFailed => tracing::error!("stopping: the store cannot be trusted any more"),
            End::InstanceLost => tracing::error!("stopping: the state directory is not this daemon's any more"),
        }
        close.send_replace(true);
        end
    };
    let ((), end) = tokio::join!(server, stop);
    housekeeping.abort();
    if let Some(notifier) = notifier {
        notifier.abort();
    }
    if tokio::time::timeout(CLOSE, store.close()).await.is_err() {
        // Nobody was told that it is saved. The next daemon reads what is there.
        tracing::error!("the store does not finish: its disk may hang");
    }
    match end {
        End::StoreFailed => anyhow::bail!("the store {} cannot be trusted any more: see the log", file.display()),
        End::Asked | End::InstanceLost => instance.retire(),
    }
    Ok(())
}

/// Why a daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Somebody wants it to.
    Asked,
    /// What it writes may be lost.
    StoreFailed,
    /// Somebody removed or replaced its directory.
    InstanceLost,
}

/// Makes the files that lead to this daemon again when somebody removes them. Returns when the instance is another daemon's, or
/// nobody's: then they are not this one's to make.
async fn keep_files(
    instance: &Instance,
    watch: &Watch,
    publish: impl Fn() -> Result<(), InstanceError>,
    new_socket: mpsc::Sender<UnixListener>,
) {
    let mut pause = FIRST_MEND;
    while !instance.is_lost() {
        // The socket first: hooks need it, and it needs no room on the disk.
        let mended = if !instance.has_own_socket() {
            tracing::warn!("the socket was removed, and is made again");
            match bind_socket(instance) {
                Ok(socket) => {
                    // The server may be going down.
                    drop(new_socket.send(socket).await);
                    Ok(())
                }
                Err(error) => Err(error),
            }
        } else if !instance.has_own_daemon_json() {
            tracing::warn!("daemon.json was removed, and is made again");
            publish().map_err(anyhow::Error::from)
        } else {
            pause = FIRST_MEND;
            watch.changed().await;
            continue;
        };
        if let Err(error) = mended {
            tracing::error!(error = format!("{error:#}"), "it could not be made again");
            tokio::time::sleep(pause).await;
            pause = LAST_MEND.min(pause * 2);
        }
    }
}

fn bind_socket(instance: &Instance) -> anyhow::Result<UnixListener> {
    let socket = instance.bind_socket()?;
    socket.set_nonblocking(true)?;
    Ok(UnixListener::from_std(socket)?)
}

/// Whether a daemon could start here, as far as that can be known without starting one. Changes nothing.
pub fn check(paths: &Paths) -> anyhow::Result<()> {
    Config::load(&paths.config_file())?;
    match check_private(paths.state_dir()) {
        Err(error) if error.is_not_found() => return Ok(()),
        checked => checked?,
    }
    instance::check_tokens(paths)?;
    let space = rustix::fs::statvfs(paths.state_dir())?;
    if space.f_bavail.saturating_mul(space.f_frsize) < LEAST_SPACE {
        anyhow::bail!("the disk is full: {} has no room", paths.state_dir().display());
    }
    let store = paths.store();
    if store.exists() {
        let is_first = !paths.tokens().exists();
        store::check_version(&store, is_first).with_context(|| format!("cannot use {}", store.display()))?;
    }
    Ok(())
}

async fn bind_tcp(port: Port) -> anyhow::Result<TcpListener> {
    let (Port::Exactly(number) | Port::Preferably(number)) = port;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, number));
    match TcpListener::bind(address).await {
        Err(error) if matches!(port, Port::Preferably(_)) => {
            tracing::warn!(%address, %error, "the port is taken: any free one is used instead");
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port can be used on 127.0.0.1")
        }
        bound => bound.map_err(|error| {
            let message = format!("cannot listen on {address}: {error}");
            Hinted::new(message, "Choose another port with --port.").into()
        }),
    }
}

/// The local network is a convenience as well: what keeps it out must not keep hooks from their daemon.
async fn listen_on_lan(instance: &Instance, address: Option<LanAddress>) -> anyhow::Result<(Option<Lan>, LanReach)> {
    let Some(address) = address.map(LanAddress::socket) else { return Ok((None, LanReach::Off)) };
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%address, %error, "the local network is not served");
            return Ok((None, LanReach::Failed(format!("cannot listen on {address}: {error}"))));
        }
    };
    let mut names = address::host_names();
    names.extend(address::own_ip(address.ip()).map(|ip| ip.to_canonical().to_string()));
    let bound = listener.local_addr()?;
    let prepared = || {
        let identity = instance.identity(&names)?;
        let reach = LanReach::On { listener: bound, fingerprint: identity.fingerprint()? };
        Ok::<_, InstanceError>((identity.server()?, reach))
    };
    match prepared() {
        Ok((tls, reach)) => Ok((Some(Lan::new(listener, tls)), reach)),
        Err(error) => {
            let error = hint::one_line(&error);
            tracing::error!(error, "the local network is not served");
            Ok((None, LanReach::Failed(error)))
        }
    }
}

/// Each waiting hook is an open file, and the usual soft limit is soon reached.
fn raise_file_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // macOS calls its maximum unlimited, and takes no more than this.
    let wanted = if cfg!(target_os = "macos") { Some(maximum.unwrap_or(u64::MAX).min(10_240)) } else { maximum };
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum }) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// What is in memory here are tokens, keys and answers.
fn forbid_core_dumps() {
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }) {
        tracing::warn!(%error, "core dumps are not forbidden");
    }
}
