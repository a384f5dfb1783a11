//! PostgreSQL's programs, and a private server of them.

use super::private::{Room, START_MAX, Server};
use super::{ServerError, command, file, succeed};
use crate::clock;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The port, which only names the socket.
pub const PORT: u16 = 5432;

/// Who tests: a role without any right beyond its own database, so that no function of the server reaches a file or another
/// program.
pub const TESTER: &str = "tester";

/// Makes that role, and gives it the database in which everything happens. A statement a line, as a server for a single user
/// reads them.
const MAKE_TESTER: &str = "CREATE ROLE tester LOGIN\nALTER DATABASE postgres OWNER TO tester\n";

/// PostgreSQL's programs and their version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Where they are.
    pub dir: PathBuf,
    /// Their major version.
    pub major: u32,
}

impl Programs {
    /// The programs in a directory, if they are there.
    pub fn in_dir(dir: &Path) -> Option<Self> {
        if !["initdb", "pg_ctl"].iter().all(|program| dir.join(program).is_file()) {
            return None;
        }
        // The server's own programs lie beside the file that a link in the path leads to.
        let dir = dir.join("pg_ctl").canonicalize().ok()?.parent()?.to_path_buf();
        let output = Command::new(dir.join("pg_ctl")).arg("--version").stdin(Stdio::null()).output().ok()?;
        Some(Self { major: major_of(&String::from_utf8_lossy(&output.stdout))?, dir })
    }

    /// All that are on this machine.
    pub fn found() -> Vec<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        for parent in ["/usr/lib/postgresql", "/usr/local/lib/postgresql", "/opt/postgresql"] {
            let versions = fs::read_dir(parent).into_iter().flatten().flatten();
            dirs.extend(versions.map(|entry| entry.path().join("bin")));
        }
        let entries = fs::read_dir("/usr").into_iter().flatten().flatten();
        let own = entries.map(|e| e.path()).filter(|p| p.to_string_lossy().contains("/pgsql-"));
        dirs.extend(own.map(|p| p.join("bin")));
        dirs.iter().filter_map(|dir| Self::in_dir(dir)).collect()
    }
}

/// The major version in what `--version` prints, as in `pg_ctl (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major_of(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL)")?.1.trim_start();
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Settings that make a server fast whose data nobody needs.
const SETTINGS: [&str; 13] = [
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "shared_buffers=16MB",
    "max_connections=10",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=128MB",
    "unix_socket_permissions=0700",
    "logging_collector=off",
    // In the data directory, which goes as a whole; segments elsewhere would stay.
    "dynamic_shared_memory_type=mmap",
];

/// Makes a cluster.
pub fn make_cluster(programs: &Programs, data_dir: &Path, room: &Room) -> Result<PathBuf, ServerError> {
    let program = programs.dir.join("initdb");
    room.data(data_dir, &program, |data| {
        let mut initdb = command(&program, room.account);
        initdb.args(["-U", "caqtus", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]).arg(data);
        succeed(&mut initdb)?;
        let script = room.dir.join("tester.sql");
        fs::write(&script, MAKE_TESTER).map_err(file(&script))?;
        let input = fs::File::open(&script).map_err(file(&script))?;
        let mut single = command(&programs.dir.join("postgres"), room.account);
        single.arg("--single").arg("-D").arg(data).args(["-c", "exit_on_error=on", "-c", "fsync=off", "postgres"]);
        succeed(single.stdin(input))
    })
}

/// Starts the server of a cluster and waits until it answers.
pub fn start(programs: &Programs, data: &Path, room: &Room) -> Result<Server, ServerError> {
    // One that was killed leaves its number behind.
    let _ = fs::remove_file(data.join("postmaster.pid"));
    let mut postgres = command(&programs.dir.join("postgres"), room.account);
    postgres.arg("-D").arg(data).arg("-p").arg(PORT.to_string());
    for setting in SETTINGS {
        postgres.args(["-c", setting]);
    }
    postgres.arg("-c").arg(format!("unix_socket_directories={}", room.dir.display()));
    let mut server = Server::start(postgres, room)?;
    wait(&mut server, "postgres", &room.dir.join(format!(".s.PGSQL.{PORT}")))?;
    Ok(server)
}

/// Waits until a server's socket answers.
pub(super) fn wait(server: &mut Server, program: &str, socket: &Path) -> Result<(), ServerError> {
    let deadline = clock::now() + START_MAX;
    let failed = |how: String, news: &str| {
        let lines: Vec<&str> = news.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(4)..].join("; ");
        ServerError::Program { program: program.to_owned(), message: format!("{how}: {last}") }
    };
    while UnixStream::connect(socket).is_err() {
        if let Some(ended) = server.ended() {
            return Err(failed(format!("it ended ({})", ended.how), &server.news()));
        }
        if clock::now() > deadline {
            return Err(failed("it does not answer".to_owned(), &server.news()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The newest programs on this machine.
pub fn newest() -> Result<Programs, ServerError> {
    let hint = "run `caqtus dbms install postgres@VERSION` or install postgresql".to_owned();
    let newest = Programs::found().into_iter().max_by_key(|programs| programs.major);
    newest.ok_or(ServerError::NotInstalled { engine: "PostgreSQL", hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(major_of("pg_ctl (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_of("pg_ctl (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_of("something else 15"), None);
    }
}
