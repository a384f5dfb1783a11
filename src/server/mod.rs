//! Servers of our own: who runs them, where they live, and what becomes of them when this program ends.
//!
//! The store keeps one for good (`store::cluster`); engines under test get one each, in memory, that ends with the process
//! that started it ([`private`]).

pub mod mysql;
pub mod postgres;
pub mod private;

use rustix::process::getuid;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// Why a server of our own cannot be had. Each message says what to do next.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The engine's programs are not on this machine.
    #[error("there is no {engine} on this machine; {hint}")]
    NotInstalled {
        /// The engine.
        engine: &'static str,
        /// What to do.
        hint: String,
    },
    /// A file cannot be used.
    #[error("cannot use {what}")]
    File {
        /// The file.
        what: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Root starts servers as somebody else, and there is nobody.
    #[error(
        "a server must not run as root, and there is no account `postgres` or `nobody` to run it; start caqtus as another user"
    )]
    NoAccount,
    /// A program failed.
    #[error("{program}: {message}")]
    Program {
        /// The program.
        program: String,
        /// What it said.
        message: String,
    },
}

/// A file error.
pub(crate) fn file(what: &Path) -> impl FnOnce(io::Error) -> ServerError + use<> {
    let what = what.display().to_string();
    move |source| ServerError::File { what, source }
}

/// Who runs a server that root starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Account {
    /// The account for servers that use a directory; `None` if this program is not root's and runs them itself. Engines
    /// refuse to run as root: it is whoever owns the directory, so that they can use it too, and otherwise an account
    /// without rights.
    pub fn choose(dir: &Path) -> Result<Option<Self>, ServerError> {
        if !getuid().is_root() {
            return Ok(None);
        }
        let owner = fs::metadata(dir).ok().map(|m| Self { user: m.uid(), group: m.gid() });
        if let Some(owner) = owner.filter(|owner| owner.user != 0) {
            return Ok(Some(owner));
        }
        let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let account = |name: &str| {
            let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut fields = line.split(':').skip(2);
            Some(Self { user: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
        };
        ["postgres", "nobody"].into_iter().find_map(account).map(Some).ok_or(ServerError::NoAccount)
    }
}

/// A command that runs as the account, without anything of this program's environment: keys are not for servers.
pub fn command(program: &Path, account: Option<Account>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin").env("LC_ALL", "C");
    command.current_dir("/").stdin(Stdio::null());
    if let Some(Account { user, group }) = account {
        command.gid(group).uid(user);
    }
    command
}

/// Runs a command to its end; what it said if it failed.
pub fn succeed(command: &mut Command) -> Result<(), ServerError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |message: String| ServerError::Program { program: program.clone(), message };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let lines: Vec<&str> = said.iter().flat_map(|text| text.lines()).collect();
    Err(failed(lines[lines.len().saturating_sub(4)..].join("; ")))
}

/// Whether an account without rights can enter a directory.
pub fn is_open_to_all(dir: &Path) -> bool {
    dir.ancestors().all(|dir| fs::metadata(dir).is_ok_and(|m| m.permissions().mode() & 0o001 != 0))
}

/// A directory below the data directory for what servers use; elsewhere if root's account cannot reach that: it cannot
/// enter root's home.
pub fn place(data_dir: &Path, name: &str) -> Result<PathBuf, ServerError> {
    fs::create_dir_all(data_dir).map_err(file(data_dir))?;
    let data_dir = data_dir.canonicalize().map_err(file(data_dir))?;
    if !getuid().is_root() || is_open_to_all(&data_dir) {
        return Ok(data_dir.join(name));
    }
    Ok(Path::new("/var/lib/caqtus").join(name_of(&data_dir)).join(name))
}

/// A short name for a path.
pub fn name_of(path: &Path) -> String {
    blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// Makes a directory that only the account may use.
pub fn private_dir(dir: &Path, account: Option<Account>) -> Result<(), ServerError> {
    fs::create_dir_all(dir).map_err(file(dir))?;
    if let Some(Account { user, group }) = account {
        chown(dir, Some(user), Some(group)).map_err(file(dir))?;
    }
    fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(file(dir))
}

/// A program by its name, in the directories of the path and where servers usually are.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(name)).find(|file| file.is_file())
}
