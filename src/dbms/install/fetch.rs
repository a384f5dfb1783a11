//! Fetching packages through the registries' own clients, and making of them what is installed.

use super::packages::Package;
use super::{InstallError, io_error};
use crate::dbms::python;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
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
        (_, Package::Debian { release, packages }) => debian_release(work, release, packages),
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
        Package::Maven(_) | Package::Apt(_) | Package::Debian { .. } | Package::Wheel(_) => Ok(None),
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
    // Errors are wanted, notices are not.
    let mut npm = Command::new("npm");
    npm.args(["pack", "--loglevel=error", "--no-update-notifier"]);
    // Without a network the default is to try for over a minute.
    npm.args(["--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=10000"]).arg(format!("{name}@{number}"));
    let packed = run(npm.current_dir(work))?;
    let archive = packed.lines().last().unwrap_or_default().trim();
    run(Command::new("tar").args(["xzf", archive]).current_dir(work)).map(drop)
}

/// Where apt-get looks and what it writes, all of it in a directory of ours.
struct AptPlace {
    dir: PathBuf,
    /// What is looked at in place of the machine's sources.
    source: Option<String>,
}

impl AptPlace {
    fn new(work: &Path, source: Option<String>) -> Result<Self, InstallError> {
        let place = Self { dir: work.join("apt"), source };
        for dir in ["lists/partial", "cache/archives/partial"].map(|dir| place.dir.join(dir)) {
            fs::create_dir_all(&dir).map_err(io_error(&dir))?;
        }
        if let Some(source) = &place.source {
            let list = place.dir.join("sources.list");
            fs::write(&list, source).map_err(io_error(&list))?;
        }
        Ok(place)
    }

    fn options(&self) -> Vec<String> {
        let (lists, cache) = (self.dir.join("lists"), self.dir.join("cache"));
        let mut options = vec![
            format!("Dir::State::lists={}", lists.display()),
            format!("Dir::Cache={}", cache.display()),
            "Debug::NoLocking=1".to_owned(),
            // Otherwise lists that cannot be fetched are a warning.
            "APT::Update::Error-Mode=any".to_owned(),
        ];
        if self.source.is_some() {
            options.push(format!("Dir::Etc::sourcelist={}", self.dir.join("sources.list").display()));
            options.push("Dir::Etc::sourceparts=/dev/null".to_owned());
        }
        options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect()
    }
}

fn apt(work: &Path, words: &[&str], place: Option<&AptPlace>) -> Result<String, InstallError> {
    let mut apt = Command::new("apt-get");
    run(apt.args(place.map(AptPlace::options).unwrap_or_default()).arg("-q").args(words).current_dir(work))
}

/// Unpacks packages of Debian, which nothing of the system depends on then.
fn debian(work: &Path, names: &[String]) -> Result<Option<PathBuf>, InstallError> {
    let download: Vec<&str> = std::iter::once("download").chain(names.iter().map(String::as_str)).collect();
    if apt(work, &download, None).is_err() {
        // The machine's lists of packages are old or were removed.
        let own = AptPlace::new(work, None)?;
        apt(work, &["update"], Some(&own))?;
        apt(work, &download, Some(&own))?;
    }
    unpack_debian(work)
}

/// Unpacks packages of another release of Debian. Their programs want the C library of that release, so each is started
/// by that library's loader.
fn debian_release(work: &Path, release: &str, names: &[String]) -> Result<Option<PathBuf>, InstallError> {
    // The machine says where its own release is, and others are beside it.
    let form = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let targets = apt(work, &["indextargets", "--format", form, "Created-By: Packages"], None)?;
    let own = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or_default().trim_matches('"');
    let main = format!(" {own} main");
    let Some(place) = targets.lines().find_map(|line| line.strip_suffix(main.as_str())) else {
        return Err(InstallError::Failed {
            tool: "apt-get".to_owned(),
            output: format!("it names no source of Debian's packages on this machine ({own})"),
        });
    };
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let signed = if Path::new(keys).exists() { format!(" [signed-by={keys}]") } else { String::new() };
    let place = AptPlace::new(work, Some(format!("deb{signed} {place} {release} main\n")))?;
    apt(work, &["update"], Some(&place))?;
    let download: Vec<&str> = std::iter::once("download").chain(names.iter().map(String::as_str)).collect();
    apt(work, &download, Some(&place))?;
    let Some(made) = unpack_debian(work)? else { return Ok(None) };
    for dir in ["usr/bin", "usr/sbin"].map(|dir| made.join(dir)) {
        for program in fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_link = program.symlink_metadata().is_ok_and(|m| m.is_symlink());
            if !is_link && fs::read(&program).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")) {
                start_by_loader(&program)?;
            }
        }
    }
    Ok(Some(made))
}

fn unpack_debian(work: &Path) -> Result<Option<PathBuf>, InstallError> {
    let made = made_dir(work)?;
    for archive in fs::read_dir(work).into_iter().flatten().flatten() {
        if archive.path().extension() == Some(OsStr::new("deb")) {
            run(Command::new("dpkg-deb").arg("-x").arg(archive.path()).arg(&made))?;
        }
    }
    Ok(made.join("usr/sbin").exists().then_some(made))
}

/// Puts a script in the place of a program two directories below the top that starts it with the libraries beside it.
fn start_by_loader(program: &Path) -> Result<(), InstallError> {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let kept = program.with_file_name(format!(".{name}"));
    fs::rename(program, &kept).map_err(io_error(program))?;
    let script = format!(
        "#!/bin/sh\n\
         here=$(dirname \"$(readlink -f \"$0\")\")\n\
         lib=$here/../lib/{arch}-linux-gnu\n\
         for loader in \"$lib\"/ld-linux-*; do :; done\n\
         exec \"$loader\" --library-path \"$lib\" \"$here/.{name}\" \"$@\"\n",
        arch = std::env::consts::ARCH
    );
    fs::write(program, script).map_err(io_error(program))?;
    fs::set_permissions(program, Permissions::from_mode(0o755)).map_err(io_error(program))
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

/// What tools print when they do not reach what they fetch from, in lower case.
const NO_NETWORK: [&str; 14] = [
    "eai_again",
    "enotfound",
    "econnrefused",
    "econnreset",
    "etimedout",
    "enetunreach",
    "could not resolve",
    "couldn't resolve",
    "temporary failure",
    "unknown host",
    "unknownhost",
    "network is unreachable",
    "connection refused",
    "failed to connect",
];

/// Runs a command to its end and returns its standard output.
fn run(command: &mut Command) -> Result<String, InstallError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    crate::config::scrub_env(command);
    let output = command.output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => InstallError::NoTool { tool: tool.clone() },
        _ => InstallError::Tool { tool: tool.clone(), source },
    })?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    // Some tools say what is wrong on standard output.
    if text.trim().is_empty() {
        text = said;
    }
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| is_said(line)).collect();
    // These say first what is wrong, and then much about it; others end with it.
    let shown = if ["npm", "mvn"].contains(&tool.as_str()) {
        &lines[..lines.len().min(5)]
    } else {
        &lines[lines.len().saturating_sub(5)..]
    };
    let output = match shown.join("; ") {
        nothing if nothing.is_empty() => format!("it ended with {} and said nothing", output.status),
        tail => tail,
    };
    let lower = text.to_lowercase();
    Err(if NO_NETWORK.iter().any(|sign| lower.contains(sign)) {
        InstallError::Unreachable { tool, output }
    } else {
        InstallError::Failed { tool, output }
    })
}

/// Whether a line says something: npm's logs are elsewhere, and its lines have a prefix even if they are empty.
fn is_said(line: &str) -> bool {
    let rest = line.trim_start_matches("npm error").trim_start_matches("npm ERR!").trim();
    !rest.is_empty() && !rest.starts_with("A complete log of this run") && !rest.ends_with("-debug-0.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(script: &str) -> String {
        run(Command::new("/bin/sh").args(["-c", script])).expect_err("fails").to_string()
    }

    #[test]
    fn a_failure_says_what_the_tool_said() {
        assert!(failure("exit 3").contains("exit status: 3 and said nothing"));
        assert!(failure("echo 'no such thing'; exit 1").contains("failed: no such thing"));
        let npm = "printf 'npm error code E404\\nnpm error 404 Not Found\\nnpm error\\nnpm error A complete log of this run \
                   can be found in: /x/y-debug-0.log\\n' >&2; exit 1";
        assert!(failure(npm).ends_with("failed: npm error code E404; npm error 404 Not Found"), "{}", failure(npm));
    }

    #[test]
    fn a_missing_network_and_a_missing_tool_are_told_apart() {
        let said = failure("echo 'npm error code EAI_AGAIN' >&2; exit 1");
        assert!(said.contains("does not reach its registry") && said.contains("EAI_AGAIN"), "{said}");
        let missing = run(&mut Command::new("a-tool-that-nobody-has")).expect_err("is not there").to_string();
        assert!(missing.starts_with("a-tool-that-nobody-has is not installed"), "{missing}");
    }
}
