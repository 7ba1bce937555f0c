//! What people say while they are away: the table `away`.

use jiff::Timestamp;
use rusqlite::{Connection, Row, named_params};

use crate::ask::Away;
use crate::store::StoreError;

use super::row::{check_sum, json, json_or_null, optional_text, text, time_or_broken, to_json};
use super::{Sqlite, sums};

/// The notes that are on at a time: the one for every project first, then by their directories. A note that is not what was written is
/// left out, because nobody may be answered with words that no person has said.
pub(super) fn on(connection: &Connection, now: Timestamp) -> rusqlite::Result<Vec<Away>> {
    let query = "SELECT project, words, kinds, since, until, set_by, sum FROM away ORDER BY project";
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([])?;
    let mut notes = Vec::new();
    while let Some(row) = rows.next()? {
        match away(row) {
            Ok(note) => notes.extend(Some(note).filter(|note| note.is_on(now))),
            Err(error) => tracing::error!(%error, "words of somebody who is away are damaged, and are not used"),
        }
    }
    Ok(notes)
}

fn away(row: &Row<'_>) -> rusqlite::Result<Away> {
    let (since, until) = (time_or_broken(row, 3)?, time_or_broken(row, 4)?);
    check_sum(row, 6, || Ok(sums::of_away(optional_text(row, 0)?, text(row, 1)?, text(row, 2)?, since, until)))?;
    Ok(Away { project: row.get(0)?, words: row.get(1)?, kinds: json(row, 2)?, since, until, by: json_or_null(row, 5)? })
}

impl Sqlite {
    pub(in crate::store) async fn set_away(&self, note: Away) -> Result<(), StoreError> {
        self.owner
            .call(true, move |context| {
                let kinds = to_json(&note.kinds)?;
                let sum = sums::of_away(note.project.as_deref(), &note.words, &kinds, note.since, note.until);
                context.connection.execute(
                    "DELETE FROM away WHERE project IS ?1 OR until <= ?2",
                    (&note.project, note.since.as_millisecond()),
                )?;
                context.connection.execute(
                    "INSERT INTO away (project, words, kinds, since, until, set_by, sum)
                     VALUES (:project, :words, :kinds, :since, :until, :set_by, :sum)",
                    named_params! {
                        ":project": note.project,
                        ":words": note.words,
                        ":kinds": kinds,
                        ":since": note.since.as_millisecond(),
                        ":until": note.until.as_millisecond(),
                        ":set_by": note.by.as_ref().map(to_json).transpose()?,
                        ":sum": sum,
                    },
                )?;
                Ok(())
            })
            .await
    }

    pub(in crate::store) async fn away(&self, now: Timestamp) -> Result<Vec<Away>, StoreError> {
        self.owner.call(false, move |context| Ok(on(context.connection, now)?)).await
    }

    pub(in crate::store) async fn end_away(
        &self,
        project: Option<String>,
        now: Timestamp,
    ) -> Result<Vec<Away>, StoreError> {
        self.owner
            .call(true, move |context| {
                let mut ended = on(context.connection, now)?;
                match project {
                    Some(project) => {
                        ended.retain(|note| note.project.as_ref() == Some(&project));
                        context.connection.execute("DELETE FROM away WHERE project = ?1", [project])?;
                    }
                    None => drop(context.connection.execute("DELETE FROM away", [])?),
                }
                Ok(ended)
            })
            .await
    }
}
