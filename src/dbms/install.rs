//! Engine versions as data: build one from the package that carries its source, list those that are there.

use crate::server::ServerError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
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

/// What carries a version.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Package {
    /// A version of the crate `libsqlite3-sys`.
    Crate(String),
    /// A version of the engine's package in npm.
    Npm(String),
    /// An artifact of Maven's central repository, as `group:artifact:version`.
    Maven(String),
    /// Packages of Debian, the engine's first.
    Apt(Vec<String>),
    /// A version of DuckDB's package in the Python index.
    Wheel(String),
}

/// Packages that carry versions, by engine and version.
type Packages = BTreeMap<String, BTreeMap<String, Package>>;

/// The directory of installed engines.
pub struct EngineStore {
    data_dir: PathBuf,
}

/// Orders versions by their numbers.
pub fn version_key(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

fn packages() -> Packages {
    toml::from_str(include_str!("../../corpus/engines.toml")).unwrap_or_default()
}

/// The engines that can be installed.
pub fn known_engines() -> Vec<String> {
    packages().into_keys().collect()
}

/// The versions of an engine that can be installed, oldest first.
pub fn known_versions(engine: &str) -> Vec<String> {
    let mut versions: Vec<String> = packages().remove(engine).unwrap_or_default().into_keys().collect();
    versions.sort_by_key(|version| version_key(version));
    versions
}

/// The package that carries a version.
fn package(engine: &str, version: &str) -> Result<Package, InstallError> {
    let mut all = packages();
    let known = all.keys().cloned().collect::<Vec<_>>().join(", ");
    let of_engine = all.remove(engine).ok_or_else(|| InstallError::Engine { engine: engine.to_owned(), known })?;
    if let Some(package) = of_engine.get(version) {
        return Ok(package.clone());
    }
    let key = version_key(version);
    let sorted = known_versions(engine);
    let after = sorted.iter().position(|v| version_key(v) > key).unwrap_or(sorted.len());
    let near = &sorted[after.saturating_sub(2)..(after + 2).min(sorted.len())];
    Err(InstallError::Unknown { engine: engine.to_owned(), version: version.to_owned(), nearest: near.join(", ") })
}

/// What an installed version is: a library, or the directory of a server's programs.
fn entry(engine: &str) -> &'static str {
    match engine {
        "sqlite" => "libsqlite3.so",
        "duckdb" => "libduckdb.so",
        _ => "",
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
        if entry(engine).is_empty() {
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
        let work = root.join(format!(".build-{engine}-{version}-{}", std::process::id()));
        fs::create_dir_all(&work).map_err(io_error(&work))?;
        let result = (|| {
            say(&format!("fetching {engine} {version}"));
            let empty = |what| InstallError::Empty { engine: engine.to_owned(), version: version.to_owned(), what };
            let made = match engine {
                "sqlite" => {
                    let source = match &package {
                        Package::Crate(number) => crate_source(&work, number)?,
                        Package::Npm(number) => {
                            npm(&work, "better-sqlite3", number)?;
                            // Older packages hold the amalgamation in an archive of its own.
                            let archive = work.join("package/deps/sqlite3.tar.gz");
                            if archive.exists() {
                                run(Command::new("tar").arg("xzf").arg(&archive).current_dir(&work))?;
                            }
                            find_file(&work, &|name| name == "sqlite3.c")
                        }
                        Package::Maven(_) | Package::Apt(_) | Package::Wheel(_) => None,
                    };
                    say(&format!("compiling SQLite {version}"));
                    compile(&source.ok_or_else(|| empty("sqlite3.c"))?, &work)?
                }
                "duckdb" => {
                    let alone = work.join("made");
                    fs::create_dir_all(&alone).map_err(io_error(&alone))?;
                    if let Package::Wheel(number) = &package {
                        wheel(&work, &alone, number)?.ok_or_else(|| empty("extension module"))?;
                    } else if let Package::Npm(number) = &package {
                        npm(&work, &format!("@duckdb/node-bindings-linux-{}", architecture()), number)?;
                        // Some packages have the version in the name.
                        let library = find_file(&work, &|name| name.starts_with("libduckdb.so"));
                        let library = library.ok_or_else(|| empty("libduckdb.so"))?;
                        fs::rename(&library, alone.join(entry(engine))).map_err(io_error(&library))?;
                    }
                    alone
                }
                _ => programs(engine, &package, &work)?.ok_or_else(|| empty("server"))?,
            };
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

/// The machine's architecture in the names of npm's packages.
fn architecture() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" }
}

/// Compiles SQLite into a directory of its own.
fn compile(source: &Path, work: &Path) -> Result<PathBuf, InstallError> {
    let made = work.join("made");
    fs::create_dir_all(&made).map_err(io_error(&made))?;
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-O1", "-shared", "-fPIC", "-w"]).args(SQLITE_OPTIONS).arg(source);
    run(compiler.arg("-o").arg(made.join("libsqlite3.so")).args(["-lm", "-ldl", "-lpthread"]))?;
    Ok(made)
}

/// The programs of a server, in the directory that becomes its own.
fn programs(engine: &str, package: &Package, work: &Path) -> Result<Option<PathBuf>, InstallError> {
    match package {
        Package::Npm(number) if engine == "postgres" => {
            npm(work, &format!("@embedded-postgres/linux-{}", architecture()), number)?;
            let native = work.join("package/native");
            // Links are not in the package but in a list of their own.
            let list = fs::read_to_string(native.join("pg-symlinks.json")).unwrap_or_default();
            for link in serde_json::from_str::<Vec<SymbolicLink>>(&list).unwrap_or_default() {
                let of = |path: &str| work.join("package").join(path);
                let (source, target) = (of(&link.source), of(&link.target));
                let name = source.file_name().map(PathBuf::from).unwrap_or_default();
                let _ = fs::remove_file(&target);
                std::os::unix::fs::symlink(name, &target).map_err(io_error(&target))?;
            }
            for program in fs::read_dir(native.join("bin")).into_iter().flatten().flatten() {
                let path = program.path();
                fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(io_error(&path))?;
            }
            Ok(native.join("bin/postgres").exists().then_some(native))
        }
        Package::Apt(names) => {
            run(Command::new("apt-get").arg("download").args(names).current_dir(work))?;
            let made = work.join("made");
            for archive in fs::read_dir(work).into_iter().flatten().flatten() {
                if archive.path().extension() == Some(OsStr::new("deb")) {
                    run(Command::new("dpkg-deb").arg("-x").arg(archive.path()).arg(&made))?;
                }
            }
            Ok(made.join("usr/sbin").exists().then_some(made))
        }
        Package::Maven(artifact) => maven(artifact, work),
        Package::Npm(_) | Package::Crate(_) | Package::Wheel(_) => Ok(None),
    }
}

/// A link that a package could not hold.
#[derive(Deserialize)]
struct SymbolicLink {
    source: String,
    target: String,
}

/// Fetches the crate through cargo, as a dependency of a throw-away package, and returns its sqlite3.c.
fn crate_source(work: &Path, number: &str) -> Result<Option<PathBuf>, InstallError> {
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
    Ok(packages
        .iter()
        .filter(|p| p["name"] == "libsqlite3-sys")
        .filter_map(|p| Path::new(p["manifest_path"].as_str()?).parent().map(|d| d.join("sqlite3/sqlite3.c")))
        .find(|path| path.exists()))
}

/// Fetches a package through npm and unpacks it into `package`.
fn npm(work: &Path, name: &str, number: &str) -> Result<(), InstallError> {
    let packed = run(Command::new("npm").args(["pack", "--silent"]).arg(format!("{name}@{number}")).current_dir(work))?;
    let archive = packed.lines().last().unwrap_or_default().trim();
    run(Command::new("tar").args(["xzf", archive]).current_dir(work)).map(drop)
}

/// Fetches an artifact through Maven and unpacks it; the directory that holds a server's programs.
fn maven(artifact: &str, work: &Path) -> Result<Option<PathBuf>, InstallError> {
    let repository = work.join("repository");
    let mut get = Command::new("mvn");
    get.args(["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get", "-Dtransitive=false"]);
    get.arg(format!("-Dartifact={artifact}")).arg(format!("-Dmaven.repo.local={}", repository.display()));
    run(&mut get)?;
    let name = artifact.split(':').nth(1).unwrap_or_default().to_owned();
    let is_archive = |file: &str| file.starts_with(&name) && Path::new(file).extension() == Some(OsStr::new("jar"));
    let Some(archive) = find_file(&repository, &is_archive) else { return Ok(None) };
    let made = work.join("made");
    fs::create_dir_all(&made).map_err(io_error(&made))?;
    run(Command::new("unzip").args(["-q", "-o"]).arg(&archive).arg("-d").arg(&made))?;
    let Some(server) = find_file(&made, &|name| name == "mysqld" || name == "mariadbd") else { return Ok(None) };
    let bin = server.parent().map(Path::to_path_buf).unwrap_or_default();
    let base = bin.parent().map(Path::to_path_buf);
    for dir in [Some(bin), base.as_ref().map(|base| base.join("scripts"))].into_iter().flatten() {
        for program in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = program.path();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(io_error(&path))?;
        }
    }
    Ok(base)
}

/// Fetches DuckDB's wheel and makes a library of its extension module: one that names what the module wants of Python, which
/// it never uses here, and depends on the module.
fn wheel(work: &Path, made: &Path, number: &str) -> Result<Option<()>, InstallError> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]);
    pip.args(["--python-version", "3.11", "--abi", "cp311"]);
    for platform in ["manylinux_2_28", "manylinux_2_17", "manylinux2014"] {
        pip.args(["--platform", &format!("{platform}_{}", std::env::consts::ARCH)]);
    }
    run(pip.arg("-d").arg(work).arg(format!("duckdb=={number}")))?;
    let Some(archive) = find_file(work, &|name| name.starts_with("duckdb-")) else { return Ok(None) };
    let unpacked = work.join("wheel");
    run(Command::new("unzip").args(["-q", "-o"]).arg(&archive).arg("-d").arg(&unpacked))?;
    let Some(module) = find_file(&unpacked, &|name| name.contains("duckdb.cpython")) else { return Ok(None) };
    let kept = made.join("libduckdb_py.so");
    fs::rename(&module, &kept).map_err(io_error(&module))?;
    let symbols = run(Command::new("nm").args(["-D", "--undefined-only"]).arg(&kept))?;
    let names = symbols.lines().filter_map(|line| line.split_whitespace().last()?.split('@').next());
    let wanted = names.filter(|name| name.trim_start_matches('_').starts_with("Py"));
    let stub: Vec<String> = wanted.map(|name| format!("char {name}[512] __attribute__((aligned(16)));")).collect();
    let source = work.join("stub.c");
    fs::write(&source, stub.join("\n") + "\n").map_err(io_error(&source))?;
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-shared", "-fPIC", "-o"]).arg(made.join("libduckdb.so")).arg(&source);
    compiler.args(["-Wl,--no-as-needed", "-l:libduckdb_py.so", "-Wl,-rpath,$ORIGIN", "-L"]).arg(made);
    run(&mut compiler).map(|_| Some(()))
}

/// A file below a directory whose name fits.
fn find_file(dir: &Path, fits: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    for entry in fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if let Some(found) = find_file(&path, fits) {
                return Some(found);
            }
        } else if path.file_name().and_then(OsStr::to_str).is_some_and(fits) {
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
        let store = EngineStore::new(dir.path());
        let error = |engine, version| store.installed(engine, version).expect_err("is not there").to_string();
        assert!(error("sqlite", "3.39.1").contains("3.39.0, 3.39.2"));
        assert!(error("sqlite", "3.39.2").contains("caqtus dbms install sqlite@3.39.2"));
        assert!(error("duckdb", "1.3.9").contains("1.3.4"));
        assert!(error("tidb", "8.0.0").contains("postgres"));
    }

    #[test]
    fn versions_sort_by_number() {
        for (engine, count) in [("sqlite", 40), ("duckdb", 20), ("postgres", 20), ("mariadb", 1)] {
            let versions = known_versions(engine);
            assert!(versions.len() >= count, "{engine}: {}", versions.len());
            assert!(versions.is_sorted_by_key(|v| version_key(v)));
        }
        assert!(version_key("3.9.1") < version_key("3.10.0"));
    }
}
