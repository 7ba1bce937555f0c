//! What a store knows about the machines whose asks it has.

use crate::ask::Host;

use super::{Backend, DeviceKind, Store, StoreError, postgres};

impl Store {
    /// Whether this is the name of a daemon of this store, now or before, and not of an edge.
    pub async fn is_daemon(&self, host: &Host) -> Result<bool, StoreError> {
        match &self.0 {
            // There is only one daemon. It may have had another name, but not that of a machine with a host token.
            Backend::Sqlite(store) => {
                let devices = store.devices(self.now()).await?;
                Ok(!devices.iter().any(|device| device.kind == DeviceKind::Host && device.name == host.as_str()))
            }
            Backend::Postgres(store) => store.is_daemon(host).await,
            Backend::Hub(_) => Ok(host == self.host()),
        }
    }

    /// How many asks of one machine may be open, if the store has a limit of its own.
    pub fn max_open(&self) -> Option<usize> {
        match &self.0 {
            Backend::Sqlite(_) | Backend::Hub(_) => None,
            Backend::Postgres(_) => Some(postgres::MAX_OPEN_OF_HOST),
        }
    }
}
