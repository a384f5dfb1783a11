//! `caqtus bug replay`, `bug bisect` and `bug spans`: findings again, and on other versions.

use super::bug::{Where, readable};
use super::{FOUND, VOID, scripts};
use crate::app::bisection::{self, Among};
use crate::app::finding::{ReplayOutcome, ReplayState};
use crate::app::{self, Progress};
use crate::catalogue;
use crate::dbms::target::Target;
use crate::interpret::StepResult;
use crate::triage::report::{result_lines, script};
use crate::triage::script::EXTENSION;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Runs findings and scripts again; the exit status.
pub(super) fn all(what: &[String], dbms: Option<&str>, place: &Where) -> anyhow::Result<u8> {
    let is_script = |what: &&String| Path::new(what).extension().is_some_and(|end| end == EXTENSION);
    let (scripts, ids): (Vec<&String>, Vec<&String>) = what.iter().partition(is_script);
    let mut statuses = scripts::replay(&scripts, dbms, place.json, &place.common)?;
    for id in ids {
        statuses.push(one(id, dbms, place)?);
    }
    let found = [FOUND, VOID].into_iter().find(|status| statuses.contains(status));
    Ok(found.unwrap_or_default())
}

/// What is looked for between commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum GitBisect {
    /// The commit that brought the bug.
    Cause,
    /// The commit that fixed it.
    Fix,
}

/// `git bisect run`: this commit says nothing.
const SKIP: u8 = 125;

/// `git bisect run`: end the search.
pub const ABORT: u8 = 128;

/// The same as [`all`], with the exit status that `git bisect run` wants.
pub(super) fn for_git(what: &[String], dbms: Option<&str>, wanted: GitBisect, place: &Where) -> ExitCode {
    // What a commit made may not even open, which says nothing about the finding.
    if let Some(target) = dbms
        && let Err(error) = target
            .parse()
            .map_err(anyhow::Error::from)
            .and_then(|target: Target| super::open_apart(&target, &place.common))
    {
        super::say(&error);
        return ExitCode::from(SKIP);
    }
    ExitCode::from(match (all(what, dbms, place), wanted) {
        (Err(error), _) => {
            super::say(&error);
            ABORT
        }
        (Ok(VOID), _) => SKIP,
        (Ok(FOUND), GitBisect::Cause) | (Ok(0), GitBisect::Fix) => 1,
        (Ok(_), _) => 0,
    })
}

/// Runs a finding again; the exit status.
fn one(id: &str, dbms: Option<&str>, place: &Where) -> anyhow::Result<u8> {
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

/// Finds the versions or builds between which a finding came and went.
pub(super) fn bisect(id: &str, among: Among<'_>, place: &Where) -> anyhow::Result<ExitCode> {
    let (dir, finding) = place.find(id)?;
    let data_dir = place.common.data_dir();
    let found = super::runtime()?.block_on(bisection::bisect(&dir, &finding, &data_dir, among, &mut Said))?;
    if place.json {
        println!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    let side = |good: Option<&String>, end: &str, none: &str, void: Vec<&str>| {
        let good = good.map_or_else(|| none.to_owned(), |version| format!("{end} {version}"));
        if void.is_empty() { good } else { format!("{good}; void, so neither good nor bad: {}", void.join(", ")) }
    };
    let target: Target = finding.dbms.parse()?;
    // A build's name says it all.
    let engine = if matches!(among, Among::Builds(_)) { String::new() } else { format!("{} ", target.dialect()) };
    let (older, newer) = found.void();
    let before = side(found.good_before.as_ref(), "good is", "no older version is good", older);
    println!("first bad: {engine}{} ({before})", found.first_bad);
    let after = side(found.first_good.as_ref(), "first good:", "no newer version is good", newer);
    println!("last bad:  {engine}{} ({after})", found.last_bad);
    Ok(ExitCode::SUCCESS)
}

/// Says which versions show each finding.
pub(super) fn spans(place: &Where) -> anyhow::Result<ExitCode> {
    let all = readable(app::finding::all(&place.findings)?);
    let spans = super::runtime()?.block_on(bisection::spans(&all, &place.common.data_dir()))?;
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
