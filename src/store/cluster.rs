//! A private PostgreSQL server for those who have no other: in the data directory, reached through a Unix socket only,
//! run by an unprivileged user when root starts it, and stopped when the last program that uses it ends.
//!
//! A program that is killed leaves the server running; the next one finds it and stops it when it ends. A server that is
//! killed recovers when it is started again, as PostgreSQL does.

use super::StoreError;
use crate::server::postgres::Programs;
use crate::server::{self, Account, is_open_to_all, name_of};
use rustix::process::getuid;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The oldest PostgreSQL the store works with.
pub(super) const MAJOR_MIN: u32 = 15;

/// Further attempts to start a server, and the pause before each.
const STARTS_MAX: usize = 10;
const START_PAUSE: Duration = Duration::from_millis(300);

/// Seconds that a server may take to start or to stop.
const START_SECONDS: u32 = 60;

/// The port, which only names the socket.
pub(super) const PORT: u16 = 5432;

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
    /// Whether it is locked: a server that did not start is not to be stopped.
    used: bool,
}

impl Cluster {
    /// Makes the cluster if there is none, starts the server if it does not run, and notes that it is used.
    pub(super) fn open(data_dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir)
            .map_err(|source| StoreError::File { what: data_dir.display().to_string(), source })?;
        let account = Account::choose(data_dir)?;
        let base = base(data_dir, account.is_some())?;
        if !is_plain(&base) {
            return Err(StoreError::Path(base.display().to_string()));
        }
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
        let mut cluster = Self { programs, socket: socket_dir(&base), base, account, in_use, used: false };
        if made_by.is_none() {
            cluster.init()?;
        }
        cluster.ensure_running()?;
        cluster.in_use.lock_shared().map_err(cannot(&cluster.base))?;
        cluster.used = true;
        Ok(cluster)
    }

    fn data(&self) -> PathBuf {
        self.base.join("data")
    }

    /// A program of PostgreSQL, as the user who runs the server, from a directory that user can enter.
    fn command(&self, program: &str) -> Command {
        server::command(&self.programs.dir.join(program), self.account)
    }

    /// Makes the cluster beside its place and moves it there when it is complete.
    fn init(&self) -> Result<(), StoreError> {
        // A name of its own: of a program that was killed here, `initdb` may still write, and remove what it wrote when it
        // fails.
        let fresh = self.base.join(format!("data.new-{}", std::process::id()));
        let file = |source| StoreError::File { what: fresh.display().to_string(), source };
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("data.new") {
                // What cannot be removed yet goes the next time, or stays: it is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let mut command = self.command("initdb");
        command.args(["-U", "caqtus", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"]).arg(&fresh);
        succeed("initdb", &command.output())?;
        fs::rename(&fresh, self.data()).map_err(file)
    }

    /// Starts the server unless it runs. One that was killed may seem to live until its last processes are gone, and no
    /// other can start before.
    pub(super) fn ensure_running(&self) -> Result<(), StoreError> {
        let mut attempts = 0;
        while !self.answers() {
            match self.start() {
                Ok(()) => break,
                Err(error) if attempts >= STARTS_MAX => return Err(error),
                Err(_) => attempts += 1,
            }
            std::thread::sleep(START_PAUSE);
        }
        Ok(())
    }

    /// Whether a server listens on the cluster's socket.
    fn answers(&self) -> bool {
        UnixStream::connect(self.socket.join(format!(".s.PGSQL.{PORT}"))).is_ok()
    }

    fn start(&self) -> Result<(), StoreError> {
        let file = |source| StoreError::File { what: self.socket.display().to_string(), source };
        let owner = self.account.map_or_else(|| getuid().as_raw(), |account| account.user);
        match fs::DirBuilder::new().mode(0o700).create(&self.socket) {
            Ok(()) => {
                if let Some(Account { user, group }) = self.account {
                    chown(&self.socket, Some(user), Some(group)).map_err(file)?;
                }
            }
            // Below a directory that all may write to, it could be somebody else's.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = fs::symlink_metadata(&self.socket).map_err(file)?;
                if !found.is_dir() || found.uid() != owner || found.mode() & 0o077 != 0 {
                    return Err(file(io::Error::other("it is there already and belongs to somebody else")));
                }
            }
            Err(error) => return Err(file(error)),
        }
        let log = self.base.join("postgres.log");
        let options = format!(
            "-p {PORT} -c listen_addresses='' -c unix_socket_permissions=0700 -c unix_socket_directories='{}'",
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
        if !self.used {
            return Ok(());
        }
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
    let data_dir = data_dir.canonicalize().map_err(file)?;
    if !by_root || is_open_to_all(&data_dir) {
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

/// Whether PostgreSQL's programs, which pass paths through a shell, take a path as it is.
fn is_plain(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"/._- @+".contains(b))
}

/// The newest PostgreSQL found, or the one of the version that made the cluster.
fn programs(made_by: Option<u32>) -> Result<Programs, StoreError> {
    let found = Programs::found();
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

#[cfg(test)]
mod tests {
    use super::*;

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
