//! Engine versions as data: build one from the package that carries its source, list those that are there.

mod fetch;
mod packages;

use crate::server::ServerError;
use packages::package;
pub use packages::{engine_says, known_engines, known_versions, newest_known, version_key};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a version cannot be installed or used. Each message says what to do next.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The version is known but not installed.
    #[error("{engine}@{version} is not installed; run `caqtus dbms install {engine}@{version}`")]
    NotInstalled {
        /// The engine.
        engine: String,
        /// The version.
        version: String,
    },
    /// No package is known to carry the version.
    #[error("no package is known that carries {engine} {version}; the nearest are {nearest}")]
    Unknown {
        /// The engine.
        engine: String,
        /// The version.
        version: String,
        /// Versions near it.
        nearest: String,
    },
    /// Packages do not carry the engine.
    #[error(
        "no package is known that carries {engine}; those that can be installed are {known}. A server is named by its URL"
    )]
    Engine {
        /// The engine.
        engine: String,
        /// Engines that packages carry.
        known: String,
    },
    /// A tool that is needed is not there.
    #[error("{tool} is not installed; install it{} and try again", advice(tool))]
    NoTool {
        /// The tool.
        tool: String,
    },
    /// The tool did not reach what it fetches from.
    #[error("{tool} does not reach its registry, is there a network? It said: {output}")]
    Unreachable {
        /// The tool.
        tool: String,
        /// The end of what it printed.
        output: String,
    },
    /// A tool that is needed did not run.
    #[error("cannot run {tool}")]
    Tool {
        /// The tool.
        tool: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A tool failed.
    #[error("{tool} failed: {output}")]
    Failed {
        /// The tool.
        tool: String,
        /// The end of what it printed.
        output: String,
    },
    /// The package does not hold what it should.
    #[error("the package of {engine} {version} holds no {what}")]
    Empty {
        /// The engine.
        engine: String,
        /// The version.
        version: String,
        /// What was looked for.
        what: &'static str,
    },
    /// A file cannot be written or read.
    #[error("cannot use {path}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no place for servers.
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// The directory of installed engines.
pub struct EngineStore {
    data_dir: PathBuf,
}

/// What to install for a tool, on a machine with Debian.
fn advice(tool: &str) -> String {
    let package = match tool {
        "npm" | "unzip" => tool,
        "mvn" => "maven",
        "cc" => "gcc",
        "nm" => "binutils",
        "tar" => "tar",
        "python3" => "python3-pip",
        "cargo" => return ", as https://rustup.rs says,".to_owned(),
        _ => return String::new(),
    };
    format!(" (Debian: apt-get install {package})")
}

/// What an installed version is: a library, or the directory of a server's programs.
fn entry(engine: &str) -> &'static str {
    match engine {
        "sqlite" => "libsqlite3.so",
        "duckdb" => "libduckdb.so",
        _ => "",
    }
}

/// What a package of the engine has to hold.
fn content(engine: &str) -> &'static str {
    match engine {
        "sqlite" => "sqlite3.c",
        "duckdb" => "library",
        "turso" | "datafusion" => "Python module",
        _ => "server",
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> InstallError + use<> {
    let path = path.display().to_string();
    move |source| InstallError::Io { path, source }
}

impl EngineStore {
    /// The store below a data directory.
    pub fn new(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_path_buf() }
    }

    /// Where versions of an engine are. Servers that root starts run as somebody else, who must reach their programs.
    fn root(&self, engine: &str) -> Result<PathBuf, InstallError> {
        if content(engine) == "server" {
            Ok(crate::server::place(&self.data_dir, "engines")?)
        } else {
            Ok(self.data_dir.join("engines"))
        }
    }

    fn dir(&self, engine: &str, version: &str) -> Result<PathBuf, InstallError> {
        Ok(self.root(engine)?.join(format!("{engine}-{version}")))
    }

    /// The library, or the directory of the programs, of an installed version.
    pub fn installed(&self, engine: &str, version: &str) -> Result<PathBuf, InstallError> {
        let path = self.dir(engine, version)?.join(entry(engine));
        if path.exists() {
            return Ok(path);
        }
        package(engine, version)?;
        Err(InstallError::NotInstalled { engine: engine.to_owned(), version: version.to_owned() })
    }

    /// Installed versions of an engine, oldest first.
    pub fn versions(&self, engine: &str) -> Vec<String> {
        let Ok(root) = self.root(engine) else { return Vec::new() };
        let prefix = format!("{engine}-");
        let entries = fs::read_dir(&root).into_iter().flatten().flatten();
        let mut versions: Vec<String> = entries
            .filter(|e| e.path().join(entry(engine)).exists())
            .filter_map(|e| e.file_name().to_str()?.strip_prefix(&prefix).map(str::to_owned))
            .collect();
        versions.sort_by_key(|v| version_key(v));
        versions
    }

    /// The newest installed version of an engine.
    pub fn newest(&self, engine: &str) -> Option<PathBuf> {
        self.installed(engine, self.versions(engine).last()?).ok()
    }

    /// Installs a version and returns its library or directory. `say` is told each step.
    pub fn install(&self, engine: &str, version: &str, mut say: impl FnMut(&str)) -> Result<PathBuf, InstallError> {
        let package = package(engine, version)?;
        let dir = self.dir(engine, version)?;
        let path = dir.join(entry(engine));
        if path.exists() {
            return Ok(path);
        }
        let root = self.root(engine)?;
        remove_stale(&root);
        let work = root.join(format!(".build-{engine}-{version}-{}", std::process::id()));
        fs::create_dir_all(&work).map_err(io_error(&work))?;
        let result = (|| {
            say(&format!("fetching {engine} {version}"));
            let made = fetch::make(engine, package, &work, &mut say)?.ok_or_else(|| InstallError::Empty {
                engine: engine.to_owned(),
                version: version.to_owned(),
                what: content(engine),
            })?;
            fs::rename(&made, &dir).map_err(io_error(&dir))
        })();
        let _ = fs::remove_dir_all(&work);
        result.map(|()| path)
    }

    /// Removes an installed version.
    pub fn remove(&self, engine: &str, version: &str) -> Result<(), InstallError> {
        self.installed(engine, version)?;
        let dir = self.dir(engine, version)?;
        fs::remove_dir_all(&dir).map_err(io_error(&dir))
    }
}

/// Removes what installations left whose program ended meanwhile.
fn remove_stale(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let program = name.strip_prefix(".build-").and_then(|rest| rest.rsplit('-').next()?.parse::<u32>().ok());
        if program.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_left_that_ended_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let own = format!(".build-sqlite-3.39.2-{}", std::process::id());
        for name in [".build-sqlite-3.39.2-4999999", own.as_str(), "sqlite-3.39.2"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        remove_stale(dir.path());
        let mut left: Vec<_> = fs::read_dir(dir.path()).expect("reads").flatten().map(|e| e.file_name()).collect();
        left.sort();
        assert_eq!(left, [own.as_str(), "sqlite-3.39.2"]);
    }

    #[test]
    fn unknown_versions_list_the_nearest() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = EngineStore::new(dir.path());
        let error = |engine, version| store.installed(engine, version).expect_err("is not there").to_string();
        assert!(error("sqlite", "3.39.1").contains("3.39.0, 3.39.2"));
        assert!(error("sqlite", "3.39.2").contains("caqtus dbms install sqlite@3.39.2"));
        assert!(error("duckdb", "1.3.9").contains("1.3.4"));
        let missing = InstallError::NoTool { tool: "npm".to_owned() }.to_string();
        assert_eq!(missing, "npm is not installed; install it (Debian: apt-get install npm) and try again");
        assert!(error("tidb", "8.0.0").contains("postgres"));
    }
}
