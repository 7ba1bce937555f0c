//! What a caller sees. A person sees the asks that a grant of theirs covers, and nothing shows that there are others.

use std::sync::Arc;

use crate::access::{Caller, Rights};
use crate::ask::{Ask, AskKey, Cursor};
use crate::registry::Next;
use crate::store::{AskPage, Filter, HostProjects, Role, StoreError};

use super::asking::asker;
use super::{Inbox, Refusal};

/// How many asks are looked at for a page if some of them may not be seen.
const LOOK_AT: usize = 500;

/// A list of asks.
#[derive(Debug)]
pub struct Listing {
    /// The asks on this page.
    pub page: AskPage,
    /// The newest change when the list was made. The list may hold newer ones, and misses none up to this.
    pub cursor: Cursor,
}

impl Inbox {
    /// The newest change.
    pub fn cursor(&self) -> Cursor {
        *self.registry.cursor().borrow()
    }

    /// Returns as soon as there is a change after this one that the caller may see.
    pub async fn changed(&self, since: Cursor, rights: &Rights) {
        // It fails only if the registry is gone, and this holds one.
        drop(self.registry.cursor().wait_for(|newest| *newest != since).await);
        if rights.allow_everywhere(Role::View) {
            return;
        }
        let (mut feed, mut watched) = (self.registry.feed(Some(since)), rights.clone());
        loop {
            let next = tokio::select! {
                () = watched.changed() => return,
                next = feed.next() => next,
            };
            match next {
                Ok(Some(Next::Change(change))) if !rights.cover(Role::View, &change.ask) => {}
                // A break in the order and a store that fails are reasons to look, too.
                _ => return,
            }
        }
    }

    /// The asks that a filter shows and that the caller may see, newest first.
    pub async fn list(&self, filter: Filter, by: &Caller) -> Result<Listing, StoreError> {
        let rights = by.rights();
        // All readers share one connection to the store. So that others do not wait for somebody's many lists, those come one by one.
        let uses = self.uses.of(&asker(by)).filter(|_| filter.needs_store());
        let _turn = match uses {
            Some(uses) => Some(uses.reading.lock_owned().await),
            None => None,
        };
        // The cursor comes first: a change in between is seen twice rather than missed.
        let cursor = self.cursor();
        let page = if rights.allow_everywhere(Role::View) {
            self.registry.list(filter).await?
        } else {
            self.list_covered(filter, rights).await?
        };
        Ok(Listing { page, cursor })
    }

    /// Looks at some asks, and leaves out those that the caller may not see. That may be all of them: then the page is empty, and the next
    /// one goes on. So no request reads the whole history. Nobody knows what a damaged ask was about, so it is not counted.
    async fn list_covered(&self, filter: Filter, rights: &Rights) -> Result<AskPage, StoreError> {
        let (limit, most) = (filter.limit, filter.limit.max(LOOK_AT));
        let AskPage { mut asks, mut next, .. } = self.registry.list(Filter { limit: most, ..filter }).await?;
        asks.retain(|ask| rights.cover(Role::View, ask));
        if asks.len() > limit {
            asks.truncate(limit);
            next = asks.last().map(|ask| ask.id);
        }
        Ok(AskPage { asks, damaged: 0, next })
    }

    /// The directories there are asks of that the caller may see.
    pub async fn projects(&self, rights: &Rights) -> Result<Vec<String>, StoreError> {
        if rights.allow_everywhere(Role::View) {
            return self.store.projects().await;
        }
        // The same directory may be on several hosts, and not every one of them may be seen.
        let mut projects: Vec<_> = self.hosts(rights).await?.into_iter().flat_map(|host| host.projects).collect();
        projects.sort_unstable();
        projects.dedup();
        Ok(projects)
    }

    /// The machines there are asks of that the caller may see, each with its directories.
    pub async fn hosts(&self, rights: &Rights) -> Result<Vec<HostProjects>, StoreError> {
        let all = self.store.hosts().await?;
        if rights.allow_everywhere(Role::View) {
            return Ok(all);
        }
        let seen = all.into_iter().map(|HostProjects { host, mut projects, has_others }| {
            projects.retain(|project| rights.allow(Role::View, &host, Some(project)));
            let has_others = has_others && rights.allow(Role::View, &host, None);
            HostProjects { host, projects, has_others }
        });
        Ok(seen.filter(|host| !host.projects.is_empty() || host.has_others).collect())
    }

    /// The newest life of a key. An ask that the caller may not see is as unknown as one that does not exist.
    pub async fn get(&self, key: &AskKey, rights: &Rights) -> Result<Arc<Ask>, Refusal> {
        match self.registry.get(key).await {
            // Nobody knows what it was about.
            Err(StoreError::DamagedAsk(_)) if !rights.allow_everywhere(Role::View) => Err(Refusal::Unknown),
            ask => ask?.filter(|ask| rights.cover(Role::View, ask)).ok_or(Refusal::Unknown),
        }
    }

    /// Returns when the newest life of a key is settled.
    pub async fn until_settled(&self, key: &AskKey) -> Result<(), StoreError> {
        self.registry.until_settled(key).await.map(drop)
    }
}

#[cfg(test)]
mod tests;
