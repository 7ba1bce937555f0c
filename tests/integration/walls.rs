//! The rooms of the source, and the walls between them. The table in docs/architecture.md says which room may use which. These tests
//! read that table and the source, and fail on a path that the table does not allow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// One row of the table.
#[derive(Debug, Default)]
struct Room {
    /// The rooms it may use.
    uses: BTreeSet<String>,
    /// The crates that no other room may use.
    crates: BTreeSet<String>,
}

/// The words in backticks in a cell of the table.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches('/').to_owned()).collect()
}

/// The table under the heading "Rooms".
fn rooms() -> BTreeMap<String, Room> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/architecture.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("Rooms\n")).expect("no section called Rooms");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut rooms = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [room, _, uses, crates] = cells[..] else { panic!("a row has not four cells: {row}") };
        let room = names(room).pop_first().unwrap();
        let before = rooms.insert(room.clone(), Room { uses: names(uses), crates: names(crates) });
        assert!(before.is_none(), "{room} has two rows");
    }
    rooms
}

fn files_under(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// A source file of a room.
struct Source {
    room: String,
    /// Its path below `src`.
    name: String,
    /// How many modules it is below the root of the crate.
    depth: usize,
    text: String,
}

fn sources() -> Vec<Source> {
    let src = Path::new(ROOT).join("src");
    let mut files = Vec::new();
    files_under(&src, ".rs", &mut files);
    let mut sources = Vec::new();
    for file in files {
        let name = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        let modules = name.trim_end_matches(".rs").trim_end_matches("/mod");
        if matches!(modules, "lib" | "main") || modules.starts_with("bin/") {
            continue;
        }
        let room = modules.split('/').next().unwrap().to_owned();
        let depth = modules.split('/').count();
        sources.push(Source { room, depth, text: without_comments(&fs::read_to_string(&file).unwrap()), name });
    }
    assert!(sources.len() > 100, "only {} source files were found", sources.len());
    sources
}

/// Comments may name any room, and must not hide a path.
fn without_comments(text: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect()
}

/// What comes after each occurrence of `start`, up to the end of the word.
fn words_after<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(start).filter_map(move |(at, _)| {
        let is_inside = text[..at].ends_with(is_word);
        let rest = &text[at + start.len()..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        (!is_inside).then_some(&rest[..end])
    })
}

/// The first word of each path in `crate::{...}`.
fn grouped(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, start) in text.match_indices("crate::{") {
        let (mut depth, mut is_first) = (0, true);
        for word in text[at + start.len()..].split_inclusive([',', '{', '}']) {
            if depth == 0 && is_first {
                let word = word.trim_start();
                found.push(&word[..word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len())]);
            }
            depth += i32::from(word.ends_with('{')) - i32::from(word.ends_with('}'));
            is_first = word.ends_with(',');
            if depth < 0 {
                break;
            }
        }
    }
    found
}

/// The rooms that a text refers to. The root of the crate has constants only.
fn used_rooms(text: &str) -> BTreeSet<&str> {
    let is_room = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let mut used: BTreeSet<&str> = words_after(text, "crate::").chain(grouped(text)).filter(is_room).collect();
    if text.contains("answerback_hook::") {
        used.insert("hooks");
    }
    used
}

/// Whether a text names a crate, under its own name or to give it another one.
fn names_crate(text: &str, name: &str) -> bool {
    let is_path = |rest: &str| rest.starts_with("::") || rest.starts_with(" as ") || rest.starts_with(';');
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = text.match_indices(name);
    found.any(|(at, _)| {
        !text[..at].ends_with(is_word) && !text[..at].ends_with("::") && is_path(&text[at + name.len()..])
    })
}

/// Everything that is wrong with one source file.
fn faults(source: &Source, rooms: &BTreeMap<String, Room>) -> Vec<String> {
    let Source { room, name, depth, text } = source;
    let Some(own) = rooms.get(room) else { return vec![format!("src/{name}: the table has no room `{room}`")] };
    let mut faults = Vec::new();
    for used in used_rooms(text) {
        if used != room && !own.uses.contains(used) {
            faults.push(format!("src/{name}: `{room}` must not use `{used}`"));
        }
    }
    // With these, a room could be used under another name, which this test would not see.
    if ["crate::*", "crate as ", "crate::{self", "pub use crate::"].iter().any(|hidden| text.contains(hidden)) {
        faults.push(format!("src/{name}: names `crate` in a way that hides which room is used"));
    }
    // A module inside the file, as tests are, is one deeper.
    let (outside, inside) = text.split_once("\nmod tests {").unwrap_or((text, ""));
    let climbs = |text: &str, depth: usize| text.contains(&"super::".repeat(depth)) || text.contains("super::{super");
    if climbs(outside, *depth) || climbs(inside, depth + 1) {
        faults.push(format!("src/{name}: leaves its room with `super::`; write `crate::`"));
    }
    for (owner, other) in rooms.iter().filter(|(owner, _)| *owner != room) {
        for alone in &other.crates {
            if names_crate(text, alone) {
                faults.push(format!("src/{name}: only `{owner}` may use the crate {alone}"));
            }
        }
    }
    // Both ends of a link have its path from one place.
    let is_link = name == "store/hub/wire.rs";
    if text.contains("/v1/") && !is_link && !matches!(room.as_str(), "http" | "client") {
        faults.push(format!("src/{name}: only `http` and `client` know the paths of the API"));
    }
    faults
}

#[test]
fn no_room_uses_another_that_the_table_does_not_allow() {
    let rooms = rooms();
    let faults: Vec<String> = sources().iter().flat_map(|source| faults(source, &rooms)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_table_has_every_room_and_allows_nothing_that_nobody_needs() {
    let (rooms, sources) = (rooms(), sources());
    let mut surplus = Vec::new();
    for (name, room) in &rooms {
        let own: Vec<&Source> = sources.iter().filter(|source| source.room == *name).collect();
        // `hooks` is a crate and `page` is JavaScript. Both use no room.
        assert!(!own.is_empty() || matches!(name.as_str(), "hooks" | "page"), "there is no room `{name}`");
        let used: BTreeSet<&str> = own.iter().flat_map(|source| used_rooms(&source.text)).collect();
        surplus.extend(
            room.uses
                .iter()
                .filter(|allowed| !used.contains(allowed.as_str()))
                .map(|other| format!("{name} -> {other}")),
        );
        for alone in &room.crates {
            let is_used = own.iter().any(|source| names_crate(&source.text, alone));
            assert!(is_used, "`{name}` does not use the crate {alone}");
        }
    }
    assert!(surplus.is_empty(), "nobody needs: {surplus:?}");
}

#[test]
fn nothing_points_back() {
    let mut left = rooms();
    while !left.is_empty() {
        let free = left.iter().find(|(_, room)| room.uses.iter().all(|used| !left.contains_key(used)));
        let free = free.map(|(name, _)| name.clone());
        let Some(free) = free else { panic!("these rooms use each other in a circle: {:?}", left.keys()) };
        left.remove(&free);
    }
}

#[test]
fn a_forbidden_use_is_found() {
    let table: BTreeMap<String, Room> = rooms();
    let found = |room: &str, text: &str| {
        let (name, depth) = (format!("{room}/new.rs"), 2);
        !faults(&Source { room: room.into(), name, depth, text: text.into() }, &table).is_empty()
    };
    assert!(!found("registry", "use crate::ask::Ask;\nuse super::Wait;\n"));
    assert!(found("registry", "use crate::http::App;\n"));
    assert!(found("registry", "fn f() { crate::claude_code::PROBE_TOOL; }\n"));
    assert!(found("registry", "use crate::{ask::{Ask, AskId}, http::App};\n"));
    assert!(!found("registry", "use crate::{ask::{Ask, http}, store};\n"));
    assert!(found("registry", "use super::super::http::App;\n"));
    assert!(found("ask", "use rusqlite::Connection;\n") && found("inbox", "use axum::Json;\n"));
    assert!(found("ask", "use rusqlite as sql;\n") && found("ask", "fn f() { rusqlite::version(); }\n"));
    for hidden in [
        "use crate::*;\n",
        "use crate as root;\n",
        "use crate::{self as root};\n",
        "pub use crate::ask::Ask;\n",
        "fn f(_: super::super::http::App) {}\n",
        "use super::{super::http::App};\n",
    ] {
        assert!(found("registry", hidden), "{hidden}");
    }
    assert!(found("ask", "use answerback_hook::paths::Paths;\n"));
    assert!(found("cli", "format!(\"{url}/v1/asks\");\n"));
    assert!(found("cli", "client.get(\"/v1/asks\");\n") && !found("http", "path = \"/v1/asks\"\n"));
    assert!(found("attic", "\n"));
}

/// A name in the root of the crate would be visible to every room, whatever room it comes from.
#[test]
fn the_root_of_the_crate_has_rooms_and_constants_only() {
    let text = without_comments(&fs::read_to_string(Path::new(ROOT).join("src/lib.rs")).unwrap());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let is_allowed = ["#![", "mod ", "pub mod cli;", "pub const "].iter().any(|start| line.starts_with(start));
        assert!(is_allowed, "{line}");
    }
}

/// Proptest finds the seeds of past failures by the path of the test.
#[test]
fn the_seeds_of_past_failures_are_where_proptest_looks() {
    let dir = Path::new(ROOT).join("proptest-regressions");
    let mut files = Vec::new();
    files_under(&dir, ".txt", &mut files);
    assert!(!files.is_empty());
    for file in files {
        let source = Path::new(ROOT).join("src").join(file.strip_prefix(&dir).unwrap()).with_extension("rs");
        assert!(source.exists(), "{} belongs to no source file", file.display());
    }
}

#[test]
fn the_page_knows_the_daemon_only_through_its_own_api_module() {
    let mut files = Vec::new();
    files_under(&Path::new(ROOT).join("src/page"), ".js", &mut files);
    assert!(files.len() > 10);
    let outside = files.iter().filter(|file| !file.ends_with("api.js"));
    let asking: Vec<_> = outside.filter(|file| fs::read_to_string(file).unwrap().contains("/v1/")).collect();
    assert!(asking.is_empty(), "these know paths of the API: {asking:?}");
}
