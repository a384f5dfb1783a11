//! The interpreter of programs: in the hunt, in confirmation, reduction, replay and bisection alike.

mod assumption;

pub use assumption::{broken_assumption, unrepeated};

use crate::compare::{BagHash, Row};
use crate::dbms::{Connection, EngineError, ErrorClass, with_switch};
use crate::plan::{self, PlanTree};
use crate::program::{Check, Effect, Step, Text, Unfit};
use crate::sql::profile::Profile;
use crate::sql::types::Value;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a step did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepResult {
    /// Its rows.
    Rows(Vec<Row>),
    /// How many rows, and a hash of them: in the hunt nothing else is kept.
    Hash {
        /// Their number.
        rows: u64,
        /// Equal for equal rows.
        hash: String,
    },
    /// It failed.
    Error(EngineError),
    /// It did not return, or was not reached.
    None,
}

impl StepResult {
    /// The rows, if there are some.
    pub fn rows(&self) -> Option<&[Row]> {
        match self {
            Self::Rows(rows) => Some(rows),
            _ => None,
        }
    }
}

impl From<BagHash> for StepResult {
    fn from(bag: BagHash) -> Self {
        Self::Hash { rows: bag.rows, hash: bag.digest() }
    }
}

/// The rows of a step, by its position, as far as it has some.
pub type Rows<'a> = &'a dyn Fn(usize) -> Option<&'a [Row]>;

/// Runs a step, whose holes are filled from these rows, and gives its rows. Where its statements change tables, its effect
/// says which these are.
pub fn rows(
    connection: &mut dyn Connection,
    profile: &Profile,
    step: &Step,
    earlier: Rows,
) -> Result<Vec<Row>, EngineError> {
    if let Some(evaluation) = &step.evaluation {
        return evaluation.rows(step.sql.sql(), profile, earlier).map_err(EngineError::from);
    }
    around(connection, profile, step, earlier, |connection, sql, changed| {
        let mut rows = match step.effect {
            Effect::Count => {
                let count = changed.last().copied().flatten().ok_or(Unfit::Uncounted)?;
                return Ok(vec![vec![Value::Int(count)]]);
            }
            Effect::Rows => Vec::new(),
            Effect::CountsAndRows => {
                let of = |count| vec![Value::Text(b"rows changed".to_vec()), Value::Int(count)];
                changed.iter().flatten().map(|count| of(*count)).collect()
            }
        };
        rows.extend(connection.rows_bound(sql, &step.parameters)?);
        Ok(rows)
    })
}

/// Runs a step and gives the hash of its rows.
pub fn hash(
    connection: &mut dyn Connection,
    profile: &Profile,
    step: &Step,
    earlier: Rows,
) -> Result<BagHash, EngineError> {
    let only_rows = !step.undone || step.effect == Effect::Rows;
    if only_rows && step.parameters.is_empty() && step.evaluation.is_none() {
        return around(connection, profile, step, earlier, |connection, sql, _| connection.query(sql));
    }
    Ok(BagHash::of(&rows(connection, profile, step, earlier)?))
}

/// The plan by which the engine would run a step's query; an error where it does not say.
pub fn plan(
    connection: &mut dyn Connection,
    profile: &Profile,
    step: &Step,
    earlier: Rows,
) -> Result<PlanTree, EngineError> {
    if step.evaluation.is_some() {
        return Err(EngineError::new(ErrorClass::Unsupported, "it is computed, not run"));
    }
    if step.effect == Effect::Count {
        return Err(EngineError::new(ErrorClass::Unsupported, "there is no query"));
    }
    let explained = around(connection, profile, step, earlier, |connection, sql, _| {
        connection.rows_bound(&plan::explain(profile, sql), &step.parameters)
    })?;
    Ok(plan::read(profile.wire, &explained))
}

/// Runs what stands before a step's query, gives the query to `work`, and runs what stands after it.
fn around<T>(
    connection: &mut dyn Connection,
    profile: &Profile,
    step: &Step,
    earlier: Rows,
    work: impl FnOnce(&mut dyn Connection, &str, &[Option<i64>]) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    if step.undone {
        connection.begin()?;
    }
    let made = prepare(connection, profile, step, earlier);
    let switch = step.switch.as_deref();
    let result = made.and_then(|changed| {
        let sql = filled(&step.sql, profile, earlier)?;
        with_switch(connection, switch, |connection| work(connection, &sql, &changed))
    });
    if result.as_ref().err().is_some_and(ends_the_engine) {
        return result;
    }
    if step.undone {
        // What could not be undone is another database than the case's.
        connection.roll_back().map_err(|error| {
            if ends_the_engine(&error) { error } else { EngineError { class: ErrorClass::ConnectionLost, ..error } }
        })?;
    }
    // What was not made cannot be removed.
    let removed = step.after.iter().map(|text| connection.execute(&filled(text, profile, earlier)?));
    match removed.filter_map(Result::err).find(ends_the_engine) {
        Some(error) => Err(error),
        None => result,
    }
}

/// Runs the statements before a step's query, up to one that fails where one must. How many rows each of them changed, where
/// they are undone and the engine says so.
fn prepare(
    connection: &mut dyn Connection,
    profile: &Profile,
    step: &Step,
    earlier: Rows,
) -> Result<Vec<Option<i64>>, EngineError> {
    let mut changed = Vec::new();
    for text in &step.before {
        let sql = filled(text, profile, earlier)?;
        if !step.undone {
            connection.execute(&sql)?;
            continue;
        }
        match connection.change(&sql) {
            Ok(count) => changed.push(count.map(|count| i64::try_from(count).unwrap_or(i64::MAX))),
            Err(error) if step.failing && error.class == ErrorClass::Data => {
                if profile.errors_end_transactions {
                    connection.roll_back()?;
                    connection.begin()?;
                }
                return Ok(changed);
            }
            Err(error) => return Err(error),
        }
    }
    if step.failing { Err(Unfit::NotFailed.into()) } else { Ok(changed) }
}

/// A text with its holes filled.
fn filled<'a>(text: &'a Text, profile: &Profile, earlier: Rows) -> Result<Cow<'a, str>, EngineError> {
    text.filled(profile, earlier).map_err(EngineError::from)
}

impl From<Unfit> for EngineError {
    fn from(unfit: Unfit) -> Self {
        Self::new(ErrorClass::Unfit, unfit.to_string())
    }
}

/// Whether the case goes on without a step after such an error.
pub fn may_fail(step: &Step, error: &EngineError) -> bool {
    let refused = [ErrorClass::Semantic, ErrorClass::Unsupported, ErrorClass::Data, ErrorClass::Unfit];
    step.optional && refused.contains(&error.class)
}

/// Whether an error is a finding by itself, or there is no connection any more.
pub fn ends_the_engine(error: &EngineError) -> bool {
    error.class.is_finding() || error.class == ErrorClass::ConnectionLost
}

/// What running a case showed.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Every check holds.
    Holds,
    /// A check does not hold.
    Violated {
        /// Its position.
        check: usize,
        /// Positions of two steps between which it does not hold: one of the majority, where there is one, and one that
        /// contradicts it.
        pair: (usize, usize),
    },
    /// A step or set-up statement broke the engine: an internal error, a crash or a hang.
    Broken {
        /// Its position; `None` for a set-up statement.
        step: Option<usize>,
        /// What it reported.
        error: EngineError,
    },
    /// A step failed otherwise, which voids the case.
    Void(EngineError),
}

/// Makes the database afresh and runs a case on it. Set-up statements that fail are left out, as they were before.
pub fn run(
    connection: &mut dyn Connection,
    profile: &Profile,
    statements: &[String],
    steps: &[Step],
    checks: &[Check],
) -> (Verdict, Vec<StepResult>) {
    let none = || vec![StepResult::None; steps.len()];
    match build(connection, statements) {
        Err(error) if error.class.is_finding() => (Verdict::Broken { step: None, error }, none()),
        Err(error) => (Verdict::Void(error), none()),
        Ok(()) => {
            let seen = results(connection, profile, steps);
            (verdict(steps, checks, &seen), seen)
        }
    }
}

/// Makes the database; only what is a finding by itself, or a lost connection, is an error.
pub fn build(connection: &mut dyn Connection, statements: &[String]) -> Result<(), EngineError> {
    make(connection, statements).map(drop)
}

/// Makes the database, and says which statements failed, by their positions.
pub fn make(connection: &mut dyn Connection, statements: &[String]) -> Result<Vec<(usize, EngineError)>, EngineError> {
    connection.reset()?;
    let mut failed = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        match connection.execute(statement) {
            Err(error) if ends_the_engine(&error) => return Err(error),
            Err(error) => failed.push((at, error)),
            Ok(()) => {}
        }
    }
    Ok(failed)
}

/// What each step does on the present database, up to one that voids the case.
pub fn results(connection: &mut dyn Connection, profile: &Profile, steps: &[Step]) -> Vec<StepResult> {
    let mut results = vec![StepResult::None; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let (earlier, rest) = results.split_at_mut(at);
        match rows(connection, profile, step, &|at| earlier.get(at)?.rows()) {
            Ok(rows) => rest[0] = StepResult::Rows(rows),
            Err(error) => {
                let goes_on = may_fail(step, &error);
                rest[0] = StepResult::Error(error);
                if !goes_on {
                    break;
                }
            }
        }
    }
    results
}

/// What each step does on the present database, whatever the others do.
pub fn all_results(connection: &mut dyn Connection, profile: &Profile, steps: &[Step]) -> Vec<StepResult> {
    let mut results: Vec<StepResult> = Vec::new();
    for step in steps {
        let result = rows(connection, profile, step, &|at| results.get(at)?.rows());
        results.push(result.map_or_else(StepResult::Error, StepResult::Rows));
    }
    results
}

/// What the results of steps mean.
pub fn verdict(steps: &[Step], checks: &[Check], results: &[StepResult]) -> Verdict {
    for (at, (step, result)) in steps.iter().zip(results).enumerate() {
        match result {
            StepResult::Error(error) if error.class.is_finding() => {
                return Verdict::Broken { step: Some(at), error: error.clone() };
            }
            StepResult::Error(error) if !may_fail(step, error) => return Verdict::Void(error.clone()),
            _ => {}
        }
    }
    let violated = |(check, of): (usize, &Check)| Some((check, of.violation(|at| results.get(at)?.rows())?));
    match checks.iter().enumerate().find_map(violated) {
        None => Verdict::Holds,
        Some((check, pair)) => Verdict::Violated { check, pair },
    }
}

#[cfg(test)]
mod tests;
