//! Who may do what. Every credential is made, kept and recognised here.
//!
//! This room knows no HTTP. A request is translated into an [`Entrance`] and the credential it presents; `http` turns the answer into
//! statuses and words.

mod agents;
mod caller;
mod device_name;
mod devices;
mod entrance;
mod expiring;
mod launch_code;
mod loopback;
mod mac;
mod pairing;
mod pairings;
mod people;
mod process;
mod rights;
mod throttle;
mod ticket;
mod token;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ask::Host;
use crate::store::{Device, DeviceKind, Grant, Person, Role, Store, StoreError};

pub use agents::Suspect;
pub use caller::{Caller, Scope};
pub use entrance::{Entrance, machine_of};
pub use expiring::Expiring;
pub use launch_code::LaunchCode;
pub use mac::MacKey;
pub use pairing::{Check, Claim, NewPairing, Stage};
pub use pairings::PairingError;
pub use people::PersonError;
pub use process::started_at;
pub use rights::Rights;
pub use ticket::{Ticket, Tickets};
pub use token::{Token, TokenHash, Tokens};

use agents::Agents;
use device_name::{device_name, harmless};
use devices::Devices;
use launch_code::LaunchCodes;
use pairing::Fetch;
use pairings::Pairings;
use people::People;
use throttle::Throttle;

/// Why a launch code signs nobody in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// Another user of this machine presents the code.
    #[error("the code belongs to another user")]
    OtherUser,
    /// The code is presented from another machine.
    #[error("the code belongs to another machine")]
    OtherMachine,
    /// The code was used, has expired, or was never given out.
    #[error("the code is not good")]
    BadCode,
    /// There is no randomness to make a token of.
    #[error(transparent)]
    NoRandomness(#[from] getrandom::Error),
    /// The device could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a machine gets no host token.
#[derive(Debug, thiserror::Error)]
pub enum AddHostError {
    /// Another machine has the name.
    #[error("another machine has this name")]
    Taken,
    /// This daemon's own machine has the name.
    #[error("this machine itself has this name")]
    Own,
    /// There is no randomness to make a token of.
    #[error(transparent)]
    NoRandomness(#[from] getrandom::Error),
    /// The token could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a device gets for its claim.
#[derive(Debug)]
pub enum Fetched {
    /// The person let the device in. This is its token.
    Token(Token),
    /// The person has not decided yet.
    Waiting,
    /// The person refused.
    Refused,
    /// The claim has expired, or never existed.
    Gone,
}

/// Who may do what in one daemon; cheap to clone.
#[derive(Debug, Clone)]
pub struct Access(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    api: TokenHash,
    hook: TokenHash,
    tickets: Tickets,
    launch_codes: LaunchCodes,
    pairings: Pairings,
    devices: Devices,
    people: People,
    throttle: Throttle,
    agents: Agents,
}

impl Access {
    /// The store keeps the devices that are signed in.
    pub fn new(tokens: &Tokens, tickets: Tickets, store: Store) -> Self {
        let people = People::new(store.clone());
        Self(Arc::new(Shared {
            api: tokens.api.hash(),
            hook: tokens.hook.hash(),
            tickets,
            launch_codes: LaunchCodes::default(),
            pairings: Pairings::new(store.clone()),
            devices: Devices::new(store, people.clone()),
            people,
            throttle: Throttle::default(),
            agents: Agents::default(),
        }))
    }

    /// Who presents this credential at this entrance; `None` if it is not good there. `agent` is the client's name for itself.
    ///
    /// On the socket no credential is needed, because the kernel vouches for the user. The tokens of `daemon.json` count on this machine
    /// only: they are never meant to leave it. From elsewhere, only devices that were paired and other machines are let in. A ticket
    /// counts everywhere, because its button may be pressed anywhere.
    pub async fn identify(
        &self,
        entrance: Entrance,
        presented: Option<&[u8]>,
        agent: Option<&str>,
    ) -> Result<Option<Caller>, StoreError> {
        if let Entrance::Socket { process } = entrance {
            return Ok(Some(Caller::on_socket(process, agent)));
        }
        let Some(presented) = presented else { return Ok(Some(Caller::Anonymous)) };
        if let Some(ticket) = self.0.tickets.check(presented) {
            return Ok(Some(Caller::with_ticket(ticket, agent)));
        }
        let presented = TokenHash::of(presented);
        if entrance.is_local() && presented == self.0.api {
            return Ok(Some(Caller::with_token(agent)));
        }
        if entrance.is_local() && presented == self.0.hook {
            return Ok(Some(Caller::Hook));
        }
        let device = self.0.devices.find(presented).await?;
        let Some(device) = device else { return Ok(None) };
        Ok(match device.kind {
            DeviceKind::Host => {
                let (id, host) = (device.id, Host::new(&device.name));
                // A daemon got the name after the token was made. What the edge asks would pass for what that daemon asks.
                if self.0.devices.is_daemon(&host).await? {
                    tracing::warn!(host = host.as_str(), "a host token with the name of a daemon was refused");
                    return Ok(None);
                }
                Some(Caller::Host { id, host })
            }
            DeviceKind::Page if !entrance.is_local() => None,
            DeviceKind::Page | DeviceKind::Paired => {
                let rights = self.rights_of(&device);
                Some(Caller::with_device(device, rights, agent))
            }
        })
    }

    fn rights_of(&self, device: &Device) -> Rights {
        device.person.as_ref().map_or(Rights::EVERYTHING, |person| self.0.people.rights_of(person))
    }

    /// A hook says which process is its agent.
    pub fn meet_agent(&self, hook: &Caller, agent: &str) {
        if let (Some(hook), Ok(agent)) = (hook.process(), agent.parse())
            && self.0.agents.meet(hook, agent, Instant::now())
        {
            let shared = Arc::clone(&self.0);
            tokio::task::spawn_blocking(move || shared.agents.save());
        }
    }

    /// Recalls the agents that an earlier daemon knew, and keeps them in this file.
    pub fn keep_agents_in(&self, file: PathBuf) {
        self.0.agents.keep_in(file);
    }

    /// Why whoever is at the other end is not taken for a person. `None` if they are, and if the system does not tell who it is.
    pub async fn suspect(&self, entrance: Entrance) -> Option<Suspect> {
        if self.0.agents.is_empty() {
            return None;
        }
        let process = match entrance {
            Entrance::Socket { process } => process,
            Entrance::Local { local, remote } => loopback::process_of(local, remote).await,
            Entrance::Public(_) | Entrance::Lan(_) => None,
        };
        self.0.agents.suspect(process?)
    }

    /// Whether there is a paired device that may decide who else is let in.
    pub async fn has_consenting_device(&self) -> Result<bool, StoreError> {
        let may = |device: &Device| self.rights_of(device).allow_everywhere(Role::Admin);
        Ok(self.listed(|kind| kind == DeviceKind::Paired).await?.iter().any(may))
    }

    /// Notes that somebody failed to show a good credential. If that was one time too many, it returns how long they have to wait.
    pub fn failed(&self, entrance: Entrance) -> Option<Duration> {
        self.0.throttle.failed(entrance.blamed()?, Instant::now())
    }

    /// Makes a one-time code for a browser of our user on this machine.
    pub fn launch(&self) -> Result<LaunchCode, getrandom::Error> {
        self.0.launch_codes.launch(Instant::now())
    }

    /// Trades a launch code for a token. The browser is called `name`, or else by what its `agent` gives away.
    pub async fn sign_in(
        &self,
        entrance: Entrance,
        code: &str,
        name: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Token, SignInError> {
        match entrance {
            Entrance::Socket { .. } => {}
            Entrance::Local { local, remote } if loopback::is_own_user(local, remote).await => {}
            Entrance::Local { .. } => {
                tracing::warn!("another user was kept from signing in with a launch code");
                return Err(SignInError::OtherUser);
            }
            Entrance::Public(_) | Entrance::Lan(_) => return Err(SignInError::OtherMachine),
        }
        if !self.0.launch_codes.take(code, Instant::now()) {
            return Err(SignInError::BadCode);
        }
        let token = Token::generate()?;
        self.0.devices.add(device_name(name, agent), DeviceKind::Page, None, &token).await?;
        Ok(token)
    }

    /// Makes a code that lets one device in. The device is called `name`, or else what it calls itself. It belongs to `person`, or to
    /// nobody.
    pub async fn begin_pairing(&self, name: Option<&str>, person: Option<i64>) -> Result<NewPairing, PairingError> {
        self.0.pairings.begin(name.and_then(harmless), person).await
    }

    /// How far a pairing has come, and the name of its device; `None` if there is no such pairing.
    pub async fn look(&self, id: &str) -> Result<Option<(Stage, Option<String>)>, StoreError> {
        self.0.pairings.look(id).await
    }

    /// Returns once a device has claimed the code of this pairing, or none can any more.
    pub async fn until_claimed(&self, id: &str) -> Result<(), StoreError> {
        self.0.pairings.until_claimed(id).await
    }

    /// A person types the digits that the device shows; `None` if there is no such pairing.
    pub async fn confirm(&self, id: &str, typed: &str) -> Result<Option<Check>, StoreError> {
        self.0.pairings.confirm(id, typed).await
    }

    /// A person refuses to let the device in; `false` if it is too late for that.
    pub async fn refuse(&self, id: &str) -> Result<bool, StoreError> {
        self.0.pairings.refuse(id).await
    }

    /// A device shows the code of a pairing; `None` if the code is not good, or not any more.
    pub async fn claim(
        &self,
        code: &str,
        name: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Option<Claim>, PairingError> {
        self.0.pairings.claim(code, device_name(name, agent)).await
    }

    /// Returns once the person has decided about this claim, or it is too late.
    pub async fn until_decided(&self, claim: &str) -> Result<(), StoreError> {
        self.0.pairings.until_decided(TokenHash::of(claim.as_bytes())).await
    }

    /// A device comes for its token. The first time, it is put on the list of devices. Two requests with the same claim may do that at
    /// the same time; the device is on the list once.
    pub async fn fetch(&self, claim: &str) -> Result<Fetched, StoreError> {
        let Some(token) = pairing::token_of(claim) else { return Ok(Fetched::Gone) };
        let claim = TokenHash::of(claim.as_bytes());
        match self.0.pairings.fetch(claim).await? {
            Fetch::Granted { name, person, is_listed } => {
                if !is_listed {
                    // The person may have been removed meanwhile.
                    let Some(id) = self.0.devices.add(name, DeviceKind::Paired, person, &token).await? else {
                        return Ok(Fetched::Gone);
                    };
                    self.0.pairings.note_listed(claim).await?;
                    tracing::info!(id, "a device was paired");
                }
                Ok(Fetched::Token(token))
            }
            Fetch::Waiting => Ok(Fetched::Waiting),
            Fetch::Refused => Ok(Fetched::Refused),
            Fetch::Gone => Ok(Fetched::Gone),
        }
    }

    /// The browsers and phones that are signed in, oldest first.
    pub async fn devices(&self) -> Result<Vec<Device>, StoreError> {
        self.listed(|kind| kind != DeviceKind::Host).await
    }

    /// The machines that have a host token, oldest first.
    pub async fn hosts(&self) -> Result<Vec<Device>, StoreError> {
        self.listed(|kind| kind == DeviceKind::Host).await
    }

    async fn listed(&self, wanted: impl Fn(DeviceKind) -> bool) -> Result<Vec<Device>, StoreError> {
        let mut devices = self.0.devices.list().await?;
        devices.retain(|device| wanted(device.kind));
        Ok(devices)
    }

    /// Makes a token for the daemon of another machine. That daemon asks here under this name, and does nothing else.
    pub async fn add_host(&self, name: Host) -> Result<(i64, Token), AddHostError> {
        if name == *self.0.devices.own_host() {
            return Err(AddHostError::Own);
        }
        let token = Token::generate()?;
        let id = self.0.devices.add_host(name, &token).await?.ok_or(AddHostError::Taken)?;
        Ok((id, token))
    }

    /// Takes the token of a machine back; `false` if there is none with this name. Its link ends at once.
    pub async fn revoke_host(&self, name: &str) -> Result<bool, StoreError> {
        match self.hosts().await?.into_iter().find(|host| host.name == name) {
            Some(host) => self.revoke(host.id).await,
            None => Ok(false),
        }
    }

    /// Notes that the machine with this id is there.
    pub fn host_is_here(&self, id: i64) {
        self.0.devices.is_here(id);
    }

    /// Signs a device out; `false` if there is none with this id. Its token is refused from now on.
    pub async fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        self.0.devices.revoke(id).await
    }

    /// Adds a person who may do what they are granted.
    pub async fn add_person(&self, name: &str, grants: Vec<Grant>) -> Result<Person, PersonError> {
        self.0.people.add(name, grants).await
    }

    /// The people, in the order in which they were added.
    pub async fn people(&self) -> Result<Vec<Person>, StoreError> {
        self.0.people.list().await
    }

    /// The person with this id.
    pub async fn person(&self, id: i64) -> Result<Person, PersonError> {
        self.0.people.find(id).await
    }

    /// Replaces what a person may do. It counts at once, also for what is under way.
    pub async fn set_grants(&self, id: i64, grants: Vec<Grant>) -> Result<Person, PersonError> {
        self.0.people.set_grants(id, grants).await
    }

    /// Forgets a person. Their devices are signed out. Returns how many these were.
    pub async fn remove_person(&self, id: i64) -> Result<usize, PersonError> {
        let devices = self.0.people.remove(id).await?;
        self.0.devices.are_removed(&devices);
        Ok(devices.len())
    }

    /// Whether a caller who was identified before is still let in. If other daemons use the store, this looks there, and their rights are
    /// what they are there from now on.
    pub async fn is_signed_in(&self, caller: &Caller) -> Result<bool, StoreError> {
        match caller.device() {
            Some(id) => self.0.devices.is_signed_in(id).await,
            None => Ok(true),
        }
    }

    /// Returns when the device is signed out, at once if it was before.
    pub fn revoked(&self, id: i64) -> impl Future<Output = ()> + Send + use<> {
        self.0.devices.revoked(id)
    }
}

#[cfg(test)]
mod tests;
