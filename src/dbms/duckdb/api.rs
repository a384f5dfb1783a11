//! DuckDB's C interface as a table of functions, from a library loaded at run time.
//!
//! The functions are those of <https://duckdb.org/docs/stable/clients/c/api> that every version from 1.1 on exports; a
//! version before that is refused when it is loaded.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// A result as the interface hands it over.
#[repr(C)]
pub(super) struct QueryResult {
    deprecated: [u64; 3],
    pointers: [*mut c_void; 3],
}

impl QueryResult {
    /// The same result, for functions that take it by its value. Only one of them is destroyed.
    pub(super) fn by_value(&self) -> Self {
        Self { deprecated: self.deprecated, pointers: self.pointers }
    }
}

impl Default for QueryResult {
    fn default() -> Self {
        Self { deprecated: [0; 3], pointers: [std::ptr::null_mut(); 3] }
    }
}

/// A day of the calendar.
#[repr(C)]
pub(super) struct Date {
    /// 0 is the year before 1.
    pub(super) year: i32,
    pub(super) month: i8,
    pub(super) day: i8,
}

/// A time of day.
#[repr(C)]
pub(super) struct Time {
    pub(super) hour: i8,
    pub(super) minute: i8,
    pub(super) second: i8,
    /// Microseconds.
    pub(super) micros: i32,
}

/// A database.
pub(super) type Database = *mut c_void;
/// A connection.
pub(super) type Handle = *mut c_void;
/// Some rows of a result.
pub(super) type Chunk = *mut c_void;
/// A column of a chunk, or of what is nested in one.
pub(super) type Vector = *mut c_void;
/// The type of a vector.
pub(super) type LogicalType = *mut c_void;

macro_rules! api {
    ($( $name:ident = $symbol:literal : fn($($arg:ty),*) $(-> $ret:ty)?; )*) => {
        /// The functions used.
        #[derive(Clone)]
        pub(super) struct Api {
            $( pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?, )*
            /// Keeps the library mapped.
            _library: Arc<libloading::Library>,
        }

        impl Api {
            /// A library loaded from a file.
            pub(super) fn load(path: &Path) -> Result<Self, LoadError> {
                let fail = |source| LoadError { path: path.display().to_string(), source };
                // SAFETY: loading runs the library's initialisers; DuckDB's have no effects outside, and a file that is
                // no DuckDB is named by the user as one. It is loaded in a process that may die.
                let library = Arc::new(unsafe { libloading::Library::new(path) }.map_err(fail)?);
                $(
                    // SAFETY: the symbol has this signature in every version from 1.1 on (duckdb.h).
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(concat!($symbol, "\0").as_bytes())
                    }
                    .map_err(fail)?;
                )*
                Ok(Self { $( $name, )* _library: library })
            }
        }
    };
}

/// A library could not be loaded.
#[derive(Debug, Error)]
#[error("{path} cannot be loaded as DuckDB 1.1 or newer")]
pub struct LoadError {
    path: String,
    #[source]
    source: libloading::Error,
}

api! {
    library_version = "duckdb_library_version": fn() -> *const c_char;
    open = "duckdb_open": fn(*const c_char, *mut Database) -> c_int;
    close = "duckdb_close": fn(*mut Database);
    connect = "duckdb_connect": fn(Database, *mut Handle) -> c_int;
    disconnect = "duckdb_disconnect": fn(*mut Handle);
    interrupt = "duckdb_interrupt": fn(Handle);
    query = "duckdb_query": fn(Handle, *const c_char, *mut QueryResult) -> c_int;
    destroy_result = "duckdb_destroy_result": fn(*mut QueryResult);
    result_error = "duckdb_result_error": fn(*mut QueryResult) -> *const c_char;
    column_count = "duckdb_column_count": fn(*mut QueryResult) -> u64;
    row_count = "duckdb_row_count": fn(*mut QueryResult) -> u64;
    free = "duckdb_free": fn(*mut c_void);
    fetch_chunk = "duckdb_fetch_chunk": fn(QueryResult) -> Chunk;
    destroy_chunk = "duckdb_destroy_data_chunk": fn(*mut Chunk);
    chunk_size = "duckdb_data_chunk_get_size": fn(Chunk) -> u64;
    chunk_vector = "duckdb_data_chunk_get_vector": fn(Chunk, u64) -> Vector;
    vector_type = "duckdb_vector_get_column_type": fn(Vector) -> LogicalType;
    vector_data = "duckdb_vector_get_data": fn(Vector) -> *const c_void;
    vector_validity = "duckdb_vector_get_validity": fn(Vector) -> *const u64;
    list_child = "duckdb_list_vector_get_child": fn(Vector) -> Vector;
    array_child = "duckdb_array_vector_get_child": fn(Vector) -> Vector;
    struct_child = "duckdb_struct_vector_get_child": fn(Vector, u64) -> Vector;
    type_id = "duckdb_get_type_id": fn(LogicalType) -> c_int;
    array_size = "duckdb_array_type_array_size": fn(LogicalType) -> u64;
    struct_child_count = "duckdb_struct_type_child_count": fn(LogicalType) -> u64;
    decimal_internal_type = "duckdb_decimal_internal_type": fn(LogicalType) -> c_int;
    decimal_scale = "duckdb_decimal_scale": fn(LogicalType) -> u8;
    from_date = "duckdb_from_date": fn(i32) -> Date;
    from_time = "duckdb_from_time": fn(i64) -> Time;
    enum_internal_type = "duckdb_enum_internal_type": fn(LogicalType) -> c_int;
    enum_text = "duckdb_enum_dictionary_value": fn(LogicalType, u64) -> *mut c_char;
    destroy_logical_type = "duckdb_destroy_logical_type": fn(*mut LogicalType);
}
