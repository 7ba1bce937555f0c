//! The open asks in memory, when the same ask comes twice.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::ask::samples::ask;
use crate::ask::{Ask, Change, ChangeKind, Cursor, Outcome, Settlement};
use crate::registry::open_asks::OpenAsks;
use crate::registry::wait::WaitEnd;
use crate::store::Snapshot;

fn change(cursor: i64, kind: ChangeKind, ask: &Ask) -> Arc<Change> {
    Arc::new(Change { cursor: Cursor(cursor), kind, ask: Arc::new(ask.clone()), detail: None })
}

fn empty() -> OpenAsks {
    OpenAsks::new(Snapshot { open: Vec::new(), cursor: Cursor(0) })
}

#[tokio::test]
async fn an_ask_that_is_opened_twice_keeps_its_waits() {
    let open = empty();
    let mut ask = ask(1, "s__t", "shop", 1);
    open.apply(&change(1, ChangeKind::Opened, &ask));
    let parked = open.park(&ask.key).unwrap();
    open.apply(&change(1, ChangeKind::Opened, &ask));
    assert!(open.has_asker(&ask.key));
    let at = ask.opened_at;
    ask.settlement = Some(Settlement { outcome: Outcome::Released, by: None, at });
    open.apply(&change(2, ChangeKind::Settled, &ask));
    let end = timeout(Duration::from_secs(20), parked.waiters.until_end(parked.deferrals)).await.unwrap();
    assert!(matches!(end, WaitEnd::Settled(_)), "{end:?}");
}

#[tokio::test]
async fn a_new_life_of_a_key_ends_the_waits_on_the_one_before() {
    let open = empty();
    let (first, second) = (ask(1, "s__t", "shop", 1), ask(2, "s__t", "shop", 1));
    open.apply(&change(1, ChangeKind::Opened, &first));
    let parked = open.park(&first.key).unwrap();
    open.apply(&change(3, ChangeKind::Opened, &second));
    let end = timeout(Duration::from_secs(20), parked.waiters.until_end(parked.deferrals)).await.unwrap();
    assert!(matches!(end, WaitEnd::Lost), "{end:?}");
}

#[tokio::test]
async fn a_wait_ends_if_its_ask_was_deferred_while_the_order_was_broken_off() {
    let open = empty();
    let mut ask = ask(1, "s__t", "shop", 1);
    open.apply(&change(1, ChangeKind::Opened, &ask));
    let parked = open.park(&ask.key).unwrap();
    ask.deferred = true;
    assert!(open.reset(Snapshot { open: vec![ask.clone()], cursor: Cursor(9) }).is_empty());
    let end = timeout(Duration::from_secs(20), parked.waiters.until_end(parked.deferrals)).await.unwrap();
    assert!(matches!(end, WaitEnd::Deferred), "{end:?}");
    // Whoever comes later waits, also if the order is broken off again.
    let parked = open.park(&ask.key).unwrap();
    open.reset(Snapshot { open: vec![ask.clone()], cursor: Cursor(10) });
    assert!(futures_util::poll!(std::pin::pin!(parked.waiters.until_end(parked.deferrals))).is_pending());
}
