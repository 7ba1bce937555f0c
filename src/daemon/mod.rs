//! The composition root. It builds the parts of the daemon and runs them until the daemon is stopped.

pub mod logging;
mod place;
mod retention;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use answerback_hook::hint::{self, Hinted};
use answerback_hook::paths::Paths;
use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, watch};
use tokio_rustls::rustls::ServerConfig;

use crate::access::{Access, Tickets};
use crate::address::{self, LanAddress};
use crate::ask::Kind;
use crate::claude_code::{Bridge, Deadline, Rules};
use crate::config::{ApproveFrom, Config, Unattended};
use crate::http::{self, App, Lan, LanReach, Listeners, Reach, Services, Shares};
use crate::inbox::{self, Inbox};
use crate::instance::tls::CertificateFiles;
use crate::instance::{self, Instance, InstanceError, Watch};
use crate::notify;
use crate::registry::Registry;
use crate::store::{self, PostgresOptions};

/// A daemon does not start with less free space, because it could not store a question.
const LEAST_SPACE: u64 = 1024 * 1024;
/// How long a daemon that ends waits for the store's last commit.
const CLOSE: Duration = Duration::from_secs(3);
/// Pauses between attempts to create a removed file again. The disk may be full, or something else may have taken the file's place.
const FIRST_MEND: Duration = Duration::from_secs(1);
const LAST_MEND: Duration = Duration::from_secs(30);
/// How often the files of a certificate are looked at.
const RENEWAL: Duration = Duration::from_secs(60);

/// The port of the page and the API on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// The daemon does not start if the port is taken.
    Exactly(u16),
    /// If the port is taken, the daemon uses any free one. Hooks do not need the port.
    Preferably(u16),
}

/// Runs the daemon of an instance until `shutdown`. `ready` is called as soon as the daemon can be reached.
///
/// Open asks stay open on disk. The hooks that wait for them come back to the next daemon.
pub async fn run(
    instance: Instance,
    config: &Config,
    port: Port,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    raise_file_limit();
    forbid_core_dumps();
    let (opening, snapshot) = place::open(&instance, config).await?;
    let open = snapshot.open.len();
    let (registry, store) = Registry::start(opening, snapshot).context("cannot start the store's thread")?;
    registry.set_quota(config.asker_bytes_per_day());
    let tokens = instance.tokens()?;
    let config_file = instance.paths().config_file();
    if config.is_exposed(&config_file) {
        tracing::warn!(path = %config_file.display(), "holds secrets and can be read by other users: run chmod go-rwx on it");
    }
    let tickets = Tickets::shared(&tokens, &store).await?;
    // People answer at the hub, so the hub tells them.
    let notifier = match &config.hub {
        None => notify::start(&registry, &store, config, &tickets).await?,
        Some(_) => None,
    };
    let deputy = inbox::answer_while_away(&registry, &store).await?;
    let tcp = bind_tcp(port).await?;
    http::bound_send_buffer(&tcp);
    let address = tcp.local_addr()?;
    let url = format!("http://{address}");
    let (lan, lan_reach) = listen_on_lan(&instance, config).await?;
    let reach = Reach {
        public: config.public_url.clone(),
        lan: lan_reach,
        websocket_origins: config.websocket_origins.clone(),
    };
    let lan_url = reach.lan_url();
    // The watch begins before the files exist, so that it sees every removal.
    let watch = Watch::begin(instance.paths().state_dir());
    instance.publish(&url, lan_url.as_deref(), &tokens)?;
    // The socket is created last. A client that can connect to it finds everything else in place.
    let socket = bind_socket(&instance)?;
    let (new_socket, new_sockets) = mpsc::channel(1);
    let listeners = Listeners { socket, new_sockets, tcp, lan };

    let (close, closing) = watch::channel(false);
    let deadline = Deadline { after: config.timeout(), then: config.on_timeout };
    let rules = Rules { deadline, unattended_waits: config.permissions.unattended == Unattended::Wait };
    let shares = Shares::of_this_process();
    let private = [instance.paths().state_dir(), config_file.parent().unwrap_or(&config_file)].map(Path::to_path_buf);
    let ticket_kinds = Kind::ALL.into_iter().filter(|kind| config.notify.has_buttons(*kind)).collect();
    let access = Access::new(&tokens, tickets, store.clone());
    access.keep_agents_in(instance.paths().agents());
    let services = Services {
        inbox: Inbox::new(registry.clone(), store.clone(), ticket_kinds)
            .with_only_devices(config.approve_from == ApproveFrom::Devices),
        bridge: Bridge::new(registry.clone(), rules, shares.hooks, config.hub.is_some(), private.into()),
        access,
        ways: notifier.as_ref().map(|notifier| notifier.ways.clone()).unwrap_or_default(),
        registry,
    };
    let app = App::new(services, shares, address.port(), reach, closing);
    let asked_to_stop = app.stop();
    let server = http::serve(listeners, app);
    let housekeeping = tokio::spawn(retention::keep(store.clone(), config.retention(), config.history_bytes()));
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
                // A command that loses its connection looks for `daemon.json`. If the file is gone, the command starts no other daemon.
                // So the file goes before the connections do.
                instance.unpublish();
            }
            // The daemon ends as if it had been killed. A waiting hook starts another daemon, which reads what is on disk.
            End::StoreFailed => tracing::error!("stopping: the store cannot be trusted any more"),
            End::InstanceLost => tracing::error!("stopping: the state directory is not this daemon's any more"),
        }
        close.send_replace(true);
        end
    };
    let ((), end) = tokio::join!(server, stop);
    housekeeping.abort();
    deputy.abort();
    if let Some(notifier) = notifier {
        notifier.task.abort();
    }
    if tokio::time::timeout(CLOSE, store.close()).await.is_err() {
        // No caller got a reply that says "saved". The next daemon reads what is on disk.
        tracing::error!("the store does not finish its last commit: the disk may hang");
    }
    match end {
        End::StoreFailed => anyhow::bail!("the store cannot be trusted any more: see the log"),
        End::Asked | End::InstanceLost => instance.retire(),
    }
    Ok(())
}

/// Why a daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// By a signal or over the API.
    Asked,
    /// Anything that is written from now on may be lost.
    StoreFailed,
    /// Somebody removed or replaced the state directory.
    InstanceLost,
}

/// Creates the socket and `daemon.json` again when somebody removes them. Returns when the state directory is gone or belongs to another
/// daemon, because this daemon must not create files there.
async fn keep_files(
    instance: &Instance,
    watch: &Watch,
    publish: impl Fn() -> Result<(), InstanceError>,
    new_socket: mpsc::Sender<UnixListener>,
) {
    let mut pause = FIRST_MEND;
    while !instance.is_lost() {
        // The socket comes first, because hooks need it and it needs no disk space.
        let mended = if !instance.has_own_socket() {
            tracing::warn!("the socket was removed: it is created again");
            match bind_socket(instance) {
                Ok(socket) => {
                    // An error means that the server has stopped.
                    drop(new_socket.send(socket).await);
                    Ok(())
                }
                Err(error) => Err(error),
            }
        } else if !instance.has_own_daemon_json() {
            tracing::warn!("daemon.json was removed: it is created again");
            publish().map_err(anyhow::Error::from)
        } else {
            pause = FIRST_MEND;
            watch.changed().await;
            continue;
        };
        if let Err(error) = mended {
            tracing::error!(error = format!("{error:#}"), "the removed file cannot be created again");
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

/// Checks whether a daemon could start here, as far as that can be known without starting one. Changes nothing.
pub fn check(paths: &Paths) -> anyhow::Result<()> {
    let config = Config::load(&paths.config_file())?;
    if let Some(hub) = &config.hub {
        instance::hub_options(paths, hub, None)?;
    } else if let Some(address) = &config.store {
        PostgresOptions::parse(address.reveal())?;
    }
    instance::check_place(paths)?;
    if !paths.state_dir().exists() {
        return Ok(());
    }
    instance::check_tokens(paths)?;
    let space = rustix::fs::statvfs(paths.state_dir())?;
    if space.f_bavail.saturating_mul(space.f_frsize) < LEAST_SPACE {
        anyhow::bail!("the disk is full: {} has no room", paths.state_dir().display());
    }
    let store = paths.store();
    if config.hub.is_none() && config.store.is_none() && store.exists() {
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

/// Opens the listener for the local network, if one is configured. If that fails, the daemon runs without it, because hooks do not need it.
async fn listen_on_lan(instance: &Instance, config: &Config) -> anyhow::Result<(Option<Lan>, LanReach)> {
    let Some(address) = config.lan_address.map(LanAddress::socket) else { return Ok((None, LanReach::Off)) };
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
    let files = config.certificate_files().map(|(certificate, key)| CertificateFiles::new(certificate, key));
    let prepared = || {
        let (server, fingerprint) = match &files {
            Some(files) => {
                let loaded = files.load()?;
                (loaded.server, loaded.fingerprint)
            }
            None => {
                let identity = instance.identity(&names)?;
                (identity.server()?, identity.fingerprint()?)
            }
        };
        let reach = LanReach::On { listener: bound, fingerprint: fingerprint.clone() };
        Ok::<_, InstanceError>((server, fingerprint, reach))
    };
    match prepared() {
        Ok((server, fingerprint, reach)) => {
            let (newest, tls) = watch::channel(server);
            if let Some(files) = files {
                tokio::spawn(renew(files, fingerprint, newest, RENEWAL));
            }
            Ok((Some(Lan::new(listener, tls)), reach))
        }
        Err(error) => {
            let error = hint::one_line(&error);
            tracing::error!(error, "the local network is not served");
            Ok((None, LanReach::Failed(error)))
        }
    }
}

/// Takes up a certificate that was renewed. Connections that are open keep the old one. Ends with the listener.
async fn renew(
    files: CertificateFiles,
    mut fingerprint: String,
    newest: watch::Sender<Arc<ServerConfig>>,
    every: Duration,
) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = newest.closed() => return,
        }
        match files.load() {
            Ok(loaded) if loaded.fingerprint != fingerprint => {
                tracing::info!(fingerprint = loaded.fingerprint, "the certificate was renewed");
                fingerprint = loaded.fingerprint;
                newest.send_replace(loaded.server);
            }
            Ok(_) => {}
            // The files may be written at this moment.
            Err(error) => tracing::warn!(%error, "the certificate cannot be read: the old one is used on"),
        }
    }
}

/// Each waiting hook needs an open file, and the usual soft limit is low.
fn raise_file_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // macOS reports no maximum but refuses more than this.
    let wanted = if cfg!(target_os = "macos") { Some(maximum.unwrap_or(u64::MAX).min(10_240)) } else { maximum };
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum }) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// The memory of the daemon holds tokens, keys and answers. They must not get into a core dump.
fn forbid_core_dumps() {
    if let Err(error) = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }) {
        tracing::warn!(%error, "core dumps are not forbidden");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::tls::samples::write_certificate;

    #[tokio::test]
    async fn a_renewed_certificate_is_taken_up_and_a_broken_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (certificate, key) = (dir.path().join("certificate.pem"), dir.path().join("key.pem"));
        write_certificate(&certificate, &key);
        let files = CertificateFiles::new(&certificate, &key);
        let first = files.load().unwrap();
        std::fs::write(&certificate, "").unwrap();
        assert!(files.load().is_err());
        let (newest, mut tls) = watch::channel(first.server);
        let task = tokio::spawn(renew(files, first.fingerprint, newest, Duration::from_millis(1)));
        write_certificate(&certificate, &key);
        tokio::time::timeout(Duration::from_secs(20), tls.changed()).await.unwrap().unwrap();
        drop(tls);
        task.await.unwrap();
    }
}
