//! Campaigns: run, judged by what was tested, summed up and recorded.

use super::class::{self, ClassUseError};
use super::live::{self, Known};
use crate::caq::proof::Stale;
use crate::catalogue::{self, CatalogueError, print_snippets};
use crate::clock;
use crate::config::{CampaignSpec, CatalogueSource, ClassChoice, TESTED_CASES_MIN, VOID_PERCENT_MAX};
use crate::dbms::target::{Target, TargetError};
use crate::hunt;
use crate::hunt::error::HuntError;
use crate::hunt::gone::{Evidence, Gone, Watched};
use crate::hunt::plan::{HuntEnvironment, HuntPlan, Progress, Summary};
use crate::hunt::stats::{GENERATOR, Messages, OracleStats, Outcomes, Stats};
use crate::hunt::supervisor;
use crate::hunt::uses::Cases;
use crate::hunt::{learned, uses};
use crate::store::{ClassState, Store, StoreError};
use crate::triage::finding::{self, Finding, FindingError, FoundReport};
use crate::triage::group::{self, Bug, Decisions};
use crate::triage::known::{self, KNOWN_FILE, KnownBug, KnownError};
use crate::triage::script::{Script, Versions};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::mpsc;

/// Why a campaign cannot use the store.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its classes cannot be written down for executors.
    #[error(transparent)]
    Class(#[from] ClassUseError),
    /// It has nothing that can be used.
    #[error("the store has no released class; `caqtus discover` finds some, `caqtus oracle import` brings others")]
    NoClass,
    /// A file or directory cannot be written.
    #[error("cannot {what} {path}")]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A finding cannot be read back.
    #[error(transparent)]
    Finding(#[from] FindingError),
    /// The summary cannot be written as JSON.
    #[error("the summary cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

/// How much must be tested for a campaign that finds nothing to be clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demands {
    /// Cases that must pass or fail.
    pub cases_min: u64,
    /// The share of void cases (skipped, warning), in percent, above which it is not clean.
    pub void_percent_max: u8,
}

impl Default for Demands {
    fn default() -> Self {
        Self { cases_min: TESTED_CASES_MIN, void_percent_max: VOID_PERCENT_MAX }
    }
}

impl Demands {
    /// Why nothing can be concluded from a campaign that found nothing, if so.
    fn unmet(self, outcomes: &Outcomes) -> Option<String> {
        let (tested, void) = (outcomes.pass + outcomes.fail, outcomes.skipped + outcomes.warning);
        let Self { cases_min, void_percent_max } = self;
        if tested < cases_min {
            return Some(format!("{tested} cases passed or failed, and --min-cases asks for {cases_min}"));
        }
        let all = outcomes.cases();
        let too_many = u128::from(void) * 100 > u128::from(all) * u128::from(void_percent_max);
        too_many.then(|| format!("{void} of {all} cases are void, more than the {void_percent_max} % of --max-void"))
    }
}

/// What a campaign comes to, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CampaignVerdict {
    /// Enough was tested, and nothing was found.
    Clean,
    /// Bugs were found.
    Bugs,
    /// It could not run, or not go on.
    Broken,
    /// Bugs were found, and then it could not go on.
    BugsThenBroken,
    /// Nothing was found, and too little was tested for that to mean anything.
    TooLittleTested,
}

/// A campaign that came to its end, or broke.
#[derive(Debug)]
pub struct Ended {
    /// What it did. Its error is in `error`.
    pub summary: Summary,
    /// What it found, by bugs.
    pub bugs: Vec<Bug>,
    /// Why too little was tested, if so.
    pub too_little: Option<String>,
    /// Why it could not go on, or not be recorded, if so.
    pub error: Option<anyhow::Error>,
}

impl Ended {
    fn new(mut summary: Summary, demands: Demands, environment: &HuntEnvironment) -> Self {
        let error = summary.error.take().map(anyhow::Error::from);
        let HuntEnvironment { out_dir, known, .. } = environment;
        let engine = engine(&summary.dbms);
        let (bugs, undecided) = match bugs(&group::of_reports(&summary.findings), out_dir, known, &engine) {
            Ok(bugs) => (bugs, None),
            Err(error) => (Vec::new(), Some(anyhow::Error::from(error))),
        };
        let too_little = demands.unmet(&summary.stats.outcomes);
        Self { too_little, bugs, summary, error: error.or(undecided) }
    }

    /// Whether bugs were found that are not known.
    pub fn found(&self) -> bool {
        let Summary { findings, stats, .. } = &self.summary;
        let something = !findings.is_empty() || stats.outcomes.fail > 0;
        if self.bugs.is_empty() { something } else { self.bugs.iter().any(|bug| bug.suppressed.is_none()) }
    }

    /// What it comes to.
    pub fn verdict(&self) -> CampaignVerdict {
        match (self.error.is_some(), self.found()) {
            (true, true) => CampaignVerdict::BugsThenBroken,
            (true, false) => CampaignVerdict::Broken,
            (false, true) => CampaignVerdict::Bugs,
            (false, false) if self.too_little.is_some() => CampaignVerdict::TooLittleTested,
            (false, false) => CampaignVerdict::Clean,
        }
    }

    /// The summary for machines.
    pub fn json(&self) -> CampaignJson<'_> {
        CampaignJson::new(&self.summary, &self.bugs, self.verdict(), self.error.as_ref())
    }
}

/// The engine of a target, as in entries of lists; none for a name that is no target's.
fn engine(dbms: &str) -> String {
    dbms.parse().map_or_else(|_: TargetError| String::new(), |target: Target| target.dialect().to_owned())
}

/// Runs a campaign to its end and, where there is a store, records it there while it runs; who asks there for its end is heard. `stop` resolves when somebody wants it to end.
/// An error is that it did not begin.
pub async fn run(
    mut plan: HuntPlan,
    demands: Demands,
    store: Option<&Store>,
    progress: &mut (dyn Progress + Send),
    stop: mpsc::Receiver<()>,
) -> Result<Ended, HuntError> {
    if !plan.resume && plan.spec.learned.is_none() {
        let (data_dir, dbms) = (&plan.environment.data_dir, &plan.spec.dbms);
        plan.spec.learned = Some(learned::read(data_dir, dbms));
        plan.spec.standing.get_or_insert_with(|| uses::standing(&uses::read(data_dir, dbms)));
    }
    match store {
        None => {
            let environment = plan.environment.clone();
            Ok(Ended::new(supervisor::hunt(plan, progress, stop).await?, demands, &environment))
        }
        Some(store) => recorded(plan, demands, store, progress, stop).await,
    }
}

/// The same, recorded in the store while it runs.
async fn recorded(
    plan: HuntPlan,
    demands: Demands,
    store: &Store,
    progress: &mut (dyn Progress + Send),
    mut stop: mpsc::Receiver<()>,
) -> Result<Ended, HuntError> {
    let (campaign, place, known) = {
        // One that is gone on with is what it was.
        let before = plan.resume.then(|| hunt::campaign::spec(&plan.environment.out_dir).ok()).flatten();
        let CampaignSpec { dbms, seed, choice: ClassChoice { classes, assumed, .. }, .. } =
            before.as_ref().unwrap_or(&plan.spec);
        let known = Known { engine: engine(dbms), bugs: plan.environment.known.clone() };
        let choice = format!("{classes:?} {assumed}");
        let place = live::Place { dbms: dbms.clone(), data_dir: plan.environment.data_dir.clone() };
        (live::Campaign::Of { dbms: dbms.clone(), seed: *seed, choice }, place, known)
    };
    let (mut reporter, heard) = live::hear(progress);
    let (tell, stopped) = mpsc::channel(2);
    let recorded = live::record(store.clone(), campaign.clone(), place, heard, tell.clone(), known.clone(), |_, _| ());
    let recorder = tokio::spawn(recorded);
    let interrupted = tokio::spawn(async move {
        let _ = stop.recv().await;
        // It may have ended.
        let _ = tell.send(()).await;
    });
    let environment = plan.environment.clone();
    let hunted = supervisor::hunt(plan, &mut reporter, stopped).await;
    drop(reporter);
    interrupted.abort();
    let recorded = recorder.await.unwrap_or_default();
    let mut ended = match hunted {
        Ok(summary) => Ended::new(summary, demands, &environment),
        Err(error) => {
            if let Some((id, _)) = recorded.campaign {
                // The error is what there is to say, also where the store is away.
                let _ = store.campaign_end(id, "failed", Some(&error.to_string()), None, None).await;
            }
            return Err(error);
        }
    };
    let stored = record(store, &campaign, recorded, &ended, &known).await;
    ended.error = ended.error.or(stored.err().map(anyhow::Error::from));
    Ok(ended)
}

/// Where known bugs are listed, beside the directory of the findings.
#[derive(Debug, Clone, Default)]
pub struct KnownSources {
    /// Lists of the user's.
    pub files: Vec<PathBuf>,
    /// Whether the list that ships is left out.
    pub without_shipped: bool,
    /// What an earlier hunt wrote with `--json`: its bugs are known.
    pub baseline: Option<PathBuf>,
}

/// The bugs that are known to a hunt on an engine.
pub fn known_bugs(engine: &str, sources: &KnownSources, findings: &Path) -> Result<Vec<KnownBug>, KnownBugsError> {
    let mut all = known::of_directory(findings)?;
    for path in &sources.files {
        all.extend(known::read(path)?);
    }
    if let Some(path) = &sources.baseline {
        all.extend(baseline(path)?);
    }
    if !sources.without_shipped {
        let shipped = known::parse(&format!("the shipped list for {engine}"), catalogue::known_bugs(engine))?;
        all.extend(shipped);
    }
    Ok(all)
}

/// The known bugs with evidence, a script or a finding, and a newest version that has them: on newer ones a hunt looks whether
/// they are still there. An entry names its script as a path from its list, and its finding by the directory beside its list.
pub fn watched_bugs(engine: &str, sources: &KnownSources, findings: &Path) -> Result<Vec<Watched>, KnownBugsError> {
    let own = findings.join(KNOWN_FILE);
    let lists = sources.files.iter().chain(Some(&own).filter(|path| path.exists()));
    let mut all = Vec::new();
    for path in lists {
        let place = path.parent().unwrap_or(Path::new(""));
        for bug in known::read(path)? {
            let script = |name: &String| Some((name.clone(), std::fs::read_to_string(place.join(name)).ok()?));
            all.extend(watched(&bug, engine, Some(path), &script, place));
        }
    }
    if !sources.without_shipped {
        let script = |name: &String| Some((name.clone(), catalogue::known_script(name)?.to_owned()));
        for bug in known::parse(&format!("the shipped list for {engine}"), catalogue::known_bugs(engine))? {
            all.extend(watched(&bug, engine, None, &script, Path::new("")));
        }
    }
    Ok(all)
}

/// An entry with its evidence, if it has some and is of this engine.
fn watched(
    bug: &KnownBug,
    engine: &str,
    list: Option<&PathBuf>,
    script: &dyn Fn(&String) -> Option<(String, String)>,
    place: &Path,
) -> Option<Watched> {
    if bug.engine.as_ref().is_some_and(|own| own != engine) {
        return None;
    }
    let named = bug.versions.as_ref().and_then(|versions| Versions::parse(versions).ok());
    let named = named.as_ref().and_then(|versions| versions.newest().map(str::to_owned));
    let (evidence, seen) = match (&bug.script, &bug.finding) {
        (Some(name), _) => {
            let (name, text) = script(name)?;
            let read = Script::parse(&text).ok().filter(|script| script.engine() == engine)?;
            let seen = read.versions("wrong").ok()?.newest().map(str::to_owned);
            (Evidence::Script(name, text), seen)
        }
        (None, Some(id)) => {
            let dir = place.join(id);
            let finding = finding::read(&dir).ok()?;
            (Evidence::Directory(dir), Some(finding.version))
        }
        (None, None) => return None,
    };
    Some(Watched { reason: bug.why(), list: list.cloned(), last_seen: named.or(seen)?, evidence })
}

/// The bugs of an earlier hunt, as its `--json` has them.
fn baseline(path: &Path) -> Result<Vec<KnownBug>, KnownBugsError> {
    #[derive(Deserialize)]
    struct Before {
        bugs: Vec<BugBefore>,
    }
    #[derive(Deserialize)]
    struct BugBefore {
        fingerprint: String,
        #[serde(default)]
        fingerprints: Vec<String>,
    }
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|source| KnownBugsError::Baseline { path: name.clone(), source })?;
    let last = text.trim().lines().last().unwrap_or_default();
    let before = serde_json::from_str::<Before>(&text).or_else(|_| serde_json::from_str(last));
    let before = before.map_err(|source| KnownBugsError::Form { path: name.clone(), source })?;
    let entry = |fingerprint: String| KnownBug {
        reason: format!("in the baseline {name}"),
        fingerprint: Some(fingerprint),
        ..KnownBug::default()
    };
    let mut all = BTreeSet::new();
    for bug in before.bugs {
        all.insert(bug.fingerprint);
        all.extend(bug.fingerprints);
    }
    Ok(all.into_iter().map(entry).collect())
}

/// Why it cannot be said what is known.
#[derive(Debug, Error)]
pub enum KnownBugsError {
    /// A list cannot be used.
    #[error(transparent)]
    Known(#[from] KnownError),
    /// The baseline cannot be read.
    #[error("cannot read the baseline {path}; a hunt with --json writes one to its standard output")]
    Baseline {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The baseline has not the form.
    #[error("{path} is no baseline: what `caqtus hunt --json` prints, with `bugs` that have a `fingerprint`")]
    Form {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// Findings by bugs, as people decided in their directory.
pub fn bugs(
    findings: &[(PathBuf, Finding)],
    dir: &Path,
    known: &[KnownBug],
    engine: &str,
) -> Result<Vec<Bug>, std::io::Error> {
    let dated = |dir: &Path| {
        let written = std::fs::metadata(dir.join("case.json")).and_then(|file| file.modified());
        written.ok().map(clock::date)
    };
    Ok(group::group(findings, &Decisions::read(dir)?, (known, engine, &clock::today()), &dated))
}

/// Recorded proofs of the chosen classes that are not about the present text of two members.
pub fn stale_proofs(choice: &ClassChoice) -> Result<Vec<Stale>, CatalogueError> {
    if choice.source.proofs.is_none() {
        return Ok(Vec::new());
    }
    Ok(catalogue::load_matching(&choice.source, &choice.classes)?.stale)
}

/// Writes the released classes of the store to files in the campaign's directory: executors need no store, and a campaign
/// that goes on keeps its classes.
pub async fn released(store: &Store, dialect: &str, out_dir: &Path) -> Result<CatalogueSource, RecordError> {
    let released = class::stored(store, Some(ClassState::Released), &[]).await?;
    if released.is_empty() {
        return Err(RecordError::NoClass);
    }
    let cannot = |what, path: &Path| {
        let path = path.display().to_string();
        move |source| RecordError::File { what, path, source }
    };
    std::fs::create_dir_all(out_dir).map_err(cannot("make", out_dir))?;
    let (classes, proofs) = (out_dir.join("store-classes.toml"), out_dir.join("store-proofs.jsonl"));
    let written = {
        let (classes, proofs) = (classes.clone(), proofs.clone());
        // Thousands of classes take a while, during which other tasks go on.
        tokio::task::spawn_blocking(move || class::write(&released, &classes, &proofs)).await
    };
    written.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))?;
    let snippets = match store.snippet_list(dialect).await?.as_slice() {
        [] => None,
        some => {
            let path = out_dir.join("store-snippets.jsonl");
            std::fs::write(&path, print_snippets(some)).map_err(cannot("write", &path))?;
            Some(path)
        }
    };
    Ok(CatalogueSource { catalogue: vec![classes], proofs: Some(proofs), snippets })
}

/// Stores what a campaign came to, and what was not stored while it ran.
async fn record(
    store: &Store,
    campaign: &live::Campaign,
    recorded: live::Recorded,
    ended: &Ended,
    known: &Known,
) -> Result<(), RecordError> {
    let summary = ended.json();
    let findings = summary.findings.iter().map(|found| finding::read(Path::new(&found.dir)));
    let findings: Vec<Finding> = findings.collect::<Result<_, _>>()?;
    let (id, before) = match recorded.campaign {
        Some(open) => open,
        None => campaign.open(store, summary.version).await?,
    };
    for finding in &findings {
        store.finding_put(id, finding, known.reason(finding).as_deref()).await?;
    }
    let state = match (&summary.error, recorded.asked) {
        (Some(_), _) => "failed",
        (None, true) => "stopped",
        (None, false) => "finished",
    };
    let (error, value) = (summary.error.as_deref(), serde_json::to_value(&summary)?);
    Ok(store.campaign_end(id, state, error, Some(&value), Some(before + summary.seconds)).await?)
}

/// What a campaign did: the output contract of `caqtus hunt --json`, and what the store keeps of it.
#[derive(Serialize)]
pub struct CampaignJson<'a> {
    /// The exit status in a word.
    verdict: CampaignVerdict,
    /// Why it could not run, or not go on.
    error: Option<String>,
    dbms: &'a str,
    version: &'a str,
    seed: u64,
    seconds: f64,
    cpu_seconds: f64,
    server_cpu_seconds: f64,
    cases: u64,
    /// Cases that are not void.
    tested: u64,
    statements: u64,
    setup_errors: u64,
    outcomes: Counts,
    reasons: &'a BTreeMap<String, u64>,
    messages: &'a Messages,
    replaced_databases: u64,
    /// Queries whose plan was asked for, and how many of their plans differ.
    plans_read: u64,
    plans_different: usize,
    oracles: &'a BTreeMap<String, OracleStats>,
    /// What became of cases, and how many findings and bugs there are, by where their snippets are from.
    origins: BTreeMap<&'a str, OfOrigin>,
    cases_per_cpu_second: f64,
    engine_share: f64,
    failures_share: f64,
    classes: usize,
    assumed_members: usize,
    snippets: usize,
    restarts: u64,
    /// How often --restart-cmd started the server again.
    server_starts: u32,
    /// Known bugs that do not show any more on this version, which is newer than those that have them.
    gone: &'a [Gone],
    /// Known bugs of older versions of which it could not be found out.
    not_looked_at: usize,
    case_digest: String,
    findings: &'a [FoundReport],
    bugs: &'a [Bug],
}

/// What came of the cases with snippets of one origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OfOrigin {
    /// The cases.
    #[serde(flatten)]
    pub cases: Cases,
    /// Findings with such a snippet left in them.
    pub findings: usize,
    /// Bugs whose smallest finding is one of these.
    pub bugs: usize,
}

/// Where snippets are from; what has none is the generator's.
fn or_generator<'a>(origins: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let some: Vec<&str> = origins.map(String::as_str).collect();
    if some.is_empty() { vec![GENERATOR] } else { some }
}

/// What came of the cases by where their snippets are from; those without any count for the generator.
pub fn of_origins<'a>(summary: &'a Summary, bugs: &'a [Bug]) -> BTreeMap<&'a str, OfOrigin> {
    let mut all: BTreeMap<&str, OfOrigin> = BTreeMap::new();
    for (origin, cases) in &summary.stats.origins {
        all.entry(origin).or_default().cases = *cases;
    }
    for found in &summary.findings {
        or_generator(found.origins.iter()).into_iter().for_each(|origin| all.entry(origin).or_default().findings += 1);
    }
    for bug in bugs {
        or_generator(bug.origins.iter()).into_iter().for_each(|origin| all.entry(origin).or_default().bugs += 1);
    }
    all
}

#[derive(Serialize)]
struct Counts {
    pass: u64,
    skipped: u64,
    warning: u64,
    fail: u64,
}

impl<'a> CampaignJson<'a> {
    fn new(summary: &'a Summary, bugs: &'a [Bug], verdict: CampaignVerdict, error: Option<&anyhow::Error>) -> Self {
        let stats = &summary.stats;
        let Stats {
            outcomes,
            messages,
            replaced,
            statements,
            setup_errors,
            cpu_ns,
            server_ns,
            digest,
            oracles,
            plans,
            ..
        } = stats;
        Self {
            verdict,
            error: error.map(|error| format!("{error:#}")),
            dbms: &summary.dbms,
            version: &summary.ready.version,
            seed: summary.seed,
            seconds: summary.elapsed.as_secs_f64(),
            cpu_seconds: Duration::from_nanos(*cpu_ns).as_secs_f64(),
            server_cpu_seconds: Duration::from_nanos(*server_ns).as_secs_f64(),
            cases: outcomes.cases(),
            tested: outcomes.pass + outcomes.fail,
            statements: *statements,
            setup_errors: *setup_errors,
            outcomes: Counts {
                pass: outcomes.pass,
                skipped: outcomes.skipped,
                warning: outcomes.warning,
                fail: outcomes.fail,
            },
            reasons: &outcomes.reasons,
            messages,
            replaced_databases: *replaced,
            plans_read: plans.read,
            plans_different: plans.different.len(),
            oracles,
            origins: of_origins(summary, bugs),
            cases_per_cpu_second: stats.cases_per_cpu_second(),
            engine_share: stats.engine_share(),
            failures_share: stats.failures_share(),
            classes: summary.ready.classes,
            assumed_members: summary.ready.assumed,
            snippets: summary.ready.snippets,
            restarts: summary.restarts,
            server_starts: summary.server_starts,
            gone: &summary.gone,
            not_looked_at: summary.not_looked_at,
            case_digest: format!("{digest:016x}"),
            findings: &summary.findings,
            bugs,
        }
    }

    /// The summary of a campaign that did not begin.
    pub fn not_begun(nothing: &'a Summary, error: &anyhow::Error) -> Self {
        Self::new(nothing, &[], CampaignVerdict::Broken, Some(error))
    }
}
