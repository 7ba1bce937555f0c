//! What the daemons of a namespace share beside the asks: the tables `boards`, `firsts` and `secrets`.

use crate::store::{Board, StoreError};

use super::Postgres;
use super::rows::get;

impl Postgres {
    pub(in crate::store) async fn board(&self, name: &str) -> Result<Board, StoreError> {
        let query = "SELECT version, text FROM answerback.boards WHERE namespace = $1 AND name = $2";
        let rows = self.read(query, vec![name.into()]).await?;
        let Some(row) = rows.first() else { return Ok(Board::default()) };
        Ok(Board { version: get(row, "version")?, text: get(row, "text")? })
    }

    pub(in crate::store) async fn write_board(
        &self,
        name: &str,
        version: i64,
        text: String,
    ) -> Result<bool, StoreError> {
        let statement = "INSERT INTO answerback.boards (namespace, name, version, text)
                         SELECT $1, $2, $3 + 1, $4 WHERE $3 = 0
                             OR EXISTS (SELECT 1 FROM answerback.boards WHERE namespace = $1 AND name = $2)
                         ON CONFLICT (namespace, name) DO UPDATE SET version = excluded.version, text = excluded.text
                             WHERE boards.version = $3
                         RETURNING version";
        Ok(!self.write(statement, vec![name.into(), version.into(), text.into()]).await?.is_empty())
    }

    pub(in crate::store) async fn is_first_to(&self, name: String) -> Result<bool, StoreError> {
        let statement = "INSERT INTO answerback.firsts (namespace, name) VALUES ($1, $2)
                         ON CONFLICT DO NOTHING RETURNING name";
        Ok(!self.write(statement, vec![name.into()]).await?.is_empty())
    }

    pub(in crate::store) async fn secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let mut new = [0; 32];
        getrandom::fill(&mut new).map_err(|error| StoreError::Failed(error.to_string()))?;
        // The daemon that comes first makes it.
        let statement = "INSERT INTO answerback.secrets (namespace, name, value) VALUES ($1, $2, $3)
                         ON CONFLICT (namespace, name) DO UPDATE SET value = secrets.value RETURNING value";
        let rows = self.write(statement, vec![name.into(), new.to_vec().into()]).await?;
        let value: Vec<u8> = rows.first().map(|row| get(row, "value")).transpose()?.unwrap_or_default();
        value.try_into().map_err(|_| StoreError::Damaged("a secret of the store has another length".to_owned()))
    }
}
