//! `caqtus bug`.

use super::Common;
use super::replay::{self, GitBisect};
use crate::app;
use crate::app::bisection::Among;
use crate::app::campaign::{self, KnownSources};
use crate::catalogue;
use crate::dbms::target::Target;
use crate::triage::export::Format;
use crate::triage::finding::{self, FLAKY, Finding, Listing, shell_word};
use crate::triage::group::{Bug, Decisions};
use crate::triage::known::{self, KNOWN_FILE, KnownBug};
use crate::triage::regression::{Style, TestFile, in_one};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Look at findings: list, show, replay, compare versions
#[derive(Debug, Args)]
pub(super) struct BugArgs {
    #[command(subcommand)]
    command: BugCommand,
}

#[derive(Debug, Args)]
pub(super) struct Where {
    /// Where the findings are
    #[arg(long, value_name = "DIR", default_value = "caqtus-findings")]
    pub(super) findings: PathBuf,
    /// A further list of known bugs; may be given several times
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// What an earlier hunt printed with --json, whose bugs are known
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// JSON, for machines
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) common: Common,
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
    /// Make a regression test of a bug, for the engine's own runner
    ///
    /// sqlite, duckdb, sqllogictest: a file for a runner of sqllogictest files, in which the queries that must return the same
    /// rows have one label; postgres: a script and what psql prints of it, for `pg_regress`, in which the server compares the
    /// two results. So a test passes on an engine that is right, whatever the rows are. What cannot be tested so, such as
    /// queries of which one must return more rows than the other, is refused.
    #[command(after_help = "Example: caqtus bug as-test 1f7911b8 --style postgres --out src/test/regress")]
    AsTest {
        /// The identifier of a bug or finding, or the start of it
        id: String,
        /// Whose form [default: that of the finding's engine]
        #[arg(long, value_enum)]
        style: Option<Style>,
        /// Write it below this directory [default: print it; of several files each behind its name]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
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
    /// says nothing; so too the answers of a script that are neither the expected nor the actual ones, and what fails in
    /// another way than the finding. Of several: 1 if one shows, else 3 if one is void.
    ///
    /// For `git bisect run` --git-bisect ends with what that reads, so that a commit that cannot be built or says nothing is
    /// skipped, and never called good.
    #[command(after_help = "Examples:\n  caqtus bug replay tests/known-bugs/sqlite-*.slt --dbms sqlite@3.41.2\n  \
        git bisect run sh -c 'make libsqlite3.so || exit 125; caqtus bug replay 02339c --dbms sqlite:./libsqlite3.so --git-bisect'")]
    Replay {
        /// Identifiers of findings, or starts of them; or scripts with expected and actual answers, FILE.slt
        #[arg(required = true, value_name = "ID|FILE.slt")]
        what: Vec<String>,
        /// Another target than it was found on; for scripts, than the newest version of their engine that is here
        #[arg(long)]
        dbms: Option<String>,
        /// End as `git bisect run` wants it, looking for the commit that brought the bug or, with `=fix`, that fixed it
        ///
        /// Exit status: 0 it does not show, 1 it shows (with `=fix` 1 and 0), 125 void, or the target cannot be opened, 128
        /// could not run, which ends the search.
        #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "cause")]
        git_bisect: Option<GitBisect>,
        #[command(flatten)]
        place: Where,
    },
    /// Name the first and the last version that show a finding
    ///
    /// Runs it on the versions of its engine that are installed, halving, or on builds of your own (--builds). The version after
    /// the last bad one has the fix. A version on which set-up or a query fails, or that cannot be opened, is neither good nor
    /// bad, and passed over. For the commits of a checkout see --git-bisect of `caqtus bug replay`.
    #[command(
        after_help = "Examples:\n  caqtus bug bisect 02339c --install\n  caqtus bug bisect 02339c --builds nightly/\n  \
        caqtus bug bisect 02339c --builds monday.so tuesday.so wednesday.so"
    )]
    Bisect {
        /// Its identifier, or the start of it
        id: String,
        /// Install the versions that are needed, of all that are known
        #[arg(long)]
        install: bool,
        /// Builds of your own in place of versions: libraries, or directories of a server's programs, the oldest first; or one
        /// directory of them, in the order of the versions that they report and, of one version, of their names
        #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "install")]
        builds: Vec<PathBuf>,
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
    pub(super) fn find(&self, id: &str) -> anyhow::Result<(PathBuf, Finding)> {
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
pub(super) fn readable(listing: Listing) -> Vec<(PathBuf, Finding)> {
    for error in listing.damaged {
        eprintln!("caqtus: left out: {:#}", anyhow::Error::from(error));
    }
    listing.findings
}

pub(super) fn run(args: BugArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        BugCommand::List { flaky, place } => list(flaky, &place),
        BugCommand::Export { format, out, place } => export_bugs(format, &out, &place),
        BugCommand::AsTest { id, style, out, place } => {
            let (_, finding) = place.find(&place.find_bug(&id).map_or(id, |bug| bug.smallest))?;
            let target: Target = finding.dbms.parse()?;
            let profile = catalogue::profile(target.dialect())?;
            let files = finding.regression_test(&profile, style.unwrap_or_else(|| Style::of(profile.wire)))?;
            write_test(&files, out.as_deref())
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
            let engine = engine_of(&[(PathBuf::new(), finding)]);
            for fingerprint in bug.fingerprints {
                let entry = KnownBug {
                    engine: Some(engine.clone()),
                    finding: Some(bug.smallest.clone()).filter(|_| fingerprint == bug.fingerprint),
                    fingerprint: Some(fingerprint),
                    reason: reason.clone(),
                    upstream: upstream.clone(),
                    versions: versions.clone(),
                    expires: expires.clone(),
                    ..KnownBug::default()
                };
                known::add(&place.findings, &entry)?;
            }
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
        BugCommand::Replay { what, dbms, git_bisect, place } => match git_bisect {
            None => replay::all(&what, dbms.as_deref(), &place).map(ExitCode::from),
            Some(wanted) => Ok(replay::for_git(&what, dbms.as_deref(), wanted, &place)),
        },
        BugCommand::Bisect { id, install, builds, place } => {
            let among = match (install, builds.as_slice()) {
                (_, builds @ [_, ..]) => Among::Builds(builds),
                (true, []) => Among::Known,
                (false, []) => Among::Installed,
            };
            replay::bisect(&id, among, &place)
        }
        BugCommand::Spans { place } => replay::spans(&place),
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

/// Writes the files of a test below a directory, or prints them.
fn write_test(files: &[TestFile], out: Option<&Path>) -> anyhow::Result<ExitCode> {
    let Some(out) = out else {
        print!("{}", in_one(files));
        return Ok(ExitCode::SUCCESS);
    };
    for TestFile { path, text } in files {
        let path = out.join(path);
        let dir = path.parent().unwrap_or(out);
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
