//! `caqtus bug`.

use super::{Common, FOUND, VOID, scripts};
use crate::catalogue;
use crate::config::{HANG_MS, STATEMENT_LIMITS};
use crate::dbms::Connection as _;
use crate::dbms::install::{EngineStore, known_versions, version_key};
use crate::dbms::sqlite::Sqlite;
use crate::dbms::target::Target;
use crate::hunt::probe::OPENING;
use crate::hunt::replay;
use crate::interpret::{StepResult, Verdict};
use crate::triage::bisect::{Seen, bisect};
use crate::triage::finding::{
    self, FLAKY, Finding, FindingKind, FindingQuery, Fingerprint, Listing, result_lines, script, shell_word,
};
use crate::triage::script::EXTENSION;
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

/// What a replay showed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Replayed {
    version: String,
    /// `shows`, `agrees` (the queries agree), or `void` (set-up or a query does not run here).
    state: String,
    /// What kind of failure shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<FindingKind>,
    /// What does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    queries: Vec<FindingQuery>,
}

impl Replayed {
    /// Describes a replay.
    pub(super) fn new(version: String, verdict: &Verdict, queries: Vec<FindingQuery>) -> Self {
        let (state, kind) = match verdict {
            Verdict::Violated { .. } => ("shows", Some(FindingKind::WrongResult)),
            Verdict::Broken { error, .. } => ("shows", Some(error.class.into())),
            Verdict::Holds => ("agrees", None),
            Verdict::Void(_) => ("void", None),
        };
        let why = match verdict {
            Verdict::Void(error) => Some(error.to_string()),
            _ => None,
        };
        Self { version, state: state.to_owned(), kind, why, queries }
    }

    /// Describes a replay on a target that cannot be opened.
    pub(super) fn unopened(error: &anyhow::Error) -> Self {
        let why = Some(format!("it cannot be opened: {error:#}"));
        Self { version: String::new(), state: "void".to_owned(), kind: None, why, queries: Vec::new() }
    }
}

impl Where {
    /// The directory, which must be there.
    fn dir(&self) -> anyhow::Result<&Path> {
        let dir = self.findings.as_path();
        if !dir.is_dir() {
            let dir = shell_word(dir);
            bail!("there is no directory {dir}; `caqtus hunt --out {dir}` makes it, and --findings names another one");
        }
        Ok(dir)
    }

    /// A finding by the start of its identifier.
    fn find(&self, id: &str) -> anyhow::Result<(PathBuf, Finding)> {
        Ok(finding::find(self.dir()?, id)?)
    }
}

/// The findings of a directory; those that cannot be read are named and left out.
fn readable(dir: &Path) -> anyhow::Result<Vec<(PathBuf, Finding)>> {
    let Listing { findings, damaged } = finding::survey(dir)?;
    for error in damaged {
        eprintln!("caqtus: left out: {:#}", anyhow::Error::from(error));
    }
    Ok(findings)
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
    let apart = place.dir()?.join(FLAKY);
    let all = readable(if flaky { &apart } else { &place.findings })?;
    if place.json {
        let found: Vec<_> = all.iter().map(|(dir, finding)| finding.found(dir)).collect();
        println!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        println!("no {}findings in {}", if flaky { "flaky " } else { "" }, place.findings.display());
    }
    let mut groups: BTreeMap<Fingerprint, Vec<&Finding>> = BTreeMap::new();
    for (_, finding) in &all {
        groups.entry(finding.fingerprint()).or_default().push(finding);
    }
    for (Fingerprint { kind, cause }, findings) in groups {
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

/// Runs the finding in a directory on a target, in a process of its own: what it did, or the way the process failed to
/// end.
async fn replay_on(dir: &Path, dbms: &str, data_dir: &Path) -> anyhow::Result<Result<Replayed, FindingKind>> {
    match replay::replay(&dir.join("case.json"), dbms, data_dir, Duration::from_millis(HANG_MS)).await? {
        Ok(said) => {
            let replayed = serde_json::from_str(said.lines().last().unwrap_or_default());
            Ok(Ok(replayed.with_context(|| format!("the process that was to replay {} said nothing", dir.display()))?))
        }
        Err(broken) => Ok(Err(broken.kind)),
    }
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
    // A target that cannot be opened is said here, with what to do, not as a failed process.
    let target: Target = dbms.unwrap_or(&finding.dbms).parse()?;
    // Unless that is the finding.
    if finding.class != OPENING {
        super::open_apart(&target, &place.common)?;
    }
    let replayed = super::runtime()?.block_on(replay_on(&dir, &target.to_string(), &place.common.data_dir()))?;
    let status = match &replayed {
        Ok(replayed) if replayed.state == "agrees" => 0,
        Ok(replayed) if replayed.state == "void" => VOID,
        _ => FOUND,
    };
    match (&replayed, place.json) {
        (Ok(replayed), true) => println!("{}", serde_json::to_string(replayed)?),
        (Err(kind), true) => println!("{}", serde_json::json!({ "state": "shows", "kind": kind })),
        (Err(kind), false) => println!("{target}: {kind}: it shows"),
        (Ok(replayed), false) => {
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
            let meaning = match replayed.state.as_str() {
                "shows" => "it shows".to_owned(),
                "agrees" => "it does not show: the queries agree".to_owned(),
                _ => format!("void, which says nothing: {}", replayed.why.as_deref().unwrap_or_default()),
            };
            println!("\n{target} {}: {meaning}", replayed.version);
        }
    }
    Ok(status)
}

/// What it takes to run findings on versions of an engine.
pub(super) struct ReplayTarget<'a> {
    /// The engine.
    pub(super) engine: &'a str,
    /// Where its versions are.
    pub(super) data_dir: &'a Path,
    /// Runs the processes.
    pub(super) runtime: &'a tokio::runtime::Runtime,
}

/// What a version does with the finding in a directory. A process that crashes or hangs shows it.
pub(super) fn look_at(look: &ReplayTarget, dir: &Path, version: &str) -> anyhow::Result<Seen> {
    let target = format!("{}@{version}", look.engine);
    Ok(match look.runtime.block_on(replay_on(dir, &target, look.data_dir))? {
        Ok(replayed) => match replayed.state.as_str() {
            "agrees" => Seen::Agrees,
            "void" => Seen::Void,
            _ => Seen::Shows,
        },
        Err(_) => Seen::Shows,
    })
}

fn bisect_finding(id: &str, install: bool, place: &Where) -> anyhow::Result<ExitCode> {
    let (dir, finding) = place.find(id)?;
    let data_dir = place.common.data_dir();
    let target: Target = finding.dbms.parse()?;
    let engine = target.dialect().to_owned();
    let mut versions = versions(&finding, &data_dir)?;
    let known = known_versions(&engine);
    if install {
        versions.extend(known.iter().cloned());
        versions.sort_by_key(|version| version_key(version));
        versions.dedup();
    }
    // As it is installed: a package's name and what the engine in it says of itself may differ.
    let own = match &target {
        Target::Version { version, .. } => version,
        _ => &finding.version,
    };
    let Some(bad) = versions.iter().position(|version| version_key(version) == version_key(own)) else {
        bail!(
            "{engine} {own}, on which it was found, is not installed; `caqtus dbms install {engine}@{own}` or --install gets it"
        );
    };
    let runtime = super::runtime()?;
    let store = EngineStore::new(&data_dir);
    let looking = ReplayTarget { engine: &engine, data_dir: &data_dir, runtime: &runtime };
    let look = |version: &str| -> anyhow::Result<Seen> {
        if install && !store.versions(&engine).iter().any(|v| v == version) && known.iter().any(|v| v == version) {
            store.install(&engine, version, |step| eprintln!("{step}"))?;
        }
        let seen = look_at(&looking, &dir, version)?;
        eprintln!("{engine}@{version}: {}", seen_words(seen));
        Ok(seen)
    };
    // What does not show where it was found has no boundary.
    if look(&versions[bad])? != Seen::Shows {
        bail!("it does not show on {engine} {own}, on which it was found");
    }
    let found = bisect(&versions, bad, look)?;
    if place.json {
        println!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    let side = |good: Option<&String>, end: &str, none: &str, void: Vec<&str>| {
        let good = good.map_or_else(|| none.to_owned(), |version| format!("{end} {version}"));
        if void.is_empty() { good } else { format!("{good}; void, so neither good nor bad: {}", void.join(", ")) }
    };
    let (older, newer) = found.void();
    let before = side(found.good_before.as_ref(), "good is", "no older version is good", older);
    println!("first bad: {engine} {} ({before})", found.first_bad);
    let after = side(found.first_good.as_ref(), "first good:", "no newer version is good", newer);
    println!("last bad:  {engine} {} ({after})", found.last_bad);
    Ok(ExitCode::SUCCESS)
}

fn seen_words(seen: Seen) -> &'static str {
    match seen {
        Seen::Shows => "it shows",
        Seen::Agrees => "the queries agree",
        Seen::Void => "void: set-up or a query does not run here",
    }
}

/// Findings with the versions that show them.
#[derive(Serialize)]
struct Span {
    versions: Vec<String>,
    features: Vec<String>,
    findings: Vec<String>,
    classes: Vec<String>,
}

/// The installed versions of a finding's engine, oldest first.
fn versions(finding: &Finding, data_dir: &Path) -> anyhow::Result<Vec<String>> {
    let target: Target = finding.dbms.parse()?;
    let engine = target.dialect();
    let mut versions = EngineStore::new(data_dir).versions(engine);
    if engine == "sqlite" {
        let linked = Sqlite::linked(STATEMENT_LIMITS)?.version();
        if !versions.contains(&linked) {
            versions.push(linked);
        }
    }
    versions.sort_by_key(|version| version_key(version));
    Ok(versions)
}

fn spans(place: &Where) -> anyhow::Result<ExitCode> {
    let all = readable(place.dir()?)?;
    let mut groups: BTreeMap<(Vec<String>, Vec<String>), Vec<&Finding>> = BTreeMap::new();
    let runtime = super::runtime()?;
    for (dir, finding) in &all {
        let mut showing = Vec::new();
        let target: Target = finding.dbms.parse()?;
        for version in versions(finding, &place.common.data_dir())? {
            let name = format!("{}@{version}", target.dialect());
            let replayed = runtime.block_on(replay_on(dir, &name, &place.common.data_dir()))?;
            if !matches!(&replayed, Ok(r) if r.state != "shows") {
                showing.push(version);
            }
        }
        groups.entry((showing, finding.features.clone())).or_default().push(finding);
    }
    let spans = groups.into_iter().map(|((versions, features), findings)| {
        let mut classes: Vec<String> = findings.iter().map(|f| f.class.clone()).collect();
        classes.dedup();
        Span { versions, features, findings: findings.iter().map(|f| f.id.clone()).collect(), classes }
    });
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
