//! `caqtus bug`.

use super::{Common, FOUND, VOID, scripts};
use crate::app::finding::{ReplayOutcome, ReplayState};
use crate::app::{self, Progress};
use crate::catalogue;
use crate::dbms::target::Target;
use crate::interpret::StepResult;
use crate::triage::finding::{self, FLAKY, Finding, Fingerprint, Listing, shell_word};
use crate::triage::report::{result_lines, script};
use crate::triage::script::EXTENSION;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Look at findings: list, show, replay, compare versions
#[derive(Debug, Args)]
pub(super) struct BugArgs {
    #[command(subcommand)]
    command: BugCommand,
}

#[derive(Debug, Args)]
struct Where {
    /// Where the findings are
    #[arg(long, value_name = "DIR", default_value = "caqtus-findings")]
    findings: PathBuf,
    /// JSON, for machines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum BugCommand {
    /// List findings; those of a group are likely one bug
    List {
        /// Those that did not come again, which are kept apart
        #[arg(long)]
        flaky: bool,
        #[command(flatten)]
        place: Where,
    },
    /// Print the report of one finding
    Show {
        /// Its identifier, or the start of it
        id: String,
        #[command(flatten)]
        place: Where,
    },
    /// Run findings, or scripts with answers, again, in a process of their own
    ///
    /// Exit status: 0 it does not show, 1 it shows, 2 could not run, 3 void: set-up or a query fails on this version, so it
    /// says nothing; so too the answers of a script that are neither the expected nor the actual ones. Of several: 1 if one
    /// shows, else 3 if one is void.
    #[command(after_help = "Example: caqtus bug replay tests/known-bugs/sqlite-*.slt --dbms sqlite@3.41.2")]
    Replay {
        /// Identifiers of findings, or starts of them; or scripts with expected and actual answers, FILE.slt
        #[arg(required = true, value_name = "ID|FILE.slt")]
        what: Vec<String>,
        /// Another target than it was found on; for scripts, than the newest version of their engine that is here
        #[arg(long)]
        dbms: Option<String>,
        #[command(flatten)]
        place: Where,
    },
    /// Name the first and the last version that show a finding
    ///
    /// Runs it on the versions of its engine that are installed, halving. The version after the last bad one has the fix. A
    /// version on which set-up or a query fails is neither good nor bad, and passed over.
    Bisect {
        /// Its identifier, or the start of it
        id: String,
        /// Install the versions that are needed, of all that are known
        #[arg(long)]
        install: bool,
        #[command(flatten)]
        place: Where,
    },
    /// Say which installed versions show each finding; findings of one span and one set of features are likely one bug
    Spans {
        #[command(flatten)]
        place: Where,
    },
}

impl Where {
    /// A finding by the start of its identifier.
    fn find(&self, id: &str) -> anyhow::Result<(PathBuf, Finding)> {
        Ok(finding::find(app::finding::existing(&self.findings)?, id)?)
    }
}

/// The findings of a directory that can be read; the others are named and left out.
fn readable(listing: Listing) -> Vec<(PathBuf, Finding)> {
    for error in listing.damaged {
        eprintln!("caqtus: left out: {:#}", anyhow::Error::from(error));
    }
    listing.findings
}

pub(super) fn run(args: BugArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        BugCommand::List { flaky, place } => list(flaky, &place),
        BugCommand::Show { id, place } => {
            let (dir, finding) = place.find(&id)?;
            if place.json {
                println!("{}", serde_json::to_string_pretty(&finding)?);
            } else {
                let path = dir.join("report.md");
                let report = std::fs::read_to_string(&path);
                print!("{}", report.with_context(|| format!("cannot read {}", path.display()))?);
            }
            Ok(ExitCode::SUCCESS)
        }
        BugCommand::Replay { what, dbms, place } => replay_all(&what, dbms.as_deref(), &place),
        BugCommand::Bisect { id, install, place } => bisect_finding(&id, install, &place),
        BugCommand::Spans { place } => spans(&place),
    }
}

fn list(flaky: bool, place: &Where) -> anyhow::Result<ExitCode> {
    let apart = app::finding::existing(&place.findings)?.join(FLAKY);
    let all = readable(finding::survey(if flaky { &apart } else { &place.findings })?);
    if place.json {
        let found: Vec<_> = all.iter().map(|(dir, finding)| finding.found(dir)).collect();
        println!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        println!("no {}findings in {}", if flaky { "flaky " } else { "" }, place.findings.display());
    }
    for (Fingerprint { kind, cause }, findings) in app::finding::by_bug(&all) {
        println!("{kind}  {cause}  ({})", findings.len());
        for finding in findings {
            println!("  {}  {} {}  {}", finding.id, finding.dbms, finding.version, finding.features.join(", "));
        }
    }
    let others = if flaky { 0 } else { finding::survey(&apart)?.findings.len() };
    if others > 0 {
        let place = shell_word(&place.findings);
        println!("{others} more did not come again; `caqtus bug list --flaky --findings {place}` shows them");
    }
    Ok(ExitCode::SUCCESS)
}

fn replay_all(what: &[String], dbms: Option<&str>, place: &Where) -> anyhow::Result<ExitCode> {
    let is_script = |what: &&String| Path::new(what).extension().is_some_and(|end| end == EXTENSION);
    let (scripts, ids): (Vec<&String>, Vec<&String>) = what.iter().partition(is_script);
    let mut statuses = scripts::replay(&scripts, dbms, place.json, &place.common)?;
    for id in ids {
        statuses.push(replay(id, dbms, place)?);
    }
    let found = [FOUND, VOID].into_iter().find(|status| statuses.contains(status));
    Ok(ExitCode::from(found.unwrap_or_default()))
}

/// Runs a finding again; the exit status.
fn replay(id: &str, dbms: Option<&str>, place: &Where) -> anyhow::Result<u8> {
    let (dir, finding) = place.find(id)?;
    let target: Target = dbms.unwrap_or(&finding.dbms).parse()?;
    let data_dir = place.common.data_dir();
    let outcome = super::runtime()?.block_on(app::finding::replay(&dir, &finding, &target, &data_dir))?;
    match (&outcome, place.json) {
        (ReplayOutcome::Ended(replayed), true) => println!("{}", serde_json::to_string(replayed)?),
        (ReplayOutcome::Broke(kind), true) => println!("{}", serde_json::json!({ "state": "shows", "kind": kind })),
        (ReplayOutcome::Broke(kind), false) => println!("{target}: {kind}: it shows"),
        (ReplayOutcome::Ended(replayed), false) => {
            for statement in &finding.statements {
                println!("{statement};");
            }
            let profile = catalogue::profile(target.dialect())?;
            for (at, query) in replayed.queries.iter().enumerate() {
                let context = query.context.as_ref().map(|context| format!("-- {context}\n")).unwrap_or_default();
                print!("\n{context}{}", script(&replayed.queries, at, &profile));
                if query.result != StepResult::None {
                    result_lines(&query.result).iter().for_each(|line| println!("--   {line}"));
                }
            }
            let meaning = match replayed.state {
                ReplayState::Shows => "it shows".to_owned(),
                ReplayState::Agrees => "it does not show: the queries agree".to_owned(),
                ReplayState::Void => {
                    format!("void, which says nothing: {}", replayed.why.as_deref().unwrap_or_default())
                }
            };
            println!("\n{target} {}: {meaning}", replayed.version);
        }
    }
    Ok(match outcome.state() {
        ReplayState::Shows => FOUND,
        ReplayState::Agrees => 0,
        ReplayState::Void => VOID,
    })
}

/// Says on standard error how far something is.
struct Said;

impl Progress for Said {
    fn update(&mut self, _: &dyn Display, _: Duration) {}
    fn note(&mut self, message: &str) {
        eprintln!("{message}");
    }
}

fn bisect_finding(id: &str, install: bool, place: &Where) -> anyhow::Result<ExitCode> {
    let (dir, finding) = place.find(id)?;
    let data_dir = place.common.data_dir();
    let found = super::runtime()?.block_on(app::finding::bisect(&dir, &finding, &data_dir, install, &mut Said))?;
    if place.json {
        println!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    let side = |good: Option<&String>, end: &str, none: &str, void: Vec<&str>| {
        let good = good.map_or_else(|| none.to_owned(), |version| format!("{end} {version}"));
        if void.is_empty() { good } else { format!("{good}; void, so neither good nor bad: {}", void.join(", ")) }
    };
    let target: Target = finding.dbms.parse()?;
    let engine = target.dialect();
    let (older, newer) = found.void();
    let before = side(found.good_before.as_ref(), "good is", "no older version is good", older);
    println!("first bad: {engine} {} ({before})", found.first_bad);
    let after = side(found.first_good.as_ref(), "first good:", "no newer version is good", newer);
    println!("last bad:  {engine} {} ({after})", found.last_bad);
    Ok(ExitCode::SUCCESS)
}

fn spans(place: &Where) -> anyhow::Result<ExitCode> {
    let all = readable(app::finding::all(&place.findings)?);
    let spans = super::runtime()?.block_on(app::finding::spans(&all, &place.common.data_dir()))?;
    for span in spans {
        if place.json {
            println!("{}", serde_json::to_string(&span)?);
        } else {
            let range = match (span.versions.first(), span.versions.last()) {
                (Some(first), Some(last)) => format!("{first} to {last} ({})", span.versions.len()),
                _ => "no installed version".to_owned(),
            };
            println!("{range}: {}", span.features.join(", "));
            println!("    {} findings: {}", span.findings.len(), span.findings.join(" "));
        }
    }
    Ok(ExitCode::SUCCESS)
}
