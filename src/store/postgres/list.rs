//! The list of asks that fit a filter.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::ask::{AskId, folded};
use crate::store::{AskPage, Filter, MAX_LIST_BYTES, StateFilter, StoreError};

use super::command::storable;
use super::link::Value;
use super::rows::{self, COLUMNS, SIZE, get, to_word};

/// The longest path that is in the index of projects, in bytes.
const INDEXED: usize = 1024;

/// The statement of a list, and its values after the namespace. Only what the filter asks for is in it.
pub(super) fn query(filter: &Filter) -> Result<(String, Vec<Value>), StoreError> {
    let mut conditions = vec!["namespace = $1".to_owned()];
    let mut values = Vec::new();
    let mut add = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(condition.replace('?', &format!("${}", values.len() + 1)));
        }
    };
    add("id < ?", filter.before.map(|id| id.0.into()));
    add("session = ?", filter.session.as_deref().map(plain));
    // With the second condition, the index can be used.
    let project = match filter.project.as_deref() {
        Some(project) if project.len() <= INDEXED => "project = ? AND octet_length(project) <= 1024",
        _ => "project = ?",
    };
    add(project, filter.project.as_deref().map(plain));
    add("host = ?", filter.host.as_deref().map(plain));
    add("kind = ?", filter.kind.map(to_word).transpose()?.map(Value::from));
    add("outcome IS NOT NULL AND outcome_kind = ?", filter.outcome.map(to_word).transpose()?.map(Value::from));
    add("opened_at >= ?", filter.opened_since.map(|time| time.as_millisecond().into()));
    add("right(key, length(?)) = ?", filter.key_end.as_deref().filter(|end| !end.is_empty()).map(plain));
    let text = filter.text.as_deref().map(|text| storable(&folded(text))).filter(|text| !text.is_empty());
    add("strpos(searched, ?) > 0", text.map(Value::from));
    match filter.state {
        StateFilter::Open => conditions.push("outcome IS NULL".to_owned()),
        StateFilter::Settled => conditions.push("outcome IS NOT NULL".to_owned()),
        StateFilter::All => {}
    }
    if !filter.probes {
        conditions.push("origin <> 'probe'".to_owned());
    }
    // One more than fits tells whether there is another page.
    values.push(i64::try_from(filter.limit.saturating_add(1)).unwrap_or(i64::MAX).into());
    let (conditions, last) = (conditions.join(" AND "), values.len() + 1);
    let query = format!(
        "SELECT {COLUMNS}, page.found FROM (
             SELECT id, count(*) OVER () AS found, sum(size) OVER (ORDER BY id DESC) - size AS bytes_before FROM (
                 SELECT id, {SIZE} AS size FROM answerback.asks WHERE {conditions} ORDER BY id DESC LIMIT ${last}
             ) AS sized
         ) AS page JOIN answerback.asks ON asks.id = page.id
         WHERE page.bytes_before <= {MAX_LIST_BYTES} ORDER BY page.id DESC"
    );
    Ok((query, values))
}

/// No ask has a NUL in these texts, and the engine does not take one.
fn plain(text: &str) -> Value {
    storable(text).into()
}

/// An ask that cannot be read must not hide the others: it is counted.
pub(super) fn page(rows: &[Row], limit: usize) -> AskPage {
    let mut page = AskPage::default();
    let found: i64 = rows.first().and_then(|row| get(row, "found").ok()).unwrap_or_default();
    let more = usize::try_from(found).is_ok_and(|found| found > rows.len().min(limit));
    for row in rows.iter().take(limit) {
        match rows::ask(row) {
            Ok(ask) => page.asks.push(Arc::new(ask)),
            Err(error) => {
                tracing::error!(%error, "a question cannot be read");
                page.damaged += 1;
            }
        }
        if more {
            page.next = get(row, "id").ok().map(AskId);
        }
    }
    page
}
