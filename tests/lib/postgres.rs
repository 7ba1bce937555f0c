//! A real PostgreSQL for tests: in a scratch directory, as an unprivileged user, on a unix socket only.
//!
//! The engine ends with the process of the test, however that ends: it is started by a shell that waits for the end of its input, and the
//! other side of that pipe is closed with the process.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const STARTING: Duration = Duration::from_secs(60);

/// Runs a program in a directory. Ends it with a signal when the input ends, and leaves nothing behind.
/// Whoever interrupts the test means the test: this goes on until the test has ended.
const KEEPER: &str = r#"
trap '' HUP INT TERM
dir=$1 signal=$2
shift 2
"$@" >"$dir/log" 2>&1 &
program=$!
read -r word
kill -"$signal" "$program" 2>/dev/null
wait "$program" 2>/dev/null
if [ "$word" != keep ]; then rm -rf "$dir"; fi
"#;

/// Makes an authority, and a certificate for `localhost` that it has signed.
const CERTIFICATES: &str = "
set -e
cd \"$1\"
new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
openssl req -x509 $new -keyout ca.key -out ca.pem -subj /CN=authority -days 2
openssl req $new -keyout server.key -out server.csr -subj /CN=server
echo subjectAltName=DNS:localhost >extensions
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem
";

const SETTINGS: &str = "
listen_addresses = ''
max_connections = 300
fsync = off
shared_buffers = 32MB
unix_socket_permissions = 0777
timezone = 'UTC'
";

/// An engine of its own. It is ended when this is dropped.
#[derive(Debug)]
pub struct Engine {
    bin: PathBuf,
    dir: PathBuf,
    keeper: Option<Child>,
}

impl Engine {
    /// The engine that all tests of a process share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        SHARED.get_or_init(|| Self::new(""))
    }

    /// Makes an engine with a few more settings, and starts it.
    pub fn new(settings: &str) -> Self {
        let bin = programs();
        let dir = scratch_dir();
        let mut engine = Self { bin, dir, keeper: None };
        let data = engine.dir.join("data");
        engine.run(
            "initdb",
            &["--no-sync", "--auth=trust", "--username=test", "--encoding=UTF8", "--locale=C", "-D"],
            &data,
        );
        let file = data.join("postgresql.conf");
        let written = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{written}\n{SETTINGS}\n{settings}\n")).unwrap();
        engine.start();
        engine
    }

    /// An engine that also listens on this port of 127.0.0.1, with TLS: the engine, and the certificate of its authority. `sql` and
    /// `database` are not for it.
    pub fn with_tls(port: u16) -> (Self, PathBuf) {
        let dir = scratch_dir();
        let made = as_unprivileged(Path::new("sh")).args(["-c", CERTIFICATES, "make"]).arg(&dir).output().unwrap();
        assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
        let files = dir.display();
        let engine = Self::new(&format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nssl = on\n\
             ssl_cert_file = '{files}/server.pem'\nssl_key_file = '{files}/server.key'"
        ));
        // The engine has read them. The certificate of the authority is still needed, and goes with the engine.
        let authority = engine.dir.join("ca.pem");
        fs::copy(dir.join("ca.pem"), &authority).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        (engine, authority)
    }

    fn run(&self, program: &str, arguments: &[&str], path: &Path) {
        let output = as_unprivileged(&self.bin.join(program)).args(arguments).arg(path).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts the engine, and returns when it takes connections.
    pub fn start(&mut self) {
        let mut keeper = keeper(&self.dir, "QUIT");
        keeper.arg(self.bin.join("postgres")).arg("-D").arg(self.dir.join("data")).arg("-k").arg(&self.dir);
        self.keeper = Some(keeper.spawn().unwrap());
        let deadline = Instant::now() + STARTING;
        // The last line says `ready` once recovery is over, and `standby` once a standby takes connections.
        let is_ready = || {
            let file = fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap_or_default();
            file.lines().last().is_some_and(|state| ["ready", "standby"].contains(&state.trim()))
        };
        while !is_ready() {
            let log = || fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the engine as if it had crashed. [`start`](Self::start) starts it again.
    pub fn crash(&mut self) {
        self.end("keep\n");
        drop(fs::remove_file(self.dir.join("data/postmaster.pid")));
    }

    fn end(&mut self, word: &str) {
        end(self.keeper.take(), word);
    }

    /// A PgBouncer before this engine, in a pool mode. It ends with this.
    pub fn pooler(&self, mode: &str) -> Pooler {
        let dir = scratch_dir();
        let (host, socket) = (self.dir.display(), dir.display());
        let settings = format!(
            "[databases]\n* = user=test host={host}\n[pgbouncer]\nunix_socket_dir = {socket}\nlisten_port = 5432\nlisten_addr =\n\
             auth_type = any\npool_mode = {mode}\n"
        );
        fs::write(dir.join("pgbouncer.ini"), settings).unwrap();
        let mut command = keeper(&dir, "TERM");
        command.args(["pgbouncer", "-q"]).arg(dir.join("pgbouncer.ini"));
        let pooler = Pooler { keeper: Some(command.spawn().unwrap()), dir };
        let deadline = Instant::now() + STARTING;
        while !pooler.dir.join(".s.PGSQL.5432").exists() {
            let log = || fs::read_to_string(pooler.dir.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "PgBouncer does not start (apt-get install pgbouncer): {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
        pooler
    }

    /// The directory of the socket.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A new and empty database: its address.
    pub fn database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.address(&name)
    }

    /// The address of a database.
    pub fn address(&self, database: &str) -> String {
        address(&self.dir, database)
    }

    /// Another engine that follows this one. Its name for `synchronous_standby_names` is `*`.
    pub fn standby(&self) -> Self {
        let dir = scratch_dir();
        let standby = Self { bin: self.bin.clone(), dir, keeper: None };
        let (from, data) = (self.dir.to_str().unwrap(), standby.dir.join("data"));
        let arguments =
            ["--host", from, "--username=test", "--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--pgdata"];
        standby.run("pg_basebackup", &arguments, &data);
        let mut standby = standby;
        standby.start();
        standby
    }

    /// Makes a standby a primary, and returns when it takes writes.
    pub fn promote(&self) {
        self.run("pg_ctl", &["promote", "--wait", "--silent", "-D"], &self.dir.join("data"));
    }

    /// Changes a setting while the engine runs.
    pub fn set(&self, name: &str, value: &str) {
        self.sql("postgres", &format!("ALTER SYSTEM SET {name} = {value}"));
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// The directory of the programs.
    pub fn programs(&self) -> &Path {
        &self.bin
    }

    /// From now on, a role needs its password.
    pub fn need_password(&self, role: &str) {
        let file = self.dir.join("data/pg_hba.conf");
        let written = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("local all {role} scram-sha-256\n{written}")).unwrap();
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// The process of the engine.
    pub fn pid(&self) -> u32 {
        let file = fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        file.lines().next().unwrap().parse().unwrap()
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.join(".s.PGSQL.5432")
    }

    /// Runs statements in a database with the program `psql`, and returns what it prints.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let output = as_unprivileged(&self.bin.join("psql"))
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", &self.address(database), "-c", statements])
            .output()
            .unwrap();
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end("");
        // It is still there if the engine was not started again after a crash.
        drop(fs::remove_dir_all(&self.dir));
    }
}

/// A pooler between the tests and an engine.
#[derive(Debug)]
pub struct Pooler {
    dir: PathBuf,
    keeper: Option<Child>,
}

impl Pooler {
    /// The directory of its socket.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        end(self.keeper.take(), "");
    }
}

fn end(keeper: Option<Child>, word: &str) {
    if let Some(mut keeper) = keeper {
        if let Some(mut input) = keeper.stdin.take() {
            drop(input.write_all(word.as_bytes()));
        }
        drop(keeper.wait());
    }
}

/// Runs a program as an unprivileged user, for as long as this process lives. The signal ends it at once.
fn keeper(dir: &Path, signal: &str) -> Command {
    let mut keeper = as_unprivileged(Path::new("sh"));
    keeper.args(["-c", KEEPER, "keeper"]).arg(dir).arg(signal);
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    keeper
}

/// A directory for an engine, which its user can write to.
fn scratch_dir() -> PathBuf {
    let dir = tempfile::Builder::new().prefix("answerback-postgres-").tempdir().unwrap().keep();
    if let Some((uid, gid)) = unprivileged() {
        chown(&dir, Some(uid), Some(gid)).unwrap();
    }
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// The address of a database behind a socket in a directory.
pub fn address(dir: &Path, database: &str) -> String {
    let dir = dir.to_str().unwrap().replace('/', "%2F");
    format!("postgres://test@{dir}/{database}")
}

/// Whether there is a PostgreSQL here.
pub fn is_installed() -> bool {
    found_programs().is_some()
}

fn programs() -> PathBuf {
    found_programs().expect("PostgreSQL is not installed: run `apt-get install postgresql`, or tests/run.sh")
}

/// The directory of the programs. Debian keeps them away from the others.
fn found_programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    found.sort_by_key(|bin| bin.parent().and_then(|dir| dir.file_name()?.to_str()?.parse::<u32>().ok()));
    let asked = || {
        let output = Command::new("pg_config").arg("--bindir").output().ok()?;
        let bin = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        bin.join("initdb").exists().then_some(bin)
    };
    found.pop().or_else(asked)
}

/// PostgreSQL does not run as root. Then it runs as the user of its package.
fn unprivileged() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<u32>().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let user = ["postgres", "nobody"].into_iter().find_map(|name| Some((id(&["-u", name])?, id(&["-g", name])?)));
    Some(user.expect("there is no user that PostgreSQL could run as"))
}

fn as_unprivileged(program: &Path) -> Command {
    let mut command = match unprivileged() {
        None => Command::new(program),
        Some((uid, gid)) => {
            let mut command = Command::new("setpriv");
            command
                .args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()])
                .arg(program);
            command
        }
    };
    // Debian keeps PgBouncer where only root looks.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("LC_ALL", "C").env("PATH", format!("{path}:/usr/sbin")).current_dir("/");
    command
}
