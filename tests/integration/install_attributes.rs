//! What belongs to a settings file besides its text: access control lists, extended attributes, its other names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};
use rustix::io::Errno;

use crate::install::{ORIGINAL, Project, moved, ours};
use crate::world::HOOK;

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// An access control list as the kernel takes it: the owner and one more user may read and write, the group may nothing. The mode
/// shows the mask in the place of the group, so it looks as if the group could do as much.
fn access_control_list() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 6, u32::MAX), // the owner
        (0x02, 6, 1234),     // one more user
        (0x04, 0, u32::MAX), // the group
        (0x10, 6, u32::MAX), // the mask
        (0x20, 0, u32::MAX), // everybody else
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// False, and said aloud, where the file system has no such attributes.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    match setxattr(path, name, value, XattrFlags::empty()) {
        Err(Errno::NOTSUP) => {
            eprintln!("SKIPPED: the file system of {} has no {name}", path.display());
            false
        }
        result => {
            result.unwrap();
            true
        }
    }
}

/// All attributes of a file, but for labels that the kernel gives to every file.
fn attributes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut names = vec![0; 65536];
    let length = listxattr(path, &mut names[..]).unwrap();
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names =
        names.map(|name| String::from_utf8(name.to_vec()).unwrap()).filter(|name| !name.starts_with("security."));
    let value = |name: &str| {
        let mut value = vec![0; 65536];
        let length = getxattr(path, name, &mut value[..]).unwrap();
        value.truncate(length);
        value
    };
    names.map(|name| (name.clone(), value(&name))).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn an_access_control_list_stays_and_the_group_gains_nothing() {
    let project = Project::with(ORIGINAL);
    if !set(&project.settings(), ACCESS, &access_control_list()) {
        return;
    }
    assert_eq!(mode(&project.settings()), 0o660, "the mask is shown in the place of the group");
    let before = attributes(&project.settings());
    for command in ["install", "uninstall"] {
        project.run(&[command]);
        assert_eq!((attributes(&project.settings()), mode(&project.settings())), (before.clone(), 0o660), "{command}");
    }
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
}

#[test]
fn extended_attributes_stay() {
    let project = Project::with(ORIGINAL);
    let large = vec![b'x'; 1000];
    for (name, value) in [("user.comment", b"mine".as_slice()), ("user.empty", b""), ("user.large", &large)] {
        if !set(&project.settings(), name, value) {
            return;
        }
    }
    let before = attributes(&project.settings());
    assert_eq!(before.len(), 3);
    for command in ["install", "uninstall"] {
        project.run(&[command]);
        assert_eq!(attributes(&project.settings()), before, "{command}");
    }
}

/// A directory can give every new file a list. The file that takes the place of one without a list is not to get it.
#[test]
fn a_file_without_a_list_gets_none_from_its_directory() {
    let project = Project::with(ORIGINAL);
    fs::set_permissions(project.settings(), fs::Permissions::from_mode(0o640)).unwrap();
    if !set(&project.dir.join(".claude"), DEFAULT, &access_control_list()) {
        return;
    }
    for command in ["install", "uninstall"] {
        project.run(&[command]);
        assert_eq!((attributes(&project.settings()), mode(&project.settings())), (BTreeMap::new(), 0o640), "{command}");
    }
}

/// Only root can give a file to another user, but whoever is in a group can give it to the group.
#[test]
fn no_other_group_gains_anything_if_somebody_else_than_the_owner_installs() {
    let (owner, installer, group) = (5678, 1234, 4321);
    for (groups, before, after) in
        [("--groups=4321", 0o640, (group, 0o640)), ("--clear-groups", 0o664, (installer, 0o644))]
    {
        let project = Project::with(ORIGINAL);
        let program = moved(&project.world.home().join("opt"));
        let home = project.world.home();
        let paths = ["", "opt", "shop", "shop/.claude", ".config", ".config/answerback"].map(|path| home.join(path));
        if paths.iter().any(|path| chown(path, Some(installer), Some(installer)).is_err()) {
            eprintln!("SKIPPED: only root can make files of several users");
            return;
        }
        chown(project.settings(), Some(owner), Some(group)).unwrap();
        fs::set_permissions(project.settings(), fs::Permissions::from_mode(before)).unwrap();
        let mut command = project.world.command("setpriv");
        let id = installer.to_string();
        command.args(["--reuid", &id, "--regid", &id, groups]).arg(program).arg("install");
        let output = command.current_dir(&project.dir).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let metadata = fs::metadata(project.settings()).unwrap();
        assert_eq!((metadata.gid(), metadata.mode() & 0o777), after, "{groups}");
    }
}

#[test]
fn a_file_with_another_name_is_refused_with_the_reason() {
    let project = Project::with(ORIGINAL);
    let other = project.world.home().join("dotfiles.json");
    fs::hard_link(project.settings(), &other).unwrap();
    let refused = |args: &[&str]| {
        let error = project.fails(args);
        assert!(error.contains("settings.json has 2 names (hard links)"), "{error}");
        assert!(error.contains("Nothing was changed"), "{error}");
        error
    };
    refused(&["install", "--dry-run"]);
    let error = refused(&["install"]);
    assert_eq!((project.bytes(), fs::metadata(&other).unwrap().nlink()), (ORIGINAL.into(), 2));
    assert_eq!(project.beside(), ["settings.json"]);

    // The hint works as it stands.
    let command = error.split('`').nth(1).unwrap();
    let output = project.world.command("sh").args(["-c", command]).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    project.run(&["install"]);
    assert_eq!(ours(&project.value()), [HOOK]);
    assert_eq!(fs::read_to_string(&other).unwrap(), ORIGINAL);

    // The other way: what already is as it should be needs no change, so it is not refused.
    fs::remove_file(&other).unwrap();
    fs::hard_link(project.settings(), &other).unwrap();
    project.run(&["install"]);
    refused(&["uninstall"]);
    assert_eq!(fs::read(&other).unwrap(), project.bytes());
    fs::remove_file(&other).unwrap();
    project.run(&["uninstall"]);
    assert_eq!(project.bytes(), ORIGINAL.as_bytes());
}
