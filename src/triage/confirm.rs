//! Confirmation: a difference is reported only after it happened again on a fresh database, and after every claim the
//! case rests on held on the case's own data.

use crate::compare::{BagHash, Comparison, Row, compare};
use crate::dbms::{Connection, EngineError, ErrorClass, with_switch};
use crate::oracle::{Claim, Expected, TestQuery};
use crate::sql::profile::Switch;
use crate::sql::types::{SqlType, Value};
use crate::triage::finding::{Finding, FindingQuery, QueryResult};

/// A query with what stands around it.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Its text.
    pub sql: &'a str,
    /// The optimizer switch that is turned while it runs.
    pub switch: Option<&'a Switch>,
    /// Statements that make what it reads.
    pub before: &'a [String],
    /// Statements that remove that again.
    pub after: &'a [String],
    /// Literals whose values are bound to its parameters.
    pub parameters: &'a [String],
    /// Whether the others count without it where the engine refuses it.
    pub optional: bool,
}

impl<'a> From<&'a TestQuery> for Run<'a> {
    fn from(query: &'a TestQuery) -> Self {
        let TestQuery { sql, switch, member: _, before, after, parameters, optional } = query;
        Self { sql, switch: switch.as_deref(), before, after, parameters, optional: *optional }
    }
}

impl<'a> From<&'a FindingQuery> for Run<'a> {
    fn from(query: &'a FindingQuery) -> Self {
        let FindingQuery { sql, switch, before, after, parameters, optional, .. } = query;
        Self { sql, switch: switch.as_ref(), before, after, parameters, optional: *optional }
    }
}

impl Run<'_> {
    /// Runs what stands before the query, gives the connection to `work`, and runs what stands after it.
    pub fn with<T>(
        &self,
        connection: &mut dyn Connection,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let made = self.before.iter().try_for_each(|statement| connection.execute(statement));
        let result = made.and_then(|()| with_switch(connection, self.switch, work));
        if result.as_ref().err().is_some_and(ends_the_engine) {
            return result;
        }
        // What was not made cannot be removed.
        let removed = self.after.iter().map(|statement| connection.execute(statement));
        match removed.filter_map(Result::err).find(ends_the_engine) {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Its rows.
    pub fn rows(&self, connection: &mut dyn Connection) -> Result<Vec<Row>, EngineError> {
        self.with(connection, |connection| connection.rows_bound(self.sql, self.parameters))
    }

    /// The hash of its rows.
    pub fn hash(&self, connection: &mut dyn Connection) -> Result<BagHash, EngineError> {
        self.with(connection, |connection| match self.parameters {
            [] => connection.query(self.sql),
            some => Ok(BagHash::of(&connection.rows_bound(self.sql, some)?)),
        })
    }

    /// Whether the others count without it after such an error.
    pub fn may_fail(&self, error: &EngineError) -> bool {
        self.optional && matches!(error.class, ErrorClass::Semantic | ErrorClass::Unsupported | ErrorClass::Data)
    }
}

/// Whether an error is a finding by itself, or there is no connection any more.
fn ends_the_engine(error: &EngineError) -> bool {
    error.class.is_finding() || error.class == ErrorClass::ConnectionLost
}

/// What running the queries of a case on a fresh database showed.
#[derive(Debug, Clone, PartialEq)]
pub enum Replay {
    /// All results are equal.
    Equal,
    /// Two queries disagree.
    Different {
        /// Positions of a query of the majority and of one that disagrees with it.
        pair: (usize, usize),
    },
    /// A query or set-up statement broke the engine: an internal error, a crash or a hang.
    Broken {
        /// Its position; `None` for a set-up statement.
        query: Option<usize>,
        /// What it reported.
        error: EngineError,
    },
    /// A query failed otherwise, which voids the case.
    Void(EngineError),
}

/// Builds the database afresh and runs the queries. Set-up statements that fail are left out, as they were before.
pub fn replay(connection: &mut dyn Connection, statements: &[String], queries: &[Run]) -> Replay {
    replay_seen(connection, statements, queries).0
}

/// The same, with what each query did.
pub fn replay_seen(
    connection: &mut dyn Connection,
    statements: &[String],
    queries: &[Run],
) -> (Replay, Vec<QueryResult>) {
    let none = || vec![QueryResult::None; queries.len()];
    match build(connection, statements) {
        Err(error) if error.class.is_finding() => (Replay::Broken { query: None, error }, none()),
        Err(error) => (Replay::Void(error), none()),
        Ok(()) => {
            let seen = results(connection, queries);
            (verdict(queries, &seen), seen)
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

/// Runs a finding on a target that may be another than the one it was found on, and says what its queries returned. What
/// does not get the database that it was found on shows nothing: only what breaks the engine counts then.
pub fn replay_finding(connection: &mut dyn Connection, finding: &Finding) -> (Replay, Vec<QueryResult>) {
    let none = vec![QueryResult::None; finding.queries.len()];
    let failed = match make(connection, &finding.statements) {
        Ok(failed) => failed,
        Err(error) if error.class.is_finding() => return (Replay::Broken { query: None, error }, none),
        Err(error) => return (Replay::Void(error), none),
    };
    let queries: Vec<Run> = finding.queries.iter().map(Run::from).collect();
    let seen = results(connection, &queries);
    let expected = |at: &usize| match &finding.refused {
        Some(refused) => refused.contains(at),
        None => connection.build_id() == finding.build_id,
    };
    let void = |what: String, error: &EngineError| {
        let message = format!("{what}: {}", error.message);
        Replay::Void(EngineError { class: error.class, code: error.code.clone(), message })
    };
    let verdict = match (verdict(&queries, &seen), failed.iter().find(|(at, _)| !expected(at))) {
        (broken @ Replay::Broken { .. }, _) => broken,
        (_, Some((at, error))) => void(format!("set-up fails here, at `{}`", finding.statements[*at]), error),
        (Replay::Void(error), None) => void("a query fails here".to_owned(), &error),
        (seen, None) => seen,
    };
    (verdict, seen)
}

/// What each query does on the present database, up to one that voids the case.
pub fn results(connection: &mut dyn Connection, queries: &[Run]) -> Vec<QueryResult> {
    let mut results = vec![QueryResult::None; queries.len()];
    for (result, query) in results.iter_mut().zip(queries) {
        match query.rows(connection) {
            Ok(rows) => *result = QueryResult::Rows(rows),
            Err(error) => {
                let goes_on = query.may_fail(&error);
                *result = QueryResult::Error(error);
                if !goes_on {
                    break;
                }
            }
        }
    }
    results
}

/// What the results of queries mean.
pub fn verdict(queries: &[Run], results: &[QueryResult]) -> Replay {
    let mut rows = Vec::new();
    let mut ran = Vec::new();
    for (at, (query, result)) in queries.iter().zip(results).enumerate() {
        match result {
            QueryResult::Rows(some) => {
                rows.push(some.as_slice());
                ran.push(at);
            }
            QueryResult::Error(error) if error.class.is_finding() => {
                return Replay::Broken { query: Some(at), error: error.clone() };
            }
            QueryResult::Error(error) if !query.may_fail(error) => return Replay::Void(error.clone()),
            QueryResult::Error(_) | QueryResult::Hash { .. } | QueryResult::None => {}
        }
    }
    match disagreement(&rows) {
        None => Replay::Equal,
        Some((one, other)) => Replay::Different { pair: (ran[one], ran[other]) },
    }
}

/// A query that agrees with most, and one that disagrees with it.
fn disagreement(rows: &[&[Row]]) -> Option<(usize, usize)> {
    let equal = |a: usize, b: usize| compare(rows[a], rows[b]) == Comparison::Equal;
    let friends = |a: usize| (0..rows.len()).filter(|b| equal(a, *b)).count();
    // The first of the best connected, so that the choice does not depend on anything else.
    let majority = (0..rows.len()).max_by_key(|a| (friends(*a), std::cmp::Reverse(*a)))?;
    (0..rows.len()).find(|b| !equal(majority, *b)).map(|outlier| (majority, outlier))
}

/// The first claim that does not hold on the present database, or cannot be checked.
pub fn broken_claim<'a>(connection: &mut dyn Connection, claims: &'a [Claim]) -> Option<&'a Claim> {
    claims.iter().find(|claim| !holds(connection, claim))
}

/// The rows of a query the first and the second time, if they differ.
pub fn unrepeated(connection: &mut dyn Connection, sql: &str) -> Option<[Vec<Row>; 2]> {
    let (Ok(first), Ok(second)) = (connection.rows(sql), connection.rows(sql)) else { return None };
    (compare(&first, &second) != Comparison::Equal).then_some([first, second])
}

fn holds(connection: &mut dyn Connection, claim: &Claim) -> bool {
    // Twice: a snippet that is not deterministic breaks every claim.
    let (Ok(first), Ok(second)) = (connection.rows(&claim.sql), connection.rows(&claim.sql)) else { return false };
    if compare(&first, &second) != Comparison::Equal {
        return false;
    }
    let value_per_row = || {
        let count = i64::try_from(first.len()).unwrap_or(i64::MAX);
        first.iter().all(|row| row.get(1) == Some(&Value::Int(count)))
    };
    match &claim.expected {
        Expected::RowCount => value_per_row(),
        Expected::Type(ty) => {
            let ty = *ty;
            value_per_row()
                && is_declared(connection, &claim.sql, ty)
                && first.iter().all(|row| row.first().is_some_and(|v| v.is_of(ty)))
        }
        Expected::NoRows => first.is_empty(),
        Expected::Null => first.iter().all(|row| row.first() == Some(&Value::Null)),
        Expected::Same(other) => {
            let Ok(rows) = connection.rows(other) else { return false };
            // As they are printed, and not as they compare: the sign of a zero and the type of a value count.
            let exactly = |rows: &[Row]| {
                let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
                rows.sort();
                rows
            };
            exactly(&first) == exactly(&rows)
                && connection.types(&claim.sql).is_ok_and(|types| connection.types(other) == Ok(types))
        }
    }
}

/// Whether a query's first column is declared of the type, where columns of queries are. Truth values may be numbers.
fn is_declared(connection: &mut dyn Connection, sql: &str, ty: SqlType) -> bool {
    match connection.types(sql) {
        Ok(None) => true,
        Ok(Some(types)) => match types.first() {
            Some(Some(declared)) => *declared == ty || (ty == SqlType::Boolean && *declared == SqlType::Int),
            _ => false,
        },
        Err(_) => false,
    }
}

/// Runs every query of a finding and notes what it did.
pub fn note_results(connection: &mut dyn Connection, queries: &mut [FindingQuery]) {
    for query in queries {
        query.result = match Run::from(&*query).rows(connection) {
            Ok(rows) => QueryResult::Rows(rows),
            Err(error) => QueryResult::Error(error),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;

    #[test]
    fn the_minority_is_the_outlier() {
        let (one, two) = (&[vec![Value::Int(1)]][..], &[vec![Value::Int(2)]][..]);
        assert_eq!(disagreement(&[one, one, one]), None);
        assert_eq!(disagreement(&[one, two, two]), Some((1, 0)));
        assert_eq!(disagreement(&[two, two, one]), Some((0, 2)));
        assert_eq!(disagreement(&[one, two]), Some((0, 1)));
    }

    #[test]
    fn rows_are_the_same_by_value_and_type() {
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let mut holds = |one: &str, other: &str| {
            let expected = Expected::Same(format!("SELECT {other}"));
            let claim = Claim { text: String::new(), sql: format!("SELECT {one}"), expected };
            broken_claim(&mut connection, &[claim]).is_none()
        };
        assert!(holds("1, 'a', NULL, 1.5", "1, 'a', NULL, 1.5"));
        assert!(holds("1 UNION ALL SELECT 2", "2 UNION ALL SELECT 1"));
        for (one, other) in [
            ("1", "1.0"),
            ("1.5", "1.5000000000001"),
            ("'a'", "x'61'"),
            ("1", "1 UNION ALL SELECT 1"),
            ("1", "nothing"),
        ] {
            assert!(!holds(one, other) && !holds(other, one), "{one}, {other}");
        }
    }
}
