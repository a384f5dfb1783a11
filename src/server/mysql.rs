//! Programs of MariaDB or MySQL, and a private server of them.

use super::private::{Room, Server};
use super::{Account, ServerError, command, file, find_program, postgres, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of one of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The server.
    pub server: PathBuf,
    /// MariaDB's script that makes a data directory; MySQL's server does that itself.
    pub install: Option<PathBuf>,
    /// The directory above all of them, where it is not the system's.
    pub base: Option<PathBuf>,
}

impl Programs {
    /// Those below a directory, as a package lays them out.
    pub fn below(base: &Path) -> Option<Self> {
        let find = |names: &[&str]| {
            let dirs = ["usr/sbin", "usr/bin", "bin", "sbin", "scripts"];
            let all = dirs.iter().flat_map(|dir| names.iter().map(move |name| base.join(dir).join(name)));
            all.into_iter().find(|path| path.is_file())
        };
        let server = find(&["mariadbd", "mysqld"])?;
        let install = find(&["mariadb-install-db", "mysql_install_db"]);
        Some(Self { server, install, base: Some(base.to_path_buf()) })
    }

    /// MariaDB's of this machine.
    pub fn found() -> Result<Self, ServerError> {
        let hint = "run `caqtus dbms install mariadb` or install mariadb-server".to_owned();
        let missing = || ServerError::NotInstalled { engine: "MariaDB", hint };
        let server = find_program("mariadbd").or_else(|| find_program("mysqld"));
        let install = find_program("mariadb-install-db").or_else(|| find_program("mysql_install_db"));
        server
            .zip(install)
            .map(|(server, install)| Self { server, install: Some(install), base: None })
            .ok_or_else(missing)
    }

    /// A command with the libraries and messages that lie beside the programs.
    pub fn command(&self, program: &Path, account: Option<Account>) -> Command {
        let mut command = command(program, account);
        command.arg("--no-defaults");
        if let Some(base) = &self.base {
            // Programs that come with a C library of their own find it; the shell that starts them must not.
            if !base.join("usr/lib/x86_64-linux-gnu/libc.so.6").exists() {
                let libraries =
                    ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib", "lib"].map(|d| base.join(d));
                command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap_or_default());
            }
            let inner = if base.join("usr/share").exists() { base.join("usr") } else { base.clone() };
            command.arg(format!("--basedir={}", inner.display()));
            for share in ["share/mysql", "share"].map(|d| inner.join(d)) {
                if share.join("english").exists() {
                    command.arg(format!("--lc-messages-dir={}", share.display()));
                    break;
                }
            }
        }
        command
    }
}

/// The socket of a server.
pub fn socket(room: &Room) -> PathBuf {
    room.dir.join("sock")
}

/// Who tests: an account with rights on databases of ours only, so that no function of the server reaches a file.
pub const TESTER: &str = "tester";

/// Makes that account; a statement a line, run at each start.
const MAKE_TESTER: &str =
    "CREATE USER IF NOT EXISTS 'tester'@'localhost';\nGRANT ALL ON `caqtus\\_%`.* TO 'tester'@'localhost';\n";

/// Settings that make a server fast whose data nobody needs. A server passes over a `loose` one that it does not know
/// (<https://dev.mysql.com/doc/refman/8.0/en/option-modifiers.html>).
const SETTINGS: [&str; 19] = [
    "--skip-networking",
    "--skip-log-bin",
    // Makes keys at every start.
    "--loose-skip-ssl",
    "--loose-auto-generate-certs=OFF",
    "--loose-sha256-password-auto-generate-rsa-keys=OFF",
    "--loose-caching-sha2-password-auto-generate-rsa-keys=OFF",
    "--loose-default-authentication-plugin=mysql_native_password",
    "--loose-mysqlx=OFF",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    "--innodb-doublewrite=0",
    "--innodb-flush-method=nosync",
    "--loose-sync-frm=0",
    "--performance-schema=OFF",
    "--innodb-stats-persistent=0",
    "--loose-aria-checkpoint-interval=0",
    "--max-connections=10",
    "--key-buffer-size=8M",
];

/// Makes a data directory.
pub fn make_data(programs: &Programs, data_dir: &Path, room: &Room) -> Result<PathBuf, ServerError> {
    room.data(data_dir, programs.install.as_ref().unwrap_or(&programs.server), |data| {
        let Some(script) = &programs.install else {
            let mut initialize = programs.command(&programs.server, room.account);
            initialize.arg(format!("--datadir={}", data.display())).arg(format!("--tmpdir={}", room.dir.display()));
            return succeed(initialize.arg("--initialize-insecure").args(SETTINGS));
        };
        super::private_dir(data, room.account)?;
        let mut install = programs.command(script, room.account);
        install.arg(format!("--datadir={}", data.display())).arg("--loose-skip-ssl");
        // A server that starts removes the temporary tables of every other one in the same place.
        install.arg(format!("--tmpdir={}", room.dir.display()));
        succeed(install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]))
    })
}

/// Starts a server and waits until it answers.
pub fn start(programs: &Programs, data: &Path, room: &Room) -> Result<Server, ServerError> {
    let mut server = programs.command(&programs.server, room.account);
    server.arg(format!("--datadir={}", data.display())).arg(format!("--socket={}", socket(room).display()));
    server.arg(format!("--tmpdir={}", room.dir.display())).args(SETTINGS);
    let script = room.dir.join("tester.sql");
    fs::write(&script, MAKE_TESTER).map_err(file(&script))?;
    server.arg(format!("--init-file={}", script.display()));
    // Nothing is in it, for accounts that may read and write files.
    let files = room.dir.join("files");
    super::private_dir(&files, room.account)?;
    server.arg(format!("--secure-file-priv={}", files.display()));
    let mut server = Server::start(server, room)?;
    postgres::wait(&mut server, "the server", &socket(room))?;
    Ok(server)
}
