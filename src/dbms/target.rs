//! Names of targets, as users write them, and opening them.

use super::install::{EngineStore, InstallError};
use super::planted::{Fault, Planted};
use super::sqlite::{LoadError, Sqlite};
use super::{Connection, EngineError, StatementLimits};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// A target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The SQLite linked into this program.
    SqliteLinked,
    /// An installed version of SQLite.
    SqliteVersion(String),
    /// A SQLite library by its path.
    SqlitePath(PathBuf),
    /// An engine with a planted bug, for the self-test.
    Planted(Fault),
}

/// Why a target cannot be named or opened.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The name has not the form of a target.
    #[error("`{0}` names no target; write sqlite, sqlite@VERSION, or sqlite:/path/to/libsqlite3.so")]
    Name(String),
    /// The version is not installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The library does not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The engine does not open a database.
    #[error("the engine does not open a database")]
    Open(#[from] EngineError),
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let unknown = || TargetError::Name(text.to_owned());
        if text == "sqlite" {
            Ok(Self::SqliteLinked)
        } else if let Some(version) = text.strip_prefix("sqlite@") {
            Ok(Self::SqliteVersion(version.to_owned()))
        } else if let Some(path) = text.strip_prefix("sqlite:") {
            Ok(Self::SqlitePath(PathBuf::from(path)))
        } else if let Some(fault) = text.strip_prefix("planted:") {
            fault.parse().map(Self::Planted).map_err(|()| unknown())
        } else {
            Err(unknown())
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SqliteLinked => f.write_str("sqlite"),
            Self::SqliteVersion(version) => write!(f, "sqlite@{version}"),
            Self::SqlitePath(path) => write!(f, "sqlite:{}", path.display()),
            Self::Planted(fault) => write!(f, "planted:{fault}"),
        }
    }
}

impl Target {
    /// The name of the target's dialect profile.
    pub fn dialect(&self) -> &'static str {
        "sqlite"
    }

    /// Connects.
    pub fn open(&self, data_dir: &Path, limits: StatementLimits) -> Result<Box<dyn Connection>, TargetError> {
        let linked = || Sqlite::linked(limits);
        Ok(match self {
            Self::SqliteLinked => Box::new(linked()?),
            Self::SqliteVersion(version) => {
                let linked = linked()?;
                if linked.version() == *version {
                    Box::new(linked)
                } else {
                    let library = EngineStore::new(data_dir).sqlite_library(version)?;
                    Box::new(Sqlite::load(&library, limits)??)
                }
            }
            Self::SqlitePath(path) => Box::new(Sqlite::load(path, limits)??),
            Self::Planted(fault) => Box::new(Planted::new(linked()?, *fault)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["sqlite", "sqlite@3.39.2", "sqlite:/tmp/x.so", "planted:drop-row"] {
            assert_eq!(name.parse::<Target>().expect(name).to_string(), name);
        }
        for name in ["", "mysql", "sqlite3", "planted:nothing-like-it"] {
            assert!(name.parse::<Target>().is_err(), "{name}");
        }
    }
}
