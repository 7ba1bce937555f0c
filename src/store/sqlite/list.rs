//! The list of asks that fit a filter.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, named_params};

use crate::ask::AskId;
use crate::store::{AskPage, Filter, StateFilter};

use super::row::{COLUMNS, ask, to_word};

/// A page of the asks that fit. One that cannot be read must not hide the others: it is counted.
pub(super) fn page(connection: &Connection, filter: &Filter) -> rusqlite::Result<AskPage> {
    let state = match filter.state {
        StateFilter::Open => "outcome IS NULL",
        StateFilter::Settled => "outcome IS NOT NULL",
        StateFilter::All => "TRUE",
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks
         WHERE {state} AND (:session IS NULL OR session = :session) AND (:project IS NULL OR project = :project)
           AND (:before IS NULL OR id < :before) AND (:opened_since IS NULL OR opened_at >= :opened_since)
           AND (:probes OR origin <> 'probe')
           AND (:key_end IS NULL OR substr(key, -length(:key_end)) = :key_end)
           AND (:outcome IS NULL OR (json_valid(outcome) AND outcome ->> 'kind' = :outcome))
           AND (:text IS NULL OR EXISTS (
               SELECT 1 FROM json_each(iif(json_valid(questions), questions, '[]'))
               WHERE value ->> 'question' LIKE :text ESCAPE '\\'
               UNION ALL
               SELECT 1 FROM json_tree(iif(json_valid(outcome), outcome, '{{}}'))
               WHERE type = 'text' AND key <> 'kind' AND atom LIKE :text ESCAPE '\\'))
         ORDER BY id DESC LIMIT :limit"
    ))?;
    let mut rows = statement.query(named_params! {
        ":session": filter.session,
        ":project": filter.project,
        ":opened_since": filter.opened_since.map(Timestamp::as_millisecond),
        ":outcome": filter.outcome.map(to_word).transpose()?,
        ":text": filter.text.as_deref().map(like),
        ":before": filter.before.map(|id| id.0),
        ":probes": filter.probes,
        ":key_end": filter.key_end,
        // One more than fits tells whether there is another page.
        ":limit": i64::try_from(filter.limit.saturating_add(1)).unwrap_or(i64::MAX),
    })?;
    let (mut page, mut last) = (AskPage::default(), None);
    while let Some(row) = rows.next()? {
        if page.asks.len() + page.damaged == filter.limit {
            page.next = last;
            break;
        }
        let id = row.get(0)?;
        last = Some(AskId(id));
        match ask(row) {
            Ok(ask) => page.asks.push(Arc::new(ask)),
            Err(error) => {
                tracing::error!(id, %error, "a question is damaged");
                page.damaged += 1;
            }
        }
    }
    Ok(page)
}

/// A pattern for `LIKE` that matches every text with this one in it.
fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
