//! The devices that are signed in: the table `devices`.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row};

use crate::store::{Device, DeviceKind, StoreError};

use super::Sqlite;
use super::row::{time_or_broken, to_word, word};

/// A browser on this machine is forgotten when it was not used for so long.
const PAGE_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A paired device has longer, because it was more work to let it in.
const PAIRED_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

const COLUMNS: &str = "id, name, kind, created_at, last_seen_at";
/// The condition for a device that is not forgotten yet.
const LIVE: &str = "last_seen_at > CASE kind WHEN 'page' THEN :page ELSE :paired END";

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: word(row, 2)?,
        created_at: time_or_broken(row, 3)?,
        last_seen_at: time_or_broken(row, 4)?,
    })
}

/// The times after which a page and a paired device must have been used.
fn limits(now: Timestamp) -> (i64, i64) {
    let before = |life| now.checked_sub(life).unwrap_or(Timestamp::MIN).as_millisecond();
    (before(PAGE_LIFE), before(PAIRED_LIFE))
}

impl Sqlite {
    pub(in crate::store) async fn add_device(
        &self,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        self.owner
            .call(true, move |context| {
                let (page, paired) = limits(at);
                let forget = format!("DELETE FROM devices WHERE NOT ({LIVE})");
                context.connection.execute(&forget, &[(":page", &page), (":paired", &paired)])?;
                context.connection.execute(
                    "INSERT INTO devices (name, kind, token_hash, created_at, last_seen_at) VALUES (?1, ?2, ?3, ?4, ?4)
                     ON CONFLICT (token_hash) DO NOTHING",
                    (name, to_word(kind)?, token_hash, at.as_millisecond()),
                )?;
                Ok(context.connection.last_insert_rowid())
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
                let (page, paired) = limits(now);
                let query = format!("SELECT {COLUMNS} FROM devices WHERE token_hash = :hash AND {LIVE}");
                let values = rusqlite::named_params! {":hash": token_hash, ":page": page, ":paired": paired};
                Ok(context.connection.prepare_cached(&query)?.query_row(values, device).optional()?)
            })
            .await
    }

    pub(in crate::store) async fn devices(&self, now: Timestamp) -> Result<Vec<Device>, StoreError> {
        self.owner
            .call(false, move |context| {
                let (page, paired) = limits(now);
                let query = format!("SELECT {COLUMNS} FROM devices WHERE {LIVE} ORDER BY id");
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
