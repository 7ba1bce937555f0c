//! What has happened at least once: the table `milestones`. It is also kept in memory, so that only the first time costs anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::ask::DEMO_SESSION;
use crate::store::{Milestone, StoreError};

use super::Sqlite;

fn name(milestone: Milestone) -> &'static str {
    match milestone {
        Milestone::HookCall => "hook-call",
        Milestone::Answer => "answer",
    }
}

/// What is known to be saved.
#[derive(Debug, Clone, Default)]
pub(super) struct Milestones(Arc<Saved>);

#[derive(Debug, Default)]
struct Saved {
    hook_call: AtomicBool,
    answer: AtomicBool,
}

impl Milestones {
    fn is_saved(&self, milestone: Milestone) -> &AtomicBool {
        match milestone {
            Milestone::HookCall => &self.0.hook_call,
            Milestone::Answer => &self.0.answer,
        }
    }
}

fn read(connection: &Connection, milestone: Milestone) -> rusqlite::Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM milestones WHERE name = ?1)";
    connection.prepare_cached(query)?.query_row([name(milestone)], |row| row.get(0))
}

pub(super) fn write(connection: &Connection, milestone: Milestone) -> rusqlite::Result<()> {
    connection.execute("INSERT OR IGNORE INTO milestones (name) VALUES (?1)", [name(milestone)]).map(drop)
}

/// Writes what the asks of an older schema tell.
pub(super) fn write_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO milestones (name) SELECT ?1 WHERE EXISTS (
             SELECT 1 FROM asks WHERE origin = 'claude-code' AND substr(session, 1, length(?2)) <> ?2)",
        (name(Milestone::HookCall), DEMO_SESSION),
    )?;
    connection.execute(
        "INSERT INTO milestones (name) SELECT ?1 WHERE EXISTS (
             SELECT 1 FROM asks WHERE outcome LIKE '{\"kind\":\"answered\",%' AND origin <> 'probe'
                 AND coalesce(settled_by, '') NOT LIKE '{\"channel\":\"away\"%')",
        [name(Milestone::Answer)],
    )?;
    Ok(())
}

impl Sqlite {
    /// Whether a milestone is known to be saved. If not, it may be saved all the same.
    pub(super) fn knows(&self, milestone: Milestone) -> bool {
        self.milestones.is_saved(milestone).load(Ordering::Relaxed)
    }

    /// Must be called after the commit.
    pub(super) fn has_saved(&self, milestone: Milestone) {
        self.milestones.is_saved(milestone).store(true, Ordering::Relaxed);
    }

    pub(in crate::store) async fn has_reached(&self, milestone: Milestone) -> Result<bool, StoreError> {
        if self.knows(milestone) {
            return Ok(true);
        }
        let is_saved = self.owner.call(false, move |context| Ok(read(context.connection, milestone)?)).await?;
        if is_saved {
            self.has_saved(milestone);
        }
        Ok(is_saved)
    }

    pub(in crate::store) async fn reach(&self, milestone: Milestone) -> Result<(), StoreError> {
        if !self.has_reached(milestone).await? {
            self.owner.call(true, move |context| Ok(write(context.connection, milestone)?)).await?;
            self.has_saved(milestone);
        }
        Ok(())
    }
}
