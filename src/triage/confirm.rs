//! Confirmation: a difference is reported only after it happened again on a fresh database, and after every claim the
//! case rests on held on the case's own data.

use crate::compare::{BagHash, Comparison, Row, compare};
use crate::dbms::{Connection, EngineError, ErrorClass, with_switch};
use crate::oracle::{Claim, Expected, TestQuery};
use crate::sql::profile::Switch;
use crate::sql::types::{SqlType, Value};
use crate::triage::finding::{FindingQuery, QueryResult};

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
    match build(connection, statements) {
        Err(error) if error.class.is_finding() => return Replay::Broken { query: None, error },
        Err(error) => return Replay::Void(error),
        Ok(()) => {}
    }
    run(connection, queries)
}

/// Makes the database; only what is a finding by itself, or a lost connection, is an error.
pub fn build(connection: &mut dyn Connection, statements: &[String]) -> Result<(), EngineError> {
    connection.reset()?;
    for statement in statements {
        if let Err(error) = connection.execute(statement)
            && ends_the_engine(&error)
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Runs the queries on the present database and compares.
pub fn run(connection: &mut dyn Connection, queries: &[Run]) -> Replay {
    let mut results = Vec::new();
    let mut ran = Vec::new();
    for (at, query) in queries.iter().enumerate() {
        match query.rows(connection) {
            Ok(rows) => {
                results.push(rows);
                ran.push(at);
            }
            Err(error) if error.class.is_finding() => return Replay::Broken { query: Some(at), error },
            Err(error) if query.may_fail(&error) => {}
            Err(error) => return Replay::Void(error),
        }
    }
    match disagreement(&results) {
        None => Replay::Equal,
        Some((one, other)) => Replay::Different { pair: (ran[one], ran[other]) },
    }
}

/// A query that agrees with most, and one that disagrees with it.
fn disagreement(rows: &[Vec<Row>]) -> Option<(usize, usize)> {
    let equal = |a: usize, b: usize| compare(&rows[a], &rows[b]) == Comparison::Equal;
    let friends = |a: usize| (0..rows.len()).filter(|b| equal(a, *b)).count();
    // The first of the best connected, so that the choice does not depend on anything else.
    let majority = (0..rows.len()).max_by_key(|a| (friends(*a), std::cmp::Reverse(*a)))?;
    (0..rows.len()).find(|b| !equal(majority, *b)).map(|outlier| (majority, outlier))
}

/// The first claim that does not hold on the present database, or cannot be checked.
pub fn broken_claim<'a>(connection: &mut dyn Connection, claims: &'a [Claim]) -> Option<&'a Claim> {
    claims.iter().find(|claim| !holds(connection, claim))
}

/// Whether a query gives the same rows twice, or is refused.
pub fn repeats(connection: &mut dyn Connection, sql: &str) -> bool {
    match (connection.rows(sql), connection.rows(sql)) {
        (Ok(first), Ok(second)) => compare(&first, &second) == Comparison::Equal,
        _ => true,
    }
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
        let row = |i| vec![vec![Value::Int(i)]];
        assert_eq!(disagreement(&[row(1), row(1), row(1)]), None);
        assert_eq!(disagreement(&[row(1), row(2), row(2)]), Some((1, 0)));
        assert_eq!(disagreement(&[row(2), row(2), row(1)]), Some((0, 2)));
        assert_eq!(disagreement(&[row(1), row(2)]), Some((0, 1)));
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
