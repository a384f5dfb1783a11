//! An engine with a planted bug: SQLite with switchable wrong answers, for the self-test.
//!
//! Each fault is wrong for some forms of a query only, as a real bug is, so that members of a class disagree.

use super::{Connection, EngineError, ErrorClass};
use crate::compare::Row;
use crate::sql::profile::Switch;
use crate::sql::types::Value;
use std::borrow::Cow;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Fault {
    /// Nothing.
    None,
    /// A filtered query loses its last row.
    DropRow,
    /// A filtered query repeats its first row.
    DuplicateRow,
    /// A left join pads with 0 in place of NULL.
    NullToZero,
    /// DISTINCT and UNION let a duplicate through.
    WrongDistinct,
    /// The process ends by a signal.
    Crash,
    /// Not the engine, but the program around it, breaks.
    Panic,
    /// The statement never returns, whatever the limits.
    Hang,
    /// The engine reports that it is broken.
    InternalError,
    /// A wrong answer that does not come again.
    Flaky,
    /// A filtered query loses its last row, once the process has run many.
    WornOut,
    /// It refuses databases with a table of five rows, and queries on those with a table of more.
    Picky,
    /// An expression over literals has another value.
    WrongFolded,
    /// What CREATE TABLE AS stores is another value.
    WrongStored,
    /// An aggregate over values that CREATE TABLE AS stored is another one.
    WrongStoredAggregate,
    /// A row that is looked up by its key has another value.
    WrongByKey,
    /// A row is missing where its value is a condition.
    WrongPredicate,
    /// In place of NULL, a scan gives the value of the row before.
    PreviousRow,
    /// A sort gives bytes that nobody wrote, others each time.
    GarbageBytes,
    /// A query with a CASE over constants loses its last row.
    WrongCase,
    /// A change of a table whose condition has a subquery is not made.
    LostChange,
    /// A change of a table whose condition has a subquery gives a row a number that is another one each time; no table with
    /// foreign keys, whose actions would be the same ones each time.
    AnyNumber,
    /// Whatever returns some rows and is more than a look at a table loses the greatest of them, so that all members of a
    /// class are wrong alike.
    WrongAlike,
    /// A conjunction of conditions in parentheses gives its first row once more.
    RowTooMany,
    /// Where 1 is added to something in parentheses, the last value of each row is smaller than it should be.
    ValueTooSmall,
    /// An index lacks a row after an INSERT that updates.
    StaleIndex,
    /// A statement that fails leaves a table without some of its rows.
    HalfDone,
    /// A foreign key leaves one of the rows as it was that it should change.
    MissedAction,
    /// A trigger does not run for the last of the rows.
    MissedTrigger,
    /// MAX gives the least value, in queries and in changes alike.
    WrongMaximum,
}

/// One query in so many triggers the faults that end or stop the process, so that work precedes them.
const RARE: u64 = 400;

/// Queries after which a process is worn out: more than a replay has.
const MANY: u64 = 300;

/// The engine.
pub struct Planted<C> {
    engine: C,
    fault: Fault,
    queries: u64,
    /// Changes of tables.
    changes: u64,
    /// Rows inserted one by one since the last reset, into the table that has most.
    rows: usize,
    /// There was an INSERT that updates since the transaction began.
    upserted: bool,
}

impl<C: Connection> Planted<C> {
    /// Plants a fault in an engine.
    pub fn new(engine: C, fault: Fault) -> Self {
        Self { engine, fault, queries: 0, changes: 0, rows: 0, upserted: false }
    }

    /// The text that the engine gets. Experiments and probes are on other tables.
    fn misread<'s>(&self, sql: &'s str) -> Cow<'s, str> {
        let is_of_case = ["t1", "t2"].iter().any(|table| sql.contains(table));
        if self.fault == Fault::WrongMaximum && is_of_case { sql.replace("MAX(", "MIN(").into() } else { sql.into() }
    }

    /// Runs statements, of which any may fail.
    fn attempt(&mut self, statements: &[&str]) {
        for statement in statements {
            let _ = self.engine.execute(statement);
        }
    }

    /// Whether the fault shows for this query. It depends on the text only, so that it happens again, but for the
    /// flaky one.
    fn triggers(&mut self, sql: &str) -> bool {
        self.queries += 1;
        let starts_and = |start: &str, part: &str| sql.starts_with(start) && sql.contains(part);
        match self.fault {
            Fault::WrongFolded => return starts_and("SELECT ", ", (") && !sql.contains(" FROM "),
            Fault::WrongStored => return sql.contains(" FROM t_stored"),
            Fault::WrongStoredAggregate => return sql.contains("COUNT(") && sql.contains(" FROM t_stored"),
            Fault::WrongByKey => return starts_and("SELECT q0.k, (", " FROM t AS q0 WHERE q0.k = "),
            Fault::WrongPredicate => return sql.contains(" WHERE NOT (") && sql.contains(" UNION ALL "),
            Fault::PreviousRow => return sql.starts_with("SELECT q0.k, (") && sql.ends_with(" FROM t AS q0"),
            Fault::GarbageBytes => return sql.contains(" ORDER BY ("),
            Fault::StaleIndex => return self.upserted && sql.contains(" INDEXED BY "),
            // As a value that was folded for each row.
            Fault::WrongCase => {
                return sql.contains("CASE WHEN (") && sql.contains(" THEN CAST(") && sql.contains(" WHERE ");
            }
            _ => {}
        }
        // Probes and the validation of snippets are left alone, so that every fault meets the same cases.
        if sql.contains("snippet_") || !sql.contains(" FROM t") {
            return false;
        }
        let filtered = || sql.contains(" WHERE ") && !sql.contains("UNION ALL") && sql.starts_with("SELECT");
        let rare = || {
            let sum = sql.bytes().fold(0u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
            sum.is_multiple_of(RARE)
        };
        match self.fault {
            Fault::DropRow | Fault::DuplicateRow => filtered(),
            Fault::RowTooMany => starts_and("SELECT", ") AND ("),
            Fault::ValueTooSmall => starts_and("SELECT ", ") + 1)"),
            Fault::NullToZero => sql.contains("LEFT JOIN"),
            Fault::WrongDistinct => sql.starts_with("SELECT DISTINCT"),
            Fault::Crash | Fault::Panic | Fault::Hang | Fault::InternalError => rare() && sql.starts_with("SELECT"),
            Fault::Flaky => self.queries.is_multiple_of(RARE),
            Fault::WornOut => filtered() && self.queries > MANY,
            // Not what an assumption is checked by, with the number of its table's rows.
            Fault::WrongAlike => {
                ["(", " WHERE ", " JOIN ", " AS "].iter().any(|part| sql.contains(part))
                    && !sql.contains(" AS d) FROM ")
            }
            // Those of contexts and of folded values were decided above; changes are no queries.
            Fault::None
            | Fault::Picky
            | Fault::WrongFolded
            | Fault::WrongStored
            | Fault::WrongStoredAggregate
            | Fault::WrongByKey
            | Fault::WrongPredicate
            | Fault::PreviousRow
            | Fault::GarbageBytes
            | Fault::WrongCase
            | Fault::LostChange
            | Fault::AnyNumber
            | Fault::StaleIndex
            | Fault::HalfDone
            | Fault::MissedAction
            | Fault::MissedTrigger
            | Fault::WrongMaximum => false,
        }
    }
}

/// Makes the last value of each row another one, unless it is NULL.
fn falsify(rows: &mut [Row]) {
    for value in rows.iter_mut().filter_map(|row| row.last_mut()) {
        match value {
            Value::Null => {}
            Value::Bool(b) => *b = !*b,
            Value::Int(i) => *i ^= 1,
            Value::Real(r) => *r += 1.0,
            Value::Text(bytes) | Value::Blob(bytes) => bytes.push(b'x'),
        }
    }
}

impl<C: Connection> Connection for Planted<C> {
    fn version(&self) -> String {
        self.engine.version()
    }

    fn build_id(&self) -> String {
        self.engine.build_id()
    }

    fn reset(&mut self) -> Result<(), EngineError> {
        self.rows = 0;
        self.engine.reset()
    }

    fn renew(&mut self) -> Result<(), EngineError> {
        self.engine.renew()
    }

    fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
        if self.fault == Fault::Picky {
            self.rows += usize::from(sql.starts_with("INSERT INTO t(k"));
            if self.rows == 5 && sql.starts_with("CREATE TABLE t_reverse") {
                return Err(EngineError::new(ErrorClass::Semantic, "five rows in \"t\" are too few"));
            }
        }
        self.engine.execute(sql)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        self.rows_bound(sql, &[])
    }

    fn rows_bound(&mut self, sql: &str, parameters: &[String]) -> Result<Vec<Row>, EngineError> {
        if self.fault == Fault::Picky && self.rows > 5 {
            return Err(EngineError::new(ErrorClass::Semantic, format!("{} rows are too many", self.rows)));
        }
        let triggers = self.triggers(sql);
        let mut rows = self.engine.rows_bound(&self.misread(sql), parameters)?;
        if !triggers {
            return Ok(rows);
        }
        match self.fault {
            Fault::None
            | Fault::Picky
            | Fault::LostChange
            | Fault::AnyNumber
            | Fault::HalfDone
            | Fault::MissedAction
            | Fault::MissedTrigger
            | Fault::WrongMaximum => {}
            Fault::DropRow
            | Fault::Flaky
            | Fault::WornOut
            | Fault::WrongPredicate
            | Fault::WrongCase
            | Fault::StaleIndex => drop(rows.pop()),
            Fault::DuplicateRow | Fault::WrongDistinct | Fault::RowTooMany => rows.extend(rows.first().cloned()),
            Fault::NullToZero => {
                for value in rows.iter_mut().flatten().filter(|v| **v == Value::Null) {
                    *value = Value::Int(0);
                }
            }
            Fault::WrongAlike => {
                rows.sort_by_cached_key(|row| format!("{row:?}"));
                rows.pop();
            }
            Fault::ValueTooSmall => {
                for value in rows.iter_mut().filter_map(|row| row.last_mut()) {
                    if let Value::Int(i) = value {
                        *i = i.saturating_sub(1_000);
                    }
                }
            }
            Fault::WrongFolded | Fault::WrongStored | Fault::WrongStoredAggregate | Fault::WrongByKey => {
                falsify(&mut rows);
            }
            Fault::PreviousRow => {
                for at in 1..rows.len() {
                    if rows[at].last() == Some(&Value::Null) {
                        let before = rows[at - 1].last().cloned().unwrap_or(Value::Null);
                        rows[at].pop();
                        rows[at].push(before);
                    }
                }
            }
            Fault::GarbageBytes => {
                let number = self.queries.to_be_bytes();
                for row in &mut rows {
                    if let Some(Value::Text(bytes)) = row.last_mut() {
                        bytes.extend(number);
                    }
                }
            }
            Fault::Crash => std::process::abort(),
            Fault::Panic => std::panic::panic_any("a planted fault"),
            Fault::Hang => loop {
                std::thread::park();
            },
            Fault::InternalError => {
                return Err(EngineError::new(ErrorClass::Internal, "planted internal error"));
            }
        }
        Ok(rows)
    }

    fn change(&mut self, sql: &str) -> Result<Option<u64>, EngineError> {
        if self.fault == Fault::LostChange && !sql.starts_with("INSERT") && sql.contains("(SELECT ") {
            return Ok(Some(0));
        }
        self.upserted |= sql.contains(" DO UPDATE ");
        // Where there is no such table nothing is missed.
        match self.fault {
            Fault::MissedAction => self.attempt(&["CREATE TABLE planted AS SELECT rowid AS r, c1 FROM t2"]),
            Fault::MissedTrigger => self.attempt(&["CREATE TABLE planted AS SELECT MAX(rowid) AS r FROM lg"]),
            _ => {}
        }
        let changed = self.engine.change(&self.misread(sql));
        self.changes += 1;
        match self.fault {
            Fault::AnyNumber if !sql.starts_with("INSERT") && sql.contains("(SELECT ") => self.attempt(&[&format!(
                "UPDATE t1 SET c0 = {} WHERE rowid = (SELECT MAX(rowid) FROM t1) \
                 AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE sql LIKE '%REFERENCES%')",
                self.changes
            )]),
            Fault::MissedAction if !sql.contains(" t2") => self.attempt(&[
                "PRAGMA defer_foreign_keys = ON",
                "UPDATE t2 SET c1 = (SELECT b.c1 FROM planted AS b WHERE b.r = t2.rowid) WHERE t2.rowid = \
                 (SELECT b.r FROM planted AS b JOIN t2 AS a ON a.rowid = b.r WHERE a.c1 IS NOT b.c1 LIMIT 1)",
            ]),
            Fault::MissedTrigger => self.attempt(&["DELETE FROM lg WHERE rowid = (SELECT MAX(rowid) FROM lg) \
                                            AND rowid > (SELECT COALESCE(r, 0) FROM planted)"]),
            _ => {}
        }
        if self.fault == Fault::HalfDone && changed.is_err() {
            let table = ["UPDATE ", "INSERT INTO "].into_iter().find_map(|start| sql.strip_prefix(start));
            if let Some(table) = table.and_then(|rest| rest.split([' ', '(']).next()) {
                let _ = self.engine.execute(&format!("DELETE FROM {table} WHERE c0 = (SELECT MIN(c0) FROM {table})"));
            }
        }
        changed
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        self.upserted = false;
        self.engine.begin()
    }

    fn roll_back(&mut self) -> Result<(), EngineError> {
        self.engine.roll_back()
    }

    fn set_switch(&mut self, switch: &Switch, on: bool) -> Result<(), EngineError> {
        self.engine.set_switch(switch, on)
    }
}
