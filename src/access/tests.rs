use std::net::SocketAddr;

use tempfile::TempDir;

use super::*;
use crate::ask::Host;
use crate::ask::samples::ask;
use crate::store::Role;
use crate::store::samples::{Network, in_scratch_dir};

const SOCKET: Entrance = Entrance::Socket { process: None };
const AGENT: Option<&str> = Some("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0");

struct World {
    _dir: TempDir,
    tokens: Tokens,
    access: Access,
}

impl World {
    fn new() -> Self {
        let (dir, opening, _) = in_scratch_dir();
        let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        let access = Access::new(&tokens, Tickets::new(&tokens), opening.start(Box::new(|_| ())).unwrap());
        Self { _dir: dir, tokens, access }
    }

    async fn sign_in(&self) -> Token {
        let launch = self.access.launch().unwrap();
        self.access.sign_in(SOCKET, launch.code.reveal(), None, AGENT).await.unwrap()
    }

    async fn pair(&self) -> Token {
        self.pair_for(None).await
    }

    async fn claimed(&self, person: Option<i64>) -> (NewPairing, Claim) {
        let new = self.access.begin_pairing(None, person).await.unwrap();
        let claim = self.access.claim(&new.code, Some("Phone"), None).await.unwrap().unwrap();
        (new, claim)
    }

    async fn pair_for(&self, person: Option<i64>) -> Token {
        let (new, claim) = self.claimed(person).await;
        assert_eq!(self.access.confirm(&new.id, &claim.check).await.unwrap(), Some(Check::Right));
        match self.access.fetch(claim.claim.reveal()).await.unwrap() {
            Fetched::Token(token) => token,
            other => panic!("{other:?}"),
        }
    }

    async fn identify(&self, entrance: Entrance, presented: Option<&str>) -> Option<Caller> {
        self.access.identify(entrance, presented.map(str::as_bytes), None).await.unwrap()
    }
}

fn local() -> Entrance {
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    Entrance::Local { local: address(27563), remote: address(50000) }
}

fn elsewhere() -> [Entrance; 2] {
    [Entrance::Public("127.0.0.1".parse().unwrap()), Entrance::Lan("192.168.1.9".parse().unwrap())]
}

#[tokio::test]
async fn the_entrance_decides_which_credentials_count() {
    let world = World::new();
    let (page, phone) = (world.sign_in().await, world.pair().await);
    let ticket = Tickets::new(&world.tokens).issue(&ask(7, "s__t", "shop", 1));
    let is_program = |caller: Option<Caller>| matches!(caller, Some(Caller::Program { .. }));
    let is_device = |caller: Option<Caller>| matches!(caller, Some(Caller::Device { .. }));
    for entrance in [local()].into_iter().chain(elsewhere()) {
        let is_local = entrance == local();
        let (api, hook) = (world.tokens.api.reveal(), world.tokens.hook.reveal());
        assert_eq!(is_program(world.identify(entrance, Some(api)).await), is_local, "{entrance:?}");
        let is_hook = matches!(world.identify(entrance, Some(hook)).await, Some(Caller::Hook));
        assert_eq!(is_hook, is_local, "{entrance:?}");
        assert_eq!(is_device(world.identify(entrance, Some(page.reveal())).await), is_local, "{entrance:?}");
        assert!(is_device(world.identify(entrance, Some(phone.reveal())).await), "{entrance:?}");
        let by_ticket = world.identify(entrance, Some(&ticket)).await;
        assert!(matches!(by_ticket, Some(Caller::Ticket { .. })), "{entrance:?}");
        assert!(matches!(world.identify(entrance, None).await, Some(Caller::Anonymous)), "{entrance:?}");
        for bad in ["", "guess", &ticket[1..], &api[1..]] {
            assert!(world.identify(entrance, Some(bad)).await.is_none(), "{entrance:?} {bad}");
        }
    }
    assert!(is_program(world.identify(SOCKET, None).await));
    assert!(is_program(world.identify(SOCKET, Some("guess")).await));
}

#[tokio::test]
async fn a_launch_code_is_for_this_machine_and_is_not_used_up_elsewhere() {
    let world = World::new();
    let launch = world.access.launch().unwrap();
    let sign_in = async |entrance, code: &str| world.access.sign_in(entrance, code, None, AGENT).await;
    for entrance in elsewhere() {
        let refused = sign_in(entrance, launch.code.reveal()).await;
        assert!(matches!(refused, Err(SignInError::OtherMachine)), "{entrance:?}");
    }
    assert!(matches!(sign_in(SOCKET, "guess").await, Err(SignInError::BadCode)));
    sign_in(SOCKET, launch.code.reveal()).await.unwrap();
    assert!(matches!(sign_in(SOCKET, launch.code.reveal()).await, Err(SignInError::BadCode)));
    let devices = world.access.devices().await.unwrap();
    let seen: Vec<_> = devices.iter().map(|device| (device.name.as_str(), device.kind)).collect();
    assert_eq!(seen, [("Firefox on Linux", DeviceKind::Page)]);
}

#[tokio::test]
async fn a_revoked_device_is_refused_and_its_waits_end() {
    let world = World::new();
    let (token, _other) = (world.pair().await, world.pair().await);
    let caller = world.identify(local(), Some(token.reveal())).await.unwrap();
    let id = caller.device().unwrap();
    let waiting = tokio::spawn(world.access.revoked(id));
    assert!(world.access.revoke(id).await.unwrap() && !world.access.revoke(id).await.unwrap());
    waiting.await.unwrap();
    // A wait that begins too late ends at once.
    world.access.revoked(id).await;
    assert!(world.identify(local(), Some(token.reveal())).await.is_none());
    assert_eq!(world.access.devices().await.unwrap().len(), 1);
}

fn grant(role: Role, project: Option<&str>) -> Vec<Grant> {
    vec![Grant { role, project: project.map(Into::into) }]
}

#[tokio::test]
async fn a_device_has_the_rights_of_its_person_and_they_change_at_once() {
    let world = World::new();
    let anna = world.access.add_person(" Anna\n", grant(Role::View, Some("/srv/*"))).await.unwrap();
    assert_eq!(anna.name, "Anna");
    let token = world.pair_for(Some(anna.id)).await;
    let caller = world.identify(local(), Some(token.reveal())).await.unwrap();
    assert_eq!((caller.person(), caller.source().unwrap().person.as_deref()), (Some(anna.id), Some("Anna")));
    let host = Host::new("box");
    let may = |role, path| caller.rights().allow(role, &host, Some(path));
    assert!(may(Role::View, "/srv/shop") && !may(Role::Answer, "/srv/shop") && !may(Role::View, "/home"));
    let mut rights = caller.rights().clone();
    let changed = world.access.set_grants(anna.id, grant(Role::Answer, Some("/home"))).await.unwrap();
    rights.changed().await;
    assert!(may(Role::Answer, "/home") && !may(Role::View, "/srv/shop"));
    assert!(changed.revision > anna.revision && rights.revision() == Some(changed.revision));
    // A request that has read the grants before the change, and comes to use them after it.
    world.access.0.people.rights_of(&anna);
    assert!(may(Role::Answer, "/home") && !may(Role::View, "/srv/shop"));
    let unknown = world.access.set_grants(anna.id + 1, grant(Role::View, None)).await;
    assert!(matches!(unknown, Err(PersonError::Unknown)));
    let taken = world.access.add_person("Anna", grant(Role::View, None)).await;
    assert!(matches!(taken, Err(PersonError::NameTaken)));
    assert!(matches!(world.access.add_person("\u{7}", grant(Role::View, None)).await, Err(PersonError::NoName)));
    assert!(matches!(world.access.set_grants(anna.id, Vec::new()).await, Err(PersonError::Grants(_))));
}

#[tokio::test]
async fn a_person_who_is_removed_is_out_at_once() {
    let world = World::new();
    let anna = world.access.add_person("Anna", grant(Role::Admin, None)).await.unwrap();
    let (token, other) = (world.pair_for(Some(anna.id)).await, world.pair().await);
    let id = world.identify(local(), Some(token.reveal())).await.unwrap().device().unwrap();
    let waiting = tokio::spawn(world.access.revoked(id));
    // Somebody has confirmed this device, and it comes for its token too late.
    let (new, claim) = world.claimed(Some(anna.id)).await;
    world.access.confirm(&new.id, &claim.check).await.unwrap();
    assert_eq!(world.access.remove_person(anna.id).await.unwrap(), 1);
    waiting.await.unwrap();
    assert!(world.identify(local(), Some(token.reveal())).await.is_none());
    assert!(world.identify(local(), Some(other.reveal())).await.is_some());
    assert!(matches!(world.access.fetch(claim.claim.reveal()).await.unwrap(), Fetched::Gone));
    assert!(matches!(world.access.remove_person(anna.id).await, Err(PersonError::Unknown)));
    assert!(matches!(world.access.person(anna.id).await, Err(PersonError::Unknown)));
}

#[tokio::test]
async fn what_is_done_about_a_person_at_one_hub_counts_at_the_others() {
    let network = Network::new();
    let mut hubs = Vec::new();
    for name in ["one", "two"] {
        let store = network.open(name, false).await.0.start(Box::new(|_| ())).unwrap();
        let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        hubs.push(Access::new(&tokens, Tickets::new(&tokens), store));
    }
    let (one, two) = (&hubs[0], &hubs[1]);
    let anna = one.add_person("Anna", grant(Role::Answer, None)).await.unwrap();
    let new = one.begin_pairing(None, Some(anna.id)).await.unwrap();
    let claim = two.claim(&new.code, Some("Phone"), None).await.unwrap().unwrap();
    one.confirm(&new.id, &claim.check).await.unwrap();
    let Fetched::Token(token) = two.fetch(claim.claim.reveal()).await.unwrap() else { panic!("not let in") };
    let caller = two.identify(local(), Some(token.reveal().as_bytes()), None).await.unwrap().unwrap();
    assert_eq!((caller.person(), caller.may(Scope::Answer, None)), (Some(anna.id), true));
    let waiting = tokio::spawn(two.revoked(caller.device().unwrap()));
    let mut rights = caller.rights().clone();
    one.set_grants(anna.id, grant(Role::View, None)).await.unwrap();
    let patience = Duration::from_secs(30);
    tokio::time::timeout(patience, rights.changed()).await.unwrap();
    assert!(!caller.may(Scope::Answer, None) && caller.may(Scope::Read, None));
    assert_eq!(one.remove_person(anna.id).await.unwrap(), 1);
    tokio::time::timeout(patience, waiting).await.unwrap().unwrap();
    assert!(two.identify(local(), Some(token.reveal().as_bytes()), None).await.unwrap().is_none());
}

#[tokio::test]
async fn a_claim_lists_its_device_once() {
    let world = World::new();
    let new = world.access.begin_pairing(Some(" My\nphone "), None).await.unwrap();
    let claim = world.access.claim(&new.code, Some("Phone"), None).await.unwrap().unwrap();
    assert_eq!(world.access.look(&new.id).await.unwrap(), Some((Stage::Claimed, Some("My phone".to_owned()))));
    let fetch = async || world.access.fetch(claim.claim.reveal()).await.unwrap();
    assert!(matches!(fetch().await, Fetched::Waiting));
    world.access.confirm(&new.id, &claim.check).await.unwrap();
    world.access.until_decided(claim.claim.reveal()).await.unwrap();
    let (Fetched::Token(first), Fetched::Token(second)) = (fetch().await, fetch().await) else { panic!() };
    assert_eq!(first.reveal(), second.reveal());
    let devices = world.access.devices().await.unwrap();
    assert_eq!(devices.len(), 1);
    assert!(world.access.revoke(devices[0].id).await.unwrap());
    assert!(matches!(fetch().await, Fetched::Token(_)));
    assert!(world.identify(local(), Some(first.reveal())).await.is_none());
}

#[test]
fn the_socket_is_never_throttled() {
    let throttle = Throttle::default();
    let now = Instant::now();
    let failed = |entrance: Entrance| entrance.blamed().and_then(|blamed| throttle.failed(blamed, now));
    for _ in 0..20 {
        assert_eq!(failed(SOCKET), None);
        failed(local());
    }
    assert!(failed(local()).is_some());
    // The callers behind a proxy are not the machine that it runs on.
    assert_eq!(failed(elsewhere()[0]), None);
}

#[tokio::test]
async fn a_host_token_with_the_name_of_a_daemon_is_refused() {
    let (_dir, opening, _) = in_scratch_dir();
    let alone = opening.start(Box::new(|_| ())).unwrap();
    let network = Network::new();
    let shared = network.open("renamed", false).await.0.start(Box::new(|_| ())).unwrap();
    let other = network.open("other", false).await.0.start(Box::new(|_| ())).unwrap();
    let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
    for (stores, name) in [(vec![alone], "here"), (vec![shared, other], "renamed")] {
        let token = Token::generate().unwrap();
        // The token was made before the daemon got its name.
        let (hash, now) = (token.hash().bytes(), stores[0].now());
        stores[0].add_device(name.to_owned(), DeviceKind::Host, hash, now).await.unwrap();
        for store in stores {
            let access = Access::new(&tokens, Tickets::new(&tokens), store);
            let caller = access.identify(local(), Some(token.reveal().as_bytes()), None).await.unwrap();
            assert!(caller.is_none(), "{caller:?}");
        }
    }
}
