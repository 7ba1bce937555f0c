//! The list of asks that fit a filter.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::ask::{Ask, AskId};
use crate::store::{AskPage, Filter, StateFilter};

use super::row::{ask, to_word};
use super::search::{self, Search};

/// Up to so many asks that were opened since a time, it is worth to find the oldest of them. If there are more, a list has its page full
/// soon.
const FEW: i64 = 2_000;

/// A row of a list: its id, and its ask, unless that cannot be read.
pub(super) type Found = (AskId, Option<Arc<Ask>>);

/// A page of the asks that fit, and whether the search index is damaged. An ask that cannot be read must not hide the others: it is counted.
pub(super) fn page(connection: &Connection, filter: &Filter) -> rusqlite::Result<(AskPage, bool)> {
    let conditions = Conditions::of(connection, filter)?;
    // One more than fits tells whether there is another page.
    let limit = filter.limit.saturating_add(1);
    let Search { found, index_is_damaged } = search::find(connection, filter, &conditions, limit)?;
    let more = found.len() > filter.limit;
    let mut page = AskPage::default();
    for (id, ask) in found.into_iter().take(filter.limit) {
        page.next = more.then_some(id);
        match ask {
            Some(ask) => page.asks.push(ask),
            None => page.damaged += 1,
        }
    }
    Ok((page, index_is_damaged))
}

/// Reads the rows of a statement whose last value is the most rows there may be.
pub(super) fn read(
    connection: &Connection,
    statement: &str,
    values: Vec<Value>,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(params_from_iter(values.into_iter().chain([limit.into()])))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = AskId(row.get(0)?);
        let read = ask(row).inspect_err(|error| tracing::error!(id = id.0, %error, "a question is damaged"));
        found.push((id, read.ok().map(Arc::new)));
    }
    Ok(found)
}

/// Conditions on an ask, and the values in them. Only what the filter asks for is there: a condition that is always true would keep SQLite
/// from using an index for the others.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    texts: Vec<&'static str>,
    values: Vec<Value>,
    /// The asks that fit and that do not wait for the index have ids from here. `i64::MAX` if there are none.
    pub(super) from: i64,
    /// The asks that fit have ids before this.
    pub(super) before: i64,
}

impl Conditions {
    pub(super) fn of(connection: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let mut all = Self { before: filter.before.map_or(i64::MAX, |id| id.0), ..Self::default() };
        all.texts.push(match filter.state {
            StateFilter::Open => "asks.outcome IS NULL",
            StateFilter::Settled => "asks.outcome IS NOT NULL",
            StateFilter::All => "TRUE",
        });
        if !filter.probes {
            all.texts.push("asks.origin <> 'probe'");
        }
        all.add("asks.session = ?", filter.session.clone());
        all.add("asks.project = ?", filter.project.clone());
        all.add("asks.host = ?", filter.host.clone());
        all.add("asks.kind = ?", filter.kind.map(to_word).transpose()?);
        all.add(
            "iif(json_valid(asks.outcome), asks.outcome ->> 'kind', NULL) = ?",
            filter.outcome.map(to_word).transpose()?,
        );
        if let Some(since) = filter.opened_since.map(|time| time.as_millisecond()) {
            all.from = oldest_since(connection, since)?.unwrap_or(i64::MAX);
            all.add("asks.opened_at >= ?", Some(since));
        }
        if let Some(end) = filter.key_end.as_ref().filter(|end| !end.is_empty()) {
            all.add("substr(asks.key, -length(?)) = ?", Some(end.clone()));
            all.values.push(end.clone().into());
        }
        Ok(all)
    }

    fn add(&mut self, text: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.texts.push(text);
            self.values.push(value.into());
        }
    }

    /// The conditions as SQL.
    pub(super) fn sql(&self) -> String {
        self.texts.join(" AND ")
    }

    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.values.iter().cloned()
    }
}

/// An id that no indexed ask comes before which was opened at a time or later. `None` if there is no such ask at all. Ids are in the order
/// of opening, but the clock may have been set back.
fn oldest_since(connection: &Connection, since: i64) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT iif(count(*) < ?2, min(ask), 0) FROM (SELECT ask FROM texts WHERE opened_at >= ?1 ORDER BY opened_at LIMIT ?2)",
        )?
        .query_row((since, FEW), |row| row.get(0))
}
