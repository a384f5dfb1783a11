//! SQLite, in any version, inside this process.

#![allow(unsafe_code)]

mod api;

pub use api::LoadError;

use super::{Connection, EngineError, ErrorClass, count_of};
use crate::compare::{BagHash, Row, RowHash};
use crate::config::StatementLimits;
use crate::sql::profile::Switch;
use crate::sql::types::Value;
use api::Api;
use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

/// The number of virtual-machine instructions between two looks at the step budget.
const STEPS_PER_CHECK: u32 = 1000;

/// `SQLITE_TESTCTRL_OPTIMIZATIONS`, the number that the engine's own tests use (sqlite3.h).
const TESTCTRL_OPTIMIZATIONS: c_int = 15;

/// A connection to an in-memory database of one SQLite library.
pub struct Sqlite {
    api: Api,
    db: *mut ffi::sqlite3,
    limits: StatementLimits,
    /// Checks left for the statement that runs. Boxed, because the engine keeps its address.
    budget: Box<Cell<u64>>,
}

impl Sqlite {
    /// Opens the library linked into this program.
    pub fn linked(limits: StatementLimits) -> Result<Self, EngineError> {
        Self::open(Api::linked(), limits)
    }

    /// Loads a library and opens it.
    pub fn load(path: &Path, limits: StatementLimits) -> Result<Result<Self, EngineError>, LoadError> {
        Ok(Self::open(Api::load(path)?, limits))
    }

    fn open(api: Api, limits: StatementLimits) -> Result<Self, EngineError> {
        let mut sqlite = Self { api, db: ptr::null_mut(), limits, budget: Box::new(Cell::new(0)) };
        sqlite.reset()?;
        Ok(sqlite)
    }

    fn error(&self, prepared: bool) -> EngineError {
        // SAFETY: `db` is open or null; both functions accept it and errmsg returns a string that lives until the
        // next call on the connection.
        let (code, message) = unsafe {
            let text = CStr::from_ptr((self.api.errmsg)(self.db)).to_string_lossy().into_owned();
            ((self.api.extended_errcode)(self.db), text)
        };
        // The primary code is the low byte (https://sqlite.org/rescode.html).
        let class = match code & 0xff {
            ffi::SQLITE_INTERNAL | ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_MISUSE => {
                ErrorClass::Internal
            }
            ffi::SQLITE_INTERRUPT | ffi::SQLITE_TOOBIG | ffi::SQLITE_NOMEM | ffi::SQLITE_FULL => ErrorClass::Limit,
            ffi::SQLITE_ERROR if !prepared => ErrorClass::Semantic,
            _ => ErrorClass::Data,
        };
        EngineError { class, code: code.to_string(), message }
    }

    /// Binds the values of the parameters `$1`, `$2`, …; one that the statement does not have is left out.
    ///
    /// # Safety
    /// `stmt` is a statement that was not stepped yet, and the values live until it is finalised.
    unsafe fn bind(api: &Api, stmt: *mut ffi::sqlite3_stmt, parameters: &[Value]) {
        for (at, value) in parameters.iter().enumerate() {
            let name = CString::new(format!("${}", at + 1)).unwrap_or_default();
            let length = |bytes: &[u8]| c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
            // SAFETY: the caller's promise; an index of 0 is refused and changes nothing; without a destructor SQLite
            // does not free what it is given. Lengths are within the limit of a statement, from which the values came.
            unsafe {
                let index = (api.parameter_index)(stmt, name.as_ptr());
                match value {
                    Value::Null => continue,
                    Value::Bool(b) => (api.bind_int64)(stmt, index, i64::from(*b)),
                    Value::Int(i) => (api.bind_int64)(stmt, index, *i),
                    Value::Real(r) => (api.bind_double)(stmt, index, *r),
                    Value::Text(t) => (api.bind_text)(stmt, index, t.as_ptr().cast::<c_char>(), length(t), None),
                    Value::Blob(b) => (api.bind_blob)(stmt, index, b.as_ptr().cast::<c_void>(), length(b), None),
                };
            }
        }
    }

    /// Runs a statement, giving each row to `row`.
    fn run(
        &mut self,
        sql: &str,
        parameters: &[Value],
        mut row: impl FnMut(&Api, *mut ffi::sqlite3_stmt, c_int),
    ) -> Result<(), EngineError> {
        let too_long = || EngineError::new(ErrorClass::Limit, "statement too long");
        let length = c_int::try_from(sql.len()).map_err(|_| too_long())?;
        self.budget.set(self.limits.steps_max / u64::from(STEPS_PER_CHECK));
        let mut stmt = ptr::null_mut();
        // SAFETY: `db` is open; the text outlives the call and its length is given.
        let code = unsafe {
            (self.api.prepare_v2)(self.db, sql.as_ptr().cast::<c_char>(), length, &raw mut stmt, ptr::null_mut())
        };
        if code != ffi::SQLITE_OK {
            return Err(self.error(false));
        }
        // SAFETY: a null statement (an empty text) is allowed for column_count, step gives MISUSE, finalize ignores it.
        let columns = unsafe { (self.api.column_count)(stmt) };
        // SAFETY: the parameters outlive this function, at whose end the statement is finalised.
        unsafe { Self::bind(&self.api, stmt, parameters) };
        let mut rows = 0;
        let result = loop {
            // SAFETY: `stmt` is a statement of `db` that was not finalised.
            match unsafe { (self.api.step)(stmt) } {
                ffi::SQLITE_ROW => {
                    rows += 1;
                    if rows > self.limits.rows_max {
                        break Err(EngineError::too_many_rows(self.limits));
                    }
                    row(&self.api, stmt, columns);
                }
                ffi::SQLITE_DONE => break Ok(()),
                _ => break Err(self.error(true)),
            }
        };
        // SAFETY: as above; this is the last use of `stmt`.
        unsafe { (self.api.finalize)(stmt) };
        result
    }

    fn close(&mut self) {
        // SAFETY: every statement was finalised, so it closes; null is accepted.
        unsafe { (self.api.close)(self.db) };
        self.db = ptr::null_mut();
    }

    fn text(pointer: *const c_char) -> String {
        // SAFETY: the version strings are static.
        unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
    }
}

unsafe extern "C" fn out_of_budget(budget: *mut c_void) -> c_int {
    // SAFETY: the pointer was given with the handler, points into a box that lives as long as the connection, and is
    // used by one thread.
    let budget = unsafe { &*budget.cast::<Cell<u64>>() };
    match budget.get().checked_sub(1) {
        Some(left) => {
            budget.set(left);
            0
        }
        None => 1,
    }
}

/// The bytes of a text or blob cell, valid until the next call on the statement.
///
/// # Safety
/// `stmt` is on a row and `column` is one of its columns.
unsafe fn bytes<'a>(api: &Api, stmt: *mut ffi::sqlite3_stmt, column: c_int, text: bool) -> &'a [u8] {
    // SAFETY: the caller's promise. The pointer must be asked for before the length: text may be converted first.
    unsafe {
        let pointer = if text { (api.column_text)(stmt, column) } else { (api.column_blob)(stmt, column).cast::<u8>() };
        let length = usize::try_from((api.column_bytes)(stmt, column)).unwrap_or(0);
        if pointer.is_null() { &[] } else { std::slice::from_raw_parts(pointer, length) }
    }
}

impl Connection for Sqlite {
    fn version(&self) -> String {
        // SAFETY: no arguments.
        Self::text(unsafe { (self.api.libversion)() })
    }

    fn build_id(&self) -> String {
        // SAFETY: no arguments.
        Self::text(unsafe { (self.api.sourceid)() })
    }

    fn reset(&mut self) -> Result<(), EngineError> {
        self.close();
        let flags =
            ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_MEMORY | ffi::SQLITE_OPEN_NOMUTEX;
        // SAFETY: the name is a C string, the handle is written before use; limits and handler take plain numbers and
        // the address of a box that this struct owns until after the connection is closed.
        let code = unsafe {
            let code = (self.api.open_v2)(c":memory:".as_ptr(), &raw mut self.db, flags, ptr::null());
            if code == ffi::SQLITE_OK {
                let bytes = c_int::try_from(self.limits.bytes_max).unwrap_or(c_int::MAX);
                (self.api.limit)(self.db, ffi::SQLITE_LIMIT_LENGTH, bytes);
                let budget = ptr::from_ref::<Cell<u64>>(&self.budget).cast_mut().cast::<c_void>();
                let steps = c_int::try_from(STEPS_PER_CHECK).unwrap_or(c_int::MAX);
                (self.api.progress_handler)(self.db, steps, Some(out_of_budget), budget);
            }
            code
        };
        if code != ffi::SQLITE_OK {
            return Err(self.error(false));
        }
        // Some builds, the linked one too, have them on from the start. A script that needs them is to say so.
        self.execute("PRAGMA foreign_keys = OFF")
    }

    fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
        self.run(sql, &[], |_, _, _| {})
    }

    fn change(&mut self, sql: &str) -> Result<Option<u64>, EngineError> {
        self.execute(sql)?;
        Ok(count_of(&self.rows("SELECT changes()")?))
    }

    /// Some errors undo everything at once, as an interrupted change does (<https://sqlite.org/lang_transaction.html>,
    /// "Response To Errors Within A Transaction").
    fn roll_back(&mut self) -> Result<(), EngineError> {
        match self.execute("ROLLBACK") {
            Err(error) if error.message.contains("no transaction is active") => Ok(()),
            other => other,
        }
    }

    fn query(&mut self, sql: &str) -> Result<BagHash, EngineError> {
        let mut bag = BagHash::default();
        self.run(sql, &[], |api, stmt, columns| {
            let mut row = RowHash::default();
            for column in 0..columns {
                // SAFETY: `stmt` is on a row and `column` is one of its columns.
                unsafe {
                    match (api.column_type)(stmt, column) {
                        ffi::SQLITE_INTEGER => row.int((api.column_int64)(stmt, column)),
                        ffi::SQLITE_FLOAT => row.real((api.column_double)(stmt, column)),
                        ffi::SQLITE_TEXT => row.text(bytes(api, stmt, column, true)),
                        ffi::SQLITE_BLOB => row.blob(bytes(api, stmt, column, false)),
                        _ => row.null(),
                    }
                }
            }
            bag.add(&row);
        })?;
        Ok(bag)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        self.rows_with(sql, &[])
    }

    fn rows_bound(&mut self, sql: &str, parameters: &[String]) -> Result<Vec<Row>, EngineError> {
        if parameters.is_empty() {
            return self.rows(sql);
        }
        let values = self.rows(&format!("SELECT {}", parameters.join(", ")))?.pop().unwrap_or_default();
        self.rows_with(sql, &values)
    }

    fn set_switch(&mut self, switch: &Switch, on: bool) -> Result<(), EngineError> {
        let mask = if on { switch.disable_mask } else { 0 };
        // SAFETY: this test control takes the connection and one integer (sqlite3.h).
        unsafe { (self.api.test_control)(TESTCTRL_OPTIMIZATIONS, self.db, mask) };
        Ok(())
    }
}

impl Sqlite {
    fn rows_with(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Row>, EngineError> {
        let mut rows = Vec::new();
        self.run(sql, parameters, |api, stmt, columns| {
            let cell = |column| {
                // SAFETY: `stmt` is on a row and `column` is one of its columns.
                unsafe {
                    match (api.column_type)(stmt, column) {
                        ffi::SQLITE_INTEGER => Value::Int((api.column_int64)(stmt, column)),
                        ffi::SQLITE_FLOAT => Value::Real((api.column_double)(stmt, column)),
                        ffi::SQLITE_TEXT => Value::Text(bytes(api, stmt, column, true).to_vec()),
                        ffi::SQLITE_BLOB => Value::Blob(bytes(api, stmt, column, false).to_vec()),
                        _ => Value::Null,
                    }
                }
            };
            rows.push((0..columns).map(cell).collect());
        })?;
        Ok(rows)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StatementLimits =
        StatementLimits { steps_max: 100_000, time_max_ms: 1000, rows_max: 1000, bytes_max: 100_000 };

    fn open() -> Sqlite {
        Sqlite::linked(LIMITS).expect("the linked library opens")
    }

    #[test]
    fn hashes_and_rows_agree() {
        let mut db = open();
        let sql = "SELECT 1, 1.5, 'a', x'00ff', NULL UNION ALL SELECT -1, 2.0, '', x'', 3";
        let rows = db.rows(sql).expect("runs");
        let mut bag = BagHash::default();
        for row in &rows {
            let mut hash = RowHash::default();
            for value in row {
                hash.value(value);
            }
            bag.add(&hash);
        }
        assert_eq!(db.query(sql).expect("runs"), bag);
        assert_eq!(rows[0][3], Value::Blob(vec![0, 0xff]));
    }

    #[test]
    fn errors_are_classified_by_code() {
        let mut db = open();
        let class = |db: &mut Sqlite, sql: &str| db.execute(sql).expect_err(sql).class;
        assert_eq!(class(&mut db, "SELEC 1"), ErrorClass::Semantic);
        assert_eq!(class(&mut db, "SELECT nope"), ErrorClass::Semantic);
        assert_eq!(class(&mut db, "SELECT abs(-9223372036854775808)"), ErrorClass::Data);
        assert_eq!(class(&mut db, "SELECT zeroblob(1000000)"), ErrorClass::Limit);
        let endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r";
        assert_eq!(class(&mut db, endless), ErrorClass::Limit);
        let many = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 2000) SELECT i FROM r";
        assert_eq!(class(&mut db, many), ErrorClass::Limit);
        assert_eq!(db.rows("SELECT 1").expect("usable after errors"), [[Value::Int(1)]]);
    }

    #[test]
    fn parameters_are_bound_with_their_types() {
        let literals = ["7", "1.5", "'a'", "x'61'", "NULL", "2"].map(str::to_owned);
        let sql = "SELECT typeof($1), $1 + 1, typeof($2), $3 || 'b', typeof($4), $5 IS NULL, $6";
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        let (integer, blob) = (text("integer"), text("blob"));
        let expected = vec![integer, Value::Int(8), text("real"), text("ab"), blob, Value::Int(1), Value::Int(2)];
        assert_eq!(open().rows_bound(sql, &literals), Ok(vec![expected]));
    }

    #[test]
    fn reset_gives_an_empty_database() {
        let mut db = open();
        db.execute("CREATE TABLE t(c)").expect("creates");
        db.reset().expect("resets");
        assert!(db.execute("SELECT * FROM t").is_err());
    }

    #[test]
    fn a_new_database_is_as_in_the_engine_s_own_shell() {
        let mut db = open();
        for _ in 0..2 {
            assert_eq!(db.rows("PRAGMA foreign_keys"), Ok(vec![vec![Value::Int(0)]]));
            db.execute("PRAGMA foreign_keys = ON").expect("turns");
            db.reset().expect("resets");
        }
    }

    #[test]
    fn switched_optimizations_change_the_plan() {
        let mut db = open();
        let plan = |db: &mut Sqlite| {
            db.rows("EXPLAIN QUERY PLAN SELECT * FROM (SELECT a FROM t UNION ALL SELECT b FROM t) WHERE a > 1")
                .expect("explains")
        };
        db.execute("CREATE TABLE t(a, b)").expect("creates");
        let with = plan(&mut db);
        let all = Switch { disable_mask: u32::MAX, ..Switch::default() };
        db.set_switch(&all, true).expect("turns");
        let without = plan(&mut db);
        db.set_switch(&all, false).expect("turns back");
        assert_ne!(with, without);
        assert_eq!(plan(&mut db), with);
    }
}
