//! The machine that a question is of. If all questions are of one machine, nobody needs to be told which.

use std::path::Path;

use crate::api::{AskView, ProjectList};
use crate::client::Client;
use crate::text::{fit, one_line};

use super::explain::hinted;

/// The columns for a host and for the name of a project.
const HOST: usize = 16;
const PROJECT: usize = 16;

/// Whether these are of more than one machine.
pub(super) fn are_several(asks: &[AskView]) -> bool {
    asks.windows(2).any(|pair| pair[0].host != pair[1].host)
}

/// Whether more than one machine has ever asked, as far as the daemon knows. If it cannot say, the question itself matters more.
pub(super) fn are_several_known(client: &Client) -> bool {
    client.projects().is_ok_and(|known| known.hosts.len() > 1)
}

/// The last part of the asker's directory, with the host before it if that is shown. Short enough for a list.
pub(super) fn short_name(ask: &AskView, with_host: bool) -> String {
    let project = ask.project.as_deref().map(Path::new).and_then(Path::file_name);
    let project = fit(&project.map_or_else(String::new, |name| name.to_string_lossy().into_owned()), PROJECT);
    match (with_host, project.as_str()) {
        (false, _) => project,
        (true, "") => short_host(ask),
        (true, _) => format!("{}:{project}", short_host(ask)),
    }
}

/// The host alone.
pub(super) fn short_host(ask: &AskView) -> String {
    fit(&ask.host, HOST)
}

/// The whole directory of the asker, in the same way. Empty if nothing is known.
pub(super) fn full_name(ask: &AskView, with_host: bool) -> String {
    let project = ask.project.as_deref().map(one_line).unwrap_or_default();
    match (with_host, project.as_str()) {
        (false, _) => project,
        (true, "") => one_line(&ask.host),
        (true, _) => format!("{}:{project}", one_line(&ask.host)),
    }
}

/// The host and the directory in `HOST:/DIRECTORY`, as lists show it.
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    let (host, directory) = name.split_once(':')?;
    (!host.is_empty() && !host.contains('/') && directory.starts_with('/')).then_some((host, directory))
}

/// An error if no question was ever of this host.
pub(super) fn must_be_known(known: &ProjectList, host: &str) -> anyhow::Result<()> {
    // A daemon from before there were hosts lists none.
    if known.hosts.is_empty() || known.hosts.iter().any(|each| each.host == host) {
        return Ok(());
    }
    let names: Vec<_> = known.hosts.iter().map(|each| format!("`{}`", one_line(&each.host))).collect();
    let hint = match names.as_slice() {
        [only] => format!("All questions come from the host {only}."),
        several => format!("The hosts are {}.", several.join(", ")),
    };
    Err(hinted(format!("no question comes from the host `{}`", one_line(host)), hint))
}

#[cfg(test)]
mod tests {
    use super::super::which::tests::ask_with_key;
    use super::*;

    fn ask(host: &str, project: Option<&str>) -> AskView {
        AskView { host: host.to_owned(), project: project.map(Into::into), ..ask_with_key("s__toolu_1") }
    }

    #[test]
    fn a_project_is_named_with_its_host_only_if_there_are_several() {
        let asks = [ask("laptop", Some("/home/me/shop")), ask("ci-7", Some("/home/me/shop")), ask("ci-7", None)];
        assert!(are_several(&asks) && !are_several(&asks[1..]) && !are_several(&[]));
        let names = |with_host| asks.each_ref().map(|ask| (short_name(ask, with_host), full_name(ask, with_host)));
        let plain = [("shop", "/home/me/shop"), ("shop", "/home/me/shop"), ("", "")];
        assert_eq!(names(false), plain.map(|(short, full)| (short.to_owned(), full.to_owned())));
        let hosted = [("laptop:shop", "laptop:/home/me/shop"), ("ci-7:shop", "ci-7:/home/me/shop"), ("ci-7", "ci-7")];
        assert_eq!(names(true), hosted.map(|(short, full)| (short.to_owned(), full.to_owned())));
        let hostile = ask("a\u{1b}[31m\nb", None);
        assert!(!full_name(&hostile, true).contains(['\u{1b}', '\n']));
    }

    #[test]
    fn a_name_with_a_host_is_taken_apart() {
        assert_eq!(split("laptop:/home/me/shop"), Some(("laptop", "/home/me/shop")));
        for directory in ["/home/me", ".", "a:b", "./a:/b", ":/home", "laptop:"] {
            assert_eq!(split(directory), None, "{directory}");
        }
        assert_eq!(split("ci-7:/a:/b"), Some(("ci-7", "/a:/b")));
    }
}
