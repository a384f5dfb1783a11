//! The loop of an executor: generate, run, compare. What fails is examined in [`super::examine`].

use super::block::replacement;
use super::examine::{Trigger, server_ended};
use super::learned::Learning;
use super::protocol::{ExecutorConfig, Order, Ready, Report};
use super::prover::{PROGRAM, Prover};
use super::recorder::{NO_BLOCK, Recorder, SETUP};
use super::run::Tested;
use super::session::{Session, SessionError};
use super::stats::{OracleStats, Outcome, REPLACED, Stats};
use super::uses::Tally;
use super::watch::Watch;
use crate::clock;
use crate::compare::{BagHash, Row};
use crate::config::{CASES_PER_EPOCH, CampaignSpec, STATEMENT_LIMITS};
use crate::dbms::sqlite::Sqlite;
use crate::dbms::target::Target;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::oracle::TestDatabase;
use crate::program::Program;
use crate::rng::stream;
use crate::sql::error::in_general;
use crate::sql::profile::Wire;
use crate::sql::schema::created_table;
use crate::triage::cause::Cause;
use crate::triage::finding::{self, Finding, FindingKind};
use crate::triage::fingerprint::Fingerprint;
use crate::triage::known::KnownBug;
use crate::triage::part::Part;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// Streams of one campaign: databases and cases never share one.
pub(super) const DATABASE_STREAM: u64 = 1;
pub(super) const CASE_STREAM: u64 = 2;

/// An executor: a session, a recorder, and counters.
pub struct Executor {
    pub(super) config: ExecutorConfig,
    pub(super) session: Session,
    pub(super) recorder: Recorder,
    pub(super) stats: Stats,
    /// Failures met, by class and kind.
    pub(super) watched: HashMap<(String, FindingKind), Watch>,
    /// Bugs that are known.
    pub(super) known_bugs: Vec<KnownBug>,
    /// Failures that did not come again in a new process, by class and kind.
    pub(super) vanished: HashMap<(String, FindingKind), usize>,
    /// Findings kept, by what they have in common.
    pub(super) kept: HashMap<Fingerprint, usize>,
    /// Bugs found that no list covers.
    pub(super) news: usize,
    /// What experiments showed of findings, by their shapes.
    pub(super) causes: HashMap<String, (Vec<String>, Cause)>,
    /// The prover, if it is there.
    pub(super) prover: Prover,
    /// Another version of the engine, which may say what is right.
    pub(super) reference: Option<Box<dyn Connection>>,
    /// Whether settings alone, with or without foreign keys, keep what the target promises.
    pub(super) promised: HashMap<(Vec<String>, bool), bool>,
    pub(super) learning: Learning,
    /// What the engine said to a query of the present case that it refused.
    pub(super) refusal: Option<String>,
    /// What kept the present database from being made.
    pub(super) obstacle: Option<EngineError>,
    /// Steps of the present case that ran.
    pub(super) ran: Vec<usize>,
    /// What each step of it returned.
    pub(super) bags: Vec<Option<BagHash>>,
    /// The rows of those whose rows are needed.
    pub(super) rows: Vec<Option<Vec<Row>>>,
    /// How many of its queries the engine refused, without which it went on.
    pub(super) refused: u64,
    /// Examining a failure replaced the database, so that it must be made again.
    pub(super) replaced: bool,
    /// When the time of the hunt is up.
    pub(super) until: Option<Instant>,
    /// The server is not ours alone: what it does may be another executor's doing, so that the supervisor, when all have
    /// ended, decides what its end was due to.
    pub(super) shared: bool,
    /// What ended a shared server while a database was made on it.
    pub(super) ended: Option<EngineError>,
    /// What cases were made of, and what became of them.
    pub(super) tally: Tally,
    /// When that was reported.
    pub(super) told: Option<Instant>,
    /// The case that ran last: what is suspected if the server turns out to be gone when a database is replaced.
    pub(super) last: Option<CaseId>,
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

/// One case of so many is asked for a plan.
pub(super) const PLAN_EVERY: u32 = 16;

/// How often the database of a block is made again after the engine was lost while it was made.
const LOSSES_MAX: u32 = 2;

/// Takes reports on their way to the supervisor.
pub type Reporter<'a> = &'a mut dyn FnMut(Report) -> io::Result<()>;

/// Where in a campaign a case is.
#[derive(Clone, Copy)]
pub(super) struct CaseId {
    /// The database, which is the block's unless it was replaced.
    pub(super) block: u64,
    pub(super) case: u32,
}

impl Executor {
    /// Opens the target of a configuration.
    pub fn new(config: ExecutorConfig) -> Result<Self, SessionError> {
        let until = config.environment.time_left_ms.map(|ms| clock::now() + Duration::from_millis(ms));
        let target: Target = config.spec.dbms.parse().map_err(SessionError::Target)?;
        let mut recorder = Recorder::create(&config.environment.recorder).map_err(|source| SessionError::Recorder {
            path: config.environment.recorder.display().to_string(),
            source,
        })?;
        let mut tick = || recorder.note(NO_BLOCK, 0, SETUP);
        let CampaignSpec { choice, learned, .. } = &config.spec;
        let session = Session::open(
            &target,
            &config.environment.data_dir,
            config.environment.recorder.parent(),
            choice,
            &config.spec.snippets(),
            learned.as_deref().unwrap_or_default(),
            &mut tick,
        )?;
        let mut kept = HashMap::new();
        // What executors before this one kept counts too, so that a crash does not open the limits again.
        for id in &config.environment.known {
            if let Ok(finding) = finding::read(&config.environment.out_dir.join(id)) {
                *kept.entry(finding.fingerprint()).or_default() += 1;
            }
        }
        let known_bugs = config.environment.known_bugs.as_ref().and_then(|path| fs::read(path).ok());
        let known_bugs = known_bugs.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Ok(Self {
            config,
            recorder,
            stats: Stats::default(),
            watched: HashMap::new(),
            known_bugs,
            vanished: HashMap::new(),
            kept,
            news: 0,
            causes: HashMap::new(),
            prover: Prover::here(),
            reference: reference(&session),
            session,
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
            shared: target.is_shared(),
            ended: None,
            last: None,
            tally: Tally::default(),
            told: None,
        })
    }

    /// What the first report says.
    pub fn ready(&self) -> Report {
        let mut notes = self.session.notes.clone();
        if !self.prover.is_here() {
            notes.push(format!("{PROGRAM} is not beside this program or in the path: queries of findings stay longer"));
        }
        Report::Ready(Ready {
            version: self.session.version.clone(),
            build_id: self.session.build_id.clone(),
            classes: self.session.oracles.classes().len(),
            snippets: self.session.snippets,
            assumed: self.session.assumed,
            notes,
        })
    }

    /// Whether the time of the hunt is up.
    pub fn time_is_up(&self) -> bool {
        self.until.is_some_and(|until| clock::now() >= until)
    }

    /// What broke the engine before there was an executor, as findings that were not repeated yet.
    pub fn broken(&self) -> Vec<Finding> {
        let Session { broken, version, build_id, .. } = &self.session;
        broken.iter().map(|b| b.finding(&self.config.spec.dbms, version, build_id, self.config.spec.seed)).collect()
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
        let seed = self.config.spec.seed;
        let make = |number: u64| oracles.database(&mut stream(seed, &[DATABASE_STREAM, number]));
        let mut block = block;
        let mut database = make(block);
        let mut program = Program::default();
        let mut counts = OracleStats::default();
        let mut applied = 0;
        let mut losses = 0;
        // Of the present epoch: cases that ran, those of them that the engine refused, and those that failed as others had.
        let (mut tried, mut refused, mut old) = (0, 0, 0);
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
                counts.fail += u64::from(outcome.is_failure());
                tried += 1;
                refused += u32::from(matches!(outcome, Outcome::Skipped(_)));
                old += u32::from(matches!(outcome, Outcome::Repeated(_)));
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
                counts.loop_ns = self.stats.loop_ns.saturating_sub(self.stats.failures_ns);
                self.stats.oracles.insert(database.oracle().to_owned(), std::mem::take(&mut counts));
                // A whole epoch, most of which the engine refused, or much of which shows what is known: the next one has
                // another database.
                let why = match (refused * 2 > tried, old * 4 > tried) {
                    (true, _) => Some("most cases were refused"),
                    (_, true) => Some("a bug that was found before showed in more than a quarter of the cases"),
                    _ => None,
                };
                let why = why.filter(|_| tried == CASES_PER_EPOCH && next < end);
                (tried, refused, old) = (0, 0, 0);
                let other = replacement(block).filter(|_| why.is_some());
                if let (Some(why), Some(_)) = (why, other) {
                    self.stats.replaced += 1;
                    self.stats.messages.count(REPLACED, why);
                }
                report(Report::Ran { block: other.unwrap_or(block), next, stats: std::mem::take(&mut self.stats) })?;
                if let Some(other) = other {
                    block = other;
                    database = make(block);
                    self.replaced = true;
                }
            }
            if last {
                self.tell_uses(report)?;
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

    pub(super) fn timed<T>(&mut self, work: impl FnOnce(&mut Session) -> T) -> T {
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
                let last = self.last.filter(|_| error.class == ErrorClass::Crash);
                let suspect = last.map(|at| self.describe(at.block, at.case, None));
                server_ended(&error, suspect, report).map(|()| Setup::Unusable)
            }
            Err(error) if error.class == ErrorClass::ConnectionLost => {
                let message = format!("{} cannot be reached any more: {}", self.config.spec.dbms, error.message);
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
                let makes_table = created_table(statement).is_some();
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
        let case = database.case(&mut stream(self.config.spec.seed, &[CASE_STREAM, at.block, u64::from(at.case)]));
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
                self.last = Some(at);
                let outcome = self.run_case(tested, report)?;
                if outcome == Outcome::Pass && at.case.is_multiple_of(PLAN_EVERY) {
                    self.note_plan(tested, report)?;
                }
                self.note_uses(tested, &outcome);
                self.learn(tested, report)?;
                Ok(outcome)
            }
            Setup::Broken if !broken => self.examine(tested, Trigger::BrokenSetup, report),
            Setup::Refused | Setup::Unusable | Setup::Broken => Ok(self.unmade(setup)),
        }
    }

    /// Makes a case again without running it, up to a query if one is named.
    pub fn describe(&mut self, block: u64, case: u32, query: Option<usize>) -> Finding {
        let oracles = self.session.oracles.clone();
        let database = oracles.database(&mut stream(self.config.spec.seed, &[DATABASE_STREAM, block]));
        let at = CaseId { block, case };
        let case = database.case(&mut stream(self.config.spec.seed, &[CASE_STREAM, block, u64::from(case)]));
        let mut program = Program::default();
        case.program(&mut program);
        let end = query.map_or(usize::MAX, |query| query + 1).min(program.steps().len());
        let part = Part { steps: (0..end).collect(), violated: None };
        let statements = statements(database.as_ref(), at.case);
        let tested = Tested { database: database.as_ref(), case: &case, program: &program, at };
        self.finding(tested, FindingKind::Crash, &statements, &part)
    }
}

/// The version of SQLite that is linked in, beside which another one or a fork is tested.
fn reference(session: &Session) -> Option<Box<dyn Connection>> {
    if session.profile.wire != Wire::Sqlite {
        return None;
    }
    let linked = Sqlite::linked(STATEMENT_LIMITS).ok()?;
    (linked.build_id() != session.build_id).then(|| Box::new(linked) as _)
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

/// The batch of set-up statements that a case comes after.
fn epoch_of(case: u32, database: &dyn TestDatabase) -> usize {
    ((case / CASES_PER_EPOCH) as usize).min(database.epochs().len().saturating_sub(1))
}

/// All statements that make the database of a case.
pub(super) fn statements(database: &dyn TestDatabase, case: u32) -> Vec<String> {
    database.epochs()[..=epoch_of(case, database)].concat()
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
