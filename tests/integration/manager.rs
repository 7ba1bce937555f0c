//! A daemon that is a service of systemd stays its service.
//!
//! The test is the service manager: its `systemctl` is a script that passes on what it is asked, and says what it is told to say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::process::Signal;
use serde_json::json;

use crate::world::{ANSWERBACK, Hook, World, question, signal, until};

const SHOW: &str = "--user --no-ask-password show --property=MainPID --value answerback.service";
const RESTART: &str = "--user --no-ask-password restart answerback.service";
const STOP: &str = "--user --no-ask-password stop answerback.service";

const SYSTEMCTL: &str = "#!/bin/sh
echo \"$*\" > \"$HOME/asked\"
read -r code text < \"$HOME/said\"
if [ \"$code\" = 0 ]; then echo \"$text\"; else echo \"$text\" >&2; fi
exit \"$code\"
";

/// What the manager is asked, and what it says: an exit code and a text.
type Say = Box<dyn FnMut(&mut Service, &str) -> String + Send>;

/// A service manager with one service.
struct Manager {
    home: PathBuf,
    thread: JoinHandle<(Service, Vec<String>)>,
}

/// The service: a daemon, started as systemd starts one.
struct Service {
    home: PathBuf,
    daemon: Child,
}

impl Service {
    fn start(home: &Path) -> Self {
        let mut command = Command::new("sh");
        command.env_clear().env("HOME", home).env("INVOCATION_ID", "0123456789abcdef0123456789abcdef");
        command.args(["-c", "SYSTEMD_EXEC_PID=$$ exec \"$0\" daemon", ANSWERBACK]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { home: home.to_path_buf(), daemon: command.spawn().unwrap() }
    }

    fn stop(&mut self) {
        signal(self.daemon.id(), Signal::TERM);
        self.daemon.wait().unwrap();
    }
}

impl Manager {
    fn start(world: &World, mut say: Say) -> Self {
        let home = world.home().to_path_buf();
        let bin = home.join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(home.join("script"), SYSTEMCTL).unwrap();
        // Not written by this process: a program that another test starts would inherit the open file, and it could not be run.
        let mut install = Command::new("install");
        assert!(
            install.args(["-m", "755"]).args([home.join("script"), bin.join("systemctl")]).status().unwrap().success()
        );
        assert!(Command::new("mkfifo").args([home.join("asked"), home.join("said")]).status().unwrap().success());
        let mut service = Service::start(&home);
        until("the service", || {
            let pid = world.daemon_json()?["pid"].as_u64()?;
            (pid == u64::from(service.daemon.id()) && world.try_get("/healthz").is_ok()).then_some(())
        });
        let dir = home.clone();
        let thread = thread::spawn(move || {
            let mut asked = Vec::new();
            loop {
                let question = fs::read_to_string(dir.join("asked")).unwrap().trim().to_owned();
                if question.is_empty() {
                    return (service, asked);
                }
                let reply = say(&mut service, &question);
                asked.push(question);
                fs::write(dir.join("said"), format!("{reply}\n")).unwrap();
            }
        });
        Self { home, thread }
    }

    /// A command in a world that has this manager.
    fn run(&self, world: &World, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.home.join("bin").display());
        let mut command = world.command(ANSWERBACK);
        Hook::start(command.args(arguments).env("PATH", path)).finish()
    }

    /// The service, and everything that the manager was asked.
    fn end(self) -> (Service, Vec<String>) {
        fs::write(self.home.join("asked"), "\n").unwrap();
        self.thread.join().unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A manager that does what it is asked. Before it starts a service again, `before_start` returns.
fn obedient(before_start: impl Fn() + Send + 'static) -> Say {
    Box::new(move |service, question| match question {
        SHOW => format!("0 {}", service.daemon.id()),
        RESTART => {
            service.stop();
            before_start();
            *service = Service::start(&service.home);
            "0".to_owned()
        }
        STOP => {
            service.stop();
            "0".to_owned()
        }
        other => panic!("{other}"),
    })
}

/// How often a process has waited so far.
fn pauses_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.unwrap().trim().parse().unwrap()
}

#[test]
fn a_service_is_restarted_by_its_manager_and_no_hook_takes_its_place() {
    let mut world = World::new();
    let (parked, hook) = mpsc::channel::<u32>();
    // The hook has lost its daemon, and tries to start one for longer than that takes. Or it has started one.
    let json = world.state("daemon.json");
    let manager_is_slow = move || {
        let hook = hook.recv().unwrap();
        let before = pauses_of(hook);
        until("the hook to try", || (json.exists() || pauses_of(hook) > before + 100).then_some(()));
    };
    let manager = Manager::start(&world, obedient(manager_is_slow));
    let old = world.daemon_pid();
    let (hook, key) = world.ask("s", "t", &[question("Which?")]);
    assert_eq!(world.daemon_pid(), old);
    parked.send(hook.pid()).unwrap();
    let output = manager.run(&world, &["restart"]);
    assert!(output.status.success(), "{output:?}");
    let (service, asked) = manager.end();
    assert_eq!(asked, [SHOW, RESTART]);
    let new = service.daemon.id();
    assert_ne!(new, old);
    assert!(stderr(&output).contains(&format!("process {new}.")), "{output:?}");
    world.until_open(&key);
    world.answer(&key, &json!({"Which?": "A"})).expect(200);
    assert_eq!(hook.reply()["permissionDecision"], "allow");
    assert_eq!(world.daemon_pid(), new, "the daemon is no service any more");
}

#[test]
fn a_service_that_hangs_is_restarted_by_its_manager() {
    let world = World::new();
    let manager = Manager::start(&world, obedient(|| ()));
    signal(world.daemon_pid(), Signal::STOP);
    let output = manager.run(&world, &["restart"]);
    assert!(output.status.success() && stderr(&output).contains("was ended"), "{output:?}");
    let (service, asked) = manager.end();
    assert_eq!((asked, world.daemon_pid()), (vec![SHOW.to_owned(), RESTART.to_owned()], service.daemon.id()));
}

#[test]
fn a_service_is_stopped_through_its_manager() {
    let world = World::new();
    let manager = Manager::start(&world, obedient(|| ()));
    let output = manager.run(&world, &["stop"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(manager.run(&world, &["status"]).status.code(), Some(6));
    assert_eq!(manager.end().1, [SHOW, STOP]);
}

#[test]
fn a_manager_that_cannot_be_reached_or_refuses_leaves_the_daemon_alone() {
    for refuses in [SHOW, RESTART] {
        let world = World::new();
        let say = move |service: &mut Service, question: &str| match question {
            question if question == refuses => "1 Failed to connect to bus: No medium found".to_owned(),
            SHOW => format!("0 {}", service.daemon.id()),
            other => panic!("{other}"),
        };
        let manager = Manager::start(&world, Box::new(say));
        let pid = world.daemon_pid();
        let output = manager.run(&world, &["restart"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("Failed to connect to bus"), "{said}");
        assert!(said.contains("hint: ") && said.contains("systemctl --user restart answerback.service"), "{said}");
        world.get("/healthz").expect(200);
        assert_eq!((world.daemon_pid(), manager.end().0.daemon.id()), (pid, pid));
    }
}

/// Without a session of its own, as in a cron job, a command cannot reach the user's systemd.
#[test]
fn a_service_that_hangs_is_ended_even_if_its_manager_cannot_be_reached() {
    for (command, by_hand) in [("stop", "systemctl --user stop"), ("restart", "systemctl --user restart")] {
        let world = World::new();
        let say = |_: &mut Service, _: &str| "1 Failed to connect to bus: No medium found".to_owned();
        let manager = Manager::start(&world, Box::new(say));
        signal(world.daemon_pid(), Signal::STOP);
        let output = manager.run(&world, &[command]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("was ended") && said.contains(by_hand), "{said}");
        let mut service = manager.end().0;
        assert!(!service.daemon.wait().unwrap().success());
    }
}

#[test]
fn a_daemon_that_only_descends_from_a_service_is_not_its_manager_s() {
    let world = World::new();
    let manager = Manager::start(
        &world,
        Box::new(|_, question| match question {
            SHOW => "0 1".to_owned(),
            other => panic!("{other}"),
        }),
    );
    let old = world.daemon_pid();
    let output = manager.run(&world, &["restart"]);
    assert!(output.status.success(), "{output:?}");
    assert_ne!(world.daemon_pid(), old);
    let (mut service, asked) = manager.end();
    assert_eq!(asked, [SHOW]);
    service.daemon.wait().unwrap();
}
