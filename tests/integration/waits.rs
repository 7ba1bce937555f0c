//! Which waits come to Answerback: `answerback install` writes the choice, and `status` and `doctor` tell it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::doctor::Project;
use crate::doctor_hooks::says;
use crate::install::{ORIGINAL, ours};
use crate::world::HOOK;

/// What Claude Code tells hooks about its tools.
const ABOUT_TOOLS: [&str; 5] =
    ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch"];
const LIST: &str = "AskUserQuestion|AskFollowupQuestion|ExitPlanMode";

impl Project {
    fn value(&self) -> Value {
        serde_json::from_slice(&fs::read(self.settings()).unwrap()).unwrap()
    }

    /// The matcher of our entry for this event. `None` is no entry, and `Some(Null)` an entry without a matcher.
    fn matcher(&self, event: &str) -> Option<Value> {
        let settings = self.value();
        let groups = settings["hooks"].get(event)?.as_array().unwrap();
        assert_eq!(groups.len(), 1, "{event} would run the hook twice: {settings}");
        Some(groups[0]["matcher"].clone())
    }

    /// What the file brings, read from its entries.
    #[track_caller]
    fn brings(&self, permissions: bool, forms: bool) {
        assert_eq!(ours(&self.value()), [HOOK]);
        for event in &ABOUT_TOOLS[..3] {
            assert_eq!(self.matcher(event), Some(json!(if permissions { "*" } else { LIST })), "{event}");
        }
        assert_eq!(self.matcher("PostToolUseFailure"), permissions.then(|| json!("*")));
        assert_eq!(self.matcher("PostToolBatch"), permissions.then_some(Value::Null));
        assert_eq!(self.matcher("SubagentStop"), permissions.then_some(Value::Null));
        assert_eq!(self.matcher("Elicitation"), forms.then_some(Value::Null));
        for event in ["UserPromptSubmit", "Stop", "SessionEnd"] {
            assert_eq!(self.matcher(event), Some(Value::Null), "{event}");
        }
    }

    fn json(&self, command: &str) -> Value {
        let output = self.sh(command);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// What `status`, `doctor` and the last `install` say is covered.
    #[track_caller]
    fn covers(&self, expected: [&str; 4]) {
        let coverage = coverage(expected);
        assert_eq!(self.json("answerback status --json")["coverage"], coverage);
        assert_eq!(self.json("answerback doctor --json")["coverage"], coverage);
        assert_eq!(self.json("answerback install --json --dry-run")["coverage"], coverage);
    }

    fn says_of_waits(&self) -> Vec<Value> {
        self.doctor().1.into_iter().filter(|finding| finding["check"] == "waits").collect()
    }
}

/// `["questions", "plans", "", ""]` as the commands write it.
fn coverage(covered: [&str; 4]) -> Value {
    let names = ["questions", "plans", "permissions", "forms"];
    names.into_iter().zip(covered).map(|(name, covered)| (name.to_owned(), json!(name == covered))).collect()
}

const DEFAULT: [&str; 4] = ["questions", "plans", "", ""];
const ALL: [&str; 4] = ["questions", "plans", "permissions", "forms"];

/// The tools that an entry with this matcher runs for. A list of names fits nothing else.
fn names(matcher: &Value) -> Vec<&str> {
    let names: Vec<_> = matcher.as_str().unwrap().split('|').collect();
    assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{matcher} is a pattern");
    names
}

#[test]
fn without_permissions_no_entry_fits_another_tool() {
    let project = Project::new();
    for options in ["", "--forms", "--no-permissions"] {
        project.install(options);
        let settings = project.value();
        for (event, groups) in settings["hooks"].as_object().unwrap() {
            for group in groups.as_array().unwrap() {
                match group.get("matcher") {
                    Some(matcher) => assert_eq!(names(matcher), names(&json!(LIST)), "{event}"),
                    None => assert!(!ABOUT_TOOLS.contains(&event.as_str()), "{event} is for Bash, too"),
                }
            }
        }
    }
    project.install("--permissions");
    assert!(ABOUT_TOOLS.iter().all(|event| [json!("*"), Value::Null].contains(&project.matcher(event).unwrap())));
}

#[test]
fn a_choice_stays_until_another_is_made() {
    let project = Project::new();
    project.brings(false, false);
    for (options, permissions, forms) in [
        ("", false, false),
        ("--permissions", true, false),
        ("", true, false),
        ("--forms", true, true),
        ("--mode hold", true, true),
        ("", true, true),
        ("--no-permissions", false, true),
        ("--no-forms", false, false),
        ("--all", true, true),
        ("--no-permissions --no-forms", false, false),
        ("--permissions --forms", true, true),
    ] {
        project.install(options);
        project.brings(permissions, forms);
        let before = fs::read(project.settings()).unwrap();
        project.install(if options == "--mode hold" { options } else { "" });
        assert_eq!(fs::read(project.settings()).unwrap(), before, "an update after {options:?} changes nothing");
    }
    for contradiction in ["--permissions --no-permissions", "--forms --no-forms", "--all --no-forms"] {
        let output = project.sh(&format!("answerback install {contradiction}"));
        assert_eq!(output.status.code(), Some(2), "{contradiction}");
    }
    project.brings(true, true);
}

#[test]
fn uninstall_restores_the_bytes_whatever_was_chosen() {
    let project = Project::new();
    for options in [&["--all"][..], &["", "--permissions", "--no-permissions --forms", "--all"]] {
        fs::write(project.settings(), ORIGINAL).unwrap();
        options.iter().for_each(|options| project.install(options));
        project.brings(true, true);
        assert!(project.sh("answerback uninstall").status.success());
        assert_eq!(fs::read_to_string(project.settings()).unwrap(), ORIGINAL);
    }
    project.install("");
    project.brings(false, false);
}

/// The version before this one wrote questions alone.
#[test]
fn an_installation_of_questions_becomes_one_of_questions_and_plans() {
    let project = Project::new();
    let older = fs::read_to_string(project.settings()).unwrap().replace("|ExitPlanMode", "");
    fs::write(project.settings(), older).unwrap();
    let status = project.json("answerback status --json");
    assert_eq!(status["coverage"], coverage(["questions", "", "", ""]));
    let fault = project.fault();
    says(&fault, "warning", &["PermissionRequest (matcher)", "PostToolUse (matcher)", "PreToolUse (matcher)"]);
    let waits = project.says_of_waits();
    says(&waits[0], "ok", &["questions come to Answerback"]);
    says(&waits[1], "note", &["plans, permissions and forms stay in the terminal"]);
    project.follow(&fault);
    project.brings(false, false);
    project.is_clean();
    project.covers(DEFAULT);
}

#[test]
fn the_doctor_says_what_comes_and_its_advice_adds_the_rest() {
    let project = Project::new();
    project.covers(DEFAULT);
    let waits = project.says_of_waits();
    says(&waits[0], "ok", &["questions and plans come to Answerback"]);
    says(&waits[1], "note", &["permissions and forms stay in the terminal"]);
    project.follow(&waits[1]);
    project.brings(true, true);
    project.is_clean();
    project.covers(ALL);
    let waits = project.says_of_waits();
    says(&waits[0], "ok", &["questions, plans, permissions and forms come to Answerback"]);
    says(&waits[1], "note", &["permissions of background subagents and forms stay in the terminal while"]);
    project.follow(&waits[1]);
    project.brings(true, true);
    assert_eq!(project.says_of_waits().len(), 1, "held, nothing is left to say");
    project.install("");

    // An entry that is lost is found, and what brings it back keeps the choice.
    for event in ["PermissionRequest", "PostToolBatch", "SubagentStop"] {
        project.edit_settings(|settings| {
            settings["hooks"].as_object_mut().unwrap().remove(event).unwrap();
        });
        let fault = project.fault();
        assert!(fault["message"].as_str().unwrap().contains(&format!("{event} is missing")), "{fault}");
        project.follow(&fault);
        project.brings(true, true);
    }

    project.install("--mode native");
    assert_eq!(project.json("answerback status --json")["coverage"], coverage(["", "", "", ""]));
    assert!(project.says_of_waits().is_empty());
    assert_eq!(project.doctor().0, 0, "it is no error to switch it off");
}

#[test]
fn status_says_what_comes_here() {
    let project = Project::new();
    let here = |dir: &Path| {
        let output = project.sh(&format!("cd '{}' && answerback status", dir.display()));
        let stdout = String::from_utf8(output.stdout).unwrap();
        stdout.lines().skip_while(|line| !line.starts_with("here ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(here(project.world.home()), ["here       nothing comes to Answerback: answerback doctor says why"]);
    assert_eq!(
        here(&project.dir),
        [
            "here       questions and plans come to Answerback",
            "           permissions and forms stay in the terminal: answerback doctor says how to add them",
        ]
    );
    project.install("--all");
    assert_eq!(here(&project.dir), ["here       questions, plans, permissions and forms come to Answerback"]);
    project.edit_settings(|settings| settings["disableAllHooks"] = json!(true));
    assert_eq!(here(&project.dir), ["here       nothing comes to Answerback: answerback doctor says why"]);
}

#[test]
fn install_says_what_comes_and_how_to_add_the_rest() {
    let project = Project::new();
    let told = |options: &str| {
        let output = project.sh(&format!("answerback uninstall 2>/dev/null; answerback install {options}"));
        String::from_utf8(output.stderr).unwrap()
    };
    let default = told("");
    assert!(default.contains("Its questions and plans come to Answerback from now on."), "{default}");
    let advice = default.split("To add them: ").nth(1).unwrap().trim();
    assert!(project.sh(advice).status.success(), "{advice}");
    project.brings(true, true);
    let all = told("--all");
    assert!(all.contains("Its questions, plans, permissions and forms come to Answerback from now on."), "{all}");
    assert!(!all.contains("To add them"), "{all}");
    let stays = "permissions of background subagents and forms stay there";
    assert!(all.contains(stays), "{all}");
    assert!(!default.contains(stays) && !told("--all --mode hold").contains(stays));
}

/// One event that it does not know makes an old Claude Code ignore the whole file.
#[test]
fn an_older_version_gets_only_the_events_that_it_knows() {
    let project = Project::new();
    let has_batches = || project.matcher("PostToolBatch").is_some();
    project.claude("echo '2.1.90 (Claude Code)'");
    project.install("--all");
    assert!(!has_batches() && project.matcher("Elicitation").is_some());
    project.is_clean();
    project.covers(ALL);

    // It was updated: the doctor misses the event, and the next update brings it.
    project.claude("echo '2.1.118 (Claude Code)'");
    let fault = project.fault();
    says(&fault, "warning", &["PostToolBatch is missing"]);
    project.follow(&fault);
    assert!(has_batches());
    project.is_clean();

    // Whoever does not know the version leaves it as it is.
    fs::remove_file(project.bin.join("claude")).unwrap();
    project.install("");
    assert!(has_batches());

    // It went back.
    project.claude("echo '2.1.90 (Claude Code)'");
    let fault = project.fault();
    says(&fault, "error", &["Claude Code 2.1.90 ignores", "does not know PostToolBatch"]);
    project.follow(&fault);
    assert!(!has_batches());
    project.is_clean();
}

#[test]
fn a_version_without_forms_gets_none() {
    let project = Project::new();
    project.claude("echo '2.1.75 (Claude Code)'");
    let before = fs::read(project.settings()).unwrap();
    for options in ["--forms", "--all"] {
        let output = project.sh(&format!("answerback install {options}"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("2.1.75 has no hooks for forms") && stderr.contains("hint: "), "{stderr}");
        assert_eq!(fs::read(project.settings()).unwrap(), before);
    }
    // The doctor gives no advice that would be refused.
    let note = &project.says_of_waits()[1];
    project.follow(note);
    assert_eq!(
        project.json("answerback status --json")["coverage"],
        coverage(["questions", "plans", "permissions", ""])
    );
}

#[test]
fn a_plugin_says_what_it_brings() {
    let project = Project::new();
    assert!(project.sh("answerback uninstall").status.success());
    fs::create_dir_all(project.dir.join(".claude")).unwrap();
    for (plugin, covered) in [("answerback", DEFAULT), ("answerback-all", ALL)] {
        let enabled = json!({"enabledPlugins": {format!("{plugin}@tools"): true}}).to_string();
        fs::write(project.settings(), &enabled).unwrap();
        project.covers(covered);
        let output = project.sh("answerback install --permissions");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(&format!("the plugin {plugin}@tools is enabled")), "{stderr}");
        assert_eq!(fs::read_to_string(project.settings()).unwrap(), enabled);
        project.is_clean();
    }
}
