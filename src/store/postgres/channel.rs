//! Notices between daemons, and the check that they arrive. A pooler between the daemon and the engine can break them.

use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::store::StoreError;

use super::follow::Input;
use super::reader::Reader;

/// The channel of a namespace. Its name needs no quotes.
pub(super) fn of(namespace: &str) -> String {
    format!("answerback_{}", hex::encode(&Sha256::digest(namespace)[..8]))
}

/// A name that nobody else has.
pub(super) fn random_name() -> Result<String, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(hex::encode(bytes))
}

/// Sends a notice and waits for it. With a pooler that gives every transaction another connection, it does not arrive.
pub(super) async fn check(
    reader: &Reader,
    channel: &str,
    heard: &mut mpsc::UnboundedReceiver<Input>,
) -> Result<(), StoreError> {
    let said = random_name()?;
    let tell = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($2, $3)
                FROM answerback.heads WHERE namespace = $1";
    reader.write(tell, vec![channel.into(), said.as_str().into()]).await?;
    let arrived = async {
        while let Some(input) = heard.recv().await {
            // What others say meanwhile is in the snapshot that follows.
            if matches!(input, Input::Notice(text) if text == said) {
                return;
            }
        }
    };
    timeout(reader.times.unsent, arrived).await.map_err(|_| {
        StoreError::Failed(
            "PostgreSQL does not pass on notices (LISTEN): a pooler like PgBouncer in transaction mode cannot be used. \
             Connect to PostgreSQL itself, or set the pool mode to session"
                .to_owned(),
        )
    })
}
