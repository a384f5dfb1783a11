//! What becomes of a case that failed: repeated, checked, reduced, and written down.

use super::executor::{CaseId, Executor, Reporter, nanos, statements};
use super::protocol::Report;
use super::replay::{comes_again, shows_on};
use super::run::{Origins, Tested};
use super::session::keeps_its_promises;
use super::stats::{LIMITED, Outcome};
use crate::clock;
use crate::compare::BagHash;
use crate::config::{FINDINGS_PER_BUG_MAX, HANG_MS, REDUCE_ATTEMPTS_MAX};
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::interpret::{
    self, StepResult, Verdict, all_results, broken_assumption, make, may_fail, results, unrepeated, verdict,
};
use crate::oracle::Use;
use crate::program::{Program, Step, Text};
use crate::triage::blunt::Blunt;
use crate::triage::cause::{Cause, Laboratory};
use crate::triage::features::features;
use crate::triage::finding::{self, FLAKY, Finding, FindingKind, FindingQuery, FoundReport, SeenRun};
use crate::triage::known::known;
use crate::triage::limits::{Limit, Limits};
use crate::triage::meaning;
use crate::triage::part::Part;
use crate::triage::plain::{CHANGES, Change, plainer};
use crate::triage::reduce::Reduction;
use crate::triage::selfcheck::SelfCheck;
use crate::triage::shape::shape;
use crate::triage::symptom::Symptom;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a report says of queries that became simpler than any members are.
const REWORDED: &str = "The queries are the two members made simpler, step by step; after each step the prover has shown \
                        that they are equivalent.";

impl Executor {
    /// Looks into a failure; see [`Self::look_into`].
    pub(super) fn examine(&mut self, tested: Tested, met: Trigger, report: Reporter) -> io::Result<Outcome> {
        let started = clock::now();
        let profile = self.session.profile.clone();
        let unsure = |step: &Step| step.evaluation.as_ref().is_some_and(|e| !e.is_sure(step.sql.sql(), &profile));
        let outcome = if tested.program.steps().iter().any(unsure) {
            Ok(Outcome::Skipped(ErrorClass::Unfit.to_string()))
        } else {
            self.look_into(tested, met, report)
        };
        self.stats.failures_ns += nanos(started.elapsed());
        outcome
    }

    /// Repeats a failure in place, if it was of the case's queries, and on a fresh database, checks what the case rests on,
    /// repeats it in a new process, reduces and reports.
    fn look_into(&mut self, tested: Tested, met: Trigger, report: Reporter) -> io::Result<Outcome> {
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
        // A number that the engine gives a row may be any.
        let changes: Vec<usize> = part.involved().into_iter().filter(|at| wrong && steps[*at].undone).collect();
        if !changes.is_empty() {
            let connection = self.session.connection.as_mut();
            let (_, twice) = interpret::run(connection, &profile, &statements, steps, checks);
            if changes.iter().any(|at| !same_rows(&seen[*at], &twice[*at])) {
                runs.push(SeenRun { what: "on one made anew once more".to_owned(), results: twice, sql: None });
                return self.flaky(tested, &statements, (met, runs), "a statement leaves other rows the second time");
            }
        }
        let class = tested.blamed(&part).to_owned();
        let group = (class, kind);
        let max = self.config.spec.limits.findings_per_class_max;
        let vanished = self.vanished.get(&group).copied().unwrap_or_default();
        if vanished >= max {
            return Ok(Outcome::Warning(
                "flaky: like others that did not repeat in a new process, not tried".to_owned(),
            ));
        }
        let has_enough = self.config.spec.limits.bugs_max.is_some_and(|max| self.news >= max);
        if has_enough || !self.watched.entry(group.clone()).or_default().is_due(max) {
            // What the limits keep from being written stays visible in the summary.
            return Ok(Outcome::Repeated(format!("{kind}, one of many: not looked at")));
        }
        report(Report::Reducing(true))?;
        let outcome = self.reduce_and_keep(tested, (met, runs), (&symptom, part, statements), group, report)?;
        report(Report::Reducing(false))?;
        Ok(outcome)
    }

    /// Repeats a failure in a new process, reduces and reports it.
    fn reduce_and_keep(
        &mut self,
        tested: Tested,
        (met, mut runs): (Trigger, Vec<SeenRun>),
        (symptom, part, statements): (&Symptom, Part, Vec<String>),
        group: (String, FindingKind),
        report: Reporter,
    ) -> io::Result<Outcome> {
        let at = tested.at;
        let unreduced = self.finding(tested, symptom.kind, &statements, &part);
        if !self.comes_again(&unreduced, at)? {
            *self.vanished.entry(group).or_default() += 1;
            let what = "in a process of its own: it did not show".to_owned();
            runs.push(SeenRun { what, results: Vec::new(), sql: None });
            return self.flaky(tested, &statements, (met, runs), "did not repeat in a new process");
        }
        let also_on = self.shows_on_other(&unreduced, at)?;
        // Reducing takes a while and may end the process: what is known already is on disk meanwhile.
        let early = PathBuf::from(self.write(&unreduced, &self.config.environment.out_dir)?.dir);
        let mut finding = self.reduce(tested, symptom, statements, part);
        // What was reduced in this process may show in it only.
        if finding.id != unreduced.id && !self.comes_again(&finding, at)? {
            finding = unreduced.clone();
            self.note_results(&mut finding);
        }
        // Reduced, it may be a bug that the other target has too.
        if also_on.is_none() && finding.id != unreduced.id && self.shows_on_other(&finding, at)?.is_some() {
            finding = unreduced;
            self.note_results(&mut finding);
        }
        finding.cause.also_on = also_on;
        self.let_it_check_itself(&mut finding, at);
        finding::remove(&early)?;
        self.keep(&finding, group, report)
    }

    /// Counts a finding of a class and kind, and reports it if there are not enough of its bug.
    fn keep(&mut self, finding: &Finding, group: (String, FindingKind), report: Reporter) -> io::Result<Outcome> {
        let max = self.config.spec.limits.findings_per_class_max;
        let kept = self.kept.entry(finding.fingerprint()).or_default();
        *kept += 1;
        let (first, few) = (*kept == 1, *kept <= FINDINGS_PER_BUG_MAX.min(max));
        let is_known = finding.cause.also_on.is_some()
            || known(&self.known_bugs, &self.session.profile.name, finding, &clock::today()).is_some();
        if first && !is_known {
            self.watched.entry(group).or_default().is_news();
            self.news += 1;
        }
        for limit in finding.limits.reached() {
            self.stats.messages.count(LIMITED, &limit.to_string());
        }
        if few {
            report(Report::Found(self.write(finding, &self.config.environment.out_dir)?))?;
        }
        let kind = finding.kind;
        Ok(match (is_known, few) {
            (true, _) => Outcome::Repeated(format!("{kind}, known")),
            (false, true) => Outcome::Fail(kind.to_string()),
            (false, false) => Outcome::Repeated(format!("{kind}, of a bug that has enough findings")),
        })
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

    /// Makes a finding's database, and notes which of its statements fail, what its queries do and, of a wrong result, by
    /// which plans.
    fn note_results(&mut self, finding: &mut Finding) {
        let profile = self.session.profile.clone();
        let connection = self.session.connection.as_mut();
        let Ok(failed) = make(connection, &finding.statements) else { return };
        finding.refused = Some(failed.into_iter().map(|(at, _)| at).collect());
        let steps: Vec<Step> = finding.queries.iter().map(|query| query.step.clone()).collect();
        let results = all_results(connection, &profile, &steps);
        finding.queries.iter_mut().zip(results).for_each(|(query, result)| query.result = result);
        if finding.kind == FindingKind::WrongResult {
            let rows: Vec<_> = finding.queries.iter().map(|query| query.result.clone()).collect();
            for query in &mut finding.queries {
                query.plan = interpret::plan(connection, &profile, &query.step, &|at| rows.get(at)?.rows()).ok();
            }
        }
    }

    /// Looks for a way in which a script for the engine's own shell can say whether the bug is there.
    fn let_it_check_itself(&mut self, finding: &mut Finding, at: CaseId) {
        let (profile, until) = (self.session.profile.clone(), self.until);
        let recorder = &mut self.recorder;
        let mut tick = || {
            recorder.note(at.block, u64::from(at.case), 0);
            until.is_none_or(|until| clock::now() < until)
        };
        let connection = self.session.connection.as_mut();
        // In a session like that of the shell.
        if finding.kind == FindingKind::WrongResult && connection.renew().is_ok() {
            finding.self_check = SelfCheck::find(connection, &profile, finding, &mut tick);
        }
    }

    /// The other target of the hunt, if a finding shows there too.
    fn shows_on_other(&mut self, finding: &Finding, at: CaseId) -> io::Result<Option<String>> {
        let Some(target) = self.config.environment.against.clone() else { return Ok(None) };
        let scratch = self.config.environment.recorder.with_extension("against.json");
        let recorder = &mut self.recorder;
        let hang_after = Duration::from_millis(HANG_MS);
        let shows = shows_on(&target, finding, &self.config.environment.data_dir, &scratch, hang_after, &mut || {
            recorder.note(at.block, u64::from(at.case), 0);
        })?;
        Ok(shows.then_some(target))
    }

    /// Whether a finding shows in a new process.
    fn comes_again(&mut self, finding: &Finding, at: CaseId) -> io::Result<bool> {
        let scratch = self.config.environment.recorder.with_extension("replay.json");
        let recorder = &mut self.recorder;
        let hang_after = Duration::from_millis(HANG_MS);
        comes_again(finding, &self.config.environment.data_dir, &scratch, hang_after, &mut || {
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
    pub(super) fn suspect(
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
        self.write(&finding, &self.config.environment.out_dir.join(FLAKY))?;
        Ok(Outcome::Warning(format!("flaky: {why}")))
    }

    fn reduce(&mut self, tested: Tested, symptom: &Symptom, statements: Vec<String>, part: Part) -> Finding {
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
        let prover = &mut self.prover;
        let mut proves = |question: &str, guarantees: &BTreeSet<_>| prover.proves(question, guarantees);
        let mut reduction = Reduction {
            connection: self.session.connection.as_mut(),
            profile: &profile,
            database,
            statements,
            protected,
            keeps: &mut keeps,
            proves: &mut proves,
            reworded: false,
            case: case.clone(),
            symptom: symptom.clone(),
            part,
            attempts: REDUCE_ATTEMPTS_MAX,
            lost: false,
            limits: Limits::default(),
            tick: &mut || recorder.note(at.block, u64::from(at.case), 0),
            until: self.until,
        };
        reduction.run();
        let Reduction { statements, case, part, reworded, limits, .. } = reduction;
        let mut program = Program::default();
        case.program(&mut program);
        let part = part.within(&program);
        let mut finding = self.finding(Tested { case: &case, program: &program, ..tested }, kind, &statements, &part);
        finding.reduced = true;
        finding.limits = limits;
        if reworded {
            finding.note = Some(REWORDED.to_owned());
        }
        // With the settings that it has, and none of a session before.
        let renewed = self.session.connection.renew().is_ok();
        if renewed {
            self.note_results(&mut finding);
            if kind == FindingKind::WrongResult {
                self.write_plainly(&mut finding, at);
                self.note_results(&mut finding);
            }
        }
        match kind {
            FindingKind::WrongResult => {
                self.examine_cause(&mut finding, at);
                self.say_what_is_right(&mut finding, at);
            }
            FindingKind::InternalError => self.reduce_text(&mut finding, symptom, at),
            // What ends the process is not tried in it.
            FindingKind::Crash | FindingKind::Hang => {}
        }
        finding.conclude();
        finding.seal();
        finding
    }

    /// Leaves out of a finding's queries what a reader does not need, where every query returns without it what it returned.
    fn write_plainly(&mut self, finding: &mut Finding, at: CaseId) {
        let (profile, until) = (self.session.profile.clone(), self.until);
        let (connection, recorder) = (self.session.connection.as_mut(), &mut self.recorder);
        let mut shows = |candidate: &Finding| {
            recorder.note(at.block, u64::from(at.case), 0);
            if until.is_some_and(|until| clock::now() >= until) {
                return false;
            }
            let steps: Vec<Step> = candidate.queries.iter().map(|query| query.step.clone()).collect();
            let checks = candidate.checks.as_deref().unwrap_or_default();
            let (verdict, seen) = interpret::run(connection, &profile, &candidate.statements, &steps, checks);
            let mut results = candidate.queries.iter().map(|query| &query.result).zip(&seen);
            matches!(verdict, Verdict::Violated { .. }) && results.all(|(before, now)| same_rows(before, now))
        };
        for change in CHANGES {
            let plain: Vec<Option<Text>> =
                finding.queries.iter().map(|query| plainly(&query.step.sql, change)).collect();
            let with = |kept: &dyn Fn(usize) -> bool| {
                let mut candidate = finding.clone();
                for (at, (query, plain)) in candidate.queries.iter_mut().zip(&plain).enumerate() {
                    if let (Some(plain), true) = (plain, kept(at)) {
                        query.step.sql = plain.clone();
                    }
                }
                candidate
            };
            let changed: Vec<usize> = (0..plain.len()).filter(|at| plain[*at].is_some()).collect();
            let all = std::iter::once(with(&|_| true)).filter(|_| !changed.is_empty());
            let alone = changed.iter().filter(|_| changed.len() > 1).map(|at| with(&|other| other == *at));
            let found = all.chain(alone).find(&mut shows);
            if let Some(plainer) = found {
                *finding = plainer;
            }
        }
    }

    /// Does experiments on a wrong result.
    fn examine_cause(&mut self, finding: &mut Finding, at: CaseId) {
        let shape = shape(finding.texts());
        // What differs in values only hangs on the same.
        if let Some((cures, cause)) = self.causes.get(&shape) {
            (finding.cured_by, finding.cause) = (cures.clone(), cause.clone());
            return;
        }
        let (cures, cause) = self.in_laboratory(at, |laboratory| laboratory.examine(finding));
        self.causes.insert(shape, (cures.clone(), cause.clone()));
        (finding.cured_by, finding.cause) = (cures, cause);
    }

    /// Puts the query that is wrong, cut, and the rows that it must return in the place of queries that must agree, where the
    /// reference evaluator knows these rows and the query is shorter.
    fn say_what_is_right(&mut self, finding: &mut Finding, at: CaseId) {
        if self.session.connection.renew().is_ok()
            && self.in_laboratory(at, |laboratory| meaning::judge(finding, laboratory))
        {
            self.note_results(finding);
        }
    }

    /// Does experiments, as far as the time of the hunt reaches.
    fn in_laboratory<T>(&mut self, at: CaseId, experiment: impl FnOnce(&mut Laboratory) -> T) -> T {
        let (profile, until) = (self.session.profile.clone(), self.until);
        let switches = self.session.capabilities.switches.clone();
        let recorder = &mut self.recorder;
        let mut tick = || {
            recorder.note(at.block, u64::from(at.case), 0);
            until.is_none_or(|until| clock::now() < until)
        };
        let reference = match self.reference.as_mut() {
            Some(other) => {
                let name = format!("{} {}", profile.name, other.version());
                let connection: &mut dyn Connection = other.as_mut();
                Some((name, connection))
            }
            None => None,
        };
        experiment(&mut Laboratory {
            connection: self.session.connection.as_mut(),
            profile: &profile,
            reference,
            switches,
            tick: &mut tick,
        })
    }

    /// Cuts the texts of what an engine calls an internal error, as long as it is the same.
    fn reduce_text(&mut self, finding: &mut Finding, symptom: &Symptom, at: CaseId) {
        let (profile, until) = (self.session.profile.clone(), self.until);
        let (connection, recorder) = (self.session.connection.as_mut(), &mut self.recorder);
        let mut too_late = 0;
        let mut shows = |candidate: &Finding| {
            recorder.note(at.block, u64::from(at.case), 0);
            if until.is_some_and(|until| clock::now() >= until) {
                too_late += 1;
                return false;
            }
            let steps: Vec<Step> = candidate.queries.iter().map(|query| query.step.clone()).collect();
            let (verdict, _) = interpret::run(connection, &profile, &candidate.statements, &steps, &[]);
            matches!(verdict, Verdict::Broken { error, .. } if Symptom::of(&error) == *symptom)
        };
        if shows(finding) {
            let left_out = Blunt { shows: &mut shows, attempts: REDUCE_ATTEMPTS_MAX, left_out: 0 }.reduce(finding);
            finding.limits.count(Limit::Runs, left_out);
            finding.limits.count(Limit::Time, too_late);
            self.note_results(finding);
        }
    }

    pub(super) fn finding(&self, tested: Tested, kind: FindingKind, statements: &[String], part: &Part) -> Finding {
        let Tested { database, case, program, at } = tested;
        let (steps, checks) = part.cut(program);
        let queries: Vec<FindingQuery> = steps
            .into_iter()
            .map(|step| FindingQuery {
                context: case.context(&step).map(str::to_owned),
                // Members are numbered from 1 for people.
                step: Step { member: step.member + 1, ..step },
                result: StepResult::None,
                plan: None,
            })
            .collect();
        let of_queries = queries.iter().flat_map(|query| query.step.before.iter().chain([&query.step.sql]));
        let texts = statements.iter().map(String::as_str).chain(of_queries.map(Text::sql));
        let mut features = features(texts);
        if queries.iter().any(|query| query.step.switch.is_some()) {
            features.push("optimizer switch".to_owned());
        }
        let mut origins = Origins::default();
        case.uses(&mut |used| {
            if let Use::Snippet { origin, .. } = used {
                origins.is_new(origin);
            }
        });
        let mut finding = Finding {
            id: String::new(),
            kind,
            oracle: database.oracle().to_owned(),
            class: tested.blamed(part).to_owned(),
            dbms: self.config.spec.dbms.clone(),
            version: self.session.version.clone(),
            build_id: self.session.build_id.clone(),
            seed: self.config.spec.seed,
            block: at.block,
            case: u64::from(at.case),
            statements: statements.to_vec(),
            queries,
            checks: Some(checks),
            fillings: case.describe(),
            origins: origins.0,
            features,
            cured_by: Vec::new(),
            cause: Cause::default(),
            reduced: false,
            refused: None,
            runs: Vec::new(),
            note: None,
            limits: Limits::default(),
            self_check: None,
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
}

/// Whether two results have the same rows, in any order.
fn same_rows(one: &StepResult, other: &StepResult) -> bool {
    let printed = |result: &StepResult| {
        let mut rows: Vec<String> = result.rows()?.iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        Some(rows)
    };
    printed(one).is_some_and(|rows| Some(rows) == printed(other))
}

/// A text without what a change leaves out, if it has anything of it. A word stands for each hole meanwhile.
fn plainly(text: &Text, change: Change) -> Option<Text> {
    let word = |hole: usize| format!("hole_{hole}_hole");
    let mut words = String::new();
    let mut from = 0;
    for (at, hole) in text.holes().iter().enumerate() {
        words.push_str(&text.sql()[from..hole.at]);
        words.push_str(&word(at));
        from = hole.at;
    }
    words.push_str(&text.sql()[from..]);
    let plain = plainer(&words, change)?;
    let mut rest = plain.as_str();
    let mut out = Text::from("");
    for (at, hole) in text.holes().iter().enumerate() {
        let (before, after) = rest.split_once(&word(at))?;
        out.push_str(before);
        out.push_hole(hole.step, hole.fold.clone());
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Reports that a shared server ended. This executor ends with it: the supervisor waits for the server.
pub(super) fn server_ended(error: &EngineError, suspect: Option<Finding>, report: Reporter) -> io::Result<()> {
    report(Report::ServerEnded { message: error.message.clone(), suspect: suspect.map(Box::new) })?;
    Err(io::Error::other(error.message.clone()))
}

/// What went wrong at first.
pub(super) enum Trigger {
    /// A statement that makes the database broke the engine.
    BrokenSetup,
    /// Results differ.
    Difference,
    /// A query of the case broke the engine.
    Error(usize, EngineError),
}
