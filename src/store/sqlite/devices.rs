//! The devices that are signed in: the table `devices`.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::ask::Host;
use crate::store::{Device, DeviceKind, StoreError};

use super::Sqlite;
use super::people::{self, person};
use super::row::{time_or_broken, to_word, word};

/// The condition for a device that is not forgotten yet.
const LIVE: &str = "(kind = 'host' OR last_seen_at > CASE kind WHEN 'page' THEN :page ELSE :paired END)";

/// Reads devices with their people. A condition may follow.
pub(super) fn select() -> String {
    format!(
        "SELECT devices.id, devices.name, kind, devices.created_at, last_seen_at, device_people.person, {}, token_hash
         FROM devices LEFT JOIN device_people ON device = devices.id LEFT JOIN people ON people.id = person",
        people::COLUMNS
    )
}

pub(super) fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: word(row, 2)?,
        created_at: time_or_broken(row, 3)?,
        last_seen_at: time_or_broken(row, 4)?,
        // If the person cannot be read, the device cannot either: it must not pass for one that belongs to nobody.
        person: row.get::<_, Option<i64>>(5)?.map(|_| person(row, 6)).transpose()?,
    })
}

/// Adds a device, or finds the one with this token. Returns its id.
fn add(
    connection: &Connection,
    name: &str,
    kind: DeviceKind,
    token_hash: [u8; 32],
    at: Timestamp,
) -> rusqlite::Result<i64> {
    let (page, paired) = DeviceKind::forgotten_before(at);
    let forget = format!("DELETE FROM devices WHERE NOT ({LIVE})");
    connection.execute(&forget, &[(":page", &page), (":paired", &paired)])?;
    connection.execute(
        "INSERT INTO devices (name, kind, token_hash, created_at, last_seen_at) VALUES (?1, ?2, ?3, ?4, ?4)
         ON CONFLICT (token_hash) DO NOTHING",
        (name, to_word(kind)?, token_hash, at.as_millisecond()),
    )?;
    connection.query_row("SELECT id FROM devices WHERE token_hash = ?1", [token_hash], |row| row.get(0))
}

impl Sqlite {
    pub(in crate::store) async fn add_device(
        &self,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        self.owner.call(true, move |context| Ok(add(context.connection, &name, kind, token_hash, at)?)).await
    }

    pub(in crate::store) async fn add_device_of(
        &self,
        person: i64,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        self.owner
            .call(true, move |context| {
                let exists = "SELECT EXISTS (SELECT 1 FROM people WHERE id = ?1)";
                if !context.connection.query_row(exists, [person], |row| row.get(0))? {
                    return Ok(None);
                }
                let device = add(context.connection, &name, kind, token_hash, at)?;
                let belongs =
                    "INSERT INTO device_people (device, person) VALUES (?1, ?2) ON CONFLICT (device) DO NOTHING";
                context.connection.execute(belongs, (device, person))?;
                Ok(Some(device))
            })
            .await
    }

    pub(in crate::store) async fn add_host(
        &self,
        name: Host,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        self.owner
            .call(true, move |context| {
                let added = context.connection.execute(
                    "INSERT INTO devices (name, kind, token_hash, created_at, last_seen_at)
                     SELECT ?1, ?2, ?3, ?4, ?4 WHERE NOT EXISTS (SELECT * FROM devices WHERE kind = ?2 AND name = ?1)",
                    (name.as_str(), to_word(DeviceKind::Host)?, token_hash, at.as_millisecond()),
                )?;
                Ok((added == 1).then(|| context.connection.last_insert_rowid()))
            })
            .await
    }

    pub(in crate::store) async fn device(
        &self,
        token_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<Option<Device>, StoreError> {
        self.owner
            .call(false, move |context| {
                let (page, paired) = DeviceKind::forgotten_before(now);
                let query = format!("{} WHERE {LIVE} AND token_hash = :hash", select());
                let values = rusqlite::named_params! {":hash": token_hash, ":page": page, ":paired": paired};
                Ok(context.connection.prepare_cached(&query)?.query_row(values, device).optional()?)
            })
            .await
    }

    pub(in crate::store) async fn devices(&self, now: Timestamp) -> Result<Vec<Device>, StoreError> {
        self.owner
            .call(false, move |context| {
                let (page, paired) = DeviceKind::forgotten_before(now);
                let query = format!("{} WHERE {LIVE} ORDER BY devices.id", select());
                let mut statement = context.connection.prepare_cached(&query)?;
                let devices = statement.query_map(&[(":page", &page), (":paired", &paired)], device)?;
                Ok(devices.collect::<Result<_, _>>()?)
            })
            .await
    }

    pub(in crate::store) async fn device_seen(&self, id: i64, at: Timestamp) -> Result<(), StoreError> {
        self.owner
            .call(true, move |context| {
                let update = "UPDATE devices SET last_seen_at = ?2 WHERE id = ?1";
                context.connection.execute(update, (id, at.as_millisecond()))?;
                Ok(())
            })
            .await
    }

    pub(in crate::store) async fn remove_device(&self, id: i64) -> Result<bool, StoreError> {
        self.owner
            .call(true, move |context| Ok(context.connection.execute("DELETE FROM devices WHERE id = ?1", [id])? == 1))
            .await
    }
}
