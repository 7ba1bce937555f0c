//! What people say while they are away: the table `away`.

use jiff::Timestamp;
use tokio_postgres::Row;

use crate::ask::Away;
use crate::store::StoreError;

use super::Postgres;
use super::command::check;
use super::rows::{get, json, time, to_json};

/// The notes that are on at a time, in the order of the rows. A note that cannot be read is left out, because nobody may be answered with
/// words that no person has said.
fn on(rows: &[Row], now: Timestamp) -> Vec<Away> {
    let read = |row: &Row| {
        away(row).inspect_err(|error| tracing::error!(%error, "words of somebody who is away cannot be read")).ok()
    };
    rows.iter().filter_map(read).filter(|note| note.is_on(now)).collect()
}

fn away(row: &Row) -> Result<Away, StoreError> {
    Ok(Away {
        project: get(row, "project")?,
        words: get(row, "words")?,
        kinds: json(get(row, "kinds")?)?,
        since: time(get(row, "since")?)?,
        until: time(get(row, "until")?)?,
        by: get::<Option<&str>>(row, "set_by")?.map(json).transpose()?,
    })
}

impl Postgres {
    pub(in crate::store) async fn set_away(&self, note: Away) -> Result<(), StoreError> {
        check(&note.words)?;
        note.project.as_deref().map(check).transpose()?;
        let statement = "WITH forgotten AS (
                 DELETE FROM answerback.away WHERE namespace = $1 AND until <= $5 AND project IS DISTINCT FROM $2)
             INSERT INTO answerback.away (namespace, project, words, kinds, since, until, set_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (namespace, project) DO UPDATE SET words = excluded.words, kinds = excluded.kinds,
                 since = excluded.since, until = excluded.until, set_by = excluded.set_by";
        let values = vec![
            note.project.into(),
            note.words.into(),
            to_json(&note.kinds)?.into(),
            note.since.as_millisecond().into(),
            note.until.as_millisecond().into(),
            note.by.as_ref().map(to_json).transpose()?.into(),
        ];
        self.write(statement, values).await.map(drop)
    }

    pub(in crate::store) async fn away(&self, now: Timestamp) -> Result<Vec<Away>, StoreError> {
        let query = "SELECT * FROM answerback.away WHERE namespace = $1 ORDER BY project NULLS FIRST";
        Ok(on(&self.read(query, Vec::new()).await?, now))
    }

    pub(in crate::store) async fn end_away(
        &self,
        project: Option<String>,
        now: Timestamp,
    ) -> Result<Vec<Away>, StoreError> {
        project.as_deref().map(check).transpose()?;
        let statement = "WITH ended AS (
                 DELETE FROM answerback.away WHERE namespace = $1 AND ($2::text IS NULL OR project = $2) RETURNING *)
             SELECT * FROM ended ORDER BY project NULLS FIRST";
        Ok(on(&self.write(statement, vec![project.into()]).await?, now))
    }
}
