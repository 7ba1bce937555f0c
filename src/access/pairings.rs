//! The pairings under way, where every daemon of the store sees them.

use std::future::Future;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::store::{Store, StoreError};

use super::TokenHash;
use super::pairing::{self, Check, Claim, Fetch, NewPairing, PairingList, Stage};

/// The board of the store that they are on.
const BOARD: &str = "pairings";
/// How often to look for what another daemon has changed.
const LOOK: Duration = Duration::from_secs(1);

/// Why a step of a pairing was not taken.
#[derive(Debug, thiserror::Error)]
pub enum PairingError {
    /// There is no randomness to make a secret of.
    #[error(transparent)]
    NoRandomness(#[from] getrandom::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
pub(super) struct Pairings {
    store: Store,
    /// Something was changed by this daemon.
    changes: watch::Sender<()>,
}

impl Pairings {
    pub(super) fn new(store: Store) -> Self {
        Self { store, changes: watch::Sender::default() }
    }

    /// Makes a code.
    pub(super) async fn begin(&self, name: Option<String>, person: Option<i64>) -> Result<NewPairing, PairingError> {
        let new = pairing::new_pairing()?;
        self.change(|list, now| list.begin(&new, name.clone(), person, now)).await?;
        Ok(new)
    }

    /// A device shows the code; `None` if the code is not good, or not any more.
    pub(super) async fn claim(&self, code: &str, name: String) -> Result<Option<Claim>, PairingError> {
        let claim = pairing::new_claim()?;
        let is_claimed = self.change(|list, now| list.claim(code, name.clone(), &claim, now)).await?;
        Ok(is_claimed.then_some(claim))
    }

    /// How far a pairing has come, and the name of its device; `None` if there is no such pairing.
    pub(super) async fn look(&self, id: &str) -> Result<Option<(Stage, Option<String>)>, StoreError> {
        self.change(|list, now| list.look(id, now)).await
    }

    /// A person types the digits that the device shows; `None` if there is no such pairing.
    pub(super) async fn confirm(&self, id: &str, typed: &str) -> Result<Option<Check>, StoreError> {
        self.change(|list, now| list.confirm(id, typed, now)).await
    }

    /// A person refuses to let the device in; `false` if it is too late for that.
    pub(super) async fn refuse(&self, id: &str) -> Result<bool, StoreError> {
        self.change(|list, now| list.refuse(id, now)).await
    }

    /// A device comes for its token.
    pub(super) async fn fetch(&self, claim: TokenHash) -> Result<Fetch, StoreError> {
        self.change(|list, now| list.fetch(claim, now)).await
    }

    /// Notes that the device is on the list.
    pub(super) async fn note_listed(&self, claim: TokenHash) -> Result<(), StoreError> {
        self.change(|list, now| list.note_listed(claim, now)).await
    }

    /// Returns once a device has claimed the code of this pairing, or none can any more.
    pub(super) async fn until_claimed(&self, id: &str) -> Result<(), StoreError> {
        self.while_some(|| self.change(|list, now| list.claimable_until(id, now))).await
    }

    /// Returns once the person has decided about this claim, or it is too late.
    pub(super) async fn until_decided(&self, claim: TokenHash) -> Result<(), StoreError> {
        self.while_some(|| self.change(|list, now| list.decidable_until(claim, now))).await
    }

    /// Lets `act` look at the list, or change it. If another daemon has changed it at the same moment, `act` is called again.
    async fn change<R>(&self, act: impl Fn(&mut PairingList, Timestamp) -> R) -> Result<R, StoreError> {
        loop {
            let board = self.store.board(BOARD).await?;
            // A newer version may keep them in another way. Nobody is let in then.
            let before: PairingList = serde_json::from_str(&board.text).unwrap_or_default();
            let mut list = before.clone();
            let result = act(&mut list, self.store.now());
            if list == before {
                return Ok(result);
            }
            let text = serde_json::to_string(&list).map_err(|error| StoreError::Failed(error.to_string()))?;
            if self.store.write_board(BOARD, board.version, text).await? {
                self.changes.send_replace(());
                return Ok(result);
            }
        }
    }

    /// Waits for as long as there is an end to wait for. Each change and that end are reasons to look again.
    async fn while_some<F>(&self, end: impl Fn() -> F) -> Result<(), StoreError>
    where
        F: Future<Output = Result<Option<Timestamp>, StoreError>>,
    {
        // Before the first look, so that no change falls between the two.
        let mut changes = self.changes.subscribe();
        while let Some(end) = end().await? {
            let left = end.duration_since(self.store.now()).max(SignedDuration::ZERO).unsigned_abs();
            let pause = if self.store.is_shared() { left.min(LOOK) } else { left };
            drop(tokio::time::timeout(pause, changes.changed()).await);
        }
        Ok(())
    }
}
