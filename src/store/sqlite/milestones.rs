//! What has happened at least once: the table `milestones`.

use rusqlite::Connection;

use crate::ask::DEMO_SESSION;
use crate::store::{Milestone, StoreError};

use super::Sqlite;

fn read(connection: &Connection, milestone: Milestone) -> rusqlite::Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM milestones WHERE name = ?1)";
    connection.prepare_cached(query)?.query_row([milestone.name()], |row| row.get(0))
}

pub(super) fn write(connection: &Connection, milestone: Milestone) -> rusqlite::Result<()> {
    connection.execute("INSERT OR IGNORE INTO milestones (name) VALUES (?1)", [milestone.name()]).map(drop)
}

/// Writes what the asks of an older schema tell.
pub(super) fn write_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO milestones (name) SELECT ?1 WHERE EXISTS (
             SELECT 1 FROM asks WHERE origin = 'claude-code' AND substr(session, 1, length(?2)) <> ?2)",
        (Milestone::HookCall.name(), DEMO_SESSION),
    )?;
    connection.execute(
        "INSERT INTO milestones (name) SELECT ?1 WHERE EXISTS (
             SELECT 1 FROM asks WHERE outcome LIKE '{\"kind\":\"answered\",%' AND origin <> 'probe'
                 AND coalesce(settled_by, '') NOT LIKE '{\"channel\":\"away\"%')",
        [Milestone::Answer.name()],
    )?;
    Ok(())
}

impl Sqlite {
    pub(in crate::store) async fn has_reached(&self, milestone: Milestone) -> Result<bool, StoreError> {
        if self.milestones.has(milestone) {
            return Ok(true);
        }
        let is_saved = self.owner.call(false, move |context| Ok(read(context.connection, milestone)?)).await?;
        if is_saved {
            self.milestones.add(milestone);
        }
        Ok(is_saved)
    }

    pub(in crate::store) async fn reach(&self, milestone: Milestone) -> Result<(), StoreError> {
        if !self.has_reached(milestone).await? {
            self.owner.call(true, move |context| Ok(write(context.connection, milestone)?)).await?;
            self.milestones.add(milestone);
        }
        Ok(())
    }
}
