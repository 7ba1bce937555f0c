//! The browsers and phones that are signed in. Of each one's token only the hash is kept.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use super::rows::{time_or_broken, to_word, word};
use super::{Store, StoreError};

/// A page of this machine is forgotten when it was not used for so long.
const PAGE_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A paired device too; it was more work to let it in.
const PAIRED_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

/// How a device was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A browser on this machine, by a launch code.
    Page,
    /// Anything anywhere, by pairing.
    Paired,
}

/// A device that may read, answer and ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Never given to another.
    pub id: i64,
    /// What people call it.
    pub name: String,
    /// How it was let in.
    pub kind: DeviceKind,
    /// When it was let in.
    pub created_at: Timestamp,
    /// When it was last used, give or take some minutes.
    pub last_seen_at: Timestamp,
}

const COLUMNS: &str = "id, name, kind, created_at, last_seen_at";
/// Not yet forgotten.
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

/// Since when each kind must have been used.
fn limits(now: Timestamp) -> (i64, i64) {
    let before = |life| now.checked_sub(life).unwrap_or(Timestamp::MIN).as_millisecond();
    (before(PAGE_LIFE), before(PAIRED_LIFE))
}

impl Store {
    /// Lets a device in, and forgets those that were not used for too long.
    pub async fn add_device(
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

    /// The device with this token.
    pub async fn device(&self, token_hash: [u8; 32], now: Timestamp) -> Result<Option<Device>, StoreError> {
        self.owner
            .call(false, move |context| {
                let (page, paired) = limits(now);
                let query = format!("SELECT {COLUMNS} FROM devices WHERE token_hash = :hash AND {LIVE}");
                let values = rusqlite::named_params! {":hash": token_hash, ":page": page, ":paired": paired};
                Ok(context.connection.prepare_cached(&query)?.query_row(values, device).optional()?)
            })
            .await
    }

    /// All devices, oldest first.
    pub async fn devices(&self, now: Timestamp) -> Result<Vec<Device>, StoreError> {
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

    /// Notes that a device was used.
    pub async fn device_seen(&self, id: i64, at: Timestamp) -> Result<(), StoreError> {
        self.owner
            .call(true, move |context| {
                let update = "UPDATE devices SET last_seen_at = ?2 WHERE id = ?1";
                context.connection.execute(update, (id, at.as_millisecond()))?;
                Ok(())
            })
            .await
    }

    /// Forgets a device; `false` if there is none.
    pub async fn remove_device(&self, id: i64) -> Result<bool, StoreError> {
        self.owner
            .call(true, move |context| Ok(context.connection.execute("DELETE FROM devices WHERE id = ?1", [id])? == 1))
            .await
    }
}
