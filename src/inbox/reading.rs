//! What a caller sees. A person sees the asks that a grant of theirs covers, and nothing shows that there are others.

use std::sync::Arc;

use crate::access::Rights;
use crate::ask::{Ask, AskKey, Cursor};
use crate::registry::Next;
use crate::store::{AskPage, Filter, HostProjects, Role, StateFilter, StoreError};

use super::{Inbox, Refusal};

/// How many asks are looked at together if some of them may not be seen.
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
    pub async fn list(&self, filter: Filter, rights: &Rights) -> Result<Listing, StoreError> {
        // The cursor comes first: a change in between is seen twice rather than missed.
        let cursor = self.cursor();
        let page = if rights.allow_everywhere(Role::View) {
            self.registry.list(filter).await?
        } else {
            self.list_covered(filter, rights).await?
        };
        Ok(Listing { page, cursor })
    }

    /// Looks at one page after the other until there are enough asks that the caller may see. Nobody knows what a damaged ask was about,
    /// so it is not counted.
    async fn list_covered(&self, filter: Filter, rights: &Rights) -> Result<AskPage, StoreError> {
        let (mut asks, mut before): (Vec<Arc<Ask>>, _) = (Vec::new(), filter.before);
        loop {
            let some = Filter { before, limit: filter.limit.max(LOOK_AT), ..filter.clone() };
            let page = self.registry.list(some).await?;
            for ask in page.asks.into_iter().filter(|ask| rights.cover(Role::View, ask)) {
                // One more than fits tells whether there is another page.
                if asks.len() == filter.limit {
                    return Ok(AskPage { next: asks.last().map(|ask| ask.id), asks, damaged: 0 });
                }
                asks.push(ask);
            }
            before = page.next;
            if before.is_none() {
                return Ok(AskPage { asks, damaged: 0, next: None });
            }
        }
    }

    /// The directories there are asks of that the caller may see.
    pub async fn projects(&self, rights: &Rights) -> Result<Vec<String>, StoreError> {
        let all = self.store.projects().await?;
        if rights.allow_everywhere(Role::View) {
            return Ok(all);
        }
        let mut projects = Vec::new();
        for project in all {
            // The same directory may be on several hosts, so an ask has to show that there is one on a host that may be seen.
            if rights.allow_on_some_host(Role::View, &project) {
                let filter = Filter { project: Some(project.clone()), ..Filter::all(StateFilter::All, 1) };
                if !self.list_covered(filter, rights).await?.asks.is_empty() {
                    projects.push(project);
                }
            }
        }
        Ok(projects)
    }

    /// The machines there are asks of that the caller may see, each with its directories.
    pub async fn hosts(&self, rights: &Rights) -> Result<Vec<HostProjects>, StoreError> {
        let all = self.store.hosts().await?;
        if rights.allow_everywhere(Role::View) {
            return Ok(all);
        }
        let mut hosts = Vec::new();
        for HostProjects { host, mut projects } in all {
            projects.retain(|project| rights.allow(Role::View, &host, Some(project)));
            // Only an ask can show that there are asks of no project.
            let is_seen = !projects.is_empty() || {
                let filter = Filter { host: Some(host.as_str().to_owned()), ..Filter::all(StateFilter::All, 1) };
                rights.allow(Role::View, &host, None) && !self.list_covered(filter, rights).await?.asks.is_empty()
            };
            if is_seen {
                hosts.push(HostProjects { host, projects });
            }
        }
        Ok(hosts)
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
