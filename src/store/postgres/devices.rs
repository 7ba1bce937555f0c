//! The devices that are signed in: the table `devices`.

use jiff::Timestamp;
use tokio_postgres::Row;

use crate::ask::Host;
use crate::store::{Device, DeviceKind, StoreError};

use super::Postgres;
use super::command::check;
use super::people::{self, person};
use super::rows::{get, time, to_word, word};

/// The condition for a device that is not forgotten yet.
pub(super) const LIVE: &str = "(kind = 'host' OR last_seen_at > CASE kind WHEN 'page' THEN $2 ELSE $3 END)";

/// Reads the devices of a namespace with their people. More conditions may follow.
pub(super) fn select() -> String {
    format!(
        "SELECT devices.id, devices.name, kind, devices.created_at, last_seen_at, devices.person, {}
         FROM answerback.devices LEFT JOIN answerback.people ON people.id = devices.person
         WHERE devices.namespace = $1",
        people::COLUMNS
    )
}

pub(super) fn device(row: &Row) -> Result<Device, StoreError> {
    Ok(Device {
        id: get(row, "id")?,
        name: get(row, "name")?,
        kind: word(get(row, "kind")?)?,
        created_at: time(get(row, "created_at")?)?,
        last_seen_at: time(get(row, "last_seen_at")?)?,
        // If the person cannot be read, the device cannot either: it must not pass for one that belongs to nobody.
        person: get::<Option<i64>>(row, "person")?.map(|_| person(row)).transpose()?,
    })
}

impl Postgres {
    pub(in crate::store) async fn add_device(
        &self,
        name: String,
        kind: DeviceKind,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        check(&name)?;
        let (page, paired) = DeviceKind::forgotten_before(at);
        let statement = format!(
            "WITH forgotten AS (DELETE FROM answerback.devices WHERE namespace = $1 AND NOT ({LIVE}))
             INSERT INTO answerback.devices (namespace, name, kind, token_hash, created_at, last_seen_at)
             VALUES ($1, $4, $5, $6, $7, $7)
             ON CONFLICT (namespace, token_hash) DO UPDATE SET token_hash = excluded.token_hash RETURNING id"
        );
        let (kind, at) = (to_word(kind)?, at.as_millisecond());
        let values = vec![page.into(), paired.into(), name.into(), kind.into(), token_hash.to_vec().into(), at.into()];
        let rows = self.write(statement, values).await?;
        rows.first().map_or_else(|| Err(StoreError::Failed("no device was added".to_owned())), |row| get(row, "id"))
    }

    pub(in crate::store) async fn add_host(
        &self,
        name: Host,
        token_hash: [u8; 32],
        at: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        check(name.as_str())?;
        let statement = "INSERT INTO answerback.devices (namespace, name, kind, token_hash, created_at, last_seen_at)
             SELECT $1, $2, 'host', $3, $4, $4 WHERE NOT EXISTS (
                 -- A daemon of this store has the name. An edge has no instance.
                 SELECT 1 FROM answerback.hosts WHERE namespace = $1 AND host = $2 AND instance <> '')
             ON CONFLICT (namespace, name) WHERE kind = 'host' DO NOTHING RETURNING id";
        let values = vec![name.as_str().to_owned().into(), token_hash.to_vec().into(), at.as_millisecond().into()];
        self.write(statement, values).await?.first().map(|row| get(row, "id")).transpose()
    }

    pub(in crate::store) async fn device(
        &self,
        token_hash: [u8; 32],
        now: Timestamp,
    ) -> Result<Option<Device>, StoreError> {
        let query = format!("{} AND {LIVE} AND token_hash = $4", select());
        let (page, paired) = DeviceKind::forgotten_before(now);
        let values = vec![page.into(), paired.into(), token_hash.to_vec().into()];
        let rows = self.read(query, values).await?;
        rows.first().map(device).transpose()
    }

    pub(in crate::store) async fn device_with_id(&self, id: i64, now: Timestamp) -> Result<Option<Device>, StoreError> {
        let query = format!("{} AND {LIVE} AND devices.id = $4", select());
        let (page, paired) = DeviceKind::forgotten_before(now);
        let rows = self.read(query, vec![page.into(), paired.into(), id.into()]).await?;
        rows.first().map(device).transpose()
    }

    pub(in crate::store) async fn devices(&self, now: Timestamp) -> Result<Vec<Device>, StoreError> {
        let query = format!("{} AND {LIVE} ORDER BY devices.id", select());
        let (page, paired) = DeviceKind::forgotten_before(now);
        let values = vec![page.into(), paired.into()];
        let rows = self.read(query, values).await?;
        rows.iter().map(device).collect()
    }

    pub(in crate::store) async fn device_seen(&self, id: i64, at: Timestamp) -> Result<(), StoreError> {
        // It is not worth waiting for a standby.
        let statement = "UPDATE answerback.devices SET last_seen_at = $3
                         FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick
                         WHERE namespace = $1 AND id = $2";
        let values = vec![id.into(), at.as_millisecond().into()];
        self.write(statement, values).await.map(drop)
    }

    pub(in crate::store) async fn remove_device(&self, id: i64) -> Result<bool, StoreError> {
        let statement = "DELETE FROM answerback.devices WHERE namespace = $1 AND id = $2 RETURNING id";
        let rows = self.write(statement, vec![id.into()]).await?;
        Ok(!rows.is_empty())
    }
}
