//! What git does with a settings file: whether other people get it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

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

/// Whether git says yes or no about this file. `None` if it says neither: there is no git, no repository, or one that git does not trust.
fn succeeds(file: &Path, question: &[&str]) -> Option<bool> {
    // The directory of the file may not be there yet.
    let directory = file.ancestors().skip(1).find(|directory| directory.is_dir())?;
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(question).arg(file);
    // These would name another repository than that of the file. A hook of git may have set them.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"] {
        git.env_remove(name);
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

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
}
