//! What goes into a file: our hooks into settings, our MCP server into `.mcp.json`.

use super::edit;
use super::json::Refusal;
use super::look::Look;
use super::server::Server;
use super::wanted::{NoForms, Wanted};

/// Something of ours that goes into a file.
pub trait Installable {
    /// The text with exactly this of ours in it.
    fn install_into(&self, text: &str) -> Result<String, NotInstallable>;
}

/// Why something of ours cannot go into a file.
#[derive(Debug)]
pub enum NotInstallable {
    /// The text is not what Claude Code reads.
    Refused(Refusal),
    /// Claude Code is too old for it.
    TooOld(NoForms),
}

impl From<Refusal> for NotInstallable {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Installable for Wanted<'_> {
    fn install_into(&self, text: &str) -> Result<String, NotInstallable> {
        let look = Look::at(text.as_bytes())?;
        let entries = self.entries(&look).map_err(NotInstallable::TooOld)?;
        Ok(edit::install(text, &entries)?)
    }
}

impl Installable for Server {
    fn install_into(&self, text: &str) -> Result<String, NotInstallable> {
        Ok(self.install(text)?)
    }
}
