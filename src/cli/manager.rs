//! The service manager that runs the daemon, if one does: systemd or launchd.
//!
//! Only the manager can replace or stop its daemon properly. A daemon that somebody else starts in its place is no service: the manager
//! takes it for ended, does not watch it, and does not stop it at logout.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use super::explain::hinted;

/// What `install/answerback.service` is installed as.
const UNIT: &str = "answerback.service";
/// The label in `install/answerback.plist`.
const LABEL: &str = "answerback";
/// Longer than a daemon takes to end and to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service manager, and what it calls the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Manager {
    Systemd {
        unit: String,
        /// The user's own systemd, not the system's.
        is_user: bool,
    },
    Launchd {
        /// `gui/UID/LABEL`.
        target: String,
    },
}

impl Manager {
    /// The manager whose service this process is. A process that only descends from a service has none.
    /// `order` is what the manager would be told, for a person who has to do it.
    pub(super) fn of(pid: i32, order: &str) -> anyhow::Result<Option<Self>> {
        if cfg!(target_os = "macos") { Ok(Self::launchd(pid)) } else { Self::systemd(pid, order) }
    }

    fn systemd(pid: i32, order: &str) -> anyhow::Result<Option<Self>> {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let Some(manager) = service_of(&environment, &cgroup, pid) else { return Ok(None) };
        match run(&mut manager.command(&["show", "--property=MainPID", "--value"])) {
            // The environment and the control group are inherited. Only the main process is the service.
            Ok(main) => Ok((main.trim().parse() == Ok(pid)).then_some(manager)),
            Err(why) => Err(hinted(
                format!("systemd runs the daemon, and cannot be asked: {why}"),
                format!("Run this again where systemd can be reached, or run there: {}", manager.by_hand(&[order])),
            )),
        }
    }

    fn launchd(pid: i32) -> Option<Self> {
        let manager = Self::Launchd { target: format!("gui/{}/{LABEL}", rustix::process::geteuid().as_raw()) };
        // It fails where there is no such service.
        let description = run(&mut manager.command(&["print"])).ok()?;
        let main = description.lines().find_map(|line| line.trim().strip_prefix("pid = "));
        (main?.parse() == Ok(pid)).then_some(manager)
    }

    /// Has another daemon started in place of the one that runs. It need not listen yet when this returns.
    pub(super) fn restart(&self) -> anyhow::Result<()> {
        self.order(match self {
            Self::Systemd { .. } => &["restart"],
            Self::Launchd { .. } => &["kickstart", "-k"],
        })
    }

    /// Stops the daemon. The manager does not start it again by itself.
    pub(super) fn stop(&self) -> anyhow::Result<()> {
        self.order(match self {
            Self::Systemd { .. } => &["stop"],
            // The service in `install/` stays down after an end that is no failure.
            Self::Launchd { .. } => &["kill", "SIGTERM"],
        })
    }

    fn order(&self, words: &[&str]) -> anyhow::Result<()> {
        match run(&mut self.command(words)) {
            Ok(_) => Ok(()),
            Err(why) => Err(hinted(
                format!("the service manager refuses: {why}"),
                format!("Run it yourself: {}", self.by_hand(words)),
            )),
        }
    }

    /// The command that shows why a service does not start.
    pub(super) fn log_command(&self) -> String {
        match self {
            Self::Systemd { unit, is_user: true } => format!("journalctl --user --unit {unit}"),
            Self::Systemd { unit, is_user: false } => format!("journalctl --unit {unit}"),
            Self::Launchd { target } => format!("launchctl print {target}"),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = match self {
            Self::Systemd { is_user, .. } => {
                let mut systemctl = Command::new("systemctl");
                systemctl.args(is_user.then_some("--user")).arg("--no-ask-password");
                systemctl
            }
            Self::Launchd { .. } => Command::new("launchctl"),
        };
        command.args(words).arg(self.name());
        command
    }

    /// The same command, for a person.
    fn by_hand(&self, words: &[&str]) -> String {
        let program = match self {
            Self::Systemd { is_user: true, .. } => "systemctl --user",
            Self::Systemd { is_user: false, .. } => "sudo systemctl",
            Self::Launchd { .. } => "launchctl",
        };
        format!("{program} {} {}", words.join(" "), self.name())
    }

    fn name(&self) -> &str {
        let (Self::Systemd { unit: name, .. } | Self::Launchd { target: name }) = self;
        name
    }
}

/// The service of systemd that a process may be the main process of, by the environment that systemd gave it and its control group.
fn service_of(environment: &[u8], cgroup: &str, pid: i32) -> Option<Manager> {
    let variable = |name: &str| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    };
    variable("INVOCATION_ID")?;
    // Since version 248, systemd says which process the variables are for.
    let meant = variable("SYSTEMD_EXEC_PID").map(|value| value == pid.to_string().as_bytes());
    let named = cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find_map(|path| {
        let unit = path.rsplit('/').find(|part| part.ends_with(".service") && !part.starts_with("user@"))?;
        Some(Manager::Systemd { unit: unit.to_owned(), is_user: path.contains("/user@") })
    });
    match (meant, named) {
        (Some(false), _) => None,
        (Some(true), None) => Some(Manager::Systemd { unit: UNIT.to_owned(), is_user: true }),
        (_, named) => named,
    }
}

/// What the program prints, or why it fails.
fn run(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{program}: {error}");
    // An entry of the PATH that is not absolute must not lead into the directory we are in.
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if child.wait_timeout(PATIENCE).map_err(failed)?.is_none() {
        child.kill().and_then(|()| child.wait()).map_err(failed)?;
        return Err(format!("{program} does not end"));
    }
    let output = child.wait_with_output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false if said.is_empty() => Err(format!("{program}: {}", output.status)),
        false => Err(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str =
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/answerback.service\n1:name=systemd:/\n";

    #[test]
    fn a_service_is_known_by_its_environment_and_its_control_group() {
        let service = |unit: &str, is_user| Some(Manager::Systemd { unit: unit.to_owned(), is_user });
        let own = b"HOME=/home/me\0INVOCATION_ID=1f\0SYSTEMD_EXEC_PID=42\0".as_slice();
        let older = b"INVOCATION_ID=1f\0".as_slice();
        let of_another = b"INVOCATION_ID=1f\0SYSTEMD_EXEC_PID=41\0".as_slice();
        let systems = "12:pids:/\n1:name=systemd:/system.slice/answers.service\n0::/system.slice/answers.service\n";
        let terminal = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Terminal-7.scope\n";
        for (environment, cgroup, expected) in [
            (own, USERS, service("answerback.service", true)),
            (older, USERS, service("answerback.service", true)),
            (own, systems, service("answers.service", false)),
            (own, "0::/\n", service("answerback.service", true)),
            (own, terminal, service("answerback.service", true)),
            (older, terminal, None),
            (older, "0::/\n", None),
            (of_another, USERS, None),
            (b"HOME=/home/me\0".as_slice(), USERS, None),
            (b"".as_slice(), "", None),
        ] {
            assert_eq!(service_of(environment, cgroup, 42), expected, "{cgroup}");
        }
    }

    #[test]
    fn managers_are_asked_in_their_own_words() {
        let words = |command: Command| {
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let user = Manager::Systemd { unit: UNIT.to_owned(), is_user: true };
        let system = Manager::Systemd { unit: UNIT.to_owned(), is_user: false };
        let launchd = Manager::Launchd { target: "gui/501/answerback".to_owned() };
        for (manager, order, command, by_hand) in [
            (
                &user,
                ["stop"].as_slice(),
                "systemctl --user --no-ask-password stop answerback.service",
                "systemctl --user stop answerback.service",
            ),
            (
                &system,
                &["restart"],
                "systemctl --no-ask-password restart answerback.service",
                "sudo systemctl restart answerback.service",
            ),
            (
                &launchd,
                &["kickstart", "-k"],
                "launchctl kickstart -k gui/501/answerback",
                "launchctl kickstart -k gui/501/answerback",
            ),
        ] {
            assert_eq!((words(manager.command(order)).as_str(), manager.by_hand(order).as_str()), (command, by_hand));
        }
    }

    #[test]
    fn what_a_program_says_or_why_it_fails() {
        let shell = |script: &str| run(Command::new("sh").args(["-c", script]));
        assert_eq!(shell("echo 42"), Ok("42\n".to_owned()));
        assert_eq!(shell("echo 'no bus' >&2; exit 1"), Err("no bus".to_owned()));
        assert_eq!(shell("exit 3"), Err("sh: exit status: 3".to_owned()));
        assert!(run(&mut Command::new("/nonexistent/systemctl")).unwrap_err().starts_with("/nonexistent/systemctl: "));
    }
}
