//! Types for people and what they may do.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Grant, Person};

use super::times::time;

/// Adds a person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(examples(json!({"name": "Anna", "grants": [{"role": "answer", "project": "/srv/shop*"}]}))))]
pub struct PersonRequest {
    /// What others call them. No two people can have the same name. At most 48 characters are kept.
    #[cfg_attr(test, schema(min_length = 1))]
    pub name: String,
    /// What they may do.
    #[cfg_attr(test, schema(min_items = 1, max_items = 64))]
    pub grants: Vec<Grant>,
}

/// Replaces what a person may do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(examples(json!({"grants": [{"role": "view"}, {"role": "answer", "project": "ci-*:/srv/shop"}]}))))]
pub struct GrantsRequest {
    /// What they may do from now on.
    #[cfg_attr(test, schema(min_items = 1, max_items = 64))]
    pub grants: Vec<Grant>,
}

/// Somebody who has devices of their own, and may do what they are granted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct PersonView {
    /// Never used for another person.
    pub id: i64,
    pub name: String,
    /// What they may do.
    pub grants: Vec<Grant>,
    /// How many devices of theirs are signed in.
    pub devices: usize,
    /// The time at which they were added.
    #[serde(serialize_with = "time")]
    #[cfg_attr(test, schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
}

impl PersonView {
    /// A person with so many devices.
    pub fn new(person: Person, devices: usize) -> Self {
        let Person { id, name, grants, created_at, .. } = person;
        Self { id, name, grants, devices, created_at }
    }
}

/// All people, in the order in which they were added.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct PersonList {
    pub people: Vec<PersonView>,
}
