//! What an edge has asked is not for the askers of this daemon, whatever the edge says about it.

use super::*;
use crate::ask::samples::topic;
use crate::ask::{Channel, Source};
use crate::store::samples::Network;

/// A call of the agent on this machine.
fn own(kind: Kind) -> NewAsk {
    NewAsk {
        topic: topic(kind),
        digest: Some("same".into()),
        asker: Some("7".into()),
        project: Some("/prod".into()),
        ..ask(None)
    }
}

/// A hub on a file of its own, and its store for the machine of an edge.
async fn hub() -> (World, Store) {
    let (dir, opening, snapshot) = in_scratch_dir();
    let (registry, store) = Registry::start(opening, snapshot).unwrap();
    store.add_host(Host::new("edge"), [7; 32], store.now()).await.unwrap();
    (World { dir, registry }, store.for_host(Host::new("edge")))
}

async fn open(edge: &Store, new: NewAsk) -> Arc<Ask> {
    match edge.open_ask(Arc::new(new), edge.now(), 64).await.unwrap() {
        Opened::New(ask) => ask,
        other => panic!("not new: {other:?}"),
    }
}

/// The same call, named by the agent on this machine.
fn named(ask: &Ask) -> NamedCall {
    NamedCall { digest: "same".into(), asker: Some("7".into()), ..NamedCall::of(ask) }
}

/// What an edge can say to look like the call.
fn lookalikes(kind: Kind) -> Vec<NewAsk> {
    let same = own(kind);
    vec![
        same.clone(),
        NewAsk { digest: None, ..same.clone() },
        NewAsk { project: Some("/srv/shop".into()), ..same.clone() },
        NewAsk { racing: true, ..same.clone() },
        NewAsk { asker: None, ..same.clone() },
        NewAsk { origin: Origin::Program, digest: None, ..same },
    ]
}

#[tokio::test]
async fn no_asker_of_a_hub_waits_on_what_an_edge_has_asked() {
    for kind in [Kind::Question, Kind::Permission, Kind::Plan] {
        for (number, lookalike) in lookalikes(kind).into_iter().enumerate() {
            let (world, edge) = hub().await;
            let registry = &world.registry;
            let of_edge = open(&edge, lookalike).await;
            registry.announce_call(named(&of_edge));
            let unnamed = || NewAsk { key: AskKey::unnamed("s", "1").unwrap(), racing: true, ..own(kind) };
            for attached in [
                registry.attach(own(kind), false).await,
                registry.attach(own(kind), true).await,
                registry.attach_by_key(own(kind), true).await,
                registry.attach_to_call(own(kind), false).await,
                registry.attach_to_race(unnamed(), None, false).await,
                registry.attach_unnamed(own(kind), None, false).await,
            ] {
                if let Ok(Attached::Waiting(wait)) = &attached {
                    assert_eq!(wait.ask().host.as_str(), "here", "{kind:?} {number}: {:?}", wait.ask());
                }
                assert!(!matches!(attached, Ok(Attached::Settled(_))), "{kind:?} {number}");
            }
            let of_edge = edge.life(of_edge.id).await.unwrap().unwrap();
            assert!(of_edge.is_open(), "{kind:?} {number}: {of_edge:?}");
        }
    }
}

#[tokio::test]
async fn nor_gets_its_answer() {
    for kind in [Kind::Question, Kind::Permission, Kind::Plan] {
        for (number, lookalike) in lookalikes(kind).into_iter().enumerate() {
            let (world, edge) = hub().await;
            let registry = &world.registry;
            let of_edge = open(&edge, lookalike).await;
            registry.announce_call(named(&of_edge));
            registry.settle(of_edge.id, answered(), Some(Source::of(Channel::Device))).await.unwrap();
            let unnamed = || NewAsk { key: AskKey::unnamed("s", "1").unwrap(), racing: true, ..own(kind) };
            for attached in [
                registry.attach_to_race(unnamed(), None, true).await,
                registry.attach_by_key(own(kind), true).await,
                registry.attach(own(kind), true).await,
            ] {
                assert!(!matches!(attached, Ok(Attached::Settled(_))), "{kind:?} {number}");
            }
        }
    }
}

#[tokio::test]
async fn a_report_on_a_hub_does_not_end_what_an_edge_has_asked() {
    let (world, edge) = hub().await;
    let of_edge = open(&edge, NewAsk { racing: true, ..own(Kind::Question) }).await;
    let report = Report { key: key(), digest: Some("same".into()), asker: Some("7".into()), news: News::Refused(None) };
    assert!(world.registry.report(report).await.unwrap().is_none());
    assert!(world.registry.announced_call("t", false).is_none(), "it is no call of an agent here");
    assert!(edge.life(of_edge.id).await.unwrap().unwrap().is_open());
}

#[tokio::test]
async fn an_edge_of_another_hub_is_an_edge_also_after_its_token_was_taken_back() {
    let network = Network::new();
    let (opening, snapshot) = network.open("one", false).await;
    let (_one, store) = Registry::start(opening, snapshot).unwrap();
    let (opening, snapshot) = network.open("two", false).await;
    let (two, _) = Registry::start(opening, snapshot).unwrap();
    let token = store.add_host(Host::new("edge"), [7; 32], store.now()).await.unwrap().unwrap();
    open(&store.for_host(Host::new("edge")), own(Kind::Question)).await;
    store.remove_device(token).await.unwrap();
    let refused = two.attach(own(Kind::Question), false).await.unwrap_err();
    assert!(matches!(refused, OpenError::OtherMachine), "{refused}");
}

#[tokio::test]
async fn an_approval_does_not_go_from_hub_to_hub_and_an_answer_only_if_everything_is_equal() {
    let network = Network::new();
    let (opening, snapshot) = network.open("one", false).await;
    let (one, _) = Registry::start(opening, snapshot).unwrap();
    let (opening, snapshot) = network.open("two", false).await;
    let (two, _) = Registry::start(opening, snapshot).unwrap();
    let call = |name: &str, kind| NewAsk { key: format!("s__{name}").parse().unwrap(), ..own(kind) };
    for kind in [Kind::Permission, Kind::Plan] {
        let _asker = one.attach(call(&format!("{kind:?}"), kind), false).await.unwrap();
        let refused = two.attach(call(&format!("{kind:?}"), kind), false).await.unwrap_err();
        assert!(matches!(refused, OpenError::OtherMachine), "{refused}");
    }
    let new = || call("question", Kind::Question);
    let _asker = one.attach(new(), false).await.unwrap();
    let questions = serde_json::from_value(json!([{"question": "Which?", "header": "other"}])).unwrap();
    for other in [
        NewAsk { project: Some("/srv/shop".into()), ..new() },
        NewAsk { topic: Topic::of_questions(questions), ..new() },
        NewAsk { digest: None, ..new() },
    ] {
        let refused = two.attach(other, false).await.unwrap_err();
        assert!(matches!(refused, OpenError::OtherMachine), "{refused}");
    }
    assert!(matches!(two.attach(new(), false).await.unwrap(), Attached::Waiting(_)));
}
