use super::*;

fn load(text: &str) -> Result<Config, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    Config::load(&path)
}

#[test]
fn no_file_and_an_empty_file_are_the_defaults() {
    assert_eq!(Config::load(Path::new("/nonexistent/config.toml")).unwrap(), Config::default());
    assert_eq!(load("").unwrap(), Config::default());
}

#[test]
fn every_key_can_be_set() {
    let config = load(
        "port = 0\ntimeout_seconds = 60\non_timeout = \"defer\"\nretention_days = 1\nlog_level = \"debug\"\n\
         history_mib = 2\nasker_mib_per_day = 3\napprove_from = \"devices\"\n[permissions]\nunattended = \"wait\"\n",
    )
    .unwrap();
    assert_eq!((config.permissions.unattended, config.approve_from), (Unattended::Wait, ApproveFrom::Devices));
    assert_eq!(config.timeout(), Some(SignedDuration::from_mins(1)));
    assert_eq!((config.port, config.on_timeout), (0, OnTimeout::Defer));
    assert_eq!((config.history_bytes(), config.asker_bytes_per_day()), (2 * 1024 * 1024, 3 * 1024 * 1024));
    assert_eq!((config.retention(), config.log_level), (SignedDuration::from_hours(24), LogLevel::Debug));
}

#[test]
fn nobody_waits_for_a_permission_unless_the_user_says_so() {
    assert_eq!(Config::default().permissions.unattended, Unattended::Native);
    assert_eq!(load("[permissions]\n").unwrap(), Config::default());
    assert_eq!(load("[permissions]\nunattended = \"native\"\n").unwrap(), Config::default());
}

#[test]
fn only_questions_have_buttons_unless_other_kinds_are_named() {
    let reachable = "public_url = \"https://a.example\"\n[notify]\ndetails = true\n";
    let buttons = |notify: &Notify| Kind::ALL.into_iter().filter(|kind| notify.has_buttons(*kind)).collect::<Vec<_>>();
    assert_eq!(buttons(&Notify::default()), [Kind::Question]);
    for (text, expected) in [
        ("", &[Kind::Question][..]),
        ("buttons = [\"question\"]\n", &[Kind::Question]),
        ("buttons = []\n", &[]),
        ("buttons = [\"permission\"]\n", &[Kind::Permission]),
        ("buttons = [\"plan\", \"question\", \"plan\"]\n", &[Kind::Question, Kind::Plan]),
    ] {
        assert_eq!(buttons(&load(&format!("{reachable}{text}")).unwrap().notify), expected, "{text}");
    }
}

#[test]
fn what_a_notification_shows_is_set_for_each_kind() {
    let shown = |text: &str| {
        let notify = load(text).unwrap().notify;
        Kind::ALL.into_iter().filter(|kind| notify.shows(*kind)).collect::<Vec<_>>()
    };
    assert_eq!(shown(""), []);
    assert_eq!(shown("[notify]\ndetails = false\n"), []);
    assert_eq!(shown("[notify]\ndetails = true\n"), Kind::ALL);
    assert_eq!(shown("[notify]\ndetails = [\"question\", \"plan\"]\n"), [Kind::Question, Kind::Plan]);
    assert!(load("[notify]\ndetails = [\"password\"]\n").is_err());
}

#[test]
fn the_network_has_a_port_of_its_own() {
    let error = load("lan_address = \"0.0.0.0:27563\"\n").unwrap_err().to_string();
    assert!(error.contains("a port of its own"), "{error}");
    let config = load("lan_address = \"0.0.0.0:27564\"\npublic_url = \"https://answers.example.org/\"\n").unwrap();
    assert_eq!(config.public_url.unwrap().to_string(), "https://answers.example.org");
}

#[test]
fn an_error_names_the_line_and_the_key() {
    for (text, key) in [
        ("port = 1\nprot = 2\n", "there is no setting `prot`"),
        ("\nport = \"x\"\n", "a number from 0 to 65535"),
        ("\non_timeout = \"never\"\n", "never"),
        ("\nretention_days = 0\n", "a number that is at least 1"),
        ("\npublic_url = \"answers.example.org\"\n", "public_url is like"),
        ("\nlan_address = \"127.0.0.1:27564\"\n", "this machine alone"),
        ("\nhub = \"http://answers.example.org\"\n", "not encrypted"),
        ("\nhub_ca = \"ca.pem\"\n", "begins with /"),
        ("\nhost_name = \"a b\"\n", "the name of a host"),
        ("\nstore = \"mysql://db/answers\"\n", "store is like"),
        ("\nwebsocket_origins = [\"*\"]\n", "an origin is like"),
        ("\npublic_url = \"https://example.org/sub\"\n", "without a path"),
        ("[notify.ntfy]\nurl = \"https://ntfy.sh\"\n", "a topic"),
        ("\n[notify.webhook]\nsecret = \"s\"\n", "url"),
        ("[notify]\nntfy = { url = \"https://ntfy.sh/t\", buttons = true }\n", "details"),
        ("[notify]\ndesktop = { command = [] }\n", "command"),
        ("[notify]\nbuttons = [\"question\"]\n", "details"),
        ("[notify]\nbuttons = [\"form\"]\n", "form"),
        ("[permissions]\nunattended = \"allow\"\n", "allow"),
        ("\napprove_from = \"phones\"\n", "there is no value `phones`"),
        (
            "public_url = \"https://a.example\"\napprove_from = \"devices\"\n[notify]\ndetails = true\nbuttons = [\"plan\"]\n",
            "buttons cannot decide",
        ),
        ("\ntls_certificate = \"/a.pem\"\n", "belong together"),
        ("\ntls_certificate = \"/a.pem\"\ntls_key = \"/b.pem\"\n", "lan_address"),
        ("lan_address = \"0.0.0.0:1\"\ntls_certificate = \"a.pem\"\ntls_key = \"/b.pem\"\n", "absolute"),
    ] {
        let error = load(text).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains(key), "{error}");
    }
    let error = load("[notify.ntfy]\nurl = \"https://ntfy.sh/t\"\ntoken = \"not a token\"\n").unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("without spaces") && !error.contains("not a token"), "{error}");
}

#[test]
fn the_example_in_the_documentation_can_be_used() {
    let page = include_str!("../../docs/notifications.md");
    let (_, block) = page.split_once("```toml\n").unwrap();
    let config = load(block.split_once("```").unwrap().0).unwrap();
    let notify = config.notify;
    assert!(config.public_url.is_some() && notify.ntfy.is_some() && notify.webhook.is_some());
    // The values that the README calls defaults are the defaults.
    assert_eq!(notify.delay(), Notify::default().delay());
}

#[test]
fn secrets_that_others_can_read_are_noticed_and_not_shown() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    std::fs::write(&path, "[notify.webhook]\nurl = \"https://example.org/hush\"\nsecret = \"hush\"\n").unwrap();
    let config = Config::load(&path).unwrap();
    assert!(!format!("{config:?}").contains("hush"));
    for (mode, exposed) in [(0o600, false), (0o640, true), (0o604, true)] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(config.is_exposed(&path), exposed, "{mode:o}");
        assert!(!Config::default().is_exposed(&path));
    }
}
