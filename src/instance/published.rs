//! `daemon.json`: where the daemon is, for commands and for companion programs.

use std::path::PathBuf;
use std::{fs, io};

use answerback_hook::paths::Paths;
use serde::{Deserialize, Serialize};

use crate::access::Tokens;

use super::write_json;

/// What `daemon.json` says about the daemon that wrote it. The programs of this crate write and read it as this type. The file also holds
/// two tokens, which only companion programs read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Published {
    /// Where the page and the API are.
    pub url: String,
    /// Where they are for the local network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lan_url: Option<String>,
    /// The socket of hooks and commands.
    pub socket: PathBuf,
    /// The number of its process.
    pub pid: u32,
    /// The number of the protocol it speaks.
    pub protocol: u32,
    /// Its version.
    pub version: String,
}

/// The whole file.
#[derive(Serialize)]
struct DaemonFile<'a> {
    #[serde(flatten)]
    published: &'a Published,
    token: &'a str,
    hook_token: &'a str,
}

impl Published {
    /// Reads what the last daemon of an instance wrote.
    pub fn read(paths: &Paths) -> io::Result<Self> {
        let path = paths.daemon_json();
        // Reading anything but a file, such as a pipe, might never end.
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    pub(super) fn write(&self, paths: &Paths, tokens: &Tokens) -> io::Result<()> {
        let file = DaemonFile { published: self, token: tokens.api.reveal(), hook_token: tokens.hook.reveal() };
        write_json(&paths.daemon_json(), &file)
    }
}
