//! Takes over what another store has, into an empty engine, in one transaction.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::ask::{Ask, searched_text};
use crate::store::migrate::{Belongings, Migration, Sum, WholeAsk};
use crate::store::{Person, StoreError};

use super::command::storable;
use super::devices::{self, device};
use super::error::CallError;
use super::people::{self, person};
use super::rows::{self, COLUMNS, get, to_json, to_word};
use super::{PostgresOptions, schema};

const ADD_ASKS: &str = "
    INSERT INTO answerback.asks (id, namespace, key, session, host, origin, project, kind, subject, questions, detail, opened_at, expires_at,
        on_timeout, racing, digest, asker, asked_by, deferred, lasting, stands, outcome, outcome_kind, settled_by, settled_at, receipt, searched)
    SELECT id, $1, key, session, host, origin, project, kind, subject, questions, detail, opened_at, expires_at,
        on_timeout, racing, digest, asker, asked_by, deferred, lasting, stands, outcome, outcome_kind, settled_by, settled_at, receipt, searched
    FROM json_to_recordset($2::text::json) AS asks (id bigint, key text, session text, host text, origin text, project text, kind text,
        subject text, questions text, detail text, opened_at bigint, expires_at bigint, on_timeout text, racing boolean, digest text,
        asker text, asked_by text, deferred boolean, lasting boolean, stands boolean, outcome text, outcome_kind text, settled_by text,
        settled_at bigint, receipt text, searched text)";

/// What is not in the rows of the asks. Cursors go on, and everything before them is gone.
const COMPLETE: &str = "
    UPDATE answerback.heads SET cursor = greatest(cursor, $2) + 1, floor = greatest(cursor, $2) + 1,
        open = (SELECT count(*) FROM answerback.asks WHERE namespace = $1 AND outcome IS NULL) WHERE namespace = $1";
const COUNTS: &str = "
    INSERT INTO answerback.counts (namespace, host, open)
    SELECT $1, host, count(*) FROM answerback.asks WHERE namespace = $1 AND outcome IS NULL GROUP BY host
    ON CONFLICT (namespace, host) DO UPDATE SET open = excluded.open";
/// Hosts that have asked are given some time until they must be there.
const HOSTS: &str = "
    INSERT INTO answerback.hosts (namespace, host, instance, started, version, schema, leased_to)
    SELECT namespace, host, '', 0, '', 1, clock_timestamp() FROM answerback.counts WHERE namespace = $1
    ON CONFLICT (namespace, host) DO NOTHING";
const IDS: &str = "SELECT setval('answerback.ask_ids', (SELECT max(id) FROM answerback.asks))
    FROM answerback.heads WHERE namespace = $1 AND EXISTS (SELECT 1 FROM answerback.asks)";

/// A transaction that takes everything over, or nothing.
pub(in crate::store) struct Target {
    runtime: Runtime,
    client: Client,
    namespace: String,
}

impl Target {
    /// Makes the tables if there are none, and checks that there is nothing in them.
    pub(in crate::store) fn begin(options: &PostgresOptions) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Failed(error.to_string());
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let client = runtime.block_on(async {
            let (client, connection) = options.config.connect(options.tls.clone()).await.map_err(unreachable)?;
            tokio::spawn(connection);
            schema::prepare(&client, &options.namespace).await?;
            client.batch_execute("BEGIN; SET LOCAL search_path = pg_catalog").await.map_err(unreachable)?;
            Ok::<_, StoreError>(client)
        })?;
        let target = Self { runtime, client, namespace: options.namespace.clone() };
        // Whoever writes changes needs this lock.
        target.run("SELECT cursor FROM answerback.heads WHERE namespace = $1 FOR UPDATE", &[])?;
        let empty =
            "SELECT NOT EXISTS (SELECT 1 FROM answerback.asks) AND NOT EXISTS (SELECT 1 FROM answerback.devices)
                         AND NOT EXISTS (SELECT 1 FROM answerback.people) AS is_empty
                     FROM answerback.heads WHERE namespace = $1";
        let rows = target.run(empty, &[])?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            let problem = "there are questions, people or devices in it already: a file is taken over only into an empty database";
            return Err(StoreError::Failed(problem.to_owned()));
        }
        Ok(target)
    }

    /// The namespace is the first value of each statement.
    fn run(
        &self,
        statement: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let mut all: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&self.namespace, Type::TEXT)];
        all.extend_from_slice(values);
        self.runtime.block_on(self.client.query_typed(statement, &all)).map_err(unreachable)
    }

    pub(in crate::store) fn add(&self, asks: &[WholeAsk]) -> Result<(), StoreError> {
        let rows: Vec<Json> = asks.iter().map(row).collect::<Result<_, _>>()?;
        self.run(ADD_ASKS, &[(&to_json(rows)?, Type::TEXT)]).map(drop)
    }

    /// Returns the new id of each person by their old one.
    fn add_people(&self, people: &[Person]) -> Result<HashMap<i64, i64>, StoreError> {
        let mut ids = HashMap::new();
        for person in people {
            let statement = "INSERT INTO answerback.people (namespace, name, grants, created_at)
                             VALUES ($1, $2, $3, $4) RETURNING id";
            let values: [(&(dyn ToSql + Sync), Type); 3] = [
                (&person.name, Type::TEXT),
                (&to_json(&person.grants)?, Type::TEXT),
                (&person.created_at.as_millisecond(), Type::INT8),
            ];
            for row in &self.run(statement, &values)? {
                ids.insert(person.id, get(row, "id")?);
            }
        }
        Ok(ids)
    }

    pub(in crate::store) fn add_belongings(&self, belongings: &Belongings) -> Result<(), StoreError> {
        let owners = self.add_people(&belongings.people)?;
        for (device, token_hash) in &belongings.devices {
            let statement =
                "INSERT INTO answerback.devices (namespace, name, kind, token_hash, created_at, last_seen_at, person)
                             VALUES ($1, $2, $3, $4, $5, $6, $7)";
            let unknown = || StoreError::Failed(format!("nobody knows whose the device {} is", device.id));
            let owner = device.person.as_ref().map(|person| owners.get(&person.id).copied().ok_or_else(unknown));
            let (created, seen) = (device.created_at.as_millisecond(), device.last_seen_at.as_millisecond());
            let values: [(&(dyn ToSql + Sync), Type); 6] = [
                (&device.name, Type::TEXT),
                (&to_word(device.kind)?, Type::TEXT),
                (&token_hash.as_slice(), Type::BYTEA),
                (&created, Type::INT8),
                (&seen, Type::INT8),
                (&owner.transpose()?, Type::INT8),
            ];
            self.run(statement, &values)?;
        }
        for note in &belongings.away {
            let statement = "INSERT INTO answerback.away (namespace, project, words, kinds, since, until, set_by)
                             VALUES ($1, $2, $3, $4, $5, $6, $7)";
            let by = note.by.as_ref().map(to_json).transpose()?;
            let values: [(&(dyn ToSql + Sync), Type); 6] = [
                (&note.project, Type::TEXT),
                (&storable(&note.words), Type::TEXT),
                (&to_json(&note.kinds)?, Type::TEXT),
                (&note.since.as_millisecond(), Type::INT8),
                (&note.until.as_millisecond(), Type::INT8),
                (&by, Type::TEXT),
            ];
            self.run(statement, &values)?;
        }
        for milestone in &belongings.milestones {
            let statement =
                "INSERT INTO answerback.milestones (namespace, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            self.run(statement, &[(&milestone.name(), Type::TEXT)])?;
        }
        self.run(COMPLETE, &[(&belongings.cursor, Type::INT8)])?;
        self.run(COUNTS, &[])?;
        self.run(HOSTS, &[])?;
        self.run(IDS, &[]).map(drop)
    }

    /// Reads everything that was added.
    pub(in crate::store) fn read_back(&self, at_once: usize) -> Result<Migration, StoreError> {
        let query = format!(
            "SELECT {COLUMNS}, asks.detail FROM answerback.asks WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3"
        );
        let (mut sum, mut after, mut asks) = (Sum::default(), 0_i64, 0);
        loop {
            let limit = i64::try_from(at_once).unwrap_or(i64::MAX);
            let rows = self.run(&query, &[(&after, Type::INT8), (&limit, Type::INT8)])?;
            let Some(last) = rows.last() else { break };
            after = get(last, "id")?;
            for row in &rows {
                sum.add(&WholeAsk { ask: rows::ask(row)?, detail: get(row, "detail")? });
            }
            asks += rows.len();
        }
        let query = format!("SELECT {} FROM answerback.people WHERE namespace = $1 ORDER BY id", people::COLUMNS);
        let people = self.run(&query, &[])?;
        for row in &people {
            sum.add_person(&person(row)?);
        }
        let devices = self.run(&format!("{} ORDER BY devices.id", devices::select()), &[])?;
        for row in &devices {
            sum.add_device(&device(row)?);
        }
        Ok(Migration { asks, damaged: 0, people: people.len(), devices: devices.len(), checksum: sum.finish() })
    }

    pub(in crate::store) fn commit(self) -> Result<(), StoreError> {
        let committed = self.runtime.block_on(self.client.batch_execute("COMMIT"));
        committed.map_err(|error| CallError::from(error).as_unknown())
    }
}

fn row(WholeAsk { ask, detail }: &WholeAsk) -> Result<Json, StoreError> {
    let Ask { settlement, .. } = ask;
    let outcome = settlement.as_ref().map(|settlement| &settlement.outcome);
    let by = settlement.as_ref().and_then(|settlement| settlement.by.as_ref());
    Ok(json!({
        "id": ask.id.0,
        "key": ask.key.as_str(),
        "session": ask.key.session(),
        "host": ask.host.as_str(),
        "origin": to_word(ask.origin)?,
        "project": ask.project,
        "kind": to_word(ask.kind)?,
        "subject": ask.subject.as_ref().map(to_json).transpose()?,
        "questions": to_json(&ask.questions)?,
        "detail": detail,
        "opened_at": ask.opened_at.as_millisecond(),
        "expires_at": ask.expires_at.map(|time| time.as_millisecond()),
        "on_timeout": to_word(ask.on_timeout)?,
        "racing": ask.racing,
        "digest": ask.digest,
        "asker": ask.asker,
        "asked_by": ask.asked_by,
        "deferred": ask.deferred,
        "lasting": !ask.kind.is_for_one_call(),
        "stands": ask.stands(),
        "outcome": outcome.map(to_json).transpose()?,
        "outcome_kind": outcome.map(|outcome| to_word(outcome.kind())).transpose()?,
        "settled_by": by.map(to_json).transpose()?,
        "settled_at": settlement.as_ref().map(|settlement| settlement.at.as_millisecond()),
        "receipt": ask.receipt.as_ref().map(to_json).transpose()?,
        "searched": storable(&searched_text(Some(&ask.questions), outcome)),
    }))
}

fn unreachable(error: tokio_postgres::Error) -> StoreError {
    CallError::from(error).as_unreachable()
}
