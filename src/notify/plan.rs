//! Which asks to notify about, and when.
//!
//! An ask that races the terminal waits for a delay, because the person is probably at the terminal. Any other ask is due after a moment:
//! what is answered within it, for example for somebody who is away, pages nobody. There is at most one notification a second. Asks that
//! become due in between share the next one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use crate::ask::{Ask, AskId, Origin};

const PAUSE: Duration = Duration::from_secs(1);
/// How long any ask waits for its notification.
const A_MOMENT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Plan {
    delay: Duration,
    /// Asks without a notification, in the order in which they become due.
    waiting: BTreeMap<(Instant, AskId), Arc<Ask>>,
    /// When each waiting ask becomes due.
    due: HashMap<AskId, Instant>,
    /// Open asks that had their notification.
    notified: HashSet<AskId>,
    quiet_until: Option<Instant>,
}

impl Plan {
    /// `delay` is for asks that race the terminal.
    pub(super) fn new(delay: Duration) -> Self {
        Self { delay, waiting: BTreeMap::new(), due: HashMap::new(), notified: HashSet::new(), quiet_until: None }
    }

    /// Notes an ask that was opened.
    pub(super) fn opened(&mut self, ask: Arc<Ask>, now: Instant) {
        // A notifier that is behind may see an ask that is settled already. Nobody needs to answer the doctor's own questions.
        if !ask.is_open() || ask.origin == Origin::Probe {
            return;
        }
        let due = now + self.delay_of(&ask);
        self.due.insert(ask.id, due);
        self.waiting.insert((due, ask.id), ask);
    }

    /// Notes an ask that an earlier daemon left open. That daemon sent the notification, unless the delay is not over yet.
    pub(super) fn restore(&mut self, ask: Arc<Ask>, now: Instant, clock: Timestamp) {
        let waited = clock.duration_since(ask.opened_at).max(SignedDuration::ZERO).unsigned_abs();
        match self.delay_of(&ask).checked_sub(waited) {
            Some(left) if !left.is_zero() => {
                self.due.insert(ask.id, now + left);
                self.waiting.insert((now + left, ask.id), ask);
            }
            _ => drop(self.notified.insert(ask.id)),
        }
    }

    /// Takes these for all asks that are open. What it knows about them stays.
    pub(super) fn restore_all(&mut self, open: Vec<Arc<Ask>>, now: Instant, clock: Timestamp) {
        let ids: HashSet<AskId> = open.iter().map(|ask| ask.id).collect();
        self.notified.retain(|id| ids.contains(id));
        self.due.retain(|id, _| ids.contains(id));
        self.waiting.retain(|(_, id), _| ids.contains(id));
        for ask in open {
            if ask.origin != Origin::Probe && !self.notified.contains(&ask.id) && !self.due.contains_key(&ask.id) {
                self.restore(ask, now, clock);
            }
        }
    }

    fn delay_of(&self, ask: &Ask) -> Duration {
        if ask.racing { self.delay.max(A_MOMENT) } else { A_MOMENT }
    }

    /// Forgets an ask that was settled. Returns whether it had its notification.
    pub(super) fn settled(&mut self, id: AskId) -> bool {
        if let Some(due) = self.due.remove(&id) {
            self.waiting.remove(&(due, id));
        }
        self.notified.remove(&id)
    }

    /// When the next notification is due.
    pub(super) fn next(&self) -> Option<Instant> {
        let ((due, _), _) = self.waiting.first_key_value()?;
        Some(self.quiet_until.map_or(*due, |quiet| quiet.max(*due)))
    }

    /// The asks of the notification that is due now. Empty if none is due.
    pub(super) fn take(&mut self, now: Instant) -> Vec<Arc<Ask>> {
        if self.next().is_none_or(|next| next > now) {
            return Vec::new();
        }
        let later = self.waiting.split_off(&(now, AskId(i64::MAX)));
        let due: Vec<_> = std::mem::replace(&mut self.waiting, later).into_values().collect();
        for ask in &due {
            self.due.remove(&ask.id);
            self.notified.insert(ask.id);
        }
        self.quiet_until = Some(now + PAUSE);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    const DELAY: Duration = Duration::from_secs(15);

    fn held(id: i64) -> Arc<Ask> {
        Arc::new(ask(id, &format!("s__t{id}"), "shop", 1))
    }

    fn racing(id: i64) -> Arc<Ask> {
        Arc::new(Ask { racing: true, ..ask(id, &format!("s__t{id}"), "shop", 1) })
    }

    #[test]
    fn after_a_break_only_what_is_open_is_notified_and_nothing_twice() {
        let now = Instant::now();
        let (notified, gone, waiting, new) = (held(1), held(2), racing(3), racing(4));
        let mut plan = Plan::new(DELAY);
        plan.opened(Arc::clone(&notified), now);
        assert_eq!(ids(&plan.take(now + A_MOMENT)), [1]);
        plan.opened(gone, now);
        plan.opened(Arc::clone(&waiting), now);
        let clock = new.opened_at;
        plan.restore_all(vec![notified, waiting, new], now + DELAY / 2, clock);
        assert_eq!(ids(&plan.take(now + DELAY)), [3]);
        assert_eq!(ids(&plan.take(now + DELAY * 2)), [4]);
        assert!(plan.settled(AskId(1)) && !plan.settled(AskId(2)));
    }

    fn ids(asks: &[Arc<Ask>]) -> Vec<i64> {
        asks.iter().map(|ask| ask.id.0).collect()
    }

    #[test]
    fn a_held_ask_is_due_after_a_moment_and_a_racing_ask_after_the_delay() {
        let (mut plan, now) = (Plan::new(DELAY), Instant::now());
        assert_eq!(plan.next(), None);
        plan.opened(racing(1), now);
        plan.opened(held(2), now);
        assert_eq!(plan.next(), Some(now + A_MOMENT));
        assert!(plan.take(now).is_empty());
        assert_eq!(ids(&plan.take(now + A_MOMENT)), [2]);
        assert_eq!(plan.next(), Some(now + DELAY));
        assert!(plan.take(now + DELAY - Duration::from_millis(1)).is_empty());
        assert_eq!(ids(&plan.take(now + DELAY)), [1]);
        assert!(plan.settled(AskId(1)) && plan.settled(AskId(2)) && !plan.settled(AskId(2)));
    }

    #[test]
    fn an_ask_that_is_settled_before_it_is_due_gets_no_notification() {
        let (mut plan, now) = (Plan::new(DELAY), Instant::now());
        plan.opened(racing(1), now);
        assert!(!plan.settled(AskId(1)));
        assert_eq!(plan.next(), None);
        let probe = Ask { origin: Origin::Probe, ..ask(2, "s__t", "shop", 1) };
        plan.opened(Arc::new(probe), now);
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn a_burst_of_asks_shares_one_notification() {
        let (mut plan, now) = (Plan::new(DELAY), Instant::now());
        plan.opened(held(1), now);
        let now = now + A_MOMENT;
        assert_eq!(ids(&plan.take(now)), [1]);
        for id in 2..=64 {
            plan.opened(held(id), now + Duration::from_millis(id.unsigned_abs()));
            assert!(plan.take(now + Duration::from_millis(id.unsigned_abs())).is_empty());
        }
        assert_eq!(plan.next(), Some(now + PAUSE));
        assert_eq!(plan.take(now + PAUSE).len(), 63);
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn after_a_restart_only_asks_that_were_not_due_get_a_notification() {
        let (mut plan, now, clock) = (Plan::new(DELAY), Instant::now(), Timestamp::from_second(1_000).unwrap());
        let opened = |ask: Arc<Ask>, seconds_ago: i64| {
            Arc::new(Ask { opened_at: Timestamp::from_second(1_000 - seconds_ago).unwrap(), ..(*ask).clone() })
        };
        plan.restore(opened(racing(1), 5), now, clock);
        plan.restore(opened(racing(2), 15), now, clock);
        plan.restore(opened(held(3), 1), now, clock);
        plan.restore(opened(racing(4), -60), now, clock);
        assert_eq!(plan.next(), Some(now + Duration::from_secs(10)));
        assert_eq!(ids(&plan.take(now + DELAY)), [1, 4]);
        assert!(plan.settled(AskId(2)) && plan.settled(AskId(3)));
    }
}
