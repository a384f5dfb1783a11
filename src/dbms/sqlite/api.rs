//! SQLite's C interface as a table of functions, from the library linked in or from one loaded at run time.
//!
//! Both kinds are the same table, so that the version under test is data.

#![allow(unsafe_code)]

use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

macro_rules! api {
    ($( $(#[$doc:meta])* $name:ident = $symbol:ident : fn($($arg:ty),* $(; $variadic:tt)?) $(-> $ret:ty)?; )*) => {
        /// The functions used, with the signatures of <https://sqlite.org/c3ref/funclist.html>.
        #[derive(Clone)]
        pub(super) struct Api {
            $( $(#[$doc])* pub(super) $name: unsafe extern "C" fn($($arg),* $(, $variadic)?) $(-> $ret)?, )*
            /// Keeps a loaded library mapped; `None` for the one linked in.
            _library: Option<Arc<libloading::Library>>,
        }

        impl Api {
            /// The library linked into this program.
            pub(super) fn linked() -> Self {
                Self { $( $name: ffi::$symbol, )* _library: None }
            }

            /// A library loaded from a file.
            pub(super) fn load(path: &Path) -> Result<Self, LoadError> {
                let fail = |source| LoadError { path: path.display().to_string(), source };
                // SAFETY: loading runs the library's initialisers; SQLite has none with effects, and a file that is
                // no SQLite is named by the user as one. It is loaded in a process that may die.
                let library = Arc::new(unsafe { libloading::Library::new(path) }.map_err(fail)?);
                $(
                    // SAFETY: the symbol has this signature in every version of SQLite 3.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($arg),* $(, $variadic)?) $(-> $ret)?>(
                            concat!(stringify!($symbol), "\0").as_bytes(),
                        )
                    }
                    .map_err(fail)?;
                )*
                Ok(Self { $( $name, )* _library: Some(library) })
            }
        }
    };
}

/// A library could not be loaded.
#[derive(Debug, Error)]
#[error("{path} cannot be loaded as SQLite")]
pub struct LoadError {
    path: String,
    #[source]
    source: libloading::Error,
}

type Db = *mut ffi::sqlite3;
type Stmt = *mut ffi::sqlite3_stmt;
type Destructor = ffi::sqlite3_destructor_type;
type Progress = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;

api! {
    libversion = sqlite3_libversion: fn() -> *const c_char;
    sourceid = sqlite3_sourceid: fn() -> *const c_char;
    open_v2 = sqlite3_open_v2: fn(*const c_char, *mut Db, c_int, *const c_char) -> c_int;
    close = sqlite3_close: fn(Db) -> c_int;
    prepare_v2 = sqlite3_prepare_v2: fn(Db, *const c_char, c_int, *mut Stmt, *mut *const c_char) -> c_int;
    parameter_index = sqlite3_bind_parameter_index: fn(Stmt, *const c_char) -> c_int;
    bind_int64 = sqlite3_bind_int64: fn(Stmt, c_int, i64) -> c_int;
    bind_double = sqlite3_bind_double: fn(Stmt, c_int, f64) -> c_int;
    bind_text = sqlite3_bind_text: fn(Stmt, c_int, *const c_char, c_int, Destructor) -> c_int;
    bind_blob = sqlite3_bind_blob: fn(Stmt, c_int, *const c_void, c_int, Destructor) -> c_int;
    step = sqlite3_step: fn(Stmt) -> c_int;
    finalize = sqlite3_finalize: fn(Stmt) -> c_int;
    column_count = sqlite3_column_count: fn(Stmt) -> c_int;
    column_type = sqlite3_column_type: fn(Stmt, c_int) -> c_int;
    column_int64 = sqlite3_column_int64: fn(Stmt, c_int) -> i64;
    column_double = sqlite3_column_double: fn(Stmt, c_int) -> f64;
    column_text = sqlite3_column_text: fn(Stmt, c_int) -> *const c_uchar;
    column_blob = sqlite3_column_blob: fn(Stmt, c_int) -> *const c_void;
    column_bytes = sqlite3_column_bytes: fn(Stmt, c_int) -> c_int;
    errmsg = sqlite3_errmsg: fn(Db) -> *const c_char;
    extended_errcode = sqlite3_extended_errcode: fn(Db) -> c_int;
    limit = sqlite3_limit: fn(Db, c_int, c_int) -> c_int;
    progress_handler = sqlite3_progress_handler: fn(Db, c_int, Progress, *mut c_void);
    test_control = sqlite3_test_control: fn(c_int; ...) -> c_int;
}
