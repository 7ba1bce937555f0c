//! Answerback as a plugin of Claude Code, which brings the same hooks.

use std::collections::BTreeMap;

use serde_json::Value;

/// The name in `.claude-plugin/plugin.json`.
const NAME: &str = "answerback";

/// Our plugin, as `name@marketplace`, if these settings enable it. The later text has the last word, as in Claude Code;
/// one that cannot be read has none.
pub fn enabled<'a>(settings: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut plugins: BTreeMap<String, bool> = BTreeMap::new();
    for text in settings {
        let root: Value = serde_json::from_str(text).unwrap_or_default();
        let enabled = root.get("enabledPlugins").and_then(Value::as_object);
        for (plugin, value) in enabled.into_iter().flatten() {
            if plugin.split('@').next() == Some(NAME) {
                plugins.insert(plugin.clone(), *value == true);
            }
        }
    }
    plugins.into_iter().find(|(_, enabled)| *enabled).map(|(plugin, _)| plugin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_this_plugin_in_this_version() {
        let manifest: Value = serde_json::from_str(include_str!("../../../.claude-plugin/plugin.json")).unwrap();
        assert_eq!((&manifest["name"], &manifest["version"]), (&NAME.into(), &env!("CARGO_PKG_VERSION").into()));
    }

    #[test]
    fn our_plugin_is_noticed_when_it_is_enabled() {
        let on = r#"{"enabledPlugins": {"other@x": true, "answerback@home": true}}"#;
        let off = r#"{"enabledPlugins": {"answerback@home": false}}"#;
        let similar = r#"{"enabledPlugins": {"answerback-themes@home": true, "my@answerback": true}}"#;
        let ours = Some("answerback@home".to_owned());
        assert_eq!(enabled([on]), ours);
        assert_eq!(enabled([off, on]), ours);
        assert_eq!(enabled([on, "{}", "broken", r#"{"enabledPlugins": []}"#]), ours);
        assert_eq!(enabled([on, off]), None);
        assert_eq!(enabled([similar, "", "[]"]), None);
        assert_eq!(enabled([r#"{"enabledPlugins": {"answerback@home": "yes"}}"#]), None);
    }
}
