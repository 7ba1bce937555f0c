//! The list of asks that fit a filter.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::ask::{Ask, AskId, searched_text};
use crate::store::{AskPage, Filter, MAX_LIST_BYTES, StateFilter};

use super::row::{ask, to_word};
use super::search::{self, Search};

/// Up to so many asks that were opened since a time, it is worth to find the oldest of them. If there are more, a list has its page full
/// soon.
const FEW: i64 = 2_000;

/// What was read of the asks that fit.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The id of each ask, and the ask, unless it cannot be read.
    pub(super) rows: Vec<(AskId, Option<Arc<Ask>>)>,
    /// If it was too much to read all: the oldest ask up to which none is missing.
    pub(super) complete_to: Option<AskId>,
}

impl Found {
    pub(super) fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.complete_to = self.complete_to.max(other.complete_to);
    }

    /// The same in the order of a list, at most so many, up to where none is missing.
    pub(super) fn newest_first(mut self, limit: usize) -> Self {
        self.rows.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        self.rows.dedup_by_key(|(id, _)| *id);
        self.rows.retain(|(id, _)| self.complete_to.is_none_or(|oldest| *id >= oldest));
        self.rows.truncate(limit);
        self
    }
}

/// A page of the asks that fit, and whether the search index is damaged. An ask that cannot be read must not hide the others: it is counted.
pub(super) fn page(connection: &Connection, filter: &Filter) -> rusqlite::Result<(AskPage, bool)> {
    let conditions = Conditions::of(connection, filter)?;
    // One more than fits tells whether there is another page.
    let limit = filter.limit.saturating_add(1);
    let Search { found, index_is_damaged } = search::find(connection, filter, &conditions, limit)?;
    let more = found.rows.len() > filter.limit || found.complete_to.is_some();
    let mut page = AskPage::default();
    for (id, ask) in found.rows.into_iter().take(filter.limit) {
        page.next = more.then_some(id);
        match ask {
            Some(ask) => page.asks.push(ask),
            None => page.damaged += 1,
        }
    }
    Ok((page, index_is_damaged))
}

/// Reads the rows of a statement, newest first, until there are `limit` of them or they are large enough for a page. The last value of the
/// statement is the most rows there may be. If there is a text, only asks with this text in their questions count.
pub(super) fn read(
    connection: &Connection,
    statement: &str,
    values: Vec<Value>,
    limit: usize,
    text: &str,
) -> rusqlite::Result<Found> {
    let most = if text.is_empty() { i64::try_from(limit).unwrap_or(i64::MAX) } else { i64::MAX };
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query(params_from_iter(values.into_iter().chain([most.into()])))?;
    let fits = |ask: &Ask| text.is_empty() || searched_text(Some(&ask.questions), None).contains(text);
    let (mut found, mut bytes) = (Found::default(), 0);
    while found.rows.len() < limit
        && let Some(row) = rows.next()?
    {
        if bytes > MAX_LIST_BYTES {
            found.complete_to = found.rows.last().map(|(id, _)| *id);
            break;
        }
        let id = AskId(row.get(0)?);
        let read = ask(row).inspect_err(|error| tracing::error!(id = id.0, %error, "a question is damaged")).ok();
        if read.as_ref().is_none_or(fits) {
            bytes += read.as_ref().map_or(0, Ask::weight);
            found.rows.push((id, read.map(Arc::new)));
        }
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
