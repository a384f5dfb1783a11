//! `caqtus oracle`.

use super::{FOUND, SourceArgs};
use crate::caq::class::OracleClass;
use crate::caq::proof::{Pair, Record, Status, Verdict};
use crate::catalogue::{self, Catalogue};
use crate::hunt::session::select;
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

/// Look at the catalogue of oracle classes and at what is proven of it
#[derive(Debug, Args)]
pub(super) struct OracleArgs {
    #[command(subcommand)]
    command: OracleCommand,
}

#[derive(Debug, Subcommand)]
enum OracleCommand {
    /// List the classes, each with how many of its members are proven
    List {
        /// Only classes whose name matches; * stands for any text
        globs: Vec<String>,
        /// One JSON object per class, then one with the totals
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        source: SourceArgs,
    },
    /// Print one class, with what is known about each member
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        source: SourceArgs,
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

pub(super) fn run(args: OracleArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        OracleCommand::List { globs, json, source } => list(catalogue::load(&source.source())?, &globs, json)?,
        OracleCommand::Show { name, source } => {
            let classes = catalogue::load(&source.source())?.classes;
            let Some(class) = classes.into_iter().find(|c| c.name == name) else {
                bail!("there is no class {name}; `caqtus oracle list` shows them");
            };
            show(&class);
        }
        OracleCommand::Pairs { classes, all, apart, source } => {
            let classes = select(catalogue::load(&source.source())?.classes, &classes);
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
    stale_proofs: usize,
}

fn list(catalogue: Catalogue, globs: &[String], json: bool) -> anyhow::Result<()> {
    let mut totals = Totals { stale_proofs: catalogue.stale.len(), ..Totals::default() };
    let mut out = io::stdout().lock();
    for class in select(catalogue.classes, globs) {
        let (members, proven) = (class.members.len(), class.proven_count());
        totals.classes += 1;
        totals.proven_classes += usize::from(proven > 0);
        totals.members += members;
        totals.proven += proven;
        totals.assumed += members - proven;
        if json {
            writeln!(out, "{}", json_line(&class))?;
        } else {
            let assumed = match members - proven {
                0 => String::new(),
                assumed => format!(", {assumed} assumed"),
            };
            writeln!(out, "{:<48} {:<22} {}", class.name, format!("{proven} proven{assumed}"), class.about)?;
        }
    }
    if json {
        writeln!(out, "{}", serde_json::json!({ "totals": totals }))?;
        return Ok(());
    }
    let Totals { classes, proven_classes, members, proven, assumed, stale_proofs } = totals;
    writeln!(
        out,
        "{classes} classes, {proven_classes} of them with proven members; \
         {members} members, {proven} proven, {assumed} assumed"
    )?;
    if stale_proofs > 0 {
        writeln!(
            out,
            "{stale_proofs} recorded proofs are not about the present text of their class; run `make proofs`"
        )?;
    }
    Ok(())
}

fn json_line(class: &OracleClass) -> serde_json::Value {
    let placeholders: Vec<&str> = class.names.placeholders.iter().map(|p| p.name.as_str()).collect();
    let members: Vec<&str> = class.members.iter().map(|m| m.sql.as_str()).collect();
    let status = |status| match status {
        Status::Proven { to, assumptions } => {
            serde_json::json!({ "status": "proven", "to": to.map(|at| at + 1), "assumptions": assumptions })
        }
        Status::Assumed { reason } => serde_json::json!({ "status": "assumed", "reason": reason }),
    };
    let statuses: Vec<serde_json::Value> = class.statuses().into_iter().map(status).collect();
    let proven = class.proven_count();
    serde_json::json!({
        "name": class.name, "origin": class.origin, "about": class.about, "file": class.file,
        "dialects": class.dialects, "assumes": class.assumes, "placeholders": placeholders, "members": members,
        "proven": proven, "assumed": class.members.len() - proven, "statuses": statuses,
    })
}

fn show(class: &OracleClass) {
    println!("{} ({}, {})", class.name, class.origin, class.file);
    println!("{}", class.about);
    println!("{}", class.ddl);
    for (placeholder, demand) in class.names.placeholders.iter().zip(&class.demands) {
        let mut notes = Vec::new();
        if demand.null_preserving {
            notes.push("must be NULL on a padded row");
        }
        if demand.truth_value_only {
            notes.push("only its truth value is used");
        }
        println!("placeholder {}: {:?} {}", placeholder.name, placeholder.kind, notes.join(", "));
    }
    for (at, (member, status)) in class.members.iter().zip(class.statuses()).enumerate() {
        let switch = member.switch.as_ref().map(|s| format!(" (optimizer switch {s})")).unwrap_or_default();
        let status = match status {
            Status::Proven { to: None, .. } => "proven: the proofs of the others end here".to_owned(),
            Status::Proven { to: Some(to), assumptions } => {
                let granted = match assumptions.into_iter().collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "taking nothing for granted".to_owned(),
                    some => format!("taking for granted: {some}"),
                };
                format!("proven equivalent to member {}, {granted}", to + 1)
            }
            Status::Assumed { reason } => format!("assumed, not proven: {reason}"),
        };
        println!("member {}{switch}, {status}:\n  {}", at + 1, member.sql);
    }
}

/// An answer of `caqtus-prover prove --json`, as far as it is recorded.
#[derive(Deserialize)]
struct Answer {
    id: String,
    verdict: Verdict,
    #[serde(default)]
    assumptions: BTreeSet<String>,
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
