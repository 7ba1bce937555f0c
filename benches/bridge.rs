//! Measures time and memory of the real programs, beside comparable programs and a lower limit, all in one run. Prints the tables of
//! docs/performance.md. Compare the ratios, because the times differ from machine to machine.
//!
//!     cargo build --release --no-default-features --bin answerback-hook --target x86_64-unknown-linux-musl
//!     cargo bench --bench bridge             # all tables
//!     cargo bench --bench bridge -- race     # one of them
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot go on stops")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/integration/http.rs"]
mod http;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/integration/world.rs"]
mod world;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use world::{HOOK, World, call, question};

/// The static hook, if `cargo build --target` has built it beside the programs of this benchmark.
fn static_hook() -> Option<String> {
    let target_dir = Path::new(HOOK).parent()?.parent()?;
    let hook = target_dir.join("x86_64-unknown-linux-musl/release/answerback-hook");
    if !hook.exists() {
        eprintln!("no static hook in {}: its row is missing below", hook.display());
    }
    hook.exists().then(|| hook.display().to_string())
}

fn main() {
    let limit = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).unwrap();
    let tables: [(&str, fn()); 6] = [
        ("hook_processes", hook_processes),
        ("idle_events", idle_events),
        ("parked_waits", parked_waits),
        ("open_list", open_list),
        ("durable_answers", durable_answers),
        ("race", race),
    ];
    // Cargo passes `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for (name, table) in tables {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            table();
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

fn table(title: &str, columns: &[&str], rows: &[Vec<String>]) {
    println!("\n## {title}\n\n| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// The time from spawn to exit, with a daemon that has nothing to reply. Every hook call costs Claude Code this much.
fn hook_processes() {
    let mut world = World::new();
    drop(world.daemon());
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"}).to_string();
    let socket = world.state("daemon.sock").display().to_string();
    let url = "http://localhost/v1/hooks/claude-code";
    let python = format!(
        "import http.client, socket, sys\nc = http.client.HTTPConnection('localhost')\n\
         c.sock = socket.socket(socket.AF_UNIX)\nc.sock.connect({socket:?})\n\
         c.request('POST', '/v1/hooks/claude-code', sys.stdin.buffer.read(), {{'Content-Type': 'application/json'}})\n\
         sys.stdout.buffer.write(c.getresponse().read())"
    );
    let curl = ["-s", "--unix-socket", &socket, "--json", "@-", url];
    let static_hook = static_hook().unwrap_or_default();
    // Where curl and Python are.
    let path = std::env::var_os("PATH").unwrap();
    let programs: [(&str, &str, &[&str]); 5] = [
        ("`/bin/true`, for comparison", "/bin/true", &[]),
        ("answerback-hook, static", &static_hook, &[]),
        ("answerback-hook, dynamic", HOOK, &[]),
        ("curl", "curl", &curl),
        ("Python, http.client", "python3", &["-c", &python]),
    ];
    let mut times = vec![Vec::new(); programs.len()];
    // The programs take turns, so that a slow moment of the machine affects all of them.
    for _ in 0..150 {
        for ((_, program, args), times) in programs.iter().zip(&mut times) {
            let mut command = world.command(program);
            command.args(*args).env("PATH", &path).stdout(Stdio::null());
            let started = Instant::now();
            let Ok(mut child) = command.spawn() else { continue };
            drop(child.stdin.take().unwrap().write_all(stop.as_bytes()));
            child.wait().unwrap();
            times.push(started.elapsed());
        }
    }
    let limit = median(times[0].clone());
    let mut rows = Vec::new();
    for ((name, _, _), times) in programs.iter().zip(times) {
        if !times.is_empty() {
            let time = median(times);
            rows.push(vec![
                (*name).to_owned(),
                millis(time),
                format!("{:.2}", time.as_secs_f64() / limit.as_secs_f64()),
            ]);
        }
    }
    table("One hook call, spawn to exit", &["program", "median", "x `/bin/true`"], &rows);
}

/// The time of an event in a session without open asks, without the hook's process. `Stop` and similar events cost the daemon this much.
fn idle_events() {
    let mut world = World::new();
    drop(world.daemon());
    let round_trip = |stream: &mut UnixStream, request: &[u8]| {
        let mut reply = [0; 4096];
        let times = (0..2000).map(|_| {
            let started = Instant::now();
            stream.write_all(request).unwrap();
            assert_ne!(stream.read(&mut reply).unwrap(), 0);
            started.elapsed()
        });
        median(times.collect())
    };
    let (mut near, mut far) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = far.read(&mut buffer) {
            far.write_all(&buffer[..count]).unwrap();
        }
    });
    let body = json!({"hook_event_name": "Stop", "session_id": "s"}).to_string();
    let head = "POST /v1/hooks/claude-code HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let limit = round_trip(&mut near, request.as_bytes());
    let mut daemon = UnixStream::connect(world.state("daemon.sock")).unwrap();
    let event = round_trip(&mut daemon, request.as_bytes());
    let row = |name: &str, time: Duration| {
        vec![
            name.to_owned(),
            format!("{:.0} us", time.as_secs_f64() * 1e6),
            format!("{:.1}", time.as_secs_f64() / limit.as_secs_f64()),
        ]
    };
    table(
        "An event of a session without an open question, in the daemon alone",
        &["", "median", "x echo"],
        &[row("a thread that echoes the same bytes (the limit)", limit), row("the daemon", event)],
    );
}

/// Parks a call, as a waiting hook does.
fn park(socket: &Path, session: usize, id: usize) -> UnixStream {
    let body = call(&format!("s{session}"), &format!("t{id}"), &[question("Which of the two?")]).to_string();
    let mut stream = UnixStream::connect(socket).unwrap();
    let head = "POST /v1/hooks/claude-code HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    stream
}

fn until_open_count(world: &World, count: usize) {
    world::until("all questions to open", || {
        let open = world.get("/v1/asks").json()["asks"].as_array().unwrap().len();
        (open == count).then_some(())
    });
}

/// Resident memory in KiB.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn parked_waits() {
    let mut world = World::new();
    drop(world.daemon());
    let pid = world.daemon_pid();
    let idle = resident(pid);
    let mut rows = vec![vec!["0".into(), format!("{:.1} MB", idle as f64 / 1024.0), String::new(), String::new()]];
    let mut parked = Vec::new();
    for (count, watched) in [(1_000, Duration::from_secs(60)), (9_000, Duration::from_secs(10))] {
        for id in parked.len()..count {
            parked.push(park(&world.state("daemon.sock"), id / 50, id));
        }
        until_open_count(&world, count);
        let memory = resident(pid);
        // The connections of the checks above must be closed before the measurement.
        thread::sleep(Duration::from_secs(11));
        let ticks = cpu_ticks(pid);
        thread::sleep(watched);
        let spent = (cpu_ticks(pid) - ticks) as f64 * 10.0 / (watched.as_secs_f64() * 1000.0) * 100.0;
        rows.push(vec![
            count.to_string(),
            format!("{:.1} MB", memory as f64 / 1024.0),
            format!("{:.1} KB", (memory - idle) as f64 / count as f64),
            format!("{spent:.1}% over {} s", watched.as_secs()),
        ]);
    }
    table("Waiting questions", &["waiting", "resident", "each", "CPU"], &rows);
}

fn open_list() {
    let mut world = World::new();
    drop(world.daemon());
    let _parked: Vec<_> = (0..100).map(|id| park(&world.state("daemon.sock"), id / 50, id)).collect();
    until_open_count(&world, 100);
    let list = || {
        median(
            (0..200)
                .map(|_| {
                    let started = Instant::now();
                    world.get("/v1/asks").expect(200);
                    started.elapsed()
                })
                .collect(),
        )
    };
    let empty = list();
    let body = json!({"questions": [question("Which of the two?")]});
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..625 {
                    let key = world.post("/v1/asks", &body).expect(201).json()["key"].as_str().unwrap().to_owned();
                    world.answer(&key, &json!({"Which of the two?": "A"})).expect(200);
                }
            });
        }
    });
    let full = list();
    let ratio = full.as_secs_f64() / empty.as_secs_f64();
    table(
        "Listing 100 open questions",
        &["settled in the store", "median", "ratio"],
        &[vec!["0".into(), millis(empty), "1".into()], vec!["10,000".into(), millis(full), format!("{ratio:.2}")]],
    );
}

/// One question after the other: the time from the first byte of the answer until the hook has ended.
fn durable_answers() {
    let mut world = World::new();
    drop(world.daemon());
    let hook = static_hook().unwrap_or_else(|| HOOK.to_owned());
    let mut log = File::create(world.home().join("synced")).unwrap();
    let (mut syncs, mut posts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let answer: Value = json!({"Which?": "A"});
    for n in 0..200 {
        let started = Instant::now();
        log.write_all(&[0; 512]).unwrap();
        log.sync_data().unwrap();
        syncs.push(started.elapsed());
        let call = call("s", &format!("t{n}"), &[question("Which?")]).to_string();
        let waiting = world.hook_of(&hook, call.as_bytes());
        let key = format!("s__t{n}");
        world.until_open(&key);
        let started = Instant::now();
        world.answer(&key, &answer).expect(200);
        posts.push(started.elapsed());
        waiting.output();
        ends.push(started.elapsed());
    }
    let sync = median(syncs);
    let row = |name: &str, time: Duration| {
        vec![name.to_owned(), millis(time), format!("{:.1}", time.as_secs_f64() / sync.as_secs_f64())]
    };
    table(
        "One durable answer",
        &["step", "median", "x one synced append"],
        &[
            row("one append of 512 bytes, fdatasync", sync),
            row("POST of the answer, from connecting to the 200", median(posts)),
            row("the same, until the hook has ended", median(ends)),
        ],
    );
}

/// A race needs one more process for each question, for the call beside the dialog.
fn race() {
    let mut world = World::new();
    drop(world.daemon());
    let hook = static_hook().unwrap_or_else(|| HOOK.to_owned());
    let mut times: [Vec<Duration>; 4] = Default::default();
    let mut run = |world: &mut World, row: usize, attended: &str, call: &Value| {
        let mut command = world.command(&hook);
        command.env("CLAUDE_CODE_SESSION_ATTENDED", attended);
        let started = Instant::now();
        world.hook_with(command, call.to_string().as_bytes()).output();
        times[row].push(started.elapsed());
    };
    let answer = |world: &World, key: &str| drop(world.answer(key, &json!({"Which?": "A"})).expect(200));
    for n in 0..200 {
        run(&mut world, 0, "1", &json!({"hook_event_name": "Stop", "session_id": "other"}));
        let held = call("hold", &format!("t{n}"), &[question("Which?")]);
        let waiting = world.hook_of(&hook, held.to_string().as_bytes());
        world.until_open(&format!("hold__t{n}"));
        answer(&world, &format!("hold__t{n}"));
        waiting.output();
        run(&mut world, 1, "0", &held);

        let mut raced = call("race", &format!("t{n}"), &[question("Which?")]);
        run(&mut world, 2, "1", &raced);
        answer(&world, &format!("race__t{n}"));
        raced["hook_event_name"] = json!("PermissionRequest");
        drop(raced.as_object_mut().unwrap().remove("tool_use_id"));
        run(&mut world, 3, "1", &raced);
    }
    let [nothing, held, announced, beside] = times.map(median);
    let row = |name: &str, time: Duration| {
        vec![name.to_owned(), millis(time), format!("{:.2}", time.as_secs_f64() / nothing.as_secs_f64())]
    };
    table(
        "What a race adds",
        &["a hook call, spawn to exit", "median", "ratio"],
        &[
            row("with nothing to do", nothing),
            row("hold: its only call, after the answer has come", held),
            row("race: the first call, which stores the question and returns", announced),
            row("race: the second call, beside the dialog, after the answer has come", beside),
        ],
    );
}
