//! The devices that are signed in.

use jiff::SignedDuration;

use super::*;
use crate::store::DeviceKind;

/// A page that was not used for 30 days is forgotten, and so is a paired device after 90 days. A removed one is forgotten at once.
pub(super) async fn devices_that_are_not_used_are_forgotten(world: World) {
    let store = &world.store;
    let (now, day) = (Timestamp::now(), SignedDuration::from_hours(24));
    let page = store.add_device("Browser".into(), DeviceKind::Page, [1; 32], now - day * 60).await.unwrap();
    let at = |token: u8, time: Timestamp| async move { store.device([token; 32], time).await.unwrap() };
    assert_eq!(at(1, now - day * 31).await.unwrap().name, "Browser");
    assert_eq!(at(1, now - day * 30).await, None);
    assert_eq!(at(2, now).await, None);
    store.device_seen(page, now - day * 20).await.unwrap();
    assert_eq!(at(1, now).await.unwrap().last_seen_at.as_millisecond(), (now - day * 20).as_millisecond());

    let phone = store.add_device("Phone".into(), DeviceKind::Paired, [2; 32], now - day * 40).await.unwrap();
    assert_eq!(store.devices(now).await.unwrap().len(), 2);
    assert_eq!(at(2, now + day * 49).await.unwrap().kind, DeviceKind::Paired);
    assert_eq!(at(2, now + day * 50).await, None);
    assert!(store.remove_device(phone).await.unwrap() && !store.remove_device(phone).await.unwrap());
    assert_eq!(at(2, now).await, None);
    // Nobody gets its id.
    assert_ne!(store.add_device("Other".into(), DeviceKind::Paired, [3; 32], now).await.unwrap(), phone);
}

/// Devices are there after the store was opened again, oldest first. The id of a removed device is never given to another.
pub(super) async fn devices_survive_reopening_and_an_id_is_never_given_twice(mut world: World) {
    let now = whole_milliseconds(Timestamp::now());
    let mut ids = Vec::new();
    for token in 1..=3 {
        ids.push(world.store.add_device("Phone".into(), DeviceKind::Paired, [token; 32], now).await.unwrap());
    }
    let before = world.store.devices(now).await.unwrap();
    assert_eq!(before.iter().map(|device| device.id).collect::<Vec<_>>(), ids);
    world.reopen().await;
    assert_eq!(world.store.devices(now).await.unwrap(), before);
    assert!(world.store.remove_device(ids[2]).await.unwrap());
    world.reopen().await;
    let next = world.store.add_device("Phone".into(), DeviceKind::Paired, [4; 32], now).await.unwrap();
    assert!(next > ids[2]);
}

/// Two machines that ask here cannot have the same name. A machine that was off for years can come back, until it is removed.
pub(super) async fn a_host_has_a_name_of_its_own_and_is_never_forgotten(mut world: World) {
    let (now, year) = (Timestamp::now(), SignedDuration::from_hours(365 * 24));
    let add = |world: &World, name: &str, token: u8| {
        let store = world.store.clone();
        let name = Host::new(name);
        async move { store.add_host(name, [token; 32], now - year * 3).await.unwrap() }
    };
    let id = add(&world, "box", 1).await.unwrap();
    assert_eq!(add(&world, "box", 2).await, None);
    // Devices may have any name.
    world.store.add_device("box".into(), DeviceKind::Paired, [3; 32], now).await.unwrap();
    let other = add(&world, "Box", 4).await.unwrap();
    world.reopen().await;
    assert_eq!(world.store.device([2; 32], now).await.unwrap(), None);
    let host = world.store.device([1; 32], now).await.unwrap().unwrap();
    assert_eq!((host.id, host.name.as_str(), host.kind), (id, "box", DeviceKind::Host));
    let hosts = world.store.devices(now).await.unwrap().into_iter().filter(|device| device.kind == DeviceKind::Host);
    assert_eq!(hosts.map(|host| host.id).collect::<Vec<_>>(), [id, other]);
    assert!(world.store.remove_device(id).await.unwrap());
    assert!(add(&world, "box", 5).await.is_some_and(|next| next > other));
}
