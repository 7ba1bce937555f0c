//! What has happened at least once: the table `milestones`.

use crate::store::{Milestone, StoreError};

use super::Postgres;

impl Postgres {
    pub(in crate::store) async fn has_reached(&self, milestone: Milestone) -> Result<bool, StoreError> {
        if self.parts.milestones.has(milestone) {
            return Ok(true);
        }
        let query = "SELECT 1 FROM answerback.milestones WHERE namespace = $1 AND name = $2";
        let is_saved = !self.read(query, vec![milestone.name().into()]).await?.is_empty();
        if is_saved {
            self.parts.milestones.add(milestone);
        }
        Ok(is_saved)
    }

    pub(in crate::store) async fn reach(&self, milestone: Milestone) -> Result<(), StoreError> {
        if !self.has_reached(milestone).await? {
            let statement =
                "INSERT INTO answerback.milestones (namespace, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            self.write(statement, vec![milestone.name().into()]).await?;
            self.parts.milestones.add(milestone);
        }
        Ok(())
    }
}
