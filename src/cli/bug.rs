//! `caqtus bug`.

use super::{Common, FOUND, VOID, scripts};
use crate::app::campaign::{self, KnownSources};
use crate::app::finding::{ReplayOutcome, ReplayState};
use crate::app::{self, Progress};
use crate::catalogue;
use crate::dbms::target::Target;
use crate::interpret::StepResult;
use crate::triage::export::Format;
use crate::triage::finding::{self, FLAKY, Finding, Listing, shell_word};
use crate::triage::group::{Bug, Decisions};
use crate::triage::known::{self, KNOWN_FILE, KnownBug};
use crate::triage::report::{result_lines, script};
use crate::triage::script::EXTENSION;
use crate::triage::sqllogictest::Style;
use anyhow::{Context as _, bail};
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
    /// A further list of known bugs; may be given several times
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// What an earlier hunt printed with --json, whose bugs are known
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
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
    /// Say that bugs are one
    ///
    /// It is remembered in the directory of the findings, and holds for what is found later too.
    Merge {
        /// Identifiers of bugs or findings, or starts of them; the first names the whole
        #[arg(required = true, num_args = 2.., value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        place: Where,
    },
    /// Say that a finding is a bug of its own
    Split {
        /// The finding's identifier, or the start of it
        id: String,
        #[command(flatten)]
        place: Where,
    },
    /// Report a bug no more
    ///
    /// Adds an entry to known.toml in the directory of the findings. What it covers is counted and listed as known.
    Ignore {
        /// The identifier of a bug or of one of its findings, or the start of it
        id: String,
        /// Why
        #[arg(long)]
        reason: String,
        /// The engine's own issue
        #[arg(long, value_name = "URL")]
        upstream: Option<String>,
        /// The versions that have it, as in `3.39.0 to 3.54.1`; on others it is reported [default: all]
        #[arg(long)]
        versions: Option<String>,
        /// The day, as in 2027-01-31, from which it is reported again
        #[arg(long, value_name = "DAY")]
        expires: Option<String>,
        #[command(flatten)]
        place: Where,
    },
    /// Write bugs for those who read something else
    ///
    /// markdown: an issue for each, ID.md; json: bugs.json, as docs/bugs.schema.json describes it; junit: junit.xml; sarif:
    /// caqtus.sarif. Known bugs are marked, and left out of markdown.
    Export {
        /// The form
        #[arg(long, value_enum)]
        format: Format,
        /// Where to write
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        #[command(flatten)]
        place: Where,
    },
    /// Print a regression test of a bug, for a runner of sqllogictest files
    ///
    /// Queries that must return the same rows have one label, so the test holds on an engine that is right.
    AsTest {
        /// The identifier of a bug or finding, or the start of it
        id: String,
        /// Whose form [default: that of the finding's engine]
        #[arg(long, value_enum)]
        style: Option<Style>,
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
        let dir = app::finding::existing(&self.findings)?;
        let bug = self.bugs(&finding::survey(dir)?.findings)?.into_iter().find(|bug| bug.id == id);
        Ok(finding::find(dir, bug.as_ref().map_or(id, |bug| &bug.smallest))?)
    }

    /// Findings by bugs.
    fn bugs(&self, findings: &[(PathBuf, Finding)]) -> anyhow::Result<Vec<Bug>> {
        let engine = engine_of(findings);
        let (files, baseline) = (self.known.clone(), self.baseline.clone());
        let sources = KnownSources { files, without_shipped: false, baseline };
        let known = campaign::known_bugs(&engine, &sources, &self.findings)?;
        Ok(campaign::bugs(findings, &self.findings, &known, &engine)?)
    }

    /// The bug that an identifier names, of it or of one of its findings.
    fn find_bug(&self, id: &str) -> anyhow::Result<Bug> {
        let dir = app::finding::existing(&self.findings)?;
        let bugs = self.bugs(&finding::survey(dir)?.findings)?;
        let named = |bug: &&Bug| bug.id.starts_with(id) || bug.members.iter().any(|member| member.starts_with(id));
        let found: Vec<&Bug> = bugs.iter().filter(named).collect();
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => bail!("there is no bug or finding {id} in {}; `caqtus bug list` shows them", shell_word(dir)),
            some => {
                let ids: Vec<&str> = some.iter().map(|bug| bug.id.as_str()).collect();
                bail!("{id} is the start of several: {}", ids.join(" "))
            }
        }
    }
}

/// The engine that findings are of; of several the first.
fn engine_of(findings: &[(PathBuf, Finding)]) -> String {
    let target = findings.iter().find_map(|(_, finding)| finding.dbms.parse::<Target>().ok());
    target.map(|target| target.dialect().to_owned()).unwrap_or_default()
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
        BugCommand::Export { format, out, place } => export_bugs(format, &out, &place),
        BugCommand::AsTest { id, style, place } => {
            let (_, finding) = place.find(&place.find_bug(&id).map_or(id, |bug| bug.smallest))?;
            let target: Target = finding.dbms.parse()?;
            let profile = catalogue::profile(target.dialect())?;
            print!("{}", finding.regression_test(&profile, style.unwrap_or_else(|| Style::of(profile.wire))));
            Ok(ExitCode::SUCCESS)
        }
        BugCommand::Merge { ids, place } => {
            let bugs: Vec<Bug> = ids.iter().map(|id| place.find_bug(id)).collect::<Result<_, _>>()?;
            let mut decisions = Decisions::read(&place.findings)?;
            decisions.merge(&bugs.iter().flat_map(|bug| bug.members.clone()).collect::<Vec<_>>());
            decisions.write(&place.findings)?;
            println!("{} findings are bug {} now", bugs.iter().map(|bug| bug.findings).sum::<usize>(), bugs[0].id);
            Ok(ExitCode::SUCCESS)
        }
        BugCommand::Split { id, place } => {
            let (_, finding) = place.find(&id)?;
            let mut decisions = Decisions::read(&place.findings)?;
            decisions.split(&finding.id);
            decisions.write(&place.findings)?;
            println!("{} is bug {} now", finding.id, place.find_bug(&finding.id)?.id);
            Ok(ExitCode::SUCCESS)
        }
        BugCommand::Ignore { id, reason, upstream, versions, expires, place } => {
            let bug = place.find_bug(&id)?;
            let (_, finding) = place.find(&bug.smallest)?;
            let entry = KnownBug {
                engine: Some(engine_of(&[(PathBuf::new(), finding)])),
                fingerprint: Some(bug.fingerprint),
                finding: Some(bug.smallest),
                reason,
                upstream,
                versions,
                expires,
                ..KnownBug::default()
            };
            known::add(&place.findings, &entry)?;
            println!("bug {} is known now; {} says so", bug.id, shell_word(&place.findings.join(KNOWN_FILE)));
            Ok(ExitCode::SUCCESS)
        }
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
    if place.json && flaky {
        let found: Vec<_> = all.iter().map(|(dir, finding)| finding.found(dir)).collect();
        println!("{}", serde_json::to_string(&found)?);
        return Ok(ExitCode::SUCCESS);
    }
    let bugs = place.bugs(&all)?;
    if place.json {
        println!("{}", serde_json::to_string(&bugs)?);
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        println!("no {}findings in {}", if flaky { "flaky " } else { "" }, place.findings.display());
    }
    for Bug { id, kind, cause, findings, suppressed, members, .. } in bugs {
        println!("{id}  {kind}  {cause}  ({findings})");
        if let Some(reason) = suppressed {
            println!("  known: {reason}");
        }
        for (_, finding) in members.iter().filter_map(|id| all.iter().find(|(_, finding)| finding.id == *id)) {
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

fn export_bugs(format: Format, out: &Path, place: &Where) -> anyhow::Result<ExitCode> {
    let all = readable(app::finding::all(&place.findings)?);
    let smallest = |bug: Bug| {
        let finding = all.iter().find(|(_, finding)| finding.id == bug.smallest)?.1.clone();
        Some((bug, finding))
    };
    let bugs: Vec<(Bug, Finding)> = place.bugs(&all)?.into_iter().filter_map(smallest).collect();
    let engine = engine_of(&all);
    let profile = catalogue::profile(if engine.is_empty() { "sqlite" } else { &engine })?;
    let one = |name: &str| Ok(vec![(name.to_owned(), format.text(&bugs, &profile)?)]);
    let files: serde_json::Result<Vec<(String, String)>> = match format {
        Format::Markdown => {
            let news = bugs.iter().filter(|(bug, _)| bug.suppressed.is_none());
            news.map(|one| Ok((format!("{}.md", one.0.id), format.text(std::slice::from_ref(one), &profile)?)))
                .collect()
        }
        Format::Json => one("bugs.json"),
        Format::Junit => one("junit.xml"),
        Format::Sarif => one("caqtus.sarif"),
    };
    let files = files?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for (name, text) in &files {
        let path = out.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    if files.is_empty() {
        println!("no bug that is not known");
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
