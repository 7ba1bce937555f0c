//! What people say while they are away.

use jiff::SignedDuration;

use super::*;
use crate::ask::{Away, Channel, Kind, Source};

fn note(project: Option<&str>, words: &str, since: Timestamp, seconds: i64) -> Away {
    Away {
        project: project.map(ToOwned::to_owned),
        words: words.to_owned(),
        kinds: vec![Kind::Question, Kind::Permission],
        since,
        until: since + SignedDuration::from_secs(seconds),
        by: Some(Source {
            agent: Some("curl/8".into()),
            device: Some("Phone".into()),
            person: Some("Anna".into()),
            ..Source::of(Channel::Away)
        }),
    }
}

/// What was set is there until its end, also after the store was opened again. It is no change of an ask.
pub(super) async fn away_lasts_until_its_end_and_survives_reopening(mut world: World) {
    let now = whole_milliseconds(Timestamp::now());
    let (shop, all) = (note(Some("/shop"), "a", now, 10), note(None, "b", now, 20));
    world.store.set_away(shop.clone()).await.unwrap();
    world.store.set_away(all.clone()).await.unwrap();
    let snapshot = world.reopen().await;
    assert!(world.published().is_empty() && snapshot.cursor.0 == 0);
    let after = |seconds| now + SignedDuration::from_secs(seconds);
    assert_eq!(world.store.away(now).await.unwrap(), [all.clone(), shop]);
    assert_eq!(world.store.away(after(10)).await.unwrap(), [all]);
    assert_eq!(world.store.away(after(20)).await.unwrap(), []);
    assert_eq!(world.store.away(after(-1)).await.unwrap(), [], "not before it began");
}

/// Each project has one note, and so has the whole. Setting it again replaces it.
pub(super) async fn a_project_has_one_away_note(world: World) {
    let now = whole_milliseconds(Timestamp::now());
    for project in [None, Some("/shop"), Some("/site")] {
        for words in ["first", "second"] {
            world.store.set_away(note(project, words, now, 10)).await.unwrap();
        }
    }
    let found = world.store.away(now).await.unwrap();
    let found: Vec<_> = found.iter().map(|note| (note.project.as_deref(), note.words.as_str())).collect();
    assert_eq!(found, [(None, "second"), (Some("/shop"), "second"), (Some("/site"), "second")]);
}

/// The note of one project or all of them can be ended. The reply is what was on until then.
pub(super) async fn away_can_be_ended(mut world: World) {
    let now = whole_milliseconds(Timestamp::now());
    let (shop, site, all) =
        (note(Some("/shop"), "a", now, 10), note(Some("/site"), "b", now, 20), note(None, "c", now, 5));
    for note in [&shop, &site, &all] {
        world.store.set_away(note.clone()).await.unwrap();
    }
    let end = |project: Option<&str>, time| world.store.end_away(project.map(ToOwned::to_owned), time);
    assert_eq!(end(Some("/nowhere"), now).await.unwrap(), []);
    assert_eq!(end(Some("/shop"), now).await.unwrap(), [shop]);
    assert_eq!(end(Some("/shop"), now).await.unwrap(), []);
    assert_eq!(end(None, now + SignedDuration::from_secs(5)).await.unwrap(), [site], "the other was over by itself");
    world.reopen().await;
    assert_eq!(world.store.away(now).await.unwrap(), []);
}
