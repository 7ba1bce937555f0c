//! Which machine an ask belongs to.

use std::fmt;
use std::sync::Arc;

/// The machine whose daemon opened an ask and watches over it. Several daemons may share a store, and each one ends only its own asks:
/// it alone knows whether their askers are still there.
#[derive(Clone, PartialEq, Eq)]
pub struct Host(Arc<str>);

impl Host {
    /// The machine with this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
