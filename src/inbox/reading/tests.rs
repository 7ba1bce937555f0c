use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::access::{Access, Caller, Entrance, Tickets, Token, Tokens};
use crate::ask::samples::new_ask;
use crate::ask::{Host, Kind, NewAsk, NewAway, Outcome};
use crate::inbox::{Inquiry, Words};
use crate::registry::{Activity, AgentProcess, Asker, Registry};
use crate::store::samples::in_scratch_dir;
use crate::store::{Grant, StateFilter, Store};

const ENTRANCE: Entrance = Entrance::Lan(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));

struct World {
    _dir: TempDir,
    registry: Registry,
    store: Store,
    inbox: Inbox,
    access: Access,
}

impl World {
    fn new() -> Self {
        let (dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        let access = Access::new(&tokens, Tickets::new(&tokens), store.clone());
        let inbox = Inbox::new(registry.clone(), store.clone(), vec![Kind::Question]);
        Self { _dir: dir, registry, store, inbox, access }
    }

    async fn person(&self, name: &str, grants: &[(Role, Option<&str>)]) -> Caller {
        let grants = grants.iter().map(|(role, project)| Grant { role: *role, project: project.map(Into::into) });
        let person = self.access.add_person(name, grants.collect()).await.unwrap();
        let new = self.access.begin_pairing(None, Some(person.id)).await.unwrap();
        let claim = self.access.claim(&new.code, Some("Phone"), None).await.unwrap().unwrap();
        self.access.confirm(&new.id, &claim.check).await.unwrap();
        let crate::access::Fetched::Token(token) = self.access.fetch(claim.claim.reveal()).await.unwrap() else {
            panic!("not let in")
        };
        self.access.identify(ENTRANCE, Some(token.reveal().as_bytes()), None).await.unwrap().unwrap()
    }

    async fn open(&self, key: &str, project: Option<&str>) -> Arc<Ask> {
        self.registry.open(NewAsk { project: project.map(Into::into), ..new_ask(key) }, Asker::Here).await.unwrap()
    }

    async fn listed(&self, filter: Filter, by: &Caller) -> (Vec<String>, Option<crate::ask::AskId>) {
        let page = self.inbox.list(filter, by).await.unwrap().page;
        (page.asks.iter().map(|ask| ask.key.to_string()).collect(), page.next)
    }
}

#[tokio::test]
async fn pages_make_up_all_that_may_be_seen_and_none_reads_the_whole_history() {
    let world = World::new();
    let anna = world.person("Anna", &[(Role::View, Some("/srv/shop"))]).await;
    // More than is looked at together, and only every hundredth may be seen.
    for n in 0..LOOK_AT + 200 {
        let project = if n % 100 == 0 { "/srv/shop" } else { "/srv/secret" };
        let ask = world.open(&format!("s{n}__t"), Some(project)).await;
        if n % 200 == 0 {
            world.registry.settle(ask.id, Outcome::Released, None).await.unwrap();
        }
    }
    let expected: Vec<_> = (0..LOOK_AT + 200).step_by(100).rev().map(|n| format!("s{n}__t")).collect();
    for limit in [1, 2, 3, 7, 8, usize::MAX] {
        for text in [None, Some("database".to_owned())] {
            let (mut all, mut before) = (Vec::new(), None);
            loop {
                let filter = Filter { before, text: text.clone(), ..Filter::all(StateFilter::All, limit) };
                let (some, next) = world.listed(filter, &anna).await;
                assert!(some.len() <= limit, "{limit}: {some:?}");
                all.extend(some);
                before = next;
                if before.is_none() {
                    break;
                }
            }
            assert_eq!(all, expected, "{limit}");
        }
    }
    let (open, _) = world.listed(Filter::all(StateFilter::Open, usize::MAX), &anna).await;
    assert_eq!(open.len(), 3);
    let secret = Filter { project: Some("/srv/secret".into()), ..Filter::all(StateFilter::All, 10) };
    let (seen, next) = world.listed(secret, &anna).await;
    assert!(seen.is_empty() && next.is_some(), "there are too many to look at all of them: {seen:?} {next:?}");
    assert_eq!(world.inbox.projects(anna.rights()).await.unwrap(), ["/srv/shop"]);
}

#[tokio::test]
async fn a_project_is_listed_if_it_is_on_a_host_that_may_be_seen() {
    let world = World::new();
    world.open("s1__t", Some("/srv/shop")).await;
    let host = world.store.host().as_str().to_owned();
    let here = world.person("Anna", &[(Role::View, Some(&format!("{host}:/srv/*")))]).await;
    let elsewhere = world.person("Ben", &[(Role::View, Some("other:/srv/*"))]).await;
    assert_eq!(world.inbox.projects(here.rights()).await.unwrap(), ["/srv/shop"]);
    assert_eq!(world.inbox.projects(elsewhere.rights()).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_host_is_listed_with_the_projects_that_may_be_seen() {
    let world = World::new();
    let box_1 = world.store.for_host(Host::new("box-1"));
    for (n, project) in [Some("/srv/shop"), Some("/srv/secret")].into_iter().enumerate() {
        let new = NewAsk { project: project.map(Into::into), ..new_ask(&format!("b{n}__t")) };
        box_1.open_ask(Arc::new(new), world.store.now(), 64).await.unwrap();
    }
    world.open("s1__t", None).await;
    let here = world.store.host().as_str().to_owned();
    let listed = async |by: &Caller| {
        let hosts = world.inbox.hosts(by.rights()).await.unwrap();
        hosts.into_iter().map(|host| (host.host.as_str().to_owned(), host.projects.join(" "))).collect::<Vec<_>>()
    };
    let of_box = |projects: &str| ("box-1".to_owned(), projects.to_owned());
    let anna = world.person("Anna", &[(Role::View, Some("/srv/shop"))]).await;
    assert_eq!(listed(&anna).await, [of_box("/srv/shop")]);
    // Asks of no project are on this machine only.
    let ben = world.person("Ben", &[(Role::View, Some("*:"))]).await;
    assert_eq!(listed(&ben).await, [(here.clone(), String::new())]);
    let carla = world.person("Carla", &[(Role::View, Some("*"))]).await;
    assert_eq!(listed(&carla).await, [of_box("/srv/secret /srv/shop"), (here, String::new())]);
    let dora = world.person("Dora", &[(Role::View, Some("box-2:*"))]).await;
    assert_eq!(listed(&dora).await, []);
}

#[tokio::test]
async fn a_reader_waits_for_a_change_that_they_may_see() {
    let world = World::new();
    let anna = world.person("Anna", &[(Role::View, Some("/srv/shop"))]).await;
    let before = world.inbox.cursor();
    let mut changed = std::pin::pin!(world.inbox.changed(before, anna.rights()));
    assert!(futures_util::poll!(changed.as_mut()).is_pending());
    world.open("s1__t", Some("/srv/secret")).await;
    assert!(futures_util::poll!(changed.as_mut()).is_pending());
    world.open("s2__t", Some("/srv/shop")).await;
    changed.await;
    // A reader who has not seen it yet does not wait, and one who has does.
    world.inbox.changed(before, anna.rights()).await;
    let mut next = std::pin::pin!(world.inbox.changed(world.inbox.cursor(), anna.rights()));
    assert!(futures_util::poll!(next.as_mut()).is_pending());
    // What they may see has changed, so there is something to look at.
    world.open("s3__t", Some("/srv/secret")).await;
    assert!(futures_util::poll!(next.as_mut()).is_pending());
    let grants = vec![Grant { role: Role::View, project: None }];
    world.access.set_grants(anna.person().unwrap(), grants).await.unwrap();
    next.await;
}

#[tokio::test]
async fn what_may_not_be_seen_is_unknown_and_what_may_only_be_seen_is_refused() {
    let world = World::new();
    let anna = world.person("Anna", &[(Role::View, Some("/srv/*")), (Role::Answer, Some("/srv/shop"))]).await;
    let [shop, site, home] = [("s1__t", "/srv/shop"), ("s2__t", "/srv/site"), ("s3__t", "/home")];
    for (key, project) in [shop, site, home] {
        world.open(key, Some(project)).await;
    }
    world.open("s4__t", None).await;
    let words = |key: &str| {
        let answers = [("Which database, 0?".to_owned(), json!("SQLite"))].into();
        (
            key.parse::<AskKey>().unwrap(),
            Words { answers, notes: Default::default(), partial: false, edited: None, id: None },
        )
    };
    for (key, is_seen) in [("s1__t", true), ("s2__t", true), ("s3__t", false), ("s4__t", false)] {
        let (key, words) = words(key);
        assert_eq!(world.inbox.get(&key, anna.rights()).await.is_ok(), is_seen, "{key}");
        if key.as_str() == shop.0 {
            continue;
        }
        let refusals = [
            world.inbox.answer(&key, &words, &anna).await.unwrap_err(),
            world.inbox.dismiss(&key, None, None, &anna).await.unwrap_err(),
            world.inbox.release(&key, None, &anna).await.unwrap_err(),
            world.inbox.withdraw(&key, &anna).await.unwrap_err(),
        ];
        for refusal in refusals {
            assert!(if is_seen { matches!(refusal, Refusal::Role) } else { matches!(refusal, Refusal::Unknown) });
        }
    }
    let (key, words) = words(shop.0);
    let answered = world.inbox.answer(&key, &words, &anna).await.unwrap();
    let by = answered.settlement.as_ref().unwrap().by.as_ref().unwrap();
    assert_eq!((by.person.as_deref(), by.device.as_deref(), by.hub.as_deref()), (Some("Anna"), Some("Phone"), None));

    for (project, may) in [(Some("/srv/shop"), true), (Some("/srv/site"), false), (None, false)] {
        let question = serde_json::from_value(json!({"question": "Deploy?"})).unwrap();
        let inquiry =
            Inquiry { questions: vec![question], project: project.map(Into::into), asked_by: None, timeout: None };
        assert_eq!(world.inbox.open(inquiry, &anna).await.is_ok(), may, "{project:?}");
    }
}

#[tokio::test]
async fn words_of_those_who_are_away_need_the_right_to_answer_everything() {
    let world = World::new();
    let ben = world.person("Ben", &[(Role::Answer, None)]).await;
    let anna = world.person("Anna", &[(Role::Answer, Some("/srv/shop*"))]).await;
    let note = |project: Option<&str>| NewAway {
        project: project.map(Into::into),
        words: "Wait for me".into(),
        kinds: vec![Kind::Question],
        time: jiff::SignedDuration::from_secs(60),
    };
    assert!(matches!(world.inbox.leave(note(Some("/srv/shop")), &anna).await, Err(Refusal::Role)));
    assert!(matches!(world.inbox.come_back(None, &anna).await, Err(Refusal::Role)));
    for project in [None, Some("/srv/shop"), Some("/home")] {
        let left = world.inbox.leave(note(project), &ben).await.unwrap();
        assert_eq!(left.by.unwrap().person.as_deref(), Some("Ben"));
    }
    let seen = world.inbox.away(anna.rights()).await.unwrap();
    let seen: Vec<_> = seen.iter().map(|note| note.project.as_deref()).collect();
    assert_eq!(seen, [None, Some("/srv/shop")]);
    assert_eq!(world.inbox.come_back(None, &ben).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_session_shows_what_may_be_seen_of_it() {
    let world = World::new();
    let anna = world.person("Anna", &[(Role::View, Some("/srv/shop"))]).await;
    let process = |session: &str, project: &str| AgentProcess {
        session: session.into(),
        asker: None,
        project: Some(project.into()),
        agent: None,
        records: None,
        activity: Activity::Working,
        seen_at: jiff::Timestamp::now(),
    };
    world.registry.saw(process("both", "/srv/shop"));
    world.registry.saw(process("secret", "/srv/secret"));
    world.open("both__a", Some("/srv/shop")).await;
    world.open("both__b", Some("/srv/secret")).await;
    world.open("secret__t", Some("/srv/secret")).await;
    let sessions = world.inbox.sessions(anna.rights());
    assert_eq!((sessions.len(), sessions[0].id.as_str()), (1, "both"));
    assert_eq!(sessions[0].asks, ["both__a".parse::<AskKey>().unwrap()]);
    assert!(world.inbox.session("secret", Role::View, anna.rights()).is_none());
    assert!(world.inbox.session("both", Role::Answer, anna.rights()).is_none());
    assert_eq!(world.inbox.sessions(&Rights::EVERYTHING).len(), 2);
}
