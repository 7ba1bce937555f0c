//! A bounded list of things that expire.
//!
//! One-time codes and previews have this in common: anybody may make the daemon hold one more, each is needed for a short
//! time only, and nobody tidies up. So the list has a bound and each entry has an end. The time is handed in.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Up to `bound` values, each for as long as `lifetime`. When the list is full, the oldest value gives way.
#[derive(Debug)]
pub struct Expiring<T> {
    bound: usize,
    lifetime: Duration,
    /// Oldest first.
    entries: Mutex<Vec<Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    added_at: Instant,
}

impl<T> Expiring<T> {
    /// An empty list.
    pub fn new(bound: usize, lifetime: Duration) -> Self {
        Self { bound, lifetime, entries: Mutex::default() }
    }

    /// Adds a value. Expired values are dropped first, so that they push nothing out.
    pub fn add(&self, value: T, now: Instant) {
        let mut entries = self.entries();
        entries.retain(|entry| self.is_live(entry, now));
        let surplus = (entries.len() + 1).saturating_sub(self.bound);
        entries.drain(..surplus);
        entries.push(Entry { value, added_at: now });
    }

    /// Adds a value of which there may be only so many that `is_alike` recognises. The oldest of these gives way first.
    pub fn add_one_of(&self, value: T, most: usize, is_alike: impl Fn(&T) -> bool, now: Instant) {
        let mut entries = self.entries();
        entries.retain(|entry| self.is_live(entry, now));
        let alike = entries.iter().filter(|entry| is_alike(&entry.value)).count();
        let mut surplus = (alike + 1).saturating_sub(most);
        entries.retain(|entry| {
            let gives_way = surplus > 0 && is_alike(&entry.value);
            surplus -= usize::from(gives_way);
            !gives_way
        });
        drop(entries);
        self.add(value, now);
    }

    /// Removes the value that `is_it` recognises, and returns it unless it has expired.
    pub fn take(&self, now: Instant, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let mut entries = self.entries();
        let found = entries.iter().position(|entry| is_it(&entry.value))?;
        let entry = entries.remove(found);
        self.is_live(&entry, now).then_some(entry.value)
    }

    fn is_live(&self, entry: &Entry<T>, now: Instant) -> bool {
        now.saturating_duration_since(entry.added_at) < self.lifetime
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry<T>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(30);

    fn of_three() -> (Expiring<char>, Instant) {
        (Expiring::new(3, LIFETIME), Instant::now())
    }

    fn has(list: &Expiring<char>, value: char, now: Instant) -> bool {
        list.entries().iter().any(|entry| entry.value == value && list.is_live(entry, now))
    }

    #[test]
    fn a_value_is_taken_once() {
        let (list, now) = of_three();
        list.add('a', now);
        list.add('b', now);
        assert_eq!(list.take(now, |value| *value == 'x'), None);
        assert_eq!(list.take(now, |value| *value == 'a'), Some('a'));
        assert_eq!(list.take(now, |value| *value == 'a'), None);
        assert!(has(&list, 'b', now));
    }

    #[test]
    fn a_value_expires() {
        let (list, now) = of_three();
        list.add('a', now);
        let last = now + LIFETIME - Duration::from_nanos(1);
        assert!(has(&list, 'a', last) && !has(&list, 'a', now + LIFETIME));
        assert_eq!(list.take(now + LIFETIME, |value| *value == 'a'), None);
        // An attempt that comes too late uses the value up.
        assert_eq!(list.take(last, |value| *value == 'a'), None);
    }

    #[test]
    fn the_oldest_gives_way_but_not_to_what_has_expired() {
        let (list, now) = of_three();
        for value in ['a', 'b', 'c', 'd'] {
            list.add(value, now);
        }
        assert!(!has(&list, 'a', now) && has(&list, 'b', now) && has(&list, 'd', now));
        // Taking one from the middle does not change who is oldest.
        assert_eq!(list.take(now, |value| *value == 'c'), Some('c'));
        list.add('e', now);
        list.add('f', now);
        assert!(!has(&list, 'b', now) && has(&list, 'd', now));
        let later = now + LIFETIME;
        for value in ['g', 'h', 'i'] {
            list.add(value, later);
        }
        assert!(['g', 'h', 'i'].into_iter().all(|value| has(&list, value, later)));
    }
}
