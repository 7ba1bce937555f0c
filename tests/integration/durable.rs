//! What a loss of power must not take back is brought to the disk: the file before it gets its name, the directory after.

use std::path::Path;

use serde_json::json;

use crate::faults::{Faults, Sync, syncs};
use crate::world::{ANSWERBACK, World, question};

/// That the name was in the directory when that was synced, and that a file was synced in it before.
#[track_caller]
fn is_durable(syncs: &[Sync], dir: &Path, name: &str) {
    let is_named =
        |sync: &Sync| matches!(sync, Sync::Dir(path, names) if path == dir && names.iter().any(|n| n == name));
    let named = syncs.iter().position(is_named);
    let named = named.unwrap_or_else(|| panic!("{name} in {} was not synced: {syncs:#?}", dir.display()));
    let is_written = |sync: &Sync| matches!(sync, Sync::File(path) if path.parent() == Some(dir));
    // A directory has no text of its own.
    if !dir.join(name).is_dir() {
        assert!(syncs[..named].iter().any(is_written), "the text of {name} was not synced before: {syncs:#?}");
    }
}

#[test]
fn the_files_of_an_instance_and_the_way_to_them_are_on_disk_when_it_is_ready() {
    let mut world = World::with_config("lan_address = \"0.0.0.0:0\"\n");
    let noted = world.home().join("syncs");
    drop(world.daemon_with(|daemon| Faults::note_syncs(daemon, &noted)));
    let syncs = syncs(&noted);
    let state = world.state("").components().as_path().to_path_buf();
    for name in ["asks.db", "tokens.json", "tls.json", "daemon.json"] {
        is_durable(&syncs, &state, name);
    }
    for dir in state.ancestors().take_while(|dir| *dir != world.home()) {
        is_durable(&syncs, dir.parent().unwrap(), dir.file_name().unwrap().to_str().unwrap());
    }
}

#[test]
fn a_daemon_that_finds_its_store_as_it_was_does_not_wait_for_the_disk_because_of_it() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    // An open ask with a deadline stays as it is.
    let ask = json!({"questions": [question("Deploy?")], "timeout_seconds": 600});
    world.send(Some(&world.token()), "POST /v1/asks", &ask).expect(201);
    world.kill_daemon();
    daemon.wait().unwrap();
    let noted = world.home().join("syncs");
    drop(world.daemon_with(|daemon| Faults::note_syncs(daemon, &noted)));
    let store = |sync: &Sync| matches!(sync, Sync::File(path) if path.to_string_lossy().contains("asks.db"));
    let syncs = syncs(&noted);
    assert!(!syncs.iter().any(store), "{syncs:#?}");
}

#[test]
fn settings_and_their_backup_are_on_disk_when_the_command_returns() {
    let world = World::new();
    let shop = world.home().join("shop");
    std::fs::create_dir(&shop).unwrap();
    let run = |arguments: &[&str]| {
        let noted = world.home().join("syncs");
        drop(std::fs::remove_file(&noted));
        let mut command = world.command(ANSWERBACK);
        command.args(arguments).current_dir(&shop);
        Faults::note_syncs(&mut command, &noted);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        syncs(&noted)
    };
    let installed = run(&["install"]);
    is_durable(&installed, &shop.join(".claude"), "settings.json");
    is_durable(&installed, &shop, ".claude");
    let backups = world.state("backups");
    let backup = std::fs::read_dir(&backups).unwrap().next().unwrap().unwrap().path();
    is_durable(&installed, &backup, "record.json");
    is_durable(&installed, &backups, backup.file_name().unwrap().to_str().unwrap());
    // The way back is on disk before there is anything to go back from.
    let sync_of = |dir: &Path| installed.iter().rposition(|sync| matches!(sync, Sync::Dir(path, _) if path == dir));
    assert!(sync_of(&backup) < sync_of(&shop.join(".claude")), "{installed:#?}");

    let removed = run(&["uninstall"]);
    let is_gone = |sync: &Sync| matches!(sync, Sync::Dir(path, names) if *path == shop.join(".claude") && !names.iter().any(|name| name == "settings.json"));
    assert!(removed.iter().any(is_gone), "{removed:#?}");
}
