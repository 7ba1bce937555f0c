//! The people who use this hub, and the rights that their devices have at this moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::store::{Grant, Person, Store, StoreError};

use super::device_name::harmless;
use super::rights::{self, GrantError, Granted, Rights};

/// Why a person is not added or changed.
#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    /// Nothing is left of the name.
    #[error("A person needs a name.")]
    NoName,
    /// Somebody has this name.
    #[error("There is a person with this name already.")]
    NameTaken,
    /// Nobody has this id.
    #[error("There is no such person.")]
    Unknown,
    /// These grants cannot be given.
    #[error(transparent)]
    Grants(#[from] GrantError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The people of a store; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct People {
    store: Store,
    /// What each person may do, for the requests and streams that are under way. There are few people, and an id is never given to
    /// another one.
    live: Arc<Mutex<HashMap<i64, watch::Sender<Granted>>>>,
}

impl People {
    pub(super) fn new(store: Store) -> Self {
        Self { store, live: Arc::default() }
    }

    pub(super) async fn add(&self, name: &str, grants: Vec<Grant>) -> Result<Person, PersonError> {
        let name = harmless(name).ok_or(PersonError::NoName)?;
        rights::check(&grants)?;
        self.store.add_person(name, grants, self.store.now()).await?.ok_or(PersonError::NameTaken)
    }

    /// All of them, in the order in which they were added.
    pub(super) async fn list(&self) -> Result<Vec<Person>, StoreError> {
        self.store.people().await
    }

    pub(super) async fn find(&self, id: i64) -> Result<Person, PersonError> {
        let people = self.store.people().await?;
        people.into_iter().find(|person| person.id == id).ok_or(PersonError::Unknown)
    }

    /// Replaces what a person may do. Streams that are open go by it from now on.
    pub(super) async fn set_grants(&self, id: i64, grants: Vec<Grant>) -> Result<Person, PersonError> {
        rights::check(&grants)?;
        let person = self.store.set_grants(id, grants).await?.ok_or(PersonError::Unknown)?;
        drop(self.rights_of(&person));
        Ok(person)
    }

    /// Forgets a person and their devices. Returns the ids of these devices.
    pub(super) async fn remove(&self, id: i64) -> Result<Vec<i64>, PersonError> {
        self.store.remove_person(id).await?.ok_or(PersonError::Unknown)
    }

    /// The rights of a person who was read from the store. If they are newer than what is known here, everybody who holds the rights of
    /// this person notices. What was read before a change may come after it, so what is older is passed over.
    pub(super) fn rights_of(&self, person: &Person) -> Rights {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let granted = live.entry(person.id).or_default();
        granted.send_if_modified(|granted| {
            let is_newer = person.revision > granted.revision;
            if is_newer {
                *granted = Granted { revision: person.revision, grants: person.grants.as_slice().into() };
            }
            is_newer
        });
        Rights::of_person(granted.subscribe())
    }
}
