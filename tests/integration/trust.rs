//! Hooks and commands talk only to the daemon of their own user.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use answerback_hook::start::create_state_dir;
use rustix::process::{Gid, Uid};
use serde_json::json;

use crate::world::{ANSWERBACK, HOOK, NOBODY, World, call, question};

/// A listener of another user on this machine. It would answer in our place.
struct Stranger {
    socket: PathBuf,
    received: mpsc::Receiver<usize>,
}

impl Stranger {
    /// Listens in a directory of that user. Only root can do this.
    fn listen(dir: &Path) -> Self {
        fs::create_dir_all(dir).unwrap();
        std::os::unix::fs::lchown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
        let socket = dir.join("daemon.sock");
        let (ready, is_ready) = mpsc::channel();
        let (count, received) = mpsc::channel();
        let path = socket.clone();
        thread::spawn(move || {
            // This changes only this thread. The kernel records the user that begins to listen.
            let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            let listener = UnixListener::bind(path).unwrap();
            ready.send(()).unwrap();
            for stream in listener.incoming() {
                let mut bytes = Vec::new();
                stream.unwrap().read_to_end(&mut bytes).unwrap();
                count.send(bytes.len()).unwrap();
            }
        });
        is_ready.recv().unwrap();
        Self { socket, received }
    }

    /// Checks that the client hung up without sending anything.
    #[track_caller]
    fn got_nothing(&self) {
        assert_eq!(self.received.recv_timeout(Duration::from_secs(20)), Ok(0));
    }
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can act as another user");
    }
    is_root
}

#[test]
fn a_state_directory_of_another_user_is_not_used() {
    if !is_root() {
        return;
    }
    let mut world = World::new();
    let _stranger = Stranger::listen(&world.state(""));
    let output = world.hook(&call("s", "t", &[question("Which?")])).no_decision();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("belongs to another user"), "{stderr}");
    let output = world.command(ANSWERBACK).arg("pending").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && stderr.contains("belongs to another user"), "{stderr}");
}

#[test]
fn nothing_is_sent_to_a_socket_of_another_user() {
    if !is_root() {
        return;
    }
    let mut world = World::new();
    create_state_dir(&world.state("")).unwrap();
    let stranger = Stranger::listen(&world.home().join("theirs"));
    fs::rename(&stranger.socket, world.state("daemon.sock")).unwrap();
    let output = world.hook(&call("s", "t", &[question("Which?")])).no_decision();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("another user listens on"), "{stderr}");
    stranger.got_nothing();
    let output = world.command(ANSWERBACK).arg("status").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && stderr.contains("another user listens on"), "{stderr}");
    stranger.got_nothing();
}

#[test]
fn a_directory_that_others_can_use_is_not_used() {
    let mut world = World::new();
    let (_waiting, _) = world.ask("s", "before", &[question("Which?")]);
    fs::set_permissions(world.state(""), fs::Permissions::from_mode(0o770)).unwrap();
    let output = world.hook(&call("s", "t", &[question("Which?")])).no_decision();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("chmod go-rwx"), "{stderr}");
    fs::set_permissions(world.state(""), fs::Permissions::from_mode(0o700)).unwrap();
    let (hook, key) = world.ask("s", "after", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}

#[test]
fn new_directories_are_private_whatever_the_umask() {
    let mut world = World::new();
    let mut command = world.command(HOOK);
    #[allow(unsafe_code)]
    // SAFETY: umask may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            rustix::process::umask(rustix::fs::Mode::empty());
            Ok(())
        });
    }
    let _hook = world.hook_with(command, call("s", "t", &[question("Which?")]).to_string().as_bytes());
    world.until_open("s__t");
    for dir in [".local", ".local/state", ".local/state/answerback"] {
        let mode = fs::metadata(world.home().join(dir)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700, "{dir} has mode {mode:o}");
    }
}
