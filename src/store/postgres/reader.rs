//! Questions to the engine, and changes of what is no ask. What may take long has a connection of its own, so that nothing waits for it.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::ask::{Ask, AskId, AskKey, Change, ChangeKind, Cursor};
use crate::store::{AskPage, Changes, Filter, HostProjects, MAX_PAGE_BYTES, StoreError};

use super::error::CallError;
use super::link::{Link, Value};
use super::list;
use super::rows::{self, COLUMNS, SIZE, get};
use super::times::Times;

/// The most asks that are forgotten in one statement.
const PURGED_AT_ONCE: i64 = 500;

/// The projects go from one to the next in the index, not from ask to ask. The index leaves out very long paths.
const PROJECTS: &str = "
    WITH RECURSIVE found (project) AS (
        SELECT min(project) FROM answerback.asks
        WHERE namespace = $1 AND project IS NOT NULL AND origin <> 'probe' AND octet_length(project) <= 1024
        UNION ALL
        SELECT (SELECT min(asks.project) FROM answerback.asks
                WHERE namespace = $1 AND asks.project > found.project AND origin <> 'probe'
                    AND octet_length(asks.project) <= 1024) FROM found
        WHERE found.project IS NOT NULL
    )
    SELECT project FROM found WHERE project IS NOT NULL ORDER BY project";

/// The same for hosts and their projects.
const HOSTS: &str = "
    WITH RECURSIVE found (host, project) AS (
        (SELECT host, coalesce(project, '') FROM answerback.asks
         WHERE namespace = $1 AND origin <> 'probe' AND octet_length(coalesce(project, '')) <= 1024
         ORDER BY host, coalesce(project, '') LIMIT 1)
        UNION ALL
        SELECT next.host, next.project FROM found CROSS JOIN LATERAL (
            SELECT asks.host, coalesce(asks.project, '') AS project FROM answerback.asks
            WHERE namespace = $1 AND origin <> 'probe' AND octet_length(coalesce(asks.project, '')) <= 1024
                AND (asks.host, coalesce(asks.project, '')) > (found.host, found.project)
            ORDER BY asks.host, coalesce(asks.project, '') LIMIT 1
        ) AS next
    )
    SELECT host, project FROM found";

#[derive(Clone)]
pub(super) struct Reader {
    pub(super) link: Link,
    pub(super) namespace: Arc<str>,
    pub(super) times: Times,
    /// How long a statement may take.
    pub(super) limit: Duration,
}

impl Reader {
    /// Runs a statement that changes nothing. The namespace is its first value. If the connection is lost meanwhile, it begins again.
    pub(super) async fn read(&self, statement: &str, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let values = self.with_namespace(values);
        let deadline = Instant::now() + self.times.unsent;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let session = self.link.session(left).await?;
            match session.query_within(self.limit, statement, &values).await {
                Err(CallError::Lost(_)) if Instant::now() < deadline => {}
                read => return read.map_err(|error| error.as_unreachable()),
            }
        }
    }

    /// Runs a statement that changes something which is no ask. If the connection is lost, nobody knows whether it was done.
    pub(super) async fn write(&self, statement: &str, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let session = self.link.session(self.times.unsent).await?;
        let written = session.query_within(self.limit, statement, &self.with_namespace(values)).await;
        written.map_err(|error| error.as_unknown())
    }

    fn with_namespace(&self, values: Vec<Value>) -> Vec<Value> {
        std::iter::once(Value::from(&*self.namespace)).chain(values).collect()
    }

    async fn one(&self, condition: &str, values: Vec<Value>) -> Result<Option<Arc<Ask>>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM answerback.asks WHERE namespace = $1 AND {condition} ORDER BY id DESC LIMIT 1"
        );
        let rows = self.read(&query, values).await?;
        rows.first().map(rows::ask).transpose().map(|ask| ask.map(Arc::new))
    }

    pub(super) async fn life(&self, id: AskId) -> Result<Option<Arc<Ask>>, StoreError> {
        self.one("id = $2", vec![id.0.into()]).await
    }

    pub(super) async fn ask(&self, key: &AskKey) -> Result<Option<Arc<Ask>>, StoreError> {
        self.one("key = $2", vec![key.as_str().into()]).await
    }

    pub(super) async fn ask_with_digest(&self, session: &str, digest: &str) -> Result<Option<Arc<Ask>>, StoreError> {
        self.one("session = $2 AND digest = $3", vec![session.into(), digest.into()]).await
    }

    pub(super) async fn detail(&self, id: AskId) -> Result<String, StoreError> {
        let query = "SELECT detail FROM answerback.asks WHERE namespace = $1 AND id = $2";
        let rows = self.read(query, vec![id.0.into()]).await?;
        let row = rows.first().ok_or_else(|| StoreError::Failed("there is no such ask".to_owned()))?;
        get(row, "detail")
    }

    pub(super) async fn list(&self, filter: &Filter) -> Result<AskPage, StoreError> {
        let (query, values) = list::query(filter)?;
        Ok(list::page(&self.read(&query, values).await?, filter.limit))
    }

    pub(super) async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.read(PROJECTS, Vec::new()).await?.iter().map(|row| get(row, "project")).collect()
    }

    pub(super) async fn hosts(&self) -> Result<Vec<HostProjects>, StoreError> {
        let rows = self.read(HOSTS, Vec::new()).await?;
        let rows = rows.iter().map(|row| Ok((get(row, "host")?, get(row, "project")?)));
        Ok(HostProjects::from_rows(rows.collect::<Result<Vec<_>, StoreError>>()?))
    }

    /// A page of changes. The newest cursor and the floor are of the same moment.
    pub(super) async fn changes(&self, after: Cursor, limit: usize) -> Result<Changes, StoreError> {
        let query = format!(
            "SELECT heads.cursor AS head, heads.floor, page.cursor, page.change, page.found, {COLUMNS} FROM answerback.heads
             LEFT JOIN LATERAL (
                 SELECT *, count(*) OVER () AS found, sum(size) OVER (ORDER BY cursor) - size AS bytes_before FROM (
                     SELECT events.cursor, events.ask, events.kind AS change, {SIZE} AS size
                     FROM answerback.events JOIN answerback.asks ON asks.id = events.ask
                     WHERE events.namespace = heads.namespace AND events.cursor > $2 ORDER BY events.cursor LIMIT $3
                 ) AS sized
             ) AS page ON bytes_before <= {MAX_PAGE_BYTES}
             LEFT JOIN answerback.asks ON asks.id = page.ask
             WHERE heads.namespace = $1 ORDER BY page.cursor"
        );
        let limit = limit.clamp(1, 1000);
        let rows = self.read(&query, vec![after.0.into(), i64::try_from(limit).unwrap_or(1000).into()]).await?;
        let mut page = Changes { changes: Vec::new(), through: after, is_end: false, is_broken_off: false };
        let (mut looked_at, mut found) = (0, 0);
        for row in &rows {
            let (head, floor): (i64, i64) = (get(row, "head")?, get(row, "floor")?);
            if after.0 < floor || after.0 > head {
                return Ok(Changes { through: Cursor(head), is_end: true, is_broken_off: true, ..page });
            }
            let Some(cursor) = get::<Option<i64>>(row, "cursor")? else { break };
            found = get(row, "found")?;
            looked_at += 1;
            page.through = Cursor(cursor);
            let Some(kind) = ChangeKind::from_name(get(row, "change")?) else { continue };
            match rows::ask(row) {
                Ok(ask) => {
                    page.changes.push(Arc::new(Change {
                        cursor: Cursor(cursor),
                        kind,
                        ask: Arc::new(ask),
                        detail: None,
                    }));
                }
                Err(error) => tracing::error!(cursor, %error, "the question of a change cannot be read"),
            }
        }
        page.is_end = looked_at == found && looked_at < i64::try_from(limit).unwrap_or(i64::MAX);
        Ok(page)
    }

    pub(super) async fn oldest_settled(&self) -> Result<Option<Timestamp>, StoreError> {
        let query =
            "SELECT min(settled_at) AS oldest FROM answerback.asks WHERE namespace = $1 AND outcome IS NOT NULL";
        let rows = self.read(query, Vec::new()).await?;
        let oldest: Option<i64> = rows.first().map(|row| get(row, "oldest")).transpose()?.flatten();
        oldest.map(rows::time).transpose()
    }

    /// Forgets what was settled before the newest settled asks that have so many bytes together.
    pub(super) async fn shrink(&self, most: u64) -> Result<usize, StoreError> {
        let query = format!(
            "SELECT max(settled_at) AS newest FROM (
                 SELECT settled_at, sum(size) OVER (ORDER BY settled_at DESC) AS bytes FROM (
                     SELECT settled_at, {SIZE} + octet_length(asks.detail) AS size FROM answerback.asks
                     WHERE namespace = $1 AND outcome IS NOT NULL
                 ) AS sized
             ) AS summed WHERE bytes > $2"
        );
        let rows = self.read(&query, vec![i64::try_from(most).unwrap_or(i64::MAX).into()]).await?;
        let newest: Option<i64> = rows.first().map(|row| get(row, "newest")).transpose()?.flatten();
        match newest {
            Some(newest) => self.forget(rows::time(newest + 1)?).await,
            None => Ok(0),
        }
    }

    /// Forgets asks, a few at a time.
    async fn forget(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        let forget = "DELETE FROM answerback.asks WHERE id IN (
                          SELECT id FROM answerback.asks WHERE namespace = $1 AND outcome IS NOT NULL AND settled_at < $2
                          ORDER BY settled_at LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING id";
        let mut purged = 0;
        loop {
            let values = vec![settled_before.as_millisecond().into(), PURGED_AT_ONCE.into()];
            let some = self.write(forget, values).await?.len();
            purged += some;
            if some < usize::try_from(PURGED_AT_ONCE).unwrap_or_default() {
                return Ok(purged);
            }
        }
    }

    /// Forgets asks, and then the changes of days on which nothing is left to replay.
    pub(super) async fn purge(&self, settled_before: Timestamp) -> Result<usize, StoreError> {
        let purged = self.forget(settled_before).await?;
        let forget =
            "DELETE FROM answerback.firsts WHERE namespace = $1 AND at < clock_timestamp() - interval '7 days'";
        self.write(forget, Vec::new()).await?;
        let day = settled_before.to_zoned(TimeZone::UTC).date().to_string();
        let drop_days = "SELECT set_config('lock_timeout', '100ms', true), answerback.drop_days_1($2::text::date)
                         FROM answerback.heads WHERE namespace = $1";
        let dropped = self.write(drop_days, vec![day.into()]).await;
        // It can be done at any other time.
        if let Err(error) = dropped {
            tracing::warn!(%error, "old changes are not forgotten yet");
        }
        Ok(purged)
    }
}
