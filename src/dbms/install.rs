//! Engine versions as data: build one from the package that carries its source, list those that are there.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Compile-time options of installed SQLite libraries: the extensions that replayed bugs need, one thread.
const SQLITE_OPTIONS: [&str; 10] = [
    "-DSQLITE_THREADSAFE=0",
    "-DSQLITE_ENABLE_FTS3",
    "-DSQLITE_ENABLE_FTS4",
    "-DSQLITE_ENABLE_FTS5",
    "-DSQLITE_ENABLE_RTREE",
    "-DSQLITE_ENABLE_JSON1",
    "-DSQLITE_ENABLE_STAT4",
    "-DSQLITE_ENABLE_MATH_FUNCTIONS",
    "-DSQLITE_ENABLE_DBSTAT_VTAB",
    "-DSQLITE_DEFAULT_MEMSTATUS=0",
];

/// Why a version cannot be installed or used. Each message says what to do next.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The version is known but not installed.
    #[error("sqlite@{version} is not installed; run `caqtus dbms install sqlite@{version}`")]
    NotInstalled {
        /// The version.
        version: String,
    },
    /// No package is known to carry the version.
    #[error("no package is known that carries sqlite {version}; the nearest are {nearest}")]
    Unknown {
        /// The version.
        version: String,
        /// Versions near it.
        nearest: String,
    },
    /// A tool that is needed did not run.
    #[error("cannot run {tool}; install it and try again")]
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
    #[error("the package of sqlite {version} holds no sqlite3.c")]
    NoSource {
        /// The version.
        version: String,
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
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Package {
    /// A version of the crate `libsqlite3-sys`.
    Crate(String),
    /// A version of the npm package `better-sqlite3`.
    Npm(String),
}

/// The directory of installed engines.
pub struct EngineStore {
    root: PathBuf,
}

/// Orders versions by their numbers.
pub fn version_key(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Known versions of SQLite and the packages that carry them, oldest first.
fn known() -> Vec<(String, Package)> {
    #[derive(Deserialize)]
    struct Engines {
        sqlite: BTreeMap<String, Package>,
    }
    let text = include_str!("../../corpus/engines.toml");
    let mut all: Vec<_> = toml::from_str::<Engines>(text).map(|e| e.sqlite.into_iter().collect()).unwrap_or_default();
    all.sort_by_key(|(version, _)| version_key(version));
    all
}

/// The versions that can be installed, oldest first.
pub fn known_versions() -> Vec<String> {
    known().into_iter().map(|(version, _)| version).collect()
}

impl EngineStore {
    /// The store below a data directory.
    pub fn new(data_dir: &Path) -> Self {
        Self { root: data_dir.join("engines") }
    }

    fn library(&self, version: &str) -> PathBuf {
        self.root.join(format!("sqlite-{version}")).join("libsqlite3.so")
    }

    /// The library of an installed version.
    pub fn sqlite_library(&self, version: &str) -> Result<PathBuf, InstallError> {
        let library = self.library(version);
        if library.exists() {
            return Ok(library);
        }
        self.package(version)?;
        Err(InstallError::NotInstalled { version: version.to_owned() })
    }

    /// Installed versions of SQLite, oldest first.
    pub fn sqlite_versions(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let mut versions: Vec<String> = entries
            .filter_map(|e| e.file_name().to_str()?.strip_prefix("sqlite-").map(str::to_owned))
            .filter(|v| self.library(v).exists())
            .collect();
        versions.sort_by_key(|v| version_key(v));
        versions
    }

    #[expect(clippy::unused_self, reason = "reads as a question to the store")]
    fn package(&self, version: &str) -> Result<Package, InstallError> {
        let all = known();
        if let Some((_, package)) = all.iter().find(|(v, _)| v == version) {
            return Ok(package.clone());
        }
        let key = version_key(version);
        let after = all.iter().position(|(v, _)| version_key(v) > key).unwrap_or(all.len());
        let near = &all[after.saturating_sub(2)..(after + 2).min(all.len())];
        let nearest = near.iter().map(|(v, _)| v.as_str()).collect::<Vec<_>>().join(", ");
        Err(InstallError::Unknown { version: version.to_owned(), nearest })
    }

    /// Builds a version's library from its package's source and returns the library's path. `say` is told each step.
    pub fn install_sqlite(&self, version: &str, mut say: impl FnMut(&str)) -> Result<PathBuf, InstallError> {
        let library = self.library(version);
        if library.exists() {
            return Ok(library);
        }
        let package = self.package(version)?;
        let work = self.root.join(format!(".build-sqlite-{version}-{}", std::process::id()));
        let io_error = |path: &Path| {
            let path = path.display().to_string();
            move |source| InstallError::Io { path, source }
        };
        fs::create_dir_all(&work).map_err(io_error(&work))?;
        let result = (|| {
            let source = match &package {
                Package::Crate(number) => {
                    say(&format!("fetching crate libsqlite3-sys {number}"));
                    crate_source(&work, number, version)?
                }
                Package::Npm(number) => {
                    say(&format!("fetching npm package better-sqlite3 {number}"));
                    npm_source(&work, number, version)?
                }
            };
            say(&format!("compiling SQLite {version}"));
            let built = work.join("libsqlite3.so");
            let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
            compiler.args(["-O1", "-shared", "-fPIC", "-w"]).args(SQLITE_OPTIONS).arg(&source).arg("-o").arg(&built);
            run(compiler.args(["-lm", "-ldl", "-lpthread"]))?;
            let dir = library.parent().unwrap_or(&self.root);
            fs::create_dir_all(dir).map_err(io_error(dir))?;
            fs::rename(&built, &library).map_err(io_error(&library))
        })();
        let _ = fs::remove_dir_all(&work);
        result.map(|()| library)
    }

    /// Removes an installed version.
    pub fn remove_sqlite(&self, version: &str) -> Result<(), InstallError> {
        let library = self.sqlite_library(version)?;
        let dir = library.parent().unwrap_or(&library).to_path_buf();
        fs::remove_dir_all(&dir).map_err(|source| InstallError::Io { path: dir.display().to_string(), source })
    }
}

/// Fetches the crate through cargo, as a dependency of a throw-away package, and returns its sqlite3.c.
fn crate_source(work: &Path, number: &str, version: &str) -> Result<PathBuf, InstallError> {
    let manifest = work.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
         libsqlite3-sys = {{ version = \"={number}\", default-features = false }}\n"
    );
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|source| InstallError::Io { path: path.display().to_string(), source })
    };
    write(&manifest, &text)?;
    let src = work.join("src");
    fs::create_dir_all(&src).map_err(|source| InstallError::Io { path: src.display().to_string(), source })?;
    write(&src.join("lib.rs"), "")?;
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    run(cargo().args(["fetch", "--quiet", "--manifest-path"]).arg(&manifest))?;
    let metadata = run(cargo().args(["metadata", "--format-version", "1", "--manifest-path"]).arg(&manifest))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap_or_default();
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let source = packages
        .iter()
        .filter(|p| p["name"] == "libsqlite3-sys")
        .filter_map(|p| Path::new(p["manifest_path"].as_str()?).parent().map(|d| d.join("sqlite3/sqlite3.c")))
        .find(|path| path.exists());
    source.ok_or_else(|| InstallError::NoSource { version: version.to_owned() })
}

/// Fetches the package through npm and returns its sqlite3.c.
fn npm_source(work: &Path, number: &str, version: &str) -> Result<PathBuf, InstallError> {
    run(Command::new("npm").args(["pack", "--silent"]).arg(format!("better-sqlite3@{number}")).current_dir(work))?;
    run(Command::new("tar").arg("xzf").arg(format!("better-sqlite3-{number}.tgz")).current_dir(work))?;
    // Older packages hold the amalgamation in an archive of its own.
    let archive = work.join("package/deps/sqlite3.tar.gz");
    if archive.exists() {
        run(Command::new("tar").arg("xzf").arg(&archive).current_dir(work))?;
    }
    find_file(work, OsStr::new("sqlite3.c")).ok_or_else(|| InstallError::NoSource { version: version.to_owned() })
}

fn find_file(dir: &Path, name: &OsStr) -> Option<PathBuf> {
    for entry in fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find_file(&path, name) {
                return Some(found);
            }
        } else if path.file_name() == Some(name) {
            return Some(path);
        }
    }
    None
}

/// Runs a command to its end and returns its standard output.
fn run(command: &mut Command) -> Result<String, InstallError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| InstallError::Tool { tool: tool.clone(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let tail: Vec<&str> = text.lines().rev().take(5).collect();
    Err(InstallError::Failed { tool, output: tail.into_iter().rev().collect::<Vec<_>>().join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_versions_list_the_nearest() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = EngineStore::new(dir.path()).sqlite_library("3.39.1").expect_err("is unknown");
        assert!(error.to_string().contains("3.39.0, 3.39.2"), "{error}");
        let error = EngineStore::new(dir.path()).sqlite_library("3.39.2").expect_err("is not installed");
        assert!(error.to_string().contains("caqtus dbms install sqlite@3.39.2"), "{error}");
    }

    #[test]
    fn versions_sort_by_number() {
        let versions = known_versions();
        assert!(versions.len() > 40);
        assert!(versions.is_sorted_by_key(|v| version_key(v)));
        assert!(version_key("3.9.1") < version_key("3.10.0"));
    }
}
