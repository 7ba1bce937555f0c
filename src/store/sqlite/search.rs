//! Finds the asks that a list shows. The index proposes settled asks, and their rows and texts decide. Asks that are not in the index, because
//! they are open or wait for it, are read one by one; there are few of them.

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::ask::folded;
use crate::store::{Filter, StateFilter};

use super::error::may_be_index_damage;
use super::grams::{self, Mark};
use super::list::{Conditions, Found, read};
use super::row::{COLUMNS, to_word};

/// What was found.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) found: Found,
    /// Everything was found, but not by the index, which should be built anew.
    pub(super) index_is_damaged: bool,
}

/// The asks that fit, newest first, at most so many. Everything is read in one transaction, so an ask cannot be missed because it is put
/// into the index meanwhile.
pub(super) fn find(
    connection: &Connection,
    filter: &Filter,
    conditions: &Conditions,
    limit: usize,
) -> rusqlite::Result<Search> {
    let text = filter.text.as_deref().map(folded).unwrap_or_default();
    let looking = Looking { connection, conditions, text: &text, limit };
    let (kind, outcome) = (filter.kind.map(to_word).transpose()?, filter.outcome.map(to_word).transpose()?);
    let session = filter.session.as_deref().map(Mark::Session).into_iter();
    let marks = session.chain(filter.project.as_deref().map(Mark::Project)).chain(kind.as_deref().map(Mark::Kind));
    let marks =
        marks.chain(outcome.as_deref().map(Mark::Outcome)).chain(filter.key_end.as_deref().and_then(Mark::of_end));
    // Probes are in no list of a machine, so a list with probes is found in another way.
    let host = filter.host.as_deref().filter(|_| !filter.probes);
    let expression = grams::expression(&text, marks);
    if expression.is_none() && host.is_none() {
        // All asks fit, or all since some time.
        let mut found = looking.in_order()?;
        if filter.opened_since.is_some() {
            found.append(looking.unindexed(filter.state)?);
        }
        return Ok(Search { found: found.newest_first(limit), index_is_damaged: false });
    }
    let (mut found, index_is_damaged) = match looking.in_index(expression, host) {
        Err(error) if may_be_index_damage(&error) => {
            tracing::warn!(%error, "the search index cannot be read: this search reads all texts");
            (looking.in_texts()?, true)
        }
        found => (found?, false),
    };
    found.append(looking.unindexed(filter.state)?);
    Ok(Search { found: found.newest_first(limit), index_is_damaged })
}

struct Looking<'a> {
    connection: &'a Connection,
    conditions: &'a Conditions,
    /// Empty if any text will do.
    text: &'a str,
    limit: usize,
}

impl Looking<'_> {
    /// All asks, by their ids.
    fn in_order(&self) -> rusqlite::Result<Found> {
        let values = self.bounds(self.conditions.from).into_iter().chain(self.conditions.values()).collect();
        read(self.connection, &in_order(self.conditions), values, self.limit, "")
    }

    /// Settled asks that the index proposes: for an expression, or of a machine, or both.
    fn in_index(&self, expression: Option<String>, host: Option<&str>) -> rusqlite::Result<Found> {
        let statement = match (&expression, host) {
            (Some(_), Some(_)) => in_index(self.conditions, OF_HOST),
            (Some(_), None) => in_index(self.conditions, ""),
            (None, _) => in_hosts(self.conditions),
        };
        let text = expression.is_some().then(|| self.text.to_owned());
        let values = [host.map(ToOwned::to_owned), expression, text].into_iter().flatten().map(Value::from);
        let values = values.chain(self.bounds(self.conditions.from)).chain(self.conditions.values()).collect();
        read(self.connection, &statement, values, self.limit, "")
    }

    /// The same asks without the index.
    fn in_texts(&self) -> rusqlite::Result<Found> {
        self.with_text(&in_texts("texts", self.conditions), self.conditions.from)
    }

    /// Asks that are not in the index.
    fn unindexed(&self, state: StateFilter) -> rusqlite::Result<Found> {
        let mut found = Found::default();
        if state != StateFilter::Open {
            found = self.with_text(&in_texts("waiting", self.conditions), 0)?;
        }
        if state != StateFilter::Settled {
            let values = self.bounds(0).into_iter().chain(self.conditions.values()).collect();
            // There is no text of an open ask to look at before it is read.
            found.append(read(self.connection, &open(self.conditions), values, self.limit, self.text)?);
        }
        Ok(found)
    }

    fn with_text(&self, statement: &str, from: i64) -> rusqlite::Result<Found> {
        let values = [self.text.to_owned().into()].into_iter().chain(self.bounds(from)).chain(self.conditions.values());
        read(self.connection, statement, values.collect(), self.limit, "")
    }

    /// The first id, and the one after the last, in the order of the statements below.
    fn bounds(&self, from: i64) -> [Value; 2] {
        [from.into(), self.conditions.before.into()]
    }
}

pub(super) fn in_order(conditions: &Conditions) -> String {
    format!("SELECT {COLUMNS} FROM asks WHERE id >= ? AND id < ? AND {} ORDER BY id DESC LIMIT ?", conditions.sql())
}

/// Leaves only the asks of one machine of what the index proposes.
pub(super) const OF_HOST: &str = "CROSS JOIN hosts ON hosts.ask = grams.rowid AND hosts.host = ?";

/// `join` is [`OF_HOST`] or empty.
pub(super) fn in_index(conditions: &Conditions, join: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM grams {join} CROSS JOIN texts ON texts.ask = grams.rowid CROSS JOIN asks ON asks.id = texts.ask
         WHERE grams MATCH ? AND instr(text, ?) > 0 AND grams.rowid >= ? AND grams.rowid < ? AND {}
         ORDER BY grams.rowid DESC LIMIT ?",
        conditions.sql()
    )
}

/// The order of the list is the order of the table. Its rows are so short that those of other machines take hardly any time.
pub(super) fn in_hosts(conditions: &Conditions) -> String {
    format!(
        "SELECT {COLUMNS} FROM hosts NOT INDEXED CROSS JOIN asks ON asks.id = hosts.ask
         WHERE hosts.host = ? AND hosts.ask >= ? AND hosts.ask < ? AND {}
         ORDER BY hosts.ask DESC LIMIT ?",
        conditions.sql()
    )
}

/// `table` is `texts` or `waiting`.
pub(super) fn in_texts(table: &str, conditions: &Conditions) -> String {
    format!(
        "SELECT {COLUMNS} FROM {table} CROSS JOIN asks ON asks.id = {table}.ask
         WHERE instr(text, ?) > 0 AND {table}.ask >= ? AND {table}.ask < ? AND {}
         ORDER BY {table}.ask DESC LIMIT ?",
        conditions.sql()
    )
}

pub(super) fn open(conditions: &Conditions) -> String {
    format!(
        "SELECT {COLUMNS} FROM asks INDEXED BY asks_open
         WHERE outcome IS NULL AND id >= ? AND id < ? AND {} ORDER BY id DESC LIMIT ?",
        conditions.sql()
    )
}
