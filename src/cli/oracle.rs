//! `caqtus oracle`.

use super::import::{self, ImportArgs};
use super::{Common, FOUND, SourceArgs, StoreArgs, printable};
use crate::app::class::{self, ClassDetail, ClassEntry, Classes, PairChoice, Standing, Totals};
use crate::caq::class::OracleClass;
use crate::caq::proof::{Pair, Stale, Status, Verdict};
use crate::catalogue::{self, Catalogue};
use crate::hunt::session::select;
use crate::store::ClassState;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Look at the catalogue of oracle classes and at what is proven of it
#[derive(Debug, Args)]
pub(super) struct OracleArgs {
    #[command(subcommand)]
    command: OracleCommand,
}

#[derive(Debug, Subcommand)]
enum OracleCommand {
    Import(Box<ImportArgs>),
    /// List the classes, each with how many of its members are proven
    List {
        /// Only classes whose name matches; * stands for any text
        globs: Vec<String>,
        /// One JSON object per class, then one with the totals
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        from: FromArgs,
    },
    /// Print one class, with what is known about each member
    Show {
        /// Its name
        name: String,
        /// JSON, for machines, with the members' plans as far as they are known and how they differ
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        from: FromArgs,
    },
    /// Write classes of the store to files that `caqtus hunt --catalogue FILE --proofs FILE` takes
    Export {
        /// Only classes whose name matches; * stands for any text
        globs: Vec<String>,
        /// Only classes in this state
        #[arg(long, value_enum, default_value = "released")]
        state: ClassState,
        /// The file for the classes
        #[arg(long, value_name = "FILE", default_value = "classes.toml")]
        classes: PathBuf,
        /// The file for their proofs
        #[arg(long, value_name = "FILE", default_value = "proofs.jsonl")]
        proofs: PathBuf,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Decide whether a class of the store may be used
    ///
    /// A class on which an engine disagreed is quarantined until somebody has looked at the evidence, which `show` prints.
    #[command(alias = "judge")]
    Review {
        /// Its name
        name: String,
        /// What it is from now on
        #[arg(value_enum)]
        state: ClassState,
        /// Why
        #[arg(long, value_name = "TEXT")]
        why: String,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Print pairs of members for the prover, as JSON lines
    ///
    /// Each member against the first of its class, which is enough to connect the class if all are proven.
    #[command(after_help = "\
Example, which is what `make proofs` does with the shipped classes:
  caqtus oracle pairs --catalogue my.toml | caqtus-prover prove --pairs - --json > answers.jsonl
  caqtus oracle record --catalogue my.toml < answers.jsonl > my-proofs.jsonl
  caqtus hunt --catalogue my.toml --proofs my-proofs.jsonl")]
    Pairs {
        /// Only classes whose name matches; * stands for any text; may be given several times
        #[arg(long = "class", value_name = "GLOB")]
        classes: Vec<String>,
        /// Every member against every other
        #[arg(long)]
        all: bool,
        /// Only pairs without a record that would connect what the recorded proofs leave apart
        #[arg(long, conflicts_with = "all")]
        apart: bool,
        #[command(flatten)]
        source: SourceArgs,
    },
    /// Turn the prover's answers, JSON lines on standard input, into records of proofs
    ///
    /// A record holds a hash of the texts that the answer is about, so that it counts only as long as they stay as they are.
    /// Exit status: 0 done, 1 some pair is refuted (each is named), 2 could not run.
    Record {
        /// What the records name as the prover
        #[arg(long, value_name = "TEXT", default_value = "caqtus-prover")]
        prover: String,
        #[command(flatten)]
        source: SourceArgs,
    },
}

/// Where the classes to be looked at are.
#[derive(Debug, Args)]
struct FromArgs {
    /// The classes of the store, in place of the shipped catalogue
    #[arg(long, conflicts_with_all = ["catalogue", "proofs"])]
    store: bool,
    /// Only classes of the store in this state
    #[arg(long, value_enum, requires = "store")]
    state: Option<ClassState>,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    server: StoreArgs,
    #[command(flatten)]
    common: Common,
}

impl FromArgs {
    fn load(self, globs: &[String]) -> anyhow::Result<Classes> {
        if !self.store {
            return Ok(class::of_files(&self.source.source())?);
        }
        super::runtime()?.block_on(async {
            let store = self.server.open(&self.common).await?;
            let classes = class::of_store(&store, self.state, globs).await?;
            store.close().await;
            Ok(classes)
        })
    }

    /// Everything about a class.
    fn detail(self, name: &str) -> anyhow::Result<ClassDetail> {
        if !self.store {
            let Classes { catalogue, .. } = class::of_files(&self.source.source())?;
            let class = catalogue.classes.iter().find(|class| class.name == name).ok_or_else(|| no_class(name))?;
            return Ok(ClassDetail::new(class, None));
        }
        super::runtime()?.block_on(async {
            let store = self.server.open(&self.common).await?;
            let detail = class::detail(&store, name).await;
            store.close().await;
            Ok(detail?)
        })
    }
}

fn no_class(name: &str) -> anyhow::Error {
    anyhow!("there is no class {name}; `caqtus oracle list` shows them")
}

pub(super) fn run(args: OracleArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        OracleCommand::Import(args) => return import::run(&args),
        OracleCommand::List { globs, json, from } => list(from.load(&globs)?, &globs, json)?,
        OracleCommand::Show { name, json: true, from } => {
            println!("{}", serde_json::to_string(&from.detail(&name)?)?);
        }
        OracleCommand::Show { name, json: false, from } => {
            let Classes { catalogue, standing } = from.load(std::slice::from_ref(&name))?;
            let of_class = |stale: &&Stale| Pair::parse(&stale.id).is_some_and(|(class, _)| class == name);
            let stale: Vec<String> = catalogue.stale.iter().filter(of_class).map(ToString::to_string).collect();
            let Some(class) = catalogue.classes.into_iter().find(|c| c.name == name) else {
                return Err(no_class(&name));
            };
            show(&class);
            stale.iter().for_each(|stale| println!("{}", printable(stale)));
            if let Some(Standing { similarity, state, evidence }) = standing.get(&name) {
                println!("{}", state.name());
                similarity.iter().for_each(|s| println!("similarity of plans: {s:.3}"));
                if let Some(evidence) = evidence {
                    println!("{}", serde_json::to_string_pretty(evidence)?);
                }
            }
        }
        OracleCommand::Export { globs, state, classes, proofs, store, common } => {
            super::runtime()?.block_on(async {
                let store = store.open(&common).await?;
                let found = class::stored(&store, Some(state), &globs).await?;
                store.close().await;
                class::write(&found, &classes, &proofs)?;
                println!("{} classes: {}, {}", found.len(), classes.display(), proofs.display());
                anyhow::Ok(())
            })?;
        }
        OracleCommand::Review { name, state, why, store, common } => {
            super::runtime()?.block_on(async {
                let store = store.open(&common).await?;
                class::review(&store, &name, state, &why).await?;
                store.close().await;
                println!("{name} is {}", state.name());
                anyhow::Ok(())
            })?;
        }
        OracleCommand::Pairs { classes, all, apart, source } => {
            let classes = catalogue::load_matching(&source.source(), &classes)?.classes;
            let choice = match (all, apart) {
                (_, true) => PairChoice::Apart,
                (true, false) => PairChoice::All,
                (false, false) => PairChoice::WithFirst,
            };
            let mut out = io::stdout().lock();
            for question in class::pairs(&classes, choice)? {
                writeln!(out, "{}", serde_json::to_string(&question)?)?;
            }
        }
        OracleCommand::Record { prover, source } => return record(&catalogue::load(&source.source())?, &prover),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(classes: Classes, globs: &[String], json: bool) -> anyhow::Result<()> {
    let Classes { catalogue: Catalogue { classes, stale }, standing } = classes;
    let mut totals = Totals { stale_proofs: stale.len(), ..Totals::default() };
    let mut out = io::stdout().lock();
    for class in select(classes, globs) {
        let standing = standing.get(&class.name);
        let entry = ClassEntry::new(&class, standing);
        totals.count(&entry);
        if json {
            // Through a value, whose fields are in alphabetical order.
            writeln!(out, "{}", serde_json::to_value(&entry)?)?;
        } else {
            let more = counted(&[(entry.assumed, "assumed"), (entry.refuted, "refuted")]);
            let state = standing.map(|standing| format!("{:<12}", standing.state.name())).unwrap_or_default();
            writeln!(
                out,
                "{:<48} {state}{:<22} {}",
                entry.name,
                format!("{} proven{more}", entry.proven),
                printable(&entry.about)
            )?;
        }
    }
    if json {
        writeln!(out, "{}", serde_json::json!({ "totals": totals }))?;
        return Ok(());
    }
    let Totals { classes, proven_classes, members, proven, assumed, refuted, .. } = totals;
    let more = counted(&[(refuted, "refuted")]);
    writeln!(
        out,
        "{classes} classes, {proven_classes} of them with proven members; \
         {members} members, {proven} proven, {assumed} assumed{more}"
    )?;
    for stale in &stale {
        writeln!(out, "{}", printable(&stale.to_string()))?;
    }
    Ok(())
}

/// Counts that are not zero, each after a comma.
fn counted(counts: &[(usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!(", {count} {what}")).collect::<Vec<_>>().concat()
}

fn show(class: &OracleClass) {
    println!("{} ({}, {})", printable(&class.name), printable(&class.origin), class.file);
    println!("{}", printable(&class.about));
    println!("{}", printable(&class.ddl));
    for (placeholder, demand) in class.names.placeholders.iter().zip(&class.demands) {
        let mut notes = Vec::new();
        if demand.null_preserving {
            notes.push("must be NULL on a padded row");
        }
        if demand.truth_value_only {
            notes.push("only its truth value is used");
        }
        let constraint = class.constraints.get(&placeholder.name).map_or("", String::as_str);
        let notes = if notes.is_empty() { String::new() } else { format!(", {}", notes.join(", ")) };
        println!("placeholder {}: {}{notes}", printable(&placeholder.name), printable(constraint));
    }
    for (at, (member, status)) in class.members.iter().zip(class.statuses()).enumerate() {
        let switch = member.switch.as_ref().map(|s| format!(" (optimizer switch {s})")).unwrap_or_default();
        let status = match status {
            Status::Proven(proven) => match proven.to() {
                None => "proven: the proofs of the others end here".to_owned(),
                Some(to) => {
                    let assumptions: Vec<String> = proven.assumptions().iter().map(ToString::to_string).collect();
                    let granted = match assumptions.as_slice() {
                        [] => "taking nothing for granted".to_owned(),
                        some => format!("taking for granted: {}", some.join(", ")),
                    };
                    format!("proven equivalent to member {}, {granted}", to + 1)
                }
            },
            Status::Refuted { by, reason } => format!("refuted by member {}: {reason}", by + 1),
            Status::Assumed { reason } => format!("assumed, not proven: {reason}"),
        };
        println!("member {}{switch}, {}:\n  {}", at + 1, printable(&status), printable(&member.sql));
    }
}

fn record(catalogue: &Catalogue, prover: &str) -> anyhow::Result<ExitCode> {
    let records = class::records(catalogue, prover, io::stdin().lock())?;
    let mut out = io::stdout().lock();
    let mut refuted = false;
    for record in &records {
        writeln!(out, "{}", serde_json::to_string(record)?)?;
        if record.verdict == Verdict::Refuted {
            refuted = true;
            eprintln!("{} is refuted: {}", record.id, record.reason.as_deref().unwrap_or_default());
        }
    }
    Ok(ExitCode::from(if refuted { FOUND } else { 0 }))
}
