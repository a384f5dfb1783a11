//! What breaks an engine before a hunt begins: a snippet that is validated, a statement that is tried to learn what the
//! target takes. It is left out of the hunt, and it is a bug like any other.

use super::error::HuntError;
use super::plan::HuntPlan;
use super::postmortem::{keep, replay};
use super::probe::ALIVE;
use crate::corpus::validate::{self, Parsed};
use crate::dbms::ErrorClass;
use crate::program::Step;
use crate::sql::profile::{Profile, Switch};
use crate::triage::cause::Cause;
use crate::triage::features::features;
use crate::triage::finding::{Finding, FindingKind, FindingQuery, FoundReport};
use crate::triage::limits::Limits;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Something that broke the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Breakage {
    /// What was tried, in a word: the class of its finding.
    pub class: &'static str,
    /// The snippet, or the statement.
    pub text: String,
    /// Where the snippet is from.
    pub origin: Option<String>,
    /// How the engine broke.
    pub kind: FindingKind,
    /// What it said; nothing if it ended the process that it was in.
    pub message: String,
    /// Statements that make the database.
    pub statements: Vec<String>,
    /// What was run on it, in order, up to where it broke at the most.
    pub queries: Vec<(String, Option<Switch>)>,
}

impl Breakage {
    /// A snippet whose validation did not end, or ended with such an error.
    pub fn of_snippet(profile: &Profile, snippet: &Parsed, kind: FindingKind, message: String) -> Self {
        let queries = snippet.queries(profile).into_iter().map(|(sql, switch)| (sql, switch.cloned())).collect();
        Self {
            class: "snippet",
            text: snippet.sql().to_owned(),
            origin: Some(snippet.origin().to_owned()),
            kind,
            message,
            statements: validate::setup(profile),
            queries,
        }
    }

    /// A statement that was tried.
    pub fn of_statement(sql: &str, statements: &[String], kind: FindingKind, message: String) -> Self {
        Self {
            class: "probe",
            text: sql.to_owned(),
            origin: None,
            kind,
            message,
            statements: statements.to_vec(),
            queries: vec![(sql.to_owned(), None)],
        }
    }

    /// It as a finding that was not repeated yet.
    pub fn finding(&self, dbms: &str, version: &str, build_id: &str, seed: u64) -> Finding {
        let query = |(at, (sql, switch)): (usize, &(String, Option<Switch>))| {
            let switch = switch.clone().map(Arc::new);
            // Which of them breaks the engine is not known yet, and the others may be refused.
            FindingQuery::from(Step { member: at + 1, switch, optional: true, ..Step::query(sql.as_str()) })
        };
        let what = if self.class == "snippet" { "a snippet was validated" } else { "the target was probed" };
        let message = if self.message.is_empty() { String::new() } else { format!(": {}", self.message) };
        let mut finding = Finding {
            id: String::new(),
            kind: self.kind,
            oracle: ALIVE.to_owned(),
            class: self.class.to_owned(),
            dbms: dbms.to_owned(),
            version: version.to_owned(),
            build_id: build_id.to_owned(),
            seed,
            block: 0,
            case: 0,
            statements: self.statements.clone(),
            queries: self.queries.iter().enumerate().map(query).collect(),
            checks: Some(Vec::new()),
            fillings: vec![self.text.clone()],
            origins: self.origin.iter().filter(|origin| !origin.is_empty()).cloned().collect(),
            features: features(self.queries.iter().map(|(sql, _)| sql.as_str())),
            reduced: false,
            cured_by: Vec::new(),
            cause: Cause::default(),
            refused: None,
            runs: Vec::new(),
            note: Some(format!("Met when {what}, before the hunt{message}")),
            limits: Limits::default(),
            self_check: None,
        };
        finding.seal();
        finding
    }
}

/// What kind of finding the reason of a refusal speaks of, with what the engine said.
pub fn broken_kind(why: &str) -> Option<(FindingKind, &str)> {
    let broken = [ErrorClass::Internal, ErrorClass::Crash, ErrorClass::Hang];
    broken.into_iter().find_map(|class| {
        let said = why.strip_prefix(&class.to_string())?.strip_prefix(": ")?;
        Some((class.into(), said))
    })
}

/// What became of what broke the engine before the hunt.
#[derive(Debug, Default)]
pub struct Confirmed {
    /// What came again, and was written.
    pub written: Vec<FoundReport>,
    /// For each that was not run again, because there are many like it, in words what it is.
    pub not_tried: Vec<String>,
}

/// Runs what broke the engine again, each in a process of its own, and writes what shows, smaller where that is easy.
pub async fn confirm(
    plan: HuntPlan,
    mut known: Vec<FoundReport>,
    broken: Vec<Finding>,
    scratch: &Path,
) -> Result<Confirmed, HuntError> {
    let mut confirmed = Confirmed::default();
    let mut tried: BTreeMap<(String, FindingKind), usize> = BTreeMap::new();
    for mut finding in broken {
        // Each takes a few processes.
        let tries = tried.entry((finding.class.clone(), finding.kind)).or_default();
        *tries += 1;
        if *tries > plan.spec.limits.findings_per_class_max {
            confirmed.not_tried.push(format!("{} of class {}", finding.kind, finding.class));
            continue;
        }
        let Some(kind) = replay(&finding, &plan, scratch).await? else { continue };
        if kind == FindingKind::WrongResult {
            // They are not said to be equal.
            continue;
        }
        finding.kind = kind;
        for smaller in smaller(&finding) {
            if replay(&smaller, &plan, scratch).await? == Some(kind) {
                finding = smaller;
                break;
            }
        }
        finding.seal();
        if let (_, Some(found)) = keep(&plan, &known, &finding)? {
            known.push(found.clone());
            confirmed.written.push(found);
        }
    }
    Ok(confirmed)
}

/// The finding with one of its queries, on the tables that it reads or on all, the smallest first.
fn smaller(finding: &Finding) -> Vec<Finding> {
    let mut all = Vec::new();
    for query in &finding.queries {
        let mut one = finding.clone();
        let mut alone = query.clone();
        alone.step.optional = false;
        one.queries = vec![alone];
        let mut fewer = one.clone();
        let reads = |statement: &String| match validate::table_of(statement) {
            Some(table) => query.step.sql.sql().contains(&format!("{table} ")),
            None => true,
        };
        fewer.statements.retain(reads);
        if fewer.statements.len() < one.statements.len() {
            all.push(fewer);
        }
        if finding.queries.len() > 1 {
            all.push(one);
        }
    }
    all
}
