//! The loop of an executor: generate, run, compare, examine what differs.

use super::block::replacement;
use super::learned::Learning;
use super::protocol::{FoundReport, Order, Ready, Report};
use super::recorder::{NO_BLOCK, Recorder, SETUP};
use super::replay::comes_again;
use super::session::{Session, SessionError, keeps_its_promises};
use super::stats::{LEFT_OUT, OracleStats, Outcome, REPLACED, Stats, in_general};
use crate::caq::fill::Fill;
use crate::clock;
use crate::compare::BagHash;
use crate::config::{
    CASES_PER_EPOCH, ExecutorConfig, FINDINGS_PER_FEATURES_MAX, HANG_MS, Learned, REDUCE_ATTEMPTS_MAX,
};
use crate::dbms::target::Target;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::oracle::{Round, TestCase, TestQuery};
use crate::rng::stream;
use crate::triage::cause::cured_by;
use crate::triage::confirm::{
    Replay, Run, broken_claim, make, note_results, replay_seen, results, unrepeated, verdict,
};
use crate::triage::features::features;
use crate::triage::finding::{self, FLAKY, Finding, FindingKind, FindingQuery, QueryResult, SeenRun};
use crate::triage::reduce::Reduction;
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
    /// Queries of the present case that ran.
    ran: Vec<usize>,
    /// What they returned.
    bags: Vec<BagHash>,
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
    before: Option<At>,
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
struct At {
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
        let make = |database: u64| oracles.round(&mut stream(seed, &[DATABASE_STREAM, database]));
        let mut block = block;
        let mut round = make(block);
        let mut case = TestCase::default();
        let mut counts = OracleStats::default();
        let mut applied = 0;
        let mut losses = 0;
        // Of the present epoch: cases that ran, and those of them that the engine refused.
        let (mut tried, mut refused) = (0, 0);
        // What breaks the engine while a block's database is made is looked at once.
        let mut broken = false;
        let server = self.session.connection.server_cpu();
        let mut setup = self.reset(At { block, case: first }, report)?;
        for number in first..end {
            let mut at = At { block, case: number };
            loop {
                while setup == Setup::Usable && applied <= epoch_of(number, round.as_ref()) {
                    setup = self.apply(&round.epochs()[applied], at);
                    applied += 1;
                }
                let Some(other) = replacement(block).filter(|_| setup == Setup::Refused) else { break };
                (block, at.block) = (other, other);
                round = make(block);
                self.stats.replaced += 1;
                if let Some(error) = &self.obstacle {
                    self.stats.messages.count(REPLACED, &format!("{}: {}", error.class, error.message));
                }
                setup = self.reset(at, report)?;
                applied = 0;
            }
            let round_now = round.as_ref();
            if let Some(error) = self.ended.take() {
                let statements = statements(round_now, number);
                let suspect = self.finding(round_now, &case, at, FindingKind::Crash, &statements, &[]);
                return server_ended(&error, Some(suspect), report);
            }
            round_now.case(&mut stream(seed, &[CASE_STREAM, block, u64::from(number)]), &mut case);
            self.stats.digest = self.stats.digest.wrapping_add(digest(at, round_now, &case));
            let outcome = match setup {
                Setup::Usable => {
                    let outcome = self.judge(round_now, &case, at, report)?;
                    counts.cases += 1;
                    counts.queries += self.ran.len() as u64;
                    counts.refused += std::mem::take(&mut self.refused);
                    counts.fail += u64::from(matches!(outcome, Outcome::Fail(_)));
                    tried += 1;
                    refused += u32::from(matches!(outcome, Outcome::Skipped(_)));
                    self.learn(round_now, &case, report)?;
                    outcome
                }
                Setup::Broken if !broken => {
                    broken = true;
                    self.examine(round_now, &case, at, Met::BrokenSetup, report)?
                }
                Setup::Refused | Setup::Unusable | Setup::Broken => self.unmade(setup),
            };
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
                self.stats.oracles.insert(round_now.oracle().to_owned(), counts);
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
                    round = make(block);
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
    fn reset(&mut self, at: At, report: Reporter) -> io::Result<Setup> {
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
    fn apply(&mut self, statements: &[String], at: At) -> Setup {
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

    fn judge(&mut self, round: &dyn Round, case: &TestCase, at: At, report: Reporter) -> io::Result<Outcome> {
        let mut first: Option<BagHash> = None;
        let mut differs = false;
        self.ran.clear();
        self.bags.clear();
        for (number, query) in case.queries().iter().enumerate() {
            self.recorder.note(at.block, u64::from(at.case), number as u64);
            self.stats.statements += 1 + (query.before.len() + query.after.len()) as u64;
            let query = Run::from(query);
            match self.timed(|s| query.hash(s.connection.as_mut())) {
                Ok(bag) => {
                    differs |= *first.get_or_insert(bag) != bag;
                    self.ran.push(number);
                    self.bags.push(bag);
                }
                Err(error) if query.may_fail(&error) => {
                    self.refused += 1;
                    self.stats.messages.count(LEFT_OUT, &error.message);
                }
                Err(error) => return self.failed_query(round, case, at, (number, error), report),
            }
        }
        match self.ran.len() {
            0 | 1 => Ok(Outcome::Skipped("nothing to compare with".to_owned())),
            _ if differs => self.examine(round, case, at, Met::Difference, report),
            _ => Ok(Outcome::Pass),
        }
    }

    /// Notes what became of a case in which one filling has a subquery.
    fn learn(&mut self, round: &dyn Round, case: &TestCase, report: Reporter) -> io::Result<()> {
        let refusal = self.refusal.take();
        if self.config.learned.is_none() {
            return Ok(());
        }
        let mut with = case.fills.iter().enumerate().filter(|(_, fill)| fill.has_subquery()).map(|(at, _)| at);
        if let (Some(placeholder), None) = (with.next(), with.next())
            && self.learning.note(round.class(), placeholder, refusal.is_some())
        {
            let (build_id, class) = (self.session.build_id.clone(), round.class().to_owned());
            report(Report::Learned(Learned { build_id, class, placeholder, why: refusal.unwrap_or_default() }))?;
        }
        Ok(())
    }

    fn failed_query(
        &mut self,
        round: &dyn Round,
        case: &TestCase,
        at: At,
        (number, error): (usize, EngineError),
        report: Reporter,
    ) -> io::Result<Outcome> {
        let class = error.class.to_string();
        match error.class {
            ErrorClass::Semantic | ErrorClass::Unsupported | ErrorClass::Data => {
                self.stats.messages.count(&format!("skipped: {class}"), &error.message);
                if error.class != ErrorClass::Data {
                    self.refusal = Some(error.message);
                }
                Ok(Outcome::Skipped(class))
            }
            ErrorClass::Limit | ErrorClass::ConnectionLost => {
                self.stats.messages.count(&format!("warning: {class}"), &error.message);
                self.replaced |= error.class == ErrorClass::ConnectionLost;
                Ok(Outcome::Warning(class))
            }
            ErrorClass::Crash if self.shared => self.suspect(round, case, at, Some(number), &error, report),
            ErrorClass::Internal | ErrorClass::Crash | ErrorClass::Hang => {
                self.examine(round, case, at, Met::Error(number, error), report)
            }
        }
    }

    /// Repeats a failure in place, if it was of the case's queries, and on a fresh database, checks what the case rests on,
    /// repeats it in a new process, reduces and reports.
    fn examine(
        &mut self,
        round: &dyn Round,
        case: &TestCase,
        at: At,
        met: Met,
        report: Reporter,
    ) -> io::Result<Outcome> {
        self.replaced = true;
        let statements = statements(round, at.case);
        let queries: Vec<Run> = case.queries().iter().map(Run::from).collect();
        let mut runs = vec![self.first_run(&queries, &met)];
        if !matches!(met, Met::BrokenSetup) {
            let seen = results(self.session.connection.as_mut(), &queries);
            let again = verdict(&queries, &seen);
            if let Some((query, error)) = self.ended_in(&again) {
                return self.suspect(round, case, at, query, &error, report);
            }
            let connection = self.session.connection.as_mut();
            // Within the tolerance of floats, or a difference that did not come again.
            if again == Replay::Equal && differs_in_hash(connection, &queries) {
                return Ok(Outcome::Pass);
            }
            runs.push(SeenRun { what: "again, on the same database".to_owned(), results: seen, sql: None });
            if again == Replay::Equal {
                return self.flaky(round, case, at, &statements, (met, runs), "did not repeat in place");
            }
        }
        let (fresh, seen) = replay_seen(self.session.connection.as_mut(), &statements, &queries);
        if let Some((query, error)) = self.ended_in(&fresh) {
            return self.suspect(round, case, at, query, &error, report);
        }
        let connection = self.session.connection.as_mut();
        runs.push(SeenRun { what: "on a database made anew".to_owned(), results: seen, sql: None });
        let (kind, involved) = match &fresh {
            Replay::Different { pair } => (FindingKind::WrongResult, vec![pair.0, pair.1]),
            Replay::Broken { query, error } => (error.class.into(), query.iter().copied().collect()),
            Replay::Equal | Replay::Void(_) => {
                return self.flaky(round, case, at, &statements, (met, runs), "did not repeat on a fresh database");
            }
        };
        let claims = if kind == FindingKind::WrongResult { round.claims(case, &involved) } else { Vec::new() };
        if let Some(claim) = broken_claim(connection, &claims) {
            // What is not the same twice is no wrong result; but the engine or the expression is, and somebody should look.
            if let Some(twice) = unrepeated(connection, &claim.sql) {
                let (sql, what) = (claim.sql.clone(), "one query, run twice".to_owned());
                runs.push(SeenRun { what, results: twice.map(QueryResult::Rows).into(), sql: Some(sql) });
                let why = "a query gives other rows the second time";
                return self.flaky(round, case, at, &statements, (met, runs), why);
            }
            let claim = claim.text.split_once(':').map_or(claim.text.as_str(), |(claim, _)| claim);
            return Ok(Outcome::Skipped(format!("a claim does not hold: {claim}")));
        }
        let class = blamed(round, case, &involved).to_owned();
        let mut written = false;
        let group = (class, kind);
        let max = self.config.findings_per_class_max;
        if self.reduced.get(&group).copied().unwrap_or_default() < max {
            let unreduced = self.finding(round, case, at, kind, &statements, &involved);
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
                return self.flaky(round, case, at, &statements, (met, runs), "did not repeat in a new process");
            }
            *self.reduced.entry(group).or_default() += 1;
            // Reducing takes a while and may end the process: what is known already is on disk meanwhile.
            let early = PathBuf::from(self.write(&unreduced, &self.config.out_dir)?.dir);
            let mut finding = self.reduce(round, case, at, kind, statements, involved);
            // What was reduced in this process may show in it only.
            if finding.id != unreduced.id && !self.comes_again(&finding, at)? {
                finding = unreduced;
                let connection = self.session.connection.as_mut();
                if let Ok(failed) = make(connection, &finding.statements) {
                    finding.refused = Some(failed.into_iter().map(|(at, _)| at).collect());
                    note_results(connection, &mut finding.queries);
                }
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

    /// Whether a finding shows in a new process.
    fn comes_again(&mut self, finding: &Finding, at: At) -> io::Result<bool> {
        let scratch = self.config.recorder.with_extension("replay.json");
        let recorder = &mut self.recorder;
        let hang_after = Duration::from_millis(HANG_MS);
        comes_again(finding, &self.config.data_dir, &scratch, hang_after, &mut || {
            recorder.note(at.block, u64::from(at.case), 0);
        })
    }

    /// What the queries of the present case did when the failure was met.
    fn first_run(&self, queries: &[Run], met: &Met) -> SeenRun {
        let mut results = vec![QueryResult::None; queries.len()];
        if !matches!(met, Met::BrokenSetup) {
            self.ran.iter().zip(&self.bags).for_each(|(at, bag)| results[*at] = (*bag).into());
        }
        if let Met::Error(number, error) = met {
            results[*number] = QueryResult::Error(error.clone());
        }
        SeenRun { what: "in the hunt".to_owned(), results, sql: None }
    }

    /// The query, if it was one, and the error, if a shared server ended in a replay.
    fn ended_in(&self, replay: &Replay) -> Option<(Option<usize>, EngineError)> {
        match replay {
            Replay::Broken { query, error } if self.shared && error.class == ErrorClass::Crash => {
                Some((*query, error.clone()))
            }
            _ => None,
        }
    }

    /// A shared server ended while a case ran: that is all that can be said here.
    fn suspect(
        &mut self,
        round: &dyn Round,
        case: &TestCase,
        at: At,
        query: Option<usize>,
        error: &EngineError,
        report: Reporter,
    ) -> io::Result<Outcome> {
        let queries: Vec<usize> = query.map_or_else(Vec::new, |query| (0..=query).collect());
        let mut suspect = self.finding(round, case, at, FindingKind::Crash, &statements(round, at.case), &queries);
        if let Some(last) = suspect.queries.last_mut() {
            last.result = QueryResult::Error(error.clone());
        }
        server_ended(error, Some(suspect), report).map(|()| Outcome::Pass)
    }

    fn flaky(
        &mut self,
        round: &dyn Round,
        case: &TestCase,
        at: At,
        statements: &[String],
        (met, runs): (Met, Vec<SeenRun>),
        why: &str,
    ) -> io::Result<Outcome> {
        let queries: Vec<usize> = (0..case.queries().len()).collect();
        let mut finding = self.finding(round, case, at, FindingKind::WrongResult, statements, &queries);
        finding.runs = runs;
        if let Met::Error(number, error) = met {
            finding.kind = error.class.into();
            finding.queries[number].result = QueryResult::Error(error);
            finding.seal();
        }
        self.write(&finding, &self.config.out_dir.join(FLAKY))?;
        Ok(Outcome::Warning(format!("flaky: {why}")))
    }

    fn reduce(
        &mut self,
        round: &dyn Round,
        case: &TestCase,
        at: At,
        kind: FindingKind,
        statements: Vec<String>,
        involved: Vec<usize>,
    ) -> Finding {
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
            round,
            statements,
            protected,
            keeps: &mut keeps,
            case: case.clone(),
            kind,
            queries: involved,
            attempts: REDUCE_ATTEMPTS_MAX,
            tick: &mut || recorder.note(at.block, u64::from(at.case), 0),
            until: self.until,
        };
        reduction.run();
        let Reduction { statements, case, queries, .. } = reduction;
        let mut finding = self.finding(round, &case, at, kind, &statements, &queries);
        finding.reduced = true;
        let connection = self.session.connection.as_mut();
        // With the settings that it has, and none of a session before.
        let renewed = connection.renew().is_ok();
        if kind == FindingKind::WrongResult {
            let runs: Vec<Run> = finding.queries.iter().map(Run::from).collect();
            let until = self.until;
            let in_time = move |_: &&_| until.is_none_or(|until| clock::now() < until);
            let switches = self.session.capabilities.switches.iter().map(AsRef::as_ref).take_while(in_time);
            let mut tick = || self.recorder.note(at.block, u64::from(at.case), 0);
            finding.cured_by = cured_by(connection, &statements, &runs, switches, &mut tick);
        }
        if renewed && let Ok(failed) = make(connection, &statements) {
            finding.refused = Some(failed.into_iter().map(|(at, _)| at).collect());
            note_results(connection, &mut finding.queries);
        }
        finding.seal();
        finding
    }

    fn finding(
        &self,
        round: &dyn Round,
        case: &TestCase,
        at: At,
        kind: FindingKind,
        statements: &[String],
        queries: &[usize],
    ) -> Finding {
        let class = blamed(round, case, queries).to_owned();
        let queries: Vec<FindingQuery> = queries
            .iter()
            .map(|q| &case.queries()[*q])
            .map(|q| FindingQuery {
                member: q.member + 1,
                context: round.context(q).map(str::to_owned),
                before: q.before.clone(),
                sql: q.sql.clone(),
                parameters: q.parameters.clone(),
                after: q.after.clone(),
                switch: q.switch.as_deref().cloned(),
                optional: q.optional,
                result: QueryResult::None,
            })
            .collect();
        let texts = statements.iter().chain(queries.iter().flat_map(|q| q.before.iter().chain([&q.sql])));
        let texts = texts.map(String::as_str);
        let mut features = features(texts);
        if queries.iter().any(|q| q.switch.is_some()) {
            features.push("optimizer switch".to_owned());
        }
        let mut finding = Finding {
            id: String::new(),
            kind,
            oracle: round.oracle().to_owned(),
            class,
            dbms: self.config.dbms.clone(),
            version: self.session.version.clone(),
            build_id: self.session.build_id.clone(),
            seed: self.config.seed,
            block: at.block,
            case: u64::from(at.case),
            statements: statements.to_vec(),
            queries,
            fillings: case.fills.iter().map(Fill::describe).collect(),
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
        for block in 0..blocks {
            let round = oracles.round(&mut stream(self.config.seed, &[DATABASE_STREAM, block]));
            let mut case = TestCase::default();
            let mut queries = Vec::new();
            for number in 0..CASES_PER_EPOCH {
                round.case(&mut stream(self.config.seed, &[CASE_STREAM, block, u64::from(number)]), &mut case);
                let plain = case.queries().iter().filter(|q| q.switch.is_none() && q.before.is_empty());
                queries.extend(plain.map(|q| q.sql.clone()));
            }
            work.push((round.epochs()[0].clone(), queries));
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
        let round = oracles.round(&mut stream(self.config.seed, &[DATABASE_STREAM, block]));
        let mut test = TestCase::default();
        round.case(&mut stream(self.config.seed, &[CASE_STREAM, block, u64::from(case)]), &mut test);
        let end = query.map_or(usize::MAX, |query| query + 1).min(test.queries().len());
        let queries: Vec<usize> = (0..end).collect();
        let statements = statements(round.as_ref(), case);
        self.finding(round.as_ref(), &test, At { block, case }, FindingKind::Crash, &statements, &queries)
    }
}

/// Reports that a shared server ended. This executor ends with it: the supervisor waits for the server.
fn server_ended(error: &EngineError, suspect: Option<Finding>, report: Reporter) -> io::Result<()> {
    report(Report::ServerEnded { message: error.message.clone(), suspect: suspect.map(Box::new) })?;
    Err(io::Error::other(error.message.clone()))
}

/// What went wrong at first.
enum Met {
    /// A statement that makes the database broke the engine.
    BrokenSetup,
    /// Results differ.
    Difference,
    /// A query of the case broke the engine.
    Error(usize, EngineError),
}

/// The batch of set-up statements that a case comes after.
fn epoch_of(case: u32, round: &dyn Round) -> usize {
    ((case / CASES_PER_EPOCH) as usize).min(round.epochs().len().saturating_sub(1))
}

/// All statements that make the database of a case.
fn statements(round: &dyn Round, case: u32) -> Vec<String> {
    round.epochs()[..=epoch_of(case, round)].concat()
}

/// Whether the results, equal under the rules of comparison, have different hashes: floats within the tolerance.
fn differs_in_hash(connection: &mut dyn Connection, queries: &[Run]) -> bool {
    let mut hashes = queries.iter().filter_map(|query| match query.hash(connection) {
        Err(error) if query.may_fail(&error) => None,
        result => Some(result.ok()),
    });
    let first = hashes.next().flatten();
    hashes.any(|hash| hash != first)
}

/// The class that a failure of these queries of a case counts for.
fn blamed<'a>(round: &'a dyn Round, case: &TestCase, queries: &[usize]) -> &'a str {
    let queries: Vec<&TestQuery> = queries.iter().map(|at| &case.queries()[*at]).collect();
    round.blamed(&queries)
}

/// A hash of everything a case runs, so that two campaigns can be compared case by case in any order.
fn digest(at: At, round: &dyn Round, case: &TestCase) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write_u64(at.block);
    hash.write_u32(at.case);
    if at.case.is_multiple_of(CASES_PER_EPOCH) {
        for statement in round.epochs().iter().flatten() {
            hash.write(statement.as_bytes());
        }
    }
    for query in case.queries() {
        query.before.iter().chain(&query.parameters).for_each(|text| hash.write(text.as_bytes()));
        hash.write(query.sql.as_bytes());
        hash.write(query.switch.as_ref().map_or("", |switch| &switch.name).as_bytes());
    }
    hash.finish()
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
