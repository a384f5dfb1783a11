//! A finding run again, on a target that may be another than the one it was found on.

use super::finding::Finding;
use crate::dbms::{Connection, EngineError};
use crate::interpret::{StepResult, Verdict, make, results, verdict};
use crate::program::Step;
use crate::sql::profile::Profile;

/// Runs a finding, and says what its queries returned. What does not get the database that it was found on shows nothing:
/// only what breaks the engine counts then.
pub fn replay_finding(
    connection: &mut dyn Connection,
    profile: &Profile,
    finding: &Finding,
) -> (Verdict, Vec<StepResult>) {
    let none = vec![StepResult::None; finding.queries.len()];
    let failed = match make(connection, &finding.statements) {
        Ok(failed) => failed,
        Err(error) if error.class.is_finding() => return (Verdict::Broken { step: None, error }, none),
        Err(error) => return (Verdict::Void(error), none),
    };
    let steps: Vec<Step> = finding.queries.iter().map(|query| query.step.clone()).collect();
    let seen = results(connection, profile, &steps);
    let expected = |at: &usize| match &finding.refused {
        Some(refused) => refused.contains(at),
        None => connection.build_id() == finding.build_id,
    };
    let void = |what: String, error: &EngineError| {
        let message = format!("{what}: {}", error.message);
        Verdict::Void(EngineError { class: error.class, code: error.code.clone(), message })
    };
    let verdict = match (verdict(&steps, &finding.checks(), &seen), failed.iter().find(|(at, _)| !expected(at))) {
        (broken @ Verdict::Broken { .. }, _) => broken,
        (_, Some((at, error))) => void(format!("set-up fails here, at `{}`", finding.statements[*at]), error),
        (Verdict::Void(error), None) => void("a query fails here".to_owned(), &error),
        (seen, None) => seen,
    };
    (verdict, seen)
}
