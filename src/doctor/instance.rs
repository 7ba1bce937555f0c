//! The files of the instance, and the daemon that uses them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::api::Version;
use crate::client::{Client, ClientError};
use crate::config::Config;
use crate::instance::{Published, check_place};
use crate::store::{self, StoreError};
use answerback_hook::paths::Paths;
use answerback_hook::trust::check_private;

use super::{Finding, edge, hub};

/// With less free space than this, the store may soon be unable to save a question.
const LITTLE_SPACE: u64 = 64 * 1024 * 1024;

/// The hook beside this program.
pub(super) fn program(hook: &Path) -> Vec<Finding> {
    let path = hook.display();
    let finding = match fs::metadata(hook) {
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => {
            Finding::ok("program", format!("the hook is {path}"))
        }
        Ok(_) => Finding::error("program", format!("{path} cannot be run"), format!("Run: chmod +x {path}")),
        Err(error) => Finding::error(
            "program",
            format!("the hook is missing: {path}: {error}"),
            format!(
                "Put answerback-hook beside answerback, into {}, or run install/install.sh, which installs both.",
                hook.parent().unwrap_or(hook).display()
            ),
        ),
    };
    vec![finding]
}

pub(super) fn examine(paths: &Paths) -> Vec<Finding> {
    let mut findings = vec![configuration(paths)];
    findings.extend(files(paths));
    findings.push(space(paths));
    // This client starts no daemon, which would replace a stale socket before it is reported.
    let client = Client::only_running(paths.clone());
    let running = client.version();
    findings.push(daemon(paths, &running));
    // A configuration that cannot be read has a finding of its own.
    match (edge::examine(paths), Config::load(&paths.config_file()).unwrap_or_default().store) {
        (Some(hub), _) => findings.extend(hub),
        (None, address) => {
            findings.extend(network(paths, running.is_ok()));
            match address {
                Some(address) => findings.extend(hub::examine(&address)),
                None => findings.push(store_file(paths)),
            }
        }
    }
    findings
}

fn configuration(paths: &Paths) -> Finding {
    let path = paths.config_file();
    match Config::load(&path) {
        Ok(config) if config.is_exposed(&path) => Finding::warning(
            "config",
            format!("{} holds secrets and can be read by other users", path.display()),
            format!("Run: chmod go-rwx {}", path.display()),
        ),
        Ok(_) if path.exists() => Finding::ok("config", format!("the configuration is {}", path.display())),
        Ok(_) => Finding::ok("config", "there is no configuration, and none is needed"),
        Err(error) => Finding::of("config", &error),
    }
}

fn files(paths: &Paths) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = check_place(paths) {
        findings.push(Finding::of("files", &error));
    }
    let secrets = [paths.tokens(), paths.tls(), paths.host_token()];
    let private = [paths.daemon_json(), paths.store()].into_iter().chain(secrets);
    for path in private {
        match check_private(&path) {
            Err(error) if !error.is_not_found() => findings.push(Finding::of("files", &error)),
            _ => {}
        }
    }
    if findings.is_empty() {
        let state_dir = paths.state_dir();
        let what = if state_dir.exists() { "is yours alone" } else { "can be made" };
        findings.push(Finding::ok("files", format!("{} {what}", state_dir.display())));
    }
    findings
}

fn space(paths: &Paths) -> Finding {
    let existing = paths.state_dir().ancestors().find(|dir| dir.exists());
    let free = existing.and_then(|dir| rustix::fs::statvfs(dir).ok()).map(|stat| stat.f_bavail * stat.f_frsize);
    match free {
        Some(free) if free < LITTLE_SPACE => Finding::error(
            "space",
            format!("only {} MB are free for {}", free / 1_000_000, paths.state_dir().display()),
            "Make room on that disk: an answer that cannot be saved is refused.",
        ),
        _ => Finding::ok("space", "there is room for questions and answers"),
    }
}

fn daemon(paths: &Paths, running: &Result<Version, ClientError>) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    match running {
        Ok(version) if version.version == own => Finding::ok("daemon", format!("the daemon runs, version {own}")),
        Ok(version) => Finding::warning(
            "daemon",
            format!("the daemon runs in version {}, and this is {own}", version.version),
            "Run: answerback restart",
        ),
        Err(ClientError::NotRunning) if paths.socket().exists() => Finding::note(
            "daemon",
            "the daemon does not run, and left its socket behind: it was killed",
            "Nothing needs to be done: the next question starts it.",
        ),
        Err(ClientError::NotRunning) => Finding::ok("daemon", "the daemon does not run; the next question starts it"),
        Err(error) => Finding::error(
            "daemon",
            format!("the daemon does not answer: {error}"),
            "Look into daemon.log in the state directory, then run: answerback restart",
        ),
    }
}

/// How other devices reach the daemon, if that is configured.
fn network(paths: &Paths, is_running: bool) -> Vec<Finding> {
    // A configuration that cannot be read has a finding of its own.
    let config = Config::load(&paths.config_file()).unwrap_or_default();
    let mut findings = Vec::new();
    if let Some(address) = config.lan_address.filter(|_| is_running) {
        findings.push(match Published::read(paths).ok().and_then(|published| published.lan_url) {
            Some(url) => Finding::ok("network", format!("devices in the local network reach {url}")),
            None => Finding::warning(
                "network",
                format!("the daemon does not listen on {}", address.socket()),
                "Run: answerback restart. If it stays so, daemon.log in the state directory says why.",
            ),
        });
    }
    if let Some(url) = config.public_url {
        findings.push(if url.is_https() {
            Finding::ok("network", format!("devices elsewhere reach {url}, if your proxy or tunnel does its part"))
        } else {
            Finding::warning(
                "network",
                format!("{url} is not encrypted: whoever is on the way can read questions, and answer them"),
                "Use https, or be sure that the network below is encrypted (a VPN).",
            )
        });
    }
    findings
}

/// Where the API is, once the daemon runs.
pub(super) fn port(paths: &Paths) -> Finding {
    let url = Published::read(paths).map(|published| published.url).unwrap_or_default();
    let configured = Config::load(&paths.config_file()).unwrap_or_default().port;
    if url.is_empty() {
        return Finding::note("port", "the daemon does not run, so it has no port", "Look at the other findings.");
    }
    if configured == 0 || url.ends_with(&format!(":{configured}")) {
        return Finding::ok("port", format!("the page and the API are at {url}"));
    }
    Finding::warning(
        "port",
        format!("another program has port {configured}, so the API is at {url}"),
        "End that program, or set another port in the configuration; then run: answerback restart",
    )
}

fn store_file(paths: &Paths) -> Finding {
    let path = paths.store();
    if !path.exists() {
        return Finding::ok("store", "there are no questions yet");
    }
    match store::check(&path, !paths.tokens().exists()) {
        Ok(()) => Finding::ok("store", format!("{} is sound", path.display())),
        Err(StoreError::Emptied) => Finding::error(
            "store",
            format!("{} is empty, but there was a store before", path.display()),
            format!("Restore {0} from a backup, or remove it to begin anew.", path.display()),
        ),
        Err(error @ StoreError::DamagedAsks(_)) => Finding::warning(
            "store",
            format!("{}: {error}", path.display()),
            "The others are fine. If you have a copy, run `answerback stop` and put it in place; otherwise delete these rows of the \
             table asks with sqlite3.",
        ),
        Err(error) => Finding::error(
            "store",
            format!("{} cannot be used: {error}", path.display()),
            format!("Move it away ({0} to {0}.broken); a new one is made.", path.display()),
        ),
    }
}
