//! Reads a file that a call would change, so that a person can see the difference.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agent_file;

/// A larger file is not compared. The call itself is shown all the same.
const MAX_FILE: u64 = 1024 * 1024;

/// Where programs keep keys, tokens and passwords.
const SECRET_DIRECTORIES: [&str; 9] =
    [".aws", ".azure", ".config", ".docker", ".git", ".gnupg", ".kube", ".password-store", ".ssh"];
const SECRET_NAMES: [&str; 16] = [
    ".credentials.json",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "credentials",
    "credentials.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "tokens.json",
];
const SECRET_BEGINNINGS: [&str; 5] = [".env", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
const SECRET_ENDINGS: [&str; 13] = [
    ".env",
    ".gpg",
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".ppk",
    ".tfstate",
    ".tfvars",
];

/// A file that a call would change, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CurrentFile {
    /// There is no such file.
    Absent,
    /// This text is in it.
    Text(String),
    /// There may be a file, but what is in it is not shown.
    Unseen,
}

/// Reads a file that an agent wants to change. `directory` is where the agent works.
pub(super) async fn read(path: PathBuf, directory: Option<String>, private: Arc<[PathBuf]>) -> CurrentFile {
    let look = move || look(&path, directory.as_deref().map(Path::new), &private);
    agent_file::in_time(look).await.unwrap_or(CurrentFile::Unseen)
}

fn look(path: &Path, directory: Option<&Path>, private: &[PathBuf]) -> CurrentFile {
    match path.canonicalize() {
        // If the path is not absolute, nobody knows from where it counts.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_absolute() => CurrentFile::Absent,
        Ok(path) if is_in_project(&path, directory) && !is_secret(&path, private) => {
            read_text(&path).map_or(CurrentFile::Unseen, CurrentFile::Text)
        }
        _ => CurrentFile::Unseen,
    }
}

/// Whether a file without links in its path belongs to the repository that the agent works in, or to its directory if that is no repository.
fn is_in_project(path: &Path, directory: Option<&Path>) -> bool {
    let Some(Ok(directory)) = directory.map(Path::canonicalize) else { return false };
    let project = directory.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&directory);
    path.starts_with(project)
}

/// Whether what is in a file is nothing for the people who may look at questions. They may be others than the owner of the file.
fn is_secret(path: &Path, private: &[PathBuf]) -> bool {
    let is_private = |directory: &PathBuf| directory.canonicalize().is_ok_and(|directory| path.starts_with(directory));
    let lower = path.to_string_lossy().to_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    SECRET_NAMES.contains(&name)
        || SECRET_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || parts.any(|directory| SECRET_DIRECTORIES.contains(&directory))
        || private.iter().any(is_private)
}

/// Reads a file of a limited size.
fn read_text(path: &Path) -> io::Result<String> {
    let file = agent_file::open(path)?;
    if file.metadata()?.len() > MAX_FILE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_that_is_not_there_is_absent() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let look = |path: &Path| look(path, Some(dir.path()), &[]);
        assert_eq!(look(&file("text", b"one\n")), CurrentFile::Text("one\n".to_owned()));
        assert_eq!(look(&dir.path().join("nothing")), CurrentFile::Absent);
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for unseen in [
            file("binary", b"\xff\xfe"),
            file("large", &vec![b'a'; 1024 * 1024 + 1]),
            dir.path().to_owned(),
            file("no-directory", b"").join("below"),
            PathBuf::from("relative"),
            pipe,
        ] {
            assert_eq!(look(&unseen), CurrentFile::Unseen, "{}", unseen.display());
        }
    }
}
