//! Changes the configuration file for a person, and leaves everything else in it as it is.

use std::io;
use std::path::Path;

use crate::address::HubUrl;
use crate::durable;

use super::{Config, ConfigError};

/// Writes `hub` and `hub_ca` into the file. If the file would not be understood any more, it stays as it was.
pub fn set_hub(path: &Path, hub: &HubUrl, ca: Option<&Path>) -> Result<(), ConfigError> {
    let failed = |error| ConfigError::Write(path.to_path_buf(), error);
    // A link to a file in another place stays a link.
    let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut lines = vec![format!("hub = {}", quoted(hub.as_str()))];
    lines.extend(ca.map(|ca| format!("hub_ca = {}", quoted(&ca.to_string_lossy()))));
    let after = with_lines(&before, &lines);
    Config::read(path, &after)?;
    if let Some(dir) = file.parent() {
        durable::create_dirs(dir, |dir| std::fs::create_dir_all(dir)).map_err(failed)?;
    }
    durable::write(&file, after.as_bytes()).map_err(failed)
}

/// A text in TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The file with these lines in place of those that set the same keys. Keys that belong to no table come before the first table.
fn with_lines(text: &str, lines: &[String]) -> String {
    let mut after: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut is_in_table = false;
    for line in text.lines() {
        is_in_table |= line.trim_start().starts_with('[');
        let key = line.split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if is_in_table || !matches!(key, "hub" | "hub_ca") {
            after.push_str(line);
            after.push('\n');
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub() -> HubUrl {
        HubUrl::try_from("https://answers.example.org".to_owned()).unwrap()
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/config.toml");
        set_hub(&path, &hub(), None).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hub = \"https://answers.example.org\"\n");
        let before = "# mine\nport = 7 # lucky\nhub = \"https://old\"\nhub_ca = \"/old.pem\"\n\n[notify]\n# hub = 1\ndetails = true\n";
        std::fs::write(&path, before).unwrap();
        set_hub(&path, &hub(), Some(Path::new("/a \"b\".pem"))).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("# mine\nport = 7 # lucky\n\n[notify]\n# hub = 1\ndetails = true\n"), "{text}");
        let config = Config::load(&path).unwrap();
        assert_eq!((config.hub.as_ref(), config.port), (Some(&hub()), 7));
        assert_eq!(config.hub_ca.as_deref(), Some(Path::new("/a \"b\".pem")));
    }

    #[test]
    fn a_file_that_would_be_broken_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        for before in ["text = \"\"\"\nhub = 1\n\"\"\"\n", "prot = 1\n"] {
            std::fs::write(&path, before).unwrap();
            set_hub(&path, &hub(), None).unwrap_err();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        }
    }
}
