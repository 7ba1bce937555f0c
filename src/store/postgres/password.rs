//! The password of an engine, where every client of PostgreSQL looks for it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::options::OptionsError;

/// Looks in `PGPASSWORD`, then in the password file.
pub(super) fn find(config: &Config) -> Result<Option<String>, OptionsError> {
    if let Ok(password) = env::var("PGPASSWORD") {
        return Ok(Some(password));
    }
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    let Some(file) = named.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass"))) else {
        return Ok(None);
    };
    in_file(&file, config)
}

fn in_file(file: &Path, config: &Config) -> Result<Option<String>, OptionsError> {
    let refuse = |problem: String| OptionsError::File { path: file.to_path_buf(), problem };
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| refuse(error.to_string()))?,
    };
    let mode = fs::metadata(file).map(|metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()));
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        return Err(refuse("other users can read this password file: run chmod 600 on it".to_owned()));
    }
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(dir) => dir.to_string_lossy().into_owned(),
    });
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    for host in hosts {
        let wanted = [&host, &port, config.get_dbname().unwrap_or_default(), config.get_user().unwrap_or_default()];
        let found = text.lines().filter(|line| !line.starts_with('#')).find_map(|line| password_in(line, wanted));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The password in a line `host:port:database:user:password`, if the line is about this. `*` fits everything, and `\` takes the next
/// letter as it is.
fn password_in(line: &str, wanted: [&str; 4]) -> Option<String> {
    let mut fields = vec![(String::new(), true)];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_last = fields.len() > wanted.len();
        let (field, is_plain) = fields.last_mut()?;
        match letter {
            '\\' => {
                field.extend(letters.next());
                *is_plain = false;
            }
            ':' if !is_last => fields.push((String::new(), true)),
            letter => field.push(letter),
        }
    }
    let (password, _) = fields.get(wanted.len())?;
    let fits = |((field, is_plain), wanted): (&(String, bool), &str)| field == wanted || (*is_plain && field == "*");
    fields.iter().zip(wanted).all(fits).then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pass");
        let config: Config = "postgres://me@db:5433/asks".parse().unwrap();
        let text = "#db:5433:asks:me:comment\nother:5433:asks:me:no\ndb:*:as\\ks:me:a\\:b:c\\\\\n*:*:*:*:late\n";
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(in_file(&file, &config).unwrap().as_deref(), Some("a:b:c\\"));
        let other: Config = "postgres://you@db:5433/asks".parse().unwrap();
        assert_eq!(in_file(&file, &other).unwrap().as_deref(), Some("late"));
        assert_eq!(in_file(&dir.path().join("none"), &config).unwrap(), None);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pass");
        fs::write(&file, "*:*:*:*:secret\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let error = in_file(&file, &Config::new()).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}
