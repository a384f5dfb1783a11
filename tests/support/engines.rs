//! Engines for tests: fetched once for all of them, and servers that tests have to themselves.
//!
//! A test whose engine cannot be had, because there is no network and it was not fetched before, returns early. That it did is
//! said past the harness, which knows no skipped tests that run, and written where `make test` counts it.

use caqtus::server::Account;
use caqtus::server::mysql::Programs;
use mysql::prelude::Queryable as _;
use mysql::{Conn, OptsBuilder};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// The version of DuckDB that tests use.
const DUCKDB: &str = "1.4.5";

/// The version of MariaDB that tests use on a machine without one.
const MARIADB: &str = "10.11";

/// A data directory that tests share, so that engines are fetched once.
pub(crate) fn data_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("engines")
}

/// A DuckDB.
pub(crate) fn duckdb() -> Option<String> {
    engine(&format!("duckdb@{DUCKDB}"))
}

/// The MariaDB of the machine, or one that is fetched.
pub(crate) fn mariadb() -> Option<String> {
    if Programs::found().is_ok() { Some("mariadb".to_owned()) } else { engine(&format!("mariadb@{MARIADB}")) }
}

/// The target of an engine's version, whatever the data directory, fetched if it is not there. `None` if that is not
/// possible: then the test that asked is to end, and counts as skipped.
pub(crate) fn engine(name: &str) -> Option<String> {
    // What cannot be fetched for one test is not tried again for the next.
    static ASKED: Mutex<BTreeMap<String, Result<String, String>>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = asked.entry(name.to_owned()).or_insert_with(|| fetched(name, &data_dir(), &[]));
    known.as_ref().inspect_err(|why| skip(why)).ok().cloned()
}

/// The target of an engine's version below a data directory, or why it cannot be fetched on this machine.
pub(crate) fn fetched(name: &str, data_dir: &Path, environment: &[(&str, &str)]) -> Result<String, String> {
    fs::create_dir_all(data_dir).expect("a directory");
    let lock = fs::File::create(data_dir.join("install.lock")).expect("a lock");
    lock.lock().expect("locks");
    let mut install = Command::new(env!("CARGO_BIN_EXE_caqtus"));
    install.args(["dbms", "install", name, "--data-dir"]).arg(data_dir).envs(environment.iter().copied());
    let output = install.output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let path = stdout.trim().split("  ").nth(1).expect("a path").split(';').next().unwrap_or_default().to_owned();
        let engine = name.split('@').next().unwrap_or_default();
        return Ok(format!("{engine}:{}", path.trim_end_matches('/')));
    }
    let cannot = ["does not reach its registry", "is not installed; install it"].iter().any(|why| said.contains(why));
    assert!(cannot, "{name}: {said}");
    let why = said.lines().last().unwrap_or_default().trim_start_matches("caqtus: ");
    Err(format!("{name} cannot be fetched: {why}"))
}

/// Says that the test that runs on this thread is skipped.
pub(crate) fn skip(why: &str) {
    tell(&format!("is skipped: {why}"));
}

/// Says that the test that runs on this thread is skipped in part.
pub(crate) fn leave_out(what: &str) {
    tell(&format!("leaves out {what}"));
}

fn tell(what: &str) {
    let thread = std::thread::current();
    let line = format!("{} {what}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("CAQTUS_SKIPPED") {
        let file = fs::OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skipped tests");
    }
}

/// Whether a process runs.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The servers that a process started.
pub(crate) fn servers_of(parent: u32, engine: &str) -> Vec<u32> {
    let program = if engine == "postgres" { "postgres" } else { "mariadbd" };
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    // Other threads of a test start servers too.
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let own: Vec<String> =
        tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).chain([children]).collect();
    let mut found: Vec<u32> =
        own.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect();
    found.sort_unstable();
    found.dedup();
    found.retain(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').next().is_some_and(|name| name.ends_with(program))
    });
    found
}

/// A server with passwords, reached through a socket.
pub(crate) struct PgServer {
    bin: PathBuf,
    dir: TempDir,
}

impl PgServer {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let bin = caqtus::server::postgres::newest().expect("PostgreSQL is installed").dir;
        let server = Self { bin, dir };
        let owner = account();
        if let Some(owner) = owner {
            std::os::unix::fs::chown(server.dir.path(), Some(owner.user), Some(owner.group)).expect("chown");
        }
        let data = server.dir.path().join("data");
        let password = server.dir.path().join("password");
        fs::write(&password, "root\n").expect("writes");
        let mut initdb = server.command("initdb");
        initdb
            .args(["-U", "root", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C", "--pwfile"])
            .arg(&password);
        let output = initdb.arg("-D").arg(&data).output().expect("runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &server.start_command()]).current_dir("/");
        assert!(shell.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("runs").success());
        server
    }

    /// What starts it, for the shell.
    pub(crate) fn start_command(&self) -> String {
        let (dir, bin) = (self.dir.path().display(), self.bin.display());
        let who = account().map_or_else(String::new, |Account { user, group }| {
            format!("setpriv --reuid={user} --regid={group} --clear-groups ")
        });
        let options = format!("-c listen_addresses= -c fsync=off -c unix_socket_directories={dir}");
        format!("{who}{bin}/pg_ctl start -w -D {dir}/data -l {dir}/log -o '{options}'")
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        let path = self.dir.path().join("data/postmaster.pid");
        let text = fs::read_to_string(path).expect("it runs");
        text.lines().next().and_then(|pid| pid.trim().parse().ok()).expect("a number")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.current_dir("/");
        if let Some(account) = account() {
            command.gid(account.group).uid(account.user);
        }
        command
    }

    /// Runs a statement as the administrator, and gives the first column of its rows, a line for each. Not with psql, which
    /// not every package of the server has.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let options = PgConnectOptions::new_without_pgpass().socket(self.dir.path()).database(database);
        let options = options.username("root").password("root");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let rows = runtime.block_on(async {
            let mut connection = PgConnection::connect_with(&options).await?;
            sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut connection).await
        });
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let first = |row: &PgRow| row.try_get_raw(0).expect("a column").as_str().expect("a text").to_owned() + "\n";
        rows.iter().map(first).collect()
    }

    /// What psql prints of a script as `pg_regress` runs it, if there is a psql.
    pub(crate) fn psql(&self, database: &str, script: &str) -> Option<String> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-a", "-q", "-U", "root", "-d", database, "-h"]).arg(self.dir.path());
        let psql =
            psql.env("PGPASSWORD", "root").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = psql.ok()?;
        child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("writes");
        let output = child.wait_with_output().expect("ends");
        Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    }

    /// Its address.
    pub(crate) fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@localhost/{database}?host={}", self.dir.path().display())
    }
}

/// Who runs it.
fn account() -> Option<Account> {
    Account::choose(Path::new("/tmp")).expect("an account")
}

impl Drop for PgServer {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["stop", "-m", "immediate", "-D"]).arg(self.dir.path().join("data"));
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// A MariaDB that listens on a port.
pub(crate) struct MariaServer {
    child: Child,
    /// What starts it.
    start: Command,
    port: u16,
    dir: TempDir,
}

impl MariaServer {
    /// Starts one, if there is one.
    pub(crate) fn start() -> Option<Self> {
        let programs = match mariadb()?.strip_prefix("mariadb:") {
            Some(place) => Programs::below(Path::new(place)).expect("programs"),
            None => Programs::found().expect("programs"),
        };
        let dir = tempfile::tempdir().expect("a directory");
        if let Some(owner) = account() {
            std::os::unix::fs::chown(dir.path(), Some(owner.user), Some(owner.group)).expect("chown");
        }
        let command = |program: &Path| {
            let mut command = programs.command(program, account());
            command.arg(format!("--datadir={}", dir.path().join("data").display()));
            // A server that starts removes the temporary tables of every other one in the same place.
            command.arg(format!("--tmpdir={}", dir.path().display()));
            command
        };
        let mut install = command(programs.install.as_ref().expect("MariaDB's script"));
        let output =
            install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]).output().expect("runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let mut start = command(&programs.server);
        start.args(["--bind-address=127.0.0.1", "--skip-log-bin", "--innodb-flush-method=nosync"]);
        start.arg(format!("--port={port}")).arg(format!("--socket={}", dir.path().join("sock").display()));
        start.stdout(Stdio::null()).stderr(Stdio::null());
        let child = start.spawn().expect("starts");
        let server = Self { child, start, port, dir };
        super::wait_until("it answers", || server.run("SELECT 1").is_ok());
        Some(server)
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) {
        self.child.wait().expect("ends");
    }

    /// Starts it again after it ended.
    pub(crate) fn start_again(&mut self) {
        self.child = self.start.spawn().expect("starts");
        super::wait_until("it answers", || self.run("SELECT 1").is_ok());
    }

    /// The rows of all statements, a line for each.
    fn run(&self, sql: &str) -> Result<String, mysql::Error> {
        let options = OptsBuilder::new().user(Some("root")).socket(self.dir.path().join("sock").to_str());
        let mut connection = Conn::new(options)?;
        let mut result = connection.query_iter(sql)?;
        let mut text = String::new();
        while let Some(set) = result.iter() {
            for row in set {
                let values = row?.unwrap().into_iter().map(|value| value.as_sql(true).trim_matches('\'').to_owned());
                text += &(values.collect::<Vec<_>>().join("\t") + "\n");
            }
        }
        Ok(text)
    }

    /// Runs statements as the administrator.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Its address.
    pub(crate) fn url(&self, user: &str, password: &str) -> String {
        format!("mariadb://{user}:{password}@127.0.0.1:{}/", self.port)
    }
}

impl Drop for MariaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
