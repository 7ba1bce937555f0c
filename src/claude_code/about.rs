//! What is known about the session that asks. On the machine of the agent it is read from the records of the session when somebody wants to
//! see it. A hub cannot read the files of another machine, so an edge sends it along with the ask.

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::transcript::{self, Recorded};

/// What an edge sends along with an ask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The last thing that the agent said before it asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The git branch that the agent works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The title of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether a person is at the terminal of the session.
    pub attended: bool,
    /// The user whose agent asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The agent and its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl About {
    /// Reads what is known about the session of a call. What takes too long to read is left out.
    pub(super) async fn of(call: &Call, session: &str, tool_use_id: &str) -> Self {
        let recorded = match call.transcript() {
            Some(path) => transcript::about(path, session, tool_use_id).await,
            None => Recorded::default(),
        };
        let Recorded { said, branch, title } = recorded;
        let attended = call.client.is_attended();
        Self { said, branch, title, attended, user: user(), agent: call.client.agent.clone() }
    }
}

/// The name of the user whose daemon this is.
fn user() -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    name_of(rustix::process::geteuid().as_raw(), &users)
}

fn name_of(id: u32, users: &str) -> Option<String> {
    let id = id.to_string();
    users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find_map(|fields| match fields.as_slice() {
        [name, _, found, ..] if **found == id => Some((*name).to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_the_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n\nme:x:1000:1000::/home/me:/bin/sh\nodd\n";
        assert_eq!(name_of(1000, users).as_deref(), Some("me"));
        assert_eq!((name_of(0, users).as_deref(), name_of(7, users)), (Some("root"), None));
    }
}
