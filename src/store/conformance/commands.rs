//! Opening, settling, deferring, receiving.

use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::ask::samples::{new_ask, topic};
use crate::ask::{AskId, Channel, HTTP_ASKER, Kind, OnTimeout, Origin, Questions, Receipt, Source, Topic};

/// An ask is settled once. A later settlement changes nothing, and gets the first one.
pub(super) async fn an_ask_is_settled_once(mut world: World) {
    let id = world.open("s__t").await.id;
    assert!(matches!(world.settle(id, answered("SQLite")).await, Settling::Won(ask) if !ask.is_open()));
    for later in [answered("PostgreSQL"), answered("SQLite"), Outcome::Withdrawn] {
        let Settling::Lost(ask) = world.settle(id, later).await else { panic!("settled twice") };
        assert_eq!(outcome(&ask), Some(&answered("SQLite")));
    }
    world.reopen().await;
    let Settling::Lost(ask) = world.settle(id, Outcome::Released).await else { panic!("settled twice") };
    assert_eq!(outcome(&ask), Some(&answered("SQLite")));
}

/// Of settlements that come at the same time, the first that is saved wins, and every caller is told which one that is.
pub(super) async fn the_first_settlement_that_is_saved_wins(world: World) {
    let id = world.open("s__t").await.id;
    let settled = join_all((0..50).map(|n| world.settle(id, answered(&n.to_string())))).await;
    let (mut won, mut seen) = (Vec::new(), Vec::new());
    for settled in settled {
        let (Settling::Won(ask) | Settling::Lost(ask)) = &settled;
        seen.push(outcome(ask).cloned());
        if matches!(settled, Settling::Won(_)) {
            won.push(outcome(ask).cloned());
        }
    }
    assert_eq!(won.len(), 1);
    assert!(seen.iter().all(|outcome| *outcome == won[0]), "{seen:?}");
    let ask = world.store.ask("s__t".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(outcome(&ask).cloned(), won[0]);
}

/// A key that is open, answered or dismissed finds that life when it is opened again. Nothing new is opened.
pub(super) async fn a_repeated_open_finds_the_life_that_stands(mut world: World) {
    let Outcome::Answered(answer) = answered("SQLite") else { panic!("no answer") };
    let in_terminal = Outcome::AnsweredInTerminal(answer);
    let outcomes = [None, Some(answered("SQLite")), Some(in_terminal), Some(Outcome::Dismissed { reason: None })];
    for (n, standing) in outcomes.into_iter().enumerate() {
        let key = format!("s__{n}");
        let id = world.open(&key).await.id;
        if let Some(standing) = &standing {
            world.settle(id, standing.clone()).await;
        }
        for _ in 0..2 {
            let changes = world.published().len();
            let Opened::Known(known) = world.try_open(new_ask(&key)).await.unwrap() else { panic!("{standing:?}") };
            assert_eq!((known.id, outcome(&known)), (id, standing.as_ref()));
            assert_eq!(world.published().len(), changes);
            world.reopen().await;
        }
    }
}

/// A key that was released, withdrawn or that expired gets a new life, with an id that is larger than any before.
pub(super) async fn after_other_outcomes_a_key_gets_a_new_life(mut world: World) {
    let mut last = AskId(0);
    for over in [Outcome::Released, Outcome::Expired, Outcome::Withdrawn, answered("SQLite")] {
        let ask = world.open("s__t").await;
        assert!(ask.id > last && ask.is_open());
        last = ask.id;
        world.settle(ask.id, over).await;
        world.reopen().await;
    }
}

fn varied_questions() -> Questions {
    serde_json::from_value(json!([
        {"question": "One 'é'?", "header": "1", "options": [{"label": "A", "preview": "look"}], "freeText": false},
        {"question": "Two?", "multiSelect": true, "options": [{"label": "X", "description": "x"}]},
    ]))
    .unwrap()
}

/// An ask has everything it was opened with, and so does the detail that its origin keeps with it.
pub(super) async fn an_ask_keeps_everything_it_was_opened_with(mut world: World) {
    for (n, kind) in Kind::ALL.into_iter().enumerate() {
        let now = whole_milliseconds(Timestamp::now());
        let new = NewAsk {
            key: format!("s__{n}").parse().unwrap(),
            origin: Origin::ClaudeCode,
            project: Some("/home/me/shop \u{1f6d2}".into()),
            topic: match kind {
                Kind::Question => Topic::of_questions(varied_questions()),
                kind => topic(kind),
            },
            detail: "{\"only\": \"the origin reads this\"}".into(),
            expires_at: Some(now + SignedDuration::from_hours(1)),
            on_timeout: OnTimeout::Deny,
            racing: true,
            digest: Some("digest".into()),
            asker: Some("4711".into()),
            asked_by: None,
        };
        let opened = world.store.open_ask(Arc::new(new.clone()), now, 64).await.unwrap();
        let Opened::New(opened) = opened else { panic!("not new") };
        let mut snapshot = world.reopen().await;
        snapshot.open.retain(|ask| ask.id == opened.id);
        let ask = world.store.ask(new.key.clone()).await.unwrap().unwrap();
        assert_eq!((&*opened, &snapshot.open[0]), (&*ask, &*ask));
        assert_eq!((&ask.key, ask.origin, &ask.project), (&new.key, new.origin, &new.project));
        assert_eq!(
            (ask.kind, ask.subject.as_ref(), &ask.questions),
            (new.topic.kind(), new.topic.subject(), new.topic.questions())
        );
        assert_eq!((ask.opened_at, ask.expires_at, ask.on_timeout), (now, new.expires_at, new.on_timeout));
        assert_eq!((ask.racing, &ask.digest, &ask.asker), (true, &new.digest, &new.asker));
        assert_eq!((ask.deferred, &ask.settlement, &ask.receipt), (false, &None, &None));
        assert_eq!(world.store.detail(ask.id).await.unwrap(), new.detail);
    }
    // A program has a name instead of a process.
    for (n, asked_by) in [None, Some("codex 0.42".to_owned()), Some(HTTP_ASKER.to_owned())].into_iter().enumerate() {
        let program = NewAsk { asked_by: asked_by.clone(), ..new_ask(&format!("program-{n}__t")) };
        assert_eq!((program.origin, &program.asker), (Origin::Program, &None));
        world.store.open_ask(Arc::new(program.clone()), Timestamp::now(), 64).await.unwrap();
        world.reopen().await;
        let ask = world.store.ask(program.key).await.unwrap().unwrap();
        assert_eq!((&ask.asked_by, &ask.asker), (&asked_by, &None));
    }
}

/// An answer is there after the store was opened again: what was said, by whom and when.
pub(super) async fn an_answer_survives_reopening(mut world: World) {
    let id = world.open("s__t").await.id;
    let by = Source {
        channel: Channel::Device,
        agent: Some("browser/1.0".into()),
        device: Some("Phone".into()),
        person: Some("Anna".into()),
        hub: Some("hub-1".into()),
    };
    let given = Settlement { by: Some(by), ..settlement(answered("SQLite")) };
    world.store.settle(id, given.clone()).await.unwrap();
    assert!(world.reopen().await.open.is_empty());
    let ask = world.store.ask("s__t".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((ask.id, &ask.settlement), (id, &Some(given)));
}

/// Every ask belongs to the host whose daemon opened it, also after another daemon has opened the store.
pub(super) async fn an_ask_belongs_to_the_host_that_opened_it(mut world: World) {
    assert_eq!(world.store.host(), &Host::new("here"));
    let ask = world.open("s__t").await;
    assert_eq!(ask.host, Host::new("here"));
    world.settle(ask.id, Outcome::Released).await;
    world.reopen_as("elsewhere").await;
    assert_eq!(world.store.host(), &Host::new("elsewhere"));
    let kept = world.store.ask(ask.key.clone()).await.unwrap().unwrap();
    assert_eq!(kept.host, Host::new("here"));
}

/// A daemon can open asks for another machine that was let in. They stay that machine's, also when the store is opened again, and the same
/// key finds them.
pub(super) async fn an_ask_of_another_host_stays_its_own(mut world: World) {
    let edge = Host::new("edge");
    world.store.add_host(edge.clone(), [1; 32], Timestamp::now()).await.unwrap();
    world.store.keep_hosts(vec![edge.clone()]).await.unwrap();
    let of_edge = world.store.for_host(edge.clone());
    assert_eq!((of_edge.host(), world.store.host()), (&edge, &Host::new("here")));
    let Opened::New(ask) = of_edge.open_ask(Arc::new(new_ask("s__t")), Timestamp::now(), 64).await.unwrap() else {
        panic!("not new");
    };
    let own = world.open("s__own").await;
    assert_eq!((&ask.host, &own.host), (&edge, world.store.host()));
    assert_eq!(world.published()[0].ask.host, edge);
    assert_eq!(world.store.life(ask.id).await.unwrap().as_ref(), Some(&ask));
    assert_eq!(world.store.life(AskId(ask.id.0 + 1000)).await.unwrap(), None);
    let known = of_edge.open_ask(Arc::new(new_ask("s__own")), Timestamp::now(), 64).await.unwrap();
    assert!(matches!(known, Opened::Known(known) if known.host == Host::new("here")));
    let snapshot = world.reopen().await;
    let mut hosts: Vec<_> = snapshot.open.iter().map(|ask| (ask.id, ask.host.as_str())).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [(ask.id, "edge"), (own.id, "here")]);
    assert!(matches!(world.settle(ask.id, Outcome::Withdrawn).await, Settling::Won(settled) if settled.host == edge));
}

/// A reply means that the change is saved: a second look at the same place finds it, although nobody closed the store.
pub(super) async fn a_reply_means_that_the_change_is_saved(world: World) {
    let (open, settled) = (world.open("s__open").await, world.open("s__settled").await);
    world.settle(settled.id, answered("SQLite")).await;
    let (_, snapshot) = (world.place)(Host::new("here"));
    assert_eq!(snapshot.open.iter().map(|ask| ask.id).collect::<Vec<_>>(), [open.id]);
    assert_eq!(snapshot.cursor, world.published().last().unwrap().cursor);
}

/// A session has at most so many open asks. Another session has room of its own, and a known key is found all the same.
pub(super) async fn a_session_has_so_many_open_asks_and_known_ones_are_found_all_the_same(world: World) {
    world.open("s__a").await;
    let open = |key: &str| {
        let (store, new) = (world.store.clone(), Arc::new(new_ask(key)));
        async move { store.open_ask(new, Timestamp::now(), 1).await.unwrap() }
    };
    assert!(matches!(open("s__b").await, Opened::Full));
    assert!(matches!(open("s__a").await, Opened::Known(_)));
    assert!(matches!(open("other__b").await, Opened::New(_)));
    // Another machine can use any session, and has a share of its own.
    let elsewhere = world.store.for_host(Host::new("elsewhere"));
    let opened = elsewhere.open_ask(Arc::new(new_ask("s__c")), Timestamp::now(), 1).await.unwrap();
    assert!(matches!(opened, Opened::New(_)));
}

/// A deferred ask is open without a deadline. When it is resumed, it gets the deadline of its new asker.
pub(super) async fn a_deferred_ask_has_no_deadline_until_it_is_resumed(mut world: World) {
    let deadline = |hours| Some(whole_milliseconds(Timestamp::now()) + SignedDuration::from_hours(hours));
    let ask = world.open_new(NewAsk { expires_at: deadline(1), ..new_ask("s__t") }).await;
    let deferred = world.store.defer(ask.id, Timestamp::now()).await.unwrap().unwrap();
    assert_eq!((deferred.deferred, deferred.expires_at, deferred.is_open()), (true, None, true));
    assert_eq!(world.reopen().await.open, [(*deferred).clone()]);
    let expires_at = deadline(2);
    let resumed = world.store.resume(ask.id, expires_at, Timestamp::now()).await.unwrap().unwrap();
    assert_eq!((resumed.deferred, resumed.expires_at, resumed.is_open()), (false, expires_at, true));
}

/// A settled ask is neither deferred nor resumed.
pub(super) async fn a_settled_ask_is_neither_deferred_nor_resumed(world: World) {
    let id = world.open("s__t").await.id;
    world.settle(id, Outcome::Released).await;
    let now = Timestamp::now();
    assert!(world.store.defer(id, now).await.unwrap().is_none());
    assert!(world.store.resume(id, Some(now), now).await.unwrap().is_none());
    let ask = world.store.ask("s__t".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((ask.deferred, outcome(&ask)), (false, Some(&Outcome::Released)));
}

/// The first receipt of an answer is kept. A later one changes nothing.
pub(super) async fn a_receipt_is_noted_once(mut world: World) {
    let id = world.open("s__t").await.id;
    world.settle(id, answered("SQLite")).await;
    let receipt = |text: &str, as_sent| Receipt {
        answers: [("Which database, 0?".to_owned(), text.to_owned())].into_iter().collect(),
        as_sent,
        at: whole_milliseconds(Timestamp::now()),
    };
    let first = receipt("SQLite", true);
    let ask = world.store.receive(id, first.clone()).await.unwrap().unwrap();
    assert_eq!(ask.receipt, Some(first.clone()));
    assert!(world.store.receive(id, receipt("else", false)).await.unwrap().is_none());
    world.reopen().await;
    let ask = world.store.ask("s__t".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((&ask.receipt, outcome(&ask)), (&Some(first), Some(&answered("SQLite"))));
}

/// A command that fails changes nothing, and leaves the commands that came at the same time alone.
pub(super) async fn a_command_that_fails_leaves_the_others_alone(world: World) {
    let results = join_all((0..30).map(async |n| {
        if n % 3 == 1 {
            // There is no such ask.
            world.store.settle(AskId(1000 + n), settlement(Outcome::Released)).await.map(drop)
        } else {
            world.try_open(new_ask(&format!("s__{n}"))).await.map(drop)
        }
    }))
    .await;
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result.is_err(), n % 3 == 1, "{n}: {result:?}");
    }
    assert_eq!(world.published().len(), 20);
    assert!(world.published().iter().all(|change| change.ask.is_open()));
}
