//! What the pages name exists.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use regex_lite::Regex;
use serde_json::{Value, json};

use crate::world::{ANSWERBACK, World};

use super::page::{Page, ROOT};

/// Every page but the one that is generated.
fn written_pages() -> impl Iterator<Item = Page> {
    Page::all().into_iter().filter(|page| !page.path.ends_with("compatibility.md"))
}

#[test]
fn every_page_says_for_whom_it_is() {
    for page in written_pages().filter(|page| !page.path.ends_with("README.md")) {
        let first = page.text.lines().nth(2).unwrap_or_default();
        assert!(first.starts_with("This page is for people "), "{}: {first}", page.name());
    }
}

#[test]
fn no_line_is_too_long() {
    for page in written_pages() {
        // The tables of the architecture have more columns than others, and a row cannot be wrapped.
        let has_wide_tables = page.path.ends_with("architecture.md");
        let lines = (1..).zip(page.text.lines());
        for (number, line) in lines.filter(|(_, line)| !(has_wide_tables && line.starts_with('|'))) {
            assert!(line.chars().count() <= 100, "{}:{number}: {line}", page.name());
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r#"\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)""#).unwrap();
    for page in Page::all() {
        let text: String = page.prose().into_iter().flat_map(|(_, line)| [line, "\n"]).collect();
        for found in link.captures_iter(&text) {
            let target = found.get(1).or(found.get(2)).unwrap().as_str();
            if target.starts_with("https://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.path.clone() } else { page.path.parent().unwrap().join(file) };
            assert!(Path::new(ROOT).join(&path).exists(), "{}: {target}", page.name());
            let is_known = || Page::read(&path).anchors().contains(anchor);
            assert!(anchor.is_empty() || is_known(), "{}: {target}", page.name());
        }
    }
}

#[test]
fn commands_and_options_exist() {
    let world = World::new();
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let option = Regex::new(r"(?:^|\s)(--?[a-z][a-z-]*)").unwrap();
    for page in written_pages() {
        for line in page.command_lines() {
            // What follows `--`, a pipe or a comment is another program's, and what is quoted is a value.
            let line = Regex::new(r"'[^']*'").unwrap().replace_all(&line, "VALUE").into_owned();
            let line = line.split(" -- ").next().unwrap().split(['|', '#', ';', ')']).next().unwrap();
            let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
            let mut words: Vec<String> = line.split(' ').skip(1).take_while(is_name).map(ToOwned::to_owned).collect();
            const NESTED: [&str; 8] = [
                "devices revoke",
                "host add",
                "hosts revoke",
                "notify test",
                "people add",
                "people invite",
                "people grant",
                "people revoke",
            ];
            let nested = NESTED.contains(&words.join(" ").as_str());
            words.truncate(if nested { 2 } else { 1 });
            let help = helps.entry(words.clone()).or_insert_with(|| {
                let output = world.command(ANSWERBACK).args(&words).arg("--help").output().unwrap();
                assert!(output.status.success(), "{}: {line}", page.name());
                String::from_utf8(output.stdout).unwrap()
            });
            for found in option.captures_iter(line) {
                let option = found.get(1).unwrap().as_str();
                let is_known = help.split([' ', ',', '\n', '[']).any(|word| word == option);
                assert!(is_known, "{}: {line}: there is no {option}", page.name());
            }
        }
    }
    assert!(helps.len() > 15, "{:?}", helps.keys());
}

#[test]
fn configurations_can_be_used() {
    let world = World::new();
    // An edge needs a token that no page can show.
    DirBuilder::new().recursive(true).mode(0o700).create(world.state("")).unwrap();
    let token = json!({"host": "build-1", "token": "0".repeat(64)}).to_string();
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(world.state("host.json"))
        .unwrap()
        .write_all(token.as_bytes())
        .unwrap();
    let mut count = 0;
    for page in Page::all() {
        for block in page.blocks().into_iter().filter(|block| block.language == "toml") {
            world.write_config(&block.text);
            let status = status(&world);
            assert_eq!(status["start_error"], Value::Null, "{}: {}", page.name(), block.text);
            count += 1;
        }
    }
    assert!(count > 15, "{count}");
}

#[test]
fn every_setting_is_described() {
    let world = World::new();
    let page = Page::read("docs/configuration.md");
    let names = Regex::new("`([a-z_]+)`").unwrap();
    for (table, rest, at_least) in [
        ("", "", 2),
        ("permissions", "", 1),
        ("notify", "", 2),
        ("notify.desktop", "", 2),
        ("notify.ntfy", "url = \"https://a.example/b\"\n", 2),
        ("notify.webhook", "", 2),
    ] {
        let header = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
        world.write_config(&format!("{header}{rest}unknown = 1\n"));
        let status = status(&world);
        let error = status["start_error"].as_str().unwrap();
        let (_, expected) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
        let found: Vec<_> = names.captures_iter(expected).map(|found| found.get(1).unwrap().as_str()).collect();
        assert!(found.len() >= at_least, "{error}");
        for name in found {
            let key = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
            let is_table = page.text.contains(&format!("### {key}."));
            let heading = format!("### {key}\n");
            assert!(is_table || page.text.contains(&heading), "{key} is not described");
            assert!(is_table || described(&page, &heading), "{key} has no example");
        }
    }
}

/// Whether there is an example before the next heading.
fn described(page: &Page, heading: &str) -> bool {
    let (_, rest) = page.text.split_once(heading).unwrap();
    rest.split("\n#").next().unwrap().contains("```toml")
}

fn status(world: &World) -> Value {
    let output = world.command(ANSWERBACK).args(["status", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn json_is_json() {
    for page in Page::all() {
        for block in page.blocks().into_iter().filter(|block| block.language == "json") {
            let parsed: Result<Value, _> = serde_json::from_str(&block.text);
            assert!(parsed.is_ok(), "{}: {parsed:?}: {}", page.name(), block.text);
        }
    }
}

#[test]
fn messages_are_those_of_the_programs() {
    let mut sources = String::new();
    let mut left = vec![Path::new(ROOT).join("src"), Path::new(ROOT).join("hooks/src")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
    let page = Page::read("docs/troubleshooting.md");
    let text: String = page.prose().into_iter().flat_map(|(_, line)| [line, " "]).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // At the beginning of an item: a message of a program, or a status with its title.
    let items = Regex::new(r#"- ((?:`[^`]+`(?:, )?)+):|- \*\*(?:[0-9]{3}, )?"([^"]+)""#).unwrap();
    let mut count = 0;
    for item in items.captures_iter(&text) {
        let item = item.get(1).or(item.get(2)).unwrap().as_str();
        for fragment in Regex::new("…|`|[0-9]+").unwrap().split(item).map(|part| part.trim_matches([' ', ':', ','])) {
            let is_telling = fragment.len() > 6 && fragment != "/answerback";
            assert!(!is_telling || sources.contains(fragment), "no program says {fragment:?}");
            count += usize::from(is_telling);
        }
    }
    assert!(count > 20, "{count}");
}
