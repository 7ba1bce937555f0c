//! People: the tables `people` and `device_people`.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row};

use crate::store::{Grant, Person, StoreError};

use super::Sqlite;
use super::row::{json, time_or_broken, to_json};

/// The columns that [`person`] reads, in its order.
pub(super) const COLUMNS: &str = "people.id, people.name, people.grants, people.revision, people.created_at";

/// The person of a row, from this column on. If the grants cannot be read, nobody is let in with them.
pub(super) fn person(row: &Row<'_>, first: usize) -> rusqlite::Result<Person> {
    Ok(Person {
        id: row.get(first)?,
        name: row.get(first + 1)?,
        grants: json(row, first + 2)?,
        revision: row.get(first + 3)?,
        created_at: time_or_broken(row, first + 4)?,
    })
}

impl Sqlite {
    pub(in crate::store) async fn add_person(
        &self,
        name: String,
        grants: Vec<Grant>,
        at: Timestamp,
    ) -> Result<Option<Person>, StoreError> {
        self.owner
            .call(true, move |context| {
                let insert = format!(
                    "INSERT INTO people (name, grants, created_at) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING
                     RETURNING {COLUMNS}"
                );
                let values = (&name, to_json(&grants)?, at.as_millisecond());
                Ok(context.connection.query_row(&insert, values, |row| person(row, 0)).optional()?)
            })
            .await
    }

    pub(in crate::store) async fn people(&self) -> Result<Vec<Person>, StoreError> {
        self.owner
            .call(false, move |context| {
                let mut statement =
                    context.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM people ORDER BY id"))?;
                let people = statement.query_map([], |row| person(row, 0))?;
                Ok(people.collect::<Result<_, _>>()?)
            })
            .await
    }

    pub(in crate::store) async fn set_grants(&self, id: i64, grants: Vec<Grant>) -> Result<Option<Person>, StoreError> {
        self.owner
            .call(true, move |context| {
                let update =
                    format!("UPDATE people SET grants = ?2, revision = revision + 1 WHERE id = ?1 RETURNING {COLUMNS}");
                let values = (id, to_json(&grants)?);
                Ok(context.connection.query_row(&update, values, |row| person(row, 0)).optional()?)
            })
            .await
    }

    pub(in crate::store) async fn remove_person(&self, id: i64) -> Result<Option<Vec<i64>>, StoreError> {
        self.owner
            .call(true, move |context| {
                // The devices go first. Without their person, they would belong to nobody and see everything.
                let devices = context
                    .connection
                    .prepare_cached(
                        "DELETE FROM devices WHERE id IN (SELECT device FROM device_people WHERE person = ?1) RETURNING id",
                    )?
                    .query_map([id], |row| row.get(0))?
                    .collect::<Result<Vec<i64>, _>>()?;
                let found = context.connection.execute("DELETE FROM people WHERE id = ?1", [id])? == 1;
                Ok(found.then_some(devices))
            })
            .await
    }
}
