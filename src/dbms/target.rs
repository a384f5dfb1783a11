//! Names of targets, as users write them, and opening them.

use super::duckdb::{self, DuckDb};
use super::install::{EngineStore, InstallError, known_versions};
use super::mysql::{Mysql, MysqlError};
use super::planted::{Fault, Planted};
use super::postgres::{Postgres, PostgresError, without_password};
use super::python::{Python, PythonError};
use super::sqlite::{self, Sqlite};
use super::{Connection, EngineError};
use crate::catalogue;
use crate::config::{StatementLimits, note_password};
use crate::server::{ServerError, mysql, postgres};
use crate::sql::profile::{Profile, ProfileError, Wire};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// A target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The SQLite linked into this program, or the newest version of another engine that is here.
    Plain {
        /// The dialect.
        dialect: String,
    },
    /// An installed version.
    Version {
        /// The dialect.
        dialect: String,
        /// The version.
        version: String,
    },
    /// A library, or the directory of a server's programs.
    Path {
        /// The dialect.
        dialect: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A server that runs.
    Url {
        /// The dialect.
        dialect: String,
        /// Its address, without a password.
        url: String,
    },
    /// SQLite with a planted bug, for the self-test.
    Planted(Fault),
}

/// Why a target cannot be named or opened.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The name has not the form of a target.
    #[error(
        "`{name}` names no target; write ENGINE, ENGINE@VERSION, ENGINE:/path or ENGINE://host…, where ENGINE is one of {}",
        catalogue::dialects().join(", ")
    )]
    Name {
        /// What was written.
        name: String,
    },
    /// The engine has no such form.
    #[error("`{name}` cannot be opened: {hint}")]
    Form {
        /// What was written.
        name: String,
        /// What can.
        hint: String,
    },
    /// The version is not installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The library is a part of one: whoever reads beyond its end is ended by a signal.
    #[error("{path} is cut off: by its own header it has {needed} bytes at least, and there are {there}; get it again")]
    CutOff {
        /// The library.
        path: String,
        /// Bytes that the header tells of.
        needed: u64,
        /// Bytes that are there.
        there: u64,
    },
    /// The library does not load.
    #[error(transparent)]
    Sqlite(#[from] sqlite::LoadError),
    /// The library does not load.
    #[error(transparent)]
    DuckDb(#[from] duckdb::LoadError),
    /// The server cannot be used.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The server cannot be used.
    #[error(transparent)]
    Mysql(#[from] MysqlError),
    /// The Python module cannot be used.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// There is no server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The profile is missing or broken.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The engine does not open a database.
    #[error("the engine does not open a database")]
    Open(#[from] EngineError),
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let unknown = || TargetError::Name { name: without_password(text) };
        if let Some(fault) = text.strip_prefix("planted:") {
            return fault.parse().map(Self::Planted).map_err(|_| unknown());
        }
        let end = text.find(['@', ':']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let dialect = if name == "postgresql" { "postgres" } else { name }.to_owned();
        if !catalogue::dialects().contains(&dialect) {
            return Err(unknown());
        }
        if rest.is_empty() {
            Ok(Self::Plain { dialect })
        } else if rest.starts_with("://") {
            Ok(Self::Url { url: format!("{dialect}{}", take_password(rest)), dialect })
        } else if let Some(path) = rest.strip_prefix(':').filter(|path| !path.is_empty()) {
            Ok(Self::Path { dialect, path: PathBuf::from(path) })
        } else if let Some(version) = rest.strip_prefix('@').filter(|version| !version.is_empty()) {
            Ok(Self::Version { dialect, version: version.to_owned() })
        } else {
            Err(unknown())
        }
    }
}

/// The rest of a URL without its password, which is noted: names of targets are written to files and reports. It may
/// stand before the host or among the parameters, percent-encoded as all of a URL.
fn take_password(rest: &str) -> String {
    let rest = match rest.split_once('?') {
        Some((place, parameters)) if !parameters.contains('@') => {
            let (passwords, others): (Vec<&str>, Vec<&str>) =
                parameters.split('&').partition(|parameter| parameter.starts_with("password="));
            for password in passwords {
                note_password(&decoded(&password["password=".len()..]));
            }
            let others = others.join("&");
            if others.is_empty() { place.to_owned() } else { format!("{place}?{others}") }
        }
        _ => rest.to_owned(),
    };
    let Some((login, place)) = rest.rsplit_once('@') else { return rest };
    let Some((user, password)) = login["://".len()..].split_once(':') else { return rest };
    note_password(&decoded(password));
    format!("://{user}@{place}")
}

/// A part of a URL as it is meant: `%40` is `@`. What decodes to no text is left as it is.
fn decoded(part: &str) -> Cow<'_, str> {
    percent_decode_str(part).decode_utf8().unwrap_or(Cow::Borrowed(part))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain { dialect } => f.write_str(dialect),
            Self::Version { dialect, version } => write!(f, "{dialect}@{version}"),
            Self::Path { dialect, path } => write!(f, "{dialect}:{}", path.display()),
            Self::Url { url, .. } => f.write_str(url),
            Self::Planted(fault) => write!(f, "planted:{fault}"),
        }
    }
}

impl Target {
    /// The name of the target's dialect profile.
    pub fn dialect(&self) -> &str {
        match self {
            Self::Plain { dialect }
            | Self::Version { dialect, .. }
            | Self::Path { dialect, .. }
            | Self::Url { dialect, .. } => dialect,
            Self::Planted(_) => "sqlite",
        }
    }

    /// Whether it is a server of the user's, on which others may work too.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Url { .. })
    }

    /// Whether opening it starts a server of our own, which takes a second.
    pub fn starts_server(&self) -> Result<bool, TargetError> {
        let wire = catalogue::profile(self.dialect())?.wire;
        Ok(matches!(wire, Wire::Postgres | Wire::Mysql) && !matches!(self, Self::Url { .. }))
    }

    /// Connects.
    pub fn open(&self, data_dir: &Path, limits: StatementLimits) -> Result<Box<dyn Connection>, TargetError> {
        let profile = catalogue::profile(self.dialect())?;
        let store = EngineStore::new(data_dir);
        let linked = || Sqlite::linked(limits);
        if let Self::Planted(fault) = self {
            return Ok(Box::new(Planted::new(linked()?, *fault)));
        }
        // Where the engine is; the newest that is here if nothing says it.
        let place = match self {
            Self::Version { dialect, version } => match profile.wire {
                Wire::Sqlite if linked()?.version() == *version => None,
                _ => Some(store.installed(dialect, version)?),
            },
            Self::Path { path, .. } => Some(path.clone()),
            Self::Plain { dialect } if profile.wire != Wire::Sqlite => store.newest(dialect),
            Self::Plain { .. } | Self::Url { .. } | Self::Planted(_) => None,
        };
        let url = if let Self::Url { url, .. } = self { Some(url.as_str()) } else { None };
        let form = |hint: String| TargetError::Form { name: self.to_string(), hint };
        if let (Wire::Sqlite | Wire::Duckdb, Some(library)) = (profile.wire, &place) {
            whole(library)?;
        }
        Ok(match (profile.wire, place, url) {
            (Wire::Sqlite, None, None) => Box::new(linked()?),
            (Wire::Sqlite, Some(library), _) => Box::new(Sqlite::load(&library, limits)??),
            (Wire::Duckdb, Some(library), _) => Box::new(DuckDb::load(&library, profile, limits)??),
            (Wire::Python, module, None) => Box::new(Python::start(module, profile, limits)?),
            (Wire::Duckdb, None, None) => {
                return Err(form("no version is installed; `caqtus dbms install duckdb` gets the newest".to_owned()));
            }
            (Wire::Sqlite | Wire::Duckdb | Wire::Python, _, Some(_)) => {
                return Err(form(format!("{} runs inside a program and has no URL", profile.name)));
            }
            (Wire::Postgres, _, Some(url)) => Box::new(Postgres::url(url, profile, limits)?),
            (Wire::Postgres, place, None) => {
                let programs = match place {
                    Some(dir) => postgres_in(&dir).ok_or_else(|| {
                        form(format!("there are no programs of PostgreSQL (initdb, pg_ctl) in {}", dir.display()))
                    })?,
                    None => postgres::newest()?,
                };
                Box::new(Postgres::private(programs, data_dir, profile, limits)?)
            }
            (Wire::Mysql, _, Some(url)) => Box::new(Mysql::url(url, profile, limits)?),
            (Wire::Mysql, place, None) => Box::new(self.private_mysql(place, data_dir, profile, limits)?),
        })
    }

    fn private_mysql(
        &self,
        place: Option<PathBuf>,
        data_dir: &Path,
        profile: Arc<Profile>,
        limits: StatementLimits,
    ) -> Result<Mysql, TargetError> {
        let form = |hint: String| TargetError::Form { name: self.to_string(), hint };
        let programs = match place {
            Some(dir) => mysql::Programs::below(&dir)
                .ok_or_else(|| form(format!("there is no server (mariadbd or mysqld) in {}", dir.display())))?,
            None if profile.name == "mariadb" => mysql::Programs::found()?,
            None => {
                let name = &profile.name;
                return Err(form(match known_versions(name).last() {
                    Some(version) => format!(
                        "no version is installed; run `caqtus dbms install {name}@{version}` or name a server, as in \
                         {name}://root@host:3306/"
                    ),
                    None => format!("Caqtus does not start {name}; name a server, as in {name}://root@host:3306/"),
                }));
            }
        };
        Ok(Mysql::private(programs, data_dir, profile, limits)?)
    }
}

/// Refuses a library that ends before its own header says so (elf(5), of 64 bits, little-endian). What is none is left to the
/// loader, and so is what cannot be read.
fn whole(library: &Path) -> Result<(), TargetError> {
    let mut header = [0; 64];
    let Ok(mut file) = File::open(library) else { return Ok(()) };
    if file.read_exact(&mut header).is_err() || !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(());
    }
    let number = |at: usize, bytes: usize| header[at..at + bytes].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
    // The tables of segments and of sections; linkers write the latter last.
    let tables =
        [(number(0x20, 8), number(0x36, 2), number(0x38, 2)), (number(0x28, 8), number(0x3a, 2), number(0x3c, 2))];
    let needed = tables.into_iter().map(|(start, size, count)| start.saturating_add(size * count)).max().unwrap_or(0);
    let there = file.metadata().map_or(u64::MAX, |file| file.len());
    if there < needed {
        return Err(TargetError::CutOff { path: library.display().to_string(), needed, there });
    }
    Ok(())
}

/// The programs in a directory, or in its `bin`.
fn postgres_in(dir: &Path) -> Option<postgres::Programs> {
    postgres::Programs::in_dir(dir).or_else(|| postgres::Programs::in_dir(&dir.join("bin")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::password;

    #[test]
    fn names_round_trip() {
        for name in [
            "sqlite",
            "sqlite@3.39.2",
            "sqlite:/tmp/x.so",
            "planted:drop-row",
            "duckdb@1.3.4",
            "postgres",
            "postgres:/usr/lib/postgresql/15/bin",
            "mariadb://root@localhost:3306/",
            "tidb://root@127.0.0.1:4000/",
        ] {
            assert_eq!(name.parse::<Target>().expect(name).to_string(), name);
        }
        for name in ["", "sqlite3", "planted:nothing-like-it", "duckdb@", "oracle://x", "sqlite:"] {
            assert!(name.parse::<Target>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_password_goes_no_further() {
        let target: Target = "postgresql://me:secret@host:5432/db".parse().expect("a target");
        assert_eq!(target.to_string(), "postgres://me@host:5432/db");
        assert_eq!(password().as_deref(), Some("secret"));
        assert_eq!(decoded("p%40ss%2Fw%25rd%3A%20%C3%BC"), "p@ss/w%rd: ü");
        // A password that nobody encoded, and bytes that are no text.
        assert_eq!((&*decoded("100%"), &*decoded("%ff")), ("100%", "%ff"));
        let hidden = [
            "postgres://me:a%40b@host/db?sslmode=prefer&password=c",
            "postgres://me@host/db?password=c&sslmode=prefer",
        ];
        for url in hidden {
            let target: Target = url.parse().expect("a target");
            assert_eq!(target.to_string(), "postgres://me@host/db?sslmode=prefer");
        }
        let error = "orakel://me:secret@host/db".parse::<Target>().expect_err("unknown").to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
