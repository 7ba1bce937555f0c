//! `answerback open`: the page, in a browser of this machine.
//!
//! The address holds a one-time code, and browsers are opened with addresses as arguments, which other users of the machine can
//! read. That gains them nothing on Linux, where the daemon asks the kernel whose connection brings the code. A file that only
//! we can read would hide it everywhere, but browsers in sandboxes (snap, flatpak) may not read it either.
//!
//! The crate `webbrowser` does less of what is needed here. It counts a program that could be started as a browser that opened, so an
//! `xdg-open` that fails at once looks like a success and nobody sees the address. It tries `xdg-open` without a screen as well, and
//! waits for a browser in the terminal until that ends.

use std::env;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anstream::eprintln;
use wait_timeout::ChildExt;

use crate::client::Client;
use crate::instance::Published;

use super::exit::Exit;
use super::explain::hinted;
use super::settle::refuse_inside_agent;
use super::{client, hub};

/// An opener that fails ends at once. One that works may live as long as its browser.
const PATIENCE: Duration = Duration::from_secs(1);

/// Open the page in a browser
///
/// The browser is signed in by a code in the address, which is good once and for one minute. $BROWSER chooses the browser.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback open\n  \
    answerback open --print    # just the address, for a browser of your choice")]
pub(super) struct Args {
    /// Print the address and open nothing
    #[arg(long)]
    print: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    // An edge has no page that anybody could answer on.
    let url = match hub() {
        Some(hub) => hub.to_string(),
        None => url(&client()?)?,
    };
    if args.print {
        outln!("{url}");
        return Ok(Exit::Success);
    }
    if openers(&url).into_iter().any(opens) {
        eprintln!("The page opens in your browser.");
    } else {
        eprintln!("No browser could be opened here. Open this within a minute, in a browser on this machine:");
        outln!("{url}");
    }
    Ok(Exit::Success)
}

fn url(client: &Client) -> anyhow::Result<String> {
    let launch = client.launch()?;
    let published = Published::read(client.paths())
        .map_err(|error| hinted(format!("daemon.json cannot be used: {error}"), "Run: answerback restart"))?;
    Ok(format!("{}/#launch={}", published.url, launch.code))
}

/// What to try, in order. No shell is involved.
fn openers(url: &str) -> Vec<Command> {
    let mut openers: Vec<Command> =
        env::var("BROWSER").unwrap_or_default().split(':').filter_map(|browser| from_variable(browser, url)).collect();
    let has_screen = |name: &str| env::var_os(name).is_some_and(|value: OsString| !value.is_empty());
    let system = if cfg!(target_os = "macos") {
        Some("open")
    } else {
        // Without a screen, xdg-open would open a browser in the terminal, or none.
        (has_screen("DISPLAY") || has_screen("WAYLAND_DISPLAY")).then_some("xdg-open")
    };
    openers.extend(system.map(|program| {
        let mut opener = Command::new(program);
        opener.arg(url);
        opener
    }));
    openers
}

/// A program with arguments. `%s` stands for the address. Without it, the address is the last argument.
fn from_variable(browser: &str, url: &str) -> Option<Command> {
    let mut words = browser.split_whitespace();
    let mut opener = Command::new(words.next()?);
    let mut has_url = false;
    for word in words {
        has_url |= word.contains("%s");
        opener.arg(word.replace("%s", url));
    }
    if !has_url {
        opener.arg(url);
    }
    Some(opener)
}

fn opens(mut opener: Command) -> bool {
    // An entry of the PATH that is not absolute must not lead into the directory we are in.
    opener.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    opener.spawn().is_ok_and(works)
}

fn works(mut opener: Child) -> bool {
    opener.wait_timeout(PATIENCE).is_ok_and(|ended| ended.is_none_or(|status| status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_may_hold_arguments() {
        let parts = |browser: &str| {
            let command = from_variable(browser, "http://u")?;
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            Some(words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parts("firefox").unwrap(), ["firefox", "http://u"]);
        assert_eq!(parts("firefox --new-window %s").unwrap(), ["firefox", "--new-window", "http://u"]);
        assert_eq!(parts(" "), None);
    }
}
