//! A private PostgreSQL server for those who have no other: in the data directory, reached through a Unix socket only,
//! run by an unprivileged user when root starts it, and stopped when the last program that uses it ends.
//!
//! A program that is killed leaves the server running; the next one finds it and stops it when it ends. A server that is
//! killed recovers when it is started again, as PostgreSQL does.

use super::StoreError;
use rustix::process::{Pid, getuid, test_kill_process};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The oldest PostgreSQL the store works with.
pub(super) const MAJOR_MIN: u32 = 15;

/// Seconds that a server may take to start or to stop.
const START_SECONDS: u32 = 60;

/// Longest path of a Unix socket, with what PostgreSQL adds to the directory.
const SOCKET_DIR_BYTES_MAX: usize = 80;

/// The private server. Stopped on drop unless somebody else uses it.
#[derive(Debug)]
pub(super) struct Cluster {
    programs: Programs,
    base: PathBuf,
    /// The directory of the socket.
    pub(super) socket: PathBuf,
    account: Option<Account>,
    /// Locked, shared, as long as this program uses the server.
    in_use: File,
}

/// Where PostgreSQL's programs are, and their version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Programs {
    dir: PathBuf,
    major: u32,
}

/// Who runs the server.
#[derive(Debug, Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

impl Cluster {
    /// Makes the cluster if there is none, starts the server if it does not run, and notes that it is used.
    pub(super) fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let account = if getuid().is_root() { Some(unprivileged()?) } else { None };
        let base = base(data_dir, account.is_some())?;
        let cannot = |what: &Path| {
            let what = what.display().to_string();
            move |source| StoreError::File { what, source }
        };
        fs::create_dir_all(&base).map_err(cannot(&base))?;
        if let Some(Account { user, group }) = account {
            chown(&base, Some(user), Some(group)).map_err(cannot(&base))?;
        }
        fs::set_permissions(&base, Permissions::from_mode(0o700)).map_err(cannot(&base))?;
        let open = |name: &str| {
            let path = base.join(name);
            File::options().create(true).append(true).open(&path).map_err(cannot(&path))
        };
        let starting = open("start.lock")?;
        starting.lock().map_err(cannot(&base))?;
        let in_use = open("use.lock")?;
        let data = base.join("data");
        let made_by = fs::read_to_string(data.join("PG_VERSION")).ok().and_then(|text| text.trim().parse().ok());
        let programs = programs(made_by)?;
        let cluster = Self { programs, socket: socket_dir(&base), base, account, in_use };
        if made_by.is_none() {
            cluster.init()?;
        }
        if !cluster.runs() {
            cluster.start()?;
        }
        cluster.in_use.lock_shared().map_err(cannot(&cluster.base))?;
        Ok(cluster)
    }

    fn data(&self) -> PathBuf {
        self.base.join("data")
    }

    /// A program of PostgreSQL, as the user who runs the server, from a directory that user can enter.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.dir.join(program));
        command.current_dir("/").stdin(Stdio::null());
        if let Some(Account { user, group }) = self.account {
            command.gid(group).uid(user);
        }
        command
    }

    /// Makes the cluster beside its place and moves it there when it is complete.
    fn init(&self) -> Result<(), StoreError> {
        let fresh = self.base.join("data.new");
        let file = |source| StoreError::File { what: fresh.display().to_string(), source };
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(file)?;
        }
        let mut command = self.command("initdb");
        command.args(["-U", "caqtus", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"]).arg(&fresh);
        succeed("initdb", &command.output())?;
        fs::rename(&fresh, self.data()).map_err(file)
    }

    /// Whether the server of this cluster runs.
    fn runs(&self) -> bool {
        let Ok(text) = fs::read_to_string(self.data().join("postmaster.pid")) else { return false };
        let pid = text.lines().next().and_then(|line| line.trim().parse().ok()).and_then(Pid::from_raw);
        let mut status = self.command("pg_ctl");
        status.args(["status", "-D"]).arg(self.data()).stdout(Stdio::null()).stderr(Stdio::null());
        pid.is_some_and(|pid| test_kill_process(pid).is_ok()) && status.status().is_ok_and(|status| status.success())
    }

    fn start(&self) -> Result<(), StoreError> {
        let file = |source| StoreError::File { what: self.socket.display().to_string(), source };
        fs::create_dir_all(&self.socket).map_err(file)?;
        if let Some(Account { user, group }) = self.account {
            chown(&self.socket, Some(user), Some(group)).map_err(file)?;
        }
        fs::set_permissions(&self.socket, Permissions::from_mode(0o700)).map_err(file)?;
        let log = self.base.join("postgres.log");
        let options = format!(
            "-c listen_addresses='' -c unix_socket_permissions=0700 -c unix_socket_directories='{}'",
            self.socket.display()
        );
        let mut command = self.command("pg_ctl");
        command.args(["start", "-w", "-t", &START_SECONDS.to_string(), "-o", &options, "-D"]).arg(self.data());
        // The server keeps what it inherits: with a pipe for its output this would wait for its end.
        command.arg("-l").arg(&log).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => {
                let text = fs::read_to_string(&log).unwrap_or_default();
                let last: Vec<&str> = text.lines().rev().take(3).collect();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("; ");
                Err(StoreError::Server { program: "pg_ctl start", message: format!("{last} (log: {})", log.display()) })
            }
            Err(error) => Err(StoreError::Server { program: "pg_ctl start", message: error.to_string() }),
        }
    }

    /// Stops the server if nobody else uses it.
    fn close(&self) -> io::Result<()> {
        let starting = File::options().append(true).open(self.base.join("start.lock"))?;
        starting.lock()?;
        self.in_use.unlock()?;
        if self.in_use.try_lock().is_err() {
            return Ok(());
        }
        let mut stop = self.command("pg_ctl");
        stop.args(["stop", "-m", "fast", "-w", "-t", &START_SECONDS.to_string(), "-D"]).arg(self.data());
        stop.stdout(Stdio::null()).stderr(Stdio::null()).status().map(|_| ())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // What fails here leaves a server that the next program finds and uses.
        let _ = self.close();
    }
}

fn succeed(program: &'static str, output: &io::Result<Output>) -> Result<(), StoreError> {
    let message = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(StoreError::Server { program, message })
}

/// Where the cluster of a data directory is. An unprivileged user cannot reach a directory inside root's home.
fn base(data_dir: &Path, by_root: bool) -> Result<PathBuf, StoreError> {
    let file = |source| StoreError::File { what: data_dir.display().to_string(), source };
    fs::create_dir_all(data_dir).map_err(file)?;
    let data_dir = data_dir.canonicalize().map_err(file)?;
    let open_to_all = |dir: &Path| fs::metadata(dir).is_ok_and(|m| m.permissions().mode() & 0o001 != 0);
    if !by_root || data_dir.ancestors().all(open_to_all) {
        return Ok(data_dir.join("store"));
    }
    Ok(Path::new("/var/lib/caqtus").join(name_of(&data_dir)))
}

/// The socket's directory: inside the cluster's, unless that path is too long for a socket.
fn socket_dir(base: &Path) -> PathBuf {
    let inside = base.join("socket");
    if inside.as_os_str().len() <= SOCKET_DIR_BYTES_MAX {
        return inside;
    }
    std::env::temp_dir().join(format!("caqtus-{}", name_of(base)))
}

fn name_of(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// The account that runs a server which root starts; PostgreSQL refuses to run as root.
fn unprivileged() -> Result<Account, StoreError> {
    let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let account = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Account { user: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
    };
    ["postgres", "nobody"].into_iter().find_map(account).ok_or(StoreError::NoAccount)
}

/// The newest PostgreSQL found, or the one of the version that made the cluster.
fn programs(made_by: Option<u32>) -> Result<Programs, StoreError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for parent in ["/usr/lib/postgresql", "/usr/local/lib/postgresql", "/opt/postgresql"] {
        let versions = fs::read_dir(parent).into_iter().flatten().flatten();
        dirs.extend(versions.map(|entry| entry.path().join("bin")));
    }
    let entries = fs::read_dir("/usr").into_iter().flatten().flatten();
    dirs.extend(entries.map(|e| e.path()).filter(|p| p.to_string_lossy().contains("/pgsql-")).map(|p| p.join("bin")));
    let found: Vec<Programs> = dirs.iter().filter_map(|dir| programs_in(dir)).collect();
    choose(&found, made_by)
}

fn choose(found: &[Programs], made_by: Option<u32>) -> Result<Programs, StoreError> {
    let newest = found.iter().map(|p| p.major).max();
    let usable = found.iter().filter(|p| p.major >= MAJOR_MIN && made_by.is_none_or(|major| major == p.major));
    usable.max_by_key(|p| p.major).cloned().ok_or_else(|| match (made_by, newest) {
        (Some(major), _) => StoreError::OtherVersion { major },
        (None, Some(found)) => StoreError::TooOld { found },
        (None, None) => StoreError::NotInstalled,
    })
}

fn programs_in(dir: &Path) -> Option<Programs> {
    if !["initdb", "pg_ctl"].iter().all(|program| dir.join(program).is_file()) {
        return None;
    }
    // The server's own programs lie beside the file that a link in the path leads to.
    let dir = dir.join("pg_ctl").canonicalize().ok()?.parent()?.to_path_buf();
    let output = Command::new(dir.join("pg_ctl")).arg("--version").stdin(Stdio::null()).output().ok()?;
    Some(Programs { major: major_of(&String::from_utf8_lossy(&output.stdout))?, dir })
}

/// The major version in what `--version` prints, as in `pg_ctl (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major_of(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL)")?.1.trim_start();
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
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

    #[test]
    fn the_cluster_keeps_its_version_and_old_servers_are_refused() {
        let programs = |major| Programs { dir: PathBuf::from(format!("/{major}")), major };
        let found = || vec![programs(14), programs(17), programs(15)];
        assert_eq!(choose(&found(), None).expect("the newest").major, 17);
        assert_eq!(choose(&found(), Some(15)).expect("the cluster's").major, 15);
        assert!(matches!(choose(&found(), Some(16)), Err(StoreError::OtherVersion { major: 16 })));
        assert!(matches!(choose(&[programs(14)], None), Err(StoreError::TooOld { found: 14 })));
        assert!(matches!(choose(&[], None), Err(StoreError::NotInstalled)));
    }

    #[test]
    fn a_socket_path_is_never_too_long() {
        let long = PathBuf::from(format!("/{}", "x".repeat(200)));
        assert!(socket_dir(&long).as_os_str().len() <= SOCKET_DIR_BYTES_MAX);
        assert_eq!(socket_dir(Path::new("/d")), Path::new("/d/socket"));
    }
}
