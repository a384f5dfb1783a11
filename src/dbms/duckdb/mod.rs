//! DuckDB, in any version from 1.1 on, inside this process.
//!
//! The database stays open; what a block of cases makes is in an attached in-memory database, which is replaced by a
//! fresh one. One thread, because parallel execution of small queries costs more than it gives. A statement that takes
//! too long is interrupted by a thread that watches.

#![allow(unsafe_code)]

mod api;
mod vectors;

pub use api::LoadError;

use super::{Connection, EngineError, ErrorClass, count_of};
use crate::clock;
use crate::compare::Row;
use crate::config::StatementLimits;
use crate::sql::profile::Profile;
use crate::sql::types::{SqlType, Value};
use api::{Api, Database, Handle, QueryResult};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the watching thread looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Run when a database is opened. Nothing is fetched from anywhere, no file is read or written, and a query that needs more
/// memory fails rather than this process.
const OPEN: [&str; 6] = [
    "SET threads = 1",
    "SET memory_limit = '1GB'",
    "SET temp_directory = ''",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
];

/// A connection to an in-memory database of one DuckDB library.
pub struct DuckDb {
    api: Api,
    profile: Arc<Profile>,
    limits: StatementLimits,
    database: Database,
    watch: Arc<Watch>,
    /// Number of the attached database.
    attached: u64,
    /// The statements of the profile's `reset` that this version takes.
    reset: String,
    /// The instance is unusable after some errors and is opened anew.
    broken: bool,
}

/// What the watching thread sees.
struct Watch {
    state: Mutex<Watched>,
    interrupt: unsafe extern "C" fn(Handle),
}

struct Watched {
    handle: Handle,
    /// When the present statement must be over.
    deadline: Option<Instant>,
    closed: bool,
}

// SAFETY: the handle is used by the owning thread and, for `duckdb_interrupt` only, which may be called from any thread
// (duckdb.h), by the watching one, under the lock and never after it was closed.
unsafe impl Send for Watched {}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            std::thread::sleep(LOOK_EVERY);
            let watched = self.lock();
            if watched.closed {
                return;
            }
            if watched.deadline.is_some_and(|deadline| clock::now() > deadline) {
                // SAFETY: a deadline is set only while the handle is open, and closing it takes the lock.
                unsafe { (self.interrupt)(watched.handle) };
            }
        }
    }
}

impl DuckDb {
    /// Loads a library and opens a database.
    pub fn load(
        path: &Path,
        profile: Arc<Profile>,
        limits: StatementLimits,
    ) -> Result<Result<Self, EngineError>, LoadError> {
        let api = Api::load(path)?;
        let state = Watched { handle: ptr::null_mut(), deadline: None, closed: false };
        let watch = Arc::new(Watch { state: Mutex::new(state), interrupt: api.interrupt });
        let watching = watch.clone();
        std::thread::spawn(move || watching.run());
        let database = ptr::null_mut();
        let reset = String::new();
        let mut duckdb = Self { api, profile, limits, database, watch, attached: 0, reset, broken: false };
        Ok(duckdb.open().map(|()| duckdb))
    }

    fn open(&mut self) -> Result<(), EngineError> {
        self.close();
        let failed = || EngineError::new(ErrorClass::Internal, "DuckDB does not open a database in memory");
        let mut handle = ptr::null_mut();
        // SAFETY: the path is a C string, both handles are written before use.
        unsafe {
            if (self.api.open)(c":memory:".as_ptr(), &raw mut self.database) != 0
                || (self.api.connect)(self.database, &raw mut handle) != 0
            {
                return Err(failed());
            }
        }
        self.watch.lock().handle = handle;
        self.broken = false;
        self.attached = 0;
        for statement in OPEN {
            self.run(statement, |_, _| ())?;
        }
        let reset = self.profile.reset.clone();
        let known: Vec<String> = reset.into_iter().filter(|sql| self.run(sql, |_, _| ()).is_ok()).collect();
        self.reset = known.iter().flat_map(|sql| [sql.as_str(), "; "]).collect();
        Ok(())
    }

    fn close(&mut self) {
        let mut watched = self.watch.lock();
        watched.deadline = None;
        // SAFETY: both were opened or are null, which is accepted; nobody uses them later.
        unsafe {
            (self.api.disconnect)(&raw mut watched.handle);
            (self.api.close)(&raw mut self.database);
        }
    }

    /// Runs statements and gives the result of the last to `read`.
    fn run<T>(&mut self, sql: &str, read: impl FnOnce(&Api, &mut QueryResult) -> T) -> Result<T, EngineError> {
        let text = CString::new(sql).map_err(|_| EngineError::new(ErrorClass::Semantic, "a NUL in the statement"))?;
        let mut result = QueryResult::default();
        let handle = {
            let mut watched = self.watch.lock();
            watched.deadline = Some(clock::now() + Duration::from_millis(self.limits.time_max_ms));
            watched.handle
        };
        // SAFETY: the handle is open, the text outlives the call, the result is written by it and destroyed below.
        let failed = unsafe { (self.api.query)(handle, text.as_ptr(), &raw mut result) } != 0;
        let value = if failed { Err(self.error(&mut result)) } else { Ok(read(&self.api, &mut result)) };
        self.watch.lock().deadline = None;
        // SAFETY: as above; this is its last use.
        unsafe { (self.api.destroy_result)(&raw mut result) };
        value
    }

    fn error(&mut self, result: &mut QueryResult) -> EngineError {
        // SAFETY: the result is of a failed query, and its text lives as long as it does.
        let message = unsafe {
            let text = (self.api.result_error)(ptr::from_mut(result));
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        // Addresses of code, which are different every time.
        let message = message.split("\n\nStack Trace:").next().unwrap_or_default().to_owned();
        let code = code_of(&message);
        let class = self.profile.error_class(&code);
        self.broken |= class == ErrorClass::Internal;
        EngineError { class, code, message }
    }
}

fn version_of(api: &Api) -> String {
    // SAFETY: no arguments; the string is static.
    let text = unsafe { CStr::from_ptr((api.library_version)()) }.to_string_lossy().into_owned();
    text.trim_start_matches('v').to_owned()
}

/// The kind of an error, by the names of `duckdb_error_type` (duckdb.h). The engine puts it before every text, as in `Out of
/// Range Error: …`; the function that returns it crashes in some versions.
fn code_of(message: &str) -> String {
    let kind = message.split_once(" Error").map_or("", |(kind, _)| kind);
    match kind {
        "TransactionContext" => "TRANSACTION".to_owned(),
        "NullPointer" => "NULL_POINTER".to_owned(),
        _ => kind.to_ascii_uppercase().replace(' ', "_"),
    }
}

impl Connection for DuckDb {
    fn version(&self) -> String {
        version_of(&self.api)
    }

    fn build_id(&self) -> String {
        format!("DuckDB {}", self.version())
    }

    fn reset(&mut self) -> Result<(), EngineError> {
        if self.broken {
            self.open()?;
        }
        let (old, new) = (self.attached, self.attached + 1);
        let mut sql = format!("{}ATTACH ':memory:' AS d{new}; USE d{new}", self.reset);
        if old > 0 {
            sql.push_str("; DETACH d");
            sql.push_str(&old.to_string());
        }
        self.attached = new;
        let done = self.run(&sql, |_, _| ());
        // What was left open keeps the old one; a new instance forgets it.
        self.broken |= done.is_err();
        done
    }

    /// Settings are an instance's.
    fn renew(&mut self) -> Result<(), EngineError> {
        self.broken = true;
        self.reset()
    }

    fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
        self.run(sql, |_, _| ())
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let limits = self.limits;
        self.run(sql, |api, result| {
            // SAFETY: the result is of a query that succeeded.
            unsafe {
                if (api.row_count)(result) > limits.rows_max {
                    return Err(EngineError::too_many_rows(limits));
                }
                vectors::rows(api, result)
            }
        })?
    }

    /// The result of such a statement is the number.
    fn change(&mut self, sql: &str) -> Result<Option<u64>, EngineError> {
        Ok(count_of(&self.rows(sql)?))
    }

    fn types(&mut self, sql: &str) -> Result<Option<Vec<Option<SqlType>>>, EngineError> {
        let described = self.rows(&format!("DESCRIBE {sql}"))?;
        let ty = |row: &Row| match row.get(1) {
            Some(Value::Text(name)) => match name.as_slice() {
                b"BOOLEAN" => Some(SqlType::Boolean),
                b"TINYINT" | b"SMALLINT" | b"INTEGER" | b"BIGINT" => Some(SqlType::Int),
                b"DOUBLE" => Some(SqlType::Real),
                b"VARCHAR" => Some(SqlType::Text),
                b"BLOB" => Some(SqlType::Blob),
                _ => None,
            },
            _ => None,
        };
        Ok(Some(described.iter().map(ty).collect()))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        self.close();
        self.watch.lock().closed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::code_of;

    #[test]
    fn errors_start_with_their_kind() {
        assert_eq!(code_of("Out of Range Error: Overflow in addition"), "OUT_OF_RANGE");
        assert_eq!(code_of("INTERNAL Error: Attempted to access index 0"), "INTERNAL");
        assert_eq!(code_of("TransactionContext Error: Current transaction is aborted"), "TRANSACTION");
        assert_eq!(code_of("something else"), "");
    }
}
