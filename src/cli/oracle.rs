//! `caqtus oracle`.

use super::import::{self, ImportArgs};
use super::{Common, FOUND, SourceArgs, StoreArgs, printable};
use crate::caq::class::{OracleClass, print_classes};
use crate::caq::proof::{Pair, Record, Stale, Status, Verdict};
use crate::catalogue::{self, Catalogue};
use crate::config::matches_glob;
use crate::hunt::session::select;
use crate::store::{ClassState, Store, StoreError, StoredClass};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
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

/// Why a class of the store is in its state.
type Reviews = BTreeMap<String, (ClassState, Option<serde_json::Value>, Option<f64>)>;

impl FromArgs {
    fn load(self, globs: &[String]) -> anyhow::Result<(Catalogue, Reviews)> {
        if !self.store {
            return Ok((catalogue::load(&self.source.source())?, Reviews::new()));
        }
        super::runtime()?.block_on(async {
            let store = self.server.open(&self.common).await?;
            let stored = stored(&store, self.state, globs).await?;
            store.close().await;
            let reviews = stored
                .iter()
                .map(|s| (s.class.text.name.clone(), (s.state, s.evidence.clone(), s.class.similarity)))
                .collect();
            let records = stored.iter().flat_map(|s| s.class.proofs.iter().map(|p| p.record.clone())).collect();
            let texts = stored.into_iter().map(|s| s.class.text).collect();
            Ok((catalogue::assemble("the store", texts, records)?, reviews))
        })
    }
}

/// The classes of the store that are in a state and match.
pub(super) async fn stored(
    store: &Store,
    state: Option<ClassState>,
    globs: &[String],
) -> Result<Vec<StoredClass>, StoreError> {
    let mut classes = Vec::new();
    for summary in store.class_list(state).await? {
        if (globs.is_empty() || globs.iter().any(|glob| matches_glob(glob, &summary.name)))
            && let Some(class) = store.class_fetch(&summary.name).await?
        {
            classes.push(class);
        }
    }
    Ok(classes)
}

/// Writes classes and their proofs to two files.
pub(super) fn write_classes(stored: &[StoredClass], classes: &Path, proofs: &Path) -> anyhow::Result<()> {
    let texts = stored.iter().map(|s| s.class.text.clone()).collect();
    std::fs::write(classes, print_classes(texts)?).with_context(|| format!("cannot write {}", classes.display()))?;
    let mut lines = String::new();
    for proof in stored.iter().flat_map(|s| &s.class.proofs) {
        lines.push_str(&serde_json::to_string(&proof.record)?);
        lines.push('\n');
    }
    std::fs::write(proofs, lines).with_context(|| format!("cannot write {}", proofs.display()))
}

pub(super) fn run(args: OracleArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        OracleCommand::Import(args) => return import::run(&args),
        OracleCommand::List { globs, json, from } => {
            let (catalogue, reviews) = from.load(&globs)?;
            list(catalogue, &reviews, &globs, json)?;
        }
        OracleCommand::Show { name, from } => {
            let (catalogue, reviews) = from.load(std::slice::from_ref(&name))?;
            let of_class = |stale: &&Stale| Pair::parse(&stale.id).is_some_and(|(class, _)| class == name);
            let stale: Vec<String> = catalogue.stale.iter().filter(of_class).map(ToString::to_string).collect();
            let Some(class) = catalogue.classes.into_iter().find(|c| c.name == name) else {
                bail!("there is no class {name}; `caqtus oracle list` shows them");
            };
            show(&class);
            stale.iter().for_each(|stale| println!("{}", printable(stale)));
            if let Some((state, evidence, similarity)) = reviews.get(&name) {
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
                let found = stored(&store, Some(state), &globs).await?;
                store.close().await;
                write_classes(&found, &classes, &proofs)?;
                println!("{} classes: {}, {}", found.len(), classes.display(), proofs.display());
                anyhow::Ok(())
            })?;
        }
        OracleCommand::Review { name, state, why, store, common } => {
            super::runtime()?.block_on(async {
                let store = store.open(&common).await?;
                let Some(class) = store.class_fetch(&name).await? else {
                    bail!("the store has no class {name}; `caqtus oracle list --store` shows them");
                };
                let evidence = serde_json::json!({ "reviewed": why, "before": class.evidence });
                store.class_review(&name, state, &evidence).await?;
                store.close().await;
                println!("{name} is {}", state.name());
                Ok(())
            })?;
        }
        OracleCommand::Pairs { classes, all, apart, source } => {
            let classes = catalogue::load_matching(&source.source(), &classes)?.classes;
            let everywhere = catalogue::guaranteed_everywhere()?;
            let mut out = io::stdout().lock();
            for class in &classes {
                let mut pairs = if apart { class.apart(&everywhere) } else { class.pairs() };
                pairs.retain(|pair| all || apart || pair.0 == 0);
                for question in pairs.into_iter().filter_map(|pair| class.question(pair)) {
                    writeln!(out, "{}", serde_json::to_string(&question)?)?;
                }
            }
        }
        OracleCommand::Record { prover, source } => return record(&catalogue::load(&source.source())?, &prover),
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Totals {
    classes: usize,
    /// With two connected members at least.
    proven_classes: usize,
    members: usize,
    proven: usize,
    assumed: usize,
    /// Members that a database shows to be wrong.
    refuted: usize,
    stale_proofs: usize,
}

fn list(catalogue: Catalogue, reviews: &Reviews, globs: &[String], json: bool) -> anyhow::Result<()> {
    let mut totals = Totals { stale_proofs: catalogue.stale.len(), ..Totals::default() };
    let mut out = io::stdout().lock();
    for class in select(catalogue.classes, globs) {
        let (members, proven, refuted) = (class.members.len(), class.proven_count(), refuted_count(&class));
        let assumed = members - proven - refuted;
        totals.classes += 1;
        totals.proven_classes += usize::from(proven > 0);
        totals.members += members;
        totals.proven += proven;
        totals.assumed += assumed;
        totals.refuted += refuted;
        let state = reviews.get(&class.name).map(|(state, ..)| state.name());
        if json {
            let mut line = json_line(&class);
            if let Some((state, _, similarity)) = reviews.get(&class.name) {
                line["state"] = state.name().into();
                line["similarity"] = (*similarity).into();
            }
            writeln!(out, "{line}")?;
        } else {
            let more = counted(&[(assumed, "assumed"), (refuted, "refuted")]);
            let state = state.map(|state| format!("{state:<12}")).unwrap_or_default();
            writeln!(
                out,
                "{:<48} {state}{:<22} {}",
                class.name,
                format!("{proven} proven{more}"),
                printable(&class.about)
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
    for stale in &catalogue.stale {
        writeln!(out, "{}", printable(&stale.to_string()))?;
    }
    Ok(())
}

/// Counts that are not zero, each after a comma.
fn counted(counts: &[(usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!(", {count} {what}")).collect::<Vec<_>>().concat()
}

/// How many members a database shows to be wrong.
fn refuted_count(class: &OracleClass) -> usize {
    class.statuses().iter().filter(|status| matches!(status, Status::Refuted { .. })).count()
}

fn json_line(class: &OracleClass) -> serde_json::Value {
    let placeholders: Vec<&str> = class.names.placeholders.iter().map(|p| p.name.as_str()).collect();
    let members: Vec<&str> = class.members.iter().map(|m| m.sql.as_str()).collect();
    let status = |status| match status {
        Status::Proven(proven) => {
            let to = proven.to().map(|at| at + 1);
            serde_json::json!({ "status": "proven", "to": to, "assumptions": proven.assumptions() })
        }
        Status::Refuted { by, reason } => {
            serde_json::json!({ "status": "refuted", "by": by + 1, "reason": reason })
        }
        Status::Assumed { reason } => serde_json::json!({ "status": "assumed", "reason": reason }),
    };
    let statuses: Vec<serde_json::Value> = class.statuses().into_iter().map(status).collect();
    let (proven, refuted) = (class.proven_count(), refuted_count(class));
    serde_json::json!({
        "name": class.name, "origin": class.origin, "about": class.about, "file": class.file,
        "dialects": class.dialects, "assumes": class.assumes, "placeholders": placeholders, "members": members,
        "proven": proven, "assumed": class.members.len() - proven - refuted, "refuted": refuted, "statuses": statuses,
    })
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

/// An answer of `caqtus-prover prove --json`, as far as it is recorded.
#[derive(Deserialize)]
struct Answer {
    id: String,
    verdict: Verdict,
    #[serde(default)]
    assumptions: BTreeSet<Assumption>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    witness: Option<Vec<String>>,
}

fn record(catalogue: &Catalogue, prover: &str) -> anyhow::Result<ExitCode> {
    let classes: BTreeMap<&str, &OracleClass> = catalogue.classes.iter().map(|c| (c.name.as_str(), c)).collect();
    let mut records = BTreeMap::new();
    for (at, line) in io::stdin().lock().lines().enumerate() {
        let answer: Answer =
            serde_json::from_str(&line?).with_context(|| format!("line {} is no answer of the prover", at + 1))?;
        let question = Pair::parse(&answer.id).and_then(|(class, pair)| classes.get(class)?.question(pair));
        let Some(question) = question else { bail!("there is no pair {}", answer.id) };
        let witness = answer.witness.map(|inserts| match inserts.join(" ") {
            none if none.is_empty() => "differs on empty tables".to_owned(),
            inserts => format!("differs after {inserts}"),
        });
        let record = Record {
            hash: question.hash(),
            id: answer.id,
            verdict: answer.verdict,
            assumptions: answer.assumptions,
            reason: answer.reason.or(witness),
            prover: prover.to_owned(),
        };
        records.insert(record.id.clone(), record);
    }
    let mut out = io::stdout().lock();
    let mut refuted = false;
    for record in records.values() {
        writeln!(out, "{}", serde_json::to_string(record)?)?;
        if record.verdict == Verdict::Refuted {
            refuted = true;
            eprintln!("{} is refuted: {}", record.id, record.reason.as_deref().unwrap_or_default());
        }
    }
    Ok(ExitCode::from(if refuted { FOUND } else { 0 }))
}
