//! Daemons end and start again. Questions, hooks and answers survive it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use answerback_hook::start::create_state_dir;
use rustix::process::Signal;
use serde_json::json;

use crate::threads::until_asleep;
use crate::world::{ANSWERBACK, HOOK, Hook, IN_TIME, World, call, copy_program, make_program, question, signal, until};

#[test]
fn a_daemon_leaves_no_core_dumps() {
    let mut world = World::new();
    drop(world.daemon());
    let limits = fs::read_to_string(format!("/proc/{}/limits", world.daemon_pid())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
}

#[test]
fn many_hooks_without_a_daemon_start_one() {
    let mut world = World::new();
    let hooks: Vec<_> = (0..30).map(|n| world.hook(&call("s", &format!("t{n}"), &[question("Which?")]))).collect();
    for (n, hook) in hooks.into_iter().enumerate() {
        let key = format!("s__t{n}");
        world.until_open(&key);
        world.answer(&key, &json!({"Which?": n.to_string()})).expect(200);
        assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], n.to_string());
    }
    assert_eq!(world.log().matches(" ready ").count(), 1, "{}", world.log());
}

#[test]
fn a_daemon_started_by_a_hook_is_detached_from_it() {
    let mut world = World::new();
    let (_hook, _) = world.ask("s", "t", &[question("Which?")]);
    let pid = world.daemon_pid();
    let proc = |name: &str| format!("/proc/{pid}/{name}");
    let stat = fs::read_to_string(proc("stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let (parent, session) = (fields[1], fields[3]);
    assert_ne!(parent, std::process::id().to_string());
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    assert_ne!(session, own.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap());
    assert_eq!(fs::read_link(proc("cwd")).unwrap().to_str(), Some("/"));
    for fd in ["fd/0", "fd/1", "fd/2"] {
        assert_eq!(fs::read_link(proc(fd)).unwrap().to_str(), Some("/dev/null"), "{fd}");
    }
    // The hook inherits pipes of the test harness. The daemon must not keep any of them.
    let pipes = fs::read_dir(proc("fd")).unwrap().flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
    assert_eq!(pipes.filter(|target| target.to_string_lossy().starts_with("pipe:")).count(), 0);
}

#[test]
fn the_daemon_gets_only_a_few_variables_of_the_hooks_environment() {
    let mut world = World::new();
    let mut command = world.command(HOOK);
    command.env("CLAUDE_CODE_MESSAGING_TOKEN", "secret").env("ANTHROPIC_API_KEY", "secret").env("LANG", "C.UTF-8");
    command.env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    let _hook = world.hook_with(command, call("s", "t", &[question("Which?")]).to_string().as_bytes());
    world.until_open("s__t");
    let environment = fs::read_to_string(format!("/proc/{}/environ", world.daemon_pid())).unwrap();
    assert!(!environment.contains("secret") && environment.contains("LANG=C.UTF-8"), "{environment}");
    // The daemon keeps these variables for the reply.
    let store = rusqlite::Connection::open(world.state("asks.db")).unwrap();
    let detail: String = store.query_row("SELECT detail FROM asks", [], |row| row.get(0)).unwrap();
    let mut client = serde_json::from_str::<serde_json::Value>(&detail).unwrap()["client"].take();
    assert!(client.as_object_mut().unwrap().remove("call").is_some(), "the name of the call: {detail}");
    assert_eq!(client, json!({"entrypoint": "sdk-cli"}));
    for name in fs::read_dir(world.state("")).unwrap().flatten() {
        let bytes = fs::read(name.path()).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"secret"), "{:?}", name.path());
    }
}

#[test]
fn a_killed_daemon_is_started_again_by_the_hook_that_waits() {
    let mut world = World::new();
    let (mut hook, key) = world.ask("s", "t", &[question("Which?")]);
    for _ in 0..3 {
        let pid = world.kill_daemon();
        world.until_daemon_other_than(pid);
        world.until_open(&key);
        assert!(hook.is_waiting());
    }
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_daemon_that_is_killed_while_it_starts_is_started_once_more() {
    let mut world = World::new();
    let bin = world.home().join("bin");
    fs::create_dir(&bin).unwrap();
    copy_program(HOOK, &bin.join("answerback-hook"));
    // The first daemon dies before it can report anything.
    let script =
        format!("#!/bin/sh\nif mkdir \"$HOME/died\" 2>/dev/null; then kill -9 $$; fi\nexec {ANSWERBACK} \"$@\"\n");
    make_program(&bin.join("answerback"), script.as_bytes());
    let hook = world.hook_of(bin.join("answerback-hook"), call("s", "t", &[question("Which?")]).to_string().as_bytes());
    world.until_open("s__t");
    world.answer("s__t", &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
    assert!(world.home().join("died").exists());
}

#[test]
fn many_waits_survive_a_killed_daemon() {
    let mut world = World::new();
    let hooks: Vec<(Hook, String)> =
        (0..30).map(|n| world.ask(&format!("s{}", n % 3), &format!("t{n}"), &[question("Which?")])).collect();
    let pid = world.kill_daemon();
    world.until_daemon_other_than(pid);
    for (n, (_, key)) in hooks.iter().enumerate() {
        world.answer(key, &json!({"Which?": n.to_string()})).expect(200);
    }
    for (n, (hook, _)) in hooks.into_iter().enumerate() {
        assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], n.to_string());
    }
}

#[test]
fn an_answer_outlives_the_daemon_that_took_it() {
    let mut world = World::new();
    for round in 0..10 {
        let (hook, key) = world.ask("s", &format!("t{round}"), &[question("Which?")]);
        // The hook is stopped, so it can get the answer only from disk.
        signal(hook.pid(), Signal::STOP);
        world.kill_daemon();
        let mut second = world.daemon();
        world.answer(&key, &json!({"Which?": "A"})).expect(200);
        signal(second.id(), Signal::KILL);
        second.wait().unwrap();
        signal(hook.pid(), Signal::CONT);
        assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    }
}

#[test]
fn a_stopped_daemon_leaves_questions_open_and_cleans_up() {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    signal(hook.pid(), Signal::STOP);
    signal(daemon.id(), Signal::TERM);
    assert!(daemon.wait().unwrap().success());
    assert!(!world.state("daemon.json").exists() && !world.state("daemon.sock").exists());
    drop(world.daemon());
    world.until_open(&key);
    signal(hook.pid(), Signal::CONT);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
}

#[test]
fn a_question_that_comes_between_two_daemons_is_not_lost() {
    let mut world = World::new();
    for n in 0..10 {
        let mut daemon = world.daemon();
        signal(daemon.id(), Signal::TERM);
        // The old daemon keeps its lock for a moment.
        let (hook, key) = world.ask("s", &format!("t{n}"), &[question("Which?")]);
        daemon.wait().unwrap();
        world.answer(&key, &json!({"Which?": "A"})).expect(200);
        assert_eq!(hook.reply()["permissionDecision"], "allow");
        world.kill_daemon();
    }
}

#[test]
fn a_release_and_an_expiry_outlive_the_daemon_too() {
    let mut world = World::with_config("timeout_seconds = 2\n");
    let (released, key) = world.ask("s", "t", &[question("Which?")]);
    let (expired, late) = world.ask("s", "u", &[question("Which?")]);
    signal(released.pid(), Signal::STOP);
    signal(expired.pid(), Signal::STOP);
    world.kill_daemon();
    let mut second = world.daemon();
    world.post(&format!("/v1/asks/{key}/release"), &json!({})).expect(200);
    assert_eq!(world.settled(&late)["outcome"]["kind"], "expired");
    signal(second.id(), Signal::KILL);
    second.wait().unwrap();
    for hook in [released, expired] {
        signal(hook.pid(), Signal::CONT);
        hook.no_decision();
    }
    assert_eq!(world.get("/v1/asks?state=all").json()["asks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_store_that_is_busy_when_a_hook_comes_back_does_not_lose_its_answer() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    signal(hook.pid(), Signal::STOP);
    world.kill_daemon();
    drop(world.daemon());
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    let lock = rusqlite::Connection::open(world.state("asks.db")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    signal(hook.pid(), Signal::CONT);
    assert_eq!(hook.reply()["updatedInput"]["answers"], json!({"Which?": "A"}));
    drop(lock);
}

#[test]
fn hooks_that_are_killed_at_any_moment_leave_nothing_open() {
    let mut world = World::new();
    drop(world.daemon());
    for n in 0..30u32 {
        let hook = world.hook(&call("s", &format!("t{n}"), &[question("Which?")]));
        // The hook ends somewhere between its start and its wait. The sleep is on purpose.
        std::thread::sleep(std::time::Duration::from_micros(u64::from(n) * 150));
        signal(hook.pid(), Signal::TERM);
        hook.finish();
    }
    // First, the daemon has taken everything that the dead hooks sent: a question that it has yet to open would be overlooked.
    until_asleep(world.daemon_pid());
    until("everything to be withdrawn", || (world.get("/v1/asks").json()["asks"].as_array()?.is_empty()).then_some(()));
}

#[test]
fn a_daemon_starts_despite_the_files_of_a_dead_one() {
    let mut world = World::new();
    drop(world.daemon());
    world.kill_daemon();
    assert!(world.state("daemon.json").exists() && world.state("daemon.sock").exists());
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    hook.reply();
}

#[test]
fn an_ask_whose_hook_died_with_the_daemon_is_withdrawn() {
    let mut world = World::new();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    signal(hook.pid(), Signal::STOP);
    world.kill_daemon();
    signal(hook.pid(), Signal::KILL);
    hook.finish();
    drop(world.daemon());
    assert_eq!(world.get("/v1/asks").json()["asks"].as_array().unwrap().len(), 1);
    assert_eq!(world.settled(&key)["outcome"]["kind"], "withdrawn");
}

#[test]
fn a_second_daemon_is_refused() {
    let mut world = World::new();
    drop(world.daemon());
    let second = world.command(ANSWERBACK).arg("daemon").output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("running already"), "{second:?}");
    world.get("/healthz").expect(200);
}

#[test]
fn a_daemon_takes_another_port_unless_one_was_asked_for() {
    let mut world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let exactly = world.command(ANSWERBACK).args(["daemon", "--port", &port.to_string()]).output().unwrap();
    assert_eq!(exactly.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&exactly.stderr).contains("Choose another port"), "{exactly:?}");
    world.write_config(&format!("port = {port}\n"));
    drop(world.daemon());
    assert_ne!(world.address(), format!("127.0.0.1:{port}"));
    world.get("/healthz").expect(200);
}

#[test]
fn the_daemon_listens_on_loopback_only() {
    let mut world = World::new();
    drop(world.daemon());
    let sockets = fs::read_to_string(format!("/proc/{}/net/tcp", world.daemon_pid())).unwrap();
    let port: u16 = world.address().rsplit(':').next().unwrap().parse().unwrap();
    let listening: Vec<_> =
        sockets.lines().filter(|line| line.contains(&format!(":{port:04X} 00000000:0000 0A"))).collect();
    assert_eq!(listening.len(), 1);
    assert!(listening[0].contains(&format!("0100007F:{port:04X}")), "{listening:?}");
}

#[test]
fn the_hook_waits_for_a_full_backlog() {
    let mut world = World::new();
    create_state_dir(&world.state("")).unwrap();
    // A listener that accepts nothing, so that its backlog fills up.
    let listener = UnixListener::bind(world.state("daemon.sock")).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let socket = world.state("daemon.sock");
    let full = || {
        let client = rustix::net::socket_with(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            rustix::net::SocketFlags::NONBLOCK,
            None,
        )
        .unwrap();
        let address = rustix::net::SocketAddrUnix::new(&socket).unwrap();
        rustix::net::connect(&client, &address).map(|()| client)
    };
    let waiting: Vec<_> = std::iter::from_fn(|| full().ok()).take(64).collect();
    assert!(waiting.len() < 64, "the backlog has no end");
    // If nobody accepts, the hook gives up in time.
    let hook = world.hook(&call("s", "t", &[question("Which?")]));
    let started = hook.started;
    hook.no_decision();
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
    // If somebody accepts, the hook gets through.
    let _hook = world.hook(&call("s", "t", &[question("Which?")]));
    for _ in &waiting {
        drop(listener.accept().unwrap());
    }
    let (mut stream, _) = listener.accept().unwrap();
    let mut head = [0; 4];
    std::io::Read::read_exact(&mut stream, &mut head).unwrap();
    assert_eq!(&head, b"POST");
}

#[test]
fn a_daemon_that_hangs_does_not_block_the_hook() {
    let mut world = World::new();
    let daemon = world.daemon();
    signal(daemon.id(), Signal::STOP);
    let hook = world.hook(&call("s", "t", &[question("Which?")]));
    let started = hook.started;
    let output = hook.no_decision();
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
    assert!(String::from_utf8_lossy(&output.stderr).contains("does not answer"), "{output:?}");
    signal(daemon.id(), Signal::CONT);
    drop(daemon);
}
