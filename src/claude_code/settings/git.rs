//! What git does with a settings file: whether other people get it.
//!
//! A repository may be made to do harm. Its configuration can name programs that git runs for the simplest question, and no list of such
//! settings is ever complete. So git never reads it: it gets a repository of ours without a configuration, and with links to their index,
//! their objects and their list of ignored files.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, io, thread};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::regular;

/// Git takes a fraction of this, unless the disk hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the file is in a repository and part of it. Without git, nobody can tell, and it is taken for no.
pub fn is_tracked(file: &Path) -> bool {
    succeeds(file, &["ls-files", "--error-unmatch", "--"]) == Some(true)
}

/// Whether the file is in a repository that is neither told to keep it nor to ignore it, so that it may become part of the next commit.
pub fn is_exposed(file: &Path) -> bool {
    let is_ignored = || succeeds(file, &["check-ignore", "--quiet", "--"]);
    !is_tracked(file) && is_ignored() == Some(false)
}

/// Whether git says yes or no about this file. `None` if it says neither: there is no git, or no repository that it can read.
fn succeeds(file: &Path, question: &[&str]) -> Option<bool> {
    let top = file.ancestors().skip(1).find(|directory| directory.join(".git").exists())?;
    let theirs = Repository::at(top)?;
    let ours = theirs.without_configuration().ok()?;
    let mut git = Command::new("git");
    git.args(["--no-optional-locks", "-c", "core.fsmonitor=false", "--git-dir"]).arg(ours.path());
    git.arg("--work-tree").arg(top).args(question).arg(file);
    // The variables of git would name another repository. A hook of git may have set them.
    let kept = ["HOME", "PATH", "XDG_CONFIG_HOME"].map(|name| env::var_os(name).map(|value| (name, value)));
    git.env_clear().envs(kept.into_iter().flatten()).env("GIT_INDEX_FILE", theirs.own.join("index"));
    // An entry of the PATH that is not absolute must not lead into the repository.
    git.current_dir("/");
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = git.spawn().ok()?;
    let pid = Pid::from_child(&child);
    let (sender, ended) = mpsc::channel();
    // A thread waits, and not a handler for SIGCHLD: a debugger that holds that signal back would make every wait as long as it may be.
    thread::spawn(move || drop(sender.send(child.wait())));
    let status = ended.recv_timeout(PATIENCE).ok().and_then(Result::ok);
    if status.is_none() {
        // The thread has not waited for it yet, so this is still the number of that process.
        let _ = kill_process(pid, Signal::KILL);
    }
    match status?.code() {
        Some(0) => Some(true),
        Some(1) => Some(false),
        _ => None,
    }
}

/// Where the parts of a repository are.
struct Repository {
    /// What this work tree has for itself.
    own: PathBuf,
    /// What it shares with the other work trees of the repository.
    common: PathBuf,
}

impl Repository {
    fn at(top: &Path) -> Option<Self> {
        let line = |path: &Path, before: &str| {
            let text = String::from_utf8(regular::read(path).ok()?.bytes).ok()?;
            Some(PathBuf::from(text.strip_prefix(before)?.trim_end()))
        };
        let mut own = top.join(".git");
        if !own.is_dir() {
            own = top.join(line(&own, "gitdir: ")?);
        }
        let common = line(&own.join("commondir"), "").map_or_else(|| own.clone(), |common| own.join(common));
        Some(Self { own, common })
    }

    /// A repository of our own, with what git needs of this one.
    fn without_configuration(&self) -> io::Result<TempDir> {
        let ours = tempfile::tempdir()?;
        fs::write(ours.path().join("HEAD"), "ref: refs/heads/main\n")?;
        fs::create_dir(ours.path().join("refs"))?;
        for part in ["objects", "info"] {
            symlink(self.common.join(part), ours.path().join(part))?;
        }
        // An index may be in two parts.
        for entry in fs::read_dir(&self.own)?.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"sharedindex.") {
                symlink(entry.path(), ours.path().join(entry.file_name()))?;
            }
        }
        if self.has_long_names() {
            let config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n";
            fs::write(ours.path().join("config"), config)?;
        }
        Ok(ours)
    }

    /// Whether its objects have the longer of the two kinds of names that git knows. The index cannot be read without knowing.
    fn has_long_names(&self) -> bool {
        let config = regular::read(&self.common.join("config")).map(|file| file.bytes).unwrap_or_default();
        let config = String::from_utf8_lossy(&config).to_lowercase();
        config.lines().any(|line| line.replace([' ', '\t'], "") == "objectformat=sha256")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(directory: &Path, args: &[&str]) {
        assert!(Command::new("git").arg("-C").arg(directory).args(args).output().unwrap().status.success(), "{args:?}");
    }

    #[test]
    fn a_file_is_tracked_exposed_ignored_or_in_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(".claude").join(name);
        assert!(!is_tracked(&file("settings.json")) && !is_exposed(&file("settings.json")), "no repository");
        git(dir.path(), &["init", "--quiet"]);
        assert!(!is_tracked(&file("settings.json")) && is_exposed(&file("settings.json")), "not even a directory");
        fs::create_dir(dir.path().join(".claude")).unwrap();
        fs::write(file("settings.json"), "{}").unwrap();
        fs::write(file("settings.local.json"), "{}").unwrap();
        git(dir.path(), &["add", ".claude/settings.json"]);
        assert!(is_tracked(&file("settings.json")) && !is_exposed(&file("settings.json")));
        assert!(!is_tracked(&file("settings.local.json")) && is_exposed(&file("settings.local.json")));
        fs::write(dir.path().join(".gitignore"), "settings.local.json\n").unwrap();
        assert!(!is_exposed(&file("settings.local.json")));
        fs::remove_dir_all(dir.path().join(".claude")).unwrap();
        assert!(is_tracked(&file("settings.json")), "the next commit of all changes would still have it");
    }

    #[test]
    fn unusual_repositories_can_be_read() {
        let [split, long] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        git(split.path(), &["init", "--quiet"]);
        git(long.path(), &["init", "--quiet", "--object-format=sha256"]);
        for dir in [&split, &long] {
            fs::write(dir.path().join("settings.json"), "{}").unwrap();
            git(dir.path(), &["add", "settings.json"]);
        }
        git(split.path(), &["update-index", "--split-index"]);
        for dir in [&split, &long] {
            assert!(is_tracked(&dir.path().join("settings.json")) && !is_tracked(&dir.path().join("other")));
        }
    }

    #[test]
    fn another_work_tree_has_an_index_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        fs::create_dir(&first).unwrap();
        git(&first, &["init", "--quiet"]);
        git(&first, &["-c", "user.name=a", "-c", "user.email=a", "commit", "--quiet", "--allow-empty", "--message=a"]);
        git(&first, &["worktree", "add", "--quiet", "../second"]);
        fs::write(second.join("settings.json"), "{}").unwrap();
        git(&second, &["add", "settings.json"]);
        assert!(is_tracked(&second.join("settings.json")) && !is_tracked(&first.join("settings.json")));
        fs::write(first.join(".git/info/exclude"), "ignored\n").unwrap();
        assert!(!is_exposed(&second.join("ignored")) && is_exposed(&second.join("other")));
    }
}
