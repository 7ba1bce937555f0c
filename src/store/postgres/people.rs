//! People: the table `people`, and whose the devices are.

use jiff::Timestamp;
use tokio_postgres::Row;

use crate::store::{DeviceKind, Grant, Person, StoreError};

use super::Postgres;
use super::command::check;
use super::devices::LIVE;
use super::rows::{get, json, time, to_json, to_word};

/// The columns that [`person`] reads.
pub(super) const COLUMNS: &str = "people.id AS person_id, people.name AS person_name, people.grants, people.revision, \
     people.created_at AS person_created_at";

/// The person of a row. If the grants cannot be read, nobody is let in with them.
pub(super) fn person(row: &Row) -> Result<Person, StoreError> {
    Ok(Person {
        id: get(row, "person_id")?,
        name: get(row, "person_name")?,
        grants: json(get(row, "grants")?)?,
        revision: get(row, "revision")?,
        created_at: time(get(row, "person_created_at")?)?,
    })
}

impl Postgres {
    pub(in crate::store) async fn add_person(
        &self,
        name: String,
        grants: Vec<Grant>,
        at: Timestamp,
    ) -> Result<Option<Person>, StoreError> {
        check(&name)?;
        let statement = format!(
            "INSERT INTO answerback.people (namespace, name, grants, created_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (namespace, name) DO NOTHING RETURNING {COLUMNS}"
        );
        let values = vec![name.into(), to_json(&grants)?.into(), at.as_millisecond().into()];
        self.write(statement, values).await?.first().map(person).transpose()
    }

    pub(in crate::store) async fn people(&self) -> Result<Vec<Person>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM answerback.people WHERE namespace = $1 ORDER BY people.id");
        self.read(query, Vec::new()).await?.iter().map(person).collect()
    }

    pub(in crate::store) async fn set_grants(&self, id: i64, grants: Vec<Grant>) -> Result<Option<Person>, StoreError> {
        // A daemon may know of a change that was lost with the engine. The clock makes the next one newer all the same.
        let statement = format!(
            "UPDATE answerback.people SET grants = $3,
                 revision = greatest(revision + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
             WHERE namespace = $1 AND id = $2 RETURNING {COLUMNS}"
        );
        let values = vec![id.into(), to_json(&grants)?.into()];
        self.write(statement, values).await?.first().map(person).transpose()
    }

    pub(in crate::store) async fn remove_person(&self, id: i64) -> Result<Option<Vec<i64>>, StoreError> {
        // A device that is added at the same moment goes with its person, too.
        let statement =
            "WITH gone AS (DELETE FROM answerback.devices WHERE namespace = $1 AND person = $2 RETURNING id),
                 removed AS (DELETE FROM answerback.people WHERE namespace = $1 AND id = $2 RETURNING id)
             SELECT ARRAY(SELECT id FROM gone) AS devices FROM removed";
        let rows = self.write(statement, vec![id.into()]).await?;
        rows.first().map(|row| get(row, "devices")).transpose()
    }

    pub(in crate::store) async fn add_device_of(
        &self,
        person: i64,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        check(&name)?;
        // The lock waits for whoever removes the person at this moment.
        let statement = format!(
            "WITH forgotten AS (DELETE FROM answerback.devices WHERE namespace = $1 AND NOT ({LIVE})),
                 owner AS (SELECT id FROM answerback.people WHERE namespace = $1 AND id = $8 FOR KEY SHARE)
             INSERT INTO answerback.devices (namespace, name, kind, token_hash, created_at, last_seen_at, person)
             SELECT $1, $4, $5, $6, $7, $7, owner.id FROM owner
             ON CONFLICT (namespace, token_hash) DO UPDATE SET person = coalesce(devices.person, excluded.person)
             RETURNING id"
        );
        let (page, paired) = DeviceKind::forgotten_before(at);
        let (kind, at) = (to_word(kind)?, at.as_millisecond());
        let values = vec![
            page.into(),
            paired.into(),
            name.into(),
            kind.into(),
            token_hash.to_vec().into(),
            at.into(),
            person.into(),
        ];
        self.write(statement, values).await?.first().map(|row| get(row, "id")).transpose()
    }
}
