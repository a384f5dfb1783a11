//! The loop of an executor: generate, run, compare, examine what differs.

use super::block::replacement;
use super::learned::Learning;
use super::protocol::{Order, Ready, Report};
use super::recorder::{NO_BLOCK, Recorder, SETUP};
use super::replay::comes_again;
use super::session::{Session, SessionError, keeps_its_promises};
use super::stats::{LEFT_OUT, OracleStats, Outcome, REPLACED, Stats};
use crate::clock;
use crate::compare::{BagHash, Row};
use crate::config::{
    CASES_PER_EPOCH, ExecutorConfig, FINDINGS_PER_FEATURES_MAX, HANG_MS, Learned, REDUCE_ATTEMPTS_MAX,
};
use crate::dbms::target::Target;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::interpret::{
    self, StepResult, Verdict, all_results, broken_assumption, make, may_fail, results, unrepeated, verdict,
};
use crate::oracle::{SharedCase, TestDatabase};
use crate::program::{Program, Step, Text};
use crate::rng::stream;
use crate::sql::error::in_general;
use crate::triage::cause::cured_by;
use crate::triage::features::features;
use crate::triage::finding::{self, FLAKY, Finding, FindingKind, FindingQuery, FoundReport, SeenRun};
use crate::triage::reduce::{Part, Reduction};
use crate::triage::symptom::Symptom;
use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Streams of one campaign: databases and cases never share one.
const DATABASE_STREAM: u64 = 1;
const CASE_STREAM: u64 = 2;

/// An executor: a session, a recorder, and counters.
pub struct Executor {
    config: ExecutorConfig,
    session: Session,
    recorder: Recorder,
    stats: Stats,
    /// Failures reduced, by class and kind.
    reduced: HashMap<(String, FindingKind), usize>,
    /// Failures that did not come again in a new process, by class and kind.
    vanished: HashMap<(String, FindingKind), usize>,
    /// Findings kept, by kind and features.
    kept: HashMap<(FindingKind, Vec<String>), usize>,
    /// Whether settings alone, with or without foreign keys, keep what the target promises.
    promised: HashMap<(Vec<String>, bool), bool>,
    learning: Learning,
    /// What the engine said to a query of the present case that it refused.
    refusal: Option<String>,
    /// What kept the present database from being made.
    obstacle: Option<EngineError>,
    /// Steps of the present case that ran.
    ran: Vec<usize>,
    /// What each step of it returned.
    bags: Vec<Option<BagHash>>,
    /// The rows of those whose rows are needed.
    rows: Vec<Option<Vec<Row>>>,
    /// How many of its queries the engine refused, without which it went on.
    refused: u64,
    /// Examining a failure replaced the database, so that it must be made again.
    replaced: bool,
    /// When the time of the hunt is up.
    until: Option<Instant>,
    /// The server is not ours alone: what it does may be another executor's doing, so that the supervisor, when all have
    /// ended, decides what its end was due to.
    shared: bool,
    /// What ended a shared server while a database was made on it.
    ended: Option<EngineError>,
    /// The last case of the block before: what ran last while a database is replaced.
    before: Option<CaseId>,
}

/// Whether the database of a block could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    Usable,
    /// The engine refuses a table that the cases need.
    Refused,
    /// A table is missing: a limit was reached, or the connection was lost.
    Unusable,
    /// The engine reported that it is broken.
    Broken,
}

/// How often the database of a block is made again after the engine was lost while it was made.
const LOSSES_MAX: u32 = 2;

/// Takes reports on their way to the supervisor.
pub type Reporter<'a> = &'a mut dyn FnMut(Report) -> io::Result<()>;

/// Where in a campaign a case is.
#[derive(Clone, Copy)]
struct CaseId {
    /// The database, which is the block's unless it was replaced.
    block: u64,
    case: u32,
}

impl Executor {
    /// Opens the target of a configuration.
    pub fn new(config: ExecutorConfig) -> Result<Self, SessionError> {
        let until = config.time_left_ms.map(|ms| clock::now() + Duration::from_millis(ms));
        let target: Target = config.dbms.parse().map_err(SessionError::Target)?;
        let mut recorder = Recorder::create(&config.recorder)
            .map_err(|source| SessionError::Recorder { path: config.recorder.display().to_string(), source })?;
        let mut tick = || recorder.note(NO_BLOCK, 0, SETUP);
        let ExecutorConfig { data_dir, choice, snippet_percent, learned, .. } = &config;
        let session = Session::open(
            &target,
            data_dir,
            config.recorder.parent(),
            choice,
            *snippet_percent,
            learned.as_deref().unwrap_or_default(),
            &mut tick,
        )?;
        let (mut reduced, mut kept) = (HashMap::new(), HashMap::new());
        // What executors before this one kept counts too, so that a crash does not open the limits again.
        for id in &config.known {
            if let Ok(finding) = finding::read(&config.out_dir.join(id)) {
                *kept.entry((finding.kind, finding.features)).or_default() += 1;
                *reduced.entry((finding.class, finding.kind)).or_default() += 1;
            }
        }
        Ok(Self {
            config,
            session,
            recorder,
            stats: Stats::default(),
            reduced,
            vanished: HashMap::new(),
            kept,
            promised: HashMap::new(),
            learning: Learning::default(),
            refusal: None,
            obstacle: None,
            ran: Vec::new(),
            bags: Vec::new(),
            rows: Vec::new(),
            refused: 0,
            replaced: false,
            until,
            shared: matches!(target, Target::Url { .. }),
            ended: None,
            before: None,
        })
    }

    /// What the first report says.
    pub fn ready(&self) -> Report {
        Report::Ready(Ready {
            version: self.session.version.clone(),
            classes: self.session.oracles.classes().len(),
            snippets: self.session.snippets,
            assumed: self.session.assumed,
            notes: self.session.notes.clone(),
        })
    }

    /// Whether the time of the hunt is up.
    pub fn time_is_up(&self) -> bool {
        self.until.is_some_and(|until| clock::now() >= until)
    }

    /// What broke the engine before there was an executor, as findings that were not repeated yet.
    pub fn broken(&self) -> Vec<Finding> {
        let Session { broken, version, build_id, .. } = &self.session;
        broken.iter().map(|b| b.finding(&self.config.dbms, version, build_id, self.config.seed)).collect()
    }

    /// Carries out an order, giving each report to `report`.
    pub fn carry_out(&mut self, order: Order, report: Reporter) -> io::Result<()> {
        match order {
            Order::Run { block, first, end } => self.block(block, first, end, report),
            Order::Describe { block, case, query } => {
                let finding = self.describe(block, case, query);
                report(Report::Described(Box::new(finding)))
            }
        }
    }

    /// Runs the cases `first..end` of a block. Earlier cases only determine how far the database has changed. Counters are
    /// reported after each epoch, so that an engine that ends the process takes few with it. The rest is left when the time
    /// of the hunt is up.
    pub fn block(&mut self, block: u64, first: u32, end: u32, report: Reporter) -> io::Result<()> {
        let (mut started, mut cpu) = (clock::now(), clock::cpu_time());
        self.stats = Stats::default();
        let oracles = self.session.oracles.clone();
        let seed = self.config.seed;
        let make = |number: u64| oracles.database(&mut stream(seed, &[DATABASE_STREAM, number]));
        let mut block = block;
        let mut database = make(block);
        let mut program = Program::default();
        let mut counts = OracleStats::default();
        let mut applied = 0;
        let mut losses = 0;
        // Of the present epoch: cases that ran, and those of them that the engine refused.
        let (mut tried, mut refused) = (0, 0);
        // What breaks the engine while a block's database is made is looked at once.
        let mut broken = false;
        let server = self.session.connection.server_cpu();
        let mut setup = self.reset(CaseId { block, case: first }, report)?;
        for number in first..end {
            let mut at = CaseId { block, case: number };
            loop {
                while setup == Setup::Usable && applied <= epoch_of(number, database.as_ref()) {
                    setup = self.apply(&database.epochs()[applied], at);
                    applied += 1;
                }
                let Some(other) = replacement(block).filter(|_| setup == Setup::Refused) else { break };
                (block, at.block) = (other, other);
                database = make(block);
                self.stats.replaced += 1;
                if let Some(error) = &self.obstacle {
                    self.stats.messages.count(REPLACED, &format!("{}: {}", error.class, error.message));
                }
                setup = self.reset(at, report)?;
                applied = 0;
            }
            let on = Place { database: database.as_ref(), at, setup, broken };
            let outcome = self.case(on, &mut program, report)?;
            broken |= setup == Setup::Broken;
            if setup == Setup::Usable {
                counts.cases += 1;
                counts.queries += self.ran.len() as u64;
                counts.refused += std::mem::take(&mut self.refused);
                counts.fail += u64::from(matches!(outcome, Outcome::Fail(_)));
                tried += 1;
                refused += u32::from(matches!(outcome, Outcome::Skipped(_)));
            }
            self.stats.outcomes.count(&outcome);
            let next = number + 1;
            let last = next == end || self.time_is_up();
            if last || next.is_multiple_of(CASES_PER_EPOCH) {
                self.stats.loop_ns = nanos(started.elapsed());
                self.stats.cpu_ns = nanos(clock::cpu_time().saturating_sub(cpu));
                (started, cpu) = (clock::now(), clock::cpu_time());
                if last && let (Some(before), Some(after)) = (server, self.session.connection.server_cpu()) {
                    self.stats.server_ns = nanos(after.saturating_sub(before));
                }
                let counts = std::mem::take(&mut counts);
                self.stats.oracles.insert(database.oracle().to_owned(), counts);
                // A whole epoch, most of which the engine refused: the next one has another database.
                let mostly = tried == CASES_PER_EPOCH && refused * 2 > tried && next < end;
                (tried, refused) = (0, 0);
                let other = replacement(block).filter(|_| mostly);
                if other.is_some() {
                    self.stats.replaced += 1;
                    self.stats.messages.count(REPLACED, "most cases were refused");
                }
                report(Report::Ran { block: other.unwrap_or(block), next, stats: std::mem::take(&mut self.stats) })?;
                if let Some(other) = other {
                    block = other;
                    database = make(block);
                    self.replaced = true;
                }
            }
            if last {
                self.before = Some(at);
                break;
            }
            losses += u32::from(setup == Setup::Unusable);
            // What loses the engine while the database is made does so again.
            if std::mem::take(&mut self.replaced) && losses < LOSSES_MAX {
                setup = self.reset(at, report)?;
                applied = 0;
            }
        }
        Ok(())
    }

    fn timed<T>(&mut self, work: impl FnOnce(&mut Session) -> T) -> T {
        let started = clock::now();
        let result = work(&mut self.session);
        self.stats.engine_ns += nanos(started.elapsed());
        result
    }

    /// Replaces the database. A server that cannot be reached any more ends the executor, with the reason.
    fn reset(&mut self, at: CaseId, report: Reporter) -> io::Result<Setup> {
        self.recorder.note(at.block, u64::from(at.case), SETUP);
        self.obstacle = None;
        match self.timed(|s| s.connection.reset()) {
            Ok(()) => Ok(Setup::Usable),
            Err(error) if self.shared && matches!(error.class, ErrorClass::ConnectionLost | ErrorClass::Crash) => {
                let before = self.before.filter(|_| error.class == ErrorClass::Crash);
                let suspect = before.map(|at| self.describe(at.block, at.case, None));
                server_ended(&error, suspect, report).map(|()| Setup::Unusable)
            }
            Err(error) if error.class == ErrorClass::ConnectionLost => {
                let message = format!("{} cannot be reached any more: {}", self.config.dbms, error.message);
                Err(io::Error::other(message))
            }
            Err(error) => {
                self.obstacle = Some(error);
                Ok(Setup::Unusable)
            }
        }
    }

    /// What becomes of a case whose database could not be made.
    fn unmade(&mut self, setup: Setup) -> Outcome {
        let (class, message) = match &self.obstacle {
            Some(error) => (error.class, error.message.as_str()),
            None => return Outcome::Skipped("set-up failed".to_owned()),
        };
        match setup {
            Setup::Unusable if class == ErrorClass::Limit => {
                Outcome::Warning(format!("set-up failed: {}", in_general(message)))
            }
            // Not a finding: nothing says which of the statements before is to blame.
            Setup::Unusable if class.is_finding() => {
                Outcome::Warning(format!("set-up failed: a database cannot be closed: {}", in_general(message)))
            }
            _ => {
                self.stats.messages.count("skipped: set-up failed", &format!("{class}: {message}"));
                Outcome::Skipped("set-up failed".to_owned())
            }
        }
    }

    /// Runs set-up statements. One that fails is left out, unless it is a table that the cases need.
    fn apply(&mut self, statements: &[String], at: CaseId) -> Setup {
        for (number, statement) in statements.iter().enumerate() {
            self.recorder.note(at.block, u64::from(at.case), SETUP + number as u64);
            self.stats.statements += 1;
            if let Err(error) = self.timed(|s| s.connection.execute(statement)) {
                self.stats.setup_errors += 1;
                if self.shared && error.class == ErrorClass::Crash {
                    self.ended = Some(error);
                    return Setup::Broken;
                }
                let makes_table =
                    statement.starts_with("CREATE TABLE") || statement.starts_with("CREATE VIRTUAL TABLE");
                let setup = match error.class {
                    class if class.is_finding() => Setup::Broken,
                    ErrorClass::ConnectionLost => Setup::Unusable,
                    ErrorClass::Limit if makes_table => Setup::Unusable,
                    _ if makes_table => Setup::Refused,
                    _ => continue,
                };
                self.replaced |= error.class == ErrorClass::ConnectionLost;
                self.obstacle = Some(error);
                return setup;
            }
        }
        Setup::Usable
    }

    /// Makes a case and runs it, as far as its database could be made.
    fn case(&mut self, on: Place, program: &mut Program, report: Reporter) -> io::Result<Outcome> {
        let Place { database, at, setup, broken } = on;
        let case = database.case(&mut stream(self.config.seed, &[CASE_STREAM, at.block, u64::from(at.case)]));
        program.clear();
        case.program(program);
        let tested = Tested { database, case: &case, program, at };
        if let Some(error) = self.ended.take() {
            let statements = statements(database, at.case);
            let suspect = self.finding(tested, FindingKind::Crash, &statements, &Part::none());
            server_ended(&error, Some(suspect), report)?;
        }
        self.stats.digest = self.stats.digest.wrapping_add(tested.digest());
        match setup {
            Setup::Usable => {
                let outcome = self.run_case(tested, report)?;
                self.learn(tested, report)?;
                Ok(outcome)
            }
            Setup::Broken if !broken => self.examine(tested, Trigger::BrokenSetup, report),
            Setup::Refused | Setup::Unusable | Setup::Broken => Ok(self.unmade(setup)),
        }
    }

    /// Runs a case and compares what its steps return.
    fn run_case(&mut self, tested: Tested, report: Reporter) -> io::Result<Outcome> {
        let Tested { program, at, .. } = tested;
        let mut bags = std::mem::take(&mut self.bags);
        let mut rows = std::mem::take(&mut self.rows);
        self.ran.clear();
        bags.clear();
        rows.clear();
        let mut failed = None;
        for (number, step) in program.steps().iter().enumerate() {
            self.recorder.note(at.block, u64::from(at.case), number as u64);
            self.stats.statements += 1 + (step.before.len() + step.after.len()) as u64;
            let profile = self.session.profile.clone();
            let earlier = |at: usize| rows.get(at)?.as_deref();
            let ran = if program.needs_rows(number) {
                let ran = self.timed(|s| interpret::rows(s.connection.as_mut(), &profile, step, &earlier));
                ran.map(|rows| (BagHash::of(&rows), Some(rows)))
            } else {
                let ran = self.timed(|s| interpret::hash(s.connection.as_mut(), &profile, step, &earlier));
                ran.map(|bag| (bag, None))
            };
            let (bag, kept) = match ran {
                Ok((bag, kept)) => {
                    self.ran.push(number);
                    (Some(bag), kept)
                }
                Err(error) if may_fail(step, &error) => {
                    self.refused += 1;
                    self.stats.messages.count(LEFT_OUT, &error.message);
                    (None, None)
                }
                Err(error) => {
                    failed = Some((number, error));
                    break;
                }
            };
            bags.push(bag);
            rows.push(kept);
        }
        let compared = if failed.is_some() { Compared::Nothing } else { compared(program, &bags, &rows) };
        (self.bags, self.rows) = (bags, rows);
        match (failed, compared) {
            (Some(failed), _) => self.failed_query(tested, failed, report),
            (None, Compared::Nothing) => Ok(Outcome::Skipped("nothing to compare with".to_owned())),
            (None, Compared::Differs) => self.examine(tested, Trigger::Difference, report),
            (None, Compared::Holds) => Ok(Outcome::Pass),
        }
    }

    /// Notes what became of a case in which one filling has a subquery.
    fn learn(&mut self, tested: Tested, report: Reporter) -> io::Result<()> {
        let refusal = self.refusal.take();
        if self.config.learned.is_none() {
            return Ok(());
        }
        let class = tested.database.class();
        if let Some(placeholder) = tested.case.only_subquery()
            && self.learning.note(class, placeholder, refusal.is_some())
        {
            let (build_id, class) = (self.session.build_id.clone(), class.to_owned());
            report(Report::Learned(Learned { build_id, class, placeholder, why: refusal.unwrap_or_default() }))?;
        }
        Ok(())
    }

    fn failed_query(
        &mut self,
        tested: Tested,
        (number, error): (usize, EngineError),
        report: Reporter,
    ) -> io::Result<Outcome> {
        let class = error.class.to_string();
        match error.class {
            ErrorClass::Semantic | ErrorClass::Unsupported | ErrorClass::Data | ErrorClass::Unfit => {
                self.stats.messages.count(&format!("skipped: {class}"), &error.message);
                if matches!(error.class, ErrorClass::Semantic | ErrorClass::Unsupported) {
                    self.refusal = Some(error.message);
                }
                Ok(Outcome::Skipped(class))
            }
            ErrorClass::Limit | ErrorClass::ConnectionLost => {
                self.stats.messages.count(&format!("warning: {class}"), &error.message);
                self.replaced |= error.class == ErrorClass::ConnectionLost;
                Ok(Outcome::Warning(class))
            }
            ErrorClass::Crash if self.shared => self.suspect(tested, Some(number), &error, report),
            ErrorClass::Internal | ErrorClass::Crash | ErrorClass::Hang => {
                self.examine(tested, Trigger::Error(number, error), report)
            }
        }
    }

    /// Repeats a failure in place, if it was of the case's queries, and on a fresh database, checks what the case rests on,
    /// repeats it in a new process, reduces and reports.
    fn examine(&mut self, tested: Tested, met: Trigger, report: Reporter) -> io::Result<Outcome> {
        self.replaced = true;
        let Tested { database, case, program, at } = tested;
        let statements = statements(database, at.case);
        let profile = self.session.profile.clone();
        let (steps, checks) = (program.steps(), program.checks());
        let mut runs = vec![self.first_run(steps, &met)];
        if !matches!(met, Trigger::BrokenSetup) {
            let seen = results(self.session.connection.as_mut(), &profile, steps);
            let again = verdict(steps, checks, &seen);
            if let Some((step, error)) = self.ended_in(&again) {
                return self.suspect(tested, step, &error, report);
            }
            // Within the tolerance of floats, or a difference that did not come again.
            if again == Verdict::Holds && self.differs_in_hash(program, &seen) {
                return Ok(Outcome::Pass);
            }
            runs.push(SeenRun { what: "again, on the same database".to_owned(), results: seen, sql: None });
            if again == Verdict::Holds {
                return self.flaky(tested, &statements, (met, runs), "did not repeat in place");
            }
        }
        let connection = self.session.connection.as_mut();
        let (fresh, seen) = interpret::run(connection, &profile, &statements, steps, checks);
        if let Some((step, error)) = self.ended_in(&fresh) {
            return self.suspect(tested, step, &error, report);
        }
        let connection = self.session.connection.as_mut();
        runs.push(SeenRun { what: "on a database made anew".to_owned(), results: seen.clone(), sql: None });
        let symptom = match &fresh {
            Verdict::Violated { .. } => Symptom::WRONG_RESULT,
            Verdict::Broken { error, .. } => Symptom::of(error),
            Verdict::Holds | Verdict::Void(_) => {
                return self.flaky(tested, &statements, (met, runs), "did not repeat on a fresh database");
            }
        };
        let kind = symptom.kind;
        let part = Part::of(program, &fresh);
        let wrong = kind == FindingKind::WrongResult;
        let assumptions = if wrong { case.assumptions(program, &part.involved()) } else { Vec::new() };
        let rows = |at: usize| seen.get(at)?.rows();
        if let Some(broken) = broken_assumption(connection, &profile, &assumptions, &rows) {
            // What is not the same twice is no wrong result; but the engine or the expression is, and somebody should look.
            if let Some(twice) = unrepeated(connection, &profile, broken, &rows) {
                let (sql, what) = (broken.sql.to_string(), "one query, run twice".to_owned());
                runs.push(SeenRun { what, results: twice.map(StepResult::Rows).into(), sql: Some(sql) });
                let why = "a query gives other rows the second time";
                return self.flaky(tested, &statements, (met, runs), why);
            }
            let text = broken.text.split_once(':').map_or(broken.text.as_str(), |(text, _)| text);
            return Ok(Outcome::Skipped(format!("a claim does not hold: {text}")));
        }
        let class = tested.blamed(&part).to_owned();
        let mut written = false;
        let group = (class, kind);
        let max = self.config.findings_per_class_max;
        if self.reduced.get(&group).copied().unwrap_or_default() < max {
            let unreduced = self.finding(tested, kind, &statements, &part);
            let vanished = self.vanished.get(&group).copied().unwrap_or_default();
            if vanished >= max {
                return Ok(Outcome::Warning(
                    "flaky: like others that did not repeat in a new process, not tried".to_owned(),
                ));
            }
            if !self.comes_again(&unreduced, at)? {
                *self.vanished.entry(group).or_default() += 1;
                let what = "in a process of its own: it did not show".to_owned();
                runs.push(SeenRun { what, results: Vec::new(), sql: None });
                return self.flaky(tested, &statements, (met, runs), "did not repeat in a new process");
            }
            *self.reduced.entry(group).or_default() += 1;
            // Reducing takes a while and may end the process: what is known already is on disk meanwhile.
            let early = PathBuf::from(self.write(&unreduced, &self.config.out_dir)?.dir);
            let mut finding = self.reduce(tested, symptom, statements, part);
            // What was reduced in this process may show in it only.
            if finding.id != unreduced.id && !self.comes_again(&finding, at)? {
                finding = unreduced;
                self.note_results(&mut finding);
            }
            fs::remove_dir_all(early)?;
            let kept = self.kept.entry((kind, finding.features.clone())).or_default();
            *kept += 1;
            if *kept <= FINDINGS_PER_FEATURES_MAX {
                written = true;
                report(Report::Found(self.write(&finding, &self.config.out_dir)?))?;
            }
        }
        // What the limits keep from being written stays visible in the summary.
        Ok(Outcome::Fail(if written { kind.to_string() } else { format!("{kind}, one of many: not written") }))
    }

    /// Whether the steps of a case whose checks hold have results with different hashes: floats within the tolerance.
    fn differs_in_hash(&mut self, program: &Program, seen: &[StepResult]) -> bool {
        let profile = self.session.profile.clone();
        let connection = self.session.connection.as_mut();
        let rows = |at: usize| seen.get(at)?.rows();
        let mut hash = |at: &usize| match interpret::hash(connection, &profile, &program.steps()[*at], &rows) {
            Err(error) if may_fail(&program.steps()[*at], &error) => None,
            result => Some(result.ok()),
        };
        program.checks().iter().filter(|check| check.relation.by_hash()).any(|check| {
            let hashes: Vec<Option<BagHash>> = check.steps.iter().filter_map(&mut hash).collect();
            hashes.iter().any(|hash| Some(hash) != hashes.first())
        })
    }

    /// Makes a finding's database, and notes which of its statements fail and what its queries do.
    fn note_results(&mut self, finding: &mut Finding) {
        let profile = self.session.profile.clone();
        let connection = self.session.connection.as_mut();
        let Ok(failed) = make(connection, &finding.statements) else { return };
        finding.refused = Some(failed.into_iter().map(|(at, _)| at).collect());
        let steps: Vec<Step> = finding.queries.iter().map(|query| query.step.clone()).collect();
        let results = all_results(connection, &profile, &steps);
        finding.queries.iter_mut().zip(results).for_each(|(query, result)| query.result = result);
    }

    /// Whether a finding shows in a new process.
    fn comes_again(&mut self, finding: &Finding, at: CaseId) -> io::Result<bool> {
        let scratch = self.config.recorder.with_extension("replay.json");
        let recorder = &mut self.recorder;
        let hang_after = Duration::from_millis(HANG_MS);
        comes_again(finding, &self.config.data_dir, &scratch, hang_after, &mut || {
            recorder.note(at.block, u64::from(at.case), 0);
        })
    }

    /// What the steps of the present case did when the failure was met.
    fn first_run(&self, steps: &[Step], met: &Trigger) -> SeenRun {
        let mut results = vec![StepResult::None; steps.len()];
        if !matches!(met, Trigger::BrokenSetup) {
            let bags = results.iter_mut().zip(&self.bags);
            bags.for_each(|(result, bag)| *result = bag.map_or(StepResult::None, Into::into));
        }
        if let Trigger::Error(number, error) = met {
            results[*number] = StepResult::Error(error.clone());
        }
        SeenRun { what: "in the hunt".to_owned(), results, sql: None }
    }

    /// The step, if it was one, and the error, if a shared server ended when a case ran again.
    fn ended_in(&self, verdict: &Verdict) -> Option<(Option<usize>, EngineError)> {
        match verdict {
            Verdict::Broken { step, error } if self.shared && error.class == ErrorClass::Crash => {
                Some((*step, error.clone()))
            }
            _ => None,
        }
    }

    /// A shared server ended while a case ran: that is all that can be said here.
    fn suspect(
        &mut self,
        tested: Tested,
        step: Option<usize>,
        error: &EngineError,
        report: Reporter,
    ) -> io::Result<Outcome> {
        let steps = step.map_or_else(Vec::new, |step| (0..=step).collect());
        let part = Part { steps, violated: None };
        let statements = statements(tested.database, tested.at.case);
        let mut suspect = self.finding(tested, FindingKind::Crash, &statements, &part);
        if let Some(last) = suspect.queries.last_mut() {
            last.result = StepResult::Error(error.clone());
        }
        server_ended(error, Some(suspect), report).map(|()| Outcome::Pass)
    }

    fn flaky(
        &mut self,
        tested: Tested,
        statements: &[String],
        (met, runs): (Trigger, Vec<SeenRun>),
        why: &str,
    ) -> io::Result<Outcome> {
        let part = Part { steps: (0..tested.program.steps().len()).collect(), violated: None };
        let mut finding = self.finding(tested, FindingKind::WrongResult, statements, &part);
        finding.checks = Some(tested.program.checks().to_vec());
        finding.runs = runs;
        if let Trigger::Error(number, error) = met {
            finding.kind = error.class.into();
            finding.queries[number].result = StepResult::Error(error);
            finding.seal();
        }
        self.write(&finding, &self.config.out_dir.join(FLAKY))?;
        Ok(Outcome::Warning(format!("flaky: {why}")))
    }

    fn reduce(&mut self, tested: Tested, symptom: Symptom, statements: Vec<String>, part: Part) -> Finding {
        let Tested { database, case, at, .. } = tested;
        let kind = symptom.kind;
        let recorder = &mut self.recorder;
        let protected = self.session.profile.start.clone();
        let (profile, enforced) = (self.session.profile.clone(), self.session.capabilities.enforced);
        let promised = &mut self.promised;
        let mut keeps = |connection: &mut dyn Connection, settings: &[String], foreign_keys: bool| {
            *promised
                .entry((settings.to_vec(), foreign_keys))
                .or_insert_with(|| keeps_its_promises(connection, &profile, enforced, settings, foreign_keys))
        };
        let mut reduction = Reduction {
            connection: self.session.connection.as_mut(),
            profile: &profile,
            database,
            statements,
            protected,
            keeps: &mut keeps,
            case: case.clone(),
            symptom,
            part,
            attempts: REDUCE_ATTEMPTS_MAX,
            tick: &mut || recorder.note(at.block, u64::from(at.case), 0),
            until: self.until,
        };
        reduction.run();
        let Reduction { statements, case, part, .. } = reduction;
        let mut program = Program::default();
        case.program(&mut program);
        let mut finding = self.finding(Tested { case: &case, program: &program, ..tested }, kind, &statements, &part);
        finding.reduced = true;
        // With the settings that it has, and none of a session before.
        let renewed = self.session.connection.renew().is_ok();
        if kind == FindingKind::WrongResult {
            let (steps, checks) = part.cut(&program);
            let until = self.until;
            let in_time = move |_: &&_| until.is_none_or(|until| clock::now() < until);
            let switches = self.session.capabilities.switches.iter().take_while(in_time);
            let mut tick = || self.recorder.note(at.block, u64::from(at.case), 0);
            let connection = self.session.connection.as_mut();
            finding.cured_by = cured_by(connection, &profile, &statements, (&steps, &checks), switches, &mut tick);
        }
        if renewed {
            self.note_results(&mut finding);
        }
        finding.seal();
        finding
    }

    fn finding(&self, tested: Tested, kind: FindingKind, statements: &[String], part: &Part) -> Finding {
        let Tested { database, case, program, at } = tested;
        let (steps, checks) = part.cut(program);
        let queries: Vec<FindingQuery> = steps
            .into_iter()
            .map(|step| FindingQuery {
                context: case.context(&step).map(str::to_owned),
                // Members are numbered from 1 for people.
                step: Step { member: step.member + 1, ..step },
                result: StepResult::None,
            })
            .collect();
        let of_queries = queries.iter().flat_map(|query| query.step.before.iter().chain([&query.step.sql]));
        let texts = statements.iter().map(String::as_str).chain(of_queries.map(Text::sql));
        let mut features = features(texts);
        if queries.iter().any(|query| query.step.switch.is_some()) {
            features.push("optimizer switch".to_owned());
        }
        let mut finding = Finding {
            id: String::new(),
            kind,
            oracle: database.oracle().to_owned(),
            class: tested.blamed(part).to_owned(),
            dbms: self.config.dbms.clone(),
            version: self.session.version.clone(),
            build_id: self.session.build_id.clone(),
            seed: self.config.seed,
            block: at.block,
            case: u64::from(at.case),
            statements: statements.to_vec(),
            queries,
            checks: Some(checks),
            fillings: case.describe(),
            features,
            cured_by: Vec::new(),
            reduced: false,
            refused: None,
            runs: Vec::new(),
            note: None,
        };
        finding.seal();
        finding
    }

    fn write(&self, finding: &Finding, parent: &Path) -> io::Result<FoundReport> {
        let dir = finding.write(parent, &self.session.profile).map_err(|error| {
            let what = format!("cannot write {}: {error}", parent.join(&finding.id).display());
            io::Error::new(error.kind(), what)
        })?;
        Ok(finding.found(&dir))
    }

    /// Sends the statements of the first blocks and nothing else: what the engine and its protocol cost by themselves, as
    /// statements, CPU time and the server's. `None` where there is no server of our own.
    pub fn raw(&mut self, blocks: u64) -> Option<Stats> {
        let oracles = self.session.oracles.clone();
        let mut work = Vec::new();
        let mut program = Program::default();
        for block in 0..blocks {
            let database = oracles.database(&mut stream(self.config.seed, &[DATABASE_STREAM, block]));
            let mut queries = Vec::new();
            for number in 0..CASES_PER_EPOCH {
                let case = database.case(&mut stream(self.config.seed, &[CASE_STREAM, block, u64::from(number)]));
                program.clear();
                case.program(&mut program);
                let plain = program
                    .steps()
                    .iter()
                    .filter(|q| q.switch.is_none() && q.before.is_empty() && q.sql.holes().is_empty());
                queries.extend(plain.map(|q| q.sql.sql().to_owned()));
            }
            work.push((database.epochs()[0].clone(), queries));
        }
        let connection = self.session.connection.as_mut();
        let (server, cpu) = (connection.server_cpu()?, clock::cpu_time());
        let mut statements = 0;
        for (setup, queries) in &work {
            let _ = connection.reset();
            statements += setup.len() + queries.len();
            setup.iter().for_each(|sql| drop(connection.execute(sql)));
            queries.iter().for_each(|sql| drop(connection.rows(sql)));
        }
        Some(Stats {
            statements: statements as u64,
            cpu_ns: nanos(clock::cpu_time().saturating_sub(cpu)),
            server_ns: nanos(connection.server_cpu()?.saturating_sub(server)),
            ..Stats::default()
        })
    }

    /// Makes a case again without running it, up to a query if one is named.
    pub fn describe(&mut self, block: u64, case: u32, query: Option<usize>) -> Finding {
        let oracles = self.session.oracles.clone();
        let database = oracles.database(&mut stream(self.config.seed, &[DATABASE_STREAM, block]));
        let at = CaseId { block, case };
        let case = database.case(&mut stream(self.config.seed, &[CASE_STREAM, block, u64::from(case)]));
        let mut program = Program::default();
        case.program(&mut program);
        let end = query.map_or(usize::MAX, |query| query + 1).min(program.steps().len());
        let part = Part { steps: (0..end).collect(), violated: None };
        let statements = statements(database.as_ref(), at.case);
        let tested = Tested { database: database.as_ref(), case: &case, program: &program, at };
        self.finding(tested, FindingKind::Crash, &statements, &part)
    }
}

/// Reports that a shared server ended. This executor ends with it: the supervisor waits for the server.
fn server_ended(error: &EngineError, suspect: Option<Finding>, report: Reporter) -> io::Result<()> {
    report(Report::ServerEnded { message: error.message.clone(), suspect: suspect.map(Box::new) })?;
    Err(io::Error::other(error.message.clone()))
}

/// What went wrong at first.
enum Trigger {
    /// A statement that makes the database broke the engine.
    BrokenSetup,
    /// Results differ.
    Difference,
    /// A query of the case broke the engine.
    Error(usize, EngineError),
}

/// Where a case is run.
#[derive(Clone, Copy)]
struct Place<'a> {
    database: &'a dyn TestDatabase,
    at: CaseId,
    /// Whether the database could be made.
    setup: Setup,
    /// Whether it broke the engine for a case before.
    broken: bool,
}

/// A case with what it is on.
#[derive(Clone, Copy)]
struct Tested<'a, 'd> {
    database: &'d dyn TestDatabase,
    case: &'a SharedCase<'d>,
    program: &'a Program,
    at: CaseId,
}

impl<'a, 'd: 'a> Tested<'a, 'd> {
    /// The class that a failure of a part of the case counts for.
    fn blamed(&self, part: &Part) -> &'a str {
        let steps: Vec<&Step> = part.involved().into_iter().map(|at| &self.program.steps()[at]).collect();
        self.case.blamed(&steps).unwrap_or_else(|| self.database.class())
    }

    /// A hash of everything it runs, so that two campaigns can be compared case by case in any order.
    fn digest(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        hash.write_u64(self.at.block);
        hash.write_u32(self.at.case);
        if self.at.case.is_multiple_of(CASES_PER_EPOCH) {
            for statement in self.database.epochs().iter().flatten() {
                hash.write(statement.as_bytes());
            }
        }
        let add = |hash: &mut DefaultHasher, text: &Text| match text.holes() {
            [] => hash.write(text.sql().as_bytes()),
            _ => hash.write(text.to_string().as_bytes()),
        };
        for step in self.program.steps() {
            step.before.iter().for_each(|text| add(&mut hash, text));
            step.parameters.iter().for_each(|literal| hash.write(literal.as_bytes()));
            add(&mut hash, &step.sql);
            hash.write(step.switch.as_ref().map_or("", |switch| &switch.name).as_bytes());
        }
        hash.finish()
    }
}

/// What comparing the results of a case in the hot loop shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// No check has two results.
    Nothing,
    Holds,
    /// Hashes differ, or a relation does not hold: to be looked at.
    Differs,
}

/// Compares results: by their hashes where these decide, by rows elsewhere.
fn compared(program: &Program, bags: &[Option<BagHash>], rows: &[Option<Vec<Row>>]) -> Compared {
    let mut compared = Compared::Nothing;
    for check in program.checks() {
        let differs = if check.relation.by_hash() {
            let mut ran = check.steps.iter().filter_map(|at| bags[*at]);
            let Some(first) = ran.next() else { continue };
            let mut others = ran.peekable();
            if others.peek().is_none() {
                continue;
            }
            others.any(|bag| bag != first)
        } else {
            if check.steps.iter().any(|at| rows[*at].is_none()) {
                continue;
            }
            check.violation(|at| rows[at].as_deref()).is_some()
        };
        if differs {
            return Compared::Differs;
        }
        compared = Compared::Holds;
    }
    compared
}

/// The batch of set-up statements that a case comes after.
fn epoch_of(case: u32, database: &dyn TestDatabase) -> usize {
    ((case / CASES_PER_EPOCH) as usize).min(database.epochs().len().saturating_sub(1))
}

/// All statements that make the database of a case.
fn statements(database: &dyn TestDatabase, case: u32) -> Vec<String> {
    database.epochs()[..=epoch_of(case, database)].concat()
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
