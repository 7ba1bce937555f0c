//! Answerback as a plugin of Claude Code, which brings the same hooks.
//!
//! The options of a plugin reach the command of a hook, and not its event or its matcher: the hook would be started for every tool, only to
//! find that nobody wants it. So there is a plugin for each choice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::coverage::Coverage;
use super::look::Look;

/// The name of each plugin, as in its `plugin.json`, and what it brings.
const PLUGINS: [(&str, Coverage); 4] = [
    ("answerback", Coverage::DEFAULT),
    ("answerback-permissions", Coverage { permissions: true, ..Coverage::DEFAULT }),
    ("answerback-forms", Coverage { forms: true, ..Coverage::DEFAULT }),
    ("answerback-all", Coverage::ALL),
];

/// A plugin of ours that is enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// As `name@marketplace`.
    pub name: String,
    /// What it brings.
    pub coverage: Coverage,
}

/// Our plugins that these settings enable. The later settings have the last word, as in Claude Code.
pub fn enabled<'a>(settings: impl IntoIterator<Item = &'a Look>) -> Vec<Plugin> {
    let mut plugins: BTreeMap<&str, bool> = BTreeMap::new();
    for look in settings {
        let enabled = look.get("/enabledPlugins").and_then(Value::as_object);
        plugins.extend(enabled.into_iter().flatten().map(|(name, value)| (name.as_str(), *value == true)));
    }
    let enabled = plugins.into_iter().filter(|(_, is_enabled)| *is_enabled);
    let ours = |name: &str| {
        let own_name = name.split('@').next()?;
        let (_, coverage) = PLUGINS.iter().find(|(known, _)| *known == own_name)?;
        Some(Plugin { name: name.to_owned(), coverage: *coverage })
    };
    enabled.filter_map(|(name, _)| ours(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Map, json};

    use super::super::entry::{Invocation, PROGRAM};
    use super::super::wanted;
    use super::*;
    use crate::claude_code::Mode;

    fn file(plugin: &str, name: &str) -> Value {
        let dir = plugin.strip_prefix("answerback").unwrap().replacen('-', "plugins/", 1);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(dir).join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_manifest_has_its_name_and_this_version() {
        for (name, _) in PLUGINS {
            let manifest = file(name, ".claude-plugin/plugin.json");
            assert_eq!((&manifest["name"], &manifest["version"]), (&name.into(), &env!("CARGO_PKG_VERSION").into()));
        }
    }

    #[test]
    fn each_plugin_has_the_hooks_that_install_writes() {
        for (name, coverage) in PLUGINS {
            let mut hooks = Map::new();
            for entry in wanted::entries(&Invocation::Exec(PROGRAM.into()), Mode::Auto, coverage) {
                let mut group = json!({"hooks": [entry.handler]});
                if let Some(matcher) = entry.matcher {
                    group["matcher"] = matcher.into();
                }
                hooks.insert(entry.event, json!([group]));
            }
            assert_eq!(file(name, "hooks/hooks.json")["hooks"], Value::from(hooks), "{name}");
        }
    }

    #[test]
    fn our_plugin_is_noticed_when_it_is_enabled() {
        let look = |text: &str| Look::at(text.as_bytes()).unwrap();
        let names = |texts: &[&str]| {
            let looks: Vec<_> = texts.iter().map(|text| look(text)).collect();
            enabled(&looks).into_iter().map(|plugin| plugin.name).collect::<Vec<_>>()
        };
        let on = r#"{"enabledPlugins": {"other@x": true, "answerback@home": true}}"#;
        let off = r#"{"enabledPlugins": {"answerback@home": false}}"#;
        let similar = r#"{"enabledPlugins": {"answerback-themes@home": true, "my@answerback": true}}"#;
        assert_eq!(names(&[on]), ["answerback@home"]);
        assert_eq!(names(&[off, on]), ["answerback@home"]);
        assert_eq!(names(&[on, "{}", r#"{"enabledPlugins": []}"#]), ["answerback@home"]);
        assert!(names(&[on, off]).is_empty());
        assert!(names(&[similar, "", "[]"]).is_empty());
        assert!(names(&[r#"{"enabledPlugins": {"answerback@home": "yes"}}"#]).is_empty());
        let forms = look(r#"{"enabledPlugins": {"answerback-forms@home": true}}"#);
        assert_eq!(enabled([&forms])[0].coverage, Coverage { forms: true, ..Coverage::DEFAULT });
    }
}
