//! What can be asked of the daemon: one method for each call of the API that the programs make.
//!
//! A call returns within the deadline for a reply. A method that waits for something says so, and waits in rounds.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::api::{
    AnswerRequest, AskList, AskRequest, AskView, AwayList, AwayRequest, AwayView, ConfirmRequest, DeviceList,
    DismissRequest, GrantsRequest, HostList, HostRequest, Launch, NewHost, Nothing, Pairing, PairingRequest,
    PairingView, PersonList, PersonRequest, PersonView, ProjectList, ReleaseRequest, State, Version,
};

use super::target::{self, Target};
use super::{Client, ClientError, ROUND};

/// As many asks as the daemon puts into one list.
const MAX_LIST: u16 = 1000;
/// How much longer than any other reply a page of an export may take.
const EXPORT: Duration = Duration::from_secs(20);

/// Which settled asks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// In a question, an answer, a note or a reason.
    pub text: Option<String>,
    /// The directory of the asker.
    pub project: Option<String>,
    /// The machine of the asker.
    pub host: Option<String>,
    /// The word for it, as in the API.
    pub kind: Option<String>,
    /// The word for it, as in the API.
    pub outcome: Option<String>,
    pub opened_since: Option<Timestamp>,
    /// Only those older than the ask with this id: `next` of the page before.
    pub before: Option<i64>,
    pub limit: u16,
}

impl Client {
    /// Which daemon this is.
    pub fn version(&self) -> Result<Version, ClientError> {
        self.get(&Target::of("/v1/version"))
    }

    /// Asks the daemon to stop. It may go on for a moment.
    pub fn stop(&self) -> Result<(), ClientError> {
        self.post(&Target::of("/v1/stop"), &Nothing {})
    }

    /// The open asks, newest first.
    pub fn open_asks(&self) -> Result<AskList, ClientError> {
        self.open_asks_of(None)
    }

    /// The open asks of one host, newest first. Without one, all of them.
    pub fn open_asks_of(&self, host: Option<&str>) -> Result<AskList, ClientError> {
        whole(self.get(&open(host))?, usize::MAX, |before, _| self.get(&open(host).query("before", before)))
    }

    /// The open ask that was opened last.
    pub fn newest_open_ask(&self) -> Result<Option<AskView>, ClientError> {
        let list: AskList = self.get(&Target::of("/v1/asks").query("limit", 1))?;
        Ok(list.asks.into_iter().next())
    }

    /// The projects and the hosts that have asks.
    pub fn projects(&self) -> Result<ProjectList, ClientError> {
        self.get(&Target::of("/v1/projects"))
    }

    /// Open and settled asks, newest first.
    pub fn newest_asks(&self) -> Result<AskList, ClientError> {
        let newest = |limit| Target::of("/v1/asks").query("state", "all").query("limit", limit);
        whole(self.get(&newest(MAX_LIST))?, MAX_LIST.into(), |before, left| {
            self.get(&newest(left).query("before", before))
        })
    }

    /// The settled asks that fit, newest first.
    pub fn settled_asks(&self, search: &Search) -> Result<AskList, ClientError> {
        whole(self.get(&settled(search))?, search.limit.into(), |before, limit| {
            self.get(&settled(&Search { before: Some(before), limit, ..search.clone() }))
        })
    }

    /// One page of the same, for a program. Nobody waits at a screen, and a page of large asks takes long on a busy machine.
    pub fn exported_asks(&self, search: &Search) -> Result<AskList, ClientError> {
        self.get_within(&settled(search), EXPORT)
    }

    /// The newest settled ask whose key ends with this.
    pub fn settled_ask_ending_with(&self, key_end: &str) -> Result<Option<AskView>, ClientError> {
        let target = Target::of("/v1/asks").query("state", "settled").query("limit", 1).query("key_end", key_end);
        Ok(self.get::<AskList>(&target)?.asks.into_iter().next())
    }

    /// The ask with this key, if there is one.
    pub fn find_ask(&self, key: &str) -> Result<Option<AskView>, ClientError> {
        match self.get(&target::ask(key)) {
            Ok(ask) => Ok(Some(ask)),
            Err(ClientError::Refused(problem)) if problem.status == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for a change after a cursor, for up to one round. Returns the open asks of a host, or all, either way.
    pub fn poll(&self, cursor: &str, host: Option<&str>) -> Result<AskList, ClientError> {
        let target = open(host).query("since", cursor).query("wait", ROUND.as_secs());
        self.patiently(|client| {
            let first = client.get_within(&target, ROUND)?;
            whole(first, usize::MAX, |before, _| client.get(&open(host).query("before", before)))
        })
    }

    /// Waits for a change after a cursor, as long as it takes. Returns the open asks of a host, or all.
    pub fn next_change(&self, cursor: &str, host: Option<&str>) -> Result<AskList, ClientError> {
        loop {
            let list = self.poll(cursor, host)?;
            if list.cursor != cursor {
                return Ok(list);
            }
        }
    }

    /// Waits until an ask is settled, as long as it takes.
    pub fn until_settled(&self, key: &str) -> Result<AskView, ClientError> {
        let target = target::ask(key).query("wait", ROUND.as_secs());
        loop {
            let ask: AskView = self.patiently(|client| client.get_within(&target, ROUND))?;
            if ask.state == State::Settled {
                return Ok(ask);
            }
        }
    }

    /// Opens an ask.
    pub fn open_ask(&self, request: &AskRequest) -> Result<AskView, ClientError> {
        self.post(&Target::of("/v1/asks"), request)
    }

    /// Answers an ask.
    pub fn answer(&self, key: &str, request: &AnswerRequest) -> Result<AskView, ClientError> {
        self.settle(key, "answer", request)
    }

    /// Refuses to answer an ask. The asker is told.
    pub fn dismiss(&self, key: &str, request: &DismissRequest) -> Result<AskView, ClientError> {
        self.settle(key, "dismiss", request)
    }

    /// Hands an ask back to the dialog of its agent.
    pub fn release(&self, key: &str, id: Option<i64>) -> Result<AskView, ClientError> {
        self.settle(key, "release", &ReleaseRequest { id })
    }

    /// Takes back an ask that a program opened.
    pub fn withdraw(&self, key: &str) -> Result<AskView, ClientError> {
        self.settle(key, "withdraw", &Nothing {})
    }

    fn settle(&self, key: &str, action: &'static str, body: &impl Serialize) -> Result<AskView, ClientError> {
        self.post(&target::ask(key).segment(action), body)
    }

    /// What people who are away say. A daemon from before this could be set has nothing to say.
    pub fn away(&self) -> Result<AwayList, ClientError> {
        match self.get(&away()) {
            Err(ClientError::Refused(problem)) if problem.status == 404 => Ok(AwayList::default()),
            reply => reply,
        }
    }

    /// Sets what is said to everything that is asked from now on.
    pub fn set_away(&self, request: &AwayRequest) -> Result<AwayView, ClientError> {
        self.put(&away(), request)
    }

    /// Ends that, for one directory or everywhere. Returns what was on.
    pub fn end_away(&self, project: Option<&str>) -> Result<AwayList, ClientError> {
        self.delete(&away().query_if("project", project))
    }

    /// Makes a code that signs one browser in.
    pub fn launch(&self) -> Result<Launch, ClientError> {
        self.post(&Target::of("/v1/launch"), &Nothing {})
    }

    /// Makes a code that lets one device in.
    pub fn begin_pairing(&self, request: &PairingRequest) -> Result<Pairing, ClientError> {
        self.post(&Target::of("/v1/pairing"), request)
    }

    /// Waits until a device has shown the code, for up to one round. Returns how far the pairing has come either way.
    pub fn poll_pairing(&self, id: &str) -> Result<PairingView, ClientError> {
        self.get_within(&pairing(id).query("wait", ROUND.as_secs()), ROUND)
    }

    /// Lets the device in, if it shows these digits.
    pub fn confirm_pairing(&self, id: &str, digits: &str) -> Result<(), ClientError> {
        let request = ConfirmRequest { check: digits.to_owned() };
        self.post(&pairing(id).segment("confirm"), &request).map(|Nothing {}| ())
    }

    /// Lets nobody in.
    pub fn refuse_pairing(&self, id: &str) -> Result<(), ClientError> {
        self.post(&pairing(id).segment("refuse"), &Nothing {}).map(|Nothing {}| ())
    }

    /// The devices that are signed in.
    pub fn devices(&self) -> Result<DeviceList, ClientError> {
        self.get(&Target::of("/v1/devices"))
    }

    /// The people, and what they may do.
    pub fn people(&self) -> Result<PersonList, ClientError> {
        self.get(&Target::of("/v1/people"))
    }

    /// Adds a person.
    pub fn add_person(&self, request: &PersonRequest) -> Result<PersonView, ClientError> {
        self.post(&Target::of("/v1/people"), request)
    }

    /// Replaces what a person may do.
    pub fn set_grants(&self, id: i64, request: &GrantsRequest) -> Result<PersonView, ClientError> {
        self.put(&Target::of("/v1/people").segment(id).segment("grants"), request)
    }

    /// Removes a person, and signs their devices out.
    pub fn revoke_person(&self, id: i64) -> Result<(), ClientError> {
        self.post(&Target::of("/v1/people").segment(id).segment("revoke"), &Nothing {})
    }

    /// Signs a device out.
    pub fn revoke_device(&self, id: i64) -> Result<(), ClientError> {
        self.post(&Target::of("/v1/devices").segment(id).segment("revoke"), &Nothing {})
    }

    /// Makes a token for the daemon of another machine.
    pub fn add_host(&self, name: &str) -> Result<NewHost, ClientError> {
        self.post(&Target::of("/v1/hosts"), &HostRequest { name: name.to_owned() })
    }

    /// The machines that have a host token.
    pub fn hosts(&self) -> Result<HostList, ClientError> {
        self.get(&Target::of("/v1/hosts"))
    }

    /// Takes the token of a machine back.
    pub fn revoke_host(&self, name: &str) -> Result<(), ClientError> {
        self.post(&Target::of("/v1/hosts").segment(name).segment("revoke"), &Nothing {})
    }
}

/// A list with the pages after it, until it has `most` asks. `page` gets one that begins before an id, with at most so many asks. Changes
/// that come meanwhile are after the cursor of the first page.
fn whole(
    mut list: AskList,
    most: usize,
    page: impl Fn(i64, u16) -> Result<AskList, ClientError>,
) -> Result<AskList, ClientError> {
    while let Some(before) = list.next
        && list.asks.len() < most
    {
        let left = u16::try_from(most - list.asks.len()).unwrap_or(u16::MAX);
        let AskList { asks, next, damaged, .. } = page(before, left)?;
        list.asks.extend(asks);
        list.next = next;
        list.damaged += damaged;
    }
    Ok(list)
}

/// Where open asks are listed.
fn open(host: Option<&str>) -> Target {
    Target::of("/v1/asks").query_if("host", host)
}

fn away() -> Target {
    Target::of("/v1/away")
}

/// Where settled asks are listed.
fn settled(search: &Search) -> Target {
    let target = Target::of("/v1/asks").query("state", "settled").query("limit", search.limit);
    let target = target.query_if("text", search.text.as_ref()).query_if("project", search.project.as_ref());
    let target = target.query_if("host", search.host.as_ref());
    let target = target.query_if("kind", search.kind.as_ref()).query_if("outcome", search.outcome.as_ref());
    target.query_if("opened_since", search.opened_since).query_if("before", search.before)
}

fn pairing(id: &str) -> Target {
    Target::of("/v1/pairing").segment(id)
}
