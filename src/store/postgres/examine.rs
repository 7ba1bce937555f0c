//! Looks at the engine without changing it, for the doctor.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};
use tokio_postgres::{AsyncMessage, Client};

use crate::store::StoreError;

use super::error::CallError;
use super::{PostgresOptions, schema};

/// How long everything may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How long a notice may take.
const NOTICE: Duration = Duration::from_secs(2);

/// What the engine is like.
#[derive(Debug)]
pub struct Examination {
    /// Its version, as it says it.
    pub version: String,
    /// `None` if no daemon has made the tables yet.
    pub schema: Option<i32>,
    /// By how much the clock of this machine is ahead.
    pub skew: SignedDuration,
    /// The synchronous standbys, as they are configured. Empty if there are none.
    pub standbys: String,
    /// Whether a commit is on the disk before it is confirmed.
    pub is_durable: bool,
    /// Whether notices arrive. They do not through a pooler that gives every transaction another connection.
    pub has_notices: bool,
    /// The daemons of the namespace.
    pub daemons: Vec<LeasedDaemon>,
}

/// A daemon of the namespace.
#[derive(Debug)]
pub struct LeasedDaemon {
    pub host: String,
    pub version: String,
    /// Whether it has been heard of lately.
    pub is_alive: bool,
}

/// Looks at the engine. Changes nothing. Must not be called in a runtime.
pub fn examine(options: &PostgresOptions) -> Result<Examination, StoreError> {
    let failed = |error: std::io::Error| StoreError::Failed(error.to_string());
    let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
    runtime.block_on(async {
        let looked = timeout(LIMIT, look(options)).await;
        looked.unwrap_or_else(|_| Err(StoreError::Unreachable(format!("it did not reply within {LIMIT:?}"))))
    })
}

async fn look(options: &PostgresOptions) -> Result<Examination, StoreError> {
    let (client, mut connection) = options.config.connect(options.tls.clone()).await.map_err(unreachable)?;
    let (hear, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                let _ = hear.send(());
            }
        }
    });
    schema::check_engine(&client).await?;
    let has_tables = schema::exists(&client).await?;
    if has_tables {
        schema::check(&client).await?;
    }
    let sent = Instant::now();
    let query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, current_setting('server_version'),
                     current_setting('synchronous_standby_names'),
                     current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'";
    let row = client.query_typed_one(query, &[]).await.map_err(unreachable)?;
    let engine = Timestamp::from_microsecond(row.get(0)).map_err(|error| StoreError::Failed(error.to_string()))?;
    let half = SignedDuration::try_from(sent.elapsed() / 2).unwrap_or_default();
    let skew = crate::store::wall_clock().duration_since(engine) - half;
    client.batch_execute("LISTEN answerback_doctor; NOTIFY answerback_doctor").await.map_err(unreachable)?;
    let has_notices = timeout(NOTICE, heard.recv()).await.is_ok_and(|notice| notice.is_some());
    let (schema, daemons) = if has_tables { of_tables(&client, options).await? } else { (None, Vec::new()) };
    Ok(Examination {
        version: row.get(1),
        schema,
        skew,
        standbys: row.get(2),
        is_durable: row.get(3),
        has_notices,
        daemons,
    })
}

async fn of_tables(client: &Client, options: &PostgresOptions) -> Result<(Option<i32>, Vec<LeasedDaemon>), StoreError> {
    let meta = client.query_typed_one("SELECT schema FROM answerback.meta", &[]).await.map_err(unreachable)?;
    let query =
        "SELECT host, version, leased_to > clock_timestamp() FROM answerback.hosts WHERE namespace = $1 ORDER BY host";
    let values =
        [(&options.namespace as &(dyn tokio_postgres::types::ToSql + Sync), tokio_postgres::types::Type::TEXT)];
    let rows = client.query_typed(query, &values).await.map_err(unreachable)?;
    let daemons = rows.iter().map(|row| LeasedDaemon { host: row.get(0), version: row.get(1), is_alive: row.get(2) });
    Ok((Some(meta.get(0)), daemons.collect()))
}

fn unreachable(error: tokio_postgres::Error) -> StoreError {
    CallError::from(error).as_unreachable()
}
