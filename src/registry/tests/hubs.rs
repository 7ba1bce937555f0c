//! Several daemons on one store.

use super::*;
use crate::store::samples::Network;

async fn hub(network: &Network, host: &str, can_be_cut: bool) -> (Registry, Store) {
    let (opening, snapshot) = network.open(host, can_be_cut).await;
    Registry::start(opening, snapshot).unwrap()
}

fn with_digest(digest: &str) -> NewAsk {
    NewAsk { digest: Some(digest.to_owned()), ..ask(None) }
}

async fn wait(registry: &Registry, new: NewAsk) -> Wait {
    match registry.attach(new, false).await.unwrap() {
        Attached::Waiting(mut wait) => {
            wait.confirm();
            wait
        }
        other => panic!("not parked: {other:?}"),
    }
}

async fn until(condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition().await {
        assert!(Instant::now() < deadline, "in vain");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn statement_02_the_same_call_from_another_host_joins_and_another_call_fails_open() {
    let network = Network::new();
    let ((one, _), (two, _)) = (hub(&network, "one", false).await, hub(&network, "two", false).await);
    let first = wait(&one, with_digest("same")).await;
    let second = wait(&two, with_digest("same")).await;
    let refused = two.attach(with_digest("other"), false).await.unwrap_err();
    assert!(matches!(refused, OpenError::OtherQuestions), "{refused}");
    let id = one.get(&key()).await.unwrap().unwrap().id;
    assert_eq!(two.get(&key()).await.unwrap().unwrap().id, id);
    two.settle(id, answered(), None).await.unwrap();
    for wait in [first, second] {
        let end = timeout(Duration::from_secs(20), wait.end()).await.unwrap();
        assert!(matches!(end, WaitEnd::Settled(settled) if settled.ask.id == id));
    }
}

#[tokio::test]
async fn statement_12_an_asker_whose_hub_was_cut_off_waits_on_and_asks_again_if_it_was_withdrawn() {
    let network = Network::new();
    let ((cut, _), (other, store)) = (hub(&network, "cut", true).await, hub(&network, "other", false).await);
    let waiting = wait(&cut, ask(None)).await;
    let first = cut.get(&key()).await.unwrap().unwrap().id;
    until(async || !other.open_asks(None).is_empty()).await;
    network.cut(true);
    let withdrawn = timeout(Duration::from_secs(20), other.until_settled(&key())).await.unwrap().unwrap().unwrap();
    assert!(withdrawn.was_withdrawn_by_hub() && withdrawn.id == first);
    // The asker is still parked, because nothing has told it otherwise.
    let mut end = Box::pin(waiting.end());
    assert!(futures_util::poll!(&mut end).is_pending());
    network.cut(false);
    let end = timeout(Duration::from_secs(20), end).await.unwrap();
    assert!(matches!(end, WaitEnd::Lost), "{end:?}");
    let again = wait(&cut, ask(None)).await;
    let second = store.ask(key()).await.unwrap().unwrap();
    assert!(second.is_open() && second.id > first);
    other.settle(second.id, answered(), None).await.unwrap();
    assert!(matches!(timeout(Duration::from_secs(20), again.end()).await.unwrap(), WaitEnd::Settled(_)));
}

#[tokio::test]
async fn statement_13_without_an_engine_a_hook_is_told_within_two_seconds() {
    let network = Network::new();
    let (registry, store) = hub(&network, "one", true).await;
    let _waiting = wait(&registry, ask(None)).await;
    let id = registry.get(&key()).await.unwrap().unwrap().id;
    network.cut(true);
    // What was sent before the loss is noticed may have arrived. That is another matter.
    until(async || store.ask(key()).await.is_err()).await;
    let begun = Instant::now();
    let new = NewAsk { key: "s__other".parse().unwrap(), ..ask(None) };
    let refused = registry.attach(new, false).await.unwrap_err();
    assert!(matches!(refused, OpenError::Store(StoreError::Unreachable(_))), "{refused:?}");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let refused = registry.settle(id, answered(), None).await.unwrap_err();
    assert!(matches!(refused, SettleError::Store(StoreError::Unreachable(_))), "{refused:?}");
    assert!(registry.get(&key()).await.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn a_machine_that_is_linked_is_not_taken_for_dead() {
    let network = Network::new();
    let ((one, store), (two, _)) = (hub(&network, "one", false).await, hub(&network, "two", false).await);
    let (linked, gone) = (Host::new("linked"), Host::new("gone"));
    let _link = one.link(&linked);
    drop(one.link(&gone));
    let open = async |host: &Host, key: &str| {
        let new = NewAsk { key: key.parse().unwrap(), ..ask(None) };
        store.for_host(host.clone()).open_ask(Arc::new(new), store.now(), 64).await.unwrap();
    };
    // The first one would be the first to be withdrawn.
    open(&linked, "s__linked").await;
    open(&gone, "s__gone").await;
    let gone = "s__gone".parse().unwrap();
    until(async || two.get(&gone).await.unwrap().is_some()).await;
    let withdrawn = timeout(Duration::from_secs(20), two.until_settled(&gone)).await.unwrap().unwrap().unwrap();
    assert!(withdrawn.was_withdrawn_by_hub(), "{withdrawn:?}");
    assert!(two.get(&"s__linked".parse().unwrap()).await.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn a_reader_who_comes_from_a_hub_that_is_further_has_to_list_again() {
    let network = Network::new();
    let (registry, store) = hub(&network, "one", false).await;
    let _waiting = wait(&registry, ask(None)).await;
    let newest = *registry.cursor().borrow();
    let mut feed = registry.feed(Some(Cursor(newest.0 + 1)));
    let next = timeout(Duration::from_secs(20), feed.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(next, Next::Reset(cursor) if cursor == newest), "{next:?}");
    let id = registry.get(&key()).await.unwrap().unwrap().id;
    registry.settle(id, answered(), None).await.unwrap();
    let next = timeout(Duration::from_secs(20), feed.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(next, Next::Change(change) if change.cursor.0 == newest.0 + 1));
    store.close().await;
}
