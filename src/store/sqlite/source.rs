//! Reads a whole file, to take it over into another store. Changes nothing.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::ask::AskId;
use crate::store::migrate::{Belongings, WholeAsk};
use crate::store::{Milestone, StoreError};

use super::devices::{self, device};
use super::people::{self, person};
use super::row::{self, COLUMNS, check_sum, text};
use super::{away, events, schema, sums};

#[derive(Debug)]
pub(in crate::store) struct Source(Connection);

/// Some of the asks, in the order of their ids.
#[derive(Debug)]
pub(in crate::store) struct Page {
    pub(in crate::store) asks: Vec<WholeAsk>,
    pub(in crate::store) damaged: usize,
    /// The last id of the page; `None` if there was nothing left.
    pub(in crate::store) last: Option<AskId>,
}

impl Source {
    pub(in crate::store) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(schema::BUSY)?;
        let version = schema::check(&connection, false)?;
        if version < schema::NEWEST {
            let problem = "the file was written by an older version: start the daemon once, and stop it again";
            return Err(StoreError::Failed(problem.to_owned()));
        }
        // Everything is read at one moment of the file.
        connection.execute_batch("BEGIN")?;
        Ok(Self(connection))
    }

    pub(in crate::store) fn count(&self) -> Result<usize, StoreError> {
        let count: i64 = self.0.query_row("SELECT count(*) FROM asks", [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    pub(in crate::store) fn asks(&self, after: AskId, limit: usize) -> Result<Page, StoreError> {
        let query = format!("SELECT {COLUMNS}, detail, detail_sum FROM asks WHERE id > ?1 ORDER BY id LIMIT ?2");
        let mut statement = self.0.prepare_cached(&query)?;
        let mut rows = statement.query((after.0, i64::try_from(limit).unwrap_or(i64::MAX)))?;
        let mut page = Page { asks: Vec::new(), damaged: 0, last: None };
        while let Some(row) = rows.next()? {
            let id = AskId(row.get(0)?);
            page.last = Some(id);
            match whole(row) {
                Ok(ask) => page.asks.push(ask),
                Err(error) => {
                    tracing::error!(id = id.0, %error, "a question is damaged, and is left behind");
                    page.damaged += 1;
                }
            }
        }
        Ok(page)
    }

    pub(in crate::store) fn belongings(&self) -> Result<Belongings, StoreError> {
        let people = format!("SELECT {} FROM people ORDER BY id", people::COLUMNS);
        let mut people = self.0.prepare(&people)?;
        let people = people.query_map([], |row| person(row, 0))?;
        let mut devices = self.0.prepare(&format!("{} ORDER BY devices.id", devices::select()))?;
        let devices = devices.query_map([], |row| Ok((device(row)?, row.get("token_hash")?)))?;
        let mut milestones = Vec::new();
        for milestone in [Milestone::HookCall, Milestone::Answer] {
            let query = "SELECT EXISTS (SELECT 1 FROM milestones WHERE name = ?1)";
            if self.0.query_row(query, [milestone.name()], |row| row.get(0))? {
                milestones.push(milestone);
            }
        }
        Ok(Belongings {
            people: people.collect::<Result<_, _>>()?,
            devices: devices.collect::<Result<_, _>>()?,
            away: away::on(&self.0, crate::store::wall_clock())?,
            milestones,
            cursor: events::newest(&self.0)?.0,
        })
    }
}

fn whole(row: &rusqlite::Row<'_>) -> rusqlite::Result<WholeAsk> {
    let ask = row::ask(row)?;
    check_sum(row, 22, || Ok(sums::of_detail(text(row, 1)?, text(row, 21)?)))?;
    Ok(WholeAsk { ask, detail: row.get(21)? })
}
