//! People, and the devices that belong to them.

use super::*;
use crate::store::{DeviceKind, Grant, Person, Role};

fn grants(role: Role, project: Option<&str>) -> Vec<Grant> {
    vec![Grant { role, project: project.map(Into::into) }]
}

async fn add(world: &World, name: &str) -> Person {
    let person = world.store.add_person(name.into(), grants(Role::View, None), Timestamp::now()).await.unwrap();
    person.unwrap()
}

async fn add_device(world: &World, person: i64, token: u8) -> Option<i64> {
    let (store, now) = (&world.store, Timestamp::now());
    store.add_device_of(person, "Phone".into(), DeviceKind::Paired, [token; 32], now).await.unwrap()
}

async fn owner(world: &World, token: u8) -> Option<Person> {
    world.store.device([token; 32], Timestamp::now()).await.unwrap().unwrap().person
}

/// A name belongs to one person, and an id to one person for ever. People are there after the store was opened again, in the order in
/// which they were added.
pub(super) async fn people_survive_reopening_and_a_name_is_taken_once(mut world: World) {
    let now = whole_milliseconds(Timestamp::now());
    let given = vec![
        Grant { role: Role::View, project: None },
        Grant { role: Role::Answer, project: Some("ci-*:/srv/*".into()) },
    ];
    let zoe = world.store.add_person("Zoë".into(), given.clone(), now).await.unwrap().unwrap();
    assert_eq!((zoe.name.as_str(), &zoe.grants, zoe.created_at), ("Zoë", &given, now));
    assert_eq!(world.store.add_person("Zoë".into(), grants(Role::Admin, None), now).await.unwrap(), None);
    let anna = add(&world, "Anna").await;
    world.reopen().await;
    let people = world.store.people().await.unwrap();
    assert_eq!((&people[0], people[1].id, people.len()), (&zoe, anna.id, 2));
    assert_eq!(world.store.remove_person(anna.id).await.unwrap(), Some(Vec::new()));
    assert_eq!(world.store.remove_person(anna.id).await.unwrap(), None);
    world.reopen().await;
    assert!(add(&world, "Anna").await.id > anna.id);
}

/// Grants are replaced as a whole. Each change makes the revision larger, also across reopening.
pub(super) async fn grants_are_replaced_and_their_revision_grows(mut world: World) {
    let first = add(&world, "Anna").await;
    let changed = world.store.set_grants(first.id, grants(Role::Answer, Some("/srv/*"))).await.unwrap().unwrap();
    assert_eq!(changed.grants, grants(Role::Answer, Some("/srv/*")));
    assert!(changed.revision > first.revision);
    world.reopen().await;
    let again = world.store.set_grants(first.id, Vec::new()).await.unwrap().unwrap();
    assert!(again.revision > changed.revision && again.grants.is_empty());
    assert_eq!(again.name, "Anna");
    assert_eq!(world.store.set_grants(first.id + 1, Vec::new()).await.unwrap(), None);
}

/// A device belongs to the person that it was added for, with the grants that this person has now. A device that was added for nobody
/// belongs to nobody.
pub(super) async fn a_device_belongs_to_its_person(mut world: World) {
    let now = Timestamp::now();
    let (anna, ben) = (add(&world, "Anna").await, add(&world, "Ben").await);
    let first = add_device(&world, anna.id, 1).await.unwrap();
    // The same device again: nothing changes.
    assert_eq!(add_device(&world, anna.id, 1).await, Some(first));
    add_device(&world, ben.id, 2).await.unwrap();
    world.store.add_device("Desk".into(), DeviceKind::Page, [3; 32], now).await.unwrap();
    let changed = world.store.set_grants(anna.id, grants(Role::Admin, None)).await.unwrap().unwrap();
    world.reopen().await;
    assert_eq!(owner(&world, 1).await, Some(changed.clone()));
    assert_eq!(owner(&world, 2).await.map(|person| person.name).as_deref(), Some("Ben"));
    assert_eq!(owner(&world, 3).await, None);
    let devices = world.store.devices(now).await.unwrap();
    let owners: Vec<_> = devices.iter().map(|device| device.person.as_ref().map(|person| person.id)).collect();
    assert_eq!(owners, [Some(anna.id), Some(ben.id), None]);
    assert!(world.store.remove_device(first).await.unwrap());
    assert_eq!(world.store.people().await.unwrap().len(), 2);
}

/// A person is forgotten with all their devices, so that none of these belongs to nobody afterwards. The devices of others stay. No device
/// is added for a person who is gone.
pub(super) async fn a_person_is_forgotten_with_their_devices(mut world: World) {
    let (anna, ben) = (add(&world, "Anna").await, add(&world, "Ben").await);
    let mut theirs = Vec::new();
    for token in [1, 2] {
        theirs.push(add_device(&world, anna.id, token).await.unwrap());
    }
    add_device(&world, ben.id, 3).await.unwrap();
    let mut removed = world.store.remove_person(anna.id).await.unwrap().unwrap();
    removed.sort_unstable();
    assert_eq!(removed, theirs);
    assert_eq!(add_device(&world, anna.id, 4).await, None);
    world.reopen().await;
    let now = Timestamp::now();
    for token in [1, 2, 4] {
        assert_eq!(world.store.device([token; 32], now).await.unwrap(), None, "{token}");
    }
    assert_eq!(owner(&world, 3).await.map(|person| person.id), Some(ben.id));
}
