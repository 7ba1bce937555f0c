//! People and their devices: what two hubs do at the same moment, and what is taken over from a file.

use super::*;
use crate::store::samples::in_scratch_dir;
use crate::store::{DeviceKind, Grant, Role, migrate};

fn grants(role: Role, project: Option<&str>) -> Vec<Grant> {
    vec![Grant { role, project: project.map(Into::into) }]
}

/// Waits until somebody waits for what this transaction has locked.
async fn until_waited_for(client: &tokio_postgres::Client) {
    let query = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (
                     SELECT pid FROM pg_stat_activity WHERE datname = current_database()))";
    until("somebody waits", async || client.query_one(query, &[]).await.unwrap().get(0)).await;
}

/// A device without its person would see everything, so none may be left.
#[tokio::test]
async fn no_device_outlives_its_person_whatever_two_hubs_do_at_the_same_moment() {
    let (options, _) = database();
    let store = Hub::start(&options, "one").await.store;
    let (other, connection) = options.config.connect(options.tls.clone()).await.unwrap();
    tokio::spawn(connection);
    let now = store.now();
    let add = async || store.add_person("Anna".into(), grants(Role::View, None), now).await.unwrap().unwrap().id;

    // Another hub adds a device, and the person is removed before that is committed.
    let anna = add().await;
    let device = format!(
        "BEGIN; INSERT INTO answerback.devices (namespace, name, kind, token_hash, created_at, last_seen_at, person)
         SELECT namespace, 'Phone', 'paired', '\\x01', {now}, {now}, id FROM answerback.people WHERE id = {anna}",
        now = now.as_millisecond()
    );
    other.batch_execute(&device).await.unwrap();
    let commit = async {
        until_waited_for(&other).await;
        other.batch_execute("COMMIT").await.unwrap();
    };
    let (removed, ()) = tokio::join!(store.remove_person(anna), commit);
    assert!(removed.unwrap().is_some());
    assert_eq!(store.devices(now).await.unwrap(), []);

    // Another hub removes the person, and a device is added before that is committed.
    let anna = add().await;
    other.batch_execute(&format!("BEGIN; DELETE FROM answerback.people WHERE id = {anna}")).await.unwrap();
    let commit = async {
        until_waited_for(&other).await;
        other.batch_execute("COMMIT").await.unwrap();
    };
    let added = store.add_device_of(anna, "Phone".into(), DeviceKind::Paired, [1; 32], now);
    let (added, ()) = tokio::join!(added, commit);
    assert_eq!(added.unwrap(), None);
    assert_eq!(store.devices(now).await.unwrap(), []);
}

#[test]
fn people_are_taken_over_from_a_file_with_their_devices() {
    let (dir, opening, _) = in_scratch_dir();
    let file = opening.start(Box::new(|_| ())).unwrap();
    let now = jiff::Timestamp::from_millisecond(jiff::Timestamp::now().as_millisecond()).unwrap();
    let before = block_on(async {
        // The ids are others there.
        let gone = file.add_person("Gone".into(), grants(Role::View, None), now).await.unwrap().unwrap();
        let anna =
            file.add_person("Anna".into(), grants(Role::Answer, Some("ci-*:/srv/*")), now).await.unwrap().unwrap();
        file.add_person("Ben".into(), grants(Role::Admin, None), now).await.unwrap().unwrap();
        file.remove_person(gone.id).await.unwrap();
        file.add_device("Desk".into(), DeviceKind::Page, [1; 32], now).await.unwrap();
        file.add_device_of(anna.id, "Phone".into(), DeviceKind::Paired, [2; 32], now).await.unwrap();
        let people = file.people().await.unwrap();
        file.close().await;
        people
    });
    let (options, _) = database();
    let path = dir.path().join("asks.db");
    let migration = migrate(&path, &options, |_, _| ()).unwrap();
    assert_eq!((migration.people, migration.devices), (2, 2));
    block_on(async {
        let store = Hub::start(&options, "one").await.store;
        let people = store.people().await.unwrap();
        let known = |people: &[crate::store::Person]| {
            people
                .iter()
                .map(|person| (person.name.clone(), person.grants.clone(), person.created_at))
                .collect::<Vec<_>>()
        };
        assert_eq!(known(&people), known(&before));
        assert_eq!(store.device([1; 32], now).await.unwrap().unwrap().person, None);
        assert_eq!(store.device([2; 32], now).await.unwrap().unwrap().person.as_ref(), Some(&people[0]));
        // The next person gets an id of their own.
        let next = store.add_person("Carla".into(), grants(Role::View, None), now).await.unwrap().unwrap();
        assert!(people.iter().all(|person| person.id < next.id));
    });
    let again = migrate(&path, &options, |_, _| ()).unwrap_err();
    assert!(again.to_string().contains("already"), "{again}");
}
