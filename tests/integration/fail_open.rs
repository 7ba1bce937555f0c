//! Whatever goes wrong, the hook succeeds without a decision within two seconds, so that Claude Code opens its own dialog.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use answerback_hook::start::create_state_dir;
use serde_json::json;

use crate::world::{HOOK, Hook, IN_TIME, World, call, copy_program, question};

/// Checks that the hook made no decision in time, and returns its message.
#[track_caller]
fn failed_open(hook: Hook) -> String {
    let started = hook.started;
    let output = hook.no_decision();
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.lines().count() <= 1, "{stderr}");
    stderr
}

#[test]
fn the_hook_fails_open_without_a_daemon_to_start() {
    let mut world = World::new();
    let alone = world.home().join("answerback-hook");
    copy_program(HOOK, &alone);
    let ask = call("s", "t", &[question("Which?")]).to_string();
    let huge = vec![b' '; 10 * 1024 * 1024];
    for (stdin, complaint) in
        [(ask.as_bytes(), "cannot start"), (b"garbage", ""), (&huge, "over 1048576 bytes"), (b"", "")]
    {
        let hook = world.hook_of(&alone, stdin);
        let stderr = failed_open(hook);
        assert!(stderr.contains(complaint), "{stderr}");
    }
}

#[test]
fn the_hook_fails_open_with_input_that_is_not_a_question() {
    let mut world = World::new();
    drop(world.daemon());
    let mut deep = call("s", "t", &[question("Which?")]).to_string();
    deep.insert_str(1, &format!("\"deep\":{}{},", "[".repeat(200), "]".repeat(200)));
    let huge = vec![b'7'; 10 * 1024 * 1024];
    let refused: [&[u8]; 6] = [b"garbage", b"\xff\xfe", b"[]", b"{\"hook_event_name\": 7}", deep.as_bytes(), &huge];
    for stdin in refused {
        let hook = world.hook_of(HOOK, stdin);
        assert_ne!(failed_open(hook), "", "{:?}", String::from_utf8_lossy(&stdin[..stdin.len().min(40)]));
    }
    let mut stop = call("s", "t", &[question("Which?")]);
    stop["hook_event_name"] = json!("Stop");
    let mut bash = call("s", "t", &[question("Which?")]);
    bash["tool_name"] = json!("Bash");
    let mut no_questions = call("s", "t", &[question("Which?")]);
    no_questions["tool_input"] = json!({});
    let mut bad_session = call("s", "t", &[question("Which?")]);
    bad_session["session_id"] = json!("../..");
    for call in [stop, bash, no_questions, bad_session] {
        let hook = world.hook(&call);
        assert_eq!(failed_open(hook), "");
    }
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"], json!([]));
}

#[test]
fn the_hook_fails_open_and_says_why_the_daemon_cannot_start() {
    let mut world = World::new();
    world.write_config("port = 0\nno_such_key = 1\n");
    let hook = world.hook(&call("s", "t", &[question("Which?")]));
    let stderr = failed_open(hook);
    assert!(stderr.contains("no_such_key") && stderr.contains("line 2"), "{stderr}");
}

#[test]
fn the_hook_fails_open_if_others_can_use_the_state_directory() {
    let mut world = World::new();
    fs::create_dir_all(world.state("")).unwrap();
    fs::set_permissions(world.state(""), fs::Permissions::from_mode(0o755)).unwrap();
    let hook = world.hook(&call("s", "t", &[question("Which?")]));
    assert!(failed_open(hook).contains("chmod"));
}

#[test]
fn the_hook_fails_open_if_the_socket_is_not_the_daemons() {
    let mut world = World::new();
    create_state_dir(&world.state("")).unwrap();
    let listener = UnixListener::bind(world.state("daemon.sock")).unwrap();
    let hook = world.hook(&call("s", "t", &[question("Which?")]));
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 16]).unwrap();
    stream.write_all(b"SSH-2.0-nonsense\r\n\r\n").unwrap();
    drop(stream);
    assert!(failed_open(hook).contains("makes no sense"));

    // This one takes every call and hangs up. The hook tries again for a while, and gives up in time.
    let hook = world.hook(&call("s", "t", &[question("Which?")]));
    std::thread::spawn(move || listener.incoming().for_each(drop));
    assert!(failed_open(hook).contains("lost"));
}

#[test]
fn the_hook_fails_open_if_the_reply_is_not_an_object() {
    let mut world = World::new();
    create_state_dir(&world.state("")).unwrap();
    let listener = UnixListener::bind(world.state("daemon.sock")).unwrap();
    for reply in ["true", "{}{}", "{not json}", "{\"a\":1}\n{}", "{\"a\":\"\u{1}\"}"] {
        let hook = world.hook(&call("s", "t", &[question("Which?")]));
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 16]).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{reply}", reply.len()).unwrap();
        assert!(failed_open(hook).contains("not one JSON object"), "{reply}");
    }
}

#[test]
fn a_symlink_to_the_hook_finds_the_daemon_beside_the_real_hook() {
    let mut world = World::new();
    let link = world.home().join("link-to-hook");
    symlink(HOOK, &link).unwrap();
    let hook = world.hook_of(&link, call("s", "t", &[question("Which?")]).to_string().as_bytes());
    world.until_open("s__t");
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}
