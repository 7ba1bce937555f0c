//! The list of asks that fit a filter.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::ask::AskId;
use crate::store::{AskPage, Filter, StateFilter};

use super::row::{COLUMNS, ask, to_json, to_word};

/// A page of the asks that fit. One that cannot be read must not hide the others: it is counted.
pub(super) fn page(connection: &Connection, filter: &Filter) -> rusqlite::Result<AskPage> {
    let conditions = Conditions::of(filter)?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM asks WHERE {} ORDER BY id DESC LIMIT ?",
        conditions.texts.join(" AND ")
    ))?;
    // One more than fits tells whether there is another page.
    let limit = i64::try_from(filter.limit.saturating_add(1)).unwrap_or(i64::MAX);
    let mut rows = statement.query(params_from_iter(conditions.values.into_iter().chain([limit.into()])))?;
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

/// Conditions on an ask, and the values in them. Only what the filter asks for is there: a condition that is always true would keep SQLite
/// from using an index for the others.
#[derive(Default)]
struct Conditions {
    texts: Vec<&'static str>,
    values: Vec<Value>,
}

impl Conditions {
    fn of(filter: &Filter) -> rusqlite::Result<Self> {
        let mut all = Self::default();
        all.texts.push(match filter.state {
            StateFilter::Open => "outcome IS NULL",
            StateFilter::Settled => "outcome IS NOT NULL",
            StateFilter::All => "TRUE",
        });
        if !filter.probes {
            all.texts.push("origin <> 'probe'");
        }
        all.add("session = ?", filter.session.clone());
        all.add("project = ?", filter.project.clone());
        all.add("opened_at >= ?", filter.opened_since.map(|time| time.as_millisecond()));
        all.add("id < ?", filter.before.map(|id| id.0));
        all.add("(json_valid(outcome) AND outcome ->> 'kind' = ?)", filter.outcome.map(to_word).transpose()?);
        if let Some(end) = &filter.key_end {
            all.add("substr(key, -length(?)) = ?", Some(end.clone()));
            all.values.push(end.clone().into());
        }
        if let Some(text) = &filter.text {
            // The JSON of an ask with this text contains the text as it is written in JSON. To look for that first is much faster than
            // to take the JSON apart, and few asks are left.
            let written = like(inside_json(text)?.as_str());
            all.texts.push("(questions LIKE ? ESCAPE '\\' OR outcome LIKE ? ESCAPE '\\')");
            all.values.extend([written.clone().into(), written.into()]);
            all.texts.push(
                "EXISTS (
                    SELECT 1 FROM json_each(iif(json_valid(questions), questions, '[]'))
                    WHERE value ->> 'question' LIKE ? ESCAPE '\\'
                    UNION ALL
                    SELECT 1 FROM json_tree(iif(json_valid(outcome), outcome, '{}'))
                    WHERE type = 'text' AND key <> 'kind' AND atom LIKE ? ESCAPE '\\')",
            );
            let text = like(text);
            all.values.extend([text.clone().into(), text.into()]);
        }
        Ok(all)
    }

    fn add(&mut self, text: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.texts.push(text);
            self.values.push(value.into());
        }
    }
}

/// A text as it is written in JSON, without the quotes around it.
fn inside_json(text: &str) -> rusqlite::Result<String> {
    let written = to_json(text)?;
    Ok(written[1..written.len() - 1].to_owned())
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
