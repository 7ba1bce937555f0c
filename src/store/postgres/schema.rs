//! Prepares the engine, and refuses what this version must not use.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::store::StoreError;

use super::error::CallError;

/// The schema that this version makes.
const NEWEST: i32 = 1;
/// Unique index with `NULLS NOT DISTINCT`.
const OLDEST_ENGINE: i32 = 150_000;

const TABLES: &str = include_str!("sql/tables.sql");
const FUNCTIONS: &str = include_str!("sql/functions.sql");

/// Makes the tables if there are none, and what this namespace needs.
pub(super) async fn prepare(client: &Client, namespace: &str) -> Result<(), StoreError> {
    check_engine(client).await?;
    if !exists(client).await? {
        // Of several daemons that start at the same time, one makes the tables.
        let make = format!(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('answerback.schema', 0));
             DO $make$ BEGIN IF to_regclass('answerback.meta') IS NULL THEN
                 EXECUTE $tables${TABLES}$tables$; EXECUTE $functions${FUNCTIONS}$functions$;
             END IF; END $make$; COMMIT"
        );
        client.batch_execute(&make).await.map_err(refused)?;
    }
    check(client).await?;
    client.batch_execute("SELECT answerback.make_days_1()").await.map_err(refused)?;
    let head = "INSERT INTO answerback.heads (namespace) SELECT $1 WHERE NOT EXISTS (
                    SELECT 1 FROM answerback.heads WHERE namespace = $1) ON CONFLICT DO NOTHING";
    client.query_typed(head, &[(&namespace, tokio_postgres::types::Type::TEXT)]).await.map_err(refused)?;
    Ok(())
}

/// Whether this version may use the tables.
pub(super) async fn check(client: &Client) -> Result<(), StoreError> {
    let row = client
        .query_typed_one("SELECT schema, min_reader, min_writer FROM answerback.meta", &[])
        .await
        .map_err(refused)?;
    let [schema, min_reader, min_writer] = [0, 1, 2].map(|column| row.get::<_, i32>(column));
    if min_reader.max(min_writer) > NEWEST {
        let number = |number| u32::try_from(number).unwrap_or_default();
        return Err(StoreError::Newer { found: number(schema), known: number(NEWEST) });
    }
    Ok(())
}

pub(super) async fn exists(client: &Client) -> Result<bool, StoreError> {
    let row =
        client.query_typed_one("SELECT to_regclass('answerback.meta') IS NOT NULL", &[]).await.map_err(refused)?;
    Ok(row.get(0))
}

pub(super) async fn check_engine(client: &Client) -> Result<(), StoreError> {
    let query = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')";
    let row = client.query_typed_one(query, &[]).await.map_err(refused)?;
    let (version, encoding): (i32, String) = (row.get(0), row.get(1));
    if version < OLDEST_ENGINE {
        let problem = format!("PostgreSQL {} is too old: Answerback needs 15 or later", version / 10_000);
        return Err(StoreError::Failed(problem));
    }
    if encoding != "UTF8" {
        let problem = format!("the database has the encoding {encoding}, and Answerback needs UTF8");
        return Err(StoreError::Failed(problem));
    }
    Ok(())
}

fn refused(error: tokio_postgres::Error) -> StoreError {
    if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        let said = super::error::say(&error);
        let hint = "let the role make the schema `answerback` once: GRANT CREATE ON DATABASE";
        return StoreError::Failed(format!("{said}: {hint}"));
    }
    CallError::from(error).as_unreachable()
}
