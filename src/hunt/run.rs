//! Running one case: its steps, the comparison of what they return, and what is noted of it.

use super::examine::Trigger;
use super::executor::{CaseId, Executor, PLAN_EVERY, Reporter};
use super::protocol::Report;
use super::stats::{GENERATOR, LEFT_OUT, Outcome};
use super::uses::Cases;
use crate::clock;
use crate::compare::{BagHash, Row};
use crate::config::{CASES_PER_EPOCH, UnsupportedSubquery};
use crate::dbms::{EngineError, ErrorClass};
use crate::interpret::{self, may_fail};
use crate::oracle::{SharedCase, TestDatabase, Use};
use crate::program::{Program, Step, Text};
use crate::triage::part::Part;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::time::Duration;

/// How often it is reported what cases were made of.
const TELL_USES_EVERY: Duration = Duration::from_millis(500);

/// A case with what it is on.
#[derive(Clone, Copy)]
pub(super) struct Tested<'a, 'd> {
    pub(super) database: &'d dyn TestDatabase,
    pub(super) case: &'a SharedCase<'d>,
    pub(super) program: &'a Program,
    pub(super) at: CaseId,
}

impl<'a, 'd: 'a> Tested<'a, 'd> {
    /// The class that a failure of a part of the case counts for.
    pub(super) fn blamed(&self, part: &Part) -> &'a str {
        let steps: Vec<&Step> = part.involved().into_iter().map(|at| &self.program.steps()[at]).collect();
        self.case.blamed(&steps).unwrap_or_else(|| self.database.class())
    }

    /// A hash of everything it runs, so that two campaigns can be compared case by case in any order.
    pub(super) fn digest(&self) -> u64 {
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

impl Executor {
    /// Runs a case and compares what its steps return.
    pub(super) fn run_case(&mut self, tested: Tested, report: Reporter) -> io::Result<Outcome> {
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

    /// Asks for the plan of a query of a case that passed: one that changes nothing, and is run as it is.
    pub(super) fn note_plan(&mut self, tested: Tested, report: Reporter) -> io::Result<()> {
        let Tested { program, at, .. } = tested;
        let is_plain = |step: &Step| {
            let alone = step.before.is_empty() && step.after.is_empty() && step.switch.is_none();
            alone && !step.undone && step.evaluation.is_none()
        };
        let plain: Vec<usize> = self.ran.iter().copied().filter(|step| is_plain(&program.steps()[*step])).collect();
        let turn = (at.case / PLAN_EVERY) as usize + usize::try_from(at.block).unwrap_or_default();
        let Some(number) = turn.checked_rem(plain.len()).map(|turn| plain[turn]) else { return Ok(()) };
        self.recorder.note(at.block, u64::from(at.case), number as u64);
        let rows = std::mem::take(&mut self.rows);
        let profile = self.session.profile.clone();
        let step = &program.steps()[number];
        let plan = self.timed(|s| {
            interpret::plan(s.connection.as_mut(), &profile, step, &|earlier| rows.get(earlier)?.as_deref())
        });
        self.rows = rows;
        match plan {
            Ok(plan) => {
                let mut hash = DefaultHasher::new();
                plan.hash(&mut hash);
                self.stats.plans.note(hash.finish());
            }
            Err(error) if self.shared && error.class == ErrorClass::Crash => {
                return self.suspect(tested, Some(number), &error, report).map(drop);
            }
            // The database is made again, and the engine reached again.
            Err(error) => self.replaced |= interpret::ends_the_engine(&error),
        }
        Ok(())
    }

    /// Counts what became of a case for what it was made of.
    pub(super) fn note_uses(&mut self, tested: Tested, outcome: &Outcome) {
        let mut cases = Cases::default();
        match outcome {
            Outcome::Pass => cases.pass = 1,
            Outcome::Skipped(_) | Outcome::Warning(_) => cases.void = 1,
            Outcome::Fail(_) | Outcome::Repeated(_) => cases.fail = 1,
        }
        let (tally, stats) = (&mut self.tally, &mut self.stats);
        tally.note_class(tested.database.class(), cases);
        let mut origins = Origins::default();
        tested.case.uses(&mut |used| {
            tally.note(used, cases);
            if let Use::Snippet { origin, .. } = used
                && origins.is_new(origin)
            {
                stats.note_origin(origin, cases);
            }
        });
        if origins.0.is_empty() {
            stats.note_origin(GENERATOR, cases);
        }
    }

    /// Reports these counts after the first block, and then now and again.
    pub(super) fn tell_uses(&mut self, report: Reporter) -> io::Result<()> {
        if self.told.is_some_and(|told| told.elapsed() < TELL_USES_EVERY) {
            return Ok(());
        }
        self.told = Some(clock::now());
        self.tell_rest(report)
    }

    /// Reports those of them that were not reported yet.
    pub fn tell_rest(&mut self, report: Reporter) -> io::Result<()> {
        report(Report::Used { build_id: self.session.build_id.clone(), counts: self.tally.take() })
    }

    /// Notes what became of a case in which one filling has a subquery.
    pub(super) fn learn(&mut self, tested: Tested, report: Reporter) -> io::Result<()> {
        let refusal = self.refusal.take();
        if self.config.spec.learned.is_none() {
            return Ok(());
        }
        let class = tested.database.class();
        if let Some(placeholder) = tested.case.only_subquery()
            && self.learning.note(class, placeholder, refusal.is_some())
        {
            let (build_id, class) = (self.session.build_id.clone(), class.to_owned());
            report(Report::UnsupportedSubquery(UnsupportedSubquery {
                build_id,
                class,
                placeholder,
                why: refusal.unwrap_or_default(),
            }))?;
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
}

/// Origins of snippets that were met, each once. There are few.
#[derive(Default)]
pub(super) struct Origins(pub(super) Vec<String>);

impl Origins {
    /// Whether it was not met before.
    pub(super) fn is_new(&mut self, origin: &str) -> bool {
        let is_new = !self.0.iter().any(|known| known == origin);
        if is_new {
            self.0.push(origin.to_owned());
        }
        is_new
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
