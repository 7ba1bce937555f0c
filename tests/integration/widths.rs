//! What commands print in terminals of 60, 80 and 120 columns.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::Stdio;

use rusqlite::Connection;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::two_hosts;
use crate::world::{ANSWERBACK, World, question};

const WIDTHS: [u16; 3] = [60, 80, 120];

/// What a command writes to a terminal of this width, without colours.
fn in_terminal(world: &World, columns: u16, args: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
    tcsetwinsize(&terminal, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let mut command = world.command(ANSWERBACK);
    command.args(args).env("NO_COLOR", "1").stdin(Stdio::null()).stdout(terminal).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // It has the other end of the terminal. While it does, nobody would see that the program has closed its own.
    drop(command);
    let mut printed = Vec::new();
    // Reading ends with an error when the last program has closed the terminal.
    drop(File::from(master).read_to_end(&mut printed));
    assert!(child.wait().unwrap().success(), "{args:?}");
    String::from_utf8(printed).unwrap().replace("\r\n", "\n")
}

#[track_caller]
fn fits(columns: u16, printed: &str) {
    let longest = printed.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(longest <= usize::from(columns), "{longest} columns:\n{printed}");
}

/// Two open questions and a settled one, all from the day before yesterday, so that their ages do not change while the test runs.
fn world() -> (World, Vec<String>) {
    let mut world = World::new();
    let mut daemon = world.daemon();
    let long = "Which of the databases that we have looked at should the shop use from its first day on?";
    let keys: Vec<String> = [long, "Deploy?", long]
        .map(|text| {
            let ask = json!({"questions": [question(text)], "project": "/home/me/web-shop"});
            let asked = world.send(Some(&world.token()), "POST /v1/asks", &ask).expect(201).json();
            asked["key"].as_str().unwrap().to_owned()
        })
        .into();
    let answer = "SQLite, because there is only one machine, and nobody wants to look after a server";
    world.answer(&keys[2], &json!({ long: answer })).expect(200);
    world.stop_daemon(&mut daemon);
    let connection = Connection::open(world.state("asks.db")).unwrap();
    connection.execute("UPDATE asks SET opened_at = opened_at - 49 * 3600 * 1000", []).unwrap();
    (world, keys)
}

/// The same questions, but "Deploy?" and the settled one are of another machine.
fn world_of_two_hosts() -> (World, Vec<String>) {
    let (world, keys) = world();
    two_hosts::move_asks(&world, "build-7", "id > 1");
    // The name of this machine differs from one machine to the next, so these are of a third one.
    two_hosts::move_asks(&world, "laptop", "id = 1");
    (world, keys)
}

/// Lines of the history begin with a time.
fn without_times(printed: &str) -> String {
    let time = |line: &str| match line.get(16..).filter(|_| line.starts_with("20")) {
        Some(rest) => format!("YYYY-MM-DD HH:MM{rest}\n"),
        None => format!("{line}\n"),
    };
    printed.lines().map(time).collect()
}

/// What a command prints, with names for the keys.
fn printed(world: &World, keys: &[String], columns: u16, args: &[&str]) -> String {
    let mut printed = in_terminal(world, columns, args);
    fits(columns, &printed);
    for (key, name) in keys.iter().zip(["aaaaaa", "bbbbbb", "cccccc"]) {
        printed = printed.replace(&key[key.len() - 6..], name);
    }
    without_times(&printed)
}

#[test]
fn every_width_is_used_and_kept() {
    let (world, keys) = world();
    for columns in WIDTHS {
        for args in [&[][..], &["pending"], &["history"]] {
            let name = args.first().unwrap_or(&"overview");
            insta::assert_snapshot!(format!("{name}-{columns}"), printed(&world, &keys, columns, args));
        }
    }
}

#[test]
fn hosts_are_shown_at_every_width_if_there_are_two() {
    let (world, keys) = world_of_two_hosts();
    for columns in WIDTHS {
        for args in [&[][..], &["pending"], &["history"]] {
            let name = args.first().unwrap_or(&"overview");
            insta::assert_snapshot!(format!("{name}-of-two-hosts-{columns}"), printed(&world, &keys, columns, args));
        }
        let open = printed(&world, &keys, columns, &["show", &keys[1]]);
        let place: Vec<_> =
            open.lines().filter(|line| line.starts_with("  host") || line.starts_with("  proj")).collect();
        assert_eq!(place, ["  host     build-7", "  project  /home/me/web-shop"]);
    }
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let world = World::new();
    for columns in WIDTHS {
        for command in ["install", "away", "history"] {
            fits(columns, &in_terminal(&world, columns, &[command, "-h"]));
        }
        let printed = in_terminal(&world, columns, &["--help"]);
        fits(columns, &printed);
        insta::assert_snapshot!(format!("help-{columns}"), printed);
    }
}
