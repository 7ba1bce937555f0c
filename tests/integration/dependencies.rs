//! The crates of the hook. Claude Code starts the hook for every question, so it has to stay tiny.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn the_hook_is_a_handful_of_crates_and_no_runtime() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", "answerback-hook", "-e", "normal", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains("answerback-hook") && crates.len() <= 6, "{crates:?}");
    for heavy in ["tokio", "hyper", "clap", "serde", "serde_json"] {
        assert!(!crates.contains(heavy), "{heavy} got into the hook");
    }
}

#[test]
fn the_hook_builds_without_the_crates_that_prepare_the_page() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", "answerback", "--no-default-features"])
        .args(["-e", "normal,build", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains("answerback") && crates.len() <= 7, "{crates:?}");
}
